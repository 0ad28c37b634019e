//! Properties of any rule and any text. The check of a rule goes day by day, and counts with its fingers.

use super::{parse, zones};
use crate::{DescribedIn, Schedule, TEXT_OCTETS_MAX};
use jiff::civil::{Date, DateTime, Weekday, date};
use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;
use std::time::Duration;

const NAMES: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
const ZONES: [&str; 8] = [
    "Europe/Stockholm",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "America/Nuuk",
    "Asia/Kathmandu",
    "UTC",
];
/// Days that the slow check looks at.
const DAYS: i64 = 800;

/// A rule as it is generated: numbers only, apart from the library's own types.
#[derive(Debug, Clone)]
struct Sample {
    zone: &'static str,
    start: DateTime,
    /// 0 DAILY to 3 YEARLY.
    frequency: usize,
    interval: i64,
    months: Vec<i8>,
    month_days: Vec<i64>,
    /// Number, 0 for none, and weekday from Monday.
    weekdays: Vec<(i64, usize)>,
    positions: Vec<i64>,
    week_start: usize,
}

impl Sample {
    fn text(&self) -> String {
        let mut rule = format!(
            "FREQ={};INTERVAL={};WKST={}",
            ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"][self.frequency],
            self.interval,
            NAMES[self.week_start]
        );
        let mut push = |name: &str, values: Vec<String>| {
            if !values.is_empty() {
                rule += &format!(";{name}={}", values.join(","));
            }
        };
        push("BYMONTH", self.months.iter().map(i8::to_string).collect());
        push("BYMONTHDAY", self.month_days.iter().map(i64::to_string).collect());
        let weekday = |(number, day): &(i64, usize)| match number {
            0 => NAMES[*day].to_owned(),
            number => format!("{number}{}", NAMES[*day]),
        };
        push("BYDAY", self.weekdays.iter().map(weekday).collect());
        push("BYSETPOS", self.positions.iter().map(i64::to_string).collect());
        let start = self.start.strftime("%Y%m%dT%H%M%S");
        format!("DTSTART;TZID={}:{start}\nRRULE:{rule}", self.zone)
    }

    /// The sample without what RFC 5545 forbids together.
    fn legal(mut self) -> Sample {
        if self.frequency == 1 {
            self.month_days.clear();
        }
        let numbers_max = match self.frequency {
            0 | 1 => 0,
            2 => 5,
            _ if self.months.is_empty() => 53,
            _ => 5,
        };
        for (number, _) in &mut self.weekdays {
            *number = (*number).clamp(-numbers_max, numbers_max);
        }
        if self.months.is_empty() && self.month_days.is_empty() && self.weekdays.is_empty() {
            self.positions.clear();
        }
        self
    }

    /// The first day of the period in which a day lies.
    fn period(&self, day: Date) -> Date {
        let mut first = day;
        let is_first = |first: Date| match self.frequency {
            0 => true,
            1 => first.weekday().to_monday_zero_offset() as usize == self.week_start,
            2 => first.day() == 1,
            _ => first.day() == 1 && first.month() == 1,
        };
        while !is_first(first) {
            first = first.yesterday().unwrap();
        }
        first
    }

    /// Whether a whole number of intervals lies between the start's period and this one.
    fn is_in_interval(&self, period: Date) -> bool {
        let mut step = self.period(self.start.date());
        while step < period {
            step = match self.frequency {
                0 => step + self.interval.days(),
                1 => step + (7 * self.interval).days(),
                2 => step + self.interval.months(),
                _ => step + self.interval.years(),
            };
        }
        step == period
    }

    fn has_parts(&self, day: Date) -> bool {
        let start = self.start.date();
        let has_days = !(self.month_days.is_empty() && self.weekdays.is_empty());
        let right_month = self.months.is_empty() || self.months.contains(&day.month());
        let right_default = has_days
            || match self.frequency {
                0 => true,
                1 => day.weekday() == start.weekday(),
                2 => day.day() == start.day(),
                _ if self.months.is_empty() => (day.month(), day.day()) == (start.month(), start.day()),
                _ => day.day() == start.day(),
            };
        // The nth day from the end: n - 1 days on is the last of the same month.
        let from_end = |count: i64| {
            let last = day + (count - 1).days();
            last.month() == day.month() && last.tomorrow().unwrap().day() == 1
        };
        let month_day = |wanted: &i64| match wanted {
            1.. => i64::from(day.day()) == *wanted,
            _ => from_end(-wanted),
        };
        let right_month_day = self.month_days.is_empty() || self.month_days.iter().any(month_day);
        let right_weekday =
            self.weekdays.is_empty() || self.weekdays.iter().any(|one| self.has_weekday(day, *one));
        right_month && right_default && right_month_day && right_weekday
    }

    fn has_weekday(&self, day: Date, (number, weekday): (i64, usize)) -> bool {
        let wanted = Weekday::from_monday_zero_offset(weekday as i8).unwrap();
        let is_in_year = self.frequency == 3 && self.months.is_empty();
        let is_same =
            |other: Date| other.year() == day.year() && (is_in_year || other.month() == day.month());
        let step = if number < 0 { 7.days() } else { (-7).days() };
        let same =
            std::iter::successors(Some(day), |day| Some(*day + step)).take_while(|other| is_same(*other));
        day.weekday() == wanted && (number == 0 || same.count() as i64 == number.abs())
    }

    /// Days of the rule among the first ones, by looking at each.
    fn days(&self) -> Vec<Date> {
        let start = self.start.date();
        // From the beginning of the start's period, for BYSETPOS, to the end of the last day's.
        let all = self.period(start).series(1.day()).take(DAYS as usize + 740);
        let right = all.filter(|day| self.has_parts(*day)).map(|day| (self.period(day), day));
        let right: Vec<(Date, Date)> = right.filter(|(period, _)| self.is_in_interval(*period)).collect();
        let is_positioned = |(period, day): &(Date, Date)| {
            let of_period = right.iter().filter(|(other, _)| other == period);
            let before = of_period.clone().filter(|(_, other)| other < day).count() as i64;
            let count = of_period.count() as i64;
            let is_at = |position: &i64| *position == before + 1 || *position == before - count;
            self.positions.is_empty() || self.positions.iter().any(is_at)
        };
        let end = start + DAYS.days();
        let in_range = right.iter().filter(|(_, day)| (start..end).contains(day));
        in_range.filter(|one| is_positioned(one)).map(|(_, day)| *day).collect()
    }
}

fn samples() -> impl Strategy<Value = Sample> {
    let day = (0i64..20_000).prop_map(|offset| date(1997, 1, 1) + offset.days());
    let time = prop::sample::select(vec![(2, 30, 0), (0, 0, 0), (1, 45, 0), (23, 30, 0), (12, 0, 30)]);
    let start = (day, time).prop_map(|(day, (hour, minute, second))| day.at(hour, minute, second, 0));
    let lists = (
        prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(1i8..=12, 1..4)],
        prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec((-31i64..=31).prop_filter("no 0", |n| *n != 0), 1..4)],
        prop_oneof![1 => Just(vec![]), 2 => prop::collection::vec((prop_oneof![Just(0), -5i64..=5, -53i64..=53], 0usize..7), 1..5)],
        prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(prop_oneof![1i64..=6, -6i64..=-1], 1..3)],
    );
    let interval = prop_oneof![3 => Just(1i64), 2 => 2i64..5, 1 => 5i64..1000];
    (prop::sample::select(ZONES.to_vec()), start, 0usize..4, interval, lists, 0usize..7).prop_map(
        |(zone, start, frequency, interval, (months, month_days, weekdays, positions), week_start)| {
            let sample = Sample {
                zone,
                start,
                frequency,
                interval,
                months,
                month_days,
                weekdays,
                positions,
                week_start,
            };
            sample.legal()
        },
    )
}

/// Pieces of schedules in any order: few of them are read.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "DTSTART",
        "RRULE",
        "RDATE",
        "EXDATE",
        ":",
        ";",
        "=",
        ",",
        "\n",
        "\r\n ",
        "TZID",
        "Europe/Stockholm",
        "20261127T120000",
        "20270329T023000Z",
        "FREQ",
        "YEARLY",
        "COUNT",
        "UNTIL",
        "BYDAY",
        "-1FR",
        "30",
        "-",
        "\"",
    ]);
    let piece = prop_oneof![8 => piece.prop_map(str::to_owned), 1 => ".{0,3}"];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

/// Lines behind DTSTART that fit together by chance: many of them are read.
fn lines() -> impl Strategy<Value = String> {
    let frequency = prop::sample::select(vec!["DAILY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY"]);
    let part = prop::sample::select(vec![
        ";COUNT=10000",
        ";COUNT=3",
        ";UNTIL=20280101T000000Z",
        ";UNTIL=99991231T235959Z",
        ";INTERVAL=1000",
        ";INTERVAL=2",
        ";BYDAY=-1FR",
        ";BYDAY=MO,TU",
        ";BYDAY=53SU,1SU",
        ";BYMONTHDAY=30",
        ";BYMONTHDAY=29,-1",
        ";BYMONTH=2",
        ";BYMONTH=1,12",
        ";BYSETPOS=-366",
        ";BYSETPOS=1,-2",
        ";WKST=SU",
        ";BYHOUR=1",
    ]);
    let line = prop::sample::select(vec![
        "\nEXDATE:20261207T170000Z",
        "\nRDATE:20261208T170000Z,20991208T170000Z",
        "\nRDATE:23991231T235959Z",
        "\nEXDATE;TZID=Europe/Stockholm:20261127T120000",
        "\nRDATE:20271031T013000Z",
        "\nRDATE:20261301T120000",
    ]);
    let rule = (frequency, prop::collection::vec(part, 0..4))
        .prop_map(|(frequency, parts)| format!("RRULE:FREQ={frequency}{}", parts.concat()));
    (
        prop_oneof![4 => rule, 1 => Just(String::new())],
        prop::collection::vec(line, 0..3),
        prop_oneof![4 => Just(String::new()), 1 => pieces()],
    )
        .prop_map(|(rule, lines, rest)| rule + &lines.concat() + &rest)
}

/// Texts with a start, and those without.
fn near_texts() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "DTSTART;TZID=Europe/Stockholm:20261127T120000\n",
        "DTSTART;TZID=Australia/Lord_Howe:20240229T021500\n",
        "DTSTART:19000101T000000Z\n",
        "DTSTART:23991231T235959Z\n",
    ]);
    prop_oneof![4 => (start, lines()).prop_map(|(start, lines)| start.to_owned() + &lines), 1 => pieces(), 1 => ".{0,80}"]
}

/// Whatever a schedule can be asked, and what must hold of the answers.
fn check_any(schedule: &Schedule) -> Result<(), TestCaseError> {
    let text = schedule.write();
    prop_assert!(text.len() <= TEXT_OCTETS_MAX);
    let again = Schedule::parse_with(&text, zones());
    prop_assert_eq!(again.as_ref(), Ok(schedule), "{}", text);
    for language in [DescribedIn::English, DescribedIn::Swedish] {
        let words = schedule.describe(language);
        prop_assert!(!words.is_empty() && !words.contains("  ") && !words.contains('\n'), "{}", words);
    }
    let some: Vec<_> = schedule.occurrences().take(20).collect();
    prop_assert!(some.windows(2).all(|pair| pair[0].instant < pair[1].instant));
    for pair in some.windows(2) {
        prop_assert_eq!(schedule.next_after(pair[0].instant), Some(pair[1]));
    }
    if let (Some(first), Some(last)) = (some.first(), some.last()) {
        let downtime = schedule.missed(first.instant, last.instant, Duration::from_secs(86_400));
        prop_assert!(downtime.missed.iter().all(|one| one.instant > first.instant));
        prop_assert_eq!(downtime.run.is_some(), some.len() > 1);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(96)))]

    #[test]
    fn the_days_of_a_rule_are_those_that_a_slow_check_finds(sample in samples()) {
        let text = sample.text();
        let schedule = parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let end = sample.start.date() + DAYS.days();
        let found: Vec<Date> =
            schedule.occurrences().map(|one| one.local.date()).take_while(|day| *day < end).collect();
        prop_assert_eq!(found, sample.days(), "{}", text);
        for one in schedule.occurrences().take(50) {
            prop_assert_eq!(one.local.time(), sample.start.time());
            // The clock shows the local time, or one that is later by a gap.
            let late = one.local.duration_until(schedule.clock_time(&one));
            prop_assert!(late.is_zero() || (late.is_positive() && late.as_mins() <= 60), "{}", text);
        }
    }

    #[test]
    fn a_count_or_an_end_only_cuts_the_rule(sample in samples(), count in 1usize..60) {
        let text = sample.text();
        let all: Vec<_> = parse(&text).unwrap().occurrences().take(count).collect();
        let counted: Vec<_> = parse(&format!("{text};COUNT={count}")).unwrap().occurrences().collect();
        prop_assert_eq!(&counted, &all);
        if let Some(last) = all.last() {
            let until = last.instant.strftime("%Y%m%dT%H%M%SZ");
            let ended: Vec<_> = parse(&format!("{text};UNTIL={until}")).unwrap().occurrences().collect();
            prop_assert_eq!(ended, all);
        }
    }

    #[test]
    fn a_schedule_is_written_and_read_the_same(sample in samples(), added in prop::collection::vec(0i64..40_000, 0..6)) {
        let mut text = sample.text();
        let schedule = parse(&text).unwrap();
        let start = schedule.start().to_zoned(schedule.zone().clone()).unwrap();
        for (at, hours) in added.iter().enumerate() {
            let time = (&start + hours.hours()).timestamp();
            text += &format!("\n{}:{}", ["RDATE", "EXDATE"][at % 2], time.strftime("%Y%m%dT%H%M%SZ"));
        }
        check_any(&parse(&text).unwrap())?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in near_texts()) {
        match parse(&text) {
            Ok(schedule) => check_any(&schedule)?,
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_start_apart_is_read_or_refused(
        year in prop_oneof![4 => 1890i16..=2410, 1 => -9999i16..=9999],
        zone in prop_oneof![4 => prop::sample::select(ZONES.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"],
        rules in lines(),
        instant in any::<i64>(),
    ) {
        if let Ok(schedule) = Schedule::new_with(date(year, 12, 31).at(23, 59, 59, 0), &zone, &rules, zones()) {
            check_any(&schedule)?;
            if let Ok(instant) = Timestamp::from_second(instant % 400_000_000_000) {
                prop_assert!(schedule.next_after(instant).is_none_or(|one| one.instant > instant));
            }
        }
    }
}
