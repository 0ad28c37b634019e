//! TLS in the configuration: the words of a key `tls`, for every channel that connects.

use crate::mail::Tls;
use settings::{Format, Kind, Node, Problems, Schema, Word, format_one_of, read_one_of};

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
