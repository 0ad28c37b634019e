use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// No delay is longer than a day.
const DELAY_MAX: Duration = Duration::from_secs(86_400);
/// An exponential delay is cut at so many times its mean.
const EXPONENTIAL_MEANS_MAX: f64 = 10.0;

/// How long something takes: always the same, evenly between two bounds, or exponential around a mean.
///
/// As text: `0`, `250ms`, `1s..3s`, `exp 5s`; units are us, ms, s, m, h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Always this.
    Fixed(Duration),
    /// Evenly from the first to the second.
    Between(Duration, Duration),
    /// Exponential with this mean, cut at ten times of it.
    Exponential(Duration),
}

impl Delay {
    /// None at all.
    pub const NONE: Delay = Delay::Fixed(Duration::ZERO);

    /// Whether it is always nothing.
    pub fn is_none(self) -> bool {
        self == Delay::NONE
    }

    /// The delay that a draw from 0 up to 1 stands for.
    pub fn at(self, unit: f64) -> Duration {
        match self {
            Delay::Fixed(delay) => delay,
            Delay::Between(from, to) => from + (to - from).mul_f64(unit.clamp(0.0, 1.0)),
            Delay::Exponential(mean) => mean.mul_f64((-(1.0 - unit).ln()).clamp(0.0, EXPONENTIAL_MEANS_MAX)),
        }
    }

    /// The longest it can be.
    pub fn longest(self) -> Duration {
        match self {
            Delay::Fixed(delay) | Delay::Between(_, delay) => delay,
            Delay::Exponential(mean) => mean.mul_f64(EXPONENTIAL_MEANS_MAX),
        }
    }
}

impl Default for Delay {
    fn default() -> Self {
        Delay::NONE
    }
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(mean) = text.strip_prefix("exp ") {
            return Ok(Delay::Exponential(duration(mean)?));
        }
        let Some((from, to)) = text.split_once("..") else {
            return Ok(Delay::Fixed(duration(text)?));
        };
        let (from, to) = (duration(from)?, duration(to)?);
        if from > to {
            return Err(format!("delay {text:?} ends before it begins"));
        }
        Ok(Delay::Between(from, to))
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let bad = || format!("delay {text:?} is not a number with us, ms, s, m or h");
    let number: f64 = number.parse().map_err(|_| bad())?;
    let seconds = match unit.trim() {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        "" if number == 0.0 => 0.0,
        _ => return Err(bad()),
    };
    if seconds > DELAY_MAX.as_secs_f64() {
        return Err(format!("delay {text:?} is over its limit of 24h"));
    }
    Ok(Duration::from_micros((seconds * 1e6).round() as u64))
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Delay::Fixed(delay) => f.write_str(&written(delay)),
            Delay::Between(from, to) => write!(f, "{}..{}", written(from), written(to)),
            Delay::Exponential(mean) => write!(f, "exp {}", written(mean)),
        }
    }
}

fn written(delay: Duration) -> String {
    match delay.as_micros() {
        0 => "0".to_owned(),
        us if us % 1_000_000 == 0 => format!("{}s", us / 1_000_000),
        us if us % 1_000 == 0 => format!("{}ms", us / 1_000),
        us => format!("{us}us"),
    }
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_read_as_they_are_written() {
        for text in ["0", "250us", "5ms", "1500ms", "2s", "1s..3s", "0..20ms", "exp 5s", "90s"] {
            assert_eq!(text.parse::<Delay>().map(|delay| delay.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("1.5s".parse(), Ok(Delay::Fixed(Duration::from_millis(1500))));
        assert_eq!("2m".parse(), Ok(Delay::Fixed(Duration::from_secs(120))));
    }

    #[test]
    fn what_is_no_delay_is_refused_by_name() {
        for text in ["", "5", "ms", "-1s", "3s..1s", "exp", "25h", "5 weeks", "1s..", "nan s", "inf"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }

    #[test]
    fn draws_stay_within_the_bounds() {
        let between = Delay::Between(Duration::from_secs(1), Duration::from_secs(3));
        assert_eq!(between.at(0.0), Duration::from_secs(1));
        assert_eq!(between.at(0.5), Duration::from_secs(2));
        let exponential = Delay::Exponential(Duration::from_secs(1));
        assert_eq!(exponential.at(0.0), Duration::ZERO);
        assert!((exponential.at(0.5).as_secs_f64() - 0.693).abs() < 0.001);
        assert_eq!(exponential.at(1.0), exponential.longest());
    }
}
