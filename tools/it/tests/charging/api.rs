//! Prices, live sessions and peers by the HTTP API.

use super::{ANN, Ocs, PATIENCE};
use diameter::dictionary::{avp, command};
use it::credit::{CreditClient, TERMINATION, cer, used};
use it::eventually;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tariffs_of_the_api_hold_at_once_and_after_a_kill_until_the_configs_are_wanted_again() {
    let mut ocs = Ocs::start("", "[[charging.tariff]]\nunit = {price = 2, per = 1}\n").await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("prices.client.test");
    client.works(ANN);
    let said = ocs.server.api().get("/api/v1/tariffs").await;
    let before = said.expect(200);
    assert_eq!((&before["source"], before["items"].as_array().unwrap().len()), (&json!("config"), 1));
    assert_eq!(before["items"][0]["unit"], json!({"price": 2, "per": 1}));
    let tag = said.header("etag").unwrap().to_owned();
    let wrong =
        json!({"items": [{}, {"prefix": "x", "octets": {"price": 1}}, {"days": ["someday"], "speed": 1}]});
    let refused = ocs.server.api().put("/api/v1/tariffs", &wrong).await;
    for field in ["items[1].prefix", "items[1].octets.per", "items[2].days", "items[2].speed"] {
        refused.expect_problem(422, field);
    }
    let new = json!({"items": [{"unit": {"price": 5, "per": 1}}]});
    let put = |tag: &str| {
        let api = ocs.server.api();
        let request =
            api.request("PUT".parse().unwrap(), "/api/v1/tariffs").header("if-match", tag).json(&new);
        async move { api.send(request).await }
    };
    put("\"999\"").await.expect(412);
    let set = put(&tag).await.expect(200);
    assert_eq!((&set["source"], &set["items"][0]["unit"]), (&json!("api"), &json!({"price": 5, "per": 1})));
    client.works(ANN);
    assert_eq!(ocs.money(ANN).await, (93, 0, 7), "one of two, one of five");
    drop(client);
    ocs.kill_and_restart().await;
    let mut client = ocs.client("prices.client.test");
    client.works(ANN);
    assert_eq!(ocs.money(ANN).await, (88, 0, 12));
    let told = ocs.server.api().post("/api/v1/reload", &json!({})).await.expect(200);
    client.works(ANN);
    assert_eq!(ocs.money(ANN).await, (83, 0, 17), "{told}");
    let back = ocs.server.api().delete("/api/v1/tariffs").await.expect(200);
    assert_eq!(back, before);
    client.works(ANN);
    assert_eq!(ocs.money(ANN).await, (81, 0, 19));
    let audit = ocs.server.api().get("/api/v1/audit").await.expect(200);
    let verbs: Vec<&str> =
        audit["items"].as_array().unwrap().iter().filter_map(|act| act["verb"].as_str()).collect();
    assert!(verbs.contains(&"tariffs.put") && verbs.contains(&"tariffs.delete"), "{verbs:?}");
}

async fn sessions(ocs: &Ocs, more: &str) -> Value {
    ocs.server.api().get(&format!("/api/v1/credit-sessions?account=e164:{ANN}{more}")).await.expect(200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_sessions_are_listed_in_pages_and_ended_one_by_one() {
    let ocs = Ocs::start("", "validity = \"10m\"").await;
    ocs.fund(ANN, 100).await;
    let name = "listed.client.test";
    let mut client = ocs.client(name);
    let ids: Vec<String> = (0..5).map(|_| client.fresh_session()).collect();
    for id in &ids {
        let initial = client.initial(id, ANN, 7);
        assert_eq!(client.ask(&initial).code(), 2001);
    }
    let (mut seen, mut more) = (Vec::new(), String::new());
    loop {
        let page = sessions(&ocs, &format!("&limit=2{more}")).await;
        seen.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        more = format!("&cursor={next}");
    }
    let mut said: Vec<&str> = seen.iter().map(|session| session["session_id"].as_str().unwrap()).collect();
    said.sort_unstable();
    let mut expected: Vec<&str> = ids.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(said, expected);
    for session in &seen {
        assert_eq!((&session["origin_host"], &session["peer"]), (&json!(name), &json!(name)));
        assert_eq!((&session["reserved"], &session["starved"]), (&json!(7), &json!(false)));
    }
    let place = |session: &Value| format!("/api/v1/credit-sessions/{}", session["id"].as_str().unwrap());
    let asked = ocs.server.api().delete(&place(&seen[0])).await.expect(202);
    assert_eq!(asked["ended"], json!("asked"));
    let request = client.asked();
    assert_eq!(request.message().header.command, command::ABORT_SESSION);
    let id = String::from_utf8(request.find(avp::SESSION_ID).unwrap().data.to_vec()).unwrap();
    assert_eq!(seen[0]["session_id"], json!(id));
    client.reply(&request, 2001);
    let end = client.credit(&id, TERMINATION, 1).with(|writer| used(writer, 3));
    assert_eq!(client.ask(&end).code(), 2001);
    assert_eq!(ocs.money(ANN).await, (97, 28, 3));
    ocs.server.api().delete(&place(&seen[0])).await.expect(404);
    drop(client);
    eventually("the client is gone", PATIENCE, async || {
        let peers = ocs.server.api().get("/api/v1/diameter-peers").await.expect(200);
        if peers["items"] == json!([]) { Ok(()) } else { Err(peers.to_string()) }
    })
    .await;
    let released = ocs.server.api().delete(&place(&seen[1])).await.expect(202);
    assert_eq!(released["ended"], json!("released"));
    eventually("what it held is free", PATIENCE, async || match ocs.money(ANN).await {
        (97, 21, 3) => Ok(()),
        money => Err(format!("{money:?}")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_are_told_with_what_they_did_and_let_in_by_rules_of_the_api() {
    let known = "[[diameter.peer]]\norigin_host = \"*.known.test\"\n";
    let mut ocs = Ocs::start(known, "").await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("smf.known.test");
    client.works(ANN);
    client.works(ANN);
    let refused = |ocs: &Ocs| {
        let mut client = CreditClient::connect(ocs.port, "new.client.test");
        client.ask(&cer("new.client.test")).code()
    };
    assert_eq!(refused(&ocs), 3010);
    let api = ocs.server.api();
    let peers = api.get("/api/v1/diameter-peers").await.expect(200);
    let smf = &peers["items"][0];
    assert_eq!((&smf["origin_host"], &smf["realm"]), (&json!("smf.known.test"), &json!("client.test")));
    assert_eq!((&smf["state"], &smf["requests"]), (&json!("open"), &json!(2)));
    assert!(smf["octets_in"].as_u64() > Some(200) && smf["window"] == json!(20_000), "{smf}");
    api.post("/api/v1/diameter-peers", &json!({})).await.expect_problem(422, "origin_host");
    let wrong = json!({"realm": "client.test", "allowed_ips": ["127.0.0.1", "here"]});
    api.post("/api/v1/diameter-peers", &wrong).await.expect_problem(422, "allowed_ips[1]");
    let rule = json!({"realm": "client.test", "allowed_ips": ["127.0.0.0/8"]});
    let added = api.post("/api/v1/diameter-peers", &rule).await;
    let location = added.header("location").unwrap().to_owned();
    assert_eq!(added.expect(201)["realm"], json!("client.test"));
    let mut new = ocs.client("new.client.test");
    new.works(ANN);
    drop((client, new));
    ocs.kill_and_restart().await;
    let mut new = ocs.client("new.client.test");
    new.works(ANN);
    ocs.server.api().delete(&location).await.expect(204);
    new.works(ANN);
    ocs.server.api().delete(&location).await.expect(404);
    drop(new);
    assert_eq!(refused(&ocs), 3010);
}
