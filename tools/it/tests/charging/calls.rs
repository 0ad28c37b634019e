//! Calls over Kamailio, whose seconds the server pays for (Ro).

use super::{Ocs, PATIENCE};
use it::{Kamailio, eventually};
use serde_json::Value;

const CALLER: &str = "sip:sip:ann@charging.test";

/// A server that takes 2 for each second of a call, an account, and Kamailio, let in.
async fn open(balance: i64) -> (Ocs, Kamailio) {
    let tariff = "[[charging.tariff]]\ncontext = \"32260@3gpp.org\"\nseconds = {price = 2, per = 1}";
    let ocs = Ocs::start("", tariff).await;
    ocs.fund(CALLER, balance).await;
    let kamailio = Kamailio::start(ocs.port);
    eventually("Kamailio is let in", PATIENCE, async || {
        let log = ocs.server.log();
        if log.contains("scscf.client.test") { Ok(()) } else { Err(format!("{log}\n{}", kamailio.log())) }
    })
    .await;
    (ocs, kamailio)
}

/// How often clients that were asked did this.
async fn asked(ocs: &Ocs, fate: &str) -> u64 {
    let metrics = ocs.server.api().get("/metrics").await.text;
    let counter = format!("campanile_diameter_asked_total{{fate=\"{fate}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&counter)).map_or(0, |count| count.parse().unwrap())
}

/// What the account's requests were, once the last one is on record.
async fn requests(ocs: &Ocs) -> Vec<String> {
    eventually("the call's end is on record", PATIENCE, async || {
        let path = format!("/api/v1/accounts/{CALLER}/records");
        let records = ocs.server.api().get(&path).await.expect(200);
        let all = records["items"].as_array().unwrap().iter();
        let said: Vec<String> =
            all.map(|record| record["event"].as_str().unwrap_or_default().to_owned()).collect();
        if said.last().is_some_and(|event| event == "Terminate") { Ok(said) } else { Err(Value::from(said)) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_over_kamailio_is_paid_from_its_beginning_to_its_end() {
    let (ocs, kamailio) = open(100).await;
    kamailio.call("hangs_up", true).await;
    let said = requests(&ocs).await;
    assert_eq!(
        said.iter().map(String::as_str).collect::<Vec<_>>(),
        ["Create", "Initial", "Update", "Terminate"]
    );
    let (balance, reserved, used) = ocs.money(CALLER).await;
    assert_eq!((balance + used, reserved), (100, 0));
    // Three seconds and what is begun.
    assert!((6..=12).contains(&used), "{used}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kamailio_refuses_a_caller_without_money() {
    let (ocs, kamailio) = open(0).await;
    kamailio.call("is_refused", false).await;
    assert_eq!(ocs.money(CALLER).await, (0, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kamailio_ends_a_call_whose_money_is_over() {
    let (ocs, kamailio) = open(8).await;
    kamailio.call("is_cut_off", true).await;
    requests(&ocs).await;
    let (balance, reserved, used) = ocs.money(CALLER).await;
    assert_eq!((balance + used, reserved), (8, 0));
    assert!(used >= 6, "{used}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kamailio_does_not_hear_that_a_caller_is_blocked_and_ends_the_call_when_it_asks_again() {
    let (ocs, kamailio) = open(1_000).await;
    let blocked = async {
        eventually("the call is paid for", PATIENCE, async || match ocs.money(CALLER).await {
            (_, reserved, used) if reserved > 0 && used > 0 => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
        ocs.act(CALLER, "block", &Value::Object(serde_json::Map::new())).await;
    };
    tokio::join!(kamailio.call("is_cut_off", true), blocked);
    requests(&ocs).await;
    let (balance, reserved, used) = ocs.money(CALLER).await;
    assert_eq!((balance + used, reserved), (1_000, 0));
    assert!(used < 60, "it was not paid to its end: {used}");
    eventually("it was asked to end it, and did not answer", PATIENCE, async || {
        match (asked(&ocs, "asked").await, asked(&ocs, "unanswered").await, asked(&ocs, "agreed").await) {
            (1.., 1.., 0) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}
