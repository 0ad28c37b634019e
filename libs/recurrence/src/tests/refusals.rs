//! Refusals name the part, and say what to write.

use super::parse;
use crate::ScheduleFault::{self, *};
use crate::{DATES_MAX, LIST_MAX, TEXT_OCTETS_MAX};

const START: &str = "DTSTART;TZID=Europe/Stockholm:20261127T120000";

#[test]
fn a_part_of_a_rule_that_is_wrong_is_named() {
    for (rule, part, fault) in [
        ("", "RRULE", NotAPart),
        ("DAILY", "RRULE", NotAPart),
        ("FREQ=DAILY;", "RRULE", NotAPart),
        ("COUNT=2", "FREQ", Missing("FREQ=MONTHLY")),
        ("FREQ=", "FREQ", UnknownFrequency),
        ("FREQ=FORTNIGHTLY", "FREQ", UnknownFrequency),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ", Twice),
        ("FREQ=DAILY;BYEASTER=1", "BYEASTER", UnknownPart),
        ("FREQ=DAILY;X-A=1", "X-A", UnknownPart),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL", NotANumber(1, 1_000)),
        ("FREQ=DAILY;INTERVAL=1001", "INTERVAL", NotANumber(1, 1_000)),
        ("FREQ=DAILY;INTERVAL=-1", "INTERVAL", NotANumber(1, 1_000)),
        ("FREQ=DAILY;INTERVAL=99999999999999999999", "INTERVAL", NotANumber(1, 1_000)),
        ("FREQ=DAILY;COUNT=0", "COUNT", NotANumber(1, 10_000)),
        ("FREQ=DAILY;COUNT=10001", "COUNT", NotANumber(1, 10_000)),
        ("FREQ=DAILY;COUNT=1;UNTIL=20271127T110000Z", "RRULE", UntilAndCount),
        ("FREQ=DAILY;UNTIL=20261127T105959Z", "UNTIL", BeforeStart),
        ("FREQ=DAILY;UNTIL=20271127T120000", "UNTIL", UntilNotUtc("20271127T110000Z".into())),
        ("FREQ=DAILY;UNTIL=20270627", "UNTIL", UntilNotUtc("20270627T100000Z".into())),
        ("FREQ=DAILY;UNTIL=20270230", "UNTIL", NotATime),
        ("FREQ=DAILY;UNTIL=99991231", "UNTIL", UntilNotUtc("99991231T120000Z".into())),
        ("FREQ=DAILY;UNTIL=99991231T235959", "UNTIL", UntilNotUtc("99991231T235959Z".into())),
        ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL", NotATime),
        ("FREQ=DAILY;BYMONTH=0", "BYMONTH", NotANumber(1, 12)),
        ("FREQ=DAILY;BYMONTH=-1", "BYMONTH", NotANumber(1, 12)),
        ("FREQ=DAILY;BYMONTH=1,", "BYMONTH", NotANumber(1, 12)),
        ("FREQ=DAILY;BYMONTH=5L", "BYMONTH", NotANumber(1, 12)),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY", NotANumber(-31, 31)),
        ("FREQ=MONTHLY;BYMONTHDAY=--1", "BYMONTHDAY", NotANumber(-31, 31)),
        ("FREQ=MONTHLY;BYMONTHDAY=-32", "BYMONTHDAY", NotANumber(-31, 31)),
        ("FREQ=MONTHLY;BYSETPOS=367;BYDAY=MO", "BYSETPOS", NotANumber(-366, 366)),
        ("FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS", PositionAlone),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY", MonthDayInWeek),
        ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY", NumberedWeekday),
        ("FREQ=DAILY;BYDAY=MO,-1FR", "BYDAY", NumberedWeekday),
        ("FREQ=MONTHLY;BYDAY=6MO", "BYDAY", WeekdayNumber(5)),
        ("FREQ=YEARLY;BYMONTH=1;BYDAY=-6MO", "BYDAY", WeekdayNumber(5)),
        ("FREQ=YEARLY;BYDAY=54MO", "BYDAY", WeekdayNumber(53)),
        ("FREQ=YEARLY;BYDAY=0MO", "BYDAY", WeekdayNumber(53)),
        ("FREQ=YEARLY;BYDAY=-128MO", "BYDAY", WeekdayNumber(53)),
        ("FREQ=WEEKLY;BYDAY=MON", "BYDAY", NotAWeekday),
        ("FREQ=WEEKLY;BYDAY=", "BYDAY", NotAWeekday),
        ("FREQ=WEEKLY;BYDAY=å", "BYDAY", NotAWeekday),
        ("FREQ=WEEKLY;BYDAY=1å", "BYDAY", NotAWeekday),
        ("FREQ=WEEKLY;WKST=XX", "WKST", NotAWeekday),
    ] {
        let error = parse(&format!("{START}\nRRULE:{rule}")).expect_err(rule);
        assert_eq!((error.part.as_str(), &error.fault), (part, &fault), "{rule}: {error}");
        assert!(error.to_string().starts_with(part), "{error}");
    }
}

#[test]
fn the_rest_of_the_rfc_is_refused_by_name_with_what_to_write() {
    for (text, part, instead) in [
        ("RRULE:FREQ=SECONDLY", "FREQ", "FREQ=DAILY"),
        ("RRULE:FREQ=MINUTELY", "FREQ", "FREQ=DAILY"),
        ("RRULE:FREQ=HOURLY;INTERVAL=3", "FREQ", "one schedule for each hour"),
        ("RRULE:FREQ=DAILY;BYHOUR=9,10", "BYHOUR", "DTSTART"),
        ("RRULE:FREQ=DAILY;BYMINUTE=0", "BYMINUTE", "DTSTART"),
        ("RRULE:FREQ=DAILY;BYSECOND=0", "BYSECOND", "DTSTART"),
        ("RRULE:FREQ=YEARLY;BYWEEKNO=20", "BYWEEKNO", "FREQ=WEEKLY"),
        ("RRULE:FREQ=YEARLY;BYYEARDAY=100", "BYYEARDAY", "BYMONTHDAY"),
        ("RRULE:RSCALE=HEBREW;FREQ=YEARLY", "RSCALE", "Gregorian"),
        ("RRULE:FREQ=MONTHLY;SKIP=BACKWARD", "SKIP", "BYMONTHDAY=-1"),
        ("EXRULE:FREQ=DAILY", "EXRULE", "EXDATE"),
        ("DTEND:20261127T130000Z", "DTEND", "remove"),
        ("DURATION:PT1H", "DURATION", "remove"),
        ("BEGIN:VEVENT", "BEGIN", "only the lines"),
        ("RDATE;VALUE=PERIOD:20261128T120000Z/PT1H", "RDATE", "beginning"),
    ] {
        let error = parse(&format!("{START}\n{text}")).expect_err(text);
        assert!(matches!(error.fault, Refused(_)), "{error}");
        assert_eq!(error.part, part);
        assert!(error.to_string().contains(instead), "{error}");
    }
}

#[test]
fn a_line_that_is_wrong_is_named() {
    let missing = Missing("DTSTART;TZID=Europe/Stockholm:20261127T120000");
    let stockholm = || OtherZone("Europe/Stockholm".into());
    let more = |line: &str| format!("{START}\n{line}");
    for (text, part, fault) in [
        (String::new(), "DTSTART", missing.clone()),
        ("RRULE:FREQ=DAILY".into(), "DTSTART", missing),
        ("FREQ=DAILY".into(), "", NotALine),
        ("DTSTART;TZID:20261127T120000".into(), "", NotALine),
        ("DTSTART;TZID=\"Europe/Stockholm:20261127T120000".into(), "", NotALine),
        ("DTSTART:20261127T120000".into(), "DTSTART", NoZone),
        ("DTSTART;TZID=UTC:20261127T120000Z".into(), "DTSTART", ZoneOfUtc),
        ("DTSTART;TZID=Mars/Olympus:20261127T120000".into(), "TZID", UnknownZone),
        ("DTSTART;TZID=Etc/Unknown:20261127T120000".into(), "TZID", UnknownZone),
        ("DTSTART;TZID=/Europe/Stockholm:20261127T120000".into(), "TZID", UnknownZone),
        (format!("DTSTART;TZID={}:20261127T120000", "A".repeat(65)), "TZID", UnknownZone),
        ("DTSTART;TZID=:20261127T120000".into(), "TZID", UnknownZone),
        ("DTSTART;TZID=UTC;TZID=UTC:20261127T120000".into(), "DTSTART", Twice),
        ("DTSTART;X-A=1:20261127T120000Z".into(), "DTSTART", UnknownParameter),
        ("DTSTART;VALUE=DATE:20261127".into(), "DTSTART", DateOnly),
        ("DTSTART:20261127".into(), "DTSTART", DateOnly),
        ("DTSTART:20260230T120000Z".into(), "DTSTART", NotATime),
        ("DTSTART:20261127T240000Z".into(), "DTSTART", NotATime),
        ("DTSTART:20261127T235960Z".into(), "DTSTART", NotATime),
        ("DTSTART:2026-11-27T12:00:00Z".into(), "DTSTART", NotATime),
        ("DTSTART:+0261127T120000Z".into(), "DTSTART", NotATime),
        ("DTSTART:Z".into(), "DTSTART", NotATime),
        ("DTSTART:18991231T120000Z".into(), "DTSTART", Year),
        ("DTSTART:24000101T120000Z".into(), "DTSTART", Year),
        (more("DTSTART:20261127T120000Z"), "DTSTART", Twice),
        (more("RRULE:FREQ=DAILY\nRRULE:FREQ=DAILY"), "RRULE", Twice),
        (more("RRULE;X=1:FREQ=DAILY"), "RRULE", UnknownParameter),
        (more("SUMMARY:a"), "SUMMARY", UnknownProperty),
        (more("RDATE:20261128T120000"), "RDATE", NoZone),
        (more("EXDATE;TZID=America/New_York:20261128T120000"), "EXDATE", stockholm()),
        (more("EXDATE;TZID=Europe/Stockholm:20261128T120000Z"), "EXDATE", ZoneOfUtc),
        (more("EXDATE;VALUE=DATE:20261128"), "EXDATE", DateOnly),
        (more("EXDATE:20261128T120000Z,"), "EXDATE", NotATime),
        (more("EXDATE:24000101T120000Z"), "EXDATE", Year),
        (more("RDATE:99991231T235959Z"), "RDATE", Year),
        (more("RDATE:20261127T105959Z"), "RDATE", BeforeStart),
    ] {
        let error = parse(&text).expect_err(&text);
        assert_eq!((error.part.as_str(), &error.fault), (part, &fault), "{text}: {error}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn each_bound_is_kept() {
    let list = |count: usize| format!("{START}\nRRULE:FREQ=DAILY;BYMONTH={}", vec!["1"; count].join(","));
    assert!(parse(&list(LIST_MAX)).is_ok());
    assert_eq!(parse(&list(LIST_MAX + 1)).unwrap_err().fault, TooMany(LIST_MAX));
    let days = |count: usize| format!("{START}\nRRULE:FREQ=DAILY;BYDAY={}", vec!["MO"; count].join(","));
    assert!(parse(&days(LIST_MAX)).is_ok());
    assert_eq!(parse(&days(LIST_MAX + 1)).unwrap_err().fault, TooMany(LIST_MAX));
    let dates = |count: usize| format!("{START}\nEXDATE:{}", vec!["20261128T120000Z"; count].join(","));
    assert!(parse(&dates(DATES_MAX)).is_ok());
    assert_eq!(parse(&dates(DATES_MAX + 1)).unwrap_err().fault, TooMany(DATES_MAX));
    let octets = |count: usize| START.to_owned() + &"\n".repeat(count - START.len());
    assert!(parse(&octets(TEXT_OCTETS_MAX)).is_ok());
    assert_eq!(parse(&octets(TEXT_OCTETS_MAX + 1)).unwrap_err().fault, TextTooLong(TEXT_OCTETS_MAX + 1));
}

#[test]
fn a_text_whose_canonical_form_is_too_long_is_refused() {
    let start = jiff::civil::date(2026, 11, 27).at(12, 0, 0, 0);
    let times: Vec<String> =
        (0..DATES_MAX).map(|at| format!("202612{:02}T{:02}0000", 1 + at / 24, at % 24)).collect();
    let (some, all) = (times[..58].join(","), times.join(","));
    let new = |rules: &str| crate::Schedule::new_with(start, "Europe/Stockholm", rules, super::zones());
    assert!(new(&format!("RDATE:{some}\nEXDATE:{some}")).is_ok());
    assert!(matches!(new(&format!("RDATE:{all}\nEXDATE:{}", times[..21].join(","))), Err(error)
        if matches!(error.fault, ScheduleFault::TextTooLong(2_001..))));
}

#[test]
fn an_error_repeats_a_short_piece_of_the_text() {
    let error = parse(&format!("{START}\nRRULE:FREQ={}", "å".repeat(900))).unwrap_err();
    assert_eq!(error.written.chars().count(), 40);
    let error = parse(&format!("{START}\n{}:x", "Z".repeat(900))).unwrap_err();
    assert_eq!(error.part.len(), 40);
}
