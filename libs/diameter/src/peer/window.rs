//! Our requests without an answer: found by hop-by-hop identifier, in the order of their deadlines.
//!
//! The identifier's low 16 bits are the slot, its upper 16 a count that changes each time the slot is used:
//! an answer that comes when its slot is another request's finds nobody (RFC 6733 section 3: the identifier
//! is unique among outstanding requests).

use std::time::Instant;

/// The widest window: requests without an answer on one connection.
pub const WINDOW_MAX: usize = 60_000;
/// No slot.
const NONE: u16 = u16::MAX;

/// A request of ours without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What the caller gave with the request.
    pub token: u64,
    /// The request's command code.
    pub command: u32,
    /// The request's identifier on this connection.
    pub hop_by_hop: u32,
    /// The request's identifier from end to end: to be kept when it is sent again.
    pub end_to_end: u32,
    /// When it was sent.
    pub sent: Instant,
    /// Until when its answer is waited for.
    pub deadline: Instant,
    /// Which filling of the output it went into.
    pub(super) batch: u32,
}

#[derive(Clone, Copy)]
struct PeerWindowSlot {
    /// The identifier that the slot's present or next request has.
    hop_by_hop: u32,
    previous: u16,
    next: u16,
    pending: Option<Pending>,
}

pub(super) struct Window {
    limit: usize,
    used: usize,
    /// Grows by one until it is `limit` long, at most [`WINDOW_MAX`].
    slots: Vec<PeerWindowSlot>,
    /// Free slots, the last freed last: a wrong answer finds the count one further at the earliest after a
    /// whole round.
    free: std::collections::VecDeque<u16>,
    first: u16,
    last: u16,
    /// The upper half of a fresh slot's first identifier.
    start: u16,
}

impl Window {
    /// `start` is random, so that identifiers differ after a restart.
    pub(super) fn new(limit: usize, start: u16) -> Self {
        let limit = limit.clamp(1, WINDOW_MAX);
        let free = std::collections::VecDeque::new();
        Window { limit, used: 0, slots: Vec::new(), free, first: NONE, last: NONE, start }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn free(&self) -> usize {
        self.limit - self.used
    }

    /// The identifier of the next request, or `None` while the window is full. It stays the same until
    /// [`Window::insert`].
    pub(super) fn next_identifier(&mut self) -> Option<u32> {
        if self.used == self.limit {
            return None;
        }
        if self.free.is_empty() {
            let index = self.slots.len() as u16; // below WINDOW_MAX, as used < limit <= WINDOW_MAX
            let hop_by_hop = u32::from(self.start) << 16 | u32::from(index);
            self.slots.push(PeerWindowSlot { hop_by_hop, previous: NONE, next: NONE, pending: None });
            self.free.push_back(index);
        }
        let index = *self.free.front()?;
        Some(self.slots[usize::from(index)].hop_by_hop)
    }

    /// Takes in a request whose identifier is [`Window::next_identifier`]'s. The cheapest deadline is the
    /// latest one: others look for their place from the end.
    pub(super) fn insert(&mut self, pending: Pending) {
        let Some(index) = self.free.pop_front() else {
            return;
        };
        debug_assert_eq!(self.slots[usize::from(index)].hop_by_hop, pending.hop_by_hop);
        let mut before = self.last;
        while let Some(earlier) = self.slots.get(usize::from(before)) {
            if earlier.pending.is_none_or(|earlier| earlier.deadline <= pending.deadline) {
                break;
            }
            before = earlier.previous;
        }
        let after = match self.slots.get_mut(usize::from(before)) {
            Some(slot) => std::mem::replace(&mut slot.next, index),
            None => std::mem::replace(&mut self.first, index),
        };
        match self.slots.get_mut(usize::from(after)) {
            Some(slot) => slot.previous = index,
            None => self.last = index,
        }
        let slot = &mut self.slots[usize::from(index)];
        (slot.previous, slot.next, slot.pending) = (before, after, Some(pending));
        self.used += 1;
    }

    /// Takes out the request that an answer with this identifier and command answers.
    #[inline]
    pub(super) fn take(&mut self, hop_by_hop: u32, command: u32) -> Option<Pending> {
        let index = usize::from(hop_by_hop as u16);
        let slot = self.slots.get(index)?;
        let is_its = slot.pending.is_some_and(|pending| pending.command == command);
        if slot.hop_by_hop != hop_by_hop || !is_its {
            return None;
        }
        self.remove(index)
    }

    /// When the first request's time is over.
    #[inline]
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        Some(self.first_pending()?.deadline)
    }

    /// Takes out the request whose time is over first, if that is by `now`.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Pending> {
        self.first_pending().filter(|pending| pending.deadline <= now)?;
        self.take_first()
    }

    /// Takes out the request whose time is over first.
    pub(super) fn take_first(&mut self) -> Option<Pending> {
        self.remove(usize::from(self.first))
    }

    fn first_pending(&self) -> Option<&Pending> {
        self.slots.get(usize::from(self.first))?.pending.as_ref()
    }

    fn remove(&mut self, index: usize) -> Option<Pending> {
        let slot = self.slots.get_mut(index)?;
        let pending = slot.pending.take()?;
        slot.hop_by_hop = slot.hop_by_hop.wrapping_add(1 << 16);
        let (previous, next) = (slot.previous, slot.next);
        match self.slots.get_mut(usize::from(previous)) {
            Some(slot) => slot.next = next,
            None => self.first = next,
        }
        match self.slots.get_mut(usize::from(next)) {
            Some(slot) => slot.previous = previous,
            None => self.last = previous,
        }
        self.free.push_back(index as u16);
        self.used -= 1;
        Some(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn insert(window: &mut Window, token: u64, deadline: Instant) -> u32 {
        let hop_by_hop = window.next_identifier().unwrap();
        let sent = deadline - Duration::from_secs(1);
        window.insert(Pending { token, command: 272, hop_by_hop, end_to_end: 9, sent, deadline, batch: 0 });
        hop_by_hop
    }

    #[test]
    fn an_answer_finds_its_request_once_and_only_with_its_command() {
        let mut window = Window::new(4, 0x1234);
        let hop_by_hop = insert(&mut window, 7, Instant::now());
        assert_eq!(hop_by_hop, 0x1234_0000);
        assert_eq!(window.take(hop_by_hop, 258), None);
        assert_eq!(window.take(hop_by_hop ^ 1, 272), None);
        assert_eq!(window.take(hop_by_hop, 272).map(|pending| pending.token), Some(7));
        assert_eq!(window.take(hop_by_hop, 272), None);
    }

    #[test]
    fn a_full_window_gives_no_identifier_until_one_is_answered() {
        let mut window = Window::new(2, 0);
        let now = Instant::now();
        let first = insert(&mut window, 1, now);
        insert(&mut window, 2, now);
        assert_eq!((window.free(), window.next_identifier()), (0, None));
        window.take(first, 272).unwrap();
        let again = insert(&mut window, 3, now);
        assert_ne!(again, first, "a late answer to the first must not find the third");
        assert_eq!(again & 0xffff, first & 0xffff);
    }

    proptest! {
        #[test]
        fn a_window_does_what_a_sorted_list_does(steps in prop::collection::vec((0_u8..4, 0_u64..50), 1..300)) {
            let start = Instant::now() + Duration::from_secs(10);
            let mut window = Window::new(8, 0xffff);
            let mut model: Vec<(Instant, u64, u32)> = Vec::new();
            for (token, (kind, number)) in steps.into_iter().enumerate() {
                let at = start + Duration::from_millis(number);
                match kind {
                    0 | 1 if model.len() < 8 => {
                        let hop_by_hop = insert(&mut window, token as u64, at);
                        prop_assert!(model.iter().all(|entry| entry.2 != hop_by_hop));
                        let place = model.partition_point(|entry| entry.0 <= at);
                        model.insert(place, (at, token as u64, hop_by_hop));
                    }
                    2 if !model.is_empty() => {
                        let entry = model.remove(number as usize % model.len());
                        prop_assert_eq!(window.take(entry.2, 272).map(|pending| pending.token), Some(entry.1));
                    }
                    _ => {
                        let due = model.first().filter(|entry| entry.0 <= at).map(|entry| entry.1);
                        prop_assert_eq!(window.take_expired(at).map(|pending| pending.token), due);
                        model.drain(..usize::from(due.is_some()));
                    }
                }
                prop_assert_eq!(window.used(), model.len());
                prop_assert_eq!(window.first_deadline(), model.first().map(|entry| entry.0));
            }
        }
    }
}
