//! Formats of values whose types are our own crates'.

use gateway::mail::Tls;
use records::{ChannelNumber, Mode};
use settings::{
    Format, Kind, Node, Problems, Schema, Word, format_duration, format_one_of, parse_duration, read_one_of,
    text_format, words,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

text_format! {
    /// A channel by its name.
    ChannelName for ChannelNumber: "name of a channel", channels::number, |channel| channels::name(*channel).to_owned()
}

words! {
    /// The mode of a route or a client.
    ModeWords for Mode {
        /// Live alerts.
        Live = "live",
        /// Drills.
        Drill = "drill",
    }
}

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

/// When a connection becomes secure. `true` and `false` are read too: TLS from the first octet, and none.
#[derive(Debug)]
pub enum TlsWords {}

/// As they are written.
const TLS: [(&str, Tls); 5] = [
    ("none", Tls::None),
    ("starttls", Tls::StartTls),
    ("tls", Tls::Implicit),
    ("true", Tls::Implicit),
    ("false", Tls::None),
];

impl Format for TlsWords {
    type Value = Tls;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Tls> {
        match &node.kind {
            Kind::Bool(true) => Some(Tls::Implicit),
            Kind::Bool(false) => Some(Tls::None),
            _ => read_one_of(node, path, &TLS, problems),
        }
    }

    fn write(value: &Tls) -> Option<String> {
        format_one_of(value, &TLS)
    }

    fn schema() -> Schema {
        Schema::Words(TLS[..3].iter().map(|(word, _)| Word { word, doc: "" }).collect())
    }
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

/// A file of the configuration, below the data folder.
pub(super) fn below(data: &Path, file: Option<&PathBuf>) -> Option<PathBuf> {
    file.map(|file| data.join(file))
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
