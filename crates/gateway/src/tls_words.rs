//! TLS in the configuration: the words of a key `tls`, for every channel that connects.

use crate::mail::TlsMode;
use settings::{AllowedWord, Node, NodeValue, Problems, Schema, ValueFormat, format_one_of, read_one_of};

/// When a connection becomes secure. `true` and `false` are read too: TLS from the first octet, and none.
#[derive(Debug)]
pub enum TlsWords {}

/// As they are written.
const TLS: [(&str, TlsMode); 5] = [
    ("none", TlsMode::None),
    ("starttls", TlsMode::StartTls),
    ("tls", TlsMode::Implicit),
    ("true", TlsMode::Implicit),
    ("false", TlsMode::None),
];

impl ValueFormat for TlsWords {
    type Value = TlsMode;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<TlsMode> {
        match &node.kind {
            NodeValue::Bool(true) => Some(TlsMode::Implicit),
            NodeValue::Bool(false) => Some(TlsMode::None),
            _ => read_one_of(node, path, &TLS, problems),
        }
    }

    fn write(value: &TlsMode) -> Option<String> {
        format_one_of(value, &TLS)
    }

    fn schema() -> Schema {
        Schema::Words(TLS[..3].iter().map(|(word, _)| AllowedWord { word, doc: "" }).collect())
    }
}
