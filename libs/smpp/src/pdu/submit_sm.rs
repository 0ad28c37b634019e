//! submit_sm and submit_sm_resp (3.4 §4.4).

use super::{Address, Body, Command, check};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{
    DESTINATION_ADDR, MESSAGE_ID, SCHEDULE_DELIVERY_TIME, SERVICE_TYPE, SOURCE_ADDR, VALIDITY_PERIOD,
};
use crate::status::Status;
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};

/// One short message from an ESME.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmitSm<'a> {
    /// At most 5 octets; empty is the SMSC's default.
    pub service_type: &'a [u8],
    /// The sender.
    pub source: Address<'a>,
    /// The phone.
    pub destination: Address<'a>,
    /// Mode, type and features, see [`super::esm_class`].
    pub esm_class: u8,
    /// TP-PID.
    pub protocol_id: u8,
    /// 0 lowest to 3, in 5.0 to 4.
    pub priority_flag: u8,
    /// When to send: 16 characters, or empty for now.
    pub schedule_delivery_time: &'a [u8],
    /// How long to try: 16 characters, or empty for the SMSC's default.
    pub validity_period: &'a [u8],
    /// Receipt wanted, see [`super::registered_delivery`].
    pub registered_delivery: u8,
    /// 1: replaces the earlier message to this destination.
    pub replace_if_present_flag: u8,
    /// The alphabet of the message.
    pub data_coding: u8,
    /// A message stored at the SMSC, 1 to 254, or 0.
    pub sm_default_msg_id: u8,
    /// At most 254 octets (255 in 5.0); empty when `message_payload` carries it.
    pub short_message: &'a [u8],
    /// Optional parameters.
    pub tlvs: Tlvs<'a>,
}

impl<'a> SubmitSm<'a> {
    /// The octets of the message, from wherever they are.
    #[must_use]
    pub fn message(&self) -> &'a [u8] {
        if self.short_message.is_empty() {
            self.tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap_or(b"")
        } else {
            self.short_message
        }
    }

    /// Whether the message begins with a user data header.
    #[must_use]
    pub fn has_udh(&self) -> bool {
        self.esm_class & super::esm_class::UDHI != 0
    }

    /// Checks values a server must not let pass, beyond the sizes that decoding checks.
    ///
    /// # Errors
    /// The first bad parameter, with the status to answer.
    pub fn check(&self) -> Result<(), DecodeError> {
        self.source.check_source()?;
        self.destination.check_destination()?;
        check::priority(self.priority_flag)?;
        check::time(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        check::time(self.validity_period, &VALIDITY_PERIOD)?;
        check::registered_delivery(self.registered_delivery)?;
        check::replace_flag(self.replace_if_present_flag)?;
        self.tlvs.check()?;
        check::one_message(self.short_message, self.tlvs)?;
        check::header(self.has_udh(), self.message())
    }
}

impl<'a> Body<'a> for SubmitSm<'a> {
    fn command(&self) -> Command {
        Command::SUBMIT_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.service_type, &SERVICE_TYPE)?;
        self.source.encode(out, &SOURCE_ADDR)?;
        self.destination.encode(out, &DESTINATION_ADDR)?;
        out.raw(&[self.esm_class, self.protocol_id, self.priority_flag]);
        out.cstring(self.schedule_delivery_time, &SCHEDULE_DELIVERY_TIME)?;
        out.cstring(self.validity_period, &VALIDITY_PERIOD)?;
        out.raw(&[
            self.registered_delivery,
            self.replace_if_present_flag,
            self.data_coding,
            self.sm_default_msg_id,
        ]);
        out.short_message(self.short_message)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(SubmitSm {
            service_type: body.cstring(&SERVICE_TYPE)?,
            source: Address::decode(&mut body, &SOURCE_ADDR)?,
            destination: Address::decode(&mut body, &DESTINATION_ADDR)?,
            esm_class: body.u8("esm_class")?,
            protocol_id: body.u8("protocol_id")?,
            priority_flag: body.u8("priority_flag")?,
            schedule_delivery_time: body.cstring(&SCHEDULE_DELIVERY_TIME)?,
            validity_period: body.cstring(&VALIDITY_PERIOD)?,
            registered_delivery: body.u8("registered_delivery")?,
            replace_if_present_flag: body.u8("replace_if_present_flag")?,
            data_coding: body.u8("data_coding")?,
            sm_default_msg_id: body.u8("sm_default_msg_id")?,
            short_message: {
                let length = body.u8("sm_length")?;
                body.octets(usize::from(length), "short_message", Status::RINVMSGLEN)?
            },
            tlvs: body.tlvs()?,
        })
    }
}

/// The answer to a submit_sm. With a non-zero status it has no body, or one that says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmitSmResp<'a> {
    /// The SMSC's name for the message, at most 64 octets.
    pub message_id: &'a [u8],
    /// 5.0: congestion_state, network_error_code …
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for SubmitSmResp<'a> {
    fn command(&self) -> Command {
        Command::SUBMIT_SM_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(SubmitSmResp { message_id: body.cstring_of_response(&MESSAGE_ID)?, tlvs: body.whole_tlvs() })
    }
}
