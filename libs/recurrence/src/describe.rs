//! Descriptions of a schedule for people: "every month on the first Monday at 12:00, Europe/Stockholm".
//!
//! One composition for all languages; a language has the words and their forms.

mod english;
mod swedish;

use crate::rule::{Frequency, NumberedWeekday, RecurrenceRule, RuleEnd};
use crate::time::ZonedTime;
use crate::{Schedule, YEARS};
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;

/// Added or removed times that are written out; more are only counted.
const TIMES_WRITTEN_MAX: usize = 3;
/// Days from Monday that are written as a range when all of them are there.
const WORKDAYS: usize = 5;

/// A language of descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescribedIn {
    /// `every month on the first Monday at 12:00, Europe/Stockholm`
    English,
    /// `varje månad den första måndagen kl. 12:00, Europe/Stockholm`
    Swedish,
}

/// Words of a language that stand between others, with their blanks.
struct Connectives {
    and: &'static str,
    or: &'static str,
    at: &'static str,
    once: &'static str,
    /// Monday to Friday.
    workdays: &'static str,
    before: Prepositions,
    clauses: Clauses,
}

/// Words around days and months.
struct Prepositions {
    weekday: &'static str,
    /// Every such weekday of a month or year.
    every_weekday: &'static str,
    /// Days with a number: `the first Monday`, `the 1st`.
    numbered: &'static str,
    date: &'static str,
    /// A month behind weekdays, and one behind a day of the month.
    month: &'static str,
    month_of_day: &'static str,
    /// Behind a day of the month in a rule of all months, and behind a weekday with its number in the year.
    every_month: &'static str,
    year: &'static str,
}

/// Beginnings of what is told behind a comma.
struct Clauses {
    condition: &'static str,
    positions: &'static str,
    from: &'static str,
    until: &'static str,
    added: &'static str,
    removed: &'static str,
}

/// A language: forms of its words, each without blanks around it.
trait Language {
    fn connectives(&self) -> &'static Connectives;
    /// `every 2 weeks`.
    fn every(&self, frequency: Frequency, interval: u16) -> String;
    /// `Monday`.
    fn weekday(&self, weekday: Weekday) -> &'static str;
    /// `the first Monday`, `the last Monday`.
    fn numbered_weekday(&self, number: i8, weekday: Weekday) -> String;
    /// `the 1st`, `the last day`.
    fn month_day(&self, day: i8) -> String;
    /// `the first`, of BYSETPOS.
    fn position(&self, position: i16) -> String;
    /// `January`.
    fn month(&self, month: i8) -> &'static str;
    /// `10 times`.
    fn count(&self, count: u32) -> String;
    /// `12 times of the list`, for lists that are too long.
    fn listed(&self, count: usize) -> String;
}

impl Schedule {
    /// The schedule in words of a language: rule, time of the day, zone; then, where it has them, the day
    /// from which it counts (INTERVAL), its end, and its added and removed times (over three are counted).
    /// One line without a full stop; it does not begin with a capital.
    pub fn describe(&self, language: DescribedIn) -> String {
        let language: &dyn Language = match language {
            DescribedIn::English => &english::English,
            DescribedIn::Swedish => &swedish::Swedish,
        };
        Composer { language, words: language.connectives(), schedule: self }.text()
    }
}

struct Composer<'a> {
    language: &'a dyn Language,
    words: &'static Connectives,
    schedule: &'a Schedule,
}

impl Composer<'_> {
    fn text(&self) -> String {
        let (schedule, words) = (self.schedule, self.words);
        let start = schedule.start.local;
        let mut text = match &schedule.rule {
            Some(rule) => self.rule(rule),
            None => format!("{}{}{}", words.once, words.before.date, self.date(start.date())),
        };
        text += &format!("{}{}, {}", words.at, clock(start.time()), schedule.zone_name());
        if let Some(rule) = &schedule.rule {
            if rule.interval > 1 {
                text += &format!("{}{}", words.clauses.from, self.date(start.date()));
            }
            match rule.end {
                RuleEnd::Never => {}
                RuleEnd::Count(count) => text += &format!(", {}", self.language.count(count)),
                RuleEnd::Until(until) => text += &format!("{}{}", words.clauses.until, self.until(until)),
            }
        }
        text += &self.times(words.clauses.added, &schedule.added);
        text += &self.times(words.clauses.removed, &schedule.removed);
        text
    }

    /// UNTIL in the schedule's zone; far beyond the years (99991231) in UTC, where the zone does not matter.
    fn until(&self, until: DateTime) -> String {
        let zone = &self.schedule.zone;
        let instant = ZonedTime::of_local(until, &TimeZone::UTC).filter(|_| until.year() <= *YEARS.end());
        let local = instant.map_or(until, |time| zone.to_datetime(time.instant));
        self.date_and_time(local)
    }

    fn rule(&self, rule: &RecurrenceRule) -> String {
        let mut text = self.language.every(rule.frequency, rule.interval);
        text += &self.days(rule);
        if !rule.positions.is_empty() {
            let positions = rule.positions.iter().map(|position| self.language.position(*position));
            text += &format!("{}{}", self.words.clauses.positions, list(positions.collect(), self.words.and));
        }
        text
    }

    /// Days and months of a rule, with its defaults.
    fn days(&self, rule: &RecurrenceRule) -> String {
        let start = self.schedule.start.local.date();
        let has_days = !(rule.month_days.is_empty() && rule.weekdays.is_empty());
        let months = self.months(&rule.months);
        match rule.frequency {
            Frequency::Daily => self.in_months(&months) + &self.conditions(rule),
            Frequency::Weekly if has_days => self.weekdays(rule) + &self.in_months(&months),
            Frequency::Weekly => {
                format!("{}{}", self.words.before.weekday, self.language.weekday(start.weekday()))
                    + &self.in_months(&months)
            }
            _ if !rule.month_days.is_empty() => {
                self.month_days(&rule.month_days, &months, rule.frequency) + &self.conditions(rule)
            }
            _ if has_days => self.weekdays(rule) + &self.in_months(&months),
            Frequency::Monthly => self.month_days(&[start.day()], &months, rule.frequency),
            Frequency::Yearly if months.is_empty() => {
                self.month_days(&[start.day()], self.language.month(start.month()), rule.frequency)
            }
            Frequency::Yearly => self.month_days(&[start.day()], &months, rule.frequency),
        }
    }

    fn months(&self, months: &[i8]) -> String {
        list(months.iter().map(|month| self.language.month(*month).to_owned()).collect(), self.words.and)
    }

    fn in_months(&self, months: &str) -> String {
        if months.is_empty() { String::new() } else { format!("{}{months}", self.words.before.month) }
    }

    /// ` on the 1st and the last day of January`.
    fn month_days(&self, days: &[i8], months: &str, frequency: Frequency) -> String {
        let days = days.iter().map(|day| self.language.month_day(*day)).collect();
        let mut text = format!("{}{}", self.words.before.numbered, list(days, self.words.and));
        match (months, frequency) {
            ("", Frequency::Yearly) => text += self.words.before.every_month,
            ("", _) => {}
            (months, _) => text += &format!("{}{months}", self.words.before.month_of_day),
        }
        text
    }

    /// ` on Monday and Friday`, ` on the first Monday`.
    fn weekdays(&self, rule: &RecurrenceRule) -> String {
        let names = self.weekday_names(&rule.weekdays, self.words.and);
        let has_number = rule.weekdays.iter().any(|day| day.number.is_some());
        let before = match rule.frequency {
            _ if has_number && rule.weekdays.iter().all(|day| day.number.is_some()) => {
                self.words.before.numbered
            }
            Frequency::Weekly => self.words.before.weekday,
            _ => self.words.before.every_weekday,
        };
        let is_of_year = has_number && rule.frequency == Frequency::Yearly && rule.months.is_empty();
        format!("{before}{names}{}", if is_of_year { self.words.before.year } else { "" })
    }

    fn weekday_names(&self, weekdays: &[NumberedWeekday], before_last: &str) -> String {
        let plain: Vec<Weekday> =
            weekdays.iter().filter(|day| day.number.is_none()).map(|day| day.weekday).collect();
        let workdays: Vec<Weekday> = Weekday::Monday.cycle_forward().take(WORKDAYS).collect();
        if plain == workdays && weekdays.len() == WORKDAYS {
            return self.words.workdays.to_owned();
        }
        let name = |day: &NumberedWeekday| match day.number {
            Some(number) => self.language.numbered_weekday(number, day.weekday),
            None => self.language.weekday(day.weekday).to_owned(),
        };
        list(weekdays.iter().map(name).collect(), before_last)
    }

    /// Parts that only limit others: `, if it is the 13th` and `, if it is Friday`.
    fn conditions(&self, rule: &RecurrenceRule) -> String {
        let mut text = String::new();
        if rule.frequency == Frequency::Daily && !rule.month_days.is_empty() {
            let days = rule.month_days.iter().map(|day| self.language.month_day(*day)).collect();
            text += &format!("{}{}", self.words.clauses.condition, list(days, self.words.or));
        }
        if !rule.weekdays.is_empty() {
            let names = self.weekday_names(&rule.weekdays, self.words.or);
            text += &format!("{}{names}", self.words.clauses.condition);
        }
        text
    }

    /// Added or removed times: their days where they are at the time of the rule.
    fn times(&self, before: &str, times: &[ZonedTime]) -> String {
        match times.len() {
            0 => String::new(),
            1..=TIMES_WRITTEN_MAX => {
                let time_of_day = self.schedule.start.local.time();
                let written = times.iter().map(|time| match time.local.time() == time_of_day {
                    true => self.date(time.local.date()),
                    false => self.date_and_time(time.local),
                });
                format!(
                    "{before}{}{}",
                    self.words.before.date.trim_start(),
                    list(written.collect(), self.words.and)
                )
            }
            count => format!("{before}{}", self.language.listed(count)),
        }
    }

    /// `27 November 2026`.
    fn date(&self, date: Date) -> String {
        format!("{} {} {}", date.day(), self.language.month(date.month()), date.year())
    }

    fn date_and_time(&self, time: DateTime) -> String {
        format!("{}{}{}", self.date(time.date()), self.words.at, clock(time.time()))
    }
}

/// `12:00`, with seconds where there are some.
fn clock(time: Time) -> String {
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") }
}

/// `a, b and c`.
fn list(mut items: Vec<String>, before_last: &str) -> String {
    match items.pop() {
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{}{before_last}{last}", items.join(", ")),
        None => String::new(),
    }
}
