//! Times as CAP writes them: an instant and the offset it was written with.

use std::fmt;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// The largest offset of XML Schema's dateTime, in minutes.
const OFFSET_MINUTES_MAX: i16 = 14 * 60;
const YEAR_MIN: i64 = 1;
const YEAR_MAX: i64 = 9999;
/// Digits of a fraction that count; more are cut.
const FRACTION_DIGITS: usize = 6;

/// An instant with the offset from UTC it was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp {
    utc_micros: i64,
    offset_minutes: i16,
}

/// A time that was read, and what its form breaks.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) timestamp: Timestamp,
    pub(crate) deviation: Option<&'static str>,
}

impl Timestamp {
    /// `utc_micros`: microseconds since 1970-01-01T00:00:00 UTC, in the years 1 to 9999 also as local time.
    /// `offset_minutes`: local time minus UTC, at most 14 hours either way. `None` beyond.
    pub fn new(utc_micros: i64, offset_minutes: i16) -> Option<Timestamp> {
        if offset_minutes.abs() > OFFSET_MINUTES_MAX {
            return None;
        }
        let timestamp = Timestamp { utc_micros, offset_minutes };
        let (year, ..) = civil(timestamp.local_seconds()?.div_euclid(SECONDS_PER_DAY));
        (YEAR_MIN..=YEAR_MAX).contains(&year).then_some(timestamp)
    }

    /// Microseconds since 1970-01-01T00:00:00 UTC.
    pub fn utc_micros(self) -> i64 {
        self.utc_micros
    }

    /// Local time minus UTC, in minutes; 0 where only UTC was given.
    pub fn offset_minutes(self) -> i16 {
        self.offset_minutes
    }

    /// Reads `YYYY-MM-DDThh:mm:ss±hh:mm`, and what is near it: `Z`, fractions, no seconds, no zone (read as
    /// UTC). `None` if it is no time.
    pub fn parse(text: &str) -> Option<Timestamp> {
        read(text).map(|read| read.timestamp)
    }

    fn local_seconds(self) -> Option<i64> {
        self.utc_micros.div_euclid(MICROS_PER_SECOND).checked_add(i64::from(self.offset_minutes) * 60)
    }
}

/// The one form CAP allows (section 3.3.2): whole seconds, cut, and a numeric offset, UTC being `-00:00`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.local_seconds().unwrap_or(0); // `new` has checked it
        let (year, month, day) = civil(local.div_euclid(SECONDS_PER_DAY));
        let second = local.rem_euclid(SECONDS_PER_DAY);
        let sign = if self.offset_minutes > 0 { '+' } else { '-' };
        let offset = self.offset_minutes.abs();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}{sign}{:02}:{:02}",
            second / 3600,
            second / 60 % 60,
            second % 60,
            offset / 60,
            offset % 60
        )
    }
}

/// Reads a time and says how its form deviates.
pub(crate) fn read(text: &str) -> Option<Read> {
    let mut rest = Rest { text: text.as_bytes(), deviation: None };
    let year = rest.number(4)?;
    rest.mark(b"-")?;
    let month = rest.number(2)?;
    rest.mark(b"-")?;
    let day = rest.number(2)?;
    if rest.mark(b"T").is_none() {
        rest.mark(b"t ")?;
        rest.deviates("has no T between date and time");
    }
    let (second_of_day, micros) = rest.clock()?;
    let offset_minutes = rest.offset()?;
    if !rest.text.is_empty() || !(YEAR_MIN..=YEAR_MAX).contains(&year) || !is_date(year, month, day) {
        return None;
    }
    let seconds = days(year, month, day) * SECONDS_PER_DAY + second_of_day - i64::from(offset_minutes) * 60;
    let timestamp = Timestamp::new(seconds * MICROS_PER_SECOND + micros, offset_minutes)?;
    Some(Read { timestamp, deviation: rest.deviation })
}

struct Rest<'a> {
    text: &'a [u8],
    deviation: Option<&'static str>,
}

impl Rest<'_> {
    fn deviates(&mut self, how: &'static str) {
        self.deviation.get_or_insert(how);
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.text.split_at_checked(digits)?;
        let value = number
            .iter()
            .try_fold(0, |value, &b| b.is_ascii_digit().then(|| value * 10 + i64::from(b - b'0')));
        self.text = rest;
        value
    }

    fn mark(&mut self, any_of: &[u8]) -> Option<u8> {
        let (&first, rest) = self.text.split_first()?;
        if !any_of.contains(&first) {
            return None;
        }
        self.text = rest;
        Some(first)
    }

    /// Second of the day and microseconds.
    fn clock(&mut self) -> Option<(i64, i64)> {
        let hour = self.number(2)?;
        self.mark(b":")?;
        let minute = self.number(2)?;
        let mut second = 0;
        let mut micros = 0;
        if self.mark(b":").is_some() {
            second = self.number(2)?;
            if self.mark(b".").is_some() {
                micros = self.fraction()?;
                self.deviates("has a fraction of a second");
            }
        } else {
            self.deviates("has no seconds");
        }
        // XML Schema allows 24:00:00 as the day's end; 60 is a leap second.
        let is_end_of_day = (hour, minute, second, micros) == (24, 0, 0, 0);
        if minute > 59 || second > 60 || (hour > 23 && !is_end_of_day) {
            return None;
        }
        Some((hour * 3600 + minute * 60 + second, micros))
    }

    fn fraction(&mut self) -> Option<i64> {
        let digits = self.text.iter().take_while(|b| b.is_ascii_digit()).count();
        let (fraction, rest) = self.text.split_at(digits);
        self.text = rest;
        let counted = fraction.get(..digits.min(FRACTION_DIGITS))?;
        let value = counted.iter().fold(0, |value, &b| value * 10 + i64::from(b - b'0'));
        (digits > 0).then(|| value * 10_i64.pow((FRACTION_DIGITS - counted.len()) as u32))
    }

    fn offset(&mut self) -> Option<i16> {
        if self.text.is_empty() {
            self.deviates("has no time zone, read as UTC");
            return Some(0);
        }
        if self.mark(b"Zz").is_some() {
            self.deviates("names UTC as Z instead of -00:00");
            return Some(0);
        }
        let sign = self.mark(b"+-")?;
        let hours = self.number(2)?;
        if self.mark(b":").is_none() {
            self.deviates("has no colon in its time zone");
        }
        let minutes = self.number(2)?;
        if minutes > 59 {
            return None;
        }
        let offset = i16::try_from(hours * 60 + minutes).ok()?;
        if offset == 0 && sign == b'+' {
            self.deviates("names UTC as +00:00 instead of -00:00");
        }
        Some(if sign == b'-' { -offset } else { offset })
    }
}

fn is_date(year: i64, month: i64, day: i64) -> bool {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    (1..=length).contains(&day)
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar (years begin in March here, so that
/// the leap day is the last).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days`]: year, month, day.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(text: &str) -> Option<i64> {
        read(text).map(|read| read.timestamp.utc_micros().div_euclid(MICROS_PER_SECOND))
    }

    #[test]
    fn times_are_instants_with_their_offset() {
        for (text, expected, offset) in [
            ("1970-01-01T00:00:00-00:00", 0, 0),
            ("2025-05-20T12:41:00+02:00", 1_747_737_660, 120),
            ("2025-02-28T14:38:00-05:00", 1_740_771_480, -300),
            ("2024-02-29T23:59:59+14:00", 1_709_200_799, 840),
            ("2025-12-31T24:00:00-00:00", 1_767_225_600, 0),
            ("2016-12-31T23:59:60-00:00", 1_483_228_800, 0),
            ("0001-01-02T00:00:00-00:00", -62_135_510_400, 0),
        ] {
            let read = read(text).unwrap();
            assert_eq!((seconds(text), read.timestamp.offset_minutes()), (Some(expected), offset), "{text}");
            assert_eq!(read.deviation, None, "{text}");
        }
    }

    #[test]
    fn near_misses_are_read_and_named() {
        for (text, deviation) in [
            ("2025-01-01T00:00:00Z", "names UTC as Z instead of -00:00"),
            ("2025-01-01T00:00:00+00:00", "names UTC as +00:00 instead of -00:00"),
            ("2025-01-01T00:00:00.999-00:00", "has a fraction of a second"),
            ("2025-01-01 00:00:00-00:00", "has no T between date and time"),
            ("2025-01-01T00:00:00", "has no time zone, read as UTC"),
            ("2025-01-01T00:00-00:00", "has no seconds"),
            ("2025-01-01T01:00:00+0100", "has no colon in its time zone"),
        ] {
            let read = read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(read.deviation, Some(deviation), "{text}");
            assert_eq!(seconds(text), Some(1_735_689_600), "{text}");
        }
        assert_eq!(
            Timestamp::parse("2025-01-01T00:00:00.1234567Z").unwrap().utc_micros() % 1_000_000,
            123_456
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "now",
            "2025-02-29T00:00:00-00:00",
            "2025-13-01T00:00:00-00:00",
            "2025-00-01T00:00:00-00:00",
            "2025-04-31T00:00:00-00:00",
            "2025-01-01T24:00:01-00:00",
            "2025-01-01T23:60:00-00:00",
            "2025-01-01T23:00:61-00:00",
            "2025-01-01T00:00:00+14:01",
            "2025-01-01T00:00:00+01:60",
            "2025-01-01T00:00:00-00:00x",
            "2025-01-01T00:00:00.-00:00",
            "0000-01-01T00:00:00-00:00",
            "10000-01-01T00:00:00-00:00",
            "2025-1-01T00:00:00-00:00",
            "+025-01-01T00:00:00-00:00",
            "2025-01-01",
            "２０２５-01-01T00:00:00-00:00",
            "0001-01-01T00:00:00+14:00x",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn bounds_are_checked() {
        assert_eq!(Timestamp::new(0, 841), None);
        assert_eq!(Timestamp::new(i64::MAX, 0), None);
        assert_eq!(Timestamp::new(i64::MIN, 0), None);
        let last = Timestamp::parse("9999-12-31T23:59:59-00:00").unwrap();
        assert_eq!(Timestamp::new(last.utc_micros(), 1), None, "in local time it is the year 10000");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in -62_135_000_000_i64..253_402_000_000, offset in -840_i16..=840) {
            let timestamp = Timestamp::new(seconds * MICROS_PER_SECOND, offset).unwrap();
            let read = read(&timestamp.to_string()).unwrap();
            prop_assert_eq!(read, Read { timestamp, deviation: None });
        }

        #[test]
        fn no_text_panics(text in "[0-9:+.TZ-]{0,30}") {
            let _ = read(&text);
        }
    }
}
