use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970 that never run backwards: the wall clock read once, then the monotonic one.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    born: Instant,
    born_us: u64,
}

impl Clock {
    /// A clock that begins with the wall clock's time.
    pub fn start() -> Self {
        let born_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        Clock { born: Instant::now(), born_us }
    }

    /// Now.
    pub fn now_us(&self) -> u64 {
        self.born_us + self.born.elapsed().as_micros() as u64
    }

    /// The instant of a moment; the clock's beginning for what lies before it.
    pub fn instant(&self, at_us: u64) -> tokio::time::Instant {
        (self.born + Duration::from_micros(at_us.saturating_sub(self.born_us))).into()
    }
}

/// A moment as date and time of day, UTC: year, month, day, hour, minute, second.
pub fn civil(at_us: u64) -> [u32; 6] {
    let seconds = at_us / 1_000_000;
    let (days, rest) = (seconds / 86_400, (seconds % 86_400) as u32);
    // Days to a date in the Gregorian calendar, by eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    [year as u32, month as u32, day as u32, rest / 3_600, rest / 60 % 60, rest % 60]
}

/// A moment as a mail's Date (RFC 5322 §3.3).
pub fn mail_date(at_us: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let [year, month, day, hour, minute, second] = civil(at_us);
    let week_day = DAYS[(at_us / 86_400_000_000 % 7) as usize];
    format!("{week_day}, {day} {} {year} {hour:02}:{minute:02}:{second:02} +0000", MONTHS[month as usize - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_the_dates_the_calendar_gives_them() {
        for (seconds, date) in [
            (0, [1970, 1, 1, 0, 0, 0]),
            (951_782_399, [2000, 2, 28, 23, 59, 59]),
            (951_782_400, [2000, 2, 29, 0, 0, 0]),
            (1_709_251_199, [2024, 2, 29, 23, 59, 59]),
            (1_795_000_000, [2026, 11, 18, 11, 6, 40]),
            (4_107_542_400, [2100, 3, 1, 0, 0, 0]),
        ] {
            assert_eq!(civil(seconds * 1_000_000), date, "{seconds}");
        }
        assert_eq!(mail_date(1_795_000_000_000_000), "Wed, 18 Nov 2026 11:06:40 +0000");
    }
}
