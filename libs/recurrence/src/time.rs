//! Times of iCalendar (RFC 5545, 3.3.5), and the instant of a local time in its zone.

use crate::{ScheduleError, ScheduleFault, YEARS, ZONE_OCTETS_MAX};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// A local time, and the instant that it means in the schedule's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ZonedTime {
    pub instant: Timestamp,
    pub local: DateTime,
}

impl ZonedTime {
    /// The instant of a local time: in a gap by the offset before it, of two the first (3.3.5). None at the
    /// very ends of time.
    pub fn of_local(local: DateTime, zone: &TimeZone) -> Option<ZonedTime> {
        let instant = zone.to_ambiguous_timestamp(local).compatible().ok()?;
        Some(ZonedTime { instant, local })
    }

    /// The local time of an instant.
    pub fn of_instant(instant: Timestamp, zone: &TimeZone) -> ZonedTime {
        ZonedTime { instant, local: zone.to_datetime(instant) }
    }
}

/// Sorts times, and leaves each instant once.
pub(crate) fn ascending(mut times: Vec<ZonedTime>) -> Vec<ZonedTime> {
    times.sort_unstable();
    times.dedup_by_key(|time| time.instant);
    times
}

/// A time as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenTime {
    /// `20261127T120000`.
    Local(DateTime),
    /// `20261127T110000Z`, in UTC.
    Utc(DateTime),
}

/// Reads a time of 3.3.5. A leap second (`235960`) is not taken.
pub(crate) fn written(text: &str) -> Result<WrittenTime, ScheduleFault> {
    let is_utc = text.ends_with(['Z', 'z']);
    let digits = if is_utc { &text[..text.len() - 1] } else { text };
    if digits.len() == 8 && digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(ScheduleFault::DateOnly);
    }
    let local = date_time(digits.as_bytes()).ok_or(ScheduleFault::NotATime)?;
    Ok(if is_utc { WrittenTime::Utc(local) } else { WrittenTime::Local(local) })
}

/// `YYYYMMDDTHHMMSS`.
fn date_time(text: &[u8]) -> Option<DateTime> {
    let (date, time) = match text.len() {
        15 if text[8].eq_ignore_ascii_case(&b'T') => (&text[..8], &text[9..]),
        _ => return None,
    };
    let two = |octets: &[u8], at: usize| i8::try_from(number(&octets[at..at + 2])?).ok();
    let year = number(&date[..4])?;
    let (month, day) = (two(date, 4)?, two(date, 6)?);
    DateTime::new(year, month, day, two(time, 0)?, two(time, 2)?, two(time, 4)?, 0).ok()
}

/// At most four digits as a number.
fn number(digits: &[u8]) -> Option<i16> {
    digits.iter().try_fold(0i16, |sum, octet| {
        let digit = octet.is_ascii_digit().then(|| i16::from(octet - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// `20261127T120000`.
pub(crate) fn basic(time: DateTime) -> String {
    format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

/// The time in UTC that an instant has, without zone.
pub(crate) fn utc(instant: Timestamp) -> DateTime {
    TimeZone::UTC.to_datetime(instant)
}

/// Finds a zone by its name. Names with other characters than IANA's do not reach the file system.
pub(crate) fn zone(name: &str, zones: &TimeZoneDatabase) -> Result<TimeZone, ScheduleError> {
    let is_name = !name.is_empty()
        && name.len() <= ZONE_OCTETS_MAX
        && !name.starts_with('/')
        && name.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"/_+-".contains(&octet));
    let found = is_name.then(|| zones.get(name).ok()).flatten();
    match found.as_ref().and_then(TimeZone::iana_name) {
        Some("UTC") => return Ok(TimeZone::UTC),
        Some(_) => {}
        None => return Err(ScheduleError::new("TZID", name, ScheduleFault::UnknownZone)),
    }
    let found = found.filter(|zone| !zone.is_unknown());
    found.ok_or_else(|| ScheduleError::new("TZID", name, ScheduleFault::UnknownZone))
}

/// The name of a zone that [`zone`] found.
pub(crate) fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}

/// Whether a year is one of a schedule's.
pub(crate) fn has_year(time: DateTime) -> bool {
    YEARS.contains(&time.year())
}
