//! Queue of the writer, in three lanes.

use super::Tx;
use crate::StoreError;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Small jobs that may wait; more callers wait outside.
const NOW_JOBS_MAX: usize = 16_384;
/// Jobs in slices that may wait; more callers wait outside. Each holds at most a few thousand rows.
const SLICED_JOBS_MAX: usize = 64;
/// Small jobs in one transaction.
const BATCH_JOBS_MAX: usize = 1_000;
/// After so many batches of lane `Now` in a row, one slice of a later lane goes between, so that none
/// starves.
const BATCHES_IN_A_ROW_MAX: u32 = 32;

/// Who goes first. A batch of an earlier lane goes before a slice of a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Small, and somebody waits.
    Now,
    /// An alert's bulk: rosters, folded deliveries. In slices.
    Soon,
    /// Imports and what is swept up behind them. In slices.
    Later,
}

/// Has a job more slices to do?
pub(super) enum JobStep<T> {
    /// Commit what was done and come again, after whoever has more haste.
    More,
    /// That was all.
    Done(T),
}

/// A job for the writer.
pub(super) trait Work: Send {
    /// One slice, inside a transaction. True when it was the last.
    fn slice(&mut self, tx: &Tx<'_>) -> Result<bool, StoreError>;
    /// Tells who waits. Called after the commit, or with the error that prevented it.
    fn answer(self: Box<Self>, result: Result<(), StoreError>);
    /// For tests of the order.
    #[cfg(test)]
    fn name(&self) -> &'static str {
        ""
    }
}

/// A job that the writer has.
pub(super) struct PendingJob<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> PendingJob<T> {
    /// Waits for its commit.
    pub(super) fn wait(self) -> Result<T, StoreError> {
        self.0.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// What the writer does next.
pub(super) enum NextWork {
    /// Small jobs, for one transaction.
    Batch(Vec<Box<dyn Work>>),
    /// One slice of this, which then comes back with [`WriterQueue::put_back`] if it has more.
    Slice(Box<dyn Work>, Lane),
    /// It is over.
    End,
}

/// How the store ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StoreShutdown {
    Open,
    /// What waits in `Now` and `Soon` is still done.
    Orderly,
    /// Nothing more is done.
    AtOnce,
}

/// The writer's queue.
pub(super) struct WriterQueue {
    lanes: Mutex<Lanes>,
    wake: Condvar,
    now_waiting: AtomicUsize,
    /// Closed while the log has to be moved into the database first: slices wait, small jobs do not.
    gate_closed: AtomicBool,
    now_permits: Arc<Semaphore>,
    sliced_permits: Arc<Semaphore>,
}

struct Lanes {
    now: VecDeque<Box<dyn Work>>,
    soon: VecDeque<Box<dyn Work>>,
    later: VecDeque<Box<dyn Work>>,
    batches_in_a_row: u32,
    ending: StoreShutdown,
}

impl WriterQueue {
    pub(super) fn new() -> WriterQueue {
        WriterQueue {
            lanes: Mutex::new(Lanes {
                now: VecDeque::new(),
                soon: VecDeque::new(),
                later: VecDeque::new(),
                batches_in_a_row: 0,
                ending: StoreShutdown::Open,
            }),
            wake: Condvar::new(),
            now_waiting: AtomicUsize::new(0),
            gate_closed: AtomicBool::new(false),
            now_permits: Arc::new(Semaphore::new(NOW_JOBS_MAX)),
            sliced_permits: Arc::new(Semaphore::new(SLICED_JOBS_MAX)),
        }
    }

    /// Queues a job and waits for its commit.
    pub(super) async fn submit<T, F>(&self, lane: Lane, run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError> + Send + 'static,
    {
        let permits = if lane == Lane::Now { &self.now_permits } else { &self.sliced_permits };
        let permit = Arc::clone(permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        self.push(lane, Box::new(WriterJob { run, done: None, reply, _permit: Some(permit) }));
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// The same for a thread of the store's own, which has one job at a time.
    pub(super) fn submit_here<T, F>(&self, lane: Lane, run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError> + Send + 'static,
    {
        self.begin_here(lane, run).wait()
    }

    /// Queues a job of such a thread, which does something else until it waits for the commit.
    pub(super) fn begin_here<T, F>(&self, lane: Lane, run: F) -> PendingJob<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.push(lane, Box::new(WriterJob { run, done: None, reply, _permit: None }));
        PendingJob(answer)
    }

    fn push(&self, lane: Lane, work: Box<dyn Work>) {
        let mut lanes = self.lock();
        if lanes.ending != StoreShutdown::Open {
            return; // dropping the job answers `Closed`
        }
        match lane {
            Lane::Now => {
                lanes.now.push_back(work);
                self.now_waiting.fetch_add(1, Ordering::Relaxed);
            }
            Lane::Soon => lanes.soon.push_back(work),
            Lane::Later => lanes.later.push_back(work),
        }
        drop(lanes);
        self.wake.notify_all();
    }

    /// Gives a job with more slices back to the head of its lane.
    pub(super) fn put_back(&self, lane: Lane, work: Box<dyn Work>) {
        let mut lanes = self.lock();
        match lane {
            Lane::Now => lanes.now.push_front(work),
            Lane::Soon => lanes.soon.push_front(work),
            Lane::Later => lanes.later.push_front(work),
        }
    }

    /// Waits for something to do.
    pub(super) fn next(&self) -> NextWork {
        let mut lanes = self.lock();
        loop {
            if let Some(next) = self.choose(&mut lanes) {
                return next;
            }
            lanes = self.wake.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn choose(&self, lanes: &mut Lanes) -> Option<NextWork> {
        if lanes.ending == StoreShutdown::AtOnce {
            return Some(NextWork::End);
        }
        let gate_open = lanes.ending != StoreShutdown::Open || !self.gate_closed.load(Ordering::Acquire);
        let turn_of_slices =
            lanes.batches_in_a_row >= BATCHES_IN_A_ROW_MAX && gate_open && lanes.has_slices();
        if !lanes.now.is_empty() && !turn_of_slices {
            let count = lanes.now.len().min(BATCH_JOBS_MAX);
            self.now_waiting.fetch_sub(count, Ordering::Relaxed);
            lanes.batches_in_a_row = lanes.batches_in_a_row.saturating_add(1);
            return Some(NextWork::Batch(lanes.now.drain(..count).collect()));
        }
        if gate_open {
            lanes.batches_in_a_row = 0;
            if let Some(work) = lanes.soon.pop_front() {
                return Some(NextWork::Slice(work, Lane::Soon));
            }
            if lanes.ending == StoreShutdown::Open
                && let Some(work) = lanes.later.pop_front()
            {
                return Some(NextWork::Slice(work, Lane::Later));
            }
        }
        (lanes.ending == StoreShutdown::Orderly).then_some(NextWork::End)
    }

    /// Somebody with haste waits: a slice should end here.
    pub(super) fn hurry(&self) -> bool {
        self.now_waiting.load(Ordering::Relaxed) > 0
    }

    /// Lets slices wait until [`WriterQueue::open_gate`].
    pub(super) fn close_gate(&self) {
        self.gate_closed.store(true, Ordering::Release);
    }

    /// Lets slices go on.
    pub(super) fn open_gate(&self) {
        if self.gate_closed.swap(false, Ordering::AcqRel) {
            drop(self.lock()); // whoever is about to wait has seen the old value, or waits by now
            self.wake.notify_all();
        }
    }

    /// Takes no more; the writer finishes what has somebody waiting, and ends.
    pub(super) fn close(&self) {
        self.end(StoreShutdown::Orderly);
    }

    /// Takes no more, and drops what waits.
    pub(super) fn close_at_once(&self) {
        self.end(StoreShutdown::AtOnce);
    }

    fn end(&self, ending: StoreShutdown) {
        self.now_permits.close();
        self.sliced_permits.close();
        let mut lanes = self.lock();
        lanes.ending = lanes.ending.max(ending);
        let mut dropped = std::mem::take(&mut lanes.later);
        if lanes.ending == StoreShutdown::AtOnce {
            dropped.append(&mut lanes.soon);
            dropped.append(&mut lanes.now);
        }
        drop(lanes);
        drop(dropped); // answers `Closed`, outside the lock
        self.wake.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lanes {
    fn has_slices(&self) -> bool {
        !self.soon.is_empty() || !self.later.is_empty()
    }
}

struct WriterJob<T, F> {
    run: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl<T, F> Work for WriterJob<T, F>
where
    T: Send,
    F: FnMut(&Tx<'_>) -> Result<JobStep<T>, StoreError> + Send,
{
    fn slice(&mut self, tx: &Tx<'_>) -> Result<bool, StoreError> {
        match (self.run)(tx)? {
            JobStep::More => Ok(false),
            JobStep::Done(value) => {
                self.done = Some(value);
                Ok(true)
            }
        }
    }

    fn answer(self: Box<Self>, result: Result<(), StoreError>) {
        let WriterJob { done, reply, .. } = *self;
        let _ = reply.send(result.and_then(|()| done.ok_or(StoreError::Closed))); // who asked may have gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);
    impl Work for Named {
        fn slice(&mut self, _: &Tx<'_>) -> Result<bool, StoreError> {
            Ok(true)
        }
        fn answer(self: Box<Self>, _: Result<(), StoreError>) {}
        fn name(&self) -> &'static str {
            self.0
        }
    }

    /// What comes next, and how many.
    fn next(queue: &WriterQueue) -> (&'static str, usize) {
        match queue.next() {
            NextWork::Batch(jobs) => (jobs[0].name(), jobs.len()),
            NextWork::Slice(job, _) => (job.name(), 1),
            NextWork::End => ("end", 0),
        }
    }

    fn push(queue: &WriterQueue, lane: Lane, name: &'static str) {
        queue.push(lane, Box::new(Named(name)));
    }

    #[test]
    fn who_waits_goes_before_bulk_and_an_alert_before_an_import() {
        let queue = WriterQueue::new();
        push(&queue, Lane::Later, "import");
        push(&queue, Lane::Soon, "fold");
        push(&queue, Lane::Now, "accept");
        push(&queue, Lane::Now, "put");
        assert!(queue.hurry());
        assert_eq!(next(&queue), ("accept", 2));
        assert!(!queue.hurry());
        assert_eq!(next(&queue), ("fold", 1));
        queue.put_back(Lane::Soon, Box::new(Named("rest of fold")));
        push(&queue, Lane::Soon, "next fold");
        push(&queue, Lane::Now, "accept");
        assert_eq!(next(&queue), ("accept", 1));
        assert_eq!(next(&queue), ("rest of fold", 1));
        assert_eq!(next(&queue), ("next fold", 1));
        assert_eq!(next(&queue), ("import", 1));
    }

    #[test]
    fn a_batch_is_bounded() {
        let queue = WriterQueue::new();
        for _ in 0..BATCH_JOBS_MAX + 1 {
            push(&queue, Lane::Now, "accept");
        }
        assert_eq!(next(&queue), ("accept", BATCH_JOBS_MAX));
        assert!(queue.hurry());
        assert_eq!(next(&queue), ("accept", 1));
    }

    #[test]
    fn no_lane_starves() {
        let queue = WriterQueue::new();
        push(&queue, Lane::Later, "import");
        for turn in 0..=BATCHES_IN_A_ROW_MAX {
            push(&queue, Lane::Now, "accept");
            let expected = if turn < BATCHES_IN_A_ROW_MAX { "accept" } else { "import" };
            assert_eq!(next(&queue).0, expected, "{turn}");
        }
        assert_eq!(next(&queue).0, "accept");
    }

    #[test]
    fn a_closed_gate_holds_bulk_and_nobody_else() {
        let queue = Arc::new(WriterQueue::new());
        push(&queue, Lane::Later, "import");
        queue.close_gate();
        push(&queue, Lane::Now, "accept");
        assert_eq!(next(&queue).0, "accept");
        let opening = Arc::clone(&queue);
        let opener = std::thread::spawn(move || opening.open_gate());
        assert_eq!(next(&queue).0, "import");
        opener.join().unwrap();
    }

    #[test]
    fn an_orderly_end_finishes_what_somebody_waits_for() {
        let queue = WriterQueue::new();
        for (lane, name) in [(Lane::Later, "import"), (Lane::Soon, "fold"), (Lane::Now, "accept")] {
            push(&queue, lane, name);
        }
        queue.close_gate();
        queue.close();
        push(&queue, Lane::Now, "too late");
        assert_eq!([next(&queue).0, next(&queue).0, next(&queue).0], ["accept", "fold", "end"]);
        queue.close_at_once();
        assert_eq!(next(&queue).0, "end");
    }
}
