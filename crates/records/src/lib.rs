//! The nouns that cross a floor of the server, and nothing else.
//!
//! A noun lives here when two crates that may not know each other speak of it: a door hands an
//! [`Alert`] to the engine, the engine a [`Segment`] to a gateway, a gateway an [`Outcome`] back.
//! There is no behaviour here beyond reading and writing the nouns themselves.
//!
//! Words are those of the lexicon in ARCHITECTURE.md.

mod account;
mod alert;
mod approval;
mod batch;
mod bill;
mod carrier_callback;
mod carrier_receipt;
mod channel;
mod delivery;
mod form;
mod group;
mod help;
mod ids;
mod line_block;
mod message;
mod notice;
mod outcome;
mod preview;
mod recipient;
mod redacted;
mod roster;
mod route;
mod segment;
mod service_call;
mod share;
mod text_topic;
mod time;
mod topics;
mod trouble;
mod user;

pub use account::{Account, Role, Token};
pub use alert::{
    Alert, AlertRequest, AlertState, AnswerRules, AreaRequest, Attachment, AudienceEntry, BUS_LOST,
    CallbackEvent, CallbackRequest, ChannelTexts, Choice, ENOUGH_ANSWERS, Mode, NamedArea, OnUnknown, Origin,
    OwnText, Priority, StopWhen, Strategy, Terminal, Texts,
};
pub use approval::{
    Approval, ApprovalNeed, ApprovalPerson, EndedBy, EndedKind, GivenApproval, SentAlone, SteeringRequest,
    ToldApprovers,
};
pub use batch::{AttemptResultRef, OutcomeBatch};
pub use bill::{Bill, BillItem, Funding, Unpaid};
pub use carrier_callback::{CallbackPurpose, CarrierCallback};
pub use carrier_receipt::{CarrierReceipt, CarrierReport};
pub use channel::ChannelNumber;
pub use delivery::{Answer, Delivery, DeliveryState, Reason};
pub use form::{DATA_FORM, FORM, behind_form, with_form};
pub use group::{Group, JoinRule, Rule, Test};
pub use help::{HelpCase, HelpNote, HelpReason};
pub use ids::{AlertId, AlertNo, EndpointNo};
pub use line_block::LineBlock;
pub use message::{
    ClientEvent, ClientInbound, ClientReceipt, DlrRequest, DlrState, Intake, Message, MessageClient,
    MessageId, MessageStatus, Short, ShortAddress, ShortText,
};
pub use notice::{Notice, NoticeVerb};
pub use outcome::{
    AttemptRef, AttemptResult, Claim, Inbound, InboundOctets, Intent, NotTried, Outcome, PersonReply,
    Receipt, ReceiptState, channel_key, decode_outcomes, edge_key, encode_outcomes, mail_key,
};
pub use preview::{MessagePreview, PreviewSource, TextEncoding};
pub use recipient::{
    Device, DeviceProfile, Letters, PersonFacts, Position, Preference, QuietHours, Recipient, RecipientView,
};
pub use redacted::Redacted;
pub use roster::{
    Person, PlacedProfile, QuietSpan, ROSTER_BLOCK_ENDPOINTS, RosterBlock, RosterEntry, RosterMessage,
    RosterSheet,
};
pub use route::{Lane, NodeHealth, Route, RouteHealth, RouteHold};
pub use segment::{Body, Content, Entry, SEGMENT_OCTETS_MAX, SEGMENT_SECONDS_MAX, Segment};
pub use service_call::{SERVICE_CALLS, ServiceCall};
pub use share::{RateAsk, RateAsks, RateGrant, RateGrants};
pub use text_topic::{TEXT_TOPIC_OCTETS_MAX, TEXT_TOPICS, text_topic_of_bus, text_topic_on_bus};
pub use time::Timestamp;
pub use topics::{
    ACCEPTED, ASKS, CONTROL, Control, ControlState, INBOUND, INTAKE, NOTICE_GROUP, NOTICES, OUTCOMES,
    RATES_ASKED, RATES_GRANTED, ROUTE_HOLDS, ROUTES, TOLD_TAIL, answers_topic, callbacks_topic, client_topic,
    decode_accepted, encode_accepted, health_key, health_of, segment_topic,
};
pub use trouble::{ServerTrouble, TroubleTracker};
pub use user::UserRole;

/// Why bytes could not be read as a noun. Such bytes come from our own log, so this means damage
/// or a newer version, never a peer's mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// The noun that was expected.
    pub noun: &'static str,
    /// What was wrong.
    pub why: String,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot read a {}: {}", self.noun, self.why)
    }
}
impl std::error::Error for DecodeError {}

/// A vector with the form's octet, and room for most records.
fn started() -> Vec<u8> {
    let mut out = Vec::with_capacity(RECORD_OCTETS);
    out.push(FORM);
    out
}

/// Most records have fewer octets.
const RECORD_OCTETS: usize = 192;

pub(crate) fn to_bytes<T: serde::Serialize>(value: &T) -> Vec<u8> {
    // Writing to a growing vector fails only for types without a known length, which no noun has.
    postcard::to_extend(value, started()).expect("a noun has a known length")
}

pub(crate) fn extend_with<T: serde::Serialize>(out: &mut Vec<u8>, value: &T) {
    out.push(FORM);
    // As in `to_bytes`; the vector is moved through, not copied.
    let behind = postcard::to_extend(value, std::mem::take(out)).expect("a noun has a known length");
    *out = behind;
}

/// The same without the form's octet: a piece of something that has it in front.
pub(crate) fn write_behind<T: serde::Serialize>(out: &mut Vec<u8>, value: &T) {
    let behind = postcard::to_extend(value, std::mem::take(out)).expect("a noun has a known length");
    *out = behind;
}

/// Reads one piece, and answers with what is behind it.
pub(crate) fn read_one<'a, T: serde::Deserialize<'a>>(
    noun: &'static str,
    bytes: &'a [u8],
) -> Result<(T, &'a [u8]), DecodeError> {
    postcard::take_from_bytes(bytes).map_err(|error| DecodeError { noun, why: error.to_string() })
}

pub(crate) fn from_bytes<'a, T: serde::Deserialize<'a>>(
    noun: &'static str,
    bytes: &'a [u8],
) -> Result<T, DecodeError> {
    let rest = behind_form(noun, bytes)?;
    postcard::from_bytes(rest).map_err(|error| DecodeError { noun, why: error.to_string() })
}
