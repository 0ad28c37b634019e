//! Tests of stops: whose they are, how far they go, and who decides.

use super::backend::{TestBackend, over_both};
use super::message_clients::{party, says};
use super::messages::{PARTY, accept, message, until};
use super::test_engine::{PATIENCE, TestEngine, accepted, person};
use crate::Stops;
use crate::api::{EngineError, Keywords, OptOutRules};
use records::{Account, Choice, DlrState, Message, MessageClient, Mode, Priority};
use std::time::Duration;

const OWN: &str = Account::DEFAULT;

async fn with_rules(of: &TestEngine, opt_out: OptOutRules) {
    let clients = vec![party(MessageClient::Smpp(PARTY.into()), &[])];
    of.engine.change_clients(clients, Keywords { opt_out, ..Keywords::default() }).await.unwrap();
}

fn sweden() -> OptOutRules {
    OptOutRules { numbers: channels::Defaults::in_region("SE").unwrap(), ..OptOutRules::default() }
}

/// What becomes of a message to a number, shown as from a sender.
async fn sent(of: &TestEngine, to: &str, from: &str, expected: DlrState) {
    let mut message = Message { at: of.now(), ..message(to) };
    message.short.source.addr = from.into();
    let ids = accept(of, &[message]).await;
    until(of, ids[0], expected).await;
}

/// Waits until the store has so many stops.
async fn stops(of: &TestEngine, count: usize) {
    let stored = async {
        while of.store.all_opt_outs(OWN).await.unwrap().len() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, stored).await.expect("the stops are stored");
}

async fn a_stop_holds_for_a_number_however_it_is_written(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_rules(&of, sweden()).await;
    of.people(vec![person("ann", &["sms:+46701740001"]), person("bo", &["sms:+46701740002"])]).await;
    let _carrier = of.carrier(accepted);
    sent(&of, "+46701740001", "71700", DlrState::Accepted).await;
    says(&of, "701740001", "71700", "ARRÊT.").await;
    stops(&of, 1).await;
    assert_eq!(of.store.all_opt_outs(OWN).await.unwrap()[0].address, "+46701740001");
    of.pass_s(1);
    for to in ["+46701740001", "46701740001", "0046701740001", "0701740001"] {
        sent(&of, to, "71700", DlrState::Rejected).await;
    }
    let submitted = of.submit(|_| {}).await;
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.accepted, report.counts.excluded), (1, 1));
    let mut people = vec![person("ann", &["sms:+46701740001"]), person("bo", &["sms:+46701740002"])];
    Stops::of(&of.engine).mark_stops(OWN, &mut people).await.unwrap();
    assert_eq!(people.iter().map(|one| one.devices[0].opted_out).collect::<Vec<_>>(), [true, false]);
    says(&of, "46701740001", "71700", "start").await;
    stops(&of, 0).await;
}

async fn with_stops_by_sender_stop_all_is_for_all(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    let rules = OptOutRules {
        by_sender: true,
        senders: vec![(Mode::Live, "71700".to_owned())],
        ..OptOutRules::default()
    };
    with_rules(&of, rules).await;
    of.people(vec![person("ann", &["sms:+46701740001"]), person("bo", &["sms:+46701740002"])]).await;
    let _carrier = of.carrier(accepted);
    sent(&of, "+46701740003", "72000", DlrState::Accepted).await;
    says(&of, "+46701740001", "72000", "stop").await;
    says(&of, "+46701740002", "71700", "stop").await;
    says(&of, "+46701740003", "72000", "Stop all").await;
    stops(&of, 3).await;
    of.pass_s(1);
    for (to, from, expected) in [
        ("+46701740001", "72000", DlrState::Rejected),
        ("+46701740001", "71700", DlrState::Accepted),
        ("+46701740002", "", DlrState::Rejected),
        ("+46701740002", "72000", DlrState::Accepted),
        ("+46701740003", "99000", DlrState::Rejected),
    ] {
        sent(&of, to, from, expected).await;
    }
    // The route shows 71700: who stopped that gets no alert by it.
    let submitted = of.submit(|_| {}).await;
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.accepted, report.counts.excluded), (1, 1));
    says(&of, "+46701740001", "72000", "START").await;
    stops(&of, 2).await;
    of.pass_s(1);
    sent(&of, "+46701740001", "72000", DlrState::Accepted).await;
}

async fn an_emergency_reaches_who_said_stop_only_where_the_config_says_so(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    let mut marked = person("ann", &["sms:+46701740001"]);
    marked.devices[0].opted_out = true;
    of.people(vec![marked, person("bo", &["sms:+46701740002"])]).await;
    of.store.set_opt_out(OWN, channels::SMS, "+46701740002", true, of.now()).await.unwrap();
    let _carrier = of.carrier(accepted);
    for (overrides, priority, reached) in
        [(false, Priority::Emergency, 0), (true, Priority::Urgent, 0), (true, Priority::Emergency, 2)]
    {
        let rules = OptOutRules { emergencies_override: overrides, ..OptOutRules::default() };
        with_rules(&of, rules).await;
        let submitted = of.submit(|request| request.priority = priority).await;
        let report = of.until(&submitted.alert, |report| report.state == "done").await;
        assert_eq!(report.counts.accepted, reached, "{overrides} {priority:?}");
    }
}

async fn a_sentence_with_stop_waits_for_a_decision_and_then_holds(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    with_rules(&of, OptOutRules::default()).await;
    let _carrier = of.carrier(accepted);
    sent(&of, "+46701740001", "71700", DlrState::Accepted).await;
    says(&of, "46701740001", "71700", "Please stop sending me these").await;
    says(&of, "+46701740002", "71700", "the pump does not stop").await;
    let listed = async {
        loop {
            let mut listed = of.store.perhaps_stops(OWN, 0, 10).await.unwrap();
            if listed.len() == 2 {
                // They were written down side by side, in either order.
                listed.sort_by(|a, b| a.address.cmp(&b.address));
                return listed;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let listed = tokio::time::timeout(PATIENCE, listed).await.unwrap();
    assert_eq!((listed[0].address.as_str(), listed[0].sender.as_str()), ("+46701740001", "71700"));
    assert_eq!(of.store.all_opt_outs(OWN).await.unwrap(), []);
    Stops::of(&of.engine).decide_stop(OWN, listed[0].no, true).await.unwrap();
    Stops::of(&of.engine).decide_stop(OWN, listed[1].no, false).await.unwrap();
    let again = Stops::of(&of.engine).decide_stop(OWN, listed[1].no, true).await;
    assert_eq!(again, Err(EngineError::NotFound));
    of.pass_s(1);
    sent(&of, "+46701740001", "71700", DlrState::Rejected).await;
    sent(&of, "+46701740002", "71700", DlrState::Accepted).await;
}

async fn a_choice_that_stops_messages_is_refused(ground: TestBackend) {
    let of = ground.engine_under_test().await;
    of.people(vec![person("ann", &["sms:+46701740001"])]).await;
    let _carrier = of.carrier(accepted);
    for (key, label, field) in [
        ("Stop", "stop the pump", "choices[0].key"),
        ("ÉND", "over", "choices[0].key"),
        ("1", "Cancel!", "choices[0].label"),
    ] {
        let mut request = of.submit(|_| {}).await.alert.request;
        request.choices = vec![Choice { key: key.into(), label: label.into() }];
        let refused = of.engine.submit(super::test_engine::draft(request)).await;
        let Err(EngineError::Unprocessable(problems)) = refused else { panic!("{key}: {refused:?}") };
        assert_eq!(problems[0].field, field);
        assert!(problems[0].reason.contains("is a word that stops messages"), "{problems:?}");
    }
}

over_both!(
    a_stop_holds_for_a_number_however_it_is_written,
    with_stops_by_sender_stop_all_is_for_all,
    an_emergency_reaches_who_said_stop_only_where_the_config_says_so,
    a_sentence_with_stop_waits_for_a_decision_and_then_holds,
    a_choice_that_stops_messages_is_refused,
);
