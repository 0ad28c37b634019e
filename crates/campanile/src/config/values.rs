//! Formats of values whose types are our own crates'.

use cast::push::Interface;
use gateway::mail::Tls;
use gateway::sms::config::{Binding, Standing};
use records::{Channel, Mode};
use settings::{
    Format, Kind, Node, Problems, Schema, Word, format_duration, format_one_of, parse_duration, read_one_of,
    text_format, words,
};
use smpp::pdu::Version;
use smpp::receipt::IdForm;
use smpp::text::national::Language;
use smpp::text::{Charset, Concat};
use std::time::Duration;

text_format! {
    /// A channel by its name.
    ChannelName for Channel: "name of a channel", str::parse, Channel::to_string
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

words! {
    /// How sessions are bound.
    BindingWords for Binding {
        /// One connection both ways.
        Transceiver = "transceiver",
        /// Two connections, one each way.
        TransmitterReceiver = "transmitter+receiver",
        /// Submits only.
        Transmitter = "transmitter",
        /// Receives only.
        Receiver = "receiver",
    }
}

words! {
    /// When sessions are bound.
    StandingWords for Standing {
        /// Always.
        Standing = "standing",
        /// While there is something to send.
        OnDemand = "on-demand",
    }
}

words! {
    /// A version of SMPP.
    VersionWords for Version { V3_3 = "3.3", V3_4 = "3.4", V5_0 = "5.0" }
}

words! {
    /// The alphabet of `data_coding` 0.
    CharsetWords for Charset { Gsm7 = "gsm7", Latin1 = "latin1", Ascii = "ascii", Ucs2 = "ucs2" }
}

words! {
    /// How long messages are cut.
    ConcatWords for Concat { Udh8 = "udh8", Udh16 = "udh16", Sar = "sar", Payload = "payload" }
}

words! {
    /// How receipts write the ids of submissions.
    IdFormWords for IdForm {
        /// Each of the others in turn.
        Auto = "auto",
        /// As the answer to the submission writes them.
        AsIs = "as-is",
        /// Receipts are hexadecimal where answers are decimal.
        DecimalToHex = "hex",
        /// Receipts are decimal where answers are hexadecimal.
        HexToDecimal = "dec",
    }
}

words! {
    /// A language with national tables of GSM 7-bit (TS 23.038).
    LanguageWords for Language {
        Turkish = "turkish",
        Spanish = "spanish",
        Portuguese = "portuguese",
        Bengali = "bengali",
        Gujarati = "gujarati",
        Hindi = "hindi",
        Kannada = "kannada",
        Malayalam = "malayalam",
        Oriya = "oriya",
        Punjabi = "punjabi",
        Tamil = "tamil",
        Telugu = "telugu",
        Urdu = "urdu",
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

text_format! {
    /// Bits per second: `20M`, `1.5G`.
    BitRate for f64: "bits per second such as `\"20M\"`",
    |text| pace::parse_bit_rate(text).map_err(|error| error.to_string()),
    |rate| format_bit_rate(*rate)
}

text_format! {
    /// A network interface.
    InterfaceName for Interface: "name or IPv4 address of a network interface", str::parse, Interface::to_string
}

/// How a connection becomes secure: `true` and `false` where there is one way only.
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

/// A rate in the largest unit that says it exactly.
fn format_bit_rate(rate: f64) -> String {
    let unit = [("G", 1e9), ("M", 1e6), ("k", 1e3)].into_iter().find(|(_, unit)| rate % unit == 0.0);
    unit.map_or_else(|| rate.to_string(), |(name, unit)| format!("{}{name}", rate / unit))
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
