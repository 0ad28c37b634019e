//! End of a connection: which side ended it, and why.

use crate::error::PacketError;
use crate::{MqttReason, Properties};

/// The side to blame for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedBy {
    /// We ended it in order.
    Ourselves,
    /// The peer refused the connection or ended it by DISCONNECT.
    Peer,
    /// The peer broke the protocol.
    Misbehaviour,
    /// The peer did not answer in time.
    Silence,
    /// The connection ended without a word.
    Transport,
}

/// The end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MqttClosed {
    /// The side to blame.
    pub by: ClosedBy,
    /// The Reason Code that was received or sent, if there was one.
    pub reason: Option<MqttReason>,
    /// In words, with the peer's own.
    pub text: String,
}

impl MqttClosed {
    pub(crate) fn ourselves(reason: MqttReason) -> MqttClosed {
        MqttClosed { by: ClosedBy::Ourselves, reason: Some(reason), text: format!("we closed: {reason}") }
    }

    /// `what`: such as `the server refused the connection`.
    pub(crate) fn peer(what: &str, reason: MqttReason, properties: &Properties) -> MqttClosed {
        let mut text = format!("{what}: {}", with_words(reason, properties));
        if let Some(other) = properties.server_reference() {
            text.push_str(&format!("; it names another server: {other:?}"));
        }
        MqttClosed { by: ClosedBy::Peer, reason: Some(reason), text }
    }

    pub(crate) fn misbehaviour(peer: &str, error: PacketError) -> MqttClosed {
        let text = format!("{peer} broke the protocol: {}: {}", error.reason, error.why);
        MqttClosed { by: ClosedBy::Misbehaviour, reason: Some(error.reason), text }
    }

    pub(crate) fn silence(text: &str) -> MqttClosed {
        MqttClosed { by: ClosedBy::Silence, reason: None, text: text.to_owned() }
    }

    pub(crate) fn transport(peer: &str) -> MqttClosed {
        let text = format!("{peer} closed the connection without a word");
        MqttClosed { by: ClosedBy::Transport, reason: None, text }
    }
}

/// A reason with its number, and the peer's own words behind it.
pub(crate) fn with_words(reason: MqttReason, properties: &Properties) -> String {
    match properties.reason_string() {
        Some(words) if !words.is_empty() => format!("{reason}: {words:?}"),
        _ => reason.to_string(),
    }
}
