//! Errors of a schedule's text say which part is wrong, how it was written, and what to write.

use crate::{COUNT_MAX, DATES_MAX, INTERVAL_MAX, LIST_MAX, TEXT_OCTETS_MAX, YEARS, ZONE_OCTETS_MAX};
use std::fmt;

/// Characters of a text that an error repeats.
const WRITTEN_CHARS_MAX: usize = 40;

/// Something in a schedule that its writer has to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleError {
    /// The property or part of a rule: `DTSTART`, `BYDAY`; at most 40 characters.
    pub part: String,
    /// Its text as it was written, at most 40 characters of it.
    pub written: String,
    /// The fault.
    pub fault: ScheduleFault,
}

/// A fault of a schedule's text. Sections are those of RFC 5545.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleFault {
    /// The text, or its canonical form, has more octets than [`TEXT_OCTETS_MAX`]: so many.
    TextTooLong(usize),
    /// A line that is not `NAME:VALUE` or `NAME;PARAMETER=VALUE:VALUE` (3.1).
    NotALine,
    /// A property that is none of a schedule.
    UnknownProperty,
    /// A parameter that the property does not take here.
    UnknownParameter,
    /// A part of a rule that RFC 5545 does not have.
    UnknownPart,
    /// A part of a rule that is not `NAME=VALUE`.
    NotAPart,
    /// A thing of RFC 5545 or its followers that is not in the subset: what to write in its place.
    Refused(&'static str),
    /// A property or part that must be there: an example of it.
    Missing(&'static str),
    /// A property or part stands there twice.
    Twice,
    /// A time that is not written as in 3.3.5, or does not exist.
    NotATime,
    /// A date without a time.
    DateOnly,
    /// A year outside [`YEARS`].
    Year,
    /// A local time without TZID.
    NoZone,
    /// A time in UTC with TZID (3.2.19).
    ZoneOfUtc,
    /// A name of a time zone that is not known.
    UnknownZone,
    /// A time in another zone than the start's: the start's.
    OtherZone(String),
    /// UNTIL in local time or without a time, where it must be UTC: what to write.
    UntilNotUtc(String),
    /// UNTIL and COUNT in one rule.
    UntilAndCount,
    /// UNTIL or an added time lies before the start.
    BeforeStart,
    /// A number that is none, or out of its bounds, both inclusive.
    NotANumber(i32, i32),
    /// A list or all lists of a property with more values than this.
    TooMany(usize),
    /// A text that is no weekday of iCalendar.
    NotAWeekday,
    /// A number before a weekday out of its bounds: the greatest, with either sign.
    WeekdayNumber(i16),
    /// A number before a weekday in a rule by the day or week.
    NumberedWeekday,
    /// BYMONTHDAY in a rule by the week.
    MonthDayInWeek,
    /// BYSETPOS without another BY part.
    PositionAlone,
    /// FREQ with an unknown value.
    UnknownFrequency,
}

impl ScheduleError {
    pub(crate) fn new(part: &str, written: &str, fault: ScheduleFault) -> ScheduleError {
        let short = |text: &str| text.chars().take(WRITTEN_CHARS_MAX).collect();
        ScheduleError { part: short(part), written: short(written), fault }
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.part.is_empty(), self.written.is_empty()) {
            (false, false) => write!(f, "{} {:?}: {}", self.part, self.written, self.fault),
            (false, true) => write!(f, "{}: {}", self.part, self.fault),
            (true, false) => write!(f, "{:?}: {}", self.written, self.fault),
            (true, true) => self.fault.fmt(f),
        }
    }
}

impl fmt::Display for ScheduleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ScheduleFault::*;
        match self {
            TextTooLong(octets) => {
                write!(f, "a schedule has at most {TEXT_OCTETS_MAX} octets, this one {octets}: shorten its lists")
            }
            NotALine => f.write_str("write lines NAME:VALUE, such as RRULE:FREQ=DAILY"),
            UnknownProperty => f.write_str("remove the line: a schedule has DTSTART, RRULE, RDATE and EXDATE"),
            UnknownParameter => f.write_str("remove the parameter: only TZID of a time is taken"),
            UnknownPart => f.write_str(
                "remove it: a rule has FREQ, INTERVAL, COUNT, UNTIL, BYMONTH, BYMONTHDAY, BYDAY, BYSETPOS and WKST",
            ),
            NotAPart => f.write_str("write parts NAME=VALUE with ; between them: FREQ=WEEKLY;BYDAY=MO,FR"),
            Refused(instead) => write!(f, "not taken: {instead}"),
            Missing(example) => write!(f, "missing: add it, such as {example}"),
            Twice => f.write_str("it is there twice: remove one"),
            NotATime => f.write_str("a time is written 20261127T120000, or 20261127T110000Z in UTC"),
            DateOnly => f.write_str("a date needs its time: 20261127T120000"),
            Year => write!(f, "the year must be {} to {}", YEARS.start(), YEARS.end()),
            NoZone => f.write_str(
                "a local time needs its zone: NAME;TZID=Europe/Stockholm:20261127T120000, or a Z at its end for UTC",
            ),
            ZoneOfUtc => f.write_str("a time with Z is UTC: remove either TZID or the Z"),
            UnknownZone => write!(
                f,
                "no such time zone: write a name of IANA's of at most {ZONE_OCTETS_MAX} octets, such as Europe/Stockholm"
            ),
            OtherZone(zone) => write!(f, "write the time in the zone of DTSTART, {zone}, or in UTC with a Z"),
            UntilNotUtc(write) => write!(f, "the end must be UTC: write UNTIL={write}"),
            UntilAndCount => f.write_str("UNTIL and COUNT exclude each other: remove one"),
            BeforeStart => f.write_str("it is before DTSTART: write a later time, or an earlier DTSTART"),
            NotANumber(from, to) => write!(f, "write whole numbers from {from} to {to}{}", not_zero(*from)),
            TooMany(max) => write!(f, "at most {max} values are taken: remove some"),
            NotAWeekday => f.write_str("weekdays are MO, TU, WE, TH, FR, SA and SU, with a number before: -1FR"),
            WeekdayNumber(max) => write!(f, "the number before a weekday is 1 to {max}, or -1 to -{max}"),
            NumberedWeekday => {
                f.write_str("a weekday has a number only with FREQ=MONTHLY or FREQ=YEARLY: remove the number")
            }
            MonthDayInWeek => f.write_str("FREQ=WEEKLY takes no BYMONTHDAY: write FREQ=DAILY or FREQ=MONTHLY"),
            PositionAlone => f.write_str("add BYDAY, BYMONTHDAY or BYMONTH: it selects among their days"),
            UnknownFrequency => f.write_str("write DAILY, WEEKLY, MONTHLY or YEARLY"),
        }
    }
}

fn not_zero(from: i32) -> &'static str {
    if from < 0 { ", without 0" } else { "" }
}

impl std::error::Error for ScheduleError {}

/// Bounds of INTERVAL, COUNT, lists: for errors that are made in several places.
impl ScheduleFault {
    pub(crate) const INTERVAL: ScheduleFault = ScheduleFault::NotANumber(1, INTERVAL_MAX as i32);
    pub(crate) const COUNT: ScheduleFault = ScheduleFault::NotANumber(1, COUNT_MAX as i32);
    pub(crate) const LIST: ScheduleFault = ScheduleFault::TooMany(LIST_MAX);
    pub(crate) const DATES: ScheduleFault = ScheduleFault::TooMany(DATES_MAX);
}
