//! Joining the parts of inbound messages: out of order, twice, or never complete.

use super::udh::Concatenation;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Messages waiting for parts, by default.
pub const SETS_MAX: usize = 10_000;
/// Octets waiting, by default.
pub const OCTETS_MAX: usize = 8 << 20;
/// How long the first part of a message waits for the last, by default.
pub const WAIT: Duration = Duration::from_secs(300);

/// Whose message a part belongs to: parts are of one message only when all of this is equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConcatKey {
    /// The phone.
    pub source: Box<[u8]>,
    /// The number it was sent to.
    pub destination: Box<[u8]>,
    /// The message's reference.
    pub reference: u16,
    /// Whether the reference has 16 bits.
    pub wide: bool,
    /// How many parts it has.
    pub total: u8,
}

/// What became of a part handed to [`Joiner::insert`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined<P> {
    /// It was the last one missing: all parts in order.
    Complete(Vec<P>),
    /// Others are missing.
    Waiting,
    /// This part was there already; the newer copy is handed back.
    Duplicate(P),
}

/// A message given up: too old, or too much waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete<P> {
    /// Whose it was.
    pub key: ConcatKey,
    /// The parts by number, `None` for the missing.
    pub parts: Vec<Option<P>>,
}

struct Set<P> {
    parts: Vec<Option<P>>,
    missing: usize,
    octets: usize,
    /// Tells this set from an earlier one of the same key.
    birth: u64,
}

/// Keeps parts until their message is complete. `P` is whatever a part is to the caller; its octets are
/// counted.
pub struct Joiner<P> {
    sets: HashMap<ConcatKey, Set<P>>,
    /// Sets in order of their birth, the finished ones too until they come to the front.
    by_age: VecDeque<(Instant, u64, ConcatKey)>,
    given_up: VecDeque<Incomplete<P>>,
    wait: Duration,
    sets_max: usize,
    octets_max: usize,
    octets: usize,
    births: u64,
}

impl<P: AsRef<[u8]>> Default for Joiner<P> {
    fn default() -> Self {
        Joiner::new(WAIT, SETS_MAX, OCTETS_MAX)
    }
}

impl<P: AsRef<[u8]>> Joiner<P> {
    /// A joiner that waits `wait` for a message's parts and keeps at most `sets_max` messages and
    /// `octets_max` octets; what is over gives up the oldest.
    #[must_use]
    pub fn new(wait: Duration, sets_max: usize, octets_max: usize) -> Self {
        Joiner {
            sets: HashMap::new(),
            by_age: VecDeque::new(),
            given_up: VecDeque::new(),
            wait,
            sets_max: sets_max.max(1),
            octets_max: octets_max.max(1),
            octets: 0,
            births: 0,
        }
    }

    /// Takes in a part. Call [`Joiner::poll_incomplete`] after it: a message may have been given up for room.
    pub fn insert(
        &mut self,
        source: &[u8],
        destination: &[u8],
        place: Concatenation,
        part: P,
        now: Instant,
    ) -> Joined<P> {
        if place.total <= 1 {
            return Joined::Complete(vec![part]);
        }
        let Concatenation { reference, total, number, wide } = place;
        let key =
            ConcatKey { source: source.into(), destination: destination.into(), reference, wide, total };
        let octets = part.as_ref().len();
        let set = match self.sets.get_mut(&key) {
            Some(set) => set,
            None => self.begin(&key, now),
        };
        let Some(slot) = set.parts.get_mut(usize::from(number).wrapping_sub(1)) else {
            return Joined::Duplicate(part);
        };
        if slot.is_some() {
            return Joined::Duplicate(part);
        }
        *slot = Some(part);
        set.missing -= 1;
        set.octets += octets;
        let complete = set.missing == 0;
        self.octets += octets;
        if complete && let Some(set) = self.take(&key) {
            return Joined::Complete(set.parts.into_iter().flatten().collect());
        }
        self.make_room();
        Joined::Waiting
    }

    /// Gives up what has waited too long; [`Joiner::poll_incomplete`] tells what.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((born, birth, key)) = self.by_age.front() {
            let waits = self.sets.get(key).is_some_and(|set| set.birth == *birth);
            if waits && *born + self.wait > now {
                return;
            }
            self.give_up_oldest();
        }
    }

    /// When [`Joiner::handle_timeout`] wants to be called next; it may find nothing to do then.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.by_age.front().map(|(born, ..)| *born + self.wait)
    }

    /// The next message that was given up.
    pub fn poll_incomplete(&mut self) -> Option<Incomplete<P>> {
        self.given_up.pop_front()
    }

    /// Messages waiting for parts.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.sets.len()
    }

    fn begin(&mut self, key: &ConcatKey, now: Instant) -> &mut Set<P> {
        self.births += 1;
        let birth = self.births;
        self.by_age.push_back((now, birth, key.clone()));
        let total = usize::from(key.total);
        let set = Set { parts: (0..total).map(|_| None).collect(), missing: total, octets: 0, birth };
        self.sets.entry(key.clone()).or_insert(set)
    }

    fn take(&mut self, key: &ConcatKey) -> Option<Set<P>> {
        let set = self.sets.remove(key)?;
        self.octets -= set.octets;
        Some(set)
    }

    /// `by_age` also holds finished sets; bounding it bounds them both.
    fn make_room(&mut self) {
        while self.sets.len() > self.sets_max
            || self.octets > self.octets_max
            || self.by_age.len() > 2 * self.sets_max
        {
            if self.by_age.is_empty() {
                return;
            }
            self.give_up_oldest();
        }
    }

    fn give_up_oldest(&mut self) {
        let Some((_, birth, key)) = self.by_age.pop_front() else {
            return;
        };
        if self.sets.get(&key).is_none_or(|set| set.birth != birth) {
            return;
        }
        if let Some(set) = self.take(&key) {
            self.given_up.push_back(Incomplete { key, parts: set.parts });
        }
    }
}
