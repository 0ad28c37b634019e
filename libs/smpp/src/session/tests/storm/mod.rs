//! A platform and a carrier with two sessions between them, in bad weather, from a seed.
//!
//! The platform submits messages over both sessions, asks after some, and takes receipts on either. The
//! carrier answers in any order, late, twice or never, and delivers receipts, often before the submission's
//! answer and on the other session, until they are acknowledged. Connections break at random moments, or at a
//! chosen PDU: from the bind to the answer to the last unbind. However the weather is, in the end every
//! message was carried once (or is one of the unknowns), every receipt has found its message, and no window
//! has a slot taken.

mod carrier;
mod link;
mod platform;

use super::*;
use crate::receipt::IdForm;
use crate::samples::Random;
use carrier::Carrier;
use link::Link;
use platform::{Fortune, Platform};

/// Messages of one run.
const MESSAGES: usize = 40;
/// Sessions between the two.
const LINKS: usize = 2;
/// Requests in flight of either side.
const WINDOW: usize = 6;
/// One step of the world.
const STEP: Duration = Duration::from_millis(10);
/// Steps after which a run has gone wrong: 1,000 seconds.
const STEPS_MAX: usize = 100_000;
/// After the last fate the world runs on for what comes late, in steps.
const STEPS_AFTER: usize = 300;

/// What the world does to them.
#[derive(Clone, Copy, Debug)]
struct Weather {
    seed: u64,
    /// Of 100 answers, how many never arrive.
    lost: usize,
    /// Of 100 answers, how many come after their deadline.
    late: usize,
    /// Of 100 answers, how many come twice.
    repeated: usize,
    /// Of 10,000 steps, how many break a connection.
    breaks: usize,
    /// A connection breaks when so many PDUs were written on all of them.
    breaks_at: Option<usize>,
    /// A message whose fate is unknown is submitted again: life safety before a second copy.
    resends: bool,
    /// How receipts write the ids of the answers.
    form: IdForm,
}

const FAIR: Weather = Weather {
    seed: 1,
    lost: 0,
    late: 0,
    repeated: 0,
    breaks: 0,
    breaks_at: None,
    resends: false,
    form: IdForm::AsIs,
};

/// What a run comes to.
struct Outcome {
    /// PDUs written, of both directions of all connections.
    pdus: usize,
    unknown: usize,
    late: usize,
    /// Receipts that came before the answer they belong to.
    early: usize,
    copies: usize,
}

fn config() -> Config {
    Config {
        window: WINDOW,
        peer_window: 4 * WINDOW,
        response: second(2),
        enquire_link: Some(second(1)),
        ..Config::default()
    }
}

struct VirtualWire {
    weather: Weather,
    random: Random,
    now: Instant,
    links: Vec<Link>,
    platform: Platform,
    carrier: Carrier,
    pdus: usize,
    is_broken: bool,
}

impl VirtualWire {
    fn new(weather: Weather) -> VirtualWire {
        let now = Instant::now();
        VirtualWire {
            weather,
            random: Random(weather.seed),
            now,
            links: (0..LINKS).map(|_| Link::connect(now)).collect(),
            platform: Platform::new(weather),
            carrier: Carrier::new(weather),
            pdus: 0,
            is_broken: false,
        }
    }

    fn run(mut self) -> Outcome {
        let mut after = STEPS_AFTER;
        for _ in 0..STEPS_MAX {
            self.step();
            let settled = self.platform.is_settled() && self.carrier.is_settled();
            after -= usize::from(settled);
            if after == STEPS_AFTER / 2 {
                self.assert_nothing_is_stuck();
                self.links.iter_mut().for_each(|link| link.esme.unbind(self.now));
            }
            if after == 0 {
                return self.judge();
            }
        }
        panic!("{:?}: {}", self.weather, self.platform.describe());
    }

    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        for (number, link) in self.links.iter_mut().enumerate() {
            self.platform.act(number, &mut link.esme, now, &mut self.random);
            self.carrier.act(number, &mut link.smsc, now, &mut self.random);
            link.timers(now);
            link.arrive_up(now);
            self.carrier.events(number, &mut link.smsc, now, &mut self.random);
            link.arrive_down(now);
            self.platform.events(number, &mut link.esme, now, &mut self.random);
            self.pdus += link.transmit(now, self.weather, &mut self.random);
        }
        let chosen = !self.is_broken && self.weather.breaks_at.is_some_and(|at| self.pdus >= at);
        for number in 0..LINKS {
            let at_random = self.random.below(10_000) < self.weather.breaks;
            let hit = chosen && number == self.weather.seed as usize % LINKS;
            if at_random || hit || self.links[number].is_over() {
                self.is_broken |= hit;
                self.break_link(number);
            }
        }
    }

    fn break_link(&mut self, number: usize) {
        let link = &mut self.links[number];
        link.hang_up(self.now, &mut self.random);
        self.platform.events(number, &mut link.esme, self.now, &mut self.random);
        self.carrier.events(number, &mut link.smsc, self.now, &mut self.random);
        assert_eq!((link.esme.in_flight(), link.smsc.in_flight()), (0, 0), "{:?}", self.weather);
        self.carrier.forget(number);
        self.platform.forget(number);
        *link = Link::connect(self.now);
    }

    fn assert_nothing_is_stuck(&self) {
        for link in &self.links {
            for session in [&link.esme, &link.smsc] {
                let left = (session.in_flight(), session.unanswered());
                assert_eq!(left, (0, 0), "{:?}: a slot is taken for ever", self.weather);
            }
        }
    }

    /// Every fate is true, and nothing is left over.
    fn judge(self) -> Outcome {
        let Weather { resends, .. } = self.weather;
        let what = format!("{:?}", self.weather);
        let mut outcome =
            Outcome { pdus: self.pdus, unknown: 0, late: 0, early: self.platform.early, copies: 0 };
        for (token, message) in self.platform.messages.iter().enumerate() {
            let carried = self.carrier.carried(token);
            let unknowns = message.unknowns;
            outcome.unknown += unknowns;
            outcome.late += message.late;
            outcome.copies += carried.len().saturating_sub(1);
            let allowed = if resends { 1 + unknowns } else { 1 };
            assert!(carried.len() <= allowed, "{what}: message {token} went out {} times", carried.len());
            match message.fortune {
                Fortune::Accepted => assert!(!carried.is_empty(), "{what}: message {token} is lost"),
                Fortune::Unknown => assert!(!resends, "{what}: message {token} was given up"),
                other => panic!("{what}: message {token} is {other:?}"),
            }
            assert!(message.ids.iter().all(|id| carried.contains(id)), "{what}: {token} has another's id");
            // All that the carrier says of a copy whose id is known has reached it.
            for id in &message.ids {
                assert!(message.receipts.contains(id), "{what}: {id} of message {token} has no receipt");
            }
        }
        for id in self.platform.unmatched() {
            let token =
                self.carrier.whose(&id).unwrap_or_else(|| panic!("{what}: a receipt of nobody: {id}"));
            let message = &self.platform.messages[token];
            let is_unknown = message.unknowns > 0 && !message.ids.contains(&id);
            assert!(is_unknown, "{what}: the receipt of {id} did not find message {token}");
        }
        outcome
    }
}

fn play(weather: Weather) -> Outcome {
    VirtualWire::new(weather).run()
}

#[test]
fn in_fair_weather_every_message_is_carried_and_every_receipt_finds_it() {
    for form in [IdForm::AsIs, IdForm::HexToDecimal] {
        for seed in 0..5 {
            let outcome = play(Weather { seed, form, ..FAIR });
            assert_eq!((outcome.unknown, outcome.copies), (0, 0));
            assert!(outcome.early > 5, "receipts outrun answers: {}", outcome.early);
        }
    }
}

#[test]
fn answers_lost_late_and_repeated_leave_no_message_without_its_fate() {
    let (mut unknown, mut late, mut copies) = (0, 0, 0);
    for seed in cases::seeds(20) {
        let weather = Weather { seed, lost: 8, late: 8, repeated: 25, form: IdForm::HexToDecimal, ..FAIR };
        let outcome = play(weather);
        (unknown, late) = (unknown + outcome.unknown, late + outcome.late);
        assert_eq!(outcome.copies, 0, "what is unknown is held");
        copies += play(Weather { resends: true, ..weather }).copies;
    }
    assert!(
        unknown > 50 && late > 20 && copies > 20,
        "bad weather: {unknown} unknown, {late} late, {copies} copies"
    );
}

#[test]
fn connections_that_break_at_any_moment_lose_nothing() {
    let mut unknown = 0;
    for seed in 100..125 {
        let resends = seed % 2 == 0;
        let weather = Weather { seed, lost: 3, late: 3, repeated: 10, breaks: 60, resends, ..FAIR };
        unknown += play(weather).unknown;
    }
    assert!(unknown > 50, "bad weather: {unknown} unknown");
}

#[test]
fn a_connection_that_breaks_at_any_pdu_of_the_conversation_loses_nothing() {
    let whole = play(Weather { seed: 7, ..FAIR }).pdus;
    assert!(whole > 4 * MESSAGES, "{whole}");
    for pdu in 0..=whole {
        for resends in [false, true] {
            let outcome = play(Weather { seed: 7, breaks_at: Some(pdu), resends, ..FAIR });
            assert!(outcome.unknown <= WINDOW, "PDU {pdu}: {} unknown", outcome.unknown);
        }
    }
}
