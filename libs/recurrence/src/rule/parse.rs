//! Reader of RRULE: parts in any order, each at most once, checked against each other at the end.

use super::{Frequency, NumberedWeekday, RecurrenceRule, RuleEnd, weekday_name};
use crate::time::{WrittenTime, ZonedTime, basic, utc, written};
use crate::{COUNT_MAX, INTERVAL_MAX, LIST_MAX, ScheduleError, ScheduleFault};
use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;

/// Digits of any number in a rule.
const DIGITS_MAX: usize = 5;

/// The start that a rule belongs to: UNTIL is read by it.
pub(crate) struct RuleStart<'a> {
    pub time: ZonedTime,
    pub zone: &'a TimeZone,
    /// The start stands without zone in the text, so UNTIL may do so as well.
    pub is_floating: bool,
}

/// Parts as they come.
#[derive(Default)]
struct RuleParts {
    frequency: Option<Frequency>,
    interval: Option<u16>,
    count: Option<u32>,
    until: Option<DateTime>,
    months: Option<Vec<i8>>,
    month_days: Option<Vec<i8>>,
    weekdays: Option<Vec<NumberedWeekday>>,
    positions: Option<Vec<i16>>,
    week_start: Option<Weekday>,
}

/// Reads the value of RRULE.
pub(crate) fn read(value: &str, start: &RuleStart<'_>) -> Result<RecurrenceRule, ScheduleError> {
    let mut parts = RuleParts::default();
    for part in value.split(';') {
        let Some((name, text)) = part.split_once('=') else {
            return Err(ScheduleError::new("RRULE", part, ScheduleFault::NotAPart));
        };
        let name = name.to_ascii_uppercase();
        parts.take(&name, text, start).map_err(|fault| ScheduleError::new(&name, text, fault))?;
    }
    parts.rule()
}

impl RuleParts {
    fn take(&mut self, name: &str, text: &str, start: &RuleStart<'_>) -> Result<(), ScheduleFault> {
        match name {
            "FREQ" => once(&mut self.frequency, frequency(text)?),
            "INTERVAL" => once(&mut self.interval, interval(text)?),
            "COUNT" => once(&mut self.count, count(text)?),
            "UNTIL" => once(&mut self.until, until(text, start)?),
            "BYMONTH" => once(&mut self.months, numbers(text, 1, 12)?),
            "BYMONTHDAY" => once(&mut self.month_days, numbers(text, -31, 31)?),
            "BYDAY" => once(&mut self.weekdays, weekdays(text)?),
            "BYSETPOS" => once(&mut self.positions, numbers(text, -366, 366)?),
            "WKST" => once(&mut self.week_start, weekday(text).ok_or(ScheduleFault::NotAWeekday)?),
            _ => Err(refused(name).map_or(ScheduleFault::UnknownPart, ScheduleFault::Refused)),
        }
    }

    /// The rule, if its parts agree (3.3.10).
    fn rule(self) -> Result<RecurrenceRule, ScheduleError> {
        let error = |part, fault| Err(ScheduleError::new(part, "", fault));
        let Some(frequency) = self.frequency else {
            return error("FREQ", ScheduleFault::Missing("FREQ=MONTHLY"));
        };
        let end = match (self.count, self.until) {
            (Some(_), Some(_)) => return error("RRULE", ScheduleFault::UntilAndCount),
            (Some(count), None) => RuleEnd::Count(count),
            (None, Some(until)) => RuleEnd::Until(until),
            (None, None) => RuleEnd::Never,
        };
        let rule = RecurrenceRule {
            frequency,
            interval: self.interval.unwrap_or(1),
            end,
            months: self.months.unwrap_or_default(),
            month_days: self.month_days.unwrap_or_default(),
            weekdays: self.weekdays.unwrap_or_default(),
            positions: self.positions.unwrap_or_default(),
            week_start: self.week_start.unwrap_or(Weekday::Monday),
        };
        if frequency == Frequency::Weekly && !rule.month_days.is_empty() {
            return error("BYMONTHDAY", ScheduleFault::MonthDayInWeek);
        }
        let has_days = !(rule.months.is_empty() && rule.month_days.is_empty() && rule.weekdays.is_empty());
        if !rule.positions.is_empty() && !has_days {
            return error("BYSETPOS", ScheduleFault::PositionAlone);
        }
        check_numbers(&rule)?;
        Ok(rule)
    }
}

/// Numbers before weekdays count within a month, or within a year in a YEARLY rule without BYMONTH.
fn check_numbers(rule: &RecurrenceRule) -> Result<(), ScheduleError> {
    let max = match rule.frequency {
        Frequency::Daily | Frequency::Weekly => 0,
        Frequency::Monthly => 5,
        Frequency::Yearly if rule.months.is_empty() => 53,
        Frequency::Yearly => 5,
    };
    let over = |day: &&NumberedWeekday| day.number.is_some_and(|number| number.unsigned_abs() > max);
    let Some(day) = rule.weekdays.iter().find(over) else { return Ok(()) };
    let fault = match max {
        0 => ScheduleFault::NumberedWeekday,
        max => ScheduleFault::WeekdayNumber(i16::from(max)),
    };
    Err(ScheduleError::new("BYDAY", &day.to_string(), fault))
}

/// What to write for a part that RFC 5545 or RFC 7529 has and this subset has not.
fn refused(name: &str) -> Option<&'static str> {
    Some(match name {
        "BYHOUR" => "the hour is that of DTSTART; write one schedule for each hour",
        "BYMINUTE" => "the minute is that of DTSTART; write one schedule for each minute",
        "BYSECOND" => "the second is that of DTSTART; remove it",
        "BYWEEKNO" => "write FREQ=WEEKLY with INTERVAL, or FREQ=YEARLY with BYMONTH and BYDAY",
        "BYYEARDAY" => "write BYMONTH and BYMONTHDAY",
        "RSCALE" => "dates are Gregorian; remove it",
        "SKIP" => "days that a month does not have are left out; write BYMONTHDAY=-1 for its last day",
        _ => return None,
    })
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), ScheduleFault> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(ScheduleFault::Twice),
    }
}

fn frequency(text: &str) -> Result<Frequency, ScheduleFault> {
    const HOURS: &str = "a schedule has one time a day; write FREQ=DAILY, and one schedule for each hour";
    const MINUTES: &str =
        "a schedule has one time a day; write FREQ=DAILY, and a few schedules for its times";
    Ok(match text.to_ascii_uppercase().as_str() {
        "DAILY" => Frequency::Daily,
        "WEEKLY" => Frequency::Weekly,
        "MONTHLY" => Frequency::Monthly,
        "YEARLY" => Frequency::Yearly,
        "HOURLY" => return Err(ScheduleFault::Refused(HOURS)),
        "MINUTELY" | "SECONDLY" => return Err(ScheduleFault::Refused(MINUTES)),
        _ => return Err(ScheduleFault::UnknownFrequency),
    })
}

fn interval(text: &str) -> Result<u16, ScheduleFault> {
    let number = unsigned(text).and_then(|number| u16::try_from(number).ok());
    number.filter(|number| (1..=INTERVAL_MAX).contains(number)).ok_or(ScheduleFault::INTERVAL)
}

fn count(text: &str) -> Result<u32, ScheduleFault> {
    unsigned(text).filter(|number| (1..=COUNT_MAX).contains(number)).ok_or(ScheduleFault::COUNT)
}

/// UNTIL in UTC; in local time only where the start has no zone in the text (3.3.10).
fn until(text: &str, start: &RuleStart<'_>) -> Result<DateTime, ScheduleFault> {
    // The last day of the year 9999 is beyond the zones: there an hour does not matter.
    let utc_of = |local| ZonedTime::of_local(local, start.zone).map_or(local, |time| utc(time.instant));
    let not_utc = |local| ScheduleFault::UntilNotUtc(basic(utc_of(local)) + "Z");
    let until = match written(text) {
        Ok(WrittenTime::Utc(until)) => until,
        Ok(WrittenTime::Local(local)) if start.is_floating => utc_of(local),
        Ok(WrittenTime::Local(local)) => return Err(not_utc(local)),
        Err(ScheduleFault::DateOnly) => {
            let day = text.trim_end_matches(['Z', 'z']);
            let Ok(WrittenTime::Local(midnight)) = written(&format!("{day}T000000")) else {
                return Err(ScheduleFault::NotATime);
            };
            return Err(not_utc(midnight.date().to_datetime(start.time.local.time())));
        }
        Err(fault) => return Err(fault),
    };
    if until < utc(start.time.instant) { Err(ScheduleFault::BeforeStart) } else { Ok(until) }
}

/// A list of numbers from `min` to `max` without 0, sorted.
fn numbers<T: TryFrom<i32> + Ord>(text: &str, min: i32, max: i32) -> Result<Vec<T>, ScheduleFault> {
    let fault = || ScheduleFault::NotANumber(min, max);
    let mut list = Vec::new();
    for value in text.split(',') {
        if list.len() == LIST_MAX {
            return Err(ScheduleFault::LIST);
        }
        let number = signed(value).filter(|number| *number != 0 && (min..=max).contains(number));
        list.push(number.and_then(|number| T::try_from(number).ok()).ok_or_else(fault)?);
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

fn weekdays(text: &str) -> Result<Vec<NumberedWeekday>, ScheduleFault> {
    let mut list = Vec::new();
    for value in text.split(',') {
        if list.len() == LIST_MAX {
            return Err(ScheduleFault::LIST);
        }
        list.push(numbered_weekday(value)?);
    }
    list.sort_unstable_by_key(NumberedWeekday::order);
    list.dedup();
    Ok(list)
}

/// `MO`, `1MO`, `+1MO`, `-1MO`.
fn numbered_weekday(text: &str) -> Result<NumberedWeekday, ScheduleFault> {
    let (number, name) = text
        .len()
        .checked_sub(2)
        .and_then(|at| text.split_at_checked(at))
        .ok_or(ScheduleFault::NotAWeekday)?;
    let weekday = weekday(name).ok_or(ScheduleFault::NotAWeekday)?;
    if number.is_empty() {
        return Ok(NumberedWeekday { number: None, weekday });
    }
    let number = signed(number).ok_or(ScheduleFault::NotAWeekday)?;
    let number = i8::try_from(number).ok().filter(|number| (1..=53).contains(&number.unsigned_abs()));
    Ok(NumberedWeekday { number: Some(number.ok_or(ScheduleFault::WeekdayNumber(53))?), weekday })
}

fn weekday(text: &str) -> Option<Weekday> {
    let mut all = Weekday::Monday.cycle_forward().take(7);
    all.find(|weekday| weekday_name(*weekday).eq_ignore_ascii_case(text))
}

fn unsigned(text: &str) -> Option<u32> {
    let is_number =
        (1..=DIGITS_MAX).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn signed(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    i32::try_from(unsigned(digits)?).ok().map(|number| sign * number)
}
