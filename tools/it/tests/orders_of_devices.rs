//! Stories of device orders: which are tried, in what order, and who is credited.

use crate::fixtures::{
    SOON, assert_counts_add_up, carrier_that, carrier_with, count, everybody_answers, mail_server, number,
};
use it::{Server, mail_route, sms_route};
use serde_json::{Value, json};
use sim::smsc::ErrorShare;
use sim::town::Habits;
use std::time::Duration;

fn ann() -> Value {
    json!({"id": "ann", "name": "Ann", "devices": [
        {"channel": "sms", "address": number(0)}, {"channel": "mail", "address": "ann@town.test"},
    ]})
}

async fn server(carrier: &sim::smsc::Smsc, mails: &sim::mailbox::Mailbox, more: &str) -> Server {
    let routes = sms_route("carrier", carrier.address(), "") + &mail_route("relay", mails.address(), "");
    let server = Server::start(&format!("{more}\n{routes}")).await;
    server.api().add_recipients(&json!([ann()])).await;
    server
}

fn by_channel<'a>(deliveries: &'a [Value], channel: &str) -> &'a Value {
    deliveries.iter().find(|delivery| delivery["channel"] == channel).unwrap()
}

#[tokio::test]
async fn the_first_reachable_device_is_enough() {
    let (carrier, mails) = (carrier_with(Habits::silent(1)).await, mail_server().await);
    let server = server(&carrier, &mails, "").await;
    let api = server.api();
    let id = api.submit(&json!({"text": "x", "audience": ["all"], "strategy": "first-reachable"})).await;
    let report = api.done(&id, SOON).await;
    assert_counts_add_up(&report);
    assert_eq!(carrier.stats().messages, 1);
    assert_eq!(mails.stats().mails, 0, "the phone was enough");
    let deliveries = api.deliveries(&id).await;
    assert_eq!(by_channel(&deliveries, "sms")["state"], "delivered");
    assert_eq!(by_channel(&deliveries, "mail")["reason_code"], "not_needed");
}

#[tokio::test]
async fn the_next_device_is_called_for_when_the_first_is_refused_lost_or_not_heard_of() {
    let lost = |change: fn(&mut Habits)| {
        let mut habits = Habits::silent(1);
        change(&mut habits);
        Some(habits)
    };
    let refused = vec![ErrorShare { status: "RINVDSTADR".to_owned(), share: 1.0 }];
    let cases = [
        ("refused", refused, None, "failed"),
        ("lost", Vec::new(), lost(|habits| habits.sms.lost = 1.0), "failed"),
        ("not heard of", Vec::new(), lost(|habits| habits.sms.unheard = 1.0), "accepted"),
    ];
    for (what, errors, people, state) in cases {
        let carrier = carrier_that(|options| (options.errors, options.people) = (errors, people)).await;
        let mails = mail_server().await;
        let server = server(&carrier, &mails, "[engine]\nreceipt_timeout = \"1s\"\n").await;
        let api = server.api();
        let id = api.submit(&json!({"text": "x", "audience": ["all"], "strategy": "first-reachable"})).await;
        let reached = |report: &Value| report["channels"]["mail"]["accepted"] == 1;
        api.until(&id, what, SOON, reached).await;
        let deliveries = api.deliveries(&id).await;
        assert_eq!(by_channel(&deliveries, "sms")["state"], state, "{what}: {deliveries:?}");
        assert_eq!(mails.stats().mails, 1, "{what}");
    }
}

#[tokio::test]
async fn who_does_not_answer_is_asked_on_the_next_device() {
    let (carrier, mails) = (carrier_with(Habits::silent(1)).await, mail_server().await);
    let server = server(&carrier, &mails, "").await;
    let api = server.api();
    let bo = json!({"id": "bo", "name": "Bo", "devices": [
        {"channel": "sms", "address": number(1)}, {"channel": "mail", "address": "bo@town.test"},
    ]});
    api.add_recipients(&json!([bo])).await;
    let alert = json!({
        "text": "Coming?", "audience": ["all"], "strategy": {"escalate_after": "2s"}, "require_answer": true,
        "choices": [{"key": "1", "label": "yes"}],
    });
    let began = tokio::time::Instant::now();
    let id = api.submit(&alert).await;
    api.until(&id, "both have it by phone", SOON, |report| report["channels"]["sms"]["delivered"] == 2).await;
    let answer = json!({"alert": id, "recipient": "bo", "text": "1"});
    assert_eq!(api.post("/api/v1/answers", &answer).await.status, 204);
    api.until(&id, "one has it by mail", SOON, |report| report["channels"]["mail"]["accepted"] == 1).await;
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(mails.mails(10).iter().map(|mail| mail.to.join(",")).collect::<Vec<_>>(), ["ann@town.test"]);
    let deliveries = api.deliveries(&id).await;
    let bos_mail = deliveries.iter().find(|delivery| delivery["address"] == "bo@town.test").unwrap();
    assert_eq!(bos_mail["reason_code"], "not_needed", "{bos_mail}");
}

#[tokio::test]
async fn people_who_share_an_address_get_one_copy_and_are_all_credited() {
    let (carrier, mails) = (carrier_with(everybody_answers("1")).await, mail_server().await);
    let server = server(&carrier, &mails, "").await;
    let api = server.api();
    // The same phone in another notation, and the same mailbox with its domain in other letters.
    let others: Vec<Value> = ["bo", "cy"]
        .iter()
        .map(|id| {
            json!({"id": id, "name": id, "groups": ["staff"], "devices": [
                {"channel": "sms", "address": number(0).replace("+46", "0046")}, {"channel": "mail", "address": "ann@TOWN.test"},
            ]})
        })
        .collect();
    api.add_recipients(&json!(others)).await;
    let audience = json!(["all", "group:staff", "recipient:ann", format!("sms:{}", number(0))]);
    let alert = json!({"text": "x", "audience": audience, "require_answer": true, "choices": [{"key": "1", "label": "safe"}]});
    let id = api.submit(&alert).await;
    let report =
        api.until(&id, "it is answered", SOON, |report| report["channels"]["sms"]["answered"] == 1).await;
    assert_eq!(count(&report, "endpoints"), 2, "{report}");
    assert_eq!(carrier.stats().messages, 1);
    for delivery in api.deliveries(&id).await {
        let mut ids: Vec<&str> = delivery["recipients"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|person| person["id"].as_str())
            .collect();
        ids.retain(|id| !id.is_empty());
        ids.sort();
        assert_eq!(ids, ["ann", "bo", "cy"], "{delivery}");
    }
}
