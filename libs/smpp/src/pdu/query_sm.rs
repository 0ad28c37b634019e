//! query_sm and query_sm_resp (3.4 §4.8).

use super::{Address, Body, Command, check};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{FINAL_DATE, MESSAGE_ID, SOURCE_ADDR};
use crate::tlv::Tlvs;
use crate::wire::{BodyReader, BodyWriter};

/// Asks for the state of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuerySm<'a> {
    /// The SMSC's name for it.
    pub message_id: &'a [u8],
    /// The sender it was submitted with, to check that it is theirs.
    pub source: Address<'a>,
    /// None in the specification; a vendor's are kept.
    pub tlvs: Tlvs<'a>,
}

impl QuerySm<'_> {
    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        check::message_id(self.message_id)?;
        self.source.check_source()?;
        self.tlvs.check()
    }
}

impl<'a> Body<'a> for QuerySm<'a> {
    fn command(&self) -> Command {
        Command::QUERY_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.message_id, &MESSAGE_ID)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(QuerySm {
            message_id: body.cstring(&MESSAGE_ID)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            tlvs: body.tlvs()?,
        })
    }
}

/// The state of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuerySmResp<'a> {
    /// The SMSC's name for it.
    pub message_id: &'a [u8],
    /// When it reached a final state: 16 characters, or empty while it has not.
    pub final_date: &'a [u8],
    /// See [`crate::receipt::MessageState`].
    pub message_state: u8,
    /// The network's error code, 0 for none.
    pub error_code: u8,
    /// None before 5.0.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for QuerySmResp<'a> {
    fn command(&self) -> Command {
        Command::QUERY_SM_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.cstring(self.final_date, &FINAL_DATE)?;
        out.raw(&[self.message_state, self.error_code]);
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(QuerySmResp {
            message_id: body.cstring(&MESSAGE_ID)?,
            final_date: body.cstring(&FINAL_DATE)?,
            message_state: body.u8("message_state")?,
            error_code: body.u8("error_code")?,
            tlvs: body.tlvs()?,
        })
    }
}
