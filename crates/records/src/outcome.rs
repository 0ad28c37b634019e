use crate::{AlertNo, CarrierReceipt, ChannelNumber, DecodeError, EndpointNo, Lane, Timestamp};
use serde::{Deserialize, Serialize};

/// One thing that happened, as appended to the topic [`crate::OUTCOMES`]. A record on the topic is a batch
/// of them: [`encode_outcomes`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// A gateway is about to write these attempts. On disk before their bytes are on the wire.
    Intent(Intent),
    /// What became of (a part of) an attempt, as far as the carrier's answer to the submission tells.
    Attempt {
        /// Which attempt.
        of: AttemptRef,
        /// By which route.
        route: String,
        /// When.
        at: Timestamp,
        /// What.
        result: AttemptResult,
    },
    /// The network said something of an earlier submission.
    Receipt(Receipt),
    /// A person said something, by the channel they got the alert on.
    Inbound(Inbound),
    /// A person answered by link or API: which delivery is known.
    Answer {
        /// Which delivery.
        alert: AlertNo,
        /// Which delivery.
        endpoint: EndpointNo,
        /// A choice's key, or free text.
        text: String,
        /// By which way: `link`, `api`.
        via: String,
        /// When.
        at: Timestamp,
    },
    /// One of several processes takes a segment over. Nothing becomes of any attempt by it.
    Claim(Claim),
    /// Which of several processes says the intents behind this, up to the record's end. Without it: the only
    /// one there is.
    By {
        /// Its name.
        node: String,
    },
    /// A carrier of short messages said something of an earlier submission, or of a message that only looks
    /// like one.
    CarrierReceipt(Box<CarrierReceipt>),
    /// A person answered a certain message of ours, as their network says.
    Reply(Box<PersonReply>),
    /// A message whose sender may be another than it says: a mail that nothing vouches for. It may answer the
    /// delivery that it names; nothing else is done by it.
    Unproven(Box<Inbound>),
}

/// A person's answer to a message that the network names. Where nobody knows the message it is taken as any
/// other message of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonReply {
    /// The carrier's id of the answered message as keys: one of them equals one of the submission's.
    pub keys: Vec<u64>,
    /// What they said.
    pub inbound: Inbound,
}

/// A process says that a segment is its own, before it intends the first entry of it. Where several processes
/// share segments, what another one intends of the segment behind this is void: it was not written. What was
/// intended before and has no outcome is for the claimant to call unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The segment's route.
    pub route: String,
    /// The segment's lane.
    pub lane: Lane,
    /// The segment's index in its topic.
    pub segment: u64,
    /// How many entries it has: when all of them are over, so is the segment.
    pub entries: u32,
    /// The process's name, another at every start.
    pub node: String,
    /// When.
    pub at: Timestamp,
}

/// The intent of one batch: entries `from..to` of a segment will be written next. Entries are written in
/// their order, so on redelivery everything below the highest `to` was (perhaps) written, and nothing above
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The segment's route.
    pub route: String,
    /// The segment's lane.
    pub lane: Lane,
    /// The segment's index in its topic.
    pub segment: u64,
    /// The segment's alert.
    pub alert: AlertNo,
    /// First entry's place.
    pub from: u32,
    /// The deliveries, in the entries' order, with their attempt's number: `to` is `from + attempts.len()`.
    pub attempts: Vec<(EndpointNo, u8)>,
    /// When.
    pub at: Timestamp,
}

/// One part of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The alert.
    pub alert: AlertNo,
    /// The endpoint.
    pub endpoint: EndpointNo,
    /// From 1.
    pub attempt: u8,
    /// From 1; a long short message has several.
    pub part: u8,
    /// Of how many.
    pub parts: u8,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptResult {
    /// The carrier took it.
    Accepted {
        /// The carrier's ids of it as keys that a receipt will share (see `Receipt::keys`); 0, 1 or 2 of
        /// them.
        keys: Vec<u64>,
        /// The carrier's id as it wrote it, for people.
        id: String,
    },
    /// The carrier said no.
    Refused {
        /// Trying again would get the same no.
        permanent: bool,
        /// Stable, such as `smpp:0000000B` or `smtp:550 5.1.1`.
        code: String,
        /// The server's words.
        text: String,
    },
    /// It was (perhaps) written, and the peer went silent.
    Unknown {
        /// Such as `connection lost after write`.
        text: String,
    },
    /// It was certainly not written, or writing it again leaves no second copy: it may be planned again.
    NotTried {
        /// Why.
        why: NotTried,
    },
}

/// Why an attempt was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotTried {
    /// `control` says pause.
    Paused,
    /// `control` says stop.
    Stopped,
    /// Its time ran out.
    Expired,
    /// The route is down.
    RouteDown,
    /// The gateway is closing, was reconfigured, or was interrupted by a crash while it wrote what it may
    /// write again.
    Closing,
}

/// What the network says of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// By which route it came.
    pub route: String,
    /// The carrier's id as keys: one of them equals one of the submission's.
    pub keys: Vec<u64>,
    /// The carrier's id as it wrote it, for people.
    pub id: String,
    /// What it says.
    pub state: ReceiptState,
    /// The network's code and words.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// States a receipt can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiptState {
    /// On its way.
    Buffered,
    /// The device has it.
    Delivered,
    /// It will not arrive.
    Failed,
    /// Its validity ended before it arrived.
    Expired,
}

/// A message from a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// By which channel.
    pub channel: ChannelNumber,
    /// By which route, if by one.
    pub route: String,
    /// Theirs.
    pub from: String,
    /// Ours, as they wrote to it.
    pub to: String,
    /// What they said.
    pub text: String,
    /// What was said as octets, where it is no text or has a header or a class of its own. Without a text it
    /// is none.
    pub octets: Option<Box<InboundOctets>>,
    /// The delivery it belongs to, where the channel knows (a mail's In-Reply-To).
    pub of: Option<(AlertNo, EndpointNo)>,
    /// When.
    pub at: Timestamp,
}

/// A short message that is no text, or more than text, as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboundOctets {
    /// SMPP `data_coding`.
    pub data_coding: u8,
    /// User data headers, without the length octet in front.
    pub udh: Vec<u8>,
    /// User data without its header.
    pub octets: Vec<u8>,
}

impl InboundOctets {
    /// The message class, 0 (shown at once) to 3, where the coding has one (TS 23.038, 4).
    pub fn class(&self) -> Option<u8> {
        let has_class =
            matches!(self.data_coding, 0x10..=0x1F | 0x30..=0x3F | 0x50..=0x5F | 0x70..=0x7F | 0xF0..=0xFF);
        has_class.then_some(self.data_coding & 0x03)
    }

    /// What waits for the person, where the coding says so (TS 23.038, 4): 0 voice, 1 fax, 2 mail, 3 other; 4
    /// more when it waits no longer.
    pub fn waiting(&self) -> Option<u8> {
        let ends = if self.data_coding & 0x08 == 0 { 4 } else { 0 };
        matches!(self.data_coding, 0xC0..=0xEF).then_some(self.data_coding & 0x03 | ends)
    }
}

/// The key by which a mail's submission and its bounces find each other: a mail has no carrier id that a
/// bounce would repeat, but its envelope sender names the delivery. Stable over versions; never the same for
/// two endpoints of one alert.
pub fn mail_key(alert: AlertNo, endpoint: EndpointNo) -> u64 {
    /// "mail" in ASCII, so that no other channel's mixing starts from the same state.
    const SALT: u64 = 0x6d61_696c_0000_0000;
    mix(mix(SALT ^ u64::from(endpoint.0)) ^ alert.0)
}

/// The key by which an edge site's submission and its receipt find each other. Stable over versions; never
/// the same for two endpoints of one alert.
pub fn edge_key(alert: AlertNo, endpoint: EndpointNo) -> u64 {
    /// "edge" in ASCII.
    const SALT: u64 = 0x6564_6765_0000_0000;
    mix(mix(SALT ^ u64::from(endpoint.0)) ^ alert.0)
}

/// The key by which a submission and what is said of it later find each other, on a channel whose network
/// names no id. Stable over versions; never the same for two endpoints of one alert.
pub fn channel_key(channel: ChannelNumber, alert: AlertNo, endpoint: EndpointNo) -> u64 {
    /// "ch" in ASCII; the channel's number is behind it.
    const SALT: u64 = 0x6368_0000_0000_0000;
    mix(mix((SALT | u64::from(channel.0) << 32) ^ u64::from(endpoint.0)) ^ alert.0)
}

/// The finaliser of SplitMix64: a bijection that spreads every bit over all.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// One record for the topic of outcomes.
pub fn encode_outcomes(outcomes: &[Outcome]) -> Vec<u8> {
    crate::to_bytes(&outcomes)
}

/// Reads what [`encode_outcomes`] wrote.
pub fn decode_outcomes(bytes: &[u8]) -> Result<Vec<Outcome>, DecodeError> {
    crate::from_bytes("batch of outcomes", bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn class_and_waiting_are_read_by_the_standards_coding_groups() {
        let cases = [
            (0x00, None, None),
            (0x08, None, None),
            (0x10, Some(0), None),
            (0x1A, Some(2), None),
            (0xC0, None, Some(4)),
            (0xC8, None, Some(0)),
            (0xDA, None, Some(2)),
            (0xE3, None, Some(7)),
            (0xF0, Some(0), None),
            (0xF5, Some(1), None),
        ];
        for (data_coding, class, waiting) in cases {
            let octets = InboundOctets { data_coding, udh: Vec::new(), octets: Vec::new() };
            assert_eq!((octets.class(), octets.waiting()), (class, waiting), "{data_coding:#x}");
        }
    }

    #[test]
    fn a_mails_key_is_stable_and_differs_between_deliveries() {
        assert_eq!(mail_key(AlertNo(7), EndpointNo(42)), mail_key(AlertNo(7), EndpointNo(42)));
        assert_eq!(mail_key(AlertNo(1), EndpointNo(2)), KNOWN, "the key is on disk: it may never change");
        let keys: HashSet<u64> = (0..300)
            .flat_map(|alert| (0..300).map(move |endpoint| mail_key(AlertNo(alert), EndpointNo(endpoint))))
            .collect();
        assert_eq!(keys.len(), 90_000);
    }

    /// `mail_key(1, 2)`, as first released.
    const KNOWN: u64 = 18089484182686314042;
}
