//! cancel_sm (3.4 §4.9); its response has no body.

use super::empty::empty_body;
use super::{Address, Body, Command};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{DESTINATION_ADDR, MESSAGE_ID, SERVICE_TYPE, SOURCE_ADDR};
use crate::tlv::Tlvs;
use crate::wire::{BodyReader, BodyWriter};

/// Takes back one message, or all of a sender to a destination when `message_id` is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CancelSm<'a> {
    /// Restricts a cancel of many to this service.
    pub service_type: &'a [u8],
    /// The SMSC's name for the message; empty for all that match.
    pub message_id: &'a [u8],
    /// The sender they were submitted with.
    pub source: Address<'a>,
    /// Whom they are for; may be empty when `message_id` is not.
    pub destination: Address<'a>,
    /// None in the specification; a vendor's are kept.
    pub tlvs: Tlvs<'a>,
}

impl CancelSm<'_> {
    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.source.check_source()?;
        // 3.4 §4.9.1: without an id the destination says which messages are meant.
        if self.message_id.is_empty() || !self.destination.addr.is_empty() {
            self.destination.check_destination()?;
        }
        self.tlvs.check()
    }
}

impl<'a> Body<'a> for CancelSm<'a> {
    fn command(&self) -> Command {
        Command::CANCEL_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.service_type, &SERVICE_TYPE)?;
        out.cstring(self.message_id, &MESSAGE_ID)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        self.destination.encode(out, &DESTINATION_ADDR)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(CancelSm {
            service_type: body.cstring(&SERVICE_TYPE)?,
            message_id: body.cstring(&MESSAGE_ID)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            destination: Address::decode(&mut body, &DESTINATION_ADDR)?,
            tlvs: body.tlvs()?,
        })
    }
}

empty_body! {
    /// The answer to a cancel_sm.
    CancelSmResp, Command::CANCEL_SM_RESP
}
