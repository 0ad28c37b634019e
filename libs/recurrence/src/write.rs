//! Canonical text of a schedule: one order of lines and parts, sorted lists, nothing that is a default.

use crate::rule::{RecurrenceRule, RuleEnd, weekday_name};
use crate::time::{ZonedTime, basic, utc};
use crate::{Schedule, time};
use jiff::civil::Weekday;
use std::fmt::{Display, Write};

impl Schedule {
    /// Writes the schedule: lines DTSTART, RRULE, RDATE, EXDATE, with LF between them, not folded, of at
    /// most [`crate::TEXT_OCTETS_MAX`] octets. [`Schedule::parse`] reads an equal schedule from it, and
    /// equal schedules have the same text. Times that were given in UTC are written in the zone's local
    /// time, where it means the same instant.
    pub fn write(&self) -> String {
        let mut text = String::new();
        self.write_times(&mut text, "DTSTART", &[self.start]);
        if let Some(rule) = &self.rule {
            write_rule(&mut text, rule);
        }
        self.write_times(&mut text, "RDATE", &self.added);
        self.write_times(&mut text, "EXDATE", &self.removed);
        text.truncate(text.trim_end().len());
        text
    }

    /// A line of local times, and one of those that only UTC can say: the second of two equal local times.
    fn write_times(&self, text: &mut String, name: &str, times: &[ZonedTime]) {
        let zone = self.zone_name();
        let is_local = |time: &ZonedTime| {
            zone != "UTC" && ZonedTime::of_local(time.local, &self.zone).is_some_and(|read| read == *time)
        };
        let (local, other): (Vec<&ZonedTime>, Vec<&ZonedTime>) =
            times.iter().partition(|time| is_local(time));
        if !local.is_empty() {
            let local = joined(local.iter().map(|time| basic(time.local)));
            push(text, format_args!("{name};TZID={zone}:{local}\n"));
        }
        if !other.is_empty() {
            let other = joined(other.iter().map(|time| basic(utc(time.instant)) + "Z"));
            push(text, format_args!("{name}:{other}\n"));
        }
    }
}

fn write_rule(text: &mut String, rule: &RecurrenceRule) {
    push(text, format_args!("RRULE:FREQ={}", rule.frequency.name()));
    if rule.interval != 1 {
        push(text, format_args!(";INTERVAL={}", rule.interval));
    }
    match rule.end {
        RuleEnd::Never => {}
        RuleEnd::Count(count) => push(text, format_args!(";COUNT={count}")),
        RuleEnd::Until(until) => push(text, format_args!(";UNTIL={}Z", time::basic(until))),
    }
    write_list(text, "BYMONTH", &rule.months);
    write_list(text, "BYMONTHDAY", &rule.month_days);
    write_list(text, "BYDAY", &rule.weekdays);
    write_list(text, "BYSETPOS", &rule.positions);
    if rule.week_start != Weekday::Monday {
        push(text, format_args!(";WKST={}", weekday_name(rule.week_start)));
    }
    text.push('\n');
}

fn write_list<T: Display>(text: &mut String, name: &str, list: &[T]) {
    if !list.is_empty() {
        push(text, format_args!(";{name}={}", joined(list.iter().map(T::to_string))));
    }
}

fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(",")
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a String takes all that is written");
}
