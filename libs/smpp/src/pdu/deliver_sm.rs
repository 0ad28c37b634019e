//! deliver_sm and deliver_sm_resp (3.4 §4.6): an inbound message or a receipt.

use super::{Address, Body, Command, esm_class};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{
    DESTINATION_ADDR, MESSAGE_ID, SCHEDULE_DELIVERY_TIME, SERVICE_TYPE, SOURCE_ADDR, VALIDITY_PERIOD,
};
use crate::status::Status;
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};

/// One message to an ESME. What §4.6.1 says must be null (schedule, validity, replace, default message) is
/// read and not judged, nor are octets behind the message that are no parameters: refusing a receipt over
/// them would lose it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliverSm<'a> {
    /// At most 5 octets.
    pub service_type: &'a [u8],
    /// The phone it comes from.
    pub source: Address<'a>,
    /// The number it was sent to.
    pub destination: Address<'a>,
    /// Mode, type and features, see [`super::esm_class`].
    pub esm_class: u8,
    /// TP-PID.
    pub protocol_id: u8,
    /// Network dependent.
    pub priority_flag: u8,
    /// Null by the specification.
    pub schedule_delivery_time: &'a [u8],
    /// Null by the specification.
    pub validity_period: &'a [u8],
    /// Acknowledgement wanted, see [`super::registered_delivery`].
    pub registered_delivery: u8,
    /// Null by the specification.
    pub replace_if_present_flag: u8,
    /// The alphabet of the message.
    pub data_coding: u8,
    /// Null by the specification.
    pub sm_default_msg_id: u8,
    /// At most 254 octets (255 in 5.0); empty when `message_payload` carries it.
    pub short_message: &'a [u8],
    /// Optional parameters.
    pub tlvs: Tlvs<'a>,
}

impl<'a> DeliverSm<'a> {
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
        self.esm_class & esm_class::UDHI != 0
    }

    /// Whether `esm_class` says that this is a receipt or an intermediate notification.
    #[must_use]
    pub fn is_receipt(&self) -> bool {
        matches!(self.esm_class & esm_class::TYPE_MASK, esm_class::RECEIPT | esm_class::INTERMEDIATE)
    }
}

impl<'a> Body<'a> for DeliverSm<'a> {
    fn command(&self) -> Command {
        Command::DELIVER_SM
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
        Ok(DeliverSm {
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
            tlvs: body.whole_tlvs(),
        })
    }
}

/// The answer to a deliver_sm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliverSmResp<'a> {
    /// Unused, null by the specification.
    pub message_id: &'a [u8],
    /// 5.0: delivery_failure_reason, network_error_code …
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for DeliverSmResp<'a> {
    fn command(&self) -> Command {
        Command::DELIVER_SM_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(DeliverSmResp { message_id: body.cstring_of_response(&MESSAGE_ID)?, tlvs: body.whole_tlvs() })
    }
}
