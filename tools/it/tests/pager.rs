//! Pagers of the real program: over servers that nobody here wrote, and over the simulator with kill -9.

use crate::fixtures::{LATER, SOON, assert_counts_add_up, count};
use it::{Hylafax, NetSnpp, Server, eventually};
use serde_json::{Value, json};
use sim::chance::Delay;
use sim::pager::{PagingCarrier, PagingOptions};
use sim::town::Habits;

/// Pagers of the killing.
const PAGERS: u64 = 400;
const KILLS: usize = 5;
const SESSIONS: u64 = 4;

fn route(address: impl std::fmt::Display, more: &str) -> String {
    format!(
        "[[route]]\nname = \"pagers\"\nchannel = \"pager\"\nmode = \"live\"\naddress = \"{address}\"\n{more}\n"
    )
}

fn owner(id: &str, pager: &str) -> Value {
    json!({"id": id, "name": id, "pager": pager})
}

fn delivery<'a>(deliveries: &'a [Value], address: &str) -> &'a Value {
    deliveries
        .iter()
        .find(|it| it["address"] == address)
        .unwrap_or_else(|| panic!("{address}: {deliveries:?}"))
}

#[tokio::test]
async fn a_two_way_page_is_delivered_answered_or_refused_as_net_snpp_says() {
    let perl = NetSnpp::start().await;
    let server = Server::start(&route(perl.address(), "two_way = true\npoll = \"1s\"")).await;
    let api = server.api();
    let people =
        [("by-choice", "5551231"), ("in-words", "5551239"), ("queued", "5551238"), ("unknown", "5551230")];
    api.add_recipients(&json!(people.map(|(id, pager)| owner(id, pager)))).await;
    let id = api
        .submit(&json!({
            "headline": "Gas leak", "text": "Leave by the north gate.", "audience": ["all"],
            "require_answer": true, "terminal": "answered",
            "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}],
        }))
        .await;
    let deliveries = eventually("answers and refusal are in the report", LATER, async || {
        let deliveries = api.deliveries(&id).await;
        let states: Vec<&str> = deliveries.iter().filter_map(|it| it["state"].as_str()).collect();
        let has = |state| states.iter().filter(|other| **other == state).count();
        if has("answered") == 2 && has("failed") == 1 { Ok(deliveries) } else { Err(format!("{states:?}")) }
    })
    .await;
    let refused = delivery(&deliveries, "5551230");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("550") && reason.contains("Invalid Pager ID"), "the server's words: {reason}");
    assert_eq!(refused["attempts"], 1, "what is refused for good is not tried again");
    assert_eq!(delivery(&deliveries, "5551238")["state"], "accepted", "queued is not delivered");
    let report = api.get(&format!("/api/v1/alerts/{id}/report")).await.expect(200);
    assert_eq!((count(&report, "answered"), count(&report, "accepted"), count(&report, "failed")), (2, 1, 1));
    let pages = perl.pages();
    assert_eq!(pages.len(), 3, "a page each, and none to the unknown one: {pages:?}");
    for page in &pages {
        assert_eq!(
            (&page["text"], &page["two_way"]),
            (&json!("Gas leak: Leave by the north gate."), &json!(true))
        );
        assert_eq!(page["choices"].as_object().unwrap().len(), 2);
    }
    assert!(perl.questions().len() >= 4, "delivered and answered are what the server said");
}

#[tokio::test]
async fn a_page_to_hylafax_is_queued_there_and_unknown_without_an_answer() {
    let mut hylafax = Hylafax::start().await;
    let server = Server::start(&route(hylafax.address(), "login = \"city\"\nsessions = 2")).await;
    let api = server.api();
    api.add_recipients(&json!([owner("unknown", "777"), owner("ann", "5551234")])).await;
    let id = api
        .submit(&json!({"text": "Leave by the north gate.", "audience": ["all"], "on_unknown": "hold"}))
        .await;
    let job = eventually("the page is a job of HylaFAX", LATER, async || {
        let jobs = hylafax.jobs();
        let found = jobs.iter().find(|job| job.contains("5551234") && job.contains("page:")).cloned();
        found.ok_or_else(|| format!("{jobs:?}"))
    })
    .await;
    assert!(job.contains("jobtype:pager"), "{job}");
    let refused = eventually("the unknown pager is refused", SOON, async || {
        let deliveries = api.deliveries(&id).await;
        let refused = deliveries.into_iter().find(|it| it["address"] == "777" && it["state"] == "failed");
        refused.ok_or("not yet")
    })
    .await;
    assert!(refused["reason"].as_str().unwrap().contains("Invalid pager ID"), "{refused}");
    hylafax.kill();
    let unknown = eventually("a page without an answer is unknown", LATER, async || {
        let deliveries = api.deliveries(&id).await;
        let unknown =
            deliveries.into_iter().find(|it| it["address"] == "5551234" && it["state"] == "unknown");
        unknown.ok_or(json!(api.deliveries(&id).await))
    })
    .await;
    assert_eq!(unknown["attempts"], 1);
}

#[tokio::test]
async fn a_pager_gets_its_own_text_within_its_length_and_a_drill_is_marked() {
    let carrier = PagingCarrier::start(PagingOptions::default()).await.unwrap();
    let config = route(carrier.address(), "length = 60").replace("\"live\"", "\"drill\"");
    let server = Server::start(&config).await;
    let api = server.api();
    let mut ann = owner("ann", "1001");
    ann["participant"] = json!(true);
    api.add_recipients(&json!([ann])).await;
    let long = "Hej alla!\nLämna hamnen genom den norra grinden och vänta vid samlingsplatsen.\nMed vänlig hälsning\nStaden";
    for (body, expected) in [
        (json!({"text": long}), "[EXERCISE] Lamna hamnen genom den norra grinden och vanta..."),
        (
            json!({"text": long, "texts": {"pager": "GA TILL NORRA GRINDEN"}}),
            "[EXERCISE] GA TILL NORRA GRINDEN",
        ),
    ] {
        let mut body = body;
        body["audience"] = json!(["recipient:ann"]);
        body["mode"] = json!("drill");
        body["participants_only"] = json!(true);
        let id = api.submit(&body).await;
        let report = api.done(&id, SOON).await;
        assert_eq!(count(&report, "accepted"), 1, "{report}");
        assert_eq!(carrier.pages(10).last().unwrap().text, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_in_mid_alert_leave_nobody_out_and_second_copies_only_among_the_unknown() {
    let mut people = Habits::answering(1);
    people.free_text = 0.0;
    people.answer_after = Delay::NONE;
    let options = PagingOptions {
        latency: "5ms..30ms".parse().unwrap(),
        deliver_after: "0s..2s".parse().unwrap(),
        people: Some(people),
        ..PagingOptions::default()
    };
    let carrier = PagingCarrier::start(options).await.unwrap();
    let keys = format!("two_way = true\npoll = \"1s\"\nsessions = {SESSIONS}\nrate = 40.0");
    let mut server = Server::start(&route(carrier.address(), &keys)).await;
    let api = server.api();
    let owners: Vec<Value> =
        (0..PAGERS).map(|place| owner(&format!("p{place}"), &format!("{}", 2_000 + place))).collect();
    api.add_recipients(&json!(owners)).await;
    let id = api
        .submit(&json!({
            "text": "The dam has burst", "audience": ["all"], "on_unknown": "resend", "terminal": "answered",
            "require_answer": true, "choices": [{"key": "1", "label": "Safe"}, {"key": "2", "label": "Help"}],
        }))
        .await;
    for kill in 1..=KILLS {
        let wanted = PAGERS * kill as u64 / (KILLS as u64 + 2);
        eventually("pages go out", LATER, async || {
            let accepted = carrier.stats().accepted;
            if accepted >= wanted { Ok(()) } else { Err(format!("{accepted} of {wanted}")) }
        })
        .await;
        server.kill9();
        server.restart().await;
    }
    let api = server.api();
    let report = eventually("everybody has answered", LATER + LATER, async || {
        let report = api.get(&format!("/api/v1/alerts/{id}/report")).await.expect(200);
        if count(&report, "answered") == PAGERS { Ok(report) } else { Err(report["counts"].to_string()) }
    })
    .await;
    assert_counts_add_up(&report);
    let stats = carrier.stats();
    let left_out: Vec<u64> =
        (0..PAGERS).filter(|place| carrier.accepted(&format!("{}", 2_000 + place)) == 0).collect();
    assert!(left_out.is_empty(), "{left_out:?} got nothing");
    let most = KILLS as u64 * SESSIONS;
    assert!(stats.repeats <= most, "{} second copies, {most} pages were under way at a kill", stats.repeats);
    server.stop().await;
}
