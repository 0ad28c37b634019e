//! Rules of recurrence (RFC 5545, 3.3.10) as they were written: lists are sorted, nothing is twice in them.

use jiff::civil::{DateTime, Weekday};
use std::fmt;

mod parse;

pub(crate) use parse::{RuleStart, read};

/// The period that a rule repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// The end of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleEnd {
    Never,
    /// After so many days of the rule, 1 to [`crate::COUNT_MAX`].
    Count(u32),
    /// With this time of UTC, inclusive.
    Until(DateTime),
}

/// A value of BYDAY: `MO` is every Monday, `1MO` the first and `-1MO` the last of the month or year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberedWeekday {
    /// ±1 to ±53, never 0.
    pub number: Option<i8>,
    pub weekday: Weekday,
}

/// One RRULE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecurrenceRule {
    pub frequency: Frequency,
    /// 1 to [`crate::INTERVAL_MAX`].
    pub interval: u16,
    pub end: RuleEnd,
    /// BYMONTH: 1 to 12.
    pub months: Vec<i8>,
    /// BYMONTHDAY: ±1 to ±31.
    pub month_days: Vec<i8>,
    /// BYDAY.
    pub weekdays: Vec<NumberedWeekday>,
    /// BYSETPOS: ±1 to ±366.
    pub positions: Vec<i16>,
    /// WKST: the day with which weeks begin.
    pub week_start: Weekday,
}

impl Frequency {
    /// The value of FREQ.
    pub fn name(self) -> &'static str {
        match self {
            Frequency::Daily => "DAILY",
            Frequency::Weekly => "WEEKLY",
            Frequency::Monthly => "MONTHLY",
            Frequency::Yearly => "YEARLY",
        }
    }
}

impl NumberedWeekday {
    /// Weekdays without a number first, then by number, then from Monday on.
    pub fn order(&self) -> (Option<i8>, i8) {
        (self.number, self.weekday.to_monday_zero_offset())
    }
}

/// `MO`.
pub(crate) fn weekday_name(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

impl fmt::Display for NumberedWeekday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{number}{}", weekday_name(self.weekday)),
            None => f.write_str(weekday_name(self.weekday)),
        }
    }
}

impl RecurrenceRule {
    /// COUNT.
    pub fn count(&self) -> Option<u32> {
        match self.end {
            RuleEnd::Count(count) => Some(count),
            RuleEnd::Never | RuleEnd::Until(_) => None,
        }
    }

    /// UNTIL, in UTC.
    pub fn until(&self) -> Option<DateTime> {
        match self.end {
            RuleEnd::Until(until) => Some(until),
            RuleEnd::Never | RuleEnd::Count(_) => None,
        }
    }
}
