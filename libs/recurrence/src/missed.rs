//! Downtimes: which of the occurrences that passed still run, and which are told as missed.

use crate::{DOWNTIME_YEARS_MAX, Occurrence, Schedule};
use jiff::{SignedDuration, Timestamp, ToSpan};
use std::time::Duration;

/// The verdict on the time between the last run and now. Every occurrence of it is in one of the three.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Downtime {
    /// The occurrence to run now, once: the latest within the grace.
    pub run: Option<Occurrence>,
    /// Earlier ones within the grace, ascending: the one run stands for them too.
    pub merged: Vec<Occurrence>,
    /// Those older than the grace, ascending: they do not run, and somebody is told.
    pub missed: Vec<Occurrence>,
}

impl Schedule {
    /// Judges the occurrences later than `last_run` and not later than `now`: those at most `grace` old run
    /// once, older ones are missed. `last_run` is the instant up to which the schedule was looked after:
    /// that of its last occurrence, or of its making. Of a downtime over [`DOWNTIME_YEARS_MAX`] only the
    /// last years are looked at. A clock that went back (`now` before `last_run`) gives nothing.
    pub fn missed(&self, last_run: Timestamp, now: Timestamp, grace: Duration) -> Downtime {
        let grace = SignedDuration::try_from(grace).unwrap_or(SignedDuration::MAX);
        let oldest = now.checked_sub(grace).unwrap_or(Timestamp::MIN);
        let span = (i64::from(DOWNTIME_YEARS_MAX) * 366 * 24).hours();
        let after = last_run.max(now.checked_sub(span).unwrap_or(Timestamp::MIN));
        let mut downtime = Downtime::default();
        for one in self.occurrences_after(after).take_while(|one| one.instant <= now) {
            if one.instant < oldest {
                downtime.missed.push(one);
            } else if let Some(earlier) = downtime.run.replace(one) {
                downtime.merged.push(earlier);
            }
        }
        downtime
    }
}
