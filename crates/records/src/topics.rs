//! Names of the internal topics, and the small nouns on the retained ones.

use crate::{AlertNo, DecodeError, Lane};
use serde::{Deserialize, Serialize};

/// All intents and outcomes of all gateways and doors, in the order they happened. Records are
/// [`crate::Outcome`]s.
pub const OUTCOMES: &str = "outcomes";
/// What we tell platforms and observers; the notice gateway carries it out.
pub const NOTICES: &str = "notices";
/// The consumer group of the notice gateway on [`NOTICES`].
pub const NOTICE_GROUP: &str = "notice";
/// Messages from people that belong to no alert.
pub const INBOUND: &str = "inbound";
/// What doors took from platforms: records are [`crate::Intake`]s, and a message's index is its id.
pub const INTAKE: &str = "intake";
/// Retained: key is the alert's number in decimal, value a [`Control`].
pub const CONTROL: &str = "control";
/// Retained: key is the route's name, value a [`crate::RouteHealth`]; where several processes serve a route,
/// key is its [`health_key`] and value a [`crate::NodeHealth`].
pub const ROUTES: &str = "routes";
/// Retained: key is the route's name, value a [`crate::RouteHold`]. A route without one may be used.
pub const ROUTE_HOLDS: &str = "route-holds";
/// Numbers of alerts that doors have stored, for the leader, in decimal behind the form's octet. A hint: the
/// store is asked too.
pub const ACCEPTED: &str = "accepted";
/// What processes that do not lead ask the one that does.
pub const ASKS: &str = "asks";
/// What processes that share routes ask of their rates: records are [`crate::RateAsks`].
pub const RATES_ASKED: &str = "rates/asked";
/// What they are granted, each time all of it: records are [`crate::RateGrants`].
pub const RATES_GRANTED: &str = "rates/granted";

/// A record of [`ACCEPTED`].
pub fn encode_accepted(alert: AlertNo) -> Vec<u8> {
    crate::with_form(alert.0.to_string().as_bytes())
}

/// Reads a record of [`ACCEPTED`].
///
/// # Errors
/// A newer form; text that is no number.
pub fn decode_accepted(record: &[u8]) -> Result<AlertNo, DecodeError> {
    const NOUN: &str = "record of the topic accepted";
    let text = crate::behind_form(NOUN, record)?;
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.map(AlertNo).ok_or_else(|| DecodeError { noun: NOUN, why: "not a number".to_owned() })
}

/// The topic on which the process with this name hears answers to what it asked.
pub fn answers_topic(node: &str) -> String {
    let mut name = String::from("answers/");
    escape_into(&mut name, node);
    name
}

/// The key of a route's health on [`ROUTES`] as one of several processes tells it. A route's name has no `/`.
pub fn health_key(node: &str, route: &str) -> String {
    format!("{node}/{route}")
}

/// The process and the route of a [`health_key`]; nothing for the key of a process that is alone.
pub fn health_of(key: &str) -> Option<(&str, &str)> {
    key.rsplit_once('/')
}

/// The topic of segments for one route and lane.
pub fn segment_topic(route: &str, lane: Lane) -> String {
    format!("segments/{route}/{}", lane.name())
}

/// The topic of what a carrier posts to a route's own URL ([`crate::CarrierCallback`]).
pub fn callbacks_topic(route: &str) -> String {
    format!("callbacks/{route}")
}

/// So many records that a client has heard stay on its topic (and on [`NOTICES`]): a start after a crash sees
/// from them what was said already. More than a second's worth, which is how far SQL is behind.
pub const TOLD_TAIL: u64 = 65_536;

/// The topic of what a client of our SMPP server is told ([`crate::ClientEvent`]), kept until a session of
/// its takes it. The name is percent-escaped, since a `system_id` may hold anything.
pub fn client_topic(system_id: &str) -> String {
    let mut name = String::from("told/");
    escape_into(&mut name, system_id);
    name
}

fn escape_into(name: &mut String, text: &str) {
    for octet in text.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(octet)),
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
}

/// What gateways must know of an alert before each batch. An alert without one may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// The alert.
    pub alert: AlertNo,
    /// May it be sent?
    pub state: ControlState,
    /// Raised by every change.
    pub version: u32,
}

/// Whether an alert may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ControlState {
    /// Send.
    Run,
    /// Give back what is not yet written, as not tried; it will come again.
    Pause,
    /// Give back what is not yet written, as not tried; it will not come again.
    Stop,
}

impl Control {
    /// As stored on the retained topic.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`Control::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("control", bytes)
    }
}
