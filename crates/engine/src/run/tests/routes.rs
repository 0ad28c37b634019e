//! Tests of routes: their use stopped and taken up again, how they stand, and tests by one of them.

use super::backend::{TestBackend, over_both};
use super::test_engine::{Carrier, PATIENCE, START, TestEngine, accepted, crowd, receipt, refused};
use crate::run::{RouteStatus, RouteTest, Routes};
use crate::testing::route;
use records::{Account, EndpointNo, Mode, ReceiptState, RouteHold, Timestamp};
use std::time::Duration;

fn hold(of: &TestEngine) -> RouteHold {
    let reason = "the carrier loses messages".to_owned();
    RouteHold { since: of.now(), token: "t".into(), by: "Eva".into(), reason }
}

async fn state(of: &TestEngine, name: &str) -> RouteStatus {
    let states = Routes::of(&of.engine).states().await.unwrap();
    states.into_iter().find(|state| state.route.name == name).unwrap()
}

/// Waits until a route stands as wanted.
async fn until(of: &TestEngine, name: &str, wanted: impl Fn(&RouteStatus) -> bool) -> RouteStatus {
    let standing = async {
        loop {
            let state = state(of, name).await;
            if wanted(&state) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, standing).await.expect("the route stands as wanted")
}

/// A second route for short messages, which costs more.
async fn with_reserve(of: &mut TestEngine) {
    of.add_route(route("reserve", channels::SMS, |route| route.cost = 9)).await;
}

async fn a_held_route_gets_nothing_and_what_was_planned_for_it_goes_by_another(ground: TestBackend) {
    let mut of = ground.engine_under_test().await;
    with_reserve(&mut of).await;
    of.people(crowd(40)).await;
    let routes = Routes::of(&of.engine);
    routes.hold("sms", &hold(&of)).await.unwrap();
    let held = until(&of, "sms", |state| state.hold.is_some()).await;
    assert_eq!(held.hold, Some(hold(&of)));
    assert!(held.health.is_some_and(|health| health.up), "its sessions stay");
    let substitute = &held.substitutes[0];
    assert_eq!(
        (substitute.name.as_str(), substitute.can_send, substitute.takes_all),
        ("reserve", true, true)
    );
    let _carrier = of.carrier(accepted);
    let submitted = of.submit(|_| {}).await;
    let forecast = of.engine.forecast(Account::DEFAULT, submitted.alert.request.clone()).await.unwrap();
    assert_eq!(forecast.routes.keys().collect::<Vec<_>>(), ["reserve"], "the held one sends nothing");
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.routes["reserve"].counts.accepted, 40);
    assert!(!report.routes.contains_key("sms"), "{report:?}");
    routes.release("sms").await.unwrap();
    until(&of, "sms", |state| state.hold.is_none()).await;
    let submitted = of.submit(|_| {}).await;
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.routes["sms"].counts.accepted, 40);
}

async fn equal_routes_are_through_with_a_small_alert_at_one_time_whatever_they_sent_before(
    ground: TestBackend,
) {
    let mut of = ground.engine_under_test().await;
    for (name, rate) in [("fast", 90.0), ("slow", 30.0)] {
        of.add_route(route(name, channels::SMS, |route| (route.rate, route.priority) = (rate, -1))).await;
    }
    of.people(crowd(80)).await;
    let _carrier = of.carrier(accepted);
    for name in ["fast", "slow"] {
        let is_up = |state: &RouteStatus| {
            of.pass_s(1);
            state.health.as_ref().is_some_and(|health| health.up)
        };
        until(&of, name, is_up).await;
    }
    for _ in 0..3 {
        let submitted = of.submit(|_| {}).await;
        let report = of.until(&submitted.alert, |report| report.state == "done").await;
        let took = |name: &str| report.routes.get(name).map_or(0, |route| route.counts.accepted);
        assert_eq!((took("fast"), took("slow")), (60, 20), "{report:?}");
    }
}

async fn what_has_no_other_route_waits_for_a_held_one_and_is_sent_once_it_is_released(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.people(crowd(7)).await;
    Routes::of(&of.engine).hold("sms", &hold(&of)).await.unwrap();
    until(&of, "sms", |state| state.hold.is_some()).await;
    let carrier = of.carrier(accepted);
    let submitted = of.submit(|_| {}).await;
    let waiting = until(&of, "sms", |state| state.waiting == [0, 0, 7]).await;
    assert!(waiting.substitutes.is_empty(), "mail takes no short messages");
    assert!(carrier.addresses().is_empty());
    Routes::of(&of.engine).release("sms").await.unwrap();
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.routes["sms"].counts.accepted, 7);
    until(&of, "sms", |state| state.waiting == [0; 3]).await;
}

async fn a_hold_is_there_after_a_restart(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    let hold = hold(&of);
    Routes::of(&of.engine).hold("sms", &hold).await.unwrap();
    until(&of, "sms", |state| state.hold.is_some()).await;
    let again = ground.ended(of).await.engine_under_test().await;
    assert_eq!(until(&again, "sms", |state| state.hold.is_some()).await.hold, Some(hold));
}

async fn a_route_shows_what_it_sent_what_was_refused_and_how_soon_it_was_confirmed(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.people(crowd(10)).await;
    let fresh = state(&of, "sms").await;
    assert_eq!((fresh.confirmations, fresh.errors.len()), (None, 0), "nothing is known, and not shown as 0");
    let _carrier = of.carrier(|segment, entry| match entry.address.ends_with('9') {
        true => refused(segment, entry, true),
        false => {
            let mut outcomes = accepted(segment, entry);
            outcomes.push(receipt(segment, entry, ReceiptState::Delivered));
            outcomes
        }
    });
    let submitted = of.submit(|_| {}).await;
    of.until(&submitted.alert, |report| report.counts.delivered == 9 && report.counts.failed == 1).await;
    let state = state(&of, "sms").await;
    let times = state.confirmations.unwrap();
    assert_eq!((times.p50_ms, times.p95_ms, times.count), (1_000, 1_000, 9));
    let error = &state.errors[0];
    assert_eq!(
        (error.code.as_str(), error.text.as_str(), error.count),
        ("smpp:0000000B", "invalid destination", 1)
    );
    let routes = Routes::of(&of.engine);
    let history = routes.history("sms").await.unwrap().unwrap();
    let sent: f64 = history.iter().map(|point| point.sent_per_s).sum();
    assert_eq!((sent, history.iter().map(|point| point.refused).sum::<u64>()), (9.0, 1));
    assert!(routes.history("none").await.unwrap().is_none());
}

fn test_of(route: Option<&str>, mode: Mode) -> RouteTest {
    RouteTest {
        account: Account::DEFAULT.to_owned(),
        token: "t".into(),
        mode,
        to: "sms:+46700000001".into(),
        route: route.map(str::to_owned),
        text: "Test {{ not a template }}".into(),
    }
}

/// The route that a test went by, once it is accepted.
async fn went_by(of: &TestEngine, carrier: &Carrier, test: RouteTest) -> String {
    let sent = carrier.addresses().len();
    let submitted = Routes::of(&of.engine).test(test).await.unwrap();
    of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(carrier.addresses()[sent..], ["+46700000001"]);
    let delivery =
        of.engine.people().delivery(Account::DEFAULT, submitted.alert.id, EndpointNo(0)).await.unwrap();
    delivery.unwrap().route.unwrap()
}

async fn a_test_goes_by_exactly_the_route_that_it_names(ground: TestBackend) {
    let mut of = ground.engine_under_test().await;
    with_reserve(&mut of).await;
    let own = |route: &mut records::Route| {
        (route.accounts, route.senders) = (vec!["another".into()], vec!["CITY".into()]);
        (route.prefixes, route.mode) = (vec!["+1".into()], Mode::Drill);
    };
    of.add_route(route("own", channels::SMS, own)).await;
    for name in ["sms", "reserve", "own"] {
        // Of several processes the leader reads how routes are once in a while.
        let is_up = |state: &RouteStatus| {
            of.pass_s(1);
            state.health.as_ref().is_some_and(|health| health.up)
        };
        until(&of, name, is_up).await;
    }
    let carrier = of.carrier(accepted);
    assert_eq!(went_by(&of, &carrier, test_of(None, Mode::Live)).await, "sms");
    assert_eq!(went_by(&of, &carrier, test_of(Some("reserve"), Mode::Live)).await, "reserve");
    assert_eq!(went_by(&of, &carrier, test_of(Some("own"), Mode::Drill)).await, "own");
    let texts: Vec<String> = carrier.sent.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
    assert!(texts.iter().all(|text| text.contains("{{ not a template }}")), "{texts:?}");
    let listed = of.store.alerts_before(Account::DEFAULT, None, 10).await.unwrap();
    assert!(listed.is_empty(), "no list shows a test: {listed:?}");
}

#[test]
fn a_hold_is_read_as_it_was_written() {
    let hold =
        RouteHold { since: Timestamp(START.0), token: "t".into(), by: "Eva".into(), reason: "é".into() };
    assert_eq!(RouteHold::decode(&hold.encode()), Ok(hold));
    assert!(RouteHold::decode(b"no hold").is_err());
}

over_both!(
    a_held_route_gets_nothing_and_what_was_planned_for_it_goes_by_another,
    equal_routes_are_through_with_a_small_alert_at_one_time_whatever_they_sent_before,
    what_has_no_other_route_waits_for_a_held_one_and_is_sent_once_it_is_released,
    a_hold_is_there_after_a_restart,
    a_route_shows_what_it_sent_what_was_refused_and_how_soon_it_was_confirmed,
    a_test_goes_by_exactly_the_route_that_it_names,
);
