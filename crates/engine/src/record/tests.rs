//! Outcomes in any order, late, twice, and of attempts long given up: what must hold all the same.

use super::delivery_cell::{IN_SEGMENT, StringTable};
use super::{Effect, Folding, LiveAlert};
use crate::dispatch::Wording;
use crate::plan::Classifier;
use crate::testing::{alert, entry, request, route};
use records::{
    Answer, AttemptRef, AttemptResult, DeliveryState, EndpointNo, NotTried, OnUnknown, ReceiptState,
    RosterBlock, Timestamp,
};
use std::sync::Arc;

const ENDPOINTS: u32 = 40;
const STEPS: u32 = 4_000;
const SEEDS: u64 = 16;
const RETRY_AFTER_S: [u32; 3] = [1, 5, 30];

/// xorshift64*: enough for dealing out events.
struct Dice(u64);
impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }
}

fn live(on_unknown: OnUnknown) -> LiveAlert {
    let mut request = request("x");
    request.on_unknown = on_unknown;
    let wording = Arc::new(Wording::new(&request).unwrap());
    let mut live = LiveAlert::new(alert(1, request), wording);
    let classifier = Classifier::new(vec![route("sms", channels::SMS, |_| {})]);
    let entries = (0..ENDPOINTS).map(|i| entry(channels::SMS, &format!("+467000000{i:02}"))).collect();
    live.admit(&RosterBlock { entries, ..RosterBlock::default() }, &classifier, Timestamp(0));
    live.seal();
    live
}

fn result(dice: &mut Dice) -> AttemptResult {
    let text = "words".to_owned();
    match dice.roll(8) {
        0..=2 => AttemptResult::Accepted { keys: vec![1], id: String::new() },
        3 => AttemptResult::Refused { permanent: true, code: "c".into(), text },
        4 => AttemptResult::Refused { permanent: false, code: "c".into(), text },
        5 => AttemptResult::Unknown { text },
        6 => AttemptResult::NotTried { why: NotTried::RouteDown },
        _ => AttemptResult::NotTried { why: NotTried::Paused },
    }
}

fn step(live: &mut LiveAlert, folding: &mut Folding<'_>, dice: &mut Dice, now: Timestamp) {
    let endpoint = EndpointNo(dice.roll(u64::from(ENDPOINTS)) as u32);
    let last = live.cell(endpoint).unwrap().last;
    match dice.roll(10) {
        0..=2 => {
            if let Some(next) = live.next_ready(live.cell(endpoint).unwrap().class) {
                live.dispatched(next, 0, now);
            }
        }
        3 if last > 0 => folding.intent(live, endpoint, last, 0, now),
        4..=6 if last > 0 => {
            let attempt = if dice.roll(4) == 0 { last.saturating_sub(1).max(1) } else { last };
            let parts = 1 + dice.roll(3) as u8;
            let of = AttemptRef {
                alert: live.alert.no,
                endpoint,
                attempt,
                part: 1 + dice.roll(u64::from(parts)) as u8,
                parts,
            };
            folding.attempt(live, of, 0, now, &result(dice));
        }
        7 => {
            let state = [ReceiptState::Buffered, ReceiptState::Delivered, ReceiptState::Failed]
                [dice.roll(3) as usize];
            folding.receipt(live, endpoint, 1, state, "stat", now);
        }
        8 if dice.roll(20) == 0 => {
            let answer = Answer { key: Some("1".into()), text: "x".into(), via: "sms".into(), at: now };
            folding.answer(live, endpoint, answer);
        }
        _ => live.free_due(now),
    }
}

/// Counts and what dispatch sees are those of the deliveries themselves.
fn is_consistent(live: &LiveAlert) -> bool {
    let count = |state: DeliveryState| live.each().filter(|(_, cell)| cell.state == state).count() as u32;
    let states = DeliveryState::ALL.into_iter().all(|state| live.tally.in_state(state) == count(state));
    let ready = live.each().filter(|(_, cell)| cell.is_ready()).count() as u32;
    let seen: u32 = live.ready_classes().map(|class| live.ready_in(class)).sum();
    states && ready == seen && live.tally.total().endpoints == u64::from(ENDPOINTS)
}

#[test]
fn whatever_comes_in_whatever_order_nothing_goes_back_and_every_count_is_right() {
    for seed in cases::seeds(SEEDS).map(|seed| seed + 1) {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut live = live(if seed % 2 == 0 { OnUnknown::Resend } else { OnUnknown::Hold });
        let (mut words, mut effects) = (StringTable::default(), Vec::new());
        let mut under_way = 0i64;
        for at in 0..STEPS {
            let before: Vec<_> = live.each().map(|(_, cell)| *cell).collect();
            let now = Timestamp(i64::from(at) * 100_000);
            let mut folding =
                Folding { words: &mut words, retry_after_s: &RETRY_AFTER_S, effects: &mut effects };
            step(&mut live, &mut folding, &mut dice, now);
            let ended =
                effects.drain(..).filter(|effect| matches!(effect, Effect::Ended { .. })).count() as i64;
            let in_segments = live.each().filter(|(_, cell)| cell.flags & IN_SEGMENT != 0).count() as i64;
            let begun = live
                .each()
                .zip(&before)
                .filter(|((_, now), was)| now.last > was.last && now.flags & IN_SEGMENT != 0);
            under_way += begun.count() as i64 - ended;
            assert_eq!(
                in_segments, under_way,
                "seed {seed}, step {at}: the route's room is counted in and out once"
            );
            assert!(is_consistent(&live), "seed {seed}, step {at}");
            for ((endpoint, now), was) in live.each().zip(&before) {
                let (had, has) = (was.state, now.state);
                let kept = match had {
                    DeliveryState::Answered => has == DeliveryState::Answered,
                    DeliveryState::Delivered => {
                        matches!(has, DeliveryState::Delivered | DeliveryState::Answered)
                    }
                    _ => true,
                };
                assert!(kept, "seed {seed}, step {at}: {endpoint:?} went from {had:?} to {has:?}");
                assert!(
                    now.last >= was.last && now.tries <= now.last,
                    "seed {seed}, step {at}: numbers only rise"
                );
            }
        }
    }
}

#[test]
fn an_attempt_made_after_a_late_yes_to_the_one_before_is_counted_though_nothing_changes() {
    for (result, tries) in [
        (AttemptResult::Accepted { keys: vec![2], id: String::new() }, 2),
        (AttemptResult::Unknown { text: String::new() }, 2),
        (AttemptResult::NotTried { why: NotTried::Closing }, 1),
    ] {
        let mut live = live(OnUnknown::Resend);
        let (mut words, mut effects) = (StringTable::default(), Vec::new());
        let mut folding = Folding { words: &mut words, retry_after_s: &RETRY_AFTER_S, effects: &mut effects };
        let (endpoint, now, alert) = (EndpointNo(0), Timestamp(0), live.alert.no);
        let of = |attempt| AttemptRef { alert, endpoint, attempt, part: 1, parts: 1 };
        let accepted = AttemptResult::Accepted { keys: vec![1], id: String::new() };
        live.dispatched(endpoint, 0, now);
        folding.intent(&mut live, endpoint, 1, 0, now);
        folding.attempt(&mut live, of(1), 0, now, &AttemptResult::Unknown { text: String::new() });
        live.dispatched(endpoint, 0, now);
        folding.attempt(&mut live, of(1), 0, now, &accepted);
        folding.intent(&mut live, endpoint, 2, 0, now);
        folding.intent(&mut live, endpoint, 2, 0, now);
        folding.attempt(&mut live, of(2), 0, now, &result);
        let cell = live.cell(endpoint).unwrap();
        assert_eq!((cell.state, cell.tries, cell.flags & IN_SEGMENT), (DeliveryState::Accepted, tries, 0));
    }
}

#[test]
fn what_sql_lacks_is_given_once_and_read_back_the_same() {
    for seed in cases::seeds(SEEDS).map(|seed| seed + 1) {
        let mut dice = Dice(seed);
        let mut live = live(OnUnknown::Hold);
        let (mut words, mut effects) = (StringTable::default(), Vec::new());
        let mut rows = std::collections::BTreeMap::new();
        for at in 0..STEPS / 10 {
            let now = Timestamp(i64::from(at) * 100_000);
            let mut folding =
                Folding { words: &mut words, retry_after_s: &RETRY_AFTER_S, effects: &mut effects };
            step(&mut live, &mut folding, &mut dice, now);
            if dice.roll(10) == 0 {
                let mut slice = Vec::new();
                live.begin_fold();
                while live.take_folding(&words, &mut slice, 7) {
                    rows.extend(slice.drain(..).map(|row| (row.endpoint, row)));
                }
                rows.extend(slice.into_iter().map(|row| (row.endpoint, row)));
                assert_eq!(live.dirty_count(), 0);
            }
        }
        let mut slice = Vec::new();
        live.begin_fold();
        assert!(!live.take_folding(&words, &mut slice, usize::MAX));
        rows.extend(slice.into_iter().map(|row| (row.endpoint, row)));
        let mut again = self::live(OnUnknown::Hold);
        rows.values().for_each(|row| again.load(row, &mut words));
        for (endpoint, cell) in live.each() {
            let wanted = live.delivery(endpoint, &words).unwrap();
            // An attempt under way is read from the bus at a start: its number is not in the row.
            if cell.flags & IN_SEGMENT == 0 {
                assert_eq!(again.delivery(endpoint, &words).unwrap(), wanted, "seed {seed}, {endpoint:?}");
            }
        }
    }
}
