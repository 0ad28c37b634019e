use crate::{DecodeError, Lane, Mode, Timestamp};
use serde::{Deserialize, Serialize};

/// A platform's message as a door took it, by SMPP or by the platform's old HTTP call: a record on the topic
/// [`crate::INTAKE`]. Its index there is its [`MessageId`]. It takes the same way as an alert's endpoints:
/// each account has a standing alert per mode and lane, in which every message is one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Whose it is.
    pub account: String,
    /// Who handed it in, and is told what becomes of it.
    pub party: MessageClient,
    /// When it was taken.
    pub at: Timestamp,
    /// Which lane.
    pub lane: Lane,
    /// Live or drill.
    pub mode: Mode,
    /// The address: `+` and digits where the number is international, else digits as the carrier of `route`
    /// understands them.
    pub to: String,
    /// What is sent.
    pub short: Short,
    /// Not sent before.
    pub not_before: Option<Timestamp>,
    /// Not tried after.
    pub expires: Timestamp,
    /// By this route alone, where the platform names one.
    pub route: Option<String>,
    /// What its client wants to hear of it.
    pub tell: DlrRequest,
}

/// A message's id: its index on the topic of intake. Never used twice. Told outside as 16 hexadecimal digits,
/// 8 to a peer of SMPP 3.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageId(pub u64);

/// Who hands messages in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MessageClient {
    /// A client of our SMPP server, by its `system_id`.
    Smpp(String),
    /// A platform of the old HTTP way, by its `username`.
    Platform(String),
    /// Ourselves: the confirmation of a keyword.
    House,
}

/// What a message's client wants to hear of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DlrRequest {
    /// Bits [`DlrRequest::DELIVERED`] and so on, numbered as in Kannel's `dlr-mask`.
    pub mask: u8,
    /// Where to, for a platform: its `dlr-url`, with its escapes.
    pub url: Option<Box<str>>,
    /// What escapes ask for and only the request knew: `meta-data`, `account`, …, by the escape's letter.
    pub values: Vec<(char, Box<str>)>,
}

impl DlrRequest {
    /// The device has it.
    pub const DELIVERED: u8 = 1;
    /// It will not arrive.
    pub const FAILED: u8 = 2;
    /// It is on its way, not yet there (SMPP: intermediate notification).
    pub const BUFFERED: u8 = 4;
    /// The carrier took it.
    pub const ACCEPTED: u8 = 8;
    /// The carrier refused it.
    pub const REFUSED: u8 = 16;
}

/// A short message as a platform gave it: what it said of coding, headers and parameters goes through
/// unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Short {
    /// The sender shown; an empty address means the route's own.
    pub source: ShortAddress,
    /// How the destination is announced; nothing: as the route does.
    pub dest: Option<(u8, u8)>,
    /// What is said.
    pub text: ShortText,
    /// User data headers, without the length octet in front; empty: none. A part of a long message brings its
    /// own.
    pub udh: Box<[u8]>,
    /// SMPP `service_type`; empty: the route's.
    pub service_type: Box<str>,
    /// Messaging mode and type and reply path of SMPP's `esm_class`; UDHI follows from `udh`.
    pub esm_class: u8,
    /// TS 23.040 TP-PID.
    pub protocol_id: u8,
    /// SMPP `priority_flag`; nothing: by the lane.
    pub priority_flag: Option<u8>,
    /// SMPP `replace_if_present_flag`.
    pub replace_if_present: bool,
    /// Ask the carrier for a receipt: SMPP `registered_delivery`. Nothing: as the route does.
    pub registered_delivery: Option<u8>,
    /// Optional parameters that go through unchanged, as on the wire.
    pub tlvs: Box<[u8]>,
}

/// An address with its type of number and numbering plan (SMPP 3.4, 5.2.5 and 5.2.6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShortAddress {
    /// Type of number; nothing: by the form of `addr`.
    pub ton_npi: Option<(u8, u8)>,
    /// Digits or letters; empty: none given.
    pub addr: Box<str>,
}

/// What a short message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShortText {
    /// Characters: the gateway chooses the coding that holds them, and splits them. `class` is the message
    /// class of TS 23.038 (0 is flash).
    Text {
        /// The characters.
        text: Box<str>,
        /// Message class, 0 to 3.
        class: Option<u8>,
    },
    /// Octets in the coding that the platform chose. Data coding 0 is GSM 7-bit, one septet an octet; 8 is
    /// UTF-16 big endian. Too many for one part are split; a part that has a header of its own is not.
    Octets {
        /// SMPP `data_coding`.
        data_coding: u8,
        /// User data without its header.
        octets: Box<[u8]>,
    },
}

impl Default for ShortText {
    fn default() -> Self {
        ShortText::Text { text: "".into(), class: None }
    }
}

/// A record on the topic of intake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Intake {
    /// A message.
    Message(Box<Message>),
    /// A message that has not left us is taken back. The engine has found that it may be.
    Cancel {
        /// Which.
        id: MessageId,
        /// When.
        at: Timestamp,
    },
    /// A message that has not left us says something else.
    Replace {
        /// Which.
        id: MessageId,
        /// What it says now.
        short: Box<Short>,
        /// When it ends now, if that changes.
        expires: Option<Timestamp>,
        /// Not before, if that changes.
        not_before: Option<Timestamp>,
        /// When.
        at: Timestamp,
    },
}

impl Intake {
    /// As stored on the bus.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// The same, behind what `out` has.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        crate::extend_with(out, self);
    }
    /// Reads what [`Intake::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("record of intake", bytes)
    }
}

/// Event of a client: a record on the client's topic ([`crate::client_topic`]), kept until it has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientEvent {
    /// What became of a message of its own.
    Status(Box<MessageStatus>),
    /// A message from a person.
    Inbound(Box<ClientInbound>),
    /// What became of a message of its own, by a receipt of the carrier.
    Receipt(Box<ClientReceipt>),
}

/// What became of a message, with the carrier's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientReceipt {
    /// As every status of a message.
    pub status: MessageStatus,
    /// The carrier's error code, digits or letters; empty: none.
    pub error: Box<str>,
    /// Type of network and its error code (SMPP 3.4, 5.3.2.31).
    pub network_error: Option<(u8, u16)>,
    /// When it came about, by the carrier; nothing: it does not say so.
    pub done: Option<Timestamp>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStatus {
    /// Which.
    pub id: MessageId,
    /// One of the bits of [`DlrRequest`].
    pub event: u8,
    /// How it stands, in words that both doors translate.
    pub state: DlrState,
    /// The sender shown, as the client gave it.
    pub source: ShortAddress,
    /// The address, as the client gave it.
    pub to: String,
    /// How the client announced the address.
    pub dest: Option<(u8, u8)>,
    /// The network's code and words.
    pub text: String,
    /// The carrier's id of it, where known.
    pub carrier_id: String,
    /// By which route.
    pub route: String,
    /// The first characters of the message (a receipt's `text:`), at most 20.
    pub beginning: String,
    /// When it was taken.
    pub submitted: Timestamp,
    /// When this came about.
    pub at: Timestamp,
    /// What the client asked for.
    pub tell: DlrRequest,
}

/// States of a message as SMPP 3.4, 5.2.28 has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DlrState {
    /// 1: on its way.
    Enroute,
    /// 2: the device has it.
    Delivered,
    /// 3: its time ran out.
    Expired,
    /// 4: taken back.
    Deleted,
    /// 5: it will not arrive.
    Undeliverable,
    /// 6: the carrier has it.
    Accepted,
    /// 7: nobody knows.
    Unknown,
    /// 8: the carrier refused it.
    Rejected,
}

/// A message from a person, for a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInbound {
    /// Theirs.
    pub from: String,
    /// Ours, as they wrote to it.
    pub to: String,
    /// By which route.
    pub route: String,
    /// What they said.
    pub text: String,
    /// What was said as octets, where it is no text or has a header of its own.
    pub octets: Option<Box<crate::InboundOctets>>,
    /// When.
    pub at: Timestamp,
}

impl ClientEvent {
    /// As stored on the bus.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`ClientEvent::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("event for a client", bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_intake_is_read_as_it_was_written() {
        let message = Message {
            account: "a".into(),
            party: MessageClient::Smpp("platform-a".into()),
            at: Timestamp(5),
            lane: Lane::Routine,
            mode: Mode::Live,
            to: "+46701234567".into(),
            short: Short {
                text: ShortText::Octets { data_coding: 8, octets: [0, 65][..].into() },
                udh: [5, 0, 3, 1, 2, 1][..].into(),
                ..Short::default()
            },
            not_before: None,
            expires: Timestamp(9),
            route: None,
            tell: DlrRequest { mask: DlrRequest::DELIVERED | DlrRequest::FAILED, ..DlrRequest::default() },
        };
        for record in [
            Intake::Message(Box::new(message)),
            Intake::Cancel { id: MessageId(7), at: Timestamp(8) },
            Intake::Replace {
                id: MessageId(7),
                short: Box::default(),
                expires: None,
                not_before: Some(Timestamp(1)),
                at: Timestamp(8),
            },
        ] {
            let mut behind = b"front".to_vec();
            record.encode_into(&mut behind);
            assert_eq!(Intake::decode(&behind[5..]).unwrap(), record);
            assert_eq!(record.encode(), behind[5..]);
        }
    }
}
