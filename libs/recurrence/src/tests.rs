//! Tests of schedules, with the time zones that the program brings.

mod clock_changes;
mod descriptions;
mod downtimes;
mod properties;
mod refusals;
mod rfc_examples;
mod searches;
mod texts;

use crate::{Occurrence, Schedule, ScheduleError};
use jiff::tz::TimeZoneDatabase;

fn zones() -> &'static TimeZoneDatabase {
    static ZONES: std::sync::OnceLock<TimeZoneDatabase> = std::sync::OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

fn parse(text: &str) -> Result<Schedule, ScheduleError> {
    Schedule::parse_with(text, zones())
}

/// A schedule of this start, zone and rule.
fn ruled(zone: &str, start: &str, rule: &str) -> Schedule {
    let text = format!("DTSTART;TZID={zone}:{start}\nRRULE:{rule}");
    parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `2026-03-28T02:30:00 = 2026-03-28T01:30:00Z`.
fn shown(occurrence: Occurrence) -> String {
    format!("{} = {}", occurrence.local, occurrence.instant)
}
