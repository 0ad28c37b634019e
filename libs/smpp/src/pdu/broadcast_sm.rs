//! broadcast_sm and broadcast_sm_resp (5.0 §4.4.1): one text to all phones of an area.

use super::{Address, Body, Command, check};
use crate::error::{DecodeError, EncodeError, ParameterProblem};
use crate::limits::{MESSAGE_ID, SCHEDULE_DELIVERY_TIME, SERVICE_TYPE, SOURCE_ADDR, VALIDITY_PERIOD};
use crate::status::Status;
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};

/// The optional parameters that §4.4.1.1 makes mandatory here.
const REQUIRED: [Tag; 4] = [
    Tag::BROADCAST_AREA_IDENTIFIER,
    Tag::BROADCAST_CONTENT_TYPE,
    Tag::BROADCAST_REP_NUM,
    Tag::BROADCAST_FREQUENCY_INTERVAL,
];

/// A cell broadcast. The text, the areas and the repetition are in the TLVs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BroadcastSm<'a> {
    /// At most 5 octets.
    pub service_type: &'a [u8],
    /// The sender.
    pub source: Address<'a>,
    /// Empty, or the earlier message to replace.
    pub message_id: &'a [u8],
    /// 0 lowest to 4.
    pub priority_flag: u8,
    /// When to begin: 16 characters, or empty for now.
    pub schedule_delivery_time: &'a [u8],
    /// When to end: 16 characters, or empty for the MC's default.
    pub validity_period: &'a [u8],
    /// 1: replaces the earlier message.
    pub replace_if_present_flag: u8,
    /// The alphabet of the message.
    pub data_coding: u8,
    /// A message stored at the MC, or 0.
    pub sm_default_msg_id: u8,
    /// Areas, content type, repetitions, interval, `message_payload`.
    pub tlvs: Tlvs<'a>,
}

impl BroadcastSm<'_> {
    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad or missing parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.source.check_source()?;
        check::priority(self.priority_flag)?;
        check::time(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        check::time(self.validity_period, &VALIDITY_PERIOD)?;
        check::replace_flag(self.replace_if_present_flag)?;
        self.tlvs.check()?;
        for tag in REQUIRED {
            if self.tlvs.find(tag).is_none() {
                let field = tag.name().unwrap_or("optional parameter");
                return Err(DecodeError {
                    status: Status::RMISSINGOPTPARAM,
                    field,
                    problem: ParameterProblem::Missing,
                });
            }
        }
        Ok(())
    }
}

impl<'a> Body<'a> for BroadcastSm<'a> {
    fn command(&self) -> Command {
        Command::BROADCAST_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.service_type, &SERVICE_TYPE)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        out.cstring(self.message_id, &MESSAGE_ID)?;
        out.u8(self.priority_flag);
        out.cstring(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        out.cstring(self.validity_period, &VALIDITY_PERIOD)?;
        out.raw(&[self.replace_if_present_flag, self.data_coding, self.sm_default_msg_id]);
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(BroadcastSm {
            service_type: body.cstring(&SERVICE_TYPE)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            message_id: body.cstring(&MESSAGE_ID)?,
            priority_flag: body.u8("priority_flag")?,
            schedule_delivery_time: body.cstring(&SCHEDULE_DELIVERY_TIME)?,
            validity_period: body.cstring(&VALIDITY_PERIOD)?,
            replace_if_present_flag: body.u8("replace_if_present_flag")?,
            data_coding: body.u8("data_coding")?,
            sm_default_msg_id: body.u8("sm_default_msg_id")?,
            tlvs: body.tlvs()?,
        })
    }
}

/// The answer to a broadcast_sm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BroadcastSmResp<'a> {
    /// The MC's name for the message.
    pub message_id: &'a [u8],
    /// `broadcast_error_status` and failed areas.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for BroadcastSmResp<'a> {
    fn command(&self) -> Command {
        Command::BROADCAST_SM_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(BroadcastSmResp { message_id: body.cstring_of_response(&MESSAGE_ID)?, tlvs: body.tlvs()? })
    }
}
