//! cancel_broadcast_sm (5.0 §4.6.2); its response has no body.

use super::empty::empty_body;
use super::{Address, Body, Command};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{MESSAGE_ID, SERVICE_TYPE, SOURCE_ADDR};
use crate::tlv::Tlvs;
use crate::wire::{BodyReader, BodyWriter};

/// Takes back a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CancelBroadcastSm<'a> {
    /// Restricts a cancel of many to this service.
    pub service_type: &'a [u8],
    /// The MC's name for it; empty for all that match.
    pub message_id: &'a [u8],
    /// The sender it was submitted with.
    pub source: Address<'a>,
    /// `broadcast_content_type`, `user_message_reference`.
    pub tlvs: Tlvs<'a>,
}

impl CancelBroadcastSm<'_> {
    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.source.check_source()?;
        self.tlvs.check()
    }
}

impl<'a> Body<'a> for CancelBroadcastSm<'a> {
    fn command(&self) -> Command {
        Command::CANCEL_BROADCAST_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.service_type, &SERVICE_TYPE)?;
        out.cstring(self.message_id, &MESSAGE_ID)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(CancelBroadcastSm {
            service_type: body.cstring(&SERVICE_TYPE)?,
            message_id: body.cstring(&MESSAGE_ID)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            tlvs: body.tlvs()?,
        })
    }
}

empty_body! {
    /// The answer to a cancel_broadcast_sm.
    CancelBroadcastSmResp, Command::CANCEL_BROADCAST_SM_RESP
}
