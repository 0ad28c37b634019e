use crate::{Channel, DecodeError, EndpointNo, Timestamp};
use serde::{Deserialize, Serialize};

/// A roster is stored in blocks of so many endpoints (the last may be shorter).
pub const ROSTER_BLOCK_ENDPOINTS: usize = 512;

/// What solve found: the endpoints of an alert, in blocks, written once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RosterBlock {
    /// The first entry's endpoint number.
    pub first: EndpointNo,
    /// In the order of their numbers.
    pub entries: Vec<RosterEntry>,
}

/// One endpoint, or one exclusion (then `excluded` says why).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RosterEntry {
    /// How; nothing for a person without any device.
    pub channel: Option<Channel>,
    /// Where; empty for a person without any device.
    pub address: String,
    /// Everyone behind the address who is in the audience.
    pub persons: Vec<Person>,
    /// Which text: a language of the alert's texts, or nothing for the default.
    pub language: Option<String>,
    /// Values for the placeholders of a personal text, in the template's order of first use; empty where the text is not personal.
    pub values: Vec<(String, String)>,
    /// Do not send before, by the quiet hours of whoever is behind it.
    pub not_before: Option<Timestamp>,
    /// An end of its own.
    pub expires: Option<Timestamp>,
    /// Whose constraints hold: 0 the alert's, i the audience entry i - 1's.
    pub rule: u32,
    /// Why it is left out.
    pub excluded: Option<crate::Reason>,
    /// In a standing alert: the platform's message itself.
    pub message: Option<Box<RosterMessage>>,
}

/// A platform's message as an endpoint of its standing alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterMessage {
    /// Its id.
    pub id: crate::MessageId,
    /// Who is told.
    pub party: crate::Party,
    /// When it was taken.
    pub at: Timestamp,
    /// What is sent.
    pub short: crate::Short,
    /// By this route alone.
    pub route: Option<String>,
    /// What the party wants to hear.
    pub tell: crate::Tell,
}

/// A person credited with an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The recipient's id; empty where the audience named a bare address.
    pub recipient: String,
    /// Their name.
    pub name: String,
    /// This endpoint's place in their order, from 0.
    pub step: u8,
}

impl RosterBlock {
    /// As stored.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`RosterBlock::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("roster block", bytes)
    }
}
