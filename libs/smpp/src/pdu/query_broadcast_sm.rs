//! query_broadcast_sm and its response (5.0 §4.6.1).

use super::{Address, Body, Command, check};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{MESSAGE_ID, SOURCE_ADDR};
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};

/// Asks for the state of a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryBroadcastSm<'a> {
    /// The MC's name for it.
    pub message_id: &'a [u8],
    /// The sender it was submitted with.
    pub source: Address<'a>,
    /// `user_message_reference`.
    pub tlvs: Tlvs<'a>,
}

impl QueryBroadcastSm<'_> {
    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        // 5.0 §4.6.1.1: the ESME's own reference may name the broadcast too.
        if self.tlvs.find(Tag::USER_MESSAGE_REFERENCE).is_none() {
            check::message_id(self.message_id)?;
        }
        self.source.check_source()?;
        self.tlvs.check()
    }
}

impl<'a> Body<'a> for QueryBroadcastSm<'a> {
    fn command(&self) -> Command {
        Command::QUERY_BROADCAST_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.message_id, &MESSAGE_ID)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(QueryBroadcastSm {
            message_id: body.cstring(&MESSAGE_ID)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            tlvs: body.tlvs()?,
        })
    }
}

/// The state of a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryBroadcastSmResp<'a> {
    /// The MC's name for it.
    pub message_id: &'a [u8],
    /// `message_state`, areas and how much of each was reached.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for QueryBroadcastSmResp<'a> {
    fn command(&self) -> Command {
        Command::QUERY_BROADCAST_SM_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(QueryBroadcastSmResp { message_id: body.cstring_of_response(&MESSAGE_ID)?, tlvs: body.tlvs()? })
    }
}
