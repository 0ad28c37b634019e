//! replace_sm (3.4 §4.10); its response has no body.

use super::empty::empty_body;
use super::{Address, Body, Command, check};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{MESSAGE_ID, SCHEDULE_DELIVERY_TIME, SOURCE_ADDR, VALIDITY_PERIOD};
use crate::status::Status;
use crate::tlv::Tlvs;
use crate::wire::{BodyReader, BodyWriter};

/// Replaces the text of a message not yet sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplaceSm<'a> {
    /// The SMSC's name for it.
    pub message_id: &'a [u8],
    /// The sender it was submitted with.
    pub source: Address<'a>,
    /// New time to send: 16 characters, or empty to keep the old.
    pub schedule_delivery_time: &'a [u8],
    /// New validity: 16 characters, or empty to keep the old.
    pub validity_period: &'a [u8],
    /// Receipt wanted, see [`super::registered_delivery`].
    pub registered_delivery: u8,
    /// A message stored at the SMSC, or 0.
    pub sm_default_msg_id: u8,
    /// The new text, in the old one's alphabet.
    pub short_message: &'a [u8],
    /// 5.0: `message_payload`.
    pub tlvs: Tlvs<'a>,
}

impl ReplaceSm<'_> {
    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        check::message_id(self.message_id)?;
        self.source.check_source()?;
        check::time(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        check::time(self.validity_period, &VALIDITY_PERIOD)?;
        check::registered_delivery(self.registered_delivery)?;
        self.tlvs.check()?;
        check::one_message(self.short_message, self.tlvs)
    }
}

impl<'a> Body<'a> for ReplaceSm<'a> {
    fn command(&self) -> Command {
        Command::REPLACE_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.message_id, &MESSAGE_ID)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        out.cstring(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        out.cstring(self.validity_period, &VALIDITY_PERIOD)?;
        out.raw(&[self.registered_delivery, self.sm_default_msg_id]);
        out.short_message(self.short_message)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(ReplaceSm {
            message_id: body.cstring(&MESSAGE_ID)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            schedule_delivery_time: body.cstring(&SCHEDULE_DELIVERY_TIME)?,
            validity_period: body.cstring(&VALIDITY_PERIOD)?,
            registered_delivery: body.u8("registered_delivery")?,
            sm_default_msg_id: body.u8("sm_default_msg_id")?,
            short_message: {
                let length = body.u8("sm_length")?;
                body.octets(usize::from(length), "short_message", Status::RINVMSGLEN)?
            },
            tlvs: body.tlvs()?,
        })
    }
}

empty_body! {
    /// The answer to a replace_sm.
    ReplaceSmResp, Command::REPLACE_SM_RESP
}
