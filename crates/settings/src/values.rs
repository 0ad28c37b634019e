//! Formats of the standard library's types.

use crate::format::{ValueFormat, read_one_of, read_text};
use crate::node::{Node, NodeValue};
use crate::outline::Schema;
use crate::problem::Problems;
use crate::secret::Secret;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// No duration is longer than ten years.
const DURATION_MAX: Duration = Duration::from_secs(3650 * 86_400);

/// Units of a duration, from the longest, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

crate::text_format! {
    own PathBuf: "path",
    |text| if text.is_empty() { Err("is empty".to_owned()) } else { Ok(PathBuf::from(text)) },
    |path| path.display().to_string()
}

crate::text_format! {
    own SocketAddr: "address and port such as `\"127.0.0.1:8080\"`",
    crate::address::socket_address,
    SocketAddr::to_string
}

crate::text_format! {
    own Duration: "duration such as `\"30s\"`",
    parse_duration,
    |duration| format_duration(*duration)
}

impl ValueFormat for String {
    type Value = String;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<String> {
        read_text(node, path, problems)
    }

    fn write(value: &String) -> Option<String> {
        Some(format_text(value))
    }

    fn schema() -> Schema {
        Schema::Plain("text")
    }
}

impl ValueFormat for Secret {
    type Value = Secret;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Secret> {
        read_text(node, path, problems).map(Secret::from)
    }

    fn write(value: &Secret) -> Option<String> {
        Some(format_text(value.reveal()))
    }

    fn schema() -> Schema {
        Schema::Secret
    }
}

impl ValueFormat for bool {
    type Value = bool;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<bool> {
        match &node.kind {
            NodeValue::Bool(value) => Some(*value),
            NodeValue::Word(_) => read_one_of(node, path, &[("true", true), ("false", false)], problems),
            _ => {
                let reason = format!("must be true or false, not {}", node.kind_in_words());
                problems.add(node.place.clone(), path, reason);
                None
            }
        }
    }

    fn write(value: &bool) -> Option<String> {
        Some(value.to_string())
    }

    fn schema() -> Schema {
        Schema::Plain("`true` or `false`")
    }
}

impl ValueFormat for f64 {
    type Value = f64;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<f64> {
        let number = match &node.kind {
            NodeValue::Float(number) => Some(*number),
            NodeValue::Integer(number) => Some(*number as f64),
            NodeValue::Word(text) => text.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            let reason = format!("must be a number, not {}", node.kind_in_words());
            problems.add(node.place.clone(), path, reason);
        }
        number
    }

    fn write(value: &f64) -> Option<String> {
        Some(format!("{value:?}"))
    }

    fn schema() -> Schema {
        Schema::Plain("number")
    }
}

macro_rules! integers {
    ($($type:ty: $words:literal),*) => {$(
        impl ValueFormat for $type {
            type Value = $type;

            fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<$type> {
                let number = match &node.kind {
                    NodeValue::Integer(number) => Some(*number),
                    NodeValue::Word(text) => text.parse().ok(),
                    _ => None,
                };
                let Some(number) = number else {
                    let reason = format!("must be an integer, not {}", node.kind_in_words());
                    problems.add(node.place.clone(), path, reason);
                    return None;
                };
                let fits = <$type>::try_from(number).ok();
                if fits.is_none() {
                    let reason = format!("{number} is outside {} to {}", <$type>::MIN, <$type>::MAX);
                    problems.add(node.place.clone(), path, reason);
                }
                fits
            }

            fn write(value: &$type) -> Option<String> {
                Some(value.to_string())
            }

            fn schema() -> Schema {
                Schema::Plain($words)
            }
        }
    )*};
}
integers!(
    u8: "whole number from 0 to 255",
    u16: "whole number from 0 to 65535",
    u32: "whole number",
    u64: "whole number",
    usize: "whole number",
    i32: "whole number, also below 0",
    i64: "whole number, also below 0"
);

/// A text as TOML: a basic string in quotes.
pub fn format_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Parses a duration: a whole number and a unit, such as `500ms`, `30s`, `5m`, `2h`, `7d`; at most 3,650
/// days.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration, such as 500ms, 30s, 5m, 2h or 7d");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let (_, ms) = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(wrong)?;
    let duration = Duration::from_millis(number.checked_mul(*ms).ok_or_else(wrong)?);
    if duration > DURATION_MAX {
        return Err(format!("{text:?} is over the limit of {} d", DURATION_MAX.as_secs() / 86_400));
    }
    Ok(duration)
}

/// A duration as [`parse_duration`] reads it, in the longest unit that says it exactly; parts of a
/// millisecond are left out.
pub fn format_duration(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if ms == 0 {
        return "0s".to_owned();
    }
    let unit = UNITS.iter().find(|(_, unit)| ms.is_multiple_of(*unit));
    unit.map_or_else(String::new, |(name, unit)| format!("{}{name}", ms / unit))
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
            assert_eq!(format_duration(Duration::from_millis(ms)), text.replace(' ', ""));
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
    fn a_text_is_quoted_as_toml_reads_it() {
        for text in ["", "a", "say \"a\"", "a\\b", "a\nb\u{1}", "å"] {
            let read: toml::Table = format!("key = {}", format_text(text)).parse().unwrap();
            assert_eq!(read["key"].as_str(), Some(text));
        }
    }
}
