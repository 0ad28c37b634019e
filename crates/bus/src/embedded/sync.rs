//! Group commit: a few threads that sync whatever is dirty. A log is in one thread's hands, and while its
//! sync runs, what is written next gathers, and the next sync carries all of it; only where many wait several
//! threads sync the same log.

use super::lock::lock;
use super::log::{LANES_MAX, Log};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So many syncs run at once: one busy log leaves others as many as it may use itself.
pub(super) const THREADS: usize = 2 * LANES_MAX + 1;
/// This one is kept for emergencies.
const KEPT_THREAD: usize = 0;
/// The median is over so many.
const TIMES_KEPT: usize = 1_000;

/// Where a log is on its way to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SyncStage {
    /// It waits for a thread, or one waits for more of what it will carry.
    pub is_queued: bool,
    /// So many threads sync it.
    pub running: usize,
    /// More was written since, and no further thread may sync it.
    pub again: bool,
}

/// Work that takes longer than a caller should wait.
pub(super) trait Chore: Send + Sync {
    /// Does it.
    fn run(&self);
}

/// The threads and what they have to do.
#[derive(Default)]
pub(super) struct SyncPool {
    queue: Mutex<SyncQueue>,
    wake: Condvar,
    /// Of the thread that is kept for emergencies.
    wake_kept: Condvar,
    times: Mutex<Times>,
}

#[derive(Default)]
struct SyncQueue {
    /// Of emergencies: before all others.
    urgent: VecDeque<SyncJob>,
    now: VecDeque<SyncJob>,
    /// After all others.
    chores: VecDeque<SyncJob>,
    /// Logs that are synced by interval, and when.
    later: VecDeque<(Instant, Arc<Log>)>,
    closing: bool,
}

enum SyncJob {
    Sync(Arc<Log>),
    Chore(Arc<dyn Chore>),
}

#[derive(Default)]
struct Times {
    micros: Vec<u32>,
    next: usize,
}

impl SyncPool {
    /// Starts the threads. With an interval they also sync what was written so long ago.
    pub fn start(shared: &Arc<super::shared::SharedLogs>) -> std::io::Result<Vec<JoinHandle<()>>> {
        let run = |n: usize| {
            let shared = shared.clone();
            std::thread::Builder::new().name(format!("bus-sync-{n}")).spawn(move || {
                while let Some(job) = shared.pool.next(&*shared.clock, n == KEPT_THREAD) {
                    shared.pool.carry_out(job);
                }
            })
        };
        (0..THREADS).map(run).collect()
    }

    /// Has a log synced.
    pub fn sync(&self, log: &Arc<Log>) {
        let mut way = lock(&log.way);
        if way.is_queued {
            return;
        }
        if way.running < log.lanes() {
            way.is_queued = true;
            drop(way);
            self.push(SyncJob::Sync(log.clone()));
        } else {
            way.again = true;
        }
    }

    /// Has a log synced when its interval ends. All wait equally long, so the order is that of the calls.
    pub fn sync_later(&self, log: Arc<Log>, due: Instant) {
        lock(&self.queue).later.push_back((due, log));
        self.wake.notify_one();
    }

    /// Has a chore done.
    pub fn chore(&self, chore: Arc<dyn Chore>) {
        self.push(SyncJob::Chore(chore));
    }

    /// Has the threads end when nothing is left to do.
    pub fn close(&self) {
        let mut queue = lock(&self.queue);
        queue.closing = true;
        let later = std::mem::take(&mut queue.later);
        drop(queue);
        for (_, log) in later {
            log.leave_interval();
            self.sync(&log);
        }
        self.wake.notify_all();
        self.wake_kept.notify_all();
    }

    /// A sync took so long.
    pub fn took(&self, duration: Duration) {
        let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
        let mut times = lock(&self.times);
        let next = times.next;
        if times.micros.len() < TIMES_KEPT {
            times.micros.push(micros);
        } else {
            times.micros[next] = micros;
        }
        times.next = (next + 1) % TIMES_KEPT;
    }

    /// The median of the last syncs in microseconds; 0 before the first.
    pub fn us_p50(&self) -> u64 {
        let mut micros = lock(&self.times).micros.clone();
        if micros.is_empty() {
            return 0;
        }
        let middle = micros.len() / 2;
        u64::from(*micros.select_nth_unstable(middle).1)
    }

    /// The mean of the last syncs in microseconds; 0 before the first.
    pub fn us_mean(&self) -> u64 {
        let times = lock(&self.times);
        let sum: u64 = times.micros.iter().map(|micros| u64::from(*micros)).sum();
        sum.checked_div(times.micros.len() as u64).unwrap_or(0)
    }

    /// Has the threads look at the clock.
    #[cfg(test)]
    pub fn look(&self) {
        self.wake.notify_all();
    }

    fn push(&self, job: SyncJob) {
        let mut queue = lock(&self.queue);
        let is_urgent = matches!(&job, SyncJob::Sync(log) if log.is_emergency());
        match &job {
            SyncJob::Sync(_) if is_urgent => queue.urgent.push_back(job),
            SyncJob::Sync(_) => queue.now.push_back(job),
            SyncJob::Chore(_) => queue.chores.push_back(job),
        }
        drop(queue);
        if is_urgent { &self.wake_kept } else { &self.wake }.notify_one();
    }

    /// Waits for something to do; nothing when closing and all is done. One thread does nothing but what is
    /// urgent.
    fn next(&self, clock: &dyn super::MonotonicClock, is_kept: bool) -> Option<SyncJob> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.urgent.pop_front() {
                return Some(job);
            }
            if is_kept && !queue.closing {
                queue = self.wake_kept.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner);
                continue;
            }
            let job = queue.now.pop_front().or_else(|| queue.chores.pop_front());
            if job.is_some() {
                return job;
            }
            if queue.closing {
                return None;
            }
            let wait = queue.later.front().map(|(due, _)| due.saturating_duration_since(clock.now()));
            queue = match wait {
                Some(Duration::ZERO) => {
                    let (_, log) = queue.later.pop_front()?;
                    drop(queue);
                    log.leave_interval();
                    self.sync(&log);
                    lock(&self.queue)
                }
                Some(wait) => {
                    let waited = self.wake.wait_timeout(queue, wait);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
                None => self.wake.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
    }

    fn carry_out(&self, job: SyncJob) {
        let log = match job {
            SyncJob::Sync(log) => log,
            SyncJob::Chore(chore) => return chore.run(),
        };
        log.gather();
        {
            let mut way = lock(&log.way);
            way.is_queued = false;
            way.running += 1;
        }
        if let Err(error) = log.sync_beside() {
            tracing::error!(topic = log.name(), %error, "A sync failed: the topic takes no more appends until a restart.");
        }
        let mut way = lock(&log.way);
        way.running -= 1;
        if std::mem::take(&mut way.again) && !way.is_queued {
            way.is_queued = true;
            self.push(SyncJob::Sync(log.clone()));
        }
    }
}
