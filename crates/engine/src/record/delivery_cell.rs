//! One delivery in memory: 44 octets, of which a running alert has one per endpoint.

use records::{Answer, ChannelNumber, Delivery, DeliveryState, EndpointNo, Reason, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// No route yet.
pub const NO_ROUTE: u16 = u16::MAX;
/// A channel number for persons without any device.
pub const NO_CHANNEL: u8 = u8::MAX;
/// Different texts of carriers kept at most; further ones are reported as `OTHER_WORDS`.
const DETAILS_MAX: usize = 65_536;
const OTHER_WORDS: &str = "(the carrier's words are in its log: too many different ones)";

/// In a segment that no outcome has ended yet.
pub const IN_SEGMENT: u8 = 1;
/// Its next device was called for already.
pub const ESCALATED: u8 = 2;
/// The network took it and gave it up when its time ran out.
pub const LAPSED: u8 = 4;
/// Its client cancels or replaces it, and that is not on disk yet.
pub const STEERED: u8 = 8;
/// A gateway noted its intent to write the last attempt. Each attempt is begun once.
pub const BEGUN: u8 = 16;

/// A delivery. Times are milliseconds after the alert's acceptance, plus one; 0 is "not yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryCell {
    /// How far it got.
    pub state: DeliveryState,
    /// Why it is there.
    pub reason: Reason,
    /// The number, or [`NO_CHANNEL`].
    pub channel: u8,
    /// Which routes may take it: a class of the classifier.
    pub class: u16,
    /// [`IN_SEGMENT`], [`ESCALATED`], [`LAPSED`], [`STEERED`], [`BEGUN`].
    pub flags: u8,
    /// Attempts begun.
    pub tries: u8,
    /// The number of the last attempt that was dispatched.
    pub last: u8,
    /// Parts of the last attempt.
    pub parts: u8,
    /// Bit per part the carrier took.
    pub parts_accepted: u16,
    /// Bit per part the network delivered.
    pub parts_delivered: u16,
    /// The route of the last attempt, or [`NO_ROUTE`].
    pub route: u16,
    /// First written.
    pub submitted: u32,
    /// Taken by the carrier.
    pub accepted: u32,
    /// Arrived.
    pub delivered: u32,
    /// When what holds it ends.
    pub due: u32,
    /// Words, by their number in the lexicon; 0 is none.
    pub detail: u32,
    /// Place in the alert's answers plus one; 0 is none.
    pub answer: u32,
}

const _: () = assert!(size_of::<DeliveryCell>() <= 44);

impl DeliveryCell {
    /// Not yet touched.
    pub const PLANNED: DeliveryCell = DeliveryCell {
        state: DeliveryState::Planned,
        reason: Reason::None,
        channel: NO_CHANNEL,
        class: 0,
        flags: 0,
        tries: 0,
        last: 0,
        parts: 0,
        parts_accepted: 0,
        parts_delivered: 0,
        route: NO_ROUTE,
        submitted: 0,
        accepted: 0,
        delivered: 0,
        due: 0,
        detail: 0,
        answer: 0,
    };

    /// May go into a segment now.
    pub fn is_ready(&self) -> bool {
        self.state == DeliveryState::Planned && self.flags & (IN_SEGMENT | STEERED) == 0
    }

    /// An attempt was begun, or a later one was.
    pub fn has_begun(&self, attempt: u8) -> bool {
        attempt < self.last || (attempt == self.last && self.flags & BEGUN != 0)
    }

    /// The channel, if there is one.
    pub fn channel(&self) -> Option<ChannelNumber> {
        (self.channel != NO_CHANNEL).then_some(ChannelNumber(self.channel))
    }

    /// Every part the attempt had was taken, or delivered, by the mask.
    pub fn is_whole(&self, mask: u16) -> bool {
        let bits = u32::from(self.parts.clamp(1, 16));
        mask.count_ones() >= bits
    }

    /// As stored. What is only in memory (a segment under way) is not: a start reads it from the bus.
    pub fn as_delivery(
        &self,
        alert: &records::Alert,
        endpoint: EndpointNo,
        words: &StringTable,
        answers: &[Answer],
    ) -> Delivery {
        let at = |offset: u32| moment(alert.created, offset);
        let begun = self.flags & BEGUN != 0 || self.flags & IN_SEGMENT == 0;
        Delivery {
            alert: alert.no,
            endpoint,
            state: self.state,
            attempts: self.tries,
            last_attempt: if begun { self.last } else { self.last.saturating_sub(1) },
            parts: self.parts,
            parts_accepted: self.parts_accepted,
            parts_delivered: self.parts_delivered,
            route: words.route(self.route).map(str::to_owned),
            reason: self.reason,
            detail: words.detail(self.detail).to_owned(),
            submitted: at(self.submitted),
            accepted: at(self.accepted),
            delivered: at(self.delivered),
            due: at(self.due),
            answer: answers.get((self.answer as usize).wrapping_sub(1)).cloned(),
        }
    }

    /// From a stored row; channel and class come from the roster.
    pub fn load(
        &mut self,
        row: &Delivery,
        created: Timestamp,
        words: &mut StringTable,
        answers: &mut Vec<Answer>,
    ) {
        let offset = |at: Option<Timestamp>| at.map_or(0, |at| offset(created, at));
        self.state = row.state;
        self.reason = row.reason;
        self.tries = row.attempts;
        self.last = row.last_attempt;
        self.flags |= if row.last_attempt > 0 { BEGUN } else { 0 };
        self.parts = row.parts;
        self.parts_accepted = row.parts_accepted;
        self.parts_delivered = row.parts_delivered;
        self.route = row.route.as_deref().map_or(NO_ROUTE, |name| words.route_no(name));
        self.detail = words.detail_no(&row.detail);
        self.submitted = offset(row.submitted);
        self.accepted = offset(row.accepted);
        self.delivered = offset(row.delivered);
        self.due = offset(row.due);
        if let Some(answer) = &row.answer {
            answers.push(answer.clone());
            self.answer = answers.len() as u32;
        }
    }
}

/// Milliseconds after acceptance, plus one. What is before it counts as at once; 49 days later the clock
/// stands.
pub fn offset(created: Timestamp, at: Timestamp) -> u32 {
    let ms = at.us_since(created).max(0) / 1000 + 1;
    u32::try_from(ms).unwrap_or(u32::MAX)
}

/// The moment an offset stands for.
pub fn moment(created: Timestamp, offset: u32) -> Option<Timestamp> {
    offset.checked_sub(1).map(|ms| created.plus_us(i64::from(ms) * 1000))
}

/// Route names and carriers' words, each kept once and known by number.
#[derive(Default)]
pub struct StringTable {
    routes: Vec<Arc<str>>,
    route_numbers: FxHashMap<Arc<str>, u16>,
    details: Vec<Arc<str>>,
    detail_numbers: FxHashMap<Arc<str>, u32>,
}

impl StringTable {
    /// A route's number.
    pub fn route_no(&mut self, name: &str) -> u16 {
        if let Some(&number) = self.route_numbers.get(name) {
            return number;
        }
        let number = self.routes.len() as u16;
        let name: Arc<str> = name.into();
        self.routes.push(name.clone());
        self.route_numbers.insert(name, number);
        number
    }
    /// A route's name.
    pub fn route(&self, number: u16) -> Option<&str> {
        self.routes.get(usize::from(number)).map(|name| &**name)
    }
    /// How many routes have a number.
    pub fn route_count(&self) -> usize {
        self.routes.len()
    }
    /// The number of some words; 0 for none.
    pub fn detail_no(&mut self, words: &str) -> u32 {
        if words.is_empty() {
            return 0;
        }
        if let Some(&number) = self.detail_numbers.get(words) {
            return number;
        }
        let words = if self.details.len() >= DETAILS_MAX { OTHER_WORDS } else { words };
        if let Some(&number) = self.detail_numbers.get(words) {
            return number;
        }
        let words: Arc<str> = words.into();
        self.details.push(words.clone());
        let number = self.details.len() as u32;
        self.detail_numbers.insert(words, number);
        number
    }
    /// The words with this number.
    pub fn detail(&self, number: u32) -> &str {
        self.details.get((number as usize).wrapping_sub(1)).map_or("", |words| words)
    }
}
