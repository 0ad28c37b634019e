//! Times and durations as the API writes them.

use records::Timestamp;

/// Longest duration taken, seconds: 366 days.
pub(crate) const DURATION_S_MAX: u64 = 366 * 86_400;

/// RFC 3339, UTC.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    // A stored time is within jiff's years -9999 to 9999; anything else is shown as the number it is.
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| at.0.to_string(), |time| time.to_string())
}

/// Reads RFC 3339; a zone or offset is required.
pub(crate) fn parse_time(text: &str) -> Result<Timestamp, String> {
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => Ok(Timestamp(time.as_microsecond())),
        Err(_) if text.parse::<jiff::civil::DateTime>().is_ok() => Err(format!(
            "{text:?} has no zone; RFC 3339 with Z or an offset is needed, such as 2026-01-31T12:00:00+01:00"
        )),
        Err(_) => Err(format!("{text:?} is not a time; RFC 3339 is needed, such as 2026-01-31T12:00:00Z")),
    }
}

/// Reads `30s`, `5m`, `2h`, `1d` and sums such as `1h30m`. Whole seconds, at least 1, at most 366 days.
pub(crate) fn parse_duration_s(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is not a duration; write it like 30s, 5m, 1h30m");
    let mut seconds: u64 = 0;
    let mut number: Option<u64> = None;
    for character in text.chars() {
        if let Some(digit) = character.to_digit(10) {
            let so_far = number.unwrap_or(0);
            number = Some(so_far.saturating_mul(10).saturating_add(u64::from(digit)));
            continue;
        }
        let unit = match character {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        seconds = seconds.saturating_add(number.take().ok_or_else(wrong)?.saturating_mul(unit));
    }
    if number.is_some() || text.is_empty() {
        return Err(wrong());
    }
    if seconds == 0 {
        return Err(format!("{text:?} is nothing; at least 1s is needed"));
    }
    match u32::try_from(seconds) {
        Ok(fits) if seconds <= DURATION_S_MAX => Ok(fits),
        _ => Err(format!("{text:?} is longer than 366 days")),
    }
}

/// Writes a duration in the form that [`parse_duration_s`] reads.
pub(crate) fn duration_text(seconds: u32) -> String {
    match seconds {
        s if s % 86_400 == 0 => format!("{}d", s / 86_400),
        s if s % 3_600 == 0 => format!("{}h", s / 3_600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_a_zone_and_are_written_in_utc() {
        for (text, back) in [
            ("2026-11-21T20:00:00Z", "2026-11-21T20:00:00Z"),
            ("2026-11-21T21:00:00+01:00", "2026-11-21T20:00:00Z"),
            ("2026-11-21T20:00:00.25Z", "2026-11-21T20:00:00.25Z"),
        ] {
            assert_eq!(rfc3339(parse_time(text).unwrap()), back);
        }
        assert!(parse_time("2026-11-21T20:00:00").unwrap_err().contains("no zone"));
        for wrong in [
            "",
            "tomorrow",
            "2026-13-01T00:00:00Z",
            "1764000000",
            "2026-11-21T25:00:00Z",
            "99999-01-01T00:00:00Z",
        ] {
            assert!(parse_time(wrong).unwrap_err().contains("is not a time"), "{wrong}");
        }
    }

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, seconds) in
            [("30s", 30), ("5m", 300), ("1h30m", 5_400), ("2d", 172_800), ("366d", 31_622_400)]
        {
            assert_eq!(parse_duration_s(text), Ok(seconds));
            assert_eq!(parse_duration_s(&duration_text(seconds)), Ok(seconds));
        }
        for wrong in ["", "5", "m", "5 m", "-5m", "5w", "0s", "367d", "99999999999999999999d", "٣s"] {
            assert!(parse_duration_s(wrong).is_err(), "{wrong}");
        }
    }
}
