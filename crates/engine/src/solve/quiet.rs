//! Quiet hours: until when a person is not to be disturbed.

use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, ToSpan};
use records::{QuietHours, QuietSpan, Timestamp};

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
    let end = local.date().checked_add(days).ok()?.at((quiet.to / 60) as i8, (quiet.to % 60) as i8, 0, 0);
    let end = moment(zone, end, local.timestamp())?;
    Some(Timestamp(end.as_microsecond()))
}

/// The next moment at which the clocks on the wall show this, or jump over it.
fn moment(zone: &TimeZone, wall: jiff::civil::DateTime, now: jiff::Timestamp) -> Option<jiff::Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(wall);
    let is_gap = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
    let earlier = ambiguous.earlier().ok()?;
    if is_gap {
        // 02:30 in the night in which two o'clock is three: it is over when it is three.
        return zone.following(earlier).next().map(|transition| transition.timestamp());
    }
    // Shown twice where the clocks go back: the second time, once the first is past.
    if earlier > now { Some(earlier) } else { zone.to_ambiguous_timestamp(wall).later().ok() }
}

/// The end of those of the spans that `now` is in, the latest one; nothing if it is in none. One whose time
/// zone is not known any more is taken for UTC's.
pub fn spans_until(spans: &[QuietSpan], now: Timestamp) -> Option<Timestamp> {
    let until = |span: &QuietSpan| {
        let zone = TimeZone::get(&span.zone).unwrap_or(TimeZone::UTC);
        quiet_until(QuietHours { from: span.from, to: span.to }, &zone, now)
    };
    spans.iter().filter_map(until).max().filter(|until| *until > now)
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
        let short = QuietHours { from: 22 * 60, to: 2 * 60 + 30 };
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
            // It has no 02:30: quiet until it is three.
            (short, "2026-03-28T22:00:00Z", Some("2026-03-29T01:00:00Z")),
            (short, "2026-03-29T01:00:30Z", None),
            // The night they go back has it twice.
            (short, "2026-10-24T22:00:00Z", Some("2026-10-25T00:30:00Z")),
            (short, "2026-10-25T01:10:00Z", Some("2026-10-25T01:30:00Z")),
            (night, "2026-10-25T05:30:00Z", Some("2026-10-25T06:00:00Z")),
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
    #[test]
    fn of_several_quiet_spans_the_latest_end_holds() {
        let span = |from: u16, to: u16, zone: &str| QuietSpan {
            place: 0,
            from: from * 60,
            to: to * 60,
            zone: zone.into(),
        };
        let now = at("2026-01-10T21:30:00Z");
        let stockholm = span(22, 7, "Europe/Stockholm");
        assert_eq!(
            spans_until(&[stockholm.clone(), span(21, 8, "UTC")], now),
            Some(at("2026-01-11T08:00:00Z"))
        );
        assert_eq!(spans_until(&[stockholm, span(1, 2, "UTC")], now), Some(at("2026-01-11T06:00:00Z")));
        assert_eq!(spans_until(&[span(21, 22, "Mars/Olympus")], now), Some(at("2026-01-10T22:00:00Z")));
        assert_eq!(spans_until(&[span(1, 2, "UTC")], now), None);
    }
}
