//! Platforms' messages, from intake to what their clients are told.

use super::backend::{TestBackend, over_both};
use super::test_engine::{PATIENCE, START, TestEngine, accepted, all_of, receipt, refused};
use crate::messages::{MessageSearch, MessageView, Steered};
use records::{
    Account, ClientEvent, DeliveryState, DlrRequest, DlrState, Intake, Lane, Message, MessageClient,
    MessageId, Mode, Notice, ReceiptState, Short, ShortAddress, ShortText, client_topic,
};
use std::time::Duration;

pub const PARTY: &str = "platform-a";

/// A message of [`PARTY`] that wants to hear everything.
pub fn message(to: &str) -> Message {
    Message {
        account: Account::DEFAULT.into(),
        party: MessageClient::Smpp(PARTY.into()),
        at: START,
        lane: Lane::Routine,
        mode: Mode::Live,
        to: to.into(),
        short: Short {
            source: ShortAddress { ton_npi: None, addr: "71700".into() },
            text: ShortText::Text { text: format!("to {to}").into(), class: None },
            ..Short::default()
        },
        not_before: None,
        expires: START.plus_s(86_400),
        route: None,
        tell: DlrRequest { mask: 31, ..DlrRequest::default() },
    }
}

pub async fn accept(engine_under_test: &TestEngine, messages: &[Message]) -> Vec<MessageId> {
    let records: Vec<Vec<u8>> =
        messages.iter().map(|message| Intake::Message(Box::new(message.clone())).encode()).collect();
    let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    let first = engine_under_test.engine.messages().accept(&slices).await.unwrap();
    (first.0..).take(messages.len()).map(MessageId).collect()
}

pub async fn view(engine_under_test: &TestEngine, id: MessageId) -> Option<MessageView> {
    engine_under_test.engine.messages().message(Account::DEFAULT, id).await.unwrap()
}

/// Waits until a message is in this state.
pub async fn until(engine_under_test: &TestEngine, id: MessageId, state: DlrState) -> MessageView {
    let begun = std::time::Instant::now();
    loop {
        let view = view(engine_under_test, id).await;
        if let Some(view) = view.as_ref().filter(|view| view.state == state) {
            return view.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {state:?}: {view:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a client was told so far.
pub async fn told(engine_under_test: &TestEngine, party: &str) -> Vec<ClientEvent> {
    let topic = engine_under_test.bus.topic(&client_topic(party)).unwrap();
    let records = all_of(&*topic).await;
    records.iter().map(|record| ClientEvent::decode(&record.octets).unwrap()).collect()
}

/// What was told of a client's messages: id and event.
pub async fn status_events(engine_under_test: &TestEngine) -> Vec<(MessageId, u8)> {
    let status = |told: ClientEvent| match told {
        ClientEvent::Status(status) => Some((status.id, status.event)),
        ClientEvent::Receipt(of) => Some((of.status.id, of.status.event)),
        ClientEvent::Inbound(_) => None,
    };
    told(engine_under_test, PARTY).await.into_iter().filter_map(status).collect()
}

pub async fn until_told(engine_under_test: &TestEngine, count: usize) -> Vec<(MessageId, u8)> {
    let begun = std::time::Instant::now();
    loop {
        let status_events = status_events(engine_under_test).await;
        if status_events.len() >= count {
            return status_events;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {count}: {status_events:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_message_goes_out_as_it_was_given_and_its_party_hears_what_became_of_it(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let carrier = engine_under_test.carrier(|segment, entry| match entry.address.as_str() {
        "+461" => [accepted(segment, entry), vec![receipt(segment, entry, ReceiptState::Delivered)]].concat(),
        "+462" => [accepted(segment, entry), vec![receipt(segment, entry, ReceiptState::Expired)]].concat(),
        _ => refused(segment, entry, true),
    });
    let ids = accept(&engine_under_test, &[message("+461"), message("+462"), message("+463")]).await;
    let view = until(&engine_under_test, ids[0], DlrState::Delivered).await;
    assert!(view.is_final && view.message.id == ids[0] && view.to == "+461");
    assert_eq!(view.message.short.registered_delivery, Some(0b1_0001), "all of it was asked for");
    until(&engine_under_test, ids[1], DlrState::Expired).await;
    until(&engine_under_test, ids[2], DlrState::Rejected).await;
    assert_eq!(carrier.sent.lock().unwrap()[0].1, "Text { text: \"to +461\", class: None }");
    let mut status_events = until_told(&engine_under_test, 5).await;
    status_events.sort_unstable();
    let expected = [(0, 1), (0, 8), (1, 2), (1, 8), (2, 16)];
    assert_eq!(status_events, expected.map(|(place, event)| (ids[place], event)));
    let Some(ClientEvent::Status(status)) = told(&engine_under_test, PARTY)
        .await
        .into_iter()
        .find(|told| matches!(told, ClientEvent::Status(status) if status.event == 16))
    else {
        panic!("nothing was told")
    };
    assert_eq!(
        (&*status.text, &*status.to, &*status.beginning),
        ("smpp:0000000B invalid destination", "+463", "to +463")
    );
    assert_eq!((status.state, status.route.as_str()), (DlrState::Rejected, "sms"));
    // Nobody sent this alert: it is in no list.
    assert!(engine_under_test.store.alerts_before(Account::DEFAULT, None, 10).await.unwrap().is_empty());
    assert!(self::view(&engine_under_test, MessageId(99)).await.is_none());
    assert!(engine_under_test.engine.messages().message("other", ids[0]).await.unwrap().is_none());
}

async fn a_platform_of_the_old_way_is_told_at_its_address(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let _carrier = engine_under_test.carrier(accepted);
    let url = "http://platform/dlr?id=%I&d=%d&to=%p&from=%P&smsc=%i&u=%n&o=%o".into();
    let tell = DlrRequest { mask: DlrRequest::ACCEPTED, url: Some(url), values: vec![('o', "acc".into())] };
    let platform = Message { party: MessageClient::Platform("plat".into()), tell, ..message("+461") };
    let ids = accept(&engine_under_test, &[platform]).await;
    until(&engine_under_test, ids[0], DlrState::Accepted).await;
    let topic = engine_under_test.bus.topic(records::NOTICES).unwrap();
    topic.readable(0).await;
    let record = topic.read(0, 1, 1 << 20).unwrap().pop().unwrap();
    let notice = Notice::decode(&record.octets).unwrap();
    let id = format!("{:016x}", ids[0].0);
    assert_eq!(
        notice.url,
        format!("http://platform/dlr?id={id}&d=8&to=%2B461&from=71700&smsc=sms&u=plat&o=acc")
    );
    assert_eq!((notice.verb, notice.id), (records::NoticeVerb::Fetch, format!("{id}-8")));
}

async fn what_nobody_takes_and_what_comes_too_late_is_refused(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let _carrier = engine_under_test.carrier(accepted);
    let named = Message { route: Some("none".into()), ..message("+461") };
    let late = Message { expires: START, ..message("+462") };
    let out = message("+463");
    let sms = channels::SMS;
    engine_under_test.store.set_opt_out(Account::DEFAULT, sms, "+463", true, START).await.unwrap();
    let ids = accept(&engine_under_test, &[named, late, out]).await;
    until(&engine_under_test, ids[0], DlrState::Rejected).await;
    until(&engine_under_test, ids[1], DlrState::Expired).await;
    until(&engine_under_test, ids[2], DlrState::Rejected).await;
    let mut status_events = until_told(&engine_under_test, 3).await;
    status_events.sort_unstable();
    assert_eq!(status_events, [(ids[0], 16), (ids[1], 16), (ids[2], 16)]);
}

async fn a_message_that_waits_is_taken_back_replaced_or_lapses(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let carrier = engine_under_test.carrier(accepted);
    let later = |to: &str| Message { not_before: Some(START.plus_s(60)), ..message(to) };
    let short_lived = Message { expires: START.plus_s(30), ..later("+464") };
    let ids = accept(
        &engine_under_test,
        &[later("+461"), later("+462"), later("+463"), short_lived, message("+465")],
    )
    .await;
    until(&engine_under_test, ids[4], DlrState::Accepted).await;
    let messages = engine_under_test.engine.messages();
    let own = Account::DEFAULT;
    assert_eq!(messages.cancel("other", ids[0]).await.unwrap(), Steered::NotFound);
    assert_eq!(messages.cancel(own, ids[0]).await.unwrap(), Steered::Done);
    assert_eq!(messages.cancel(own, ids[0]).await.unwrap(), Steered::TooLate);
    assert_eq!(messages.cancel(own, ids[4]).await.unwrap(), Steered::TooLate);
    until(&engine_under_test, ids[0], DlrState::Deleted).await;
    let text = ShortText::Text { text: "something else".into(), class: None };
    let short = Short { text, ..message("+462").short };
    assert_eq!(messages.replace(own, ids[1], short, None, None).await.unwrap(), Steered::Done);
    let party = MessageClient::Smpp(PARTY.into());
    assert_eq!(messages.cancel_all(own, &party, "", "71700", "+463").await.unwrap(), 1);
    assert_eq!(messages.cancel_all(own, &party, "", "71700", "+463").await.unwrap(), 0);
    engine_under_test.pass_s(45);
    until(&engine_under_test, ids[3], DlrState::Expired).await;
    engine_under_test.pass_s(20);
    until(&engine_under_test, ids[1], DlrState::Accepted).await;
    let mut sent = carrier.sent.lock().unwrap().clone();
    sent.sort_unstable();
    let text = |text: &str| format!("Text {{ text: {text:?}, class: None }}");
    assert_eq!(sent, [("+462".into(), text("something else")), ("+465".into(), text("to +465"))]);
}

async fn every_class_has_a_standing_alert_and_a_report(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let _carrier = engine_under_test.carrier(accepted);
    let urgent = Message { lane: Lane::Urgent, ..message("+461") };
    let other = Message { account: "other".into(), ..message("+462") };
    let ids = accept(&engine_under_test, &[message("+463"), urgent, other, message("+464")]).await;
    until(&engine_under_test, ids[3], DlrState::Accepted).await;
    until(&engine_under_test, ids[1], DlrState::Accepted).await;
    let alerts = engine_under_test.store.unfinished_alerts().await.unwrap();
    assert_eq!(alerts.len(), 3);
    let routine = alerts.iter().find(|alert| {
        alert.account == Account::DEFAULT && alert.request.priority == records::Priority::Routine
    });
    let report = engine_under_test.until(routine.unwrap(), |report| report.counts.accepted == 2).await;
    assert_eq!(report.counts.endpoints, 2);
    // Their addresses are in SQL with the next fold.
    let page = loop {
        let (id, accepted) = (routine.unwrap().id, Some(DeliveryState::Accepted));
        let page = engine_under_test
            .engine
            .deliveries(Account::DEFAULT, id, accepted, records::EndpointNo(0), 9)
            .await
            .unwrap()
            .0;
        let addresses: Vec<&str> = page.iter().map(|delivery| delivery.address.as_str()).collect();
        assert!(["+463", "+464"].starts_with(&addresses), "a page has no gaps: {addresses:?}");
        if page.len() == 2 {
            break page;
        }
        engine_under_test.pass_s(1);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(page.iter().all(|delivery| delivery.state == DeliveryState::Accepted));
}

/// What is found once SQL has the newest message; the ids, and where the search goes on.
async fn found(
    engine_under_test: &TestEngine,
    wanted: &MessageSearch,
    newest: MessageId,
) -> (Vec<MessageId>, Option<MessageId>) {
    let messages = engine_under_test.engine.messages();
    loop {
        let last = messages.search(Account::DEFAULT, &MessageSearch::default(), 1).await.unwrap();
        if last.ids == [newest] {
            let found = messages.search(Account::DEFAULT, wanted, 10).await.unwrap();
            return (found.ids, found.next);
        }
        engine_under_test.pass_s(1);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn messages_are_found_by_number_over_blocks_and_classes_the_newest_first(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let many = records::ROSTER_BLOCK_ENDPOINTS * 2 + 7;
    let other = Message { account: "other".into(), ..message("+461") };
    let urgent = Message { lane: Lane::Urgent, ..message("+461") };
    let mut all = vec![message("+461"), other, urgent];
    all.extend((0..many).map(|n| message(&format!("+47{n}"))));
    all.push(message("+461"));
    let mut ids = Vec::new();
    for some in all.chunks(500) {
        ids.extend(accept(&engine_under_test, some).await);
    }
    let newest = *ids.last().unwrap();
    let wanted = MessageSearch { number: Some("461".into()), ..MessageSearch::default() };
    let (of_number, next) = found(&engine_under_test, &wanted, newest).await;
    assert_eq!((of_number, next), (vec![newest, ids[2], ids[0]], None));
    let before = MessageSearch { before: Some(newest), ..wanted.clone() };
    assert_eq!(found(&engine_under_test, &before, newest).await.0, [ids[2], ids[0]]);
    let by_nobody = MessageSearch { client: Some("platform-b".into()), ..MessageSearch::default() };
    assert_eq!(found(&engine_under_test, &by_nobody, newest).await, (Vec::new(), None));
    let drills = MessageSearch { mode: Some(Mode::Drill), ..MessageSearch::default() };
    assert_eq!(found(&engine_under_test, &drills, newest).await, (Vec::new(), None));
    let messages = engine_under_test.engine.messages();
    let mut seen = Vec::new();
    let mut wanted = MessageSearch { client: Some(PARTY.into()), ..MessageSearch::default() };
    loop {
        let found = messages.search(Account::DEFAULT, &wanted, 100).await.unwrap();
        seen.extend(found.ids);
        match found.next {
            Some(next) => wanted.before = Some(next),
            None => break,
        }
    }
    let expected: Vec<MessageId> = ids.iter().rev().filter(|id| **id != ids[1]).copied().collect();
    assert_eq!(seen, expected, "page by page each is there once");
    let course = messages.course(Account::DEFAULT, ids[2]).await.unwrap().unwrap();
    assert_eq!((course.lane, course.mode, course.view.message.id), (Lane::Urgent, Mode::Live, ids[2]));
    assert!(messages.course(Account::DEFAULT, ids[1]).await.unwrap().is_none(), "another account's");
    assert!(messages.course(Account::DEFAULT, MessageId(u64::MAX)).await.unwrap().is_none());
}

over_both!(
    messages_are_found_by_number_over_blocks_and_classes_the_newest_first,
    a_message_goes_out_as_it_was_given_and_its_party_hears_what_became_of_it,
    a_platform_of_the_old_way_is_told_at_its_address,
    what_nobody_takes_and_what_comes_too_late_is_refused,
    a_message_that_waits_is_taken_back_replaced_or_lapses,
    every_class_has_a_standing_alert_and_a_report,
);
