//! Searches end, and agree with each other.

use super::{parse, ruled, shown};
use jiff::Timestamp;

const FIRST_MONDAY: &str = "FREQ=MONTHLY;BYDAY=1MO";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn next(zone: &str, start: &str, rule: &str, after: &str) -> Option<String> {
    ruled(zone, start, rule).next_after(at(after)).map(|one| one.local.to_string())
}

#[test]
fn the_next_occurrence_is_later_than_the_instant() {
    for (after, expected) in [
        ("2020-01-01T00:00:00Z", "2026-12-07T12:00:00"),
        ("2026-12-07T10:59:59.999999999Z", "2026-12-07T12:00:00"),
        ("2026-12-07T11:00:00Z", "2027-01-04T12:00:00"),
        ("2099-12-31T00:00:00Z", "2100-01-04T12:00:00"),
    ] {
        let found = next("Europe/Stockholm", "20261207T120000", FIRST_MONDAY, after);
        assert_eq!(found.as_deref(), Some(expected), "{after}");
    }
}

#[test]
fn a_rule_that_never_comes_true_ends_the_search() {
    for rule in [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=4,6,9,11;BYMONTHDAY=31",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=10000",
        "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
        "FREQ=DAILY;BYDAY=MO;BYSETPOS=366",
        "FREQ=YEARLY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTH=2",
        "FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=8",
    ] {
        let schedule = ruled("UTC", "20260101T120000", rule);
        assert_eq!(schedule.next_after(at("2026-01-01T00:00:00Z")), None, "{rule}");
        assert_eq!(schedule.occurrences().count(), 0, "{rule}");
        assert!(!schedule.is_start_an_occurrence(), "{rule}");
        let now = at("2030-01-01T00:00:00Z");
        assert_eq!(schedule.between(at("2020-01-01T00:00:00Z"), now, 10), [], "{rule}");
    }
}

#[test]
fn the_search_ends_after_a_hundred_years_and_with_the_years_of_schedules() {
    let rare = "FREQ=YEARLY;INTERVAL=150";
    assert_eq!(next("UTC", "20000101T120000", rare, "2000-01-01T12:00:00Z"), None);
    let found = next("UTC", "20000101T120000", rare, "2060-01-01T12:00:00Z");
    assert_eq!(found.as_deref(), Some("2150-01-01T12:00:00"));
    assert_eq!(next("UTC", "20000101T120000", "FREQ=DAILY", "2399-12-31T12:00:00Z"), None);
    let last = next("UTC", "20000101T120000", "FREQ=DAILY", "2399-12-31T11:00:00Z");
    assert_eq!(last.as_deref(), Some("2399-12-31T12:00:00"));
    let daily = ruled("Pacific/Kiritimati", "20000101T120000", "FREQ=DAILY");
    assert_eq!(daily.next_after(Timestamp::MAX), None);
    assert_eq!(daily.next_after(Timestamp::MIN), daily.occurrences().next());
    assert_eq!(daily.between(Timestamp::MIN, Timestamp::MIN, 5), []);
    assert_eq!(daily.between(Timestamp::MIN, Timestamp::MAX, 5).len(), 5);
    assert_eq!(ruled("UTC", "20000101T120000", "FREQ=DAILY").occurrences().count(), 146_097);
}

#[test]
fn leap_days_come_every_four_years_but_for_centuries() {
    let schedule = ruled("UTC", "20880229T120000", "FREQ=YEARLY;COUNT=5");
    let years: Vec<i16> = schedule.occurrences().map(|one| one.local.year()).collect();
    assert_eq!(years, [2088, 2092, 2096, 2104, 2108]);
}

#[test]
fn an_added_time_and_one_of_the_rule_at_the_same_instant_are_one() {
    let schedule = parse(
        "DTSTART:20260101T120000Z\nRRULE:FREQ=DAILY;COUNT=3\n\
         RDATE:20260102T120000Z,20260102T180000Z,20260110T120000Z,20260111T120000Z\n\
         EXDATE:20260103T120000Z,20260111T120000Z",
    )
    .unwrap();
    let found: Vec<_> = schedule.occurrences().map(|one| one.instant.to_string()).collect();
    assert_eq!(
        found,
        ["2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z", "2026-01-02T18:00:00Z", "2026-01-10T12:00:00Z"]
    );
}

#[test]
fn an_added_time_prolongs_the_search_of_the_rule() {
    let schedule =
        parse("DTSTART:20000101T120000Z\nRRULE:FREQ=YEARLY;INTERVAL=150\nRDATE:20600101T120000Z").unwrap();
    let years: Vec<i16> = schedule.occurrences().map(|one| one.local.year()).collect();
    assert_eq!(years, [2000, 2060, 2150]);
}

#[test]
fn without_a_rule_the_start_and_the_added_times_occur() {
    let schedule =
        parse("DTSTART;TZID=Europe/Stockholm:20261127T120000\nRDATE:20261128T110000Z,20261127T110000Z")
            .unwrap();
    let found: Vec<_> = schedule.occurrences().map(shown).collect();
    assert_eq!(
        found,
        ["2026-11-27T12:00:00 = 2026-11-27T11:00:00Z", "2026-11-28T12:00:00 = 2026-11-28T11:00:00Z"]
    );
    assert!(schedule.is_start_an_occurrence());
}

#[test]
fn a_start_that_is_no_day_of_the_rule_does_not_occur_and_is_not_counted() {
    let schedule = ruled("Europe/Stockholm", "20261127T120000", "FREQ=MONTHLY;BYDAY=1MO;COUNT=2");
    assert!(!schedule.is_start_an_occurrence());
    let found: Vec<_> = schedule.occurrences().map(|one| one.local.to_string()).collect();
    assert_eq!(found, ["2026-12-07T12:00:00", "2027-01-04T12:00:00"]);
}

#[test]
fn removed_days_are_counted() {
    let schedule =
        parse("DTSTART:20260101T120000Z\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260101T120000Z").unwrap();
    assert_eq!(schedule.occurrences().count(), 2);
    assert!(!schedule.is_start_an_occurrence());
}

#[test]
fn a_range_has_its_beginning_but_not_its_end_and_keeps_its_limits() {
    let schedule = ruled("UTC", "20260101T120000", "FREQ=DAILY");
    let (from, to) = (at("2026-01-02T12:00:00Z"), at("2026-01-05T12:00:00Z"));
    assert_eq!(schedule.between(from, to, 100).len(), 3);
    assert_eq!(schedule.between(from, to, 2).len(), 2);
    assert_eq!(schedule.between(from, to, 0), []);
    assert_eq!(schedule.between(to, from, 100), []);
    assert_eq!(schedule.between(from, Timestamp::MAX, usize::MAX).len(), crate::BETWEEN_MAX);
}

#[test]
fn the_end_of_a_rule_is_inclusive() {
    let until = |until: &str| {
        let rule = format!("FREQ=DAILY;UNTIL={until}");
        ruled("Europe/Stockholm", "20260101T120000", &rule).occurrences().count()
    };
    assert_eq!(until("20260103T105959Z"), 2);
    assert_eq!(until("20260103T110000Z"), 3);
    assert_eq!(
        until("99991231T235959Z"),
        ruled("UTC", "20260101T120000", "FREQ=DAILY").occurrences().count()
    );
}

#[test]
fn a_missing_part_follows_from_the_start() {
    for (start, rule, expected) in [
        ("20260131T120000", "FREQ=MONTHLY;COUNT=3", "2026-05-31"),
        ("20260130T120000", "FREQ=MONTHLY;BYMONTH=2,3;COUNT=2", "2027-03-30"),
        ("20260605T120000", "FREQ=WEEKLY;BYMONTH=7;COUNT=5", "2026-07-31"),
        ("20260605T120000", "FREQ=YEARLY;BYMONTHDAY=13;COUNT=8", "2027-01-13"),
        ("20260605T120000", "FREQ=YEARLY;BYDAY=-1MO;COUNT=1", "2026-12-28"),
        ("20260605T120000", "FREQ=YEARLY;BYDAY=FR;BYSETPOS=-1,1;COUNT=2", "2027-01-01"),
        ("20240229T120000", "FREQ=YEARLY;BYMONTH=2,3;COUNT=3", "2025-03-29"),
    ] {
        let last = ruled("UTC", start, rule).occurrences().last().unwrap();
        assert_eq!(last.local.date().to_string(), expected, "{rule}");
    }
}
