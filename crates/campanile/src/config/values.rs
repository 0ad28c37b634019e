//! Formats of values whose types are those of crates that know no configuration.

use settings::{format_duration, parse_duration, text_format};
use std::time::Duration;

text_format! {
    /// When an append to a log is acknowledged.
    FsyncWords for bus::embedded::Fsync: "`\"always\"`, `\"interval:5ms\"` or `\"os\"`",
    parse_fsync,
    |fsync| match fsync {
        bus::embedded::Fsync::Always => "always".to_owned(),
        bus::embedded::Fsync::Os => "os".to_owned(),
        bus::embedded::Fsync::Interval(interval) => format!("interval:{}", format_duration(*interval)),
    }
}

/// `always`, `interval:5ms`, `os`.
fn parse_fsync(text: &str) -> Result<bus::embedded::Fsync, String> {
    use bus::embedded::Fsync;
    match (text, text.strip_prefix("interval:")) {
        ("always", _) => Ok(Fsync::Always),
        ("os", _) => Ok(Fsync::Os),
        (_, Some(interval)) => match parse_duration(interval)? {
            Duration::ZERO => Err("an interval of 0 is not possible: use \"always\"".to_owned()),
            interval => Ok(Fsync::Interval(interval)),
        },
        _ => Err(format!("{text:?} is none of always, interval:5ms, os")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
