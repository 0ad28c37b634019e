//! What keys can be set to.

use super::node::{Kind, Node};
use super::problem::Problems;
use super::read::{Keys, Value, one_of, parsed, text};
use cast::push::Interface;
use gateway::sms::config::{
    Binding, LANGUAGES, Standing, parse_charset, parse_long, parse_receipt_ids, parse_version,
};
use gateway::{Secret, mail};
use records::{Channel, Mode};
use smpp::pdu::Version;
use smpp::receipt::IdForm;
use smpp::text::national::Language;
use smpp::text::{Charset, Concat};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// No duration is longer than ten years.
const DURATION_MAX: Duration = Duration::from_secs(3650 * 86_400);

/// Values that are a text with a meaning.
macro_rules! by_text {
    ($($type:ty => $parse:expr),* $(,)?) => {$(
        impl Value for $type {
            fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<$type> {
                parsed(node, path, problems, $parse)
            }
        }
        impl Keys for $type {}
    )*};
}

by_text! {
    PathBuf => |text| if text.is_empty() { Err("is empty".to_owned()) } else { Ok(PathBuf::from(text)) },
    SocketAddr => |text| text.parse().map_err(|_| format!("{text:?} is not address:port, such as 127.0.0.1:8080")),
    Duration => parse_duration,
    Channel => str::parse,
    Binding => str::parse,
    Standing => str::parse,
    Version => parse_version,
    Charset => parse_charset,
    Concat => parse_long,
    IdForm => parse_receipt_ids,
    bus::embedded::Fsync => parse_fsync,
    BitRate => super::edge::parse_rate,
    Interface => str::parse,
}

impl Value for String {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<String> {
        text(node, path, problems)
    }
}
impl Keys for String {}

impl Value for Secret {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Secret> {
        text(node, path, problems).map(Secret::from)
    }
}
impl Keys for Secret {}

impl Value for Mode {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Mode> {
        one_of(node, path, &[("live", Mode::Live), ("drill", Mode::Drill)], problems)
    }
}
impl Keys for Mode {}

impl Value for Language {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Language> {
        one_of(node, path, &LANGUAGES, problems)
    }
}
impl Keys for Language {}

impl Value for bool {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<bool> {
        match &node.kind {
            Kind::Bool(value) => Some(*value),
            Kind::Word(_) => one_of(node, path, &[("true", true), ("false", false)], problems),
            _ => {
                problems.add(node.place.clone(), path, format!("must be true or false, not {}", node.what()));
                None
            }
        }
    }
}
impl Keys for bool {}

impl Value for f64 {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<f64> {
        let number = match &node.kind {
            Kind::Float(number) => Some(*number),
            Kind::Integer(number) => Some(*number as f64),
            Kind::Word(text) => text.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            problems.add(node.place.clone(), path, format!("must be a number, not {}", node.what()));
        }
        number
    }
}
impl Keys for f64 {}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<$type> {
                let number = match &node.kind {
                    Kind::Integer(number) => Some(*number),
                    Kind::Word(text) => text.parse().ok(),
                    _ => None,
                };
                let Some(number) = number else {
                    problems.add(node.place.clone(), path, format!("must be an integer, not {}", node.what()));
                    return None;
                };
                let fits = <$type>::try_from(number).ok();
                if fits.is_none() {
                    let reason = format!("{number} is outside {} to {}", <$type>::MIN, <$type>::MAX);
                    problems.add(node.place.clone(), path, reason);
                }
                fits
            }
        }
        impl Keys for $type {}
    )*};
}
integers!(u8, u32, u64, usize, i32, i64);

/// Bits per second: `20M`, `1.5G`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitRate(pub f64);

/// How a connection becomes secure: `true` and `false` where there is one way only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsChoice(pub mail::Tls);

impl Value for TlsChoice {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<TlsChoice> {
        use mail::Tls;
        let choice = match &node.kind {
            Kind::Bool(true) => Tls::Implicit,
            Kind::Bool(false) => Tls::None,
            _ => {
                let known = [
                    ("none", Tls::None),
                    ("starttls", Tls::StartTls),
                    ("tls", Tls::Implicit),
                    ("true", Tls::Implicit),
                    ("false", Tls::None),
                ];
                one_of(node, path, &known, problems)?
            }
        };
        Some(TlsChoice(choice))
    }
}
impl Keys for TlsChoice {}

/// `500ms`, `30s`, `5m`, `2h`, `7d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration, such as 500ms, 30s, 5m, 2h or 7d");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let ms = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let duration = Duration::from_millis(number.checked_mul(ms).ok_or_else(wrong)?);
    if duration > DURATION_MAX {
        return Err(format!("{text:?} is over the limit of {} d", DURATION_MAX.as_secs() / 86_400));
    }
    Ok(duration)
}

/// `always`, `interval:5ms`, `os`.
fn parse_fsync(text: &str) -> Result<bus::embedded::Fsync, String> {
    use bus::embedded::Fsync;
    match (text, text.strip_prefix("interval:")) {
        ("always", _) => Ok(Fsync::Always),
        ("os", _) => Ok(Fsync::Os),
        (_, Some(interval)) => match parse_duration(interval)? {
            Duration::ZERO => Err("an interval of nothing is \"always\"".to_owned()),
            interval => Ok(Fsync::Interval(interval)),
        },
        _ => Err(format!("{text:?} is none of always, interval:5ms, os")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        for (text, ms) in [
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("5 m", 300_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "1.5s",
            "5 weeks",
            "99999999999999999999s",
            "18446744073709551615d",
            "4000d",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fsync_is_one_of_three() {
        use bus::embedded::Fsync;
        assert_eq!(parse_fsync("always"), Ok(Fsync::Always));
        assert_eq!(parse_fsync("os"), Ok(Fsync::Os));
        assert_eq!(parse_fsync("interval:5ms"), Ok(Fsync::Interval(Duration::from_millis(5))));
        for text in ["", "never", "interval", "interval:", "interval:0s", "interval:5"] {
            assert!(parse_fsync(text).is_err(), "{text}");
        }
    }
}
