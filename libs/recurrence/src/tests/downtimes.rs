//! Judgement of downtimes.

use super::{parse, ruled};
use crate::{Downtime, Occurrence};
use jiff::Timestamp;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn judged(last_run: &str, now: &str, grace: Duration) -> (Option<i8>, Vec<i8>, Vec<i8>) {
    let schedule = ruled("UTC", "20260101T120000", "FREQ=DAILY;UNTIL=20260120T120000Z");
    let Downtime { run, merged, missed } =
        schedule.missed(last_run.parse().unwrap(), now.parse().unwrap(), grace);
    let days = |all: &[Occurrence]| all.iter().map(|one| one.local.day()).collect();
    (run.map(|one| one.local.day()), days(&merged), days(&missed))
}

#[test]
fn occurrences_within_the_grace_run_once_and_older_ones_are_missed() {
    for (last_run, now, grace, expected) in [
        // Nothing passed; exactly now; a little late.
        ("2026-01-04T12:00:00Z", "2026-01-05T11:59:59Z", DAY, (None, vec![], vec![])),
        ("2026-01-04T12:00:00Z", "2026-01-05T12:00:00Z", DAY, (Some(5), vec![], vec![])),
        ("2026-01-04T12:00:00Z", "2026-01-05T12:00:00Z", Duration::ZERO, (Some(5), vec![], vec![])),
        ("2026-01-04T12:00:00Z", "2026-01-05T12:30:00Z", Duration::ZERO, (None, vec![], vec![5])),
        // Days without the server: the latest runs, those within the grace are one with it.
        ("2026-01-01T12:00:00Z", "2026-01-05T13:00:00Z", DAY, (Some(5), vec![], vec![2, 3, 4])),
        ("2026-01-01T12:00:00Z", "2026-01-05T13:00:00Z", DAY * 2, (Some(5), vec![4], vec![2, 3])),
        ("2026-01-01T12:00:00Z", "2026-01-05T12:00:00Z", DAY * 2, (Some(5), vec![3, 4], vec![2])),
        (
            "2026-01-01T12:00:00Z",
            "2026-01-05T11:00:00Z",
            Duration::from_secs(60),
            (None, vec![], vec![2, 3, 4]),
        ),
        ("2026-01-18T12:00:00Z", "2026-03-01T00:00:00Z", DAY, (None, vec![], vec![19, 20])),
        // A clock that went back.
        ("2026-01-05T12:00:00Z", "2026-01-03T12:00:00Z", DAY, (None, vec![], vec![])),
    ] {
        assert_eq!(judged(last_run, now, grace), expected, "{last_run} {now} {grace:?}");
    }
}

#[test]
fn any_instants_and_any_grace_are_judged_with_bounded_work() {
    let schedule = ruled("UTC", "19000101T120000", "FREQ=DAILY");
    let now: Timestamp = "2026-01-05T12:00:00Z".parse().unwrap();
    let downtime = schedule.missed(Timestamp::MIN, now, DAY);
    assert_eq!((downtime.run.is_some(), downtime.missed.len()), (true, 3_658));
    let downtime = schedule.missed(Timestamp::MIN, now, Duration::MAX);
    assert_eq!((downtime.merged.len(), downtime.missed.len()), (3_659, 0));
    assert_eq!(schedule.missed(Timestamp::MIN, Timestamp::MIN, Duration::MAX), Downtime::default());
    assert_eq!(schedule.missed(Timestamp::MAX, Timestamp::MAX, Duration::MAX), Downtime::default());
}

#[test]
fn a_time_removed_is_neither_run_nor_missed() {
    let schedule = parse(
        "DTSTART:20260101T120000Z\nRRULE:FREQ=DAILY\nEXDATE:20260102T120000Z,20260103T120000Z\nRDATE:20260102T180000Z",
    )
    .unwrap();
    let (last, now) = ("2026-01-01T12:00:00Z".parse().unwrap(), "2026-01-03T13:00:00Z".parse().unwrap());
    let downtime = schedule.missed(last, now, DAY);
    assert_eq!(downtime.run.unwrap().local.to_string(), "2026-01-02T18:00:00");
    assert_eq!((downtime.merged, downtime.missed), (vec![], vec![]));
}
