//! One thread that wakes groups: when a lease may have expired, and when acknowledgements should be written.

use super::clock::MonotonicClock;
use super::lock::lock;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Instant;

/// Someone who wants to be woken.
pub(super) trait TimerClient: Send + Sync {
    /// The moment has come.
    fn woken(self: Arc<Self>, now: Instant);
}

/// Who sleeps until when.
#[derive(Default)]
pub(super) struct Timer {
    alarms: Mutex<Alarms>,
    wake: Condvar,
}

#[derive(Default)]
struct Alarms {
    heap: BinaryHeap<Alarm>,
    closing: bool,
}

struct Alarm {
    at: Instant,
    sleeper: Weak<dyn TimerClient>,
}

impl Timer {
    /// Wakes a sleeper at a moment. Sleepers keep at most a few alarms set each.
    pub fn set(&self, at: Instant, sleeper: Weak<dyn TimerClient>) {
        let mut alarms = lock(&self.alarms);
        let is_next = alarms.heap.peek().is_none_or(|next| at < next.at);
        alarms.heap.push(Alarm { at, sleeper });
        drop(alarms);
        if is_next {
            self.wake.notify_one();
        }
    }

    /// Wakes everyone whose moment has come; says when the next comes.
    pub fn wake_due(&self, now: Instant) -> Option<Instant> {
        loop {
            let mut alarms = lock(&self.alarms);
            let next = alarms.heap.peek()?.at;
            if next > now {
                return Some(next);
            }
            let sleeper = alarms.heap.pop().and_then(|alarm| alarm.sleeper.upgrade());
            drop(alarms);
            if let Some(sleeper) = sleeper {
                sleeper.woken(now);
            }
        }
    }

    /// The thread's work, until it is closed.
    pub fn run(&self, clock: &dyn MonotonicClock) {
        loop {
            let now = clock.now();
            self.wake_due(now);
            let alarms = lock(&self.alarms);
            if alarms.closing {
                return;
            }
            // Looked at again under the lock: an alarm may have been set since.
            match alarms.heap.peek().map(|next| next.at.saturating_duration_since(now)) {
                Some(wait) => {
                    drop(self.wake.wait_timeout(alarms, wait).unwrap_or_else(PoisonError::into_inner))
                }
                None => drop(self.wake.wait(alarms).unwrap_or_else(PoisonError::into_inner)),
            }
        }
    }

    /// Ends the thread.
    pub fn close(&self) {
        lock(&self.alarms).closing = true;
        self.wake.notify_all();
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}
impl Eq for Alarm {}
impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Alarm {
    /// The earliest is the greatest: it leaves the heap first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}
