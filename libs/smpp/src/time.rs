//! `schedule_delivery_time`, `validity_period` and `final_date` (3.4 §7.1.1): `YYMMDDhhmmsstnnp`.

/// Characters of a time.
pub const TIME_OCTETS: usize = 16;

/// A time as SMPP writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmppTime {
    /// A moment. `year` is the last two digits.
    Absolute {
        /// 0 to 99.
        year: u8,
        /// 1 to 12.
        month: u8,
        /// 1 to 31.
        day: u8,
        /// 0 to 23.
        hour: u8,
        /// 0 to 59.
        minute: u8,
        /// 0 to 59.
        second: u8,
        /// Tenths of a second.
        tenths: u8,
        /// Local time ahead of UTC, in quarters of an hour, -48 to 48.
        offset_quarters: i8,
    },
    /// A time from now.
    Relative {
        /// 0 to 99.
        years: u8,
        /// 0 to 99.
        months: u8,
        /// 0 to 99.
        days: u8,
        /// 0 to 99.
        hours: u8,
        /// 0 to 99.
        minutes: u8,
        /// 0 to 99.
        seconds: u8,
    },
}

impl SmppTime {
    /// Reads a time; `None` when it is not one. The empty string (now, or the default) is not one either.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<SmppTime> {
        let text: &[u8; TIME_OCTETS] = text.try_into().ok()?;
        let (digits, sign) = (&text[..15], text[15]);
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let two = |at: usize| (digits[at] - b'0') * 10 + (digits[at + 1] - b'0');
        let [a, b, c, d, e, f] = [two(0), two(2), two(4), two(6), two(8), two(10)];
        let (tenths, quarters) = (digits[12] - b'0', two(13));
        if sign == b'R' {
            let whole = tenths == 0 && quarters == 0;
            return whole.then_some(SmppTime::Relative {
                years: a,
                months: b,
                days: c,
                hours: d,
                minutes: e,
                seconds: f,
            });
        }
        let in_range = (1..=12).contains(&b)
            && (1..=days_of(b, a)).contains(&c)
            && d <= 23
            && e <= 59
            && f <= 59
            && quarters <= 48;
        let offset = i8::try_from(quarters).ok()?;
        let offset_quarters = match sign {
            b'+' => offset,
            b'-' => -offset,
            _ => return None,
        };
        let time = SmppTime::Absolute {
            year: a,
            month: b,
            day: c,
            hour: d,
            minute: e,
            second: f,
            tenths,
            offset_quarters,
        };
        in_range.then_some(time)
    }

    /// A relative time of so many seconds, as days, hours, minutes and seconds; over 99 days it is capped
    /// there.
    #[must_use]
    pub fn relative(seconds: u64) -> SmppTime {
        let seconds = seconds.min(99 * 86_400);
        let part = |unit: u64, modulus: u64| (seconds / unit % modulus) as u8;
        SmppTime::Relative {
            years: 0,
            months: 0,
            days: part(86_400, 100),
            hours: part(3_600, 24),
            minutes: part(60, 60),
            seconds: part(1, 60),
        }
    }

    /// The seconds of a relative time, a year as 365 days and a month as 30; `None` for an absolute one.
    #[must_use]
    pub fn relative_seconds(self) -> Option<u64> {
        let SmppTime::Relative { years, months, days, hours, minutes, seconds } = self else {
            return None;
        };
        let days = u64::from(years) * 365 + u64::from(months) * 30 + u64::from(days);
        Some(days * 86_400 + u64::from(hours) * 3_600 + u64::from(minutes) * 60 + u64::from(seconds))
    }

    /// The sixteen characters.
    #[must_use]
    pub fn to_bytes(self) -> [u8; TIME_OCTETS] {
        let (parts, tenths, quarters, sign) = match self {
            SmppTime::Absolute { year, month, day, hour, minute, second, tenths, offset_quarters } => {
                let sign = if offset_quarters < 0 { b'-' } else { b'+' };
                ([year, month, day, hour, minute, second], tenths, offset_quarters.unsigned_abs(), sign)
            }
            SmppTime::Relative { years, months, days, hours, minutes, seconds } => {
                ([years, months, days, hours, minutes, seconds], 0, 0, b'R')
            }
        };
        let mut text = [b'0'; TIME_OCTETS];
        for (pair, value) in text.chunks_exact_mut(2).zip(parts) {
            pair[0] = b'0' + value / 10 % 10;
            pair[1] = b'0' + value % 10;
        }
        text[12] = b'0' + tenths % 10;
        text[13] = b'0' + quarters / 10 % 10;
        text[14] = b'0' + quarters % 10;
        text[15] = sign;
        text
    }
}

/// Days of a month, 1 to 12, in a year of this century: every fourth is a leap year until 2100.
fn days_of(month: u8, year: u8) -> u8 {
    match month {
        2 if year.is_multiple_of(4) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_back() {
        for text in [
            "260102150405000+",
            "991231235959948-",
            "280229000000000+",
            "000101000000000+",
            "020610233429000R",
            "000000010000000R",
        ] {
            let time = SmppTime::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(time.to_bytes(), text.as_bytes());
        }
        let time = SmppTime::parse(b"260102150405708-");
        let expected = SmppTime::Absolute {
            year: 26,
            month: 1,
            day: 2,
            hour: 15,
            minute: 4,
            second: 5,
            tenths: 7,
            offset_quarters: -8,
        };
        assert_eq!(time, Some(expected));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let cases = [
            "",
            "260102150405000",
            "260102150405000+0",
            "260102150405000*",
            "261302150405000+",
            "260002150405000+",
            "260100150405000+",
            "260132150405000+",
            "260431150405000+",
            "260229150405000+",
            "260102240405000+",
            "260102156005000+",
            "260102150460000+",
            "260102150405049+",
            "2601021504050a0+",
            "000000010000100R",
            "000000010000001R",
        ];
        for text in cases {
            assert_eq!(SmppTime::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn relative_times_keep_their_seconds() {
        for seconds in [0, 1, 59, 60, 3_599, 3_600, 86_399, 86_400, 99 * 86_400] {
            let time = SmppTime::relative(seconds);
            assert_eq!(SmppTime::parse(&time.to_bytes()), Some(time));
            assert_eq!(time.relative_seconds(), Some(seconds));
        }
        assert_eq!(SmppTime::relative(u64::MAX).relative_seconds(), Some(99 * 86_400));
    }
}
