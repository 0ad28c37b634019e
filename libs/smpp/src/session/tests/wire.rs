//! Two machines on a virtual wire that cuts, delays, loses, repeats and breaks, from a seed.
//!
//! Octets arrive in order, in random pieces, after a random delay. The SMSC answers in random order after a
//! random time, twice, or never; the connection is reset at random moments or at a chosen PDU. Whatever
//! happens, every message the ESME's machine took has exactly one fate, and that fate is true.

use super::*;
use crate::samples::Random;
use std::collections::{BTreeMap, VecDeque};

/// One direction: pieces and when they arrive.
#[derive(Default)]
struct Direction {
    pieces: VecDeque<(Instant, Vec<u8>)>,
    pdus: usize,
}

impl Direction {
    fn send(&mut self, bytes: &[u8], now: Instant, random: &mut Random) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + random.below(rest.len().min(200)));
            let at = now + Duration::from_millis(random.below(40) as u64);
            let at = self.pieces.back().map_or(at, |(last, _)| at.max(*last));
            self.pieces.push_back((at, piece.to_vec()));
            rest = after;
        }
        self.pdus += headers(bytes).len();
    }

    fn arrived(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.pieces.front().filter(|(at, _)| *at <= now)?;
        self.pieces.pop_front().map(|(_, piece)| piece)
    }
}

/// What the wire does.
#[derive(Clone, Copy, Debug)]
struct Weather {
    seed: u64,
    /// Of 100 requests, how many are never answered.
    lost: usize,
    /// Of 100 answers, how many come twice.
    repeated: usize,
    /// Of 1,000 steps, how many reset the connection.
    reset: usize,
    /// The connection is reset when this many PDUs were written in both directions.
    reset_at_pdu: Option<usize>,
}

/// What became of each message.
#[derive(Default)]
struct Ledger {
    /// Message to its fate: `Ok(id)` or why there is none.
    fates: BTreeMap<u64, Result<String, NoResponse>>,
    late: BTreeMap<u64, String>,
    /// Message to the id that the SMSC gave it, each time it came.
    carried: BTreeMap<u64, Vec<String>>,
}

struct VirtualWire {
    weather: Weather,
    random: Random,
    pair: Pair,
    up: Direction,
    down: Direction,
    ledger: Ledger,
    /// Answers to come: when, to what, with which id.
    answers: Vec<(Instant, u32, String)>,
    ids: u64,
    sent: u64,
    resets: usize,
    pdus_before: usize,
}

const MESSAGES: u64 = 120;
const WINDOW: usize = 8;

impl VirtualWire {
    fn new(weather: Weather) -> VirtualWire {
        VirtualWire {
            weather,
            random: Random(weather.seed),
            pair: VirtualWire::connect(None),
            up: Direction::default(),
            down: Direction::default(),
            ledger: Ledger::default(),
            answers: Vec::new(),
            ids: 0,
            sent: 0,
            resets: 0,
            pdus_before: 0,
        }
    }

    fn connect(now: Option<Instant>) -> Pair {
        let config = Config {
            window: WINDOW,
            response: second(2),
            enquire_link: Some(second(1)),
            ..Config::default()
        };
        let mut pair = Pair::new(config.clone(), config.clone());
        if let Some(now) = now {
            pair.now = now;
            pair.esme = Session::new(Role::Esme, config.clone(), now);
            pair.smsc = Session::new(Role::Smsc, config, now);
        }
        pair.esme.bind(&Bind { system_id: b"alice", ..Bind::default() }, pair.now).unwrap();
        pair
    }

    fn run(mut self) -> Ledger {
        // After the last fate the wire runs on, so that late answers arrive too.
        let mut left = 400;
        for _ in 0..100_000 {
            let settled = self.ledger.fates.len() as u64 == MESSAGES && self.pair.esme.in_flight() == 0;
            left -= u32::from(settled);
            if left == 0 {
                return self.ledger;
            }
            self.step();
        }
        panic!("{:?}: a message has no fate: {} of {MESSAGES}", self.weather, self.ledger.fates.len());
    }

    fn step(&mut self) {
        self.pair.now += Duration::from_millis(10);
        let now = self.pair.now;
        self.submit();
        self.answer();
        for session in [&mut self.pair.esme, &mut self.pair.smsc] {
            if session.poll_timeout().is_some_and(|at| at <= now) {
                session.handle_timeout(now);
            }
        }
        while let Some(piece) = self.up.arrived(now) {
            self.pair.smsc.handle_input(&piece, now);
        }
        self.smsc_events();
        while let Some(piece) = self.down.arrived(now) {
            self.pair.esme.handle_input(&piece, now);
        }
        self.esme_events();
        self.transmit();
        self.maybe_reset();
    }

    fn submit(&mut self) {
        while self.sent < MESSAGES && self.pair.esme.free_slots() > 0 && self.random.chance(80) {
            let text = self.sent.to_string();
            let submit = SubmitSm { short_message: text.as_bytes(), ..hello() };
            if self.pair.esme.submit(&submit, self.sent, self.pair.now).is_err() {
                return;
            }
            self.sent += 1;
        }
    }

    fn answer(&mut self) {
        let now = self.pair.now;
        let mut index = 0;
        while index < self.answers.len() {
            if self.answers[index].0 > now {
                index += 1;
                continue;
            }
            let (_, sequence, id) = self.answers.swap_remove(index);
            self.pair.smsc.respond(sequence, Status::ROK, id.as_bytes(), now).unwrap();
        }
    }

    fn smsc_events(&mut self) {
        let now = self.pair.now;
        for seen in events(&mut self.pair.smsc) {
            match seen {
                Seen::Bind { .. } => self.pair.smsc.accept_bind(b"carrier", now).unwrap(),
                Seen::Submit { sequence, text } => {
                    let token: u64 = String::from_utf8(text).unwrap().parse().unwrap();
                    self.ids += 1;
                    let id = self.ids.to_string();
                    self.ledger.carried.entry(token).or_default().push(id.clone());
                    if !self.random.chance(self.weather.lost) {
                        let wait = if self.random.chance(5) { 2_500 } else { self.random.below(300) };
                        self.answers.push((now + Duration::from_millis(wait as u64), sequence, id));
                    }
                }
                Seen::Closed(_) => self.answers.clear(),
                other => panic!("{:?}: {other:?}", self.weather),
            }
        }
    }

    fn esme_events(&mut self) {
        for seen in events(&mut self.pair.esme) {
            match seen {
                Seen::Response { token, id, late: false, .. } => self.settle(token, Ok(id)),
                Seen::Response { token, id, late: true, .. } => {
                    assert_eq!(
                        self.ledger.fates.get(&token),
                        Some(&Err(NoResponse::TimedOut)),
                        "{:?}",
                        self.weather
                    );
                    assert_eq!(self.ledger.late.insert(token, id), None, "{:?}: late twice", self.weather);
                }
                Seen::Unanswered { token, fate } => self.settle(token, Err(fate)),
                Seen::Bound(_) | Seen::Closed(_) => {}
                other => panic!("{:?}: {other:?}", self.weather),
            }
        }
    }

    fn settle(&mut self, token: u64, fate: Result<String, NoResponse>) {
        let before = self.ledger.fates.insert(token, fate);
        assert_eq!(before, None, "{:?}: message {token} has two fates", self.weather);
    }

    fn transmit(&mut self) {
        let now = self.pair.now;
        let bytes = output(&mut self.pair.esme);
        self.up.send(&bytes, now, &mut self.random);
        let bytes = output(&mut self.pair.smsc);
        let mut rest = &bytes[..];
        while let Ok(Split::Pdu(pdu)) = frame::split(rest, usize::MAX) {
            self.down.send(pdu, now, &mut self.random);
            let header = Header::parse(pdu).unwrap();
            if header.command == Command::SUBMIT_SM_RESP && self.random.chance(self.weather.repeated) {
                self.down.send(pdu, now, &mut self.random);
            }
            rest = &rest[pdu.len()..];
        }
    }

    fn maybe_reset(&mut self) {
        let pdus = self.pdus_before + self.up.pdus + self.down.pdus;
        let chosen = self.resets == 0 && self.weather.reset_at_pdu.is_some_and(|at| pdus >= at);
        let over =
            self.pair.esme.state() == SessionState::Closed || self.pair.smsc.state() == SessionState::Closed;
        if !chosen && !over && self.random.below(1_000) >= self.weather.reset {
            return;
        }
        self.resets += 1;
        self.pdus_before = pdus;
        self.pair.esme.handle_eof(self.pair.now);
        self.esme_events();
        assert_eq!(self.pair.esme.in_flight(), 0, "{:?}", self.weather);
        self.answers.clear();
        // What is still on the wire upwards may arrive before the reset is seen there.
        for (_, piece) in std::mem::take(&mut self.up.pieces) {
            if self.random.chance(50) {
                break;
            }
            self.pair.smsc.handle_input(&piece, self.pair.now);
        }
        self.smsc_events();
        (self.up, self.down) = (Direction::default(), Direction::default());
        self.answers.clear();
        self.pair = VirtualWire::connect(Some(self.pair.now));
    }
}

/// Every fate in the ledger is true.
fn check(ledger: &Ledger, weather: Weather) {
    for token in 0..MESSAGES {
        let carried = ledger.carried.get(&token).map_or(&[][..], |ids| ids);
        assert!(carried.len() <= 1, "{weather:?}: message {token} went out twice");
        match &ledger.fates[&token] {
            Ok(id) => assert_eq!(carried, std::slice::from_ref(id), "{weather:?}: {token} has another's id"),
            Err(NoResponse::NotSent) => {
                assert!(carried.is_empty(), "{weather:?}: {token} was sent after all")
            }
            Err(NoResponse::TimedOut | NoResponse::SessionEnded) => {}
        }
        if let Some(id) = ledger.late.get(&token) {
            assert_eq!(carried, std::slice::from_ref(id), "{weather:?}: {token} has another's id, late");
        }
    }
}

fn play(weather: Weather) -> Ledger {
    let ledger = VirtualWire::new(weather).run();
    check(&ledger, weather);
    ledger
}

#[test]
fn in_fair_weather_every_message_is_answered() {
    let ledger = play(Weather { seed: 1, lost: 0, repeated: 0, reset: 0, reset_at_pdu: None });
    let answered = ledger.fates.values().filter(|fate| fate.is_ok()).count() + ledger.late.len();
    assert_eq!(answered as u64, MESSAGES, "in time or late");
}

#[test]
fn lost_and_repeated_answers_leave_every_message_one_fate() {
    let (mut unknown, mut late) = (0, 0);
    for seed in cases::seeds(40) {
        let ledger = play(Weather { seed, lost: 10, repeated: 30, reset: 0, reset_at_pdu: None });
        unknown += ledger.fates.values().filter(|fate| fate.is_err()).count();
        late += ledger.late.len();
    }
    assert!(unknown > 100 && late > 20, "the weather was bad: {unknown} unknown, {late} late");
}

#[test]
fn resets_leave_every_message_one_fate() {
    let mut fates = BTreeMap::new();
    for seed in 100..160 {
        let ledger = play(Weather { seed, lost: 5, repeated: 10, reset: 25, reset_at_pdu: None });
        for fate in ledger.fates.values().filter_map(|fate| fate.as_ref().err()) {
            *fates.entry(format!("{fate:?}")).or_insert(0) += 1;
        }
    }
    assert!(fates.get("SessionEnded").is_some_and(|count| *count > 100), "{fates:?}");
}

#[test]
fn a_reset_at_every_pdu_of_a_conversation_loses_nothing() {
    for pdu in 0..(2 * MESSAGES as usize + 4) {
        let weather = Weather { seed: 7, lost: 0, repeated: 0, reset: 0, reset_at_pdu: Some(pdu) };
        let ledger = play(weather);
        let by_reset = |fate: &&Result<String, NoResponse>| {
            matches!(fate, Err(NoResponse::SessionEnded | NoResponse::NotSent))
        };
        let unknown = ledger.fates.values().filter(by_reset).count();
        assert!(unknown <= WINDOW, "{weather:?}: {unknown} unknown");
    }
}
