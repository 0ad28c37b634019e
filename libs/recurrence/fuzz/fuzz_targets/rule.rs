//! Any text as a schedule: what is read is written and read again the same, and its searches end and ascend.
#![no_main]

use jiff::tz::TimeZoneDatabase;
use jiff::{Timestamp, civil};
use libfuzzer_sys::fuzz_target;
use recurrence::{DescribedIn, Schedule, TEXT_OCTETS_MAX};
use std::sync::OnceLock;
use std::time::Duration;

fuzz_target!(|input: (&str, u8, i64)| {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    let zones = ZONES.get_or_init(TimeZoneDatabase::bundled);
    let (text, choice, second) = input;
    // Most inputs get a start, so that the fuzzer need not find out how.
    let start = civil::date(2024, 2, 29).at(2, 30, 0, 0);
    let read = match choice % 4 {
        0 => Schedule::parse_with(text, zones),
        1 => Schedule::new_with(start, "Europe/Stockholm", text, zones),
        2 => Schedule::new_with(start, "Australia/Lord_Howe", &format!("RRULE:FREQ={text}"), zones),
        _ => Schedule::new_with(start, "UTC", &format!("RRULE:FREQ=YEARLY;{text}"), zones),
    };
    let schedule = match read {
        Ok(schedule) => schedule,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = schedule.write();
    assert!(written.len() <= TEXT_OCTETS_MAX);
    assert_eq!(Schedule::parse_with(&written, zones), Ok(schedule.clone()), "{written}");
    assert!(!schedule.describe(DescribedIn::English).is_empty());
    assert!(!schedule.describe(DescribedIn::Swedish).is_empty());

    let some: Vec<_> = schedule.occurrences().take(10).collect();
    for pair in some.windows(2) {
        assert!(pair[0].instant < pair[1].instant, "{written}");
        assert_eq!(schedule.next_after(pair[0].instant), Some(pair[1]), "{written}");
    }
    let instant = Timestamp::from_second(second % 300_000_000_000).unwrap_or(Timestamp::MAX);
    assert!(schedule.next_after(instant).is_none_or(|next| next.instant > instant));
    let downtime =
        schedule.missed(start_of(&some, instant), instant, Duration::from_secs(second.unsigned_abs()));
    assert!(downtime.run.is_some() || downtime.merged.is_empty());
});

fn start_of(some: &[recurrence::Occurrence], instant: Timestamp) -> Timestamp {
    some.first().map_or(instant, |first| first.instant)
}
