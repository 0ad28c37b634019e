//! Retention deletes whole files, when nobody wants their records or they are too many, too large or too old.

use super::{Log, LogFile, failed};
use crate::embedded::lock::{lock, read, write};
use crate::embedded::sync::Chore;
use crate::embedded::timer::TimerClient;
use crate::{BusError, Retention};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::LogWriter;

/// A file all of whose records are let go of is given up before it is full when it has so many octets.
const TRIMMED_FILE_OCTETS: u64 = 1024 * 1024;
/// Under a limit, a file is ended at this part of it,
const LIMIT_PARTS: u32 = 8;
/// but not before it has so many octets
const LIMITED_FILE_OCTETS_MIN: u64 = 64 * 1024;
/// and so many records.
const LIMITED_FILE_RECORDS_MIN: u64 = 1024;
/// What is too old is looked for at most and at least so often.
const LOOKS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

impl Log {
    /// There is room for so many octets more in the last file.
    pub(super) fn has_room(&self, last: &LogFile, writer: &LogWriter, octets: u64) -> bool {
        let retention = *lock(&self.retention);
        let parts = u64::from(LIMIT_PARTS);
        let octets_max =
            retention.octets.map_or(u64::MAX, |limit| (limit / parts).max(LIMITED_FILE_OCTETS_MIN));
        let records_max =
            retention.records.map_or(u64::MAX, |limit| (limit / parts).max(LIMITED_FILE_RECORDS_MIN));
        writer.offset + octets <= octets_max.min(self.shared.file_octets_max)
            && writer.next - last.first < records_max
    }

    /// Removes files all of whose records are below `below`; the last file stays, or an empty one takes its
    /// place.
    pub fn trim(&self, below: u64) -> Result<(), BusError> {
        let below = below.min(self.head());
        let gives_up = {
            let writer = lock(&self.writer);
            below == writer.next && writer.offset >= TRIMMED_FILE_OCTETS.min(self.shared.file_octets_max)
        };
        match if gives_up { self.roll().map(drop) } else { Ok(()) } {
            // Without room for another file the last one stays.
            Ok(()) | Err(BusError::DiskFull { .. }) => {}
            Err(error) => return Err(error),
        }
        let keep_from = {
            let files = read(&self.files);
            match files.partition_point(|file| file.first <= below).saturating_sub(1) {
                0 => return Ok(()),
                at => files[at].first,
            }
        };
        // One at a time: of two, the one with the later files could be done first, and a power cut leave a
        // gap.
        let _one = lock(&self.trimming);
        self.carry_keys(keep_from)?;
        // The file that carries the count on must be on disk before those that carried it go.
        self.sync()?;
        let gone: Vec<Arc<LogFile>> = {
            let mut files = write(&self.files);
            let keep_from = files.partition_point(|file| file.first < keep_from);
            files.drain(..keep_from).collect()
        };
        // One after the other, or a power cut could leave a gap between those that are still there.
        let remove = |file: &Arc<LogFile>| {
            file.remove(&self.shared)?;
            self.shared.disk.sync_folder(&self.folder)
        };
        gone.iter()
            .try_for_each(remove)
            .map_err(|error| failed(&self.name, "removing a trimmed file", &error))?;
        Ok(())
    }

    /// Has the pool look for what is over a limit, if there is one.
    pub(super) fn keep_soon(&self) {
        if *lock(&self.retention) != Retention::default()
            && let Some(me) = self.me.upgrade()
        {
            self.shared.pool.chore(me);
        }
    }

    /// Lets go of what is over a limit.
    fn keep(&self) -> Result<(), BusError> {
        let retention = *lock(&self.retention);
        if let Some(age) = retention.age {
            self.roll_aged(age)?;
        }
        let head = self.head();
        let by_records = retention.records.map_or(0, |records| head.saturating_sub(records));
        let by_octets = retention.octets.map_or(Ok(0), |octets| self.below_octets(octets));
        let by_octets = by_octets.map_err(|error| failed(&self.name, "looking at its size", &error))?;
        let by_age = retention.age.map_or(Ok(0), |age| self.below_age(age));
        let by_age = by_age.map_err(|error| failed(&self.name, "looking at its age", &error))?;
        self.trim(by_records.max(by_octets).max(by_age))
    }

    /// Ends the last file if it was begun so long ago that waiting for more would keep its records too long.
    fn roll_aged(&self, age: Duration) -> Result<(), BusError> {
        let last = read(&self.files).last().cloned();
        let Some(last) = last else {
            return Ok(());
        };
        let open_for = last.begun_before(&self.shared);
        let open_for = open_for.map_err(|error| failed(&self.name, "looking at its age", &error))?;
        if open_for >= age / LIMIT_PARTS {
            self.roll()?;
            self.request_sync();
        }
        Ok(())
    }

    /// The lowest index of the newest files that together have so many octets.
    fn below_octets(&self, octets: u64) -> std::io::Result<u64> {
        let last = lock(&self.writer).offset;
        let files: Vec<Arc<LogFile>> = read(&self.files).clone();
        let mut sum = 0;
        for (from_last, file) in files.iter().rev().enumerate() {
            sum += if from_last == 0 { last } else { file.octets(&self.shared)? };
            if sum >= octets {
                return Ok(file.first);
            }
        }
        Ok(0)
    }

    /// The index behind the last file that was ended so long ago.
    fn below_age(&self, age: Duration) -> std::io::Result<u64> {
        let files: Vec<Arc<LogFile>> = read(&self.files).clone();
        let mut below = 0;
        for (file, next) in files.iter().zip(files.iter().skip(1)) {
            if file.ended_before(&self.shared)? < age {
                break;
            }
            below = next.first;
        }
        Ok(below)
    }

    /// Has the timer wake it when something may be too old.
    fn set_alarm(&self) {
        let age = lock(&self.retention).age;
        let is_empty = self.low() == self.end().0;
        if let Some(age) = age
            && !is_empty
            && !self.has_alarm.swap(true, Ordering::AcqRel)
        {
            let wait = (age / LIMIT_PARTS).clamp(LOOKS.0, LOOKS.1);
            self.shared.timer.set(self.shared.clock.now() + wait, self.me.clone());
        }
    }
}

impl Chore for Log {
    fn run(&self) {
        match self.keep() {
            Ok(()) | Err(BusError::Closed) => {}
            Err(error) => {
                tracing::warn!(topic = self.name, %error, "Records over a retention limit could not be deleted; retrying.");
            }
        }
        self.set_alarm();
    }
}

impl TimerClient for Log {
    fn woken(self: Arc<Self>, _now: Instant) {
        self.has_alarm.store(false, Ordering::Release);
        self.keep_soon();
    }
}
