//! Kills: what a start makes of messages, whatever was done and not yet in SQL.

use super::backend::{TestBackend, over_both};
use super::messages::{accept, message, status_events, until, until_told, view};
use super::test_engine::{PATIENCE, START, TestEngine, accepted, not_tried, receipt, refused, unknown};
use crate::messages::Steered;
use records::{
    Account, DlrRequest, DlrState, Entry, Lane, Message, MessageId, NotTried, Outcome, ReceiptState, Segment,
    Short, ShortText,
};
use std::collections::BTreeMap;
use std::time::Duration;

async fn messages_are_sent_once_and_stay_where_they_were_over_kills(ground: TestBackend) {
    let messages: Vec<Message> = (0..700).map(|i| message(&format!("+4670{i:04}"))).collect();
    // In segments that nobody took, and in no fold.
    let engine_under_test = ground.engine_under_test().await;
    let ids = accept(&engine_under_test, &messages).await;
    until(&engine_under_test, ids[699], DlrState::Enroute).await;
    let ground = ground.killed(engine_under_test).await;
    let engine_under_test = ground.engine_at(START.plus_s(60)).await;
    let carrier = engine_under_test.carrier(accepted);
    for id in &ids {
        let view = until(&engine_under_test, *id, DlrState::Accepted).await;
        assert_eq!(view.to, messages[(id.0 - ids[0].0) as usize].to);
    }
    assert_eq!(carrier.addresses().len(), 700, "each once");
    until_told(&engine_under_test, 700).await;
    drop(carrier);
    // A gateway would read in the outcomes what it has written; this one knows by what it has acknowledged.
    let topic = records::segment_topic("sms", Lane::Routine);
    engine_under_test.bus.group(&topic, crate::run::GATEWAYS).unwrap().flush().await.unwrap();
    // What was sent before is not sent again, and goes on behind.
    let ground = ground.killed(engine_under_test).await;
    let third = ground.engine_at(START.plus_s(60)).await;
    let carrier = third.carrier(accepted);
    let more = accept(&third, &[message("+471")]).await;
    until(&third, more[0], DlrState::Accepted).await;
    assert_eq!(carrier.addresses(), ["+471"]);
    // Nor is it told again: the last run had said it.
    assert_eq!(until_told(&third, 701).await.len(), 701);
    for id in &ids {
        assert_eq!(view(&third, *id).await.unwrap().state, DlrState::Accepted);
    }
    assert_eq!(third.store.unfinished_alerts().await.unwrap().len(), 1);
}

async fn a_message_of_long_ago_is_still_known(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let _carrier = engine_under_test.carrier(|segment, entry| match entry.address.as_str() {
        "+4670599" => refused(segment, entry, true),
        _ => accepted(segment, entry),
    });
    let old: Vec<Message> = (0..600).map(|i| message(&format!("+4670{i:03}"))).collect();
    let ids = accept(&engine_under_test, &old).await;
    until(&engine_under_test, ids[598], DlrState::Accepted).await;
    until(&engine_under_test, ids[599], DlrState::Rejected).await;
    // A day later the alert is over, and some time after that it leaves memory.
    engine_under_test.pass_s(86_401);
    let begun = std::time::Instant::now();
    while !engine_under_test.store.unfinished_alerts().await.unwrap().is_empty() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    engine_under_test.pass_s(700);
    while engine_under_test.engine.health().await.unwrap().deliveries > 0 {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for (place, state) in [(0, DlrState::Accepted), (512, DlrState::Accepted), (599, DlrState::Rejected)] {
        let view = view(&engine_under_test, ids[place]).await.unwrap();
        assert_eq!((view.state, view.to), (state, old[place].to.clone()));
    }
    assert!(view(&engine_under_test, MessageId(601)).await.is_none());
    let messages = engine_under_test.engine.messages();
    assert_eq!(messages.cancel(Account::DEFAULT, ids[3]).await.unwrap(), Steered::TooLate);
    let late = Message {
        at: engine_under_test.now(),
        expires: engine_under_test.now().plus_s(60),
        ..message("+471")
    };
    let more = accept(&engine_under_test, &[late]).await;
    until(&engine_under_test, more[0], DlrState::Accepted).await;
    assert_eq!(engine_under_test.store.unfinished_alerts().await.unwrap().len(), 1);
}

/// SplitMix64: the same numbers from the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % sides
    }
}

/// What the carrier does follows from the address alone, and from the attempt.
fn by_address(segment: &Segment, entry: &Entry) -> Vec<Outcome> {
    let kind = entry.address.bytes().last().unwrap_or(b'0');
    match (kind, entry.attempt) {
        (b'0', _) => refused(segment, entry, true),
        (b'1', 1) => refused(segment, entry, false),
        (b'2', 1) => not_tried(segment, entry, NotTried::Closing),
        (b'3', _) => unknown(segment, entry),
        (b'4', _) => [accepted(segment, entry), vec![receipt(segment, entry, ReceiptState::Failed)]].concat(),
        (b'5', _) => {
            [accepted(segment, entry), vec![receipt(segment, entry, ReceiptState::Delivered)]].concat()
        }
        _ => accepted(segment, entry),
    }
}

/// What a message that was not taken back ends as.
fn expected(to: &str) -> DlrState {
    match to.bytes().last().unwrap_or(b'0') {
        b'0' => DlrState::Rejected,
        b'3' => DlrState::Unknown,
        b'4' => DlrState::Undeliverable,
        b'5' => DlrState::Delivered,
        _ => DlrState::Accepted,
    }
}

/// Everything that was done to a house, over its kills.
#[derive(Default)]
struct Done {
    messages: BTreeMap<MessageId, Message>,
    cancelled: Vec<MessageId>,
    replaced: Vec<MessageId>,
}

/// Waits until nothing more is written: copying takes a while, and a copy in which effects are older than
/// their causes is no kill. As time stands still no fold begins, so SQL is as far behind as it happened to
/// be.
async fn settle(engine_under_test: &TestEngine) {
    let mut same = 0;
    let mut before = Vec::new();
    while same < 5 {
        engine_under_test.engine.health().await.unwrap();
        let topics = engine_under_test.bus.topics("").unwrap();
        let mut heads = Vec::new();
        for name in topics {
            heads.push(engine_under_test.bus.topic(&name).unwrap().latest().await.unwrap());
        }
        same = if heads == before { same + 1 } else { 0 };
        before = heads;
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
}

async fn act(engine_under_test: &TestEngine, dice: &mut Dice, done: &mut Done, serial: &mut u64) {
    let own = Account::DEFAULT;
    for _ in 0..6 + dice.roll(6) {
        let known: Vec<MessageId> = done.messages.keys().copied().collect();
        let some = known.get(dice.roll(known.len().max(1) as u64) as usize).copied();
        match (dice.roll(8), some) {
            (0, Some(id)) => {
                if engine_under_test.engine.messages().cancel(own, id).await.unwrap() == Steered::Done {
                    done.cancelled.push(id);
                }
            }
            (1, Some(id)) => {
                let text = ShortText::Text { text: "replaced".into(), class: None };
                let short = Short { text, ..done.messages[&id].short.clone() };
                let replaced =
                    engine_under_test.engine.messages().replace(own, id, short, None, None).await.unwrap();
                if replaced == Steered::Done {
                    done.replaced.push(id);
                }
            }
            _ => {
                let batch: Vec<Message> = (0..1 + dice.roll(40))
                    .map(|_| {
                        *serial += 1;
                        let lane = [Lane::Routine, Lane::Urgent][dice.roll(2) as usize];
                        let waits = dice.roll(4) == 0;
                        let not_before = waits.then(|| START.plus_s(1_000));
                        Message { lane, not_before, ..message(&format!("+46{serial:06}")) }
                    })
                    .collect();
                let ids = accept(engine_under_test, &batch).await;
                done.messages.extend(ids.into_iter().zip(batch));
            }
        }
        if dice.roll(3) == 0 {
            tokio::time::sleep(Duration::from_millis(dice.roll(4))).await;
        }
        if dice.roll(4) == 0 {
            // Another fold may begin.
            engine_under_test.pass_s(1);
        }
    }
}

async fn whatever_is_done_and_killed_every_message_ends_in_its_one_state(ground: TestBackend) {
    for seed in cases::seeds(ground.seeds()) {
        let dice = &mut Dice(seed);
        let mut ground = ground.another().await;
        let (mut done, mut serial) = (Done::default(), 0);
        for life in 0..4 {
            let engine_under_test = ground.engine_at(START.plus_s(life * 100)).await;
            let carrier = engine_under_test.carrier(by_address);
            act(&engine_under_test, dice, &mut done, &mut serial).await;
            drop(carrier);
            settle(&engine_under_test).await;
            ground = ground.killed(engine_under_test).await;
        }
        check(&ground, &done, seed).await;
    }
}

async fn check(ground: &TestBackend, done: &Done, seed: u64) {
    let engine_under_test = ground.engine_at(START.plus_s(2_000)).await;
    let carrier = engine_under_test.carrier(by_address);
    engine_under_test.pass_s(40);
    for (id, message) in &done.messages {
        // A retry comes due when time passes.
        let wanted = if done.cancelled.contains(id) { DlrState::Deleted } else { expected(&message.to) };
        let begun = std::time::Instant::now();
        loop {
            let view =
                view(&engine_under_test, *id).await.unwrap_or_else(|| panic!("seed {seed}: {id:?} is lost"));
            assert_eq!((view.message.id, &view.to), (*id, &message.to), "seed {seed}");
            if view.state == wanted || (view.state == DlrState::Unknown && !done.cancelled.contains(id)) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "seed {seed}: {id:?} {message:?} is {:?}", view.state);
            engine_under_test.pass_s(1);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    // Whatever was killed between, every client has heard the end of every message.
    for (id, message) in &done.messages {
        let state = view(&engine_under_test, *id).await.unwrap().state;
        let event = match state {
            DlrState::Delivered => DlrRequest::DELIVERED,
            DlrState::Undeliverable | DlrState::Deleted => DlrRequest::FAILED,
            DlrState::Rejected => DlrRequest::REFUSED,
            DlrState::Accepted => DlrRequest::ACCEPTED,
            _ => continue,
        };
        let begun = std::time::Instant::now();
        while !status_events(&engine_under_test).await.contains(&(*id, event)) {
            assert!(begun.elapsed() < PATIENCE, "seed {seed}: {message:?} is {state:?}: not told");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let last = carrier.sent.lock().unwrap().clone();
    for id in &done.cancelled {
        let to = &done.messages[id].to;
        // A retry may have gone before; afterwards nothing does.
        assert!(!last.iter().any(|(address, _)| address == to), "seed {seed}: {to} was taken back and sent");
    }
    for id in done.replaced.iter().filter(|id| !done.cancelled.contains(id)) {
        let sent: Vec<_> = last.iter().filter(|(address, _)| *address == done.messages[id].to).collect();
        assert!(sent.iter().all(|(_, text)| text.contains("replaced")), "seed {seed}: {sent:?}");
    }
}

async fn a_full_standing_alert_is_followed_by_another_and_each_message_stays_in_its_own(ground: TestBackend) {
    const FULL: u64 = 65_536;
    let engine_under_test = ground.engine_under_test().await;
    let all: Vec<Message> = (0..FULL + 20).map(|i| message(&format!("+4670{i:06}"))).collect();
    let mut ids = Vec::new();
    for batch in all.chunks(1_000) {
        ids.extend(accept(&engine_under_test, batch).await);
    }
    until(&engine_under_test, ids[all.len() - 1], DlrState::Enroute).await;
    settle(&engine_under_test).await;
    each_in_its_own(&engine_under_test, &all, &ids, FULL).await;
    let ground = ground.killed(engine_under_test).await;
    let second = ground.engine_at(START.plus_s(60)).await;
    each_in_its_own(&second, &all, &ids, FULL).await;
    assert_eq!(second.engine.health().await.unwrap().deliveries, all.len());
}

async fn each_in_its_own(engine_under_test: &TestEngine, all: &[Message], ids: &[MessageId], full: u64) {
    for place in [0, full as usize - 1, full as usize, all.len() - 1] {
        assert_eq!(view(engine_under_test, ids[place]).await.unwrap().to, all[place].to);
    }
    let alerts = engine_under_test.store.unfinished_alerts().await.unwrap();
    let from: Vec<records::Origin> = alerts.into_iter().map(|alert| alert.origin).collect();
    // The first record of intake is no message: no message has the id 0.
    assert_eq!(from, [1, full + 1].map(|intake_from| records::Origin::Standing { intake_from }));
}

over_both!(
    messages_are_sent_once_and_stay_where_they_were_over_kills,
    a_message_of_long_ago_is_still_known,
    whatever_is_done_and_killed_every_message_ends_in_its_one_state,
    a_full_standing_alert_is_followed_by_another_and_each_message_stays_in_its_own,
);
