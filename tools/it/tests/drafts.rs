//! Drafts and schedules with the server killed between any two steps: one alert, told once.

use crate::fixtures::{LATER, SOON, carrier, number, phone_owner};
use it::{Api, Server, eventually, sms_route};
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};

const TEXT: &str = "Fire in hall 2. Leave the building.";

async fn kill_and_start(server: &mut Server) {
    server.kill9();
    server.restart().await;
}

async fn save(api: &Api, id: &str, version: u64, body: &Value) -> Value {
    let request = api.request(Method::PATCH, &format!("/api/v1/drafts/{id}"));
    let reply = api.send(request.header("if-match", format!("\"{version}\"")).json(body)).await;
    reply.expect(200)
}

#[tokio::test]
async fn a_draft_is_written_saved_and_submitted_once_with_the_server_killed_between() {
    let carrier = carrier().await;
    let mut server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    server.api().add_recipients(&json!([phone_owner("ann", 0)])).await;
    let made = server.api().post("/api/v1/drafts", &json!({"text": "Fire"})).await.expect(201);
    let id = made["id"].as_str().unwrap().to_owned();
    kill_and_start(&mut server).await;
    save(&server.api(), &id, 1, &json!({"text": TEXT})).await;
    kill_and_start(&mut server).await;
    save(
        &server.api(),
        &id,
        2,
        &json!({"audience": ["recipient:ann"], "channels": ["sms"], "priority": "emergency"}),
    )
    .await;
    // The kill comes while the submission is on its way, at whatever step.
    let api = server.api();
    let path = format!("/api/v1/drafts/{id}:submit");
    let submitting = tokio::spawn({
        let (api, path) = (api.clone(), path.clone());
        async move { api.try_send(api.request(Method::POST, &path)).await }
    });
    tokio::task::yield_now().await;
    server.kill9();
    let _ = submitting.await.unwrap();
    server.restart().await;
    let api = server.api();
    let first = api.send(api.request(Method::POST, &path)).await.expect(202);
    kill_and_start(&mut server).await;
    let api = server.api();
    let again = api.send(api.request(Method::POST, &path)).await.expect(202);
    assert_eq!(again["id"], first["id"]);
    api.done(first["id"].as_str().unwrap(), LATER).await;
    let alerts = api.get("/api/v1/alerts").await.expect(200);
    assert_eq!(alerts["items"].as_array().unwrap().len(), 1, "{alerts}");
    assert!(carrier.accepted(&number(0), TEXT) >= 1);
}

#[tokio::test]
async fn a_schedule_sends_its_time_once_across_a_kill() {
    let carrier = carrier().await;
    let mut server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let at = Timestamp::now().checked_add(SignedDuration::from_secs(3)).unwrap();
    let start = at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let schedule = json!({"name": "Once", "start": start, "time_zone": "UTC", "rule": "RRULE:FREQ=DAILY;COUNT=1",
        "request": {"text": TEXT, "audience": ["recipient:ann"], "channels": ["sms"], "priority": "emergency"}});
    let put = api.request(Method::PUT, "/api/v1/schedules/once").json(&schedule);
    api.send(put).await.expect(201);
    // Down while its time comes.
    server.kill9();
    eventually("its time has come", SOON, async || match Timestamp::now() > at {
        true => Ok(()),
        false => Err(format!("not before {at}")),
    })
    .await;
    server.restart().await;
    let api = server.api();
    let alert = eventually("the schedule has run", LATER, async || {
        let shown = api.get("/api/v1/schedules/once").await.expect(200);
        shown["runs"][0]["alert"].as_str().map(str::to_owned).ok_or_else(|| shown.to_string())
    })
    .await;
    kill_and_start(&mut server).await;
    let api = server.api();
    api.done(&alert, LATER).await;
    let shown = api.get("/api/v1/schedules/once").await.expect(200);
    assert_eq!((&shown["state"], shown["runs"].as_array().unwrap().len()), (&json!("ended"), 1), "{shown}");
    let alerts = api.get("/api/v1/alerts").await.expect(200);
    assert_eq!(alerts["items"].as_array().unwrap().len(), 1, "{alerts}");
}
