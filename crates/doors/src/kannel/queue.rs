//! Queue appends the messages of concurrent requests in one append: each waits for the append its messages
//! are in.

use crate::MessageIntake;
use records::Intake;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// Requests that may wait for the engine at a time.
const WAITING_MAX: usize = 100_000;
/// Octets of their records at most.
const WAITING_OCTETS_MAX: usize = 64 << 20;

/// An append that takes longer waits for a disk that is worth waiting with: the next one is held back for
/// requests that come again at once.
const SLOW: Duration = Duration::from_millis(2);
/// It is held back no longer than this; a timer is no finer.
const HOLD_MAX: Duration = Duration::from_millis(1);
/// After holding back in vain, so many appends go at once before the next try, at most.
const PATIENCE_MAX: u32 = 64;

/// Too many requests wait already, or the bus refused their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotTaken;

/// Resolves when a request's messages are durable.
pub(super) type AppendDone = oneshot::Receiver<Result<(), NotTaken>>;

/// The queue in front of an appender of its own.
pub(super) struct MessageQueue(Arc<AppendShared>);

#[derive(Default)]
struct AppendShared {
    waiting: Mutex<QueuedRecords>,
    wake: Notify,
    is_over: AtomicBool,
    /// The last append took long.
    is_slow: AtomicBool,
}

/// Encoded records, one behind the other, and the requests that wait for them.
#[derive(Default)]
struct QueuedRecords {
    octets: Vec<u8>,
    ends: Vec<usize>,
    requests: Vec<oneshot::Sender<Result<(), NotTaken>>>,
    /// The appender is woken at so many requests.
    wanted: usize,
}

impl MessageQueue {
    /// A queue whose appender runs on the current runtime until the queue is dropped.
    pub(super) fn start(intake: Arc<dyn MessageIntake>) -> MessageQueue {
        let shared = Arc::new(AppendShared::default());
        tokio::spawn(run(shared.clone(), intake));
        MessageQueue(shared)
    }

    /// Appends take long: two queues would wait for each other's sync, and each request for both.
    pub(super) fn is_slow(&self) -> bool {
        self.0.is_slow.load(Ordering::Relaxed)
    }

    /// Puts a request's records into the next append.
    pub(super) fn put(&self, records: impl Iterator<Item = Intake>) -> Result<AppendDone, NotTaken> {
        let mut waiting = self.0.lock();
        if waiting.requests.len() >= WAITING_MAX || waiting.octets.len() >= WAITING_OCTETS_MAX {
            return Err(NotTaken);
        }
        for record in records {
            record.encode_into(&mut waiting.octets);
            let end = waiting.octets.len();
            waiting.ends.push(end);
        }
        let (reply, done) = oneshot::channel();
        waiting.requests.push(reply);
        let is_wanted = waiting.requests.len() == waiting.wanted;
        drop(waiting);
        if is_wanted {
            self.0.wake.notify_one();
        }
        Ok(done)
    }
}

impl Drop for MessageQueue {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.wake.notify_one();
    }
}

impl AppendShared {
    /// Wakes the appender at so many requests; returns how many there are now.
    fn want(&self, requests: usize) -> usize {
        let mut waiting = self.lock();
        waiting.wanted = requests;
        waiting.requests.len()
    }

    /// All that wait. Nobody is woken until more are wanted.
    fn take(&self, into: &mut QueuedRecords) {
        let mut waiting = self.lock();
        std::mem::swap(into, &mut *waiting);
        waiting.wanted = 0;
    }

    fn lock(&self) -> MutexGuard<'_, QueuedRecords> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(shared: Arc<AppendShared>, intake: Arc<dyn MessageIntake>) {
    let mut taken = QueuedRecords::default();
    let mut crowd = ConcurrencyEstimate::default();
    loop {
        let waits = shared.want(1);
        if waits == 0 {
            if shared.is_over.load(Ordering::Acquire) {
                return;
            }
            shared.wake.notified().await;
            continue;
        }
        if let Some(all) = crowd.hold_for(waits) {
            let come = async {
                while shared.want(all) < all {
                    shared.wake.notified().await;
                }
            };
            crowd.held(tokio::time::timeout(HOLD_MAX, come).await.is_ok());
        }
        shared.take(&mut taken);
        let (requests, began) = (taken.requests.len(), Instant::now());
        append(&mut taken, intake.as_ref()).await;
        let is_slow = began.elapsed() > SLOW;
        shared.is_slow.store(is_slow, Ordering::Relaxed);
        crowd.appended(requests + shared.lock().requests.len(), is_slow);
    }
}

/// Estimate of the number of clients that send requests at the same time. While a disk syncs the messages of
/// some, the others come, and without waiting for the first ones' next requests each would wait for two
/// syncs.
#[derive(Default)]
struct ConcurrencyEstimate {
    size: usize,
    is_slow: bool,
    misses: u32,
    skips: u32,
}

impl ConcurrencyEstimate {
    /// The number to wait for, if waiting is worth it.
    fn hold_for(&mut self, waiting: usize) -> Option<usize> {
        if !self.is_slow || waiting >= self.size {
            return None;
        }
        if self.skips > 0 {
            self.skips -= 1;
            return None;
        }
        Some(self.size)
    }

    /// Notes whether they came in time. If not, holding back is tried less and less.
    fn held(&mut self, came: bool) {
        self.misses = if came { 0 } else { (self.misses * 2).clamp(1, PATIENCE_MAX) };
        self.skips = self.misses;
    }

    /// So many were in an append or came meanwhile.
    fn appended(&mut self, requests: usize, is_slow: bool) {
        self.size = requests;
        self.is_slow = is_slow;
    }
}

async fn append(taken: &mut QueuedRecords, intake: &dyn MessageIntake) {
    let mut start = 0;
    let mut records = Vec::with_capacity(taken.ends.len());
    for end in &taken.ends {
        records.push(&taken.octets[start..*end]);
        start = *end;
    }
    let done = match intake.accept(&records).await {
        Ok(_) => Ok(()),
        Err(error) => {
            tracing::warn!(%error, messages = records.len(), "messages of platforms were not accepted");
            Err(NotTaken)
        }
    };
    for request in taken.requests.drain(..) {
        // A client that waits no more has gone; its messages are accepted all the same.
        let _ = request.send(done);
    }
    taken.octets.clear();
    taken.ends.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_append_waits_for_the_crowd_and_less_and_less_in_vain() {
        let mut crowd = ConcurrencyEstimate::default();
        crowd.appended(20, false);
        assert_eq!(crowd.hold_for(1), None);
        crowd.appended(20, true);
        assert_eq!(crowd.hold_for(1), Some(20));
        assert_eq!(crowd.hold_for(20), None);
        crowd.held(true);
        assert_eq!(crowd.hold_for(1), Some(20));
        let mut held = 0;
        for _ in 0..1_000 {
            if crowd.hold_for(1).is_some() {
                held += 1;
                crowd.held(false);
            }
        }
        assert!((10..30).contains(&held), "{held}");
    }
}
