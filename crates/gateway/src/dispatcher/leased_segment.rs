//! A segment in hand, and the entries of it that may be written.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::cluster::SegmentLease;
use records::{AttemptRef, ControlState, Entry, Lane, NotTried, Segment, Unpaid};

/// What a channel knows of segments.
pub trait ChannelEncoder: Send + Sync + 'static {
    /// What is made of a segment once, so that it is not made for each entry: encoded bodies.
    type Prepared: Send + Sync + 'static;

    /// Writing an entry again by this route leaves no second copy: whoever gets it knows it for the same.
    /// What a crash leaves without an outcome is then said to be not tried, and is planned again at once. Of
    /// any other nobody knows, and the alert's `on_unknown` decides. Never more than the channel's traits
    /// say.
    fn repeatable(&self) -> bool {
        false
    }

    /// The far end of this route can be asked what became of an entry: what a crash leaves without an outcome
    /// is [asked for](crate::dispatcher::Questions) before anybody calls it unknown.
    fn askable(&self) -> bool {
        false
    }

    /// Makes it.
    fn prepare(&self, segment: &Segment) -> Self::Prepared;

    /// What an entry costs of the route's rate and window, at least 1: its parts.
    fn units(&self, segment: &Segment, prepared: &Self::Prepared, entry: &Entry) -> u8;
}

/// A segment whose lease we have.
#[derive(Debug)]
pub struct LeasedSegment<P> {
    /// Its index in its topic.
    pub index: u64,
    /// The segment.
    pub segment: Segment,
    /// What the channel made of it.
    pub prepared: P,
    /// Octets it had on the bus.
    pub(super) octets: u32,
    lane: Lane,
    /// What keeps it from being acknowledged: units without a durable outcome, and one while entries are
    /// left.
    open: AtomicU32,
    verdict: AtomicU8,
    /// Where several processes share the route: whether it is still ours.
    pub(super) segment_lease: Option<Arc<SegmentLease>>,
    /// Entries that are passed over, by their places in order; said before it is admitted.
    passed: OnceLock<Vec<(u32, Pass)>>,
}

/// Why an entry is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// An earlier process said what became of it.
    Over,
    /// Nobody pays for it.
    Unpaid(Unpaid),
}

impl<P> LeasedSegment<P> {
    /// The lane is that of the topic it came by, whatever the segment itself says.
    pub(crate) fn new(
        index: u64,
        octets: u32,
        lane: Lane,
        segment: Segment,
        prepared: P,
    ) -> LeasedSegment<P> {
        let (open, verdict) = (AtomicU32::new(1), AtomicU8::new(0));
        LeasedSegment {
            index,
            segment,
            prepared,
            octets,
            lane,
            open,
            verdict,
            segment_lease: None,
            passed: OnceLock::new(),
        }
    }

    /// One that other processes may take over.
    pub(super) fn under(self, segment_lease: Option<Arc<SegmentLease>>) -> LeasedSegment<P> {
        LeasedSegment { segment_lease, ..self }
    }

    /// Some entries of it, in the order of their places, are not written. Said once.
    pub(super) fn pass_over(&self, passed: Vec<(u32, Pass)>) {
        // Whoever says it again says the same: a segment is paid for by one bill.
        let _ = self.passed.set(passed);
    }

    /// Whether an entry is passed over, and why.
    pub(super) fn pass(&self, place: u32) -> Option<Pass> {
        let passed = self.passed.get()?;
        let at = passed.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        passed.get(at).map(|(_, pass)| *pass)
    }

    /// Another process has it, or may have: nothing more of it is written or said.
    pub(super) fn is_lost(&self) -> bool {
        self.segment_lease.as_ref().is_some_and(|segment_lease| segment_lease.is_lost(Instant::now()))
    }

    /// Nothing is without a durable outcome but what is not begun.
    pub(super) fn is_at_rest(&self) -> bool {
        self.open.load(Ordering::Relaxed) == 1
    }

    /// The lane it came by.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    pub(super) fn opened(&self, units: u32) {
        self.open.fetch_add(units, Ordering::Relaxed);
    }

    /// True when that was the last.
    pub(super) fn closed(&self, units: u32) -> bool {
        self.open.fetch_sub(units, Ordering::Relaxed) == units
    }

    pub(super) fn set_verdict(&self, state: ControlState) {
        let number = match state {
            ControlState::Run => 0,
            ControlState::Pause => 1,
            ControlState::Stop => 2,
        };
        self.verdict.store(number, Ordering::Relaxed);
    }

    /// Why it may not be written, if the sender said so.
    pub(super) fn refusal(&self) -> Option<NotTried> {
        match self.verdict.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(NotTried::Paused),
            _ => Some(NotTried::Stopped),
        }
    }
}

/// One entry that may be written: its intent is on disk.
#[derive(Debug)]
pub struct Job<P> {
    /// Its segment.
    pub leased: Arc<LeasedSegment<P>>,
    /// Its place there.
    pub place: u32,
    /// What it costs: parts.
    pub units: u8,
}

impl<P> Clone for Job<P> {
    fn clone(&self) -> Job<P> {
        Job { leased: Arc::clone(&self.leased), place: self.place, units: self.units }
    }
}

impl<P> Job<P> {
    /// The entry.
    ///
    /// # Panics
    /// Never: a job is made of an entry that is there.
    pub fn entry(&self) -> &Entry {
        &self.leased.segment.entries[self.place as usize]
    }

    /// Names a part of it, from 1.
    pub fn of(&self, part: u8) -> AttemptRef {
        let entry = self.entry();
        AttemptRef {
            alert: self.leased.segment.alert,
            endpoint: entry.endpoint,
            attempt: entry.attempt,
            part,
            parts: self.units,
        }
    }

    /// Names all of it as if it had one part: for what happened to the attempt as a whole.
    pub fn whole(&self) -> AttemptRef {
        AttemptRef { parts: 1, ..self.of(1) }
    }
}
