//! Delivery receipts (3.4 appendix B and §5.3.2.12, 33, 35): reading, writing, and finding the message they
//! are about.

use crate::error::EncodeError;
use crate::pdu::{DataSm, DeliverSm, esm_class};
use crate::tlv::{Tag, TlvBuf, Tlvs};
use std::fmt;

mod id;
mod plain;
mod text;

#[cfg(test)]
mod tests;

pub use id::{IdForm, IdKeys, receipt_keys, submit_key};
pub use plain::plain_text;

/// Characters of the message's text that a receipt repeats (appendix B).
const TEXT_OCTETS_MAX: usize = 20;

/// `message_state` (3.4 §5.2.28, 5.0 §4.7.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageState {
    /// 5.0: not yet sent.
    Scheduled = 0,
    /// On its way.
    Enroute = 1,
    /// Delivered to the phone.
    Delivered = 2,
    /// Its validity ended first.
    Expired = 3,
    /// Deleted.
    Deleted = 4,
    /// Cannot be delivered.
    Undeliverable = 5,
    /// Accepted: read by customer service on behalf of the subscriber.
    Accepted = 6,
    /// The SMSC does not know.
    Unknown = 7,
    /// Rejected.
    Rejected = 8,
    /// 5.0: accepted, but not sent.
    Skipped = 9,
}

/// States, their word in a receipt, and the beginnings by which variants of the word are known.
const STATES: [(MessageState, &str, &[&str]); 10] = [
    (MessageState::Delivered, "DELIVRD", &["DELIV"]),
    (MessageState::Undeliverable, "UNDELIV", &["UNDEL", "FAIL"]),
    (MessageState::Expired, "EXPIRED", &["EXPIR"]),
    (MessageState::Rejected, "REJECTD", &["REJEC"]),
    (MessageState::Deleted, "DELETED", &["DELET", "CANCEL"]),
    (MessageState::Accepted, "ACCEPTD", &["ACCEP"]),
    (MessageState::Enroute, "ENROUTE", &["ENROU", "BUFFER", "PENDING", "SENT"]),
    (MessageState::Unknown, "UNKNOWN", &["UNKNO"]),
    (MessageState::Scheduled, "SCHEDLD", &["SCHED"]),
    (MessageState::Skipped, "SKIPPED", &["SKIPP"]),
];

impl MessageState {
    /// From the octet of `message_state`.
    #[must_use]
    pub fn from_code(code: u8) -> Option<MessageState> {
        STATES.iter().map(|(state, ..)| *state).find(|state| *state as u8 == code)
    }

    /// From the word behind `stat:`, in any case, also where a carrier spells it out or differently.
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<MessageState> {
        let begins = |start: &&str| {
            word.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
        };
        STATES.iter().find(|(_, _, starts)| starts.iter().any(begins)).map(|(state, ..)| *state)
    }

    /// The word behind `stat:`.
    #[must_use]
    pub fn word(self) -> &'static str {
        STATES.iter().find(|(state, ..)| *state == self).map_or("UNKNOWN", |(_, word, _)| word)
    }

    /// The octet of `message_state`.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether nothing comes after it.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, MessageState::Scheduled | MessageState::Enroute)
    }
}

/// `network_error_code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NetworkError {
    /// 1 ANSI-136, 2 IS-95, 3 GSM, 8 carrier's own …
    pub network: u8,
    /// The network's code.
    pub code: u16,
}

/// What a receipt says. TLVs go before the text; both ids are kept, for they may differ.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt<'a> {
    /// `receipted_message_id`; empty when there is none.
    pub tlv_id: &'a [u8],
    /// `id:` of the text; empty when there is none.
    pub text_id: &'a [u8],
    /// `message_state`, else `stat:`; `None` when neither says anything known.
    pub state: Option<MessageState>,
    /// The word behind `stat:` as it came.
    pub state_word: &'a [u8],
    /// `err:` as it came: often three digits, sometimes hexadecimal or words.
    pub error: &'a [u8],
    /// `network_error_code`.
    pub network_error: Option<NetworkError>,
    /// `sub:`, messages submitted.
    pub submitted: Option<u32>,
    /// `dlvrd:`, messages delivered.
    pub delivered: Option<u32>,
    /// `submit date:` as it came, mostly `YYMMDDhhmm` or with seconds.
    pub submit_date: &'a [u8],
    /// `done date:` as it came.
    pub done_date: &'a [u8],
    /// `text:`, the beginning of the message.
    pub text: &'a [u8],
    /// An intermediate notification: a final receipt comes later.
    pub intermediate: bool,
}

impl<'a> Receipt<'a> {
    /// The receipt in a deliver_sm, or `None` when it is a message from a phone. It is a receipt when
    /// `esm_class` or a `receipted_message_id` says so: what only looks like one may have been typed by a
    /// person.
    #[must_use]
    pub fn of_deliver(pdu: &DeliverSm<'a>) -> Option<Receipt<'a>> {
        Receipt::of(pdu.esm_class, pdu.has_udh(), pdu.message(), pdu.tlvs)
    }

    /// The receipt in a data_sm, see [`Receipt::of_deliver`].
    #[must_use]
    pub fn of_data(pdu: &DataSm<'a>) -> Option<Receipt<'a>> {
        Receipt::of(pdu.esm_class, pdu.has_udh(), pdu.message(), pdu.tlvs)
    }

    fn of(class: u8, has_udh: bool, message: &'a [u8], tlvs: Tlvs<'a>) -> Option<Receipt<'a>> {
        let text = match has_udh {
            true => crate::text::udh::Udh::split(message).map_or(message, |(_, text)| text),
            false => message,
        };
        Receipt::marked(class, text, tlvs)
    }

    /// The receipt in a message with this `esm_class`, or `None` when neither that nor a
    /// `receipted_message_id` says that it is one. `text` is the message behind its header, see
    /// [`plain_text`].
    #[must_use]
    pub fn marked(class: u8, text: &'a [u8], tlvs: Tlvs<'a>) -> Option<Receipt<'a>> {
        let kind = class & esm_class::TYPE_MASK;
        let said = matches!(kind, esm_class::RECEIPT | esm_class::INTERMEDIATE);
        if !said && tlvs.find(Tag::RECEIPTED_MESSAGE_ID).is_none() {
            return None;
        }
        let mut receipt = Receipt::parse(text, tlvs);
        receipt.intermediate = kind == esm_class::INTERMEDIATE;
        Some(receipt)
    }

    /// The receipt that `text` may be though nothing marks it: it has an id and a state. It is one if that id
    /// is of a message that was submitted; else a person typed it.
    #[must_use]
    pub fn unmarked(text: &'a [u8]) -> Option<Receipt<'a>> {
        let receipt = text::parse(text);
        (!receipt.text_id.is_empty() && !receipt.state_word.is_empty()).then_some(receipt)
    }

    /// Reads a receipt's text and TLVs, for a carrier known to mark its receipts in no way. A text without a
    /// known word gives an empty receipt.
    #[must_use]
    pub fn parse(message: &'a [u8], tlvs: Tlvs<'a>) -> Receipt<'a> {
        let mut receipt = text::parse(message);
        if tlvs.is_empty() {
            return receipt;
        }
        receipt.tlv_id = tlvs.find_cstring(Tag::RECEIPTED_MESSAGE_ID).unwrap_or(b"");
        if let Some(state) = tlvs.find_u8(Tag::MESSAGE_STATE).and_then(MessageState::from_code) {
            receipt.state = Some(state);
        }
        if let Some(&[network, high, low]) = tlvs.find(Tag::NETWORK_ERROR_CODE) {
            receipt.network_error = Some(NetworkError { network, code: u16::from_be_bytes([high, low]) });
        }
        receipt
    }

    /// The message's id: the TLV's, else the text's; empty when neither has one.
    #[must_use]
    pub fn id(&self) -> &'a [u8] {
        if self.tlv_id.is_empty() { self.text_id } else { self.tlv_id }
    }

    /// The ids to look for, the surest first; none, one or two.
    pub fn ids(&self) -> impl Iterator<Item = &'a [u8]> {
        let second = if self.text_id == self.tlv_id { b"" } else { self.text_id };
        [self.tlv_id, second].into_iter().filter(|id| !id.is_empty())
    }

    /// Whether it says nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id().is_empty() && self.state.is_none()
    }

    /// Appends the text of appendix B, `text` cut to 20 octets. For the SMSC's side: the id is
    /// [`Receipt::id`], dates are `YYMMDDhhmm`.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        text::write(self, out);
    }

    /// Appends `receipted_message_id`, `message_state` and, if there is one, `network_error_code`.
    ///
    /// # Errors
    /// An id over 65,534 octets.
    pub fn write_tlvs(&self, out: &mut TlvBuf) -> Result<(), EncodeError> {
        out.push_cstring(Tag::RECEIPTED_MESSAGE_ID, self.id())?;
        if let Some(state) = self.state {
            out.push_u8(Tag::MESSAGE_STATE, state.code());
        }
        if let Some(NetworkError { network, code }) = self.network_error {
            let [high, low] = code.to_be_bytes();
            out.push(Tag::NETWORK_ERROR_CODE, &[network, high, low])?;
        }
        Ok(())
    }
}

impl fmt::Debug for Receipt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = String::from_utf8_lossy;
        f.debug_struct("Receipt")
            .field("tlv_id", &words(self.tlv_id))
            .field("text_id", &words(self.text_id))
            .field("state", &self.state)
            .field("state_word", &words(self.state_word))
            .field("error", &words(self.error))
            .field("network_error", &self.network_error)
            .field("submitted", &self.submitted)
            .field("delivered", &self.delivered)
            .field("submit_date", &words(self.submit_date))
            .field("done_date", &words(self.done_date))
            .field("text", &words(self.text))
            .field("intermediate", &self.intermediate)
            .finish()
    }
}
