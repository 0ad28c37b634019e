//! ClientActivity counts what a client's sessions in this process do: who is bound, how fast messages come,
//! what was refused last.

use records::Timestamp;
use smpp::Status;
use smpp::pdu::{BindMode, Version};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Seconds over which the rate of now is averaged.
const RATE_SECONDS: u64 = 10;

/// See the module.
#[derive(Default)]
pub(super) struct ClientActivity {
    sessions: Mutex<BTreeMap<u64, Arc<SessionActivity>>>,
    /// The number of the next session.
    next: AtomicU64,
    submitted: AtomicU64,
    told: AtomicU64,
    rate: Mutex<RecentRate>,
    refusal: Mutex<Option<Refusal>>,
}

/// A session that is bound.
struct SessionActivity {
    peer: SocketAddr,
    mode: BindMode,
    version: Version,
    since: Timestamp,
    /// Requests without their answers.
    waiting: AtomicUsize,
}

/// The entry of a session among its client's; gone when dropped.
pub(super) struct SessionEntry {
    of: Arc<ClientActivity>,
    no: u64,
    session: Arc<SessionActivity>,
}

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refusal {
    request: &'static str,
    status: Status,
    why: &'static str,
    at: Instant,
}

/// Messages of the last seconds.
#[derive(Default)]
struct RecentRate {
    /// The first message, from which seconds are counted.
    begun: Option<Instant>,
    newest: u64,
    counts: [u64; RATE_SECONDS as usize],
}

/// A client's activity at a moment.
pub(crate) struct ActivityView {
    /// Bound in this process, the longest first.
    pub(crate) sessions: Vec<ClientSessionView>,
    /// Messages per second, over the last ten.
    pub(crate) rate_now: f64,
    /// Messages accepted since the process began.
    pub(crate) submitted: u64,
    /// Receipts and messages from people that the client took since then.
    pub(crate) told: u64,
    /// The last one.
    pub(crate) refusal: Option<RefusalView>,
}

/// A session at a moment.
pub(crate) struct ClientSessionView {
    /// Where the client comes from.
    pub(crate) peer: SocketAddr,
    /// `transmitter`, `receiver` or `transceiver`.
    pub(crate) mode: &'static str,
    /// Of SMPP.
    pub(crate) version: String,
    /// When it was bound.
    pub(crate) since: Timestamp,
    /// Requests without their answers.
    pub(crate) waiting: usize,
}

/// A refusal at a moment.
pub(crate) struct RefusalView {
    /// `bind` or `submit`.
    pub(crate) request: &'static str,
    /// What the client was told.
    pub(crate) status: Status,
    /// For us.
    pub(crate) why: &'static str,
    /// So long ago.
    pub(crate) ago: Duration,
}

impl ClientActivity {
    /// A session is bound.
    pub(super) fn enter(
        self: &Arc<Self>,
        (peer, mode, version): (SocketAddr, BindMode, Version),
        since: Timestamp,
    ) -> SessionEntry {
        let no = self.next.fetch_add(1, Ordering::Relaxed);
        let session = Arc::new(SessionActivity { peer, mode, version, since, waiting: AtomicUsize::new(0) });
        lock(&self.sessions).insert(no, Arc::clone(&session));
        SessionEntry { of: Arc::clone(self), no, session }
    }

    /// Messages were answered so.
    pub(super) fn note_submits(&self, status: Status, count: u64, now: Instant) {
        if status.is_ok() {
            self.submitted.fetch_add(count, Ordering::Relaxed);
            lock(&self.rate).add(count, now);
        } else if count > 0 {
            self.note_refused("submit", (status, status.text()), now);
        }
    }

    /// The client took an event.
    pub(super) fn note_told(&self) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was refused.
    pub(super) fn note_refused(
        &self,
        request: &'static str,
        (status, why): (Status, &'static str),
        at: Instant,
    ) {
        *lock(&self.refusal) = Some(Refusal { request, status, why, at });
    }

    pub(super) fn shown(&self, now: Instant) -> ActivityView {
        let refusal = *lock(&self.refusal);
        ActivityView {
            sessions: lock(&self.sessions).values().map(|session| session.shown()).collect(),
            rate_now: lock(&self.rate).per_s(now),
            submitted: self.submitted.load(Ordering::Relaxed),
            told: self.told.load(Ordering::Relaxed),
            refusal: refusal.map(|Refusal { request, status, why, at }| RefusalView {
                request,
                status,
                why,
                ago: now.saturating_duration_since(at),
            }),
        }
    }
}

impl SessionActivity {
    fn shown(&self) -> ClientSessionView {
        let mode = match self.mode {
            BindMode::Transmitter => "transmitter",
            BindMode::Receiver => "receiver",
            BindMode::Transceiver => "transceiver",
        };
        ClientSessionView {
            peer: self.peer,
            mode,
            version: self.version.to_string(),
            since: self.since,
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }
}

impl SessionEntry {
    /// So many requests of the session have no answer yet.
    pub(super) fn set_waiting(&self, count: usize) {
        self.session.waiting.store(count, Ordering::Relaxed);
    }
}

impl Drop for SessionEntry {
    fn drop(&mut self) {
        lock(&self.of.sessions).remove(&self.no);
    }
}

impl RecentRate {
    fn add(&mut self, count: u64, now: Instant) {
        let second = self.come_to(now);
        self.counts[(second % RATE_SECONDS) as usize] += count;
    }

    fn per_s(&mut self, now: Instant) -> f64 {
        if self.begun.is_none() {
            return 0.0;
        }
        self.come_to(now);
        self.counts.iter().sum::<u64>() as f64 / RATE_SECONDS as f64
    }

    /// Forgets the seconds that are past, and gives the one of now.
    fn come_to(&mut self, now: Instant) -> u64 {
        let begun = *self.begun.get_or_insert(now);
        let second = now.saturating_duration_since(begun).as_secs().max(self.newest);
        for past in (self.newest + 1..=second).take(RATE_SECONDS as usize) {
            self.counts[(past % RATE_SECONDS) as usize] = 0;
        }
        self.newest = second;
        second
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let start = Instant::now();
        let at = |s: u64| start + Duration::from_secs(s);
        let mut rate = RecentRate::default();
        assert_eq!(rate.per_s(start), 0.0);
        rate.add(50, start);
        rate.add(50, at(5));
        assert_eq!(rate.per_s(at(9)), 10.0);
        assert_eq!(rate.per_s(at(10)), 5.0, "the first second is past");
        assert_eq!(rate.per_s(at(1_000)), 0.0);
        rate.add(10, at(999));
        assert_eq!(rate.per_s(at(1_000)), 1.0, "a clock that goes back counts as now");
    }

    #[test]
    fn a_session_is_listed_until_it_ends_and_the_last_refusal_is_kept() {
        let (activity, now) = (Arc::new(ClientActivity::default()), Instant::now());
        let peer = ([192, 0, 2, 1], 4711).into();
        let entry = activity.enter((peer, BindMode::Receiver, Version::V3_4), Timestamp(7));
        entry.set_waiting(7);
        activity.note_submits(Status::ROK, 3, now);
        activity.note_submits(Status::RTHROTTLED, 1, now);
        activity.note_told();
        let later = now + Duration::from_secs(2);
        let shown = activity.shown(later);
        assert_eq!((shown.submitted, shown.told, shown.rate_now), (3, 1, 0.3));
        let session = &shown.sessions[0];
        assert_eq!((session.peer, session.mode, session.waiting), (peer, "receiver", 7));
        assert_eq!((session.since, shown.sessions.len()), (Timestamp(7), 1));
        let refusal = shown.refusal.unwrap();
        assert_eq!((refusal.request, refusal.status), ("submit", Status::RTHROTTLED));
        assert_eq!(refusal.ago, Duration::from_secs(2));
        drop(entry);
        assert!(activity.shown(later).sessions.is_empty());
    }
}
