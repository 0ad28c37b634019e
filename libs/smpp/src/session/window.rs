//! Our requests in flight: a slab found by sequence number, in the order of sending, and the ones that came
//! too late.
//!
//! A sequence number's slot is its low bits. Numbers whose slot is still held by an old unanswered request
//! are passed over, so that neither a lost response nor a slow one can stall the window: only the count of
//! requests in flight does.

use super::config::WINDOW_MAX;
use crate::limits::SEQUENCE_MAX;
use crate::pdu::Command;
use std::collections::VecDeque;
use std::time::Duration;

/// Slots per request of the window: with this many a number is passed over only when a request stays
/// unanswered while that many windows of later ones are answered.
const SLOTS_PER_REQUEST: usize = 2;
/// Fewest slots, so that small windows do not pass numbers over.
const SLOTS_MIN: usize = 64;
/// Expired requests remembered for their late responses.
const LATE_MAX: usize = WINDOW_MAX;
/// No slot.
const NONE: u16 = u16::MAX;

/// A moment as nanoseconds since the session began.
pub(super) type Nanos = u64;

/// A request in flight, or one that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowEntry {
    pub(super) token: u64,
    pub(super) sent: Nanos,
    pub(super) sequence: u32,
    pub(super) command: Command,
    /// Which batch of output it went into, see [`super::Session::poll_transmit`].
    pub(super) batch: u32,
}

#[derive(Clone, Copy)]
struct WindowSlot {
    token: u64,
    sent: Nanos,
    /// 0: the slot is free.
    sequence: u32,
    batch: u32,
    command: u32,
    previous: u16,
    next: u16,
}

const FREE: WindowSlot =
    WindowSlot { token: 0, sent: 0, sequence: 0, batch: 0, command: 0, previous: NONE, next: NONE };

impl WindowSlot {
    fn entry(&self) -> WindowEntry {
        WindowEntry {
            token: self.token,
            sent: self.sent,
            sequence: self.sequence,
            command: Command(self.command),
            batch: self.batch,
        }
    }
}

struct Late {
    entry: WindowEntry,
    forget_at: Nanos,
    answered: bool,
}

pub(super) struct Window {
    limit: usize,
    used: usize,
    /// A power of two of slots, at most 32,768; allocated with the first request.
    slots: Vec<WindowSlot>,
    oldest: u16,
    newest: u16,
    late: VecDeque<Late>,
    late_keep: Nanos,
}

impl Window {
    pub(super) fn new(limit: usize, late_keep: Duration) -> Self {
        let limit = limit.clamp(1, WINDOW_MAX);
        let late_keep = u64::try_from(late_keep.as_nanos()).unwrap_or(Nanos::MAX);
        Window {
            limit,
            used: 0,
            slots: Vec::new(),
            oldest: NONE,
            newest: NONE,
            late: VecDeque::new(),
            late_keep,
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        let limit = limit.clamp(1, WINDOW_MAX);
        // Slots are never moved: a wider window than they were made for waits until none is in use.
        if self.used == 0 {
            self.slots = Vec::new();
        }
        self.limit =
            if self.slots.is_empty() { limit } else { limit.min(self.slots.len() / SLOTS_PER_REQUEST) };
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    #[inline]
    pub(super) fn free(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// The first sequence number at or after `from` that has a free slot. There must be one: `free() > 0`.
    #[inline]
    pub(super) fn free_sequence(&self, from: u32) -> u32 {
        let mut sequence = from;
        while self.slots.get(self.index(sequence)).is_some_and(|slot| slot.sequence != 0) {
            sequence = after(sequence);
        }
        sequence
    }

    /// Takes a request in. Its sequence is one of [`Window::free_sequence`].
    #[inline]
    pub(super) fn insert(&mut self, entry: WindowEntry) {
        if self.slots.is_empty() {
            let count = (self.limit * SLOTS_PER_REQUEST).max(SLOTS_MIN).next_power_of_two();
            self.slots = vec![FREE; count];
        }
        let index = self.index(entry.sequence);
        debug_assert!(self.slots[index].sequence == 0 && entry.sequence != 0);
        let previous = self.newest;
        self.slots[index] = WindowSlot {
            token: entry.token,
            sent: entry.sent,
            sequence: entry.sequence,
            batch: entry.batch,
            command: entry.command.0,
            previous,
            next: NONE,
        };
        let index = index as u16;
        match self.slots.get_mut(usize::from(previous)) {
            Some(slot) => slot.next = index,
            None => self.oldest = index,
        }
        self.newest = index;
        self.used += 1;
    }

    /// Takes out the request that a response to `command` with this sequence answers.
    #[inline]
    pub(super) fn take(&mut self, sequence: u32, command: Command) -> Option<WindowEntry> {
        let index = self.index(sequence);
        let slot = self.slots.get(index)?;
        if slot.sequence != sequence || slot.command != command.0 || sequence == 0 {
            return None;
        }
        Some(self.remove(index))
    }

    /// Takes out the request with this sequence, whatever it is: a generic_nack answers anything.
    pub(super) fn take_any(&mut self, sequence: u32) -> Option<WindowEntry> {
        let command = self.slots.get(self.index(sequence))?.command;
        self.take(sequence, Command(command))
    }

    /// When the oldest request was sent.
    #[inline]
    pub(super) fn oldest_sent(&self) -> Option<Nanos> {
        self.slots.get(usize::from(self.oldest)).map(|slot| slot.sent)
    }

    /// Takes out the oldest request.
    pub(super) fn take_oldest(&mut self) -> Option<WindowEntry> {
        (self.oldest != NONE).then(|| self.remove(usize::from(self.oldest)))
    }

    /// Remembers an expired request for its late response.
    pub(super) fn expire(&mut self, entry: WindowEntry, now: Nanos) {
        self.forget(now);
        if self.late.len() == LATE_MAX {
            self.late.pop_front();
        }
        self.late.push_back(Late { entry, forget_at: now.saturating_add(self.late_keep), answered: false });
    }

    /// The expired request that a late response answers, once. `command` `None` is a generic_nack's.
    pub(super) fn take_late(
        &mut self,
        sequence: u32,
        command: Option<Command>,
        now: Nanos,
    ) -> Option<WindowEntry> {
        self.forget(now);
        // Requests expire in the order they were sent, so their numbers rise here, but for one wrap.
        let first = self.late.front()?.entry.sequence;
        let distance = |sequence: u32| sequence.wrapping_sub(first) & SEQUENCE_MAX;
        let index = self.late.partition_point(|late| distance(late.entry.sequence) < distance(sequence));
        let late = self.late.get_mut(index)?;
        let matches =
            late.entry.sequence == sequence && command.is_none_or(|command| late.entry.command == command);
        if !matches || late.answered {
            return None;
        }
        late.answered = true;
        Some(late.entry)
    }

    fn forget(&mut self, now: Nanos) {
        while self.late.front().is_some_and(|late| late.forget_at <= now) {
            self.late.pop_front();
        }
    }

    fn index(&self, sequence: u32) -> usize {
        sequence as usize & self.slots.len().wrapping_sub(1)
    }

    #[inline]
    fn remove(&mut self, index: usize) -> WindowEntry {
        let slot = std::mem::replace(&mut self.slots[index], FREE);
        match self.slots.get_mut(usize::from(slot.previous)) {
            Some(previous) => previous.next = slot.next,
            None => self.oldest = slot.next,
        }
        match self.slots.get_mut(usize::from(slot.next)) {
            Some(next) => next.previous = slot.previous,
            None => self.newest = slot.previous,
        }
        self.used -= 1;
        slot.entry()
    }
}

/// The next sequence number: 1 follows 0x7FFFFFFF.
pub(super) fn after(sequence: u32) -> u32 {
    if sequence >= SEQUENCE_MAX { 1 } else { sequence + 1 }
}
