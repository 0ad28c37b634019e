//! State machine of a group's leases and acknowledgements: arithmetic on indexes and instants, no IO.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

/// From the lowest index that is not acknowledged, a group gives out records at most so far ahead, whatever
/// its settings.
pub(crate) const SPAN_MAX: u64 = 262_144;

/// The state of a group. Indexes from `low` to `low + slots.len()` have been given out once or acknowledged;
/// what follows is new.
pub(super) struct GroupState {
    low: u64,
    slots: VecDeque<IndexSlot>,
    /// The free ones among the slots.
    free: BTreeSet<u64>,
    /// When leases may end. Some entries are out of date: the slot decides.
    ends: BinaryHeap<Reverse<(Instant, u64)>>,
    leased: usize,
    /// Given out too often: nobody gets them any more.
    dead: BTreeSet<u64>,
    limits: GroupLimits,
}

/// What a group's settings come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupLimits {
    /// How far above the low-water mark records are given out.
    pub span: u64,
    /// A record that was given out so often is dead; 0: never.
    pub deliveries: u32,
}

impl Default for GroupLimits {
    fn default() -> GroupLimits {
        GroupLimits { span: SPAN_MAX, deliveries: 0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexSlot {
    /// Can be given out, after so many times.
    Free {
        given: u32,
    },
    /// Given out, for the `given`-th time.
    Leased {
        until: Instant,
        given: u32,
    },
    /// Given out so often that nobody gets it any more.
    Dead {
        given: u32,
    },
    Acked,
}

/// What an acknowledgement changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acked {
    /// It was acknowledged before.
    Before,
    /// Now it is.
    Now {
        /// And records can be given out that were too far ahead.
        opens: bool,
    },
    /// It is too far ahead.
    TooFar,
}

impl GroupState {
    /// Everything below `low` is done.
    pub fn new(low: u64) -> GroupState {
        GroupState {
            low,
            slots: VecDeque::new(),
            free: BTreeSet::new(),
            ends: BinaryHeap::new(),
            leased: 0,
            dead: BTreeSet::new(),
            limits: GroupLimits::default(),
        }
    }

    /// Holds to other limits from now on.
    pub fn set_limits(&mut self, limits: GroupLimits) {
        self.limits = limits;
        let waiting: Vec<u64> = self.free.iter().chain(&self.dead).copied().collect();
        for index in waiting {
            if let Some(IndexSlot::Free { given } | IndexSlot::Dead { given }) = self.slot(index) {
                self.give_back(index, given);
            }
        }
    }

    /// Records that are dead, with how often each was given out, at most `max`.
    pub fn dead(&self, max: usize) -> Vec<(u64, u32)> {
        let given = |&index: &u64| match self.slot(index) {
            Some(IndexSlot::Dead { given }) => Some((index, given)),
            _ => None,
        };
        self.dead.iter().filter_map(given).take(max).collect()
    }

    /// There is one that is dead.
    pub fn has_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    /// A dead one is given out again as if it never was.
    pub fn revive(&mut self, index: u64) {
        if let Some(IndexSlot::Dead { .. }) = self.slot(index) {
            self.set(index, IndexSlot::Free { given: 0 });
        }
    }

    /// It was given out so often before this state began.
    pub fn was_given(&mut self, index: u64, given: u32) {
        if index < self.low || index - self.low >= SPAN_MAX {
            return;
        }
        self.reach(index);
        if let Some(IndexSlot::Free { given: before } | IndexSlot::Dead { given: before }) = self.slot(index)
        {
            self.give_back(index, given.max(before));
        }
    }

    /// What was given out and not acknowledged, with how often.
    pub fn given(&self) -> Vec<(u64, u32)> {
        let given = |(index, slot): (u64, &IndexSlot)| match *slot {
            IndexSlot::Free { given } | IndexSlot::Leased { given, .. } | IndexSlot::Dead { given }
                if given > 0 =>
            {
                Some((index, given))
            }
            _ => None,
        };
        (self.low..).zip(&self.slots).filter_map(given).collect()
    }

    fn give_back(&mut self, index: u64, given: u32) {
        let is_dead = self.limits.deliveries > 0 && given >= self.limits.deliveries;
        self.set(index, if is_dead { IndexSlot::Dead { given } } else { IndexSlot::Free { given } });
    }

    /// Nothing new is given out.
    fn is_full(&self) -> bool {
        self.slots.len() as u64 >= self.limits.span
    }

    /// Everything below was acknowledged.
    pub fn low(&self) -> u64 {
        self.low
    }

    /// The lowest index that was never given out.
    fn next(&self) -> u64 {
        self.low + self.slots.len() as u64
    }

    /// Something can be given out of a topic that ends at `head`.
    pub fn has_work(&self, head: u64) -> bool {
        !self.free.is_empty() || (self.next() < head && !self.is_full())
    }

    /// Free what was leased until now or before; says whether there was any.
    pub fn expire(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(&Reverse((until, index))) = self.ends.peek() {
            if until > now {
                break;
            }
            self.ends.pop();
            if let Some(IndexSlot::Leased { until: end, given }) = self.slot(index)
                && end <= now
            {
                self.give_back(index, given);
                any = true;
            }
        }
        any
    }

    /// When the next lease may end.
    pub fn next_end(&mut self) -> Option<Instant> {
        while let Some(&Reverse((until, index))) = self.ends.peek() {
            match self.slot(index) {
                Some(IndexSlot::Leased { until: end, .. }) if end == until => return Some(until),
                _ => self.ends.pop(),
            };
        }
        None
    }

    /// Indexes to give out, at most `max`, lowest first, and how often each was given out before. They are
    /// leased only by [`GroupState::lease`].
    pub fn offer(&self, max: usize, head: u64) -> Vec<(u64, u32)> {
        let returned = self.free.iter().take_while(|index| **index < head).take(max).map(|&index| match self
            .slot(index)
        {
            Some(IndexSlot::Free { given }) => (index, given),
            _ => (index, 0),
        });
        let mut offer: Vec<(u64, u32)> = returned.collect();
        let new_end = head.min(self.low + self.limits.span);
        offer.extend((self.next()..new_end).take(max - offer.len()).map(|index| (index, 0)));
        offer
    }

    /// Gives out an index of an offer.
    pub fn lease(&mut self, index: u64, until: Instant) {
        self.reach(index);
        let given = match self.slot(index) {
            Some(IndexSlot::Free { given }) => given,
            _ => return,
        };
        self.set(index, IndexSlot::Leased { until, given: given.saturating_add(1) });
        self.push_end(until, index);
    }

    /// It is done, whoever has it.
    pub fn ack(&mut self, index: u64) -> Acked {
        if index < self.low || self.slot(index) == Some(IndexSlot::Acked) {
            return Acked::Before;
        }
        if index - self.low >= SPAN_MAX {
            return Acked::TooFar;
        }
        self.reach(index);
        let was_full = self.is_full();
        self.set(index, IndexSlot::Acked);
        self.settle();
        Acked::Now { opens: was_full && !self.is_full() }
    }

    /// Extends a lease; says whether there was one.
    pub fn renew(&mut self, index: u64, now: Instant, lease: Duration) -> bool {
        let Some(IndexSlot::Leased { given, .. }) = self.slot(index) else {
            return false;
        };
        let until = now + lease;
        self.set(index, IndexSlot::Leased { until, given });
        self.push_end(until, index);
        true
    }

    /// Ends a lease; says whether there was one.
    pub fn release(&mut self, index: u64) -> bool {
        let Some(IndexSlot::Leased { given, .. }) = self.slot(index) else {
            return false;
        };
        self.give_back(index, given);
        true
    }

    /// Lets go of everything below: its records are gone.
    pub fn skip_to(&mut self, low: u64) -> bool {
        if low <= self.low {
            return false;
        }
        for index in self.low..low.min(self.next()) {
            self.set(index, IndexSlot::Acked);
        }
        self.settle();
        if self.low < low {
            // Nothing of what was known is left.
            self.slots.clear();
            self.low = low;
        }
        true
    }

    /// Indexes below `head` that are not acknowledged, at most `max`.
    pub fn unacknowledged(&self, max: usize, head: u64) -> Vec<u64> {
        (self.low..head).filter(|&index| self.slot(index) != Some(IndexSlot::Acked)).take(max).collect()
    }

    /// Spans (from, below) of acknowledged indexes above the low-water mark.
    pub fn acked_spans(&self) -> Vec<(u64, u64)> {
        let mut spans = Vec::new();
        for (index, slot) in (self.low..).zip(&self.slots) {
            if *slot == IndexSlot::Acked {
                add_span(&mut spans, index);
            }
        }
        spans
    }

    fn slot(&self, index: u64) -> Option<IndexSlot> {
        let place = index.checked_sub(self.low)?;
        self.slots.get(usize::try_from(place).ok()?).copied()
    }

    fn set(&mut self, index: u64, slot: IndexSlot) {
        let place = (index - self.low) as usize;
        match self.slots[place] {
            IndexSlot::Free { .. } => drop(self.free.remove(&index)),
            IndexSlot::Leased { .. } => self.leased -= 1,
            IndexSlot::Dead { .. } => drop(self.dead.remove(&index)),
            IndexSlot::Acked => {}
        }
        match slot {
            IndexSlot::Free { .. } => drop(self.free.insert(index)),
            IndexSlot::Leased { .. } => self.leased += 1,
            IndexSlot::Dead { .. } => drop(self.dead.insert(index)),
            IndexSlot::Acked => {}
        }
        self.slots[place] = slot;
    }

    /// Slots up to and with `index`, free where they are new.
    fn reach(&mut self, index: u64) {
        while self.next() <= index {
            self.free.insert(self.next());
            self.slots.push_back(IndexSlot::Free { given: 0 });
        }
    }

    /// Moves the low-water mark over what is acknowledged.
    fn settle(&mut self) {
        while self.slots.front() == Some(&IndexSlot::Acked) {
            self.slots.pop_front();
            self.low += 1;
        }
        if self.slots.is_empty() && self.slots.capacity() > 1024 {
            self.slots.shrink_to(64);
        }
    }

    fn push_end(&mut self, until: Instant, index: u64) {
        // Renewals leave old entries behind: when they are the most, only the true ones stay.
        if self.ends.len() >= 64 + 4 * self.leased {
            let ends = std::mem::take(&mut self.ends).into_iter();
            self.ends = ends
                .filter(|Reverse((until, index))| {
                    matches!(self.slot(*index), Some(IndexSlot::Leased { until: end, .. }) if end == *until)
                })
                .collect();
        }
        self.ends.push(Reverse((until, index)));
    }
}

/// Adds an index to spans; a run of indexes is one span.
pub(super) fn add_span(spans: &mut Vec<(u64, u64)>, index: u64) {
    match spans.last_mut() {
        Some((_, below)) if *below == index => *below += 1,
        _ => spans.push((index, index + 1)),
    }
}
