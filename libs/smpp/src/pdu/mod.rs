//! The PDUs, one file each: structs whose fields point into the octets they were read from.

mod address;
mod alert_notification;
mod bind;
mod broadcast_sm;
mod cancel_broadcast_sm;
mod cancel_sm;
mod check;
mod data_sm;
mod deliver_sm;
mod empty;
mod enquire_link;
mod generic_nack;
mod header;
mod outbind;
mod query_broadcast_sm;
mod query_sm;
mod replace_sm;
mod submit_multi;
mod submit_sm;
mod unbind;

#[cfg(test)]
mod tests;

pub use address::Address;
pub use alert_notification::AlertNotification;
pub use bind::{Bind, BindMode, BindResp};
pub use broadcast_sm::{BroadcastSm, BroadcastSmResp};
pub use cancel_broadcast_sm::{CancelBroadcastSm, CancelBroadcastSmResp};
pub use cancel_sm::{CancelSm, CancelSmResp};
pub use data_sm::{DataSm, DataSmResp};
pub use deliver_sm::{DeliverSm, DeliverSmResp};
pub use enquire_link::{EnquireLink, EnquireLinkResp};
pub use generic_nack::GenericNack;
pub use header::{Command, Header, Version};
pub use outbind::Outbind;
pub use query_broadcast_sm::{QueryBroadcastSm, QueryBroadcastSmResp};
pub use query_sm::{QuerySm, QuerySmResp};
pub use replace_sm::{ReplaceSm, ReplaceSmResp};
pub use submit_multi::{
    Destination, DestinationBuf, Destinations, Refused, RefusedBuf, RefusedList, SubmitMulti, SubmitMultiResp,
};
pub use submit_sm::{SubmitSm, SubmitSmResp};
pub use unbind::{Unbind, UnbindResp};

use crate::error::{DecodeError, EncodeError, ParameterProblem};
use crate::limits::HEADER_OCTETS;
use crate::status::Status;
use crate::tlv::Tlvs;
use crate::wire::BodyWriter;

/// Bits of `esm_class` (3.4 §5.2.12).
pub mod esm_class {
    /// Messaging mode, bits 0 and 1: 0 default, 1 datagram, 2 forward, 3 store and forward.
    pub const MODE_MASK: u8 = 0x03;
    /// Message type, bits 2 to 5.
    pub const TYPE_MASK: u8 = 0x3C;
    /// The message is the SMSC's receipt.
    pub const RECEIPT: u8 = 0x04;
    /// The message is an SME's delivery acknowledgement.
    pub const DELIVERY_ACK: u8 = 0x08;
    /// The message is an SME's manual or user acknowledgement.
    pub const USER_ACK: u8 = 0x10;
    /// The message is an intermediate notification.
    pub const INTERMEDIATE: u8 = 0x20;
    /// The message begins with a user data header.
    pub const UDHI: u8 = 0x40;
    /// Reply path.
    pub const REPLY_PATH: u8 = 0x80;
}

/// Bits of `registered_delivery` (3.4 §5.2.17).
pub mod registered_delivery {
    /// No receipt.
    pub const NONE: u8 = 0x00;
    /// A receipt when the final state is success or failure.
    pub const FINAL: u8 = 0x01;
    /// A receipt when the final state is failure.
    pub const FAILURE: u8 = 0x02;
    /// 5.0: a receipt when the final state is success.
    pub const SUCCESS: u8 = 0x03;
    /// Mask of the three above.
    pub const RECEIPT_MASK: u8 = 0x03;
    /// Intermediate notifications too.
    pub const INTERMEDIATE: u8 = 0x10;
}

/// A PDU's body: what lies behind the header.
pub trait Body<'a>: Sized {
    /// The command this is the body of.
    fn command(&self) -> Command;

    /// Writes the body.
    ///
    /// # Errors
    /// A field over its size, or with a NUL inside. What was written before it stays in the buffer;
    /// [`encode`] cleans up.
    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError>;

    /// Reads the body of `command` from `body`, the octets behind the header.
    ///
    /// # Errors
    /// What is wrong, and the status to answer with.
    fn decode_body(command: Command, body: &'a [u8]) -> Result<Self, DecodeError>;
}

/// Appends a whole PDU to `out`, by the limits of 5.0.
///
/// # Errors
/// A field the specification does not allow; `out` is then as it was.
pub fn encode<'a, B: Body<'a>>(
    body: &B,
    status: Status,
    sequence: u32,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    encode_for(body, status, sequence, Version::V5_0, out)
}

/// Like [`encode`], by the limits of a peer of `version`; one below 3.4 reads no TLVs: they are left out.
///
/// # Errors
/// As [`encode`]; and a `message_payload` to a peer without TLVs, which would lose the message.
pub fn encode_for<'a, B: Body<'a>>(
    body: &B,
    status: Status,
    sequence: u32,
    version: Version,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let header = Header { length: 0, command: body.command(), status, sequence };
    out.extend_from_slice(&header.to_bytes());
    if let Err(error) = body.encode_body(&mut BodyWriter::new(out, version)) {
        out.truncate(start);
        return Err(error);
    }
    let length = out.len() - start;
    let Ok(octets) = u32::try_from(length) else {
        out.truncate(start);
        let problem = ParameterProblem::TooLong { octets_max: u32::MAX as usize };
        return Err(EncodeError { field: "command_length", problem });
    };
    out[start..start + 4].copy_from_slice(&octets.to_be_bytes());
    Ok(())
}

/// Appends a PDU that is only a header: a response with a non-zero status, a generic_nack, an enquire_link.
pub fn encode_header(command: Command, status: Status, sequence: u32, out: &mut Vec<u8>) {
    let header = Header { length: HEADER_OCTETS as u32, command, status, sequence };
    out.extend_from_slice(&header.to_bytes());
}

/// Appends TLVs to the PDU that begins at `start` of `out` and ends with it.
pub(crate) fn append_tlvs(tlvs: Tlvs<'_>, start: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(tlvs.as_bytes());
    // What was there fits, as `encode_for` has checked; what comes to it is a few octets.
    let octets = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&octets.to_be_bytes());
}

/// Reads one whole PDU, as [`crate::frame::split`] hands it out.
///
/// # Errors
/// The header is returned with the error whenever it could be read, so that the answer can carry its
/// sequence.
pub fn decode(pdu: &[u8]) -> Result<(Header, Pdu<'_>), (Option<Header>, DecodeError)> {
    let octets = u32::try_from(pdu.len()).unwrap_or(u32::MAX);
    let bad_length = DecodeError {
        status: Status::RINVCMDLEN,
        field: "command_length",
        problem: ParameterProblem::BadLength { octets },
    };
    let Some(header) = Header::parse(pdu) else {
        return Err((None, bad_length));
    };
    if header.length as usize != pdu.len() {
        return Err((Some(header), bad_length));
    }
    match Pdu::decode(header, &pdu[HEADER_OCTETS..]) {
        Ok(pdu) => Ok((header, pdu)),
        Err(error) => Err((Some(header), error)),
    }
}

macro_rules! pdus {
    ($($variant:ident($body:ident): $($command:ident)|+;)*) => {
        /// Any PDU's body.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Pdu<'a> {
            $(#[doc = concat!("See [`", stringify!($body), "`].")] $variant($body<'a>),)*
        }

        impl<'a> Pdu<'a> {
            fn decode_known(command: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
                match command {
                    $($(Command::$command)|+ => Ok(Pdu::$variant($body::decode_body(command, body)?)),)*
                    _ => Err(unknown_command()),
                }
            }

            /// The body of a response that has none: every field empty.
            pub(crate) fn empty(command: Command) -> Option<Self> {
                match command {
                    $($(Command::$command)|+ => Some(Pdu::$variant($body::default())),)*
                    _ => None,
                }
            }

            /// The command this is the body of.
            #[must_use]
            pub fn command(&self) -> Command {
                match self {
                    $(Pdu::$variant(body) => body.command(),)*
                }
            }
        }

        impl<'a> Body<'a> for Pdu<'a> {
            fn command(&self) -> Command {
                Pdu::command(self)
            }

            fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
                match self {
                    $(Pdu::$variant(body) => body.encode_body(out),)*
                }
            }

            fn decode_body(command: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
                Pdu::decode_known(command, body)
            }
        }
    };
}

pdus! {
    Bind(Bind): BIND_RECEIVER | BIND_TRANSMITTER | BIND_TRANSCEIVER;
    BindResp(BindResp): BIND_RECEIVER_RESP | BIND_TRANSMITTER_RESP | BIND_TRANSCEIVER_RESP;
    SubmitSm(SubmitSm): SUBMIT_SM;
    SubmitSmResp(SubmitSmResp): SUBMIT_SM_RESP;
    DeliverSm(DeliverSm): DELIVER_SM;
    DeliverSmResp(DeliverSmResp): DELIVER_SM_RESP;
    DataSm(DataSm): DATA_SM;
    DataSmResp(DataSmResp): DATA_SM_RESP;
    QuerySm(QuerySm): QUERY_SM;
    QuerySmResp(QuerySmResp): QUERY_SM_RESP;
    CancelSm(CancelSm): CANCEL_SM;
    CancelSmResp(CancelSmResp): CANCEL_SM_RESP;
    ReplaceSm(ReplaceSm): REPLACE_SM;
    ReplaceSmResp(ReplaceSmResp): REPLACE_SM_RESP;
    SubmitMulti(SubmitMulti): SUBMIT_MULTI;
    SubmitMultiResp(SubmitMultiResp): SUBMIT_MULTI_RESP;
    EnquireLink(EnquireLink): ENQUIRE_LINK;
    EnquireLinkResp(EnquireLinkResp): ENQUIRE_LINK_RESP;
    Unbind(Unbind): UNBIND;
    UnbindResp(UnbindResp): UNBIND_RESP;
    GenericNack(GenericNack): GENERIC_NACK;
    Outbind(Outbind): OUTBIND;
    AlertNotification(AlertNotification): ALERT_NOTIFICATION;
    BroadcastSm(BroadcastSm): BROADCAST_SM;
    BroadcastSmResp(BroadcastSmResp): BROADCAST_SM_RESP;
    QueryBroadcastSm(QueryBroadcastSm): QUERY_BROADCAST_SM;
    QueryBroadcastSmResp(QueryBroadcastSmResp): QUERY_BROADCAST_SM_RESP;
    CancelBroadcastSm(CancelBroadcastSm): CANCEL_BROADCAST_SM;
    CancelBroadcastSmResp(CancelBroadcastSmResp): CANCEL_BROADCAST_SM_RESP;
}

impl<'a> Pdu<'a> {
    /// Reads the body behind `header`.
    ///
    /// A response with a non-zero status may have no body or one that says nothing: both read as empty
    /// fields.
    ///
    /// # Errors
    /// What is wrong, and the status to answer with; `RINVCMDID` for an unknown command.
    pub fn decode(header: Header, body: &'a [u8]) -> Result<Self, DecodeError> {
        let decoded = Pdu::decode_known(header.command, body);
        if decoded.is_ok() || !header.command.is_response() || header.status.is_ok() {
            return decoded;
        }
        let Some(mut empty) = Pdu::empty(header.command) else {
            return decoded;
        };
        if let (Pdu::BindResp(response), Some(mode)) = (&mut empty, BindMode::of(header.command)) {
            response.mode = mode;
        }
        Ok(empty)
    }
}

fn unknown_command() -> DecodeError {
    DecodeError { status: Status::RINVCMDID, field: "command_id", problem: ParameterProblem::UnknownCommand }
}
