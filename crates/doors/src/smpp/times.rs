//! SMPP's times and ours.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use records::Timestamp;
use smpp::time::{SmppTime, TIME_OCTETS};

const MICROS: i64 = 1_000_000;
/// `nn` counts quarters of an hour.
const QUARTER_S: i64 = 900;

/// The point in time of a text that arrived at `now`; nothing for one that does not exist, such as 30
/// February.
pub(super) fn moment(text: &[u8], now: Timestamp) -> Option<Timestamp> {
    match SmppTime::parse(text)? {
        relative @ SmppTime::Relative { .. } => {
            let seconds = i64::try_from(relative.relative_seconds()?).ok()?;
            Some(now.plus_s(seconds))
        }
        SmppTime::Absolute { year, month, day, hour, minute, second, tenths, offset_quarters } => {
            let two = |value: u8| i8::try_from(value).ok();
            let (month, day, hour) = (two(month)?, two(day)?, two(hour)?);
            let nanos = i32::from(tenths) * 100_000_000;
            let civil =
                DateTime::new(2_000 + i16::from(year), month, day, hour, two(minute)?, two(second)?, nanos)
                    .ok()?;
            let utc = civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond();
            Some(Timestamp(utc - i64::from(offset_quarters) * QUARTER_S * MICROS))
        }
    }
}

/// `YYMMDDhhmm`, as receipts have it, in UTC.
pub(super) fn receipt_date(at: Timestamp) -> [u8; 10] {
    let all = absolute(at);
    let mut date = [0; 10];
    date.copy_from_slice(&all[..10]);
    date
}

/// `YYMMDDhhmmsstnnp`, in UTC.
pub(super) fn absolute(at: Timestamp) -> [u8; TIME_OCTETS] {
    let civil = jiff::Timestamp::from_microsecond(at.0)
        .map(|at| TimeZone::UTC.to_datetime(at))
        .unwrap_or(jiff::civil::date(2000, 1, 1).at(0, 0, 0, 0));
    let two = |value: i8| u8::try_from(value).unwrap_or(0);
    SmppTime::Absolute {
        year: civil.year().rem_euclid(100) as u8,
        month: two(civil.month()),
        day: two(civil.day()),
        hour: two(civil.hour()),
        minute: two(civil.minute()),
        second: two(civil.second()),
        tenths: (civil.subsec_nanosecond() / 100_000_000) as u8,
        offset_quarters: 0,
    }
    .to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21T23:49:36.5Z
    const AT: Timestamp = Timestamp(1_795_304_976_500_000);

    #[test]
    fn times_are_read_as_they_are_written() {
        assert_eq!(&absolute(AT), b"261121234936500+");
        assert_eq!(&receipt_date(AT), b"2611212349");
        assert_eq!(moment(&absolute(AT), Timestamp(0)), Some(AT));
        assert_eq!(&receipt_date(Timestamp(i64::MAX)), b"0001010000");
    }

    #[test]
    fn a_time_is_a_moment_or_nothing() {
        let second = |offset: i64| Some(AT.plus_s(offset));
        let cases: [(&[u8], Option<Timestamp>); 8] = [
            (b"000000000130000R", second(90)),
            (b"000001000000000R", second(86_400)),
            (b"261122004936504+", second(0)),
            (b"261121184936520-", second(0)),
            (b"260230000000000+", None),
            (b"261121234960000+", None),
            (b"", None),
            (b"tomorrow at noon", None),
        ];
        for (text, expected) in cases {
            assert_eq!(moment(text, AT), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
