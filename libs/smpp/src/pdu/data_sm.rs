//! data_sm and data_sm_resp (3.4 §4.7): a message in either direction, always in `message_payload`.

use super::{Address, Body, Command, check};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{LONG_DESTINATION_ADDR, LONG_SOURCE_ADDR, MESSAGE_ID, SERVICE_TYPE};
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};

/// A message without the store-and-forward parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSm<'a> {
    /// At most 5 octets.
    pub service_type: &'a [u8],
    /// From whom, at most 64 octets.
    pub source: Address<'a>,
    /// To whom, at most 64 octets.
    pub destination: Address<'a>,
    /// Mode, type and features, see [`super::esm_class`].
    pub esm_class: u8,
    /// Receipt wanted, see [`super::registered_delivery`].
    pub registered_delivery: u8,
    /// The alphabet of the message.
    pub data_coding: u8,
    /// `message_payload` and others.
    pub tlvs: Tlvs<'a>,
}

impl<'a> DataSm<'a> {
    /// The octets of the message.
    #[must_use]
    pub fn message(&self) -> &'a [u8] {
        self.tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap_or(b"")
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
        check::registered_delivery(self.registered_delivery)?;
        self.tlvs.check()?;
        check::header(self.has_udh(), self.message())
    }
}

impl<'a> Body<'a> for DataSm<'a> {
    fn command(&self) -> Command {
        Command::DATA_SM
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.service_type, &SERVICE_TYPE)?;
        self.source.encode(out, &LONG_SOURCE_ADDR)?;
        self.destination.encode(out, &LONG_DESTINATION_ADDR)?;
        out.raw(&[self.esm_class, self.registered_delivery, self.data_coding]);
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        DataSm::decode_with(body, BodyReader::tlvs)
    }
}

impl<'a> DataSm<'a> {
    /// A carrier's: octets behind it that are no parameters are left out, as in a deliver_sm.
    pub(crate) fn decode_of_carrier(body: &'a [u8]) -> Result<Self, DecodeError> {
        DataSm::decode_with(body, |rest| Ok(rest.whole_tlvs()))
    }

    fn decode_with(
        body: &'a [u8],
        tlvs: fn(BodyReader<'a>) -> Result<Tlvs<'a>, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(DataSm {
            service_type: body.cstring(&SERVICE_TYPE)?,
            source: Address::decode(&mut body, &LONG_SOURCE_ADDR)?,
            destination: Address::decode(&mut body, &LONG_DESTINATION_ADDR)?,
            esm_class: body.u8("esm_class")?,
            registered_delivery: body.u8("registered_delivery")?,
            data_coding: body.u8("data_coding")?,
            tlvs: tlvs(body)?,
        })
    }
}

/// The answer to a data_sm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSmResp<'a> {
    /// The message's name, at most 64 octets; null towards an SMSC.
    pub message_id: &'a [u8],
    /// delivery_failure_reason, network_error_code, dpf_result …
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for DataSmResp<'a> {
    fn command(&self) -> Command {
        Command::DATA_SM_RESP
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.message_id(self.message_id)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(DataSmResp { message_id: body.cstring_of_response(&MESSAGE_ID)?, tlvs: body.whole_tlvs() })
    }
}
