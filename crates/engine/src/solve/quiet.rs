//! Quiet hours: until when a person is not to be disturbed.

use jiff::{Span, ToSpan, tz::TimeZone};
use records::{QuietHours, Timestamp};

/// The end of the quiet span that `now` is in, or nothing if it is in none.
pub fn quiet_until(quiet: QuietHours, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let local = jiff::Timestamp::from_microsecond(now.0).ok()?.to_zoned(zone.clone());
    let minute = local.hour() as u16 * 60 + local.minute() as u16;
    let inside = if quiet.from <= quiet.to {
        (quiet.from..quiet.to).contains(&minute)
    } else {
        minute >= quiet.from || minute < quiet.to
    };
    if !inside {
        return None;
    }
    // Past midnight the end is on the next day. Civil arithmetic: a change to summer time moves the moment,
    // not the hour on the wall.
    let days: Span = if minute < quiet.to { 0.days() } else { 1.days() };
    let end = local
        .date()
        .checked_add(days)
        .ok()?
        .at((quiet.to / 60) as i8, (quiet.to % 60) as i8, 0, 0)
        .to_zoned(zone.clone())
        .ok()?;
    Some(Timestamp(end.timestamp().as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
    }

    #[test]
    fn the_end_of_quiet_hours_is_the_next_time_the_wall_clock_shows_it() {
        let zone = TimeZone::get("Europe/Stockholm").unwrap();
        let night = QuietHours { from: 22 * 60, to: 7 * 60 };
        let noon = QuietHours { from: 12 * 60, to: 13 * 60 };
        let table = [
            (night, "2026-01-10T22:30:00Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-10T03:00:00Z", Some("2026-01-10T06:00:00Z")),
            (night, "2026-01-10T06:00:00Z", None),
            (night, "2026-01-10T20:59:59Z", None),
            (night, "2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00Z")),
            (noon, "2026-07-10T10:30:00Z", Some("2026-07-10T11:00:00Z")),
            (noon, "2026-07-10T11:00:00Z", None),
            // The night the clocks go forward is an hour shorter.
            (night, "2026-03-28T22:00:00Z", Some("2026-03-29T05:00:00Z")),
        ];
        for (quiet, now, end) in table {
            assert_eq!(quiet_until(quiet, &zone, at(now)), end.map(at), "{now}");
        }
    }

    #[test]
    fn an_empty_span_is_never_quiet() {
        let zone = TimeZone::UTC;
        assert_eq!(quiet_until(QuietHours { from: 60, to: 60 }, &zone, at("2026-01-10T01:00:00Z")), None);
    }
}
