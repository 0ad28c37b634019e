//! Group commit policy delays a sync for appends that are likely to come: arithmetic, and the thread that
//! waits.

use super::commit::LANES_MAX;
use crate::embedded::lock::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A sync waits for those the last one carried at most this part of a sync's time, from the last answer on
/// that it made possible: who has not been answered yet cannot come again.
const GATHER_PART: u32 = 10;

/// However long the answers take, it waits no longer than this part of a sync's time in all.
const GATHER_PART_IN_ALL: u32 = 2;

/// Where so many wait for each of them, syncs overlap: with fewer the time in which they are answered and
/// come again is short, and what a sync itself costs a processor is shared by too few.
const LANE_APPENDS: u64 = 24;

/// What is read off the number of those who wait leaves it by this part with each sync.
const MOST_PART: u64 = 16;

/// Whom the syncs carried, and who came meanwhile.
#[derive(Default)]
pub(super) struct SyncCohort {
    /// Appends that all syncs together carried.
    carried: u64,
    /// Those of the last one that began.
    released: u64,
    /// Those of all that ended.
    finished: u64,
    /// Those that came while the last one ran.
    came: u64,
    /// So many were under way at once lately.
    most: u64,
    /// The time of the last one that ended.
    took: Duration,
}

impl SyncCohort {
    /// A sync begins, and carries all appends there are; says how many these are.
    pub fn carry(&mut self, appends: u64) -> u64 {
        self.released = appends - self.carried;
        self.carried = appends;
        let under_way = appends - self.finished;
        self.most = under_way.max(self.most - self.most / MOST_PART);
        self.released
    }

    /// One that carried so many has ended.
    pub fn over(&mut self, carried: u64, appends: u64, took: Duration) {
        self.finished += carried;
        self.came = appends - self.carried;
        self.took = took;
    }

    /// How long the last one took.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// How many syncs share those who take part.
    pub fn lanes(&self) -> usize {
        (self.most / LANE_APPENDS).clamp(1, LANES_MAX as u64) as usize
    }

    /// The next sync waits for so many appends. Of several that overlap each carries its share. One alone
    /// carries all that the last one carried, once they have come again, and without those that wait already
    /// two halves would take turns, and each wait for two syncs.
    pub fn wanted(&self) -> u64 {
        match self.lanes() {
            1 => self.carried + self.came + self.released,
            lanes => self.carried + self.most.div_ceil(lanes as u64),
        }
    }
}

/// The thread that waits for appends before it syncs.
pub(super) struct Gathering {
    /// It waits for so many; [`u64::MAX`]: nobody waits.
    wanted: AtomicU64,
    /// Of those who waited for a sync, so many went on with their answer.
    answered: AtomicU64,
    /// How many syncs may be under way at once.
    lanes: AtomicUsize,
    thread: Mutex<Option<std::thread::Thread>>,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering {
            wanted: AtomicU64::new(u64::MAX),
            answered: AtomicU64::new(0),
            lanes: AtomicUsize::new(1),
            thread: Mutex::default(),
        }
    }
}

impl Gathering {
    /// This thread waits for so many appends.
    pub fn begin(&self, wanted: u64) {
        *lock(&self.thread) = Some(std::thread::current());
        self.wanted.store(wanted, Ordering::SeqCst);
    }

    /// It waits no longer.
    pub fn end(&self) {
        self.wanted.store(u64::MAX, Ordering::SeqCst);
        *lock(&self.thread) = None;
    }

    /// There are so many appends.
    pub fn came(&self, appends: u64) {
        if appends >= self.wanted.load(Ordering::SeqCst)
            && let Some(thread) = &*lock(&self.thread)
        {
            thread.unpark();
        }
    }

    /// One more of those who waited goes on with its answer.
    pub fn answer(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// How many did.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// How many syncs may be under way at once.
    pub fn lanes(&self) -> usize {
        self.lanes.load(Ordering::Relaxed)
    }

    /// So many may.
    pub fn set_lanes(&self, lanes: usize) {
        self.lanes.store(lanes, Ordering::Relaxed);
    }
}

/// How long a sync waits for those who may come again.
pub(super) struct SyncDelay {
    part: Duration,
    until: Instant,
    at_the_latest: Instant,
    answered: u64,
}

impl SyncDelay {
    /// After a sync that took so long, and made so many answers possible before.
    pub fn new(now: Instant, took: Duration, answered: u64) -> SyncDelay {
        let part = took / GATHER_PART;
        SyncDelay { part, until: now + part, at_the_latest: now + took / GATHER_PART_IN_ALL, answered }
    }

    /// How long to wait before it is asked again; `None`: no longer. As long as answers leave, who gets them
    /// has not had its time yet.
    pub fn left(&mut self, now: Instant, answered: impl Fn() -> u64) -> Option<Duration> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_take_part_are_waited_for_whichever_sync_carried_them() {
        let mut cohort = SyncCohort::default();
        let ms = Duration::from_millis;
        assert_eq!(cohort.carry(1), 1);
        cohort.over(1, 1, ms(1));
        assert_eq!(cohort.wanted(), 2, "one alone comes again, and is not waited for longer");
        // Of 12 half came while the other half was synced.
        assert_eq!(cohort.carry(7), 6);
        cohort.over(6, 13, ms(1));
        assert_eq!(cohort.wanted(), 7 + 12);
        assert_eq!(cohort.carry(19), 12);
        cohort.over(12, 19, ms(1));
        assert_eq!(cohort.wanted(), 19 + 12, "from then on all go together");
        assert_eq!(cohort.lanes(), 1);
    }

    #[test]
    fn of_many_who_take_part_each_of_the_overlapping_syncs_carries_its_share() {
        let mut cohort = SyncCohort::default();
        let ms = Duration::from_millis;
        assert_eq!(cohort.carry(300), 300);
        cohort.over(300, 300, ms(1));
        assert_eq!((cohort.lanes(), cohort.wanted()), (8, 300 + 38));
        // The first that come again leave with a sync each, and the others while these run.
        let mut appends = 300;
        let mut running = Vec::new();
        for round in 0..100 {
            if running.len() == 8 {
                cohort.over(running.remove(0), appends, ms(1));
            }
            let under_way: u64 = running.iter().sum();
            appends = (cohort.wanted()).min(appends + 300 - under_way);
            running.push(cohort.carry(appends));
            assert_eq!(cohort.lanes(), 8, "round {round}");
        }
        running.remove(0);
        assert!(running.iter().all(|carried| (28..=48).contains(carried)), "{running:?}");
    }

    #[test]
    fn where_fewer_take_part_than_before_syncs_stop_to_overlap() {
        let mut cohort = SyncCohort::default();
        cohort.carry(256);
        cohort.over(256, 256, Duration::from_millis(1));
        let mut appends = 256;
        let syncs = (1..100).find(|_| {
            appends += 1;
            let carried = cohort.carry(appends);
            cohort.over(carried, appends, Duration::from_millis(1));
            cohort.lanes() == 1
        });
        assert!(syncs.is_some_and(|syncs| syncs < 50), "{syncs:?}");
    }

    #[test]
    fn a_tenth_of_a_sync_is_waited_from_the_last_answer_on_and_half_of_one_in_all() {
        let (begun, ms) = (Instant::now(), Duration::from_millis);
        let mut patience = SyncDelay::new(begun, ms(20), 7);
        assert_eq!(patience.left(begun, || 7), Some(ms(2)));
        assert_eq!(patience.left(begun + ms(2), || 7), None, "nobody was answered meanwhile");
        let mut patience = SyncDelay::new(begun, ms(20), 7);
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
