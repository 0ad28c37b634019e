//! A storm of outcomes over people with one device, several, and shared ones, with starts from the rows in
//! between: the counts of people, of devices, of routes, and the list of people agree at every step.

use super::{PersonPlace, rank};
use crate::dispatch::Wording;
use crate::plan::Classifier;
use crate::record::delivery_cell::{IN_SEGMENT, StringTable};
use crate::record::tally::ByState;
use crate::record::{Folding, LiveAlert};
use crate::testing::{alert, entry, request, route};
use records::{
    Answer, AttemptRef, AttemptResult, Delivery, DeliveryState, EndpointNo, NotTried, OnUnknown, Person,
    Reason, ReceiptState, RosterBlock, RosterEntry, Timestamp,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: u32 = 600;
const SEEDS: u64 = 16;
const RETRY_AFTER_S: [u32; 2] = [1, 5];

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

fn of(people: &[&str], number: usize) -> RosterEntry {
    let person = |id: &&str| Person { recipient: (*id).into(), name: String::new(), step: 0 };
    let persons = people.iter().map(person).collect();
    RosterEntry { persons, ..entry(channels::SMS, &format!("+4670{number:07}")) }
}

fn out(people: &[&str], number: usize) -> RosterEntry {
    RosterEntry { excluded: Some(Reason::OptedOut), ..of(people, number) }
}

/// People of every kind: with one device, with several, with none that may be used, who share, whose devices
/// stand apart, bare addresses, and many behind one device.
fn roster(dice: &mut Dice) -> Vec<RosterEntry> {
    let mut entries = Vec::new();
    for person in 0..40 {
        let (own, other) = (format!("p{person}"), format!("p{}", dice.roll(60)));
        for _ in 0..1 + dice.roll(3) {
            let number = entries.len();
            entries.push(match dice.roll(10) {
                0 => of(&[&own, &other], number),
                1 => of(&[&other], number),
                2 => of(&["", &own], number),
                3 => of(&[""], number),
                4 => of(&[], number),
                5 => out(&[&own], number),
                6 => of(&[&own, &own], number),
                _ => of(&[&own], number),
            });
        }
    }
    let crowd: Vec<String> = (0..50).map(|n| format!("p{n}")).collect();
    let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
    entries.insert(dice.roll(entries.len() as u64) as usize, of(&crowd, 999));
    entries
}

fn live(entries: &[RosterEntry]) -> LiveAlert {
    let mut request = request("x");
    request.on_unknown = OnUnknown::Resend;
    let wording = Arc::new(Wording::new(&request).unwrap());
    let mut live = LiveAlert::new(alert(1, request), wording);
    let classifier = Classifier::new(vec![route("sms", channels::SMS, |_| {})]);
    let block = RosterBlock { entries: entries.to_vec(), ..RosterBlock::default() };
    live.admit(&block, &classifier, Timestamp(0));
    live
}

/// The devices of everybody, by name, as the roster has them; a bare address is somebody.
fn people(entries: &[RosterEntry]) -> BTreeMap<String, Vec<usize>> {
    let mut people: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (device, entry) in entries.iter().enumerate() {
        let mut names: Vec<&str> = entry.persons.iter().map(|person| person.recipient.as_str()).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        for name in &names {
            people.entry((*name).to_owned()).or_default().push(device);
        }
        if names.is_empty() {
            people.insert(format!("address {device}"), vec![device]);
        }
    }
    people
}

fn check(live: &LiveAlert, entries: &[RosterEntry], at: &str) {
    let cells: Vec<DeliveryState> = live.each().map(|(_, cell)| cell.state).collect();
    let mut expected = ByState::default();
    let mut by_first: BTreeMap<usize, Vec<(Vec<usize>, DeliveryState)>> = BTreeMap::new();
    for devices in people(entries).into_values() {
        let state = devices.iter().map(|at| cells[*at]).max_by_key(|state| rank(*state)).unwrap();
        expected[state as usize] += 1;
        by_first.entry(devices[0]).or_default().push((devices, state));
    }
    let people = &live.tally.people;
    assert_eq!(people.counts(), &expected, "{at}");
    assert_eq!(people.total() as usize, by_first.values().map(Vec::len).sum::<usize>(), "{at}");
    let mut listed: BTreeMap<usize, Vec<(Vec<usize>, DeliveryState)>> = BTreeMap::new();
    let mut from = Some(PersonPlace::default());
    let mut before = None;
    while let Some(place) = from {
        // Three at a time: a page goes on where the one before ended.
        let mut taken = 0;
        from = live.people_from(place, |person| {
            assert!(before < Some(person.at), "{at}: everybody is listed once");
            before = Some(person.at);
            let devices = person.devices.iter().map(|at| at.0 as usize).collect();
            listed.entry(person.at.first.0 as usize).or_default().push((devices, person.state));
            taken += 1;
            taken < 3
        });
    }
    let sorted = |mut by_first: BTreeMap<usize, Vec<(Vec<usize>, DeliveryState)>>| {
        by_first.values_mut().for_each(|people| people.sort_by_key(|(devices, _)| devices.clone()));
        by_first
    };
    assert_eq!(sorted(listed), sorted(by_first), "{at}");
    devices_agree(live, &cells, at);
}

/// Counts of devices, by channel and by route, are those of the cells.
fn devices_agree(live: &LiveAlert, cells: &[DeliveryState], at: &str) {
    for state in DeliveryState::ALL {
        let count = cells.iter().filter(|one| **one == state).count() as u32;
        assert_eq!(live.tally.in_state(state), count, "{at}: {state:?}");
        for (route, row) in live.tally.routes.iter().enumerate() {
            let on_route =
                live.each().filter(|(_, cell)| usize::from(cell.route) == route && cell.state == state);
            assert_eq!(row[state as usize], on_route.count() as u32, "{at}: {state:?} of route {route}");
        }
    }
}

fn result(dice: &mut Dice) -> AttemptResult {
    let text = "words".to_owned();
    match dice.roll(7) {
        0..=2 => AttemptResult::Accepted { keys: vec![1], id: String::new() },
        3 => AttemptResult::Refused { permanent: dice.roll(2) == 0, code: "c".into(), text },
        4 => AttemptResult::Unknown { text },
        5 => AttemptResult::NotTried { why: NotTried::RouteDown },
        _ => AttemptResult::NotTried { why: NotTried::Stopped },
    }
}

fn step(live: &mut LiveAlert, folding: &mut Folding<'_>, dice: &mut Dice, now: Timestamp) {
    let endpoint = EndpointNo(dice.roll(live.len() as u64) as u32);
    let cell = *live.cell(endpoint).unwrap();
    let is_out = cell.state == DeliveryState::Excluded;
    match dice.roll(12) {
        0..=3 => {
            if let Some(next) = live.next_ready(cell.class) {
                let route = dice.roll(3) as u16;
                let attempt = live.dispatched(next, route, now);
                folding.intent(live, next, attempt, route, now);
            }
        }
        4..=7 if cell.last > 0 => {
            let of = AttemptRef { alert: live.alert.no, endpoint, attempt: cell.last, part: 1, parts: 1 };
            folding.attempt(live, of, cell.route, now, &result(dice));
        }
        8 if cell.last > 0 => {
            let state = [ReceiptState::Delivered, ReceiptState::Failed][dice.roll(2) as usize];
            folding.receipt(live, endpoint, 1, state, "stat", now);
        }
        9 if !is_out && dice.roll(10) == 0 => {
            let answer = Answer { key: Some("1".into()), text: "x".into(), via: "sms".into(), at: now };
            folding.answer(live, endpoint, answer);
        }
        10 if dice.roll(50) == 0 => live.retry_failed(now),
        11 if dice.roll(300) == 0 => live.end_waiting(Reason::Cancelled, now),
        _ => live.free_due(now),
    }
}

/// What SQL has after a fold.
fn fold(live: &mut LiveAlert, words: &StringTable, rows: &mut BTreeMap<EndpointNo, Delivery>) {
    let mut slice = Vec::new();
    live.begin_fold();
    assert!(!live.take_folding(words, &mut slice, usize::MAX));
    rows.extend(slice.into_iter().map(|row| (row.endpoint, row)));
}

#[test]
fn people_devices_routes_and_the_list_agree_at_every_step_of_a_storm_with_starts_from_the_rows() {
    for seed in cases::seeds(SEEDS).map(|seed| seed + 1) {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let entries = roster(&mut dice);
        let mut live = live(&entries);
        live.seal();
        let (mut words, mut effects, mut rows) = (StringTable::default(), Vec::new(), BTreeMap::new());
        for name in ["a", "b", "c"] {
            words.route_no(name);
        }
        check(&live, &entries, &format!("seed {seed}, at the beginning"));
        for at in 0..STEPS {
            let now = Timestamp(i64::from(at) * 100_000);
            let mut folding =
                Folding { words: &mut words, retry_after_s: &RETRY_AFTER_S, effects: &mut effects };
            step(&mut live, &mut folding, &mut dice, now);
            effects.clear();
            check(&live, &entries, &format!("seed {seed}, step {at}"));
            let is_still = live.each().all(|(_, cell)| cell.flags & IN_SEGMENT == 0);
            if dice.roll(100) == 0 || is_still && dice.roll(10) == 0 {
                fold(&mut live, &words, &mut rows);
                let mut again = self::live(&entries);
                rows.values().for_each(|row| again.load(row, &mut words));
                again.seal();
                check(&again, &entries, &format!("seed {seed}, a start after step {at}"));
                if is_still {
                    assert_eq!(again.tally.people.counts(), live.tally.people.counts());
                    live = again;
                }
            }
        }
    }
}

#[test]
fn a_person_is_where_the_furthest_of_their_devices_is() {
    use DeliveryState::{Accepted, Answered, Delivered, Excluded, Failed, Held, Planned, Submitted, Unknown};
    let order = [Answered, Delivered, Accepted, Submitted, Planned, Held, Unknown, Failed, Excluded];
    for (place, further) in order.iter().enumerate() {
        for less in &order[place..] {
            let entries = [of(&["ann"], 1), of(&["ann"], 2), of(&["bo"], 3)];
            let mut live = live(&entries);
            live.seal();
            live.edit(EndpointNo(0), Timestamp(0), |cell| cell.state = *less);
            live.edit(EndpointNo(1), Timestamp(0), |cell| cell.state = *further);
            live.edit(EndpointNo(2), Timestamp(0), |cell| cell.state = *less);
            let mut expected = ByState::default();
            expected[*further as usize] += 1;
            expected[*less as usize] += 1;
            assert_eq!(live.tally.people.counts(), &expected, "{further:?} and {less:?}");
        }
    }
}

#[test]
fn people_take_two_bits_a_device_where_no_device_is_shared() {
    let entries: Vec<RosterEntry> = (0..1_024).map(|n| of(&[&format!("p{}", n / 2)], n)).collect();
    let mut live = live(&entries);
    live.seal();
    let people = &live.tally.people;
    assert_eq!((people.total(), people.kinds.len() * 8), (512, 1_024 / 4));
    assert_eq!(people.shared.people_of(0).count(), 0, "nobody is in a list");
    assert!(people.building.is_none(), "and no id is kept");
}
