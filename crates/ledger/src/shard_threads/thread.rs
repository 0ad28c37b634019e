//! A shard's own thread: it takes what gathered, applies it, writes it, has it synced and gives the answers
//! back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::{MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wal::Disk;

use super::{BatchQueue, BatchSubmission, QueuedBatch};
use crate::background;
use crate::block;
use crate::log::{Fsync, Log, Segments};
use crate::retire::retire;
use crate::shard::{Shard, Turn};
use crate::sync_pipeline::SyncPipeline;

pub(super) struct ShardThread {
    pub(super) number: usize,
    pub(super) shard: Shard,
    pub(super) log: Log,
    pub(super) past: Segments,
    pub(super) fsync: Fsync,
    pub(super) queue: Arc<BatchQueue>,
    /// What was written and is not on disk yet, with those who wait for it.
    pub(super) pipeline: SyncPipeline<Vec<BatchSubmission>>,
    pub(super) block: Vec<u8>,
    pub(super) taken: Vec<BatchSubmission>,
    pub(super) synced_at_us: u64,
    pub(super) folder: PathBuf,
    pub(super) snapshot_octets: u64,
    pub(super) keep_records: Option<Duration>,
    /// Where the log was at the last snapshot, or at the start.
    pub(super) snapshot_at: u64,
    /// The thread that writes one.
    pub(super) snapshot: Option<JoinHandle<()>>,
}

/// A block of so many octets is written though more requests wait, so that the first of them do not wait for
/// ever.
const BLOCK_OCTETS_FULL: usize = 512 << 10;

/// Ends of sessions that are written in one turn, so that requests do not wait behind them.
const EXPIRED_PER_TURN: usize = 1_024;

/// Removes what records need not be kept of any more.
fn retire_old(shard: usize, disk: &dyn Disk, folder: &Path, segments: &Segments, keep: Duration) {
    let keep_us = u64::try_from(keep.as_micros()).unwrap_or(u64::MAX);
    match retire(disk, folder, segments, now_us().saturating_sub(keep_us)) {
        Ok(0) => {}
        Ok(removed) => tracing::info!(
            shard,
            removed,
            "old segments of the ledger's log are removed: [charging] keep_records"
        ),
        Err(error) => tracing::warn!(shard, %error, "old segments of the ledger's log cannot be removed"),
    }
}

pub(crate) fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// The syncs of a shard's log: what they carried goes back to who waits for it.
pub(super) fn pipeline(
    number: usize,
    queue: &Arc<BatchQueue>,
    synced: u64,
) -> SyncPipeline<Vec<BatchSubmission>> {
    let land = move |landed: Vec<BatchSubmission>| {
        landed.into_iter().for_each(|BatchSubmission { batch, to }| to.answered(number, batch));
    };
    let queue = Arc::clone(queue);
    // The owner sees it when it looks for room; it may be asleep.
    let fell = move || {
        queue.lock().asks.push(Box::new(|_| {}));
        queue.notify.notify_one();
    };
    SyncPipeline::new(synced, land, fell)
}

impl ShardThread {
    pub(super) fn run(mut self) {
        loop {
            let is_over = match self.take().and_then(|is_over| self.turn().map(|()| is_over)) {
                Ok(is_over) => is_over,
                Err(error) => return self.fail(&error),
            };
            for BatchSubmission { batch, to } in self.taken.drain(..) {
                to.answered(self.number, batch);
            }
            self.freeze_if_due();
            if is_over {
                self.snapshot.take().map(JoinHandle::join);
                if let Err(error) = self.drain().and_then(|()| self.log.sync()) {
                    self.fail(&error);
                }
                return;
            }
        }
    }

    /// Waits for work and takes all of it. Says whether this is the last turn.
    fn take(&mut self) -> io::Result<bool> {
        let synced = self.pipeline.wait_for_room()?;
        self.log.synced_to(synced);
        let is_idle = self.pipeline.is_idle();
        let mut waiting = self.queue.lock();
        if waiting.is_empty() {
            waiting = self.sleep(waiting, 0, self.patience());
        }
        if !is_idle {
            waiting = self.gather(waiting);
        }
        std::mem::swap(&mut waiting.batches, &mut self.taken);
        let asks = std::mem::take(&mut waiting.asks);
        waiting.requests = 0;
        let is_over = waiting.is_over;
        drop(waiting);
        if !asks.is_empty() {
            // What is told of the shard is on disk.
            self.drain()?;
        }
        for ask in asks {
            ask(&mut self.shard);
        }
        Ok(is_over)
    }

    /// Sleeps until so many requests wait, or something else is to be done, or the time is over.
    fn sleep<'a>(
        &self,
        mut waiting: MutexGuard<'a, QueuedBatch>,
        requests: usize,
        time: Duration,
    ) -> MutexGuard<'a, QueuedBatch> {
        (waiting.is_asleep, waiting.wanted) = (true, requests);
        let slept = self.queue.notify.wait_timeout(waiting, time);
        let (mut waiting, _) = slept.unwrap_or_else(PoisonError::into_inner);
        waiting.is_asleep = false;
        waiting
    }

    /// While other syncs are under way: waits a part of a sync's time for the share of the next one.
    fn gather<'a>(&self, mut waiting: MutexGuard<'a, QueuedBatch>) -> MutexGuard<'a, QueuedBatch> {
        let share = self.pipeline.lanes.share();
        let until = Instant::now() + self.pipeline.lanes.patience();
        while waiting.requests < share && waiting.asks.is_empty() && !waiting.is_over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            waiting = self.sleep(waiting, share, left);
        }
        waiting
    }

    /// Waits until all that was written is on disk.
    fn drain(&mut self) -> io::Result<()> {
        let synced = self.pipeline.drain()?;
        self.log.synced_to(synced);
        Ok(())
    }

    /// Takes what came since. Says whether there was anything.
    fn take_more(&mut self) -> bool {
        let mut waiting = self.queue.lock();
        waiting.requests = 0;
        let is_more = !waiting.batches.is_empty();
        self.taken.append(&mut waiting.batches);
        is_more
    }

    /// Until when nothing has to be done without being asked.
    fn patience(&self) -> Duration {
        let now = now_us();
        let mut until = self.shard.next_expiry_us().unwrap_or(u64::MAX);
        if let Fsync::Every { us } = self.fsync
            && self.log.synced() < self.log.end()
        {
            until = until.min(self.synced_at_us + us);
        }
        Duration::from_micros(until.saturating_sub(now).clamp(1_000, 60_000_000))
    }

    fn turn(&mut self) -> io::Result<()> {
        let now_us = now_us();
        if self.log.is_full() {
            self.drain()?;
        }
        let position = self.log.next_position()?;
        block::begin(&mut self.block);
        self.shard.begin_block(position, now_us);
        let mut services = Vec::new();
        let mut turn = Turn { now_us, log: &mut self.block, services: &mut services, past: &self.past };
        self.shard.expire(&mut turn, EXPIRED_PER_TURN);
        let mut applied = 0;
        loop {
            for BatchSubmission { batch, .. } in &mut self.taken[applied..] {
                batch.apply(&mut self.shard, now_us, &mut self.block, &self.past);
            }
            applied = self.taken.len();
            // What came meanwhile is written and synced with the rest: a sync costs the same for few and for
            // many. Where syncs overlap, that is for the next one.
            let is_shared_out = self.pipeline.lanes.count() > 1;
            if is_shared_out || self.block.len() >= BLOCK_OCTETS_FULL || !self.take_more() {
                break;
            }
        }
        let has_written = self.block.len() > block::HEAD_OCTETS;
        if has_written {
            block::seal(&mut self.block, position, self.log.synced(), self.shard.now_us());
            self.log.append(&self.block)?;
        }
        match self.fsync {
            Fsync::Always => self.sync(has_written),
            Fsync::Every { us } if now_us >= self.synced_at_us + us => {
                self.synced_at_us = now_us;
                self.log.sync()
            }
            Fsync::Every { .. } | Fsync::Os => Ok(()),
        }
    }

    /// Has what was written synced: here, or beside other syncs, and then those who wait for it are answered
    /// from there.
    fn sync(&mut self, has_written: bool) -> io::Result<()> {
        let requests: usize = self.taken.iter().map(|taken| taken.batch.len()).sum();
        self.pipeline.lanes.under_way(requests + self.pipeline.requests());
        let may_overlap = self.log.syncs_may_overlap();
        if !may_overlap {
            self.drain()?;
        }
        if !may_overlap || self.pipeline.is_idle() && self.pipeline.lanes.count() == 1 {
            return self.sync_here(has_written);
        }
        if requests == 0 && !has_written {
            return Ok(());
        }
        let file = has_written.then(|| self.log.synced_file());
        let load = std::mem::take(&mut self.taken);
        match self.pipeline.begin(self.log.end(), file, requests, load) {
            Ok(()) => Ok(()),
            Err((load, error)) => {
                tracing::warn!(shard = self.number, %error, "no thread for a sync of the ledger; one at a time is made");
                self.taken = load;
                self.drain()?;
                self.sync_here(has_written)
            }
        }
    }

    fn sync_here(&mut self, has_written: bool) -> io::Result<()> {
        let begun = Instant::now();
        self.log.sync()?;
        if has_written {
            self.pipeline.lanes.took(begun.elapsed());
            self.pipeline.synced_to(self.log.synced());
        }
        Ok(())
    }

    /// Has a snapshot written by another thread when the log has grown enough; one at a time.
    fn freeze_if_due(&mut self) {
        let end = self.log.end();
        let is_due = end - self.snapshot_at >= self.snapshot_octets;
        if !is_due || self.snapshot.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        // What a snapshot has must be in the log, whatever a power cut leaves of it.
        if self.drain().and_then(|()| self.log.sync()).is_err() {
            return;
        }
        self.snapshot_at = end;
        let (frozen, folder, shard) = (self.shard.freeze(end), self.folder.clone(), self.number);
        let (keep, segments, disk) = (self.keep_records, self.past.clone(), self.log.disk());
        let write = move || match frozen.write(&*disk, &folder) {
            Ok(_) => {
                tracing::debug!(shard, "a snapshot of the ledger is written");
                if let Some(keep) = keep {
                    retire_old(shard, &*disk, &folder, &segments, keep);
                }
            }
            Err(error) => {
                tracing::warn!(shard, %error, "no snapshot of the ledger could be written; starts take longer")
            }
        };
        match background::spawn(format!("ledger-{shard}-snapshot"), write) {
            Ok(thread) => self.snapshot = Some(thread),
            Err(error) => tracing::warn!(shard, %error, "no thread for a snapshot of the ledger"),
        }
    }

    /// The disk failed: whatever was not answered is refused, and nothing is done any more. What memory holds
    /// may not be on disk.
    fn fail(mut self, error: &io::Error) {
        let why =
            format!("shard {} of the ledger has stopped: its log cannot be written: {error}", self.number);
        tracing::error!(shard = self.number, %error, "the ledger's log cannot be written; this shard has stopped");
        let fallen = self.pipeline.fallen().into_iter().flatten();
        self.queue.fail(self.number, why, self.taken.drain(..).chain(fallen));
    }
}
