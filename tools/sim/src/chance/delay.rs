use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// No delay is longer than a day.
const DELAY_MAX: Duration = Duration::from_secs(86_400);
/// An exponential delay is cut at so many times its mean.
const EXPONENTIAL_MEANS_MAX: f64 = 10.0;
/// Normal draws are cut at so many standard deviations.
const DEVIATIONS_MAX: f64 = 4.0;
/// Points in a table of percentiles.
const PERCENTILES_MAX: usize = 12;
/// Greatest sigma of a lognormal delay, in thousandths.
const SIGMA_MAX: u32 = 5_000;
const MILLION: f64 = 1e6;

/// How long something takes: always the same, or a distribution.
///
/// As text: `0`, `250ms`, `1s..3s`, `exp 5s`, `normal 50ms 10ms` (mean, standard deviation),
/// `lognormal 40ms 0.8` (median, sigma of the logarithm), `percentiles 50:20ms 90:80ms 100:1s` (straight
/// lines between the points, from nothing at 0); units are us, ms, s, m, h. Nothing is below zero nor above
/// 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Always this.
    Fixed(Duration),
    /// Evenly from the first to the second.
    Between(Duration, Duration),
    /// Exponential with this mean, cut at ten times of it.
    Exponential(Duration),
    /// Normal with this mean and standard deviation, cut at four deviations.
    Normal(Duration, Duration),
    /// Lognormal with this median, and the logarithm's standard deviation in thousandths; cut at four
    /// deviations.
    LogNormal(Duration, u32),
    /// By a table of percentiles.
    Percentiles(Percentiles),
}

/// A table of percentiles, each with what is not exceeded in so many of a hundred cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentiles {
    /// Millionths and microseconds, both rising; what is unused is zero.
    points: [(u32, u64); PERCENTILES_MAX],
    used: usize,
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
            Delay::Normal(mean, deviation) => {
                let seconds = mean.as_secs_f64() + deviation.as_secs_f64() * deviations(unit);
                Duration::from_secs_f64(seconds.clamp(0.0, DELAY_MAX.as_secs_f64()))
            }
            Delay::LogNormal(median, sigma) => {
                let seconds = median.as_secs_f64() * (f64::from(sigma) / 1e3 * deviations(unit)).exp();
                Duration::from_secs_f64(seconds.clamp(0.0, DELAY_MAX.as_secs_f64()))
            }
            Delay::Percentiles(table) => table.at(unit),
        }
    }

    /// The longest it can be.
    pub fn longest(self) -> Duration {
        match self {
            Delay::Fixed(delay) | Delay::Between(_, delay) => delay,
            Delay::Exponential(mean) => mean.mul_f64(EXPONENTIAL_MEANS_MAX),
            Delay::Normal(..) | Delay::LogNormal(..) => self.at(1.0),
            Delay::Percentiles(table) => table.at(1.0),
        }
    }
}

impl Percentiles {
    fn parse(text: &str) -> Result<Self, String> {
        let mut table = Percentiles { points: [(0, 0); PERCENTILES_MAX], used: 0 };
        let mut last = (0, 0);
        for word in text.split_whitespace() {
            let bad = || format!("percentiles {text:?}: {word:?} is not as 90:80ms");
            let (percent, delay) = word.split_once(':').ok_or_else(bad)?;
            let percent: f64 = percent.parse().map_err(|_| bad())?;
            if !(0.0..=100.0).contains(&percent) {
                return Err(bad());
            }
            let point = ((percent * MILLION / 100.0).round() as u32, duration(delay)?.as_micros() as u64);
            let is_first = table.used == 0;
            if !is_first && (point.0 <= last.0 || point.1 < last.1) {
                return Err(format!("percentiles {text:?}: {word:?} does not rise"));
            }
            let place = table.points.get_mut(table.used);
            *place.ok_or_else(|| format!("percentiles {text:?}: more than {PERCENTILES_MAX} points"))? =
                point;
            table.used += 1;
            last = point;
        }
        if table.used == 0 {
            return Err("percentiles: no point, as 90:80ms".to_owned());
        }
        Ok(table)
    }

    fn points(&self) -> &[(u32, u64)] {
        &self.points[..self.used]
    }

    fn at(self, unit: f64) -> Duration {
        let wanted = unit.clamp(0.0, 1.0) * MILLION;
        let mut before = (0.0, 0.0);
        for &(share, us) in self.points() {
            let point = (f64::from(share), us as f64);
            if wanted <= point.0 {
                let along = if point.0 > before.0 { (wanted - before.0) / (point.0 - before.0) } else { 1.0 };
                return Duration::from_micros((before.1 + (point.1 - before.1) * along) as u64);
            }
            before = point;
        }
        Duration::from_micros(before.1 as u64)
    }
}

/// The standard normal distribution's quantile, cut at [`DEVIATIONS_MAX`]: P. J. Acklam's rational
/// approximation, good to nine digits.
fn deviations(unit: f64) -> f64 {
    const A: [f64; 6] = [
        -39.69683028665376,
        220.9460984245205,
        -275.9285104469687,
        138.357751867269,
        -30.66479806614716,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -54.47609879822406,
        161.5858368580409,
        -155.6989798598866,
        66.80131188771972,
        -13.28068155288572,
        1.0,
    ];
    const C: [f64; 6] = [
        -0.007784894002430293,
        -0.3223964580411365,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1.0];
    const TAIL: f64 = 0.02425;
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |share: f64| {
        let q = (-2.0 * share.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    };
    let at = if unit < TAIL {
        tail(unit.max(1e-12))
    } else if unit > 1.0 - TAIL {
        -tail((1.0 - unit).max(1e-12))
    } else {
        let q = unit - 0.5;
        q * horner(&A, q * q) / horner(&B, q * q)
    };
    at.clamp(-DEVIATIONS_MAX, DEVIATIONS_MAX)
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
        if let Some(words) = text.strip_prefix("normal ") {
            let (mean, deviation) = words
                .trim()
                .split_once(' ')
                .ok_or_else(|| format!("delay {text:?} wants a mean and a deviation, as normal 50ms 10ms"))?;
            return Ok(Delay::Normal(duration(mean)?, duration(deviation)?));
        }
        if let Some(words) = text.strip_prefix("lognormal ") {
            let (median, sigma) = words
                .trim()
                .split_once(' ')
                .ok_or_else(|| format!("delay {text:?} wants a median and a sigma, as lognormal 40ms 0.8"))?;
            let thousandths = sigma.trim().parse::<f64>().ok().map(|sigma| (sigma * 1e3).round());
            let sigma = thousandths.filter(|sigma| (0.0..=f64::from(SIGMA_MAX)).contains(sigma)).ok_or_else(
                || format!("delay {text:?}: a sigma is from 0 to {}", f64::from(SIGMA_MAX) / 1e3),
            )?;
            return Ok(Delay::LogNormal(duration(median)?, sigma as u32));
        }
        if let Some(points) = text.strip_prefix("percentiles ") {
            return Ok(Delay::Percentiles(Percentiles::parse(points)?));
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
            Delay::Normal(mean, deviation) => write!(f, "normal {} {}", written(mean), written(deviation)),
            Delay::LogNormal(median, sigma) => {
                write!(f, "lognormal {} {}", written(median), f64::from(sigma) / 1e3)
            }
            Delay::Percentiles(table) => {
                f.write_str("percentiles")?;
                table.points().iter().try_for_each(|(share, us)| {
                    write!(f, " {}:{}", f64::from(*share) / 1e4, written(Duration::from_micros(*us)))
                })
            }
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
        for text in [
            "0",
            "250us",
            "5ms",
            "1500ms",
            "2s",
            "1s..3s",
            "0..20ms",
            "exp 5s",
            "90s",
            "normal 50ms 10ms",
            "lognormal 40ms 0.8",
            "percentiles 50:20ms 90:80ms 99.9:1s 100:5s",
        ] {
            assert_eq!(text.parse::<Delay>().map(|delay| delay.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("1.5s".parse(), Ok(Delay::Fixed(Duration::from_millis(1500))));
        assert_eq!("2m".parse(), Ok(Delay::Fixed(Duration::from_secs(120))));
    }

    #[test]
    fn what_is_no_delay_is_refused_by_name() {
        for text in ["", "5", "ms", "-1s", "3s..1s", "exp", "25h", "5 weeks", "1s..", "nan s", "inf"]
            .into_iter()
            .chain(["normal 5ms", "lognormal 5ms", "lognormal 5ms 9", "lognormal 5ms x", "percentiles "])
            .chain([
                "percentiles 50",
                "percentiles 101:1s",
                "percentiles 50:1s 40:2s",
                "percentiles 50:2s 60:1s",
            ])
        {
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

    #[test]
    fn distributions_have_the_quantiles_they_name() {
        let ms = |text: &str, unit| text.parse::<Delay>().unwrap().at(unit).as_secs_f64() * 1e3;
        for (text, unit, expected) in [
            ("normal 50ms 10ms", 0.5, 50.0),
            ("normal 50ms 10ms", 0.975, 69.5996),
            ("normal 50ms 10ms", 0.01, 26.7365),
            ("normal 50ms 10ms", 1.0, 90.0),
            ("normal 5ms 10ms", 0.0, 0.0),
            ("lognormal 40ms 0.8", 0.5, 40.0),
            ("lognormal 40ms 0.8", 0.8413447, 89.0216),
            ("percentiles 50:20ms 90:80ms 100:1s", 0.25, 10.0),
            ("percentiles 50:20ms 90:80ms 100:1s", 0.7, 50.0),
            ("percentiles 50:20ms 90:80ms 100:1s", 1.0, 1000.0),
            ("percentiles 0:5ms 50:20ms", 0.9, 20.0),
        ] {
            let found = ms(text, unit);
            assert!((found - expected).abs() < 0.01, "{text} at {unit}: {found}, not {expected}");
        }
        assert_eq!("normal 50ms 10ms".parse::<Delay>().unwrap().longest(), Duration::from_millis(90));
    }
}
