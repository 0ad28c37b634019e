//! Group commit: who waits is synced together.

use super::waiting::Want;
use super::{Fate, Log, Progress, Stopped};
use crate::BusError;
use crate::embedded::disk::File;
use crate::embedded::lock::lock;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A sync waits for those the last one carried at most this part of a sync's time, from the last answer on that it made possible: who has
/// not been answered yet cannot come again.
const GATHER_PART: u32 = 10;

/// However long the answers take, it waits no longer than this part of a sync's time in all.
const GATHER_PART_IN_ALL: u32 = 2;

/// Whom the last sync carried, and who came meanwhile.
#[derive(Default)]
pub(super) struct Cohort {
    /// Appends that all syncs together carried.
    carried: u64,
    /// Those of the last one.
    released: u64,
    /// Those that came while it ran.
    came: u64,
    /// Its time.
    took: Duration,
}

impl Cohort {
    fn carry(&mut self, appends: u64) {
        self.released = appends - self.carried;
        self.carried = appends;
    }

    fn over(&mut self, appends: u64, took: Duration) {
        self.came = appends - self.carried;
        self.took = took;
    }

    /// How many appends there are once all have come again that the last sync carried. Without those that wait already two halves would
    /// take turns, and each wait for two syncs.
    fn expected(&self) -> u64 {
        self.carried + self.came + self.released
    }
}

/// The thread that waits for appends before it syncs.
pub(super) struct Gathering {
    /// It waits for so many; [`u64::MAX`]: nobody waits.
    wanted: AtomicU64,
    /// Of those who waited for a sync, so many went on with their answer.
    answered: AtomicU64,
    thread: Mutex<Option<std::thread::Thread>>,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering { wanted: AtomicU64::new(u64::MAX), answered: AtomicU64::new(0), thread: Mutex::default() }
    }
}

/// How long a sync waits for those who may come again.
struct Patience {
    part: Duration,
    until: Instant,
    at_the_latest: Instant,
    answered: u64,
}

impl Patience {
    /// After a sync that took so long, and made so many answers possible before.
    fn new(now: Instant, took: Duration, answered: u64) -> Patience {
        let part = took / GATHER_PART;
        Patience { part, until: now + part, at_the_latest: now + took / GATHER_PART_IN_ALL, answered }
    }

    /// How long to wait before it is asked again; `None`: no longer. As long as answers leave, who gets them has not had its time yet.
    fn left(&mut self, now: Instant, answered: impl Fn() -> u64) -> Option<Duration> {
        if now >= self.until {
            let so_far = answered();
            if so_far == self.answered || now >= self.at_the_latest {
                return None;
            }
            self.answered = so_far;
            self.until = self.at_the_latest.min(now + self.part);
        }
        Some(self.until - now)
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
    pub async fn promised(&self, end: u64, fate: Option<&Fate>) -> Result<(), BusError> {
        self.reached(fate, Want::Head(end)).await
    }

    /// Waits until records below `end` are synced, whatever was promised.
    pub async fn synced(&self, end: u64) -> Result<(), BusError> {
        self.reached(None, Want::Durable(end)).await
    }

    async fn reached(&self, fate: Option<&Fate>, want: Want) -> Result<(), BusError> {
        // First: an index that was taken back is given to another.
        let lost = || fate.and_then(|fate| fate.get());
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
        self.gathering.answered.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Gets on, or stops; whoever waited for it is woken.
    pub(super) fn change(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_modify(change);
        let progress = self.progress.borrow().clone();
        self.waiting.release(&progress, progress.stopped.is_some());
    }

    /// One more append was written.
    pub(super) fn count_append(&self) {
        let appends = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        if appends >= self.gathering.wanted.load(Ordering::SeqCst)
            && let Some(thread) = &*lock(&self.gathering.thread)
        {
            thread.unpark();
        }
    }

    /// Before a sync: waits a part of a sync's time for those who were carried by the last one to come again. A few
    /// that are woken first would otherwise start the next sync alone, and all others wait for the one after.
    pub fn gather(&self) {
        let (wanted, took) = {
            let cohort = lock(&self.syncing);
            (cohort.expected(), cohort.took)
        };
        if self.appends.load(Ordering::SeqCst) >= wanted {
            return;
        }
        let answered = || self.gathering.answered.load(Ordering::Relaxed);
        let mut patience = Patience::new(Instant::now(), took, answered());
        *lock(&self.gathering.thread) = Some(std::thread::current());
        self.gathering.wanted.store(wanted, Ordering::SeqCst);
        while self.appends.load(Ordering::SeqCst) < wanted {
            let Some(left) = patience.left(Instant::now(), answered) else { break };
            std::thread::park_timeout(left);
        }
        self.gathering.wanted.store(u64::MAX, Ordering::SeqCst);
        *lock(&self.gathering.thread) = None;
    }

    /// Syncs everything written so far, on this thread.
    pub fn sync(&self) -> Result<(), BusError> {
        let mut cohort = lock(&self.syncing);
        let (end, files, folders, listed) = {
            let mut writer = lock(&self.writer);
            self.check_running()?;
            // Those it cannot write are told; what was written before is synced all the same.
            let _ = self.write_staged(&mut writer);
            cohort.carry(self.appends.load(Ordering::SeqCst));
            writer.last_unsynced = false;
            let listed = writer.listed.take();
            (writer.next, std::mem::take(&mut writer.unsynced), writer.folders.clone(), listed)
        };
        let begun = Instant::now();
        let result = self.sync_files(&files, &folders);
        cohort.over(self.appends.load(Ordering::SeqCst), begun.elapsed());
        drop(files);
        if let Some(listed) = listed {
            self.shared.unsynced.leave(listed);
        }
        if result.is_ok() {
            lock(&self.writer).folders.drain(..folders.len());
        }
        self.change(|progress| match &result {
            Ok(()) => {
                progress.durable = end;
                progress.head = progress.head.max(end);
            }
            Err(error) => {
                progress.stopped =
                    Some(Stopped::Failed(format!("the sync failed ({error}); restart to recover")))
            }
        });
        result.map_err(|_| self.stop_error(self.progress.borrow().stopped.as_ref()))
    }

    fn sync_files(&self, files: &[Arc<dyn File>], folders: &[PathBuf]) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_take_part_are_waited_for_whichever_sync_carried_them() {
        let mut cohort = Cohort::default();
        let ms = Duration::from_millis;
        cohort.carry(1);
        cohort.over(1, ms(1));
        assert_eq!(cohort.expected(), 2, "one alone comes again, and is not waited for longer");
        // Of 64 half came while the other half was synced.
        cohort.carry(33);
        cohort.over(65, ms(1));
        assert_eq!(cohort.expected(), 33 + 64);
        cohort.carry(97);
        cohort.over(97, ms(1));
        assert_eq!(cohort.expected(), 97 + 64, "from then on all go together");
    }

    #[test]
    fn a_tenth_of_a_sync_is_waited_from_the_last_answer_on_and_half_of_one_in_all() {
        let (begun, ms) = (Instant::now(), Duration::from_millis);
        let mut patience = Patience::new(begun, ms(20), 7);
        assert_eq!(patience.left(begun, || 7), Some(ms(2)));
        assert_eq!(patience.left(begun + ms(2), || 7), None, "nobody was answered meanwhile");
        let mut patience = Patience::new(begun, ms(20), 7);
        assert_eq!(patience.left(begun + ms(2), || 50), Some(ms(2)), "some still were");
        assert_eq!(patience.left(begun + ms(3), || 99), Some(ms(1)));
        assert_eq!(patience.left(begun + ms(4), || 99), Some(ms(2)));
        assert_eq!(patience.left(begun + ms(6), || 99), None);
        for at in (0..10).step_by(2) {
            assert!(patience.left(begun + ms(at), || 100 + at).is_some());
        }
        assert_eq!(patience.left(begun + ms(10), || 200), None, "however many answers there are");
    }
}
