//! Platforms' messages, from intake to what their parties are told.

use super::ground::{Ground, over_both};
use super::house::{House, PATIENCE, START, accepted, all_of, receipt, refused};
use crate::messages::{MessageView, Steered};
use records::{
    Account, DeliveryState, FateState, Intake, Lane, Message, MessageId, Mode, Notice, Party, ReceiptState,
    Short, ShortAddress, ShortText, Tell, Told, told_topic,
};
use std::time::Duration;

pub const PARTY: &str = "platform-a";

/// A message of [`PARTY`] that wants to hear everything.
pub fn message(to: &str) -> Message {
    Message {
        account: Account::DEFAULT.into(),
        party: Party::Smpp(PARTY.into()),
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
        tell: Tell { mask: 31, ..Tell::default() },
    }
}

pub async fn accept(house: &House, messages: &[Message]) -> Vec<MessageId> {
    let records: Vec<Vec<u8>> =
        messages.iter().map(|message| Intake::Message(Box::new(message.clone())).encode()).collect();
    let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    let first = house.engine.messages().accept(&slices).await.unwrap();
    (first.0..).take(messages.len()).map(MessageId).collect()
}

pub async fn view(house: &House, id: MessageId) -> Option<MessageView> {
    house.engine.messages().message(Account::DEFAULT, id).await.unwrap()
}

/// Waits until a message is in this state.
pub async fn until(house: &House, id: MessageId, state: FateState) -> MessageView {
    let begun = std::time::Instant::now();
    loop {
        let view = view(house, id).await;
        if let Some(view) = view.as_ref().filter(|view| view.state == state) {
            return view.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {state:?}: {view:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a client was told so far.
pub async fn told(house: &House, party: &str) -> Vec<Told> {
    let topic = house.bus.topic(&told_topic(party)).unwrap();
    let records = all_of(&*topic).await;
    records.iter().map(|record| Told::decode(&record.octets).unwrap()).collect()
}

/// What was told of a client's messages: id and event.
pub async fn fates(house: &House) -> Vec<(MessageId, u8)> {
    let fate = |told: Told| match told {
        Told::Fate(fate) => Some((fate.id, fate.event)),
        Told::Inbound(_) => None,
    };
    told(house, PARTY).await.into_iter().filter_map(fate).collect()
}

pub async fn until_told(house: &House, count: usize) -> Vec<(MessageId, u8)> {
    let begun = std::time::Instant::now();
    loop {
        let fates = fates(house).await;
        if fates.len() >= count {
            return fates;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {count}: {fates:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_message_goes_out_as_it_was_given_and_its_party_hears_what_became_of_it(ground: Ground) {
    let house = ground.house().await;
    let carrier = house.carrier(|segment, entry| match entry.address.as_str() {
        "+461" => [accepted(segment, entry), vec![receipt(segment, entry, ReceiptState::Delivered)]].concat(),
        "+462" => [accepted(segment, entry), vec![receipt(segment, entry, ReceiptState::Expired)]].concat(),
        _ => refused(segment, entry, true),
    });
    let ids = accept(&house, &[message("+461"), message("+462"), message("+463")]).await;
    let view = until(&house, ids[0], FateState::Delivered).await;
    assert!(view.is_final && view.message.id == ids[0] && view.to == "+461");
    assert_eq!(view.message.short.registered_delivery, Some(0b1_0001), "all of it was asked for");
    until(&house, ids[1], FateState::Expired).await;
    until(&house, ids[2], FateState::Rejected).await;
    assert_eq!(carrier.sent.lock().unwrap()[0].1, "Text { text: \"to +461\", class: None }");
    let mut fates = until_told(&house, 5).await;
    fates.sort_unstable();
    let expected = [(0, 1), (0, 8), (1, 2), (1, 8), (2, 16)];
    assert_eq!(fates, expected.map(|(place, event)| (ids[place], event)));
    let Some(Told::Fate(fate)) = told(&house, PARTY)
        .await
        .into_iter()
        .find(|told| matches!(told, Told::Fate(fate) if fate.event == 16))
    else {
        panic!("nothing was told")
    };
    assert_eq!(
        (&*fate.text, &*fate.to, &*fate.beginning),
        ("smpp:0000000B invalid destination", "+463", "to +463")
    );
    assert_eq!((fate.state, fate.route.as_str()), (FateState::Rejected, "sms"));
    // Nobody sent this alert: it is in no list.
    assert!(house.store.alerts_before(Account::DEFAULT, None, 10).await.unwrap().is_empty());
    assert!(self::view(&house, MessageId(99)).await.is_none());
    assert!(house.engine.messages().message("other", ids[0]).await.unwrap().is_none());
}

async fn a_platform_of_the_old_way_is_told_at_its_address(ground: Ground) {
    let house = ground.house().await;
    let _carrier = house.carrier(accepted);
    let url = "http://platform/dlr?id=%I&d=%d&to=%p&from=%P&smsc=%i&u=%n&o=%o".into();
    let tell = Tell { mask: Tell::ACCEPTED, url: Some(url), values: vec![('o', "acc".into())] };
    let platform = Message { party: Party::Platform("plat".into()), tell, ..message("+461") };
    let ids = accept(&house, &[platform]).await;
    until(&house, ids[0], FateState::Accepted).await;
    let topic = house.bus.topic(records::NOTICES).unwrap();
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

async fn what_nobody_takes_and_what_comes_too_late_is_refused(ground: Ground) {
    let house = ground.house().await;
    let _carrier = house.carrier(accepted);
    let named = Message { route: Some("none".into()), ..message("+461") };
    let late = Message { expires: START, ..message("+462") };
    let out = message("+463");
    let sms = channels::SMS;
    house.store.set_opt_out(Account::DEFAULT, sms, "+463", true, START).await.unwrap();
    let ids = accept(&house, &[named, late, out]).await;
    until(&house, ids[0], FateState::Rejected).await;
    until(&house, ids[1], FateState::Expired).await;
    until(&house, ids[2], FateState::Rejected).await;
    let mut fates = until_told(&house, 3).await;
    fates.sort_unstable();
    assert_eq!(fates, [(ids[0], 16), (ids[1], 16), (ids[2], 16)]);
}

async fn a_message_that_waits_is_taken_back_replaced_or_lapses(ground: Ground) {
    let house = ground.house().await;
    let carrier = house.carrier(accepted);
    let later = |to: &str| Message { not_before: Some(START.plus_s(60)), ..message(to) };
    let short_lived = Message { expires: START.plus_s(30), ..later("+464") };
    let ids =
        accept(&house, &[later("+461"), later("+462"), later("+463"), short_lived, message("+465")]).await;
    until(&house, ids[4], FateState::Accepted).await;
    let messages = house.engine.messages();
    let own = Account::DEFAULT;
    assert_eq!(messages.cancel("other", ids[0]).await.unwrap(), Steered::NotFound);
    assert_eq!(messages.cancel(own, ids[0]).await.unwrap(), Steered::Done);
    assert_eq!(messages.cancel(own, ids[0]).await.unwrap(), Steered::TooLate);
    assert_eq!(messages.cancel(own, ids[4]).await.unwrap(), Steered::TooLate);
    until(&house, ids[0], FateState::Deleted).await;
    let text = ShortText::Text { text: "something else".into(), class: None };
    let short = Short { text, ..message("+462").short };
    assert_eq!(messages.replace(own, ids[1], short, None, None).await.unwrap(), Steered::Done);
    let party = Party::Smpp(PARTY.into());
    assert_eq!(messages.cancel_all(own, &party, "", "71700", "+463").await.unwrap(), 1);
    assert_eq!(messages.cancel_all(own, &party, "", "71700", "+463").await.unwrap(), 0);
    house.pass_s(45);
    until(&house, ids[3], FateState::Expired).await;
    house.pass_s(20);
    until(&house, ids[1], FateState::Accepted).await;
    let mut sent = carrier.sent.lock().unwrap().clone();
    sent.sort_unstable();
    let text = |text: &str| format!("Text {{ text: {text:?}, class: None }}");
    assert_eq!(sent, [("+462".into(), text("something else")), ("+465".into(), text("to +465"))]);
}

async fn every_class_has_a_standing_alert_and_a_report(ground: Ground) {
    let house = ground.house().await;
    let _carrier = house.carrier(accepted);
    let urgent = Message { lane: Lane::Urgent, ..message("+461") };
    let other = Message { account: "other".into(), ..message("+462") };
    let ids = accept(&house, &[message("+463"), urgent, other, message("+464")]).await;
    until(&house, ids[3], FateState::Accepted).await;
    until(&house, ids[1], FateState::Accepted).await;
    let alerts = house.store.unfinished_alerts().await.unwrap();
    assert_eq!(alerts.len(), 3);
    let routine = alerts.iter().find(|alert| {
        alert.account == Account::DEFAULT && alert.request.priority == records::Priority::Routine
    });
    let report = house.until(routine.unwrap(), |report| report.counts.accepted == 2).await;
    assert_eq!(report.counts.endpoints, 2);
    // Their addresses are in SQL with the next fold.
    let page = loop {
        let (id, accepted) = (routine.unwrap().id, Some(DeliveryState::Accepted));
        let page = house
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
        house.pass_s(1);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(page.iter().all(|delivery| delivery.state == DeliveryState::Accepted));
}

over_both!(
    a_message_goes_out_as_it_was_given_and_its_party_hears_what_became_of_it,
    a_platform_of_the_old_way_is_told_at_its_address,
    what_nobody_takes_and_what_comes_too_late_is_refused,
    a_message_that_waits_is_taken_back_replaced_or_lapses,
    every_class_has_a_standing_alert_and_a_report,
);
