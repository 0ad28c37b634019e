//! Schedules recur by a subset of iCalendar (RFC 5545): one time of the day, in a time zone, on days that a
//! rule names by the day, week, month or year, with dates added and removed.
//!
//! ```text
//! DTSTART;TZID=Europe/Stockholm:20261207T120000      the first time; its time of the day is that of all days
//! RRULE:FREQ=MONTHLY;BYDAY=1MO                       at most one (RFC 5545, 3.3.10 and 3.8.5.3)
//! RDATE;TZID=Europe/Stockholm:20261224T120000        more times (3.8.5.2)
//! EXDATE;TZID=Europe/Stockholm:20270104T120000       times to leave out (3.8.5.1)
//! ```
//!
//! [`Schedule::parse`] reads the text, [`Schedule::write`] writes it in one canonical form,
//! [`Schedule::next_after`] finds the next time, [`Schedule::missed`] judges a downtime,
//! [`Schedule::describe`] says the rule in words. Nothing here reads a clock: instants are parameters.
//!
//! # Rules
//! - FREQ is DAILY, WEEKLY, MONTHLY or YEARLY, with INTERVAL, COUNT or UNTIL, BYMONTH, BYMONTHDAY, BYDAY,
//!   BYSETPOS and WKST. Whatever else the RFC has is refused with what to write in its place.
//! - Parts that are missing follow from DTSTART: its weekday, its day of the month, its month. A day that a
//!   month does not have (30 February) is left out, and not counted (3.3.10).
//! - BYMONTHDAY without BYMONTH in a YEARLY rule is that day of every month (3.3.10: it expands).
//! - DTSTART is where the rule begins. If it is no day of the rule it is no occurrence either, and COUNT
//!   counts days of the rule: the RFC calls such a set undefined (3.8.5.3), and an alert must not go out on
//!   a day that its rule does not name. [`Schedule::is_start_an_occurrence`] tells. Without RRULE, DTSTART
//!   occurs.
//! - BYSETPOS counts all days of a period, also those of the first period that are before DTSTART.
//! - COUNT counts days before EXDATE removes some, and without those of RDATE.
//! - UNTIL is inclusive, and UTC (3.3.10). A local one is taken only by [`Schedule::new`], where the start
//!   has no zone in the text.
//!
//! # Changes of the clock
//! A local time that does not exist, in the gap of spring, is read with the offset before the gap: 02:30
//! happens when the clock shows 03:30. A local time that comes twice is taken the first time, once (3.3.5,
//! 3.3.10). So nothing is skipped and nothing happens twice, with one consequence: where a zone left out a
//! whole day (Samoa, 30 December 2011), that day and the next are the same instant, which occurs once.
//!
//! # Bounds
//! Years are those of [`YEARS`]. A search looks [`SEARCH_YEARS`] ahead, then says that there is nothing.

mod days;
mod describe;
mod error;
mod missed;
mod occurrences;
mod read;
mod rule;
mod time;
mod write;

#[cfg(test)]
mod tests;

pub use describe::DescribedIn;
pub use error::{ScheduleError, ScheduleFault};
pub use missed::Downtime;
pub use occurrences::{Occurrence, Occurrences};

use days::DayPattern;
use jiff::civil::{Date, DateTime};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use rule::RecurrenceRule;
use std::ops::RangeInclusive;
use time::ZonedTime;

/// Octets of a schedule's text, as it is given and as it is written.
pub const TEXT_OCTETS_MAX: usize = 2_000;
/// Octets of a time zone's name.
pub const ZONE_OCTETS_MAX: usize = 64;
/// INTERVAL of a rule.
pub const INTERVAL_MAX: u16 = 1_000;
/// COUNT of a rule.
pub const COUNT_MAX: u32 = 10_000;
/// Values of one BY part of a rule.
pub const LIST_MAX: usize = 62;
/// Times of all RDATE together, and of all EXDATE together.
pub const DATES_MAX: usize = 100;
/// Years in which a schedule has its start, its occurrences, and its added and removed times.
pub const YEARS: RangeInclusive<i16> = 1900..=2399;
/// Years that a search looks ahead, from the later of its instant and the start.
pub const SEARCH_YEARS: i16 = 100;
/// Occurrences that [`Schedule::between`] gives at once.
pub const BETWEEN_MAX: usize = 10_000;
/// Years of a downtime that [`Schedule::missed`] looks at: the last ones.
pub const DOWNTIME_YEARS_MAX: i16 = 10;

/// A schedule that was read: it keeps every bound of this library.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The zone of the start, found by its name.
    zone: TimeZone,
    /// The start, with the time of the day of all days of the rule.
    start: ZonedTime,
    rule: Option<RecurrenceRule>,
    /// RDATE, ascending, each instant once.
    added: Vec<ZonedTime>,
    /// EXDATE, ascending, each instant once.
    removed: Vec<ZonedTime>,
    /// Days of the rule; follows from `rule` and `start`.
    pattern: Option<DayPattern>,
    /// Day on which COUNT ends the rule; follows from both too.
    last_day: Option<Date>,
}

impl Schedule {
    /// Reads a text of lines as in the head of this module, with time zones of the system, or of this
    /// program where the system has none. Names, parameters and values have any case; lines end with LF or
    /// CRLF and may be folded (RFC 5545, 3.1).
    ///
    /// # Errors
    /// The first thing that is not in the subset, with what to write; text over [`TEXT_OCTETS_MAX`].
    pub fn parse(text: &str) -> Result<Schedule, ScheduleError> {
        Schedule::parse_with(text, jiff::tz::db())
    }

    /// Reads a text with these time zones: as [`Schedule::parse`].
    ///
    /// # Errors
    /// As [`Schedule::parse`].
    pub fn parse_with(text: &str, zones: &TimeZoneDatabase) -> Result<Schedule, ScheduleError> {
        read::schedule(text, None, zones)
    }

    /// Reads a schedule whose start and zone are given apart, as in a form. `rules` has lines RRULE, RDATE
    /// and EXDATE, or none; times in them may be without zone (`EXDATE:20261224T120000`,
    /// `UNTIL=20261224T120000`), and are in the start's. `zone` is a name of IANA's, `start` has whole
    /// seconds.
    ///
    /// # Errors
    /// As [`Schedule::parse`].
    pub fn new(start: DateTime, zone: &str, rules: &str) -> Result<Schedule, ScheduleError> {
        Schedule::new_with(start, zone, rules, jiff::tz::db())
    }

    /// Reads a schedule whose start and zone are given apart, with these time zones: as [`Schedule::new`].
    ///
    /// # Errors
    /// As [`Schedule::parse`].
    pub fn new_with(
        start: DateTime,
        zone: &str,
        rules: &str,
        zones: &TimeZoneDatabase,
    ) -> Result<Schedule, ScheduleError> {
        read::schedule(rules, Some((start, zone)), zones)
    }

    /// The schedule with what follows from its parts. Lists are sorted here.
    fn from_parts(
        zone: TimeZone,
        start: ZonedTime,
        rule: Option<RecurrenceRule>,
        added: Vec<ZonedTime>,
        removed: Vec<ZonedTime>,
    ) -> Schedule {
        let pattern = rule.as_ref().map(|rule| DayPattern::new(rule, start.local.date()));
        let last_day = match (&rule, &pattern) {
            (Some(rule), Some(pattern)) => rule.count().and_then(|count| pattern.nth_day(count)),
            _ => None,
        };
        let (added, removed) = (time::ascending(added), time::ascending(removed));
        Schedule { zone, start, rule, added, removed, pattern, last_day }
    }

    /// The start as it was written: local time in [`Schedule::zone`].
    pub fn start(&self) -> DateTime {
        self.start.local
    }

    /// The time zone of all local times.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The time zone's name: `Europe/Stockholm`, `UTC`.
    pub fn zone_name(&self) -> &str {
        time::zone_name(&self.zone)
    }

    /// Whether the start is itself an occurrence. It is not if the rule does not have its day, or EXDATE
    /// removes it; who enters a schedule should be told.
    pub fn is_start_an_occurrence(&self) -> bool {
        self.occurrences().next().is_some_and(|first| first.instant == self.start.instant)
    }

    /// The clock's local time at an occurrence. It differs from [`Occurrence::local`] only in a gap of the
    /// zone: there 02:30 happens at 03:30.
    pub fn clock_time(&self, occurrence: &Occurrence) -> DateTime {
        self.zone.to_datetime(occurrence.instant)
    }
}
