//! Carriers as they are: slow, limited, cut off, with ids of many forms; and who goes first.

use crate::fixtures::{LATER, SOON, assert_counts_add_up, carrier, carrier_that, count, number, phones_csv};
use it::{Server, free_port, sms_route};
use serde_json::{Value, json};
use sim::smsc::{IdForm, ReceiptForm, Receipts, Throttle};

fn to_all(more: Value) -> Value {
    let mut alert = json!({"text": "hello", "audience": ["all"], "terminal": "delivered"});
    alert.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    alert
}

#[tokio::test]
async fn receipts_find_their_messages_however_carriers_write_ids_and_whenever_they_come() {
    let forms = [
        IdForm::Decimal,
        IdForm::Hex,
        IdForm::Uuid,
        IdForm::HexThenDecimal,
        IdForm::DecimalThenHex,
        IdForm::HexThenPadded,
    ];
    for (place, ids) in forms.into_iter().enumerate() {
        // Some come before the answer to their submission, some twice.
        let form = if place % 2 == 0 { ReceiptForm::Both } else { ReceiptForm::Text };
        let receipts = Receipts { early: 0.3, twice: 0.3, form, ..Receipts::default() };
        let carrier = carrier_that(|options| (options.ids, options.receipts) = (ids, receipts)).await;
        let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
        let api = server.api();
        api.import_csv(phones_csv(200)).await;
        let id = api.submit(&to_all(json!({}))).await;
        let report = api.done(&id, SOON).await;
        assert_eq!(count(&report, "delivered"), 200, "{ids:?}: {report}");
    }
}

#[tokio::test]
async fn a_carrier_that_throttles_slows_the_route_and_fails_no_message() {
    for throttle in [Throttle::Throttled, Throttle::QueueFull] {
        let carrier = carrier_that(|options| (options.rate, options.throttle) = (60.0, throttle)).await;
        let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
        let api = server.api();
        api.import_csv(phones_csv(300)).await;
        let id = api.submit(&to_all(json!({}))).await;
        let report = api.done(&id, LATER).await;
        assert_eq!(count(&report, "delivered"), 300, "{report}");
        let stats = carrier.stats();
        assert_eq!((stats.messages, stats.repeats), (300, 0), "{stats:?}");
        assert!(!stats.refused.is_empty(), "it throttled: {stats:?}");
    }
}

#[tokio::test]
async fn cut_connections_leave_nobody_out_and_unknown_is_what_was_in_flight() {
    let cuts = |options: &mut sim::smsc::SmscOptions| {
        options.disconnect_every = 150;
        options.latency = "1ms..10ms".parse().unwrap();
    };
    for on_unknown in ["hold", "resend"] {
        let carrier = carrier_that(cuts).await;
        let server =
            Server::start(&sms_route("carrier", carrier.address(), "sessions = 2\nwindow = 10")).await;
        let api = server.api();
        api.import_csv(phones_csv(1_000)).await;
        let id = api.submit(&to_all(json!({"on_unknown": on_unknown}))).await;
        let report = api.done(&id, LATER).await;
        assert_counts_add_up(&report);
        let stats = carrier.stats();
        let (unknown, delivered) = (count(&report, "unknown"), count(&report, "delivered"));
        assert_eq!(unknown + delivered, 1_000, "{report}");
        match on_unknown {
            "hold" => {
                assert!(unknown >= 1, "{report}");
                // A cut at every 150th submission: at most one session's window each time.
                assert!(unknown <= 10 * stats.submits.div_ceil(150), "{report} {stats:?}");
                assert_eq!(stats.repeats, 0, "{stats:?}");
            }
            _ => {
                assert_eq!(delivered, 1_000, "{report}");
                let resent: u64 =
                    api.deliveries(&id).await.iter().map(|it| it["attempts"].as_u64().unwrap() - 1).sum();
                assert!(resent >= 1 && stats.repeats <= resent, "{resent} resent: {stats:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_emergency_overtakes_what_is_under_way() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "rate = 100.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(3_000)).await;
    let routine = api.submit(&to_all(json!({}))).await;
    api.until(&routine, "the routine alert is under way", SOON, |report| count(report, "delivered") >= 100)
        .await;
    let audience: Vec<String> = (0..50).map(|place| format!("sms:{}", number(place))).collect();
    let began = std::time::Instant::now();
    let emergency = api.submit(&json!({"text": "run", "audience": audience, "priority": "emergency"})).await;
    api.done(&emergency, SOON).await;
    let taken = began.elapsed();
    let report = api.report(&routine).await;
    assert!(count(&report, "planned") > 1_000, "the other waits: {report}");
    // Half a second at 100/s, and the batch that was written already.
    assert!(taken.as_secs_f64() < 2.0, "{taken:?}");
    api.steer(&routine, "cancel").await;
}

#[tokio::test]
async fn who_cannot_go_the_first_way_goes_the_next() {
    let backup = carrier().await;
    let nowhere = format!("127.0.0.1:{}", free_port());
    let config =
        sms_route("first", nowhere, "priority = 0") + &sms_route("backup", backup.address(), "priority = 1");
    let server = Server::start(&config).await;
    let api = server.api();
    api.import_csv(phones_csv(50)).await;
    let id = api.submit(&to_all(json!({}))).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(count(&report, "delivered"), 50, "{report}");
    assert_eq!(backup.stats().messages, 50);
}

#[tokio::test]
async fn messages_are_shared_among_routes_by_their_weight() {
    let (one, three) = (carrier().await, carrier().await);
    let config = sms_route("one", one.address(), "rate = 400.0")
        + &sms_route("three", three.address(), "rate = 400.0\nweight = 3");
    let server = Server::start(&config).await;
    let api = server.api();
    api.import_csv(phones_csv(2_000)).await;
    // While both have room, the weight decides: the first second's worth of each.
    let id = api.submit(&to_all(json!({}))).await;
    api.done(&id, LATER).await;
    let (one, three) = (one.stats().messages, three.stats().messages);
    assert_eq!(one + three, 2_000);
    assert!(three > one, "{one} and {three}");
}
