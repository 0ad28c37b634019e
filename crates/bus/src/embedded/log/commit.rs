//! Group commit: who waits is synced together, and while many wait several syncs of one log are under way.
//!
//! A sync covers what was written before it began. If the next began only when it has ended, the disk would
//! idle while those it carried are answered and come again; so up to [`LANES_MAX`] overlap. Linux tells an
//! error of the disk once to each open file (errseq), so each of those that overlap has an open file of its
//! own. And none counts before all that began earlier have succeeded: a file that was opened after another
//! was told of an error could take what is lost for kept.

use super::group_commit_policy::{SyncCohort, SyncDelay};
use super::waiting::WaitCondition;
use super::{Log, LogProgress, LogWriter, StagedResult, Stopped};
use crate::BusError;
use crate::embedded::lock::{lock, read};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wal::DiskFile;

/// So many syncs of one log overlap at most. With four, those whom one of them had carried came back in such
/// crowds that all four began anew at one time; with more than eight each carries too little for what it
/// costs.
pub(in super::super) const LANES_MAX: usize = 8;

/// The syncs of a log.
#[derive(Default)]
pub(super) struct Syncs {
    state: Mutex<CommitState>,
    /// One has ended.
    turn: Condvar,
}

#[derive(Default)]
struct CommitState {
    cohort: SyncCohort,
    /// Those that may overlap, in the order in which they began. One that failed stays, and all behind it.
    order: VecDeque<Overlapping>,
    begun: u64,
    /// Open files for those that begin while another runs.
    lanes: Vec<SyncLane>,
    /// One runs that no other may overlap.
    is_alone: bool,
    /// So many wait until they can run alone.
    waiting_alone: usize,
}

struct Overlapping {
    number: u64,
    /// Records below are durable when it and all before it have succeeded.
    end: u64,
    is_done: bool,
}

/// An open file that one sync at a time uses.
struct SyncLane {
    /// The first index of the file.
    first: u64,
    file: Arc<dyn DiskFile>,
}

/// What a sync that has begun carries.
struct Begun {
    end: u64,
    appends: u64,
    /// Held open until it has ended.
    files: Vec<Arc<dyn DiskFile>>,
    folders: Vec<PathBuf>,
    /// Its number in the bus's list of those that hold files open.
    listed: Option<u64>,
}

impl CommitState {
    /// Nothing runs.
    fn is_idle(&self) -> bool {
        !self.is_alone && self.order.is_empty()
    }

    /// One more that others may overlap; its number.
    fn overlap(&mut self, end: u64) -> u64 {
        self.begun += 1;
        self.order.push_back(Overlapping { number: self.begun, end, is_done: false });
        self.begun
    }

    /// One of them has succeeded: how far the log is durable now, where that is further.
    fn succeed(&mut self, number: u64) -> Option<u64> {
        if let Some(sync) = self.order.iter_mut().find(|sync| sync.number == number) {
            sync.is_done = true;
        }
        let mut end = None;
        while self.order.front().is_some_and(|first| first.is_done) {
            end = self.order.pop_front().map(|first| first.end);
        }
        end
    }

    /// A lane is not used any more.
    fn leave(&mut self, lane: Option<SyncLane>) {
        if self.order.is_empty() {
            self.lanes.clear();
        } else {
            self.lanes.extend(lane);
        }
    }
}

impl Syncs {
    fn wait<'a>(&self, state: MutexGuard<'a, CommitState>) -> MutexGuard<'a, CommitState> {
        self.turn.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogWriter {
    /// What is to be synced is nothing but the last file.
    fn is_plain(&self) -> bool {
        self.folders.is_empty() && self.unsynced.len() == usize::from(self.last_unsynced)
    }

    /// Nothing is to be synced.
    fn is_clean(&self) -> bool {
        self.unsynced.is_empty() && self.folders.is_empty() && self.listed.is_none()
    }
}

impl Log {
    /// Asks the pool to sync it.
    pub fn request_sync(&self) {
        if let Some(me) = self.me.upgrade() {
            self.shared.pool.sync(&me);
        }
    }

    /// Its interval is over.
    pub fn leave_interval(&self) {
        self.waits.store(false, Ordering::Release);
    }

    /// Waits until records below `end` are as durable as was promised, or their fate is another.
    pub async fn promised(&self, end: u64, staged_result: Option<&StagedResult>) -> Result<(), BusError> {
        self.reached(staged_result, WaitCondition::Head(end)).await
    }

    /// Waits until records below `end` are synced, whatever was promised.
    pub async fn synced(&self, end: u64) -> Result<(), BusError> {
        self.reached(None, WaitCondition::Durable(end)).await
    }

    async fn reached(
        &self,
        staged_result: Option<&StagedResult>,
        want: WaitCondition,
    ) -> Result<(), BusError> {
        // First: an index that was taken back is given to another.
        let lost = || staged_result.and_then(|staged_result| staged_result.get());
        if lost().is_none() && want.is_met(&self.progress.borrow()) {
            return Ok(());
        }
        let is_over = || {
            let progress = self.progress.borrow();
            lost().is_some() || want.is_met(&progress) || progress.stopped.is_some()
        };
        self.waiting.until(want, is_over).await;
        if let Some(error) = lost() {
            return Err(error.clone());
        }
        let progress = self.progress.borrow();
        if !want.is_met(&progress) {
            return Err(self.stop_error(progress.stopped.as_ref()));
        }
        self.gathering.answer();
        Ok(())
    }

    /// Gets on, or stops; whoever waited for it is woken.
    pub(super) fn change(&self, change: impl FnOnce(&mut LogProgress)) {
        self.progress.send_modify(change);
        let progress = self.progress.borrow().clone();
        self.waiting.release(&progress, progress.stopped.is_some());
    }

    /// One more append was written.
    pub(super) fn count_append(&self) {
        self.gathering.came(self.appends.fetch_add(1, Ordering::SeqCst) + 1);
    }

    /// Before a sync: waits a part of a sync's time for those who were carried by the last one to come again.
    /// A few that are woken first would otherwise start the next sync alone, and all others wait for the one
    /// after.
    pub fn gather(&self) {
        let (wanted, took) = {
            let state = lock(&self.syncs.state);
            (state.cohort.wanted(), state.cohort.took())
        };
        if self.appends.load(Ordering::SeqCst) >= wanted {
            return;
        }
        let answered = || self.gathering.answered();
        let mut patience = SyncDelay::new(Instant::now(), took, answered());
        self.gathering.begin(wanted);
        while self.appends.load(Ordering::SeqCst) < wanted {
            let Some(left) = patience.left(Instant::now(), answered) else { break };
            std::thread::park_timeout(left);
        }
        self.gathering.end();
    }

    /// How many syncs of it may be under way at once by now.
    pub fn lanes(&self) -> usize {
        self.gathering.lanes()
    }

    /// Syncs everything written so far, on this thread; others of the same kind may be under way.
    pub fn sync_beside(&self) -> Result<(), BusError> {
        let mut state = lock(&self.syncs.state);
        while state.is_alone || state.waiting_alone > 0 {
            state = self.syncs.wait(state);
        }
        let mut writer = self.ready_to_sync()?;
        if writer.is_clean() {
            return Ok(());
        }
        let lane = if state.is_idle() { Ok(None) } else { self.lane(&mut state).map(Some) };
        let Some(lane) = lane.ok().filter(|_| writer.is_plain()) else {
            // Others must not miss what this one alone knows of: another file, or folders.
            drop((writer, state));
            return self.sync();
        };
        let begun = self.begin(&mut state, &mut writer);
        drop(writer);
        let number = state.overlap(begun.end);
        drop(state);
        let started = Instant::now();
        let result = match &lane {
            Some(lane) => self.sync_files(std::slice::from_ref(&lane.file), &[]),
            None => self.sync_files(&begun.files, &[]),
        };
        let took = started.elapsed();
        let mut state = lock(&self.syncs.state);
        let end = if result.is_ok() { state.succeed(number) } else { None };
        state.leave(lane);
        self.over(&mut state, begun, took, result.map(|()| end))
    }

    /// Syncs everything written so far, on this thread, while no other sync of it is under way.
    pub fn sync(&self) -> Result<(), BusError> {
        let mut state = lock(&self.syncs.state);
        state.waiting_alone += 1;
        while !state.is_idle() && !self.is_stopped() {
            state = self.syncs.wait(state);
        }
        state.waiting_alone -= 1;
        state.is_alone = true;
        let begun = self.ready_to_sync().map(|mut writer| self.begin(&mut state, &mut writer));
        drop(state);
        let started = Instant::now();
        let synced = begun.map(|begun| {
            let synced = self.sync_files(&begun.files, &begun.folders);
            if synced.is_ok() {
                lock(&self.writer).folders.drain(..begun.folders.len());
            }
            (begun, synced)
        });
        let mut state = lock(&self.syncs.state);
        state.is_alone = false;
        match synced {
            Ok((begun, synced)) => {
                let (end, took) = (begun.end, started.elapsed());
                self.over(&mut state, begun, took, synced.map(|()| Some(end)))
            }
            Err(error) => {
                self.syncs.turn.notify_all();
                Err(error)
            }
        }
    }

    /// The writer, with all that was staged written.
    fn ready_to_sync(&self) -> Result<MutexGuard<'_, LogWriter>, BusError> {
        let mut writer = lock(&self.writer);
        self.check_running()?;
        self.make_room(&mut writer);
        // Those it cannot write are told; what was written before is synced all the same.
        let _ = self.write_staged(&mut writer);
        Ok(writer)
    }

    /// An open file of its own for a sync that begins while another runs.
    fn lane(&self, state: &mut CommitState) -> io::Result<SyncLane> {
        let last = read(&self.files).last().cloned().ok_or(io::ErrorKind::NotFound)?;
        state.lanes.retain(|lane| lane.first == last.first);
        match state.lanes.pop() {
            Some(lane) => Ok(lane),
            None => Ok(SyncLane { first: last.first, file: self.shared.disk.open(&last.path)? }),
        }
    }

    fn begin(&self, state: &mut CommitState, writer: &mut LogWriter) -> Begun {
        let appends = state.cohort.carry(self.appends.load(Ordering::SeqCst));
        self.gathering.set_lanes(state.cohort.lanes());
        writer.last_unsynced = false;
        Begun {
            end: writer.next,
            appends,
            files: std::mem::take(&mut writer.unsynced),
            folders: writer.folders.clone(),
            listed: writer.listed.take(),
        }
    }

    /// A sync has ended: the log gets on as far as `result` says, or stops.
    fn over(
        &self,
        state: &mut CommitState,
        begun: Begun,
        took: Duration,
        result: io::Result<Option<u64>>,
    ) -> Result<(), BusError> {
        state.cohort.over(begun.appends, self.appends.load(Ordering::SeqCst), took);
        drop(begun.files);
        if let Some(listed) = begun.listed {
            self.shared.unsynced.leave(listed);
        }
        self.change(|progress| match &result {
            Ok(Some(end)) if !matches!(progress.stopped, Some(Stopped::Failed(_))) => {
                progress.durable = *end;
                progress.head = progress.head.max(*end);
            }
            Ok(_) => {}
            Err(error) => {
                let why = format!("the sync failed ({error}); restart to recover");
                progress.stopped = Some(Stopped::Failed(why));
            }
        });
        self.syncs.turn.notify_all();
        result.map(drop).map_err(|_| self.stop_error(self.progress.borrow().stopped.as_ref()))
    }

    fn sync_files(&self, files: &[Arc<dyn DiskFile>], folders: &[PathBuf]) -> io::Result<()> {
        if !files.is_empty() {
            let begun = self.shared.clock.now();
            files.iter().try_for_each(|file| file.sync())?;
            self.shared.pool.took(self.shared.clock.now() - begun);
        }
        folders.iter().try_for_each(|folder| self.shared.disk.sync_folder(folder))
    }

    /// There is something that is not synced.
    pub fn is_dirty(&self) -> bool {
        let writer = lock(&self.writer);
        !writer.unsynced.is_empty() || !writer.folders.is_empty()
    }
}
