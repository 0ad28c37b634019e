//! Drills reach drill routes alone, and nothing of the kind is ever live.

use crate::fixtures::{SOON, carrier, count, phone_owner, phones_csv};
use it::{Server, eventually, sms_route};
use serde_json::{Value, json};

#[tokio::test]
async fn a_drill_takes_drill_routes_and_a_live_alert_live_ones() {
    let (live, drill) = (carrier().await, carrier().await);
    let config = sms_route("live", live.address(), "")
        + &sms_route("drill", drill.address(), "").replace("mode = \"live\"", "mode = \"drill\"");
    let server = Server::start(&config).await;
    let api = server.api();
    let mut bo = phone_owner("bo", 1);
    bo["participant"] = json!(true);
    api.add_recipients(&json!([phone_owner("ann", 0), bo])).await;

    // The route leads to real devices as far as the server knows: a drill by it is for participants.
    let everybody = json!({"text": "practice", "audience": ["all"], "mode": "drill"});
    let problem = api.post("/api/v1/alerts", &everybody).await.expect_problem(422, "participants_only");
    assert!(problem.to_string().contains("drill route drill is not simulated"), "{problem}");
    assert_eq!((drill.stats().messages, live.stats().messages), (0, 0));

    let id = api
        .submit(&json!({"text": "practice", "audience": ["all"], "mode": "drill", "participants_only": true}))
        .await;
    let report = api.done(&id, SOON).await;
    assert_eq!(
        (report["mode"].as_str(), count(&report, "accepted") + count(&report, "delivered")),
        (Some("drill"), 1)
    );
    assert_eq!(count(&report, "excluded"), 1, "{report}");
    assert_eq!((drill.stats().messages, live.stats().messages), (1, 0));
    assert!(drill.messages(10).iter().all(|message| message.text.contains("EXERCISE")), "each text says so");

    let id = api.submit(&json!({"text": "real", "audience": ["all"]})).await;
    api.done(&id, SOON).await;
    assert_eq!((drill.stats().messages, live.stats().messages), (1, 2));
}

#[tokio::test]
async fn a_drill_without_a_drill_route_is_refused_and_so_is_the_reverse() {
    let carrier = carrier().await;
    for (route, alert) in [("live", "drill"), ("drill", "live")] {
        let config = sms_route("only", carrier.address(), "")
            .replace("mode = \"live\"", &format!("mode = \"{route}\""));
        let server = Server::start(&config).await;
        let api = server.api();
        api.add_recipients(&json!([phone_owner("ann", 0)])).await;
        let reply =
            api.post("/api/v1/alerts", &json!({"text": "x", "audience": ["all"], "mode": alert})).await;
        let problem = reply.expect_problem(422, "channels");
        assert!(problem.to_string().contains(alert), "{problem}");
    }
    assert_eq!(carrier.stats().submits, 0);
}

#[tokio::test]
async fn what_a_simulated_route_did_says_so() {
    let config = "[[route]]\nname = \"town\"\nchannel = \"sms\"\nmode = \"live\"\nsim = true\n";
    let server = Server::start(config).await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("ann", 0)])).await;
    let id = api.submit(&json!({"text": "x", "audience": ["all"]})).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(
        (&report["simulated"], &report["routes"]["town"]["simulated"]),
        (&json!(true), &json!(true)),
        "{report}"
    );
}

#[tokio::test]
async fn a_forecast_over_two_carriers_holds_is_kept_over_a_kill_and_judged() {
    let (slow, fast) = (carrier().await, carrier().await);
    let config =
        sms_route("slow", slow.address(), "rate = 20.0") + &sms_route("fast", fast.address(), "rate = 40.0");
    let mut server = Server::start(&config).await;
    let api = server.api();
    api.import_csv(phones_csv(300)).await;
    let id = api.submit(&json!({"text": "hello", "audience": ["all"], "terminal": "delivered"})).await;
    api.done(&id, SOON).await;
    let path = format!("/api/v1/alerts/{id}/forecast");
    let found = eventually("the forecast is kept", SOON, async || {
        let found = api.get(&path).await.expect(200);
        if found["forecast"].is_object() { Ok(found) } else { Err("not yet") }
    })
    .await;
    for part in ["p50", "p95", "p99"] {
        let seconds = |of: &Value| of[part].as_f64().unwrap_or_else(|| panic!("{part}: {found}"));
        let (forecast, fact) = (seconds(&found["forecast"]), seconds(&found["fact"]));
        // A route begins without credit for a second after its server has started.
        assert!((forecast - fact).abs() <= forecast * 0.1 + 1.1, "{part}: {forecast} and {fact}");
    }
    assert_eq!((&found["forecast"]["people"], &found["fact"]["people"]), (&json!(300), &json!(300)));
    let fixed = found["forecast"].clone();
    let request = json!({"text": "again", "audience": ["all"]});
    eventually("both routes have their confirmations on disk", SOON, async || {
        let forecast = api.post("/api/v1/alerts:forecast", &request).await.expect(200);
        let is_known = |one: &&Value| {
            one["code"] == "confirmation_times" && one["args"]["confirmed"].as_f64() >= Some(0.99)
        };
        let known = forecast["assumptions"].as_array().unwrap().iter().filter(is_known).count();
        if known == 2 { Ok(()) } else { Err(forecast["assumptions"].to_string()) }
    })
    .await;

    server.kill9();
    server.restart().await;
    let api = server.api();
    assert_eq!(api.get(&path).await.expect(200)["forecast"], fixed);
    let verdict = api.get(&format!("/api/v1/alerts/{id}/verdict?target=95%25/1m")).await.expect(200);
    assert_eq!(verdict["met"], json!(true), "{verdict}");
    let without = verdict["plan"]["without"].as_array().unwrap();
    assert_eq!(without.len(), 2, "{verdict}");
    let replay = async |without: Value| {
        let asked = json!({"alert": id, "without": without, "target": "95%/10s", "seed": 7});
        api.post("/api/v1/drills:replay", &asked).await.expect(200)
    };
    let first = replay(json!([])).await;
    assert_eq!((&first["met"], &first), (&json!(true), &replay(json!([])).await));
    assert_eq!(replay(json!(["fast"])).await["met"], json!(false));
}
