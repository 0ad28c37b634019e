//! Changes of the clock (RFC 5545, 3.3.5 and 3.3.10): nothing is skipped, nothing happens twice.

use super::{parse, ruled, shown};

/// Zone, start of a rule by the day, expected occurrences, and what the clock shows at the second of them.
type Change = (&'static str, &'static str, [&'static str; 3], &'static str);

const CHANGES: &[Change] = &[
    // Into summer: the local time of the second day does not exist.
    (
        "Europe/Stockholm",
        "20260328T023000",
        [
            "2026-03-28T02:30:00 = 2026-03-28T01:30:00Z",
            "2026-03-29T02:30:00 = 2026-03-29T01:30:00Z",
            "2026-03-30T02:30:00 = 2026-03-30T00:30:00Z",
        ],
        "2026-03-29T03:30:00",
    ),
    // Out of summer: the local time of the second day comes twice.
    (
        "Europe/Stockholm",
        "20261024T023000",
        [
            "2026-10-24T02:30:00 = 2026-10-24T00:30:00Z",
            "2026-10-25T02:30:00 = 2026-10-25T00:30:00Z",
            "2026-10-26T02:30:00 = 2026-10-26T01:30:00Z",
        ],
        "2026-10-25T02:30:00",
    ),
    (
        "America/New_York",
        "20260307T023000",
        [
            "2026-03-07T02:30:00 = 2026-03-07T07:30:00Z",
            "2026-03-08T02:30:00 = 2026-03-08T07:30:00Z",
            "2026-03-09T02:30:00 = 2026-03-09T06:30:00Z",
        ],
        "2026-03-08T03:30:00",
    ),
    (
        "America/New_York",
        "20261031T013000",
        [
            "2026-10-31T01:30:00 = 2026-10-31T05:30:00Z",
            "2026-11-01T01:30:00 = 2026-11-01T05:30:00Z",
            "2026-11-02T01:30:00 = 2026-11-02T06:30:00Z",
        ],
        "2026-11-01T01:30:00",
    ),
    // Half an hour.
    (
        "Australia/Lord_Howe",
        "20261003T021500",
        [
            "2026-10-03T02:15:00 = 2026-10-02T15:45:00Z",
            "2026-10-04T02:15:00 = 2026-10-03T15:45:00Z",
            "2026-10-05T02:15:00 = 2026-10-04T15:15:00Z",
        ],
        "2026-10-04T02:45:00",
    ),
    (
        "Australia/Lord_Howe",
        "20260404T014500",
        [
            "2026-04-04T01:45:00 = 2026-04-03T14:45:00Z",
            "2026-04-05T01:45:00 = 2026-04-04T14:45:00Z",
            "2026-04-06T01:45:00 = 2026-04-05T15:15:00Z",
        ],
        "2026-04-05T01:45:00",
    ),
    // At midnight: the day itself begins at 01:00, or the hour before it comes twice. None after 2019.
    (
        "America/Sao_Paulo",
        "20181103T000000",
        [
            "2018-11-03T00:00:00 = 2018-11-03T03:00:00Z",
            "2018-11-04T00:00:00 = 2018-11-04T03:00:00Z",
            "2018-11-05T00:00:00 = 2018-11-05T02:00:00Z",
        ],
        "2018-11-04T01:00:00",
    ),
    (
        "America/Sao_Paulo",
        "20190215T233000",
        [
            "2019-02-15T23:30:00 = 2019-02-16T01:30:00Z",
            "2019-02-16T23:30:00 = 2019-02-17T01:30:00Z",
            "2019-02-17T23:30:00 = 2019-02-18T02:30:00Z",
        ],
        "2019-02-16T23:30:00",
    ),
    (
        "America/Sao_Paulo",
        "20191102T003000",
        [
            "2019-11-02T00:30:00 = 2019-11-02T03:30:00Z",
            "2019-11-03T00:30:00 = 2019-11-03T03:30:00Z",
            "2019-11-04T00:30:00 = 2019-11-04T03:30:00Z",
        ],
        "2019-11-03T00:30:00",
    ),
    // One hour back for Ramadan, and forward again behind it.
    (
        "Africa/Casablanca",
        "20220326T023000",
        [
            "2022-03-26T02:30:00 = 2022-03-26T01:30:00Z",
            "2022-03-27T02:30:00 = 2022-03-27T01:30:00Z",
            "2022-03-28T02:30:00 = 2022-03-28T02:30:00Z",
        ],
        "2022-03-27T02:30:00",
    ),
    (
        "Africa/Casablanca",
        "20220507T023000",
        [
            "2022-05-07T02:30:00 = 2022-05-07T02:30:00Z",
            "2022-05-08T02:30:00 = 2022-05-08T02:30:00Z",
            "2022-05-09T02:30:00 = 2022-05-09T01:30:00Z",
        ],
        "2022-05-08T03:30:00",
    ),
    (
        "UTC",
        "20260328T023000",
        [
            "2026-03-28T02:30:00 = 2026-03-28T02:30:00Z",
            "2026-03-29T02:30:00 = 2026-03-29T02:30:00Z",
            "2026-03-30T02:30:00 = 2026-03-30T02:30:00Z",
        ],
        "2026-03-29T02:30:00",
    ),
];

#[test]
fn a_time_in_a_gap_has_the_offset_before_it_and_a_time_that_comes_twice_is_the_first() {
    for (zone, start, expected, clock) in CHANGES {
        let schedule = ruled(zone, start, "FREQ=DAILY;COUNT=3");
        let found: Vec<_> = schedule.occurrences().collect();
        assert_eq!(found.iter().map(|one| shown(*one)).collect::<Vec<_>>(), expected, "{zone}");
        assert_eq!(schedule.clock_time(&found[1]).to_string(), *clock, "{zone}");
        // The instant between two occurrences, in the hours of the change, finds the later one.
        for pair in found.windows(2) {
            let between = jiff::Timestamp::from_second(
                pair[0].instant.as_second().midpoint(pair[1].instant.as_second()),
            );
            assert_eq!(schedule.next_after(between.unwrap()), Some(pair[1]), "{zone}");
        }
    }
}

#[test]
fn from_each_second_around_a_change_the_next_occurrence_is_strictly_later_and_never_left_out() {
    for (zone, start, expected, _) in CHANGES {
        let schedule = ruled(zone, start, "FREQ=DAILY;COUNT=3");
        let found: Vec<_> = schedule.occurrences().collect();
        let first = found[0].instant.as_second() - 90_000;
        for second in (first..found[2].instant.as_second() + 90_000).step_by(450) {
            let instant = jiff::Timestamp::from_second(second).unwrap();
            let next = found.iter().find(|one| one.instant > instant).copied();
            assert_eq!(schedule.next_after(instant), next, "{zone} {expected:?}");
        }
    }
}

#[test]
fn a_day_that_a_zone_left_out_is_one_instant_with_the_next_and_occurs_once() {
    // Samoa went from the 29th to the 31st of December 2011.
    let schedule = ruled("Pacific/Apia", "20111228T120000", "FREQ=DAILY;COUNT=5");
    let found: Vec<_> = schedule.occurrences().map(shown).collect();
    assert_eq!(
        found,
        [
            "2011-12-28T12:00:00 = 2011-12-28T22:00:00Z",
            "2011-12-29T12:00:00 = 2011-12-29T22:00:00Z",
            "2011-12-30T12:00:00 = 2011-12-30T22:00:00Z",
            "2012-01-01T12:00:00 = 2011-12-31T22:00:00Z",
        ]
    );
}

#[test]
fn times_to_add_and_remove_are_read_as_the_clock_of_the_zone_is() {
    // 02:30 of 29 March does not exist; the second 02:30 of 25 October can only be said in UTC.
    let schedule = parse(
        "DTSTART;TZID=Europe/Stockholm:20260328T023000\nRRULE:FREQ=DAILY;UNTIL=20260330T003000Z\n\
         EXDATE;TZID=Europe/Stockholm:20260329T023000\n\
         RDATE;TZID=Europe/Stockholm:20261025T023000\nRDATE:20261025T013000Z",
    )
    .unwrap();
    assert_eq!(
        schedule.occurrences().map(shown).collect::<Vec<_>>(),
        [
            "2026-03-28T02:30:00 = 2026-03-28T01:30:00Z",
            "2026-03-30T02:30:00 = 2026-03-30T00:30:00Z",
            "2026-10-25T02:30:00 = 2026-10-25T00:30:00Z",
            "2026-10-25T02:30:00 = 2026-10-25T01:30:00Z",
        ]
    );
    assert_eq!(parse(&schedule.write()), Ok(schedule));
}
