//! Occurrences of a schedule, in the order of their instants, each instant once.

use crate::days::DayWalk;
use crate::time::{ZonedTime, utc};
use crate::{BETWEEN_MAX, SEARCH_YEARS, Schedule, YEARS};
use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, ToSpan};

/// Days to begin a search before the local day of its instant: no offset or gap is longer.
const MARGIN_DAYS: i64 = 2;

/// One time of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Occurrence {
    /// Local time as the rule has it, in the schedule's zone. In a gap of the zone the clock never shows it;
    /// [`Schedule::clock_time`] is what the clock shows.
    pub local: DateTime,
    /// The instant, in whole seconds.
    pub instant: Timestamp,
}

/// Iterator over the occurrences of a schedule: see [`Schedule::occurrences`].
#[derive(Debug, Clone)]
pub struct Occurrences<'a> {
    schedule: &'a Schedule,
    /// The walk of the rule; none when the rule has ended.
    walk: Option<DayWalk>,
    /// Occurrence of the rule that was found and not given yet.
    found: Option<Occurrence>,
    /// Only what is later is given.
    after: Timestamp,
}

impl Schedule {
    /// The first occurrence later than `instant`, within [`SEARCH_YEARS`] from it or from the start. None:
    /// there is none so far ahead, the schedule has ended, or its rule never comes true (30 February). The
    /// work is bounded by the days of those years.
    pub fn next_after(&self, instant: Timestamp) -> Option<Occurrence> {
        self.occurrences_after(instant).next()
    }

    /// Occurrences from `from`, inclusive, to `to`, exclusive: the first `limit`, and at most
    /// [`BETWEEN_MAX`].
    pub fn between(&self, from: Timestamp, to: Timestamp, limit: usize) -> Vec<Occurrence> {
        let all = self.occurrences_after(from.checked_sub(1.nanosecond()).unwrap_or(from));
        all.take_while(|one| one.instant < to).take(limit.min(BETWEEN_MAX)).collect()
    }

    /// All occurrences from the start on: finite, since they end with [`YEARS`]. It ends as well where none
    /// comes for [`SEARCH_YEARS`].
    pub fn occurrences(&self) -> Occurrences<'_> {
        let start = self.start.instant;
        self.occurrences_after(start.checked_sub(1.nanosecond()).unwrap_or(start))
    }

    pub(crate) fn occurrences_after(&self, after: Timestamp) -> Occurrences<'_> {
        let day = self.zone.to_datetime(after).date();
        let from = day.checked_sub(MARGIN_DAYS.days()).unwrap_or(day);
        let walk = self.pattern.as_ref().map(|pattern| pattern.walk(from));
        Occurrences { schedule: self, walk, found: None, after }
    }

    fn is_removed(&self, instant: Timestamp) -> bool {
        self.removed.binary_search_by_key(&instant, |time| time.instant).is_ok()
    }

    /// The first of the times without a rule: RDATE, and the start if there is no rule at all.
    fn added_after(&self, after: Timestamp) -> Option<Occurrence> {
        let start = self.rule.is_none().then_some(&self.start);
        let at = self.added.partition_point(|time| time.instant <= after);
        let mut all = start.into_iter().chain(&self.added[at..]);
        all.find(|time| time.instant > after && !self.is_removed(time.instant)).map(|time| (*time).into())
    }
}

impl From<ZonedTime> for Occurrence {
    fn from(time: ZonedTime) -> Occurrence {
        Occurrence { local: time.local, instant: time.instant }
    }
}

impl Occurrences<'_> {
    /// The last day of a search.
    fn horizon(&self) -> Date {
        let from = self.schedule.zone.to_datetime(self.after).date().max(self.schedule.start.local.date());
        from.checked_add(SEARCH_YEARS.years()).unwrap_or(Date::MAX)
    }

    /// The next occurrence of the rule after `after`.
    fn next_of_rule(&mut self, horizon: Date) -> Option<Occurrence> {
        let schedule = self.schedule;
        let (rule, pattern) = (schedule.rule.as_ref()?, schedule.pattern.as_ref()?);
        let last = schedule.last_day.map_or(horizon, |day| day.min(horizon));
        let walk = self.walk.as_mut()?;
        loop {
            // None may come again with a later horizon: an added time moves it.
            let day = walk.next_day(pattern, last)?;
            let local = day.to_datetime(schedule.start.local.time());
            let Some(time) = ZonedTime::of_local(local, &schedule.zone) else { break };
            if rule.until().is_some_and(|until| utc(time.instant) > until) {
                break;
            }
            if time.instant > self.after && !schedule.is_removed(time.instant) {
                return Some(time.into());
            }
        }
        self.walk = None;
        None
    }
}

impl Iterator for Occurrences<'_> {
    type Item = Occurrence;

    fn next(&mut self) -> Option<Occurrence> {
        let horizon = self.horizon();
        // An added time may be the same instant: then what the rule has found is given already.
        if self.found.is_none_or(|found| found.instant <= self.after) {
            self.found = self.next_of_rule(horizon);
        }
        let added = self.schedule.added_after(self.after).filter(|added| added.local.date() <= horizon);
        let next = match (self.found, added) {
            (Some(found), Some(added)) if added.instant < found.instant => added,
            (Some(found), _) => found,
            (None, added) => added?,
        };
        self.after = next.instant;
        Some(next)
    }
}

impl std::iter::FusedIterator for Occurrences<'_> {}

const _: () = assert!(*YEARS.end() < 9_000, "the years end long before the calendar of jiff");
