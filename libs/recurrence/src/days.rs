//! Days of a rule (RFC 5545, 3.3.10): each period of the rule gives its days in order, without the time of
//! day.

use crate::YEARS;
use crate::rule::{Frequency, NumberedWeekday, RecurrenceRule};
use jiff::SignedDuration;
use jiff::civil::{Date, Weekday};

/// A rule with its defaults filled in from the start's day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DayPattern {
    start: Date,
    frequency: Frequency,
    /// Periods from one with days to the next.
    interval: i64,
    months: Vec<i8>,
    month_days: Vec<i8>,
    weekdays: Vec<NumberedWeekday>,
    positions: Vec<i16>,
    week_start: Weekday,
}

/// A walk over the days of a pattern, forward.
#[derive(Debug, Clone)]
pub(crate) struct DayWalk {
    /// The next period to look at, counted in intervals from the start's.
    period: i64,
    /// Days of the period before it that are still to give, the next one last.
    days: Vec<Date>,
    /// The first day to give.
    from: Date,
}

impl DayPattern {
    /// The pattern of a rule that begins on this day. A part that is missing follows from the day.
    pub fn new(rule: &RecurrenceRule, start: Date) -> DayPattern {
        let mut pattern = DayPattern {
            start,
            frequency: rule.frequency,
            interval: i64::from(rule.interval),
            months: rule.months.clone(),
            month_days: rule.month_days.clone(),
            weekdays: rule.weekdays.clone(),
            positions: rule.positions.clone(),
            week_start: rule.week_start,
        };
        if !rule.weekdays.is_empty() || !rule.month_days.is_empty() {
            return pattern;
        }
        match rule.frequency {
            Frequency::Daily => {}
            Frequency::Weekly => {
                pattern.weekdays = vec![NumberedWeekday { number: None, weekday: start.weekday() }];
            }
            Frequency::Monthly => pattern.month_days = vec![start.day()],
            Frequency::Yearly => {
                pattern.month_days = vec![start.day()];
                if rule.months.is_empty() {
                    pattern.months = vec![start.month()];
                }
            }
        }
        pattern
    }

    /// A walk over the days from this one on, and not before the start.
    pub fn walk(&self, from: Date) -> DayWalk {
        let from = from.max(self.start);
        let passed = match self.frequency {
            Frequency::Daily => days_between(self.start, from),
            Frequency::Weekly => days_between(self.first_week(), from) / 7,
            Frequency::Monthly => month_number(from) - month_number(self.start),
            Frequency::Yearly => i64::from(from.year()) - i64::from(self.start.year()),
        };
        DayWalk { period: passed / self.interval, days: Vec::new(), from }
    }

    /// The nth day of the rule, from 1; none if the rule has fewer days in [`YEARS`].
    pub fn nth_day(&self, nth: u32) -> Option<Date> {
        let mut walk = self.walk(self.start);
        let last = Date::new(*YEARS.end(), 12, 31).ok()?;
        for _ in 1..nth {
            walk.next_day(self, last)?;
        }
        walk.next_day(self, last)
    }

    /// First day of the start's week, by WKST.
    fn first_week(&self) -> Date {
        let days = i64::from(self.start.weekday().since(self.week_start));
        plus_days(self.start, -days).unwrap_or(self.start)
    }

    /// First day of a period, none beyond the years.
    fn begin(&self, period: i64) -> Option<Date> {
        let periods = period * self.interval;
        let date = match self.frequency {
            Frequency::Daily => plus_days(self.start, periods),
            Frequency::Weekly => plus_days(self.first_week(), periods * 7),
            Frequency::Monthly => first_of_month(month_number(self.start) + periods),
            Frequency::Yearly => first_of_month((i64::from(self.start.year()) + periods) * 12),
        };
        date.filter(|date| date.year() <= *YEARS.end())
    }

    /// Days of the period that begins here, in order, after BYSETPOS.
    fn days_of(&self, begin: Date) -> Vec<Date> {
        let mut days = Vec::new();
        let mut take = |date: Date, count: i8| {
            let all = (0..i64::from(count)).filter_map(|offset| plus_days(date, offset));
            days.extend(all.filter(|date| self.has_day(*date)));
        };
        match self.frequency {
            Frequency::Daily => take(begin, 1),
            Frequency::Weekly => take(begin, 7),
            Frequency::Monthly if self.has_month(begin.month()) => take(begin, begin.days_in_month()),
            Frequency::Monthly => {}
            Frequency::Yearly => {
                for month in (1..=12).filter(|month| self.has_month(*month)) {
                    if let Ok(first) = Date::new(begin.year(), month, 1) {
                        take(first, first.days_in_month());
                    }
                }
            }
        }
        if self.positions.is_empty() { days } else { self.at_positions(&days) }
    }

    /// BYSETPOS: from 1 for the first, from -1 for the last.
    fn at_positions(&self, days: &[Date]) -> Vec<Date> {
        let has = |index: usize| {
            let (forward, backward) = (index + 1, days.len() - index);
            self.positions.iter().any(|position| {
                let count = usize::from(position.unsigned_abs());
                count == if *position > 0 { forward } else { backward }
            })
        };
        days.iter().enumerate().filter(|(index, _)| has(*index)).map(|(_, day)| *day).collect()
    }

    fn has_month(&self, month: i8) -> bool {
        self.months.is_empty() || self.months.contains(&month)
    }

    /// Whether a day of a right period has the BY parts, all but BYSETPOS.
    fn has_day(&self, date: Date) -> bool {
        self.has_month(date.month())
            && (self.month_days.is_empty() || self.has_month_day(date))
            && (self.weekdays.is_empty() || self.weekdays.iter().any(|day| self.is_weekday(date, *day)))
    }

    fn has_month_day(&self, date: Date) -> bool {
        let backward = date.day() - date.days_in_month() - 1;
        self.month_days.contains(&date.day()) || self.month_days.contains(&backward)
    }

    /// BYDAY, with its number counted in the month, or in the year for a YEARLY rule without BYMONTH.
    fn is_weekday(&self, date: Date, day: NumberedWeekday) -> bool {
        if date.weekday() != day.weekday {
            return false;
        }
        let Some(number) = day.number else { return true };
        let (nth, of) = match self.frequency {
            Frequency::Yearly if self.months.is_empty() => (date.day_of_year(), date.days_in_year()),
            _ => (i16::from(date.day()), i16::from(date.days_in_month())),
        };
        let counted = if number > 0 { (nth - 1) / 7 + 1 } else { -((of - nth) / 7 + 1) };
        counted == i16::from(number)
    }

    /// Periods to the next one that can have a day: a rule by the day skips months that it has not.
    fn step(&self, begin: Date) -> i64 {
        if self.frequency != Frequency::Daily || self.has_month(begin.month()) {
            return 1;
        }
        let left = i64::from(begin.days_in_month() - begin.day()) + 1;
        (left + self.interval - 1) / self.interval
    }
}

impl DayWalk {
    /// The next day, none behind `last` or behind [`YEARS`]. After none, the walk goes on with a later
    /// `last`.
    pub fn next_day(&mut self, pattern: &DayPattern, last: Date) -> Option<Date> {
        loop {
            while let Some(day) = self.days.last().copied() {
                if day > last || day.year() > *YEARS.end() {
                    return None;
                }
                self.days.pop();
                if day >= self.from {
                    return Some(day);
                }
            }
            let begin = pattern.begin(self.period).filter(|begin| *begin <= last)?;
            self.period += pattern.step(begin);
            self.days = pattern.days_of(begin);
            self.days.reverse();
        }
    }
}

fn days_between(from: Date, to: Date) -> i64 {
    from.duration_until(to).as_hours() / 24
}

fn plus_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(SignedDuration::from_hours(days.checked_mul(24)?)).ok()
}

/// Months since the year 0.
fn month_number(date: Date) -> i64 {
    i64::from(date.year()) * 12 + i64::from(date.month()) - 1
}

fn first_of_month(number: i64) -> Option<Date> {
    let year = i16::try_from(number.div_euclid(12)).ok()?;
    let month = i8::try_from(number.rem_euclid(12)).ok()?;
    Date::new(year, month + 1, 1).ok()
}
