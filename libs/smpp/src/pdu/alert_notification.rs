//! alert_notification (3.4 §4.12): a phone that data was set pending for is reachable again. It has no
//! response.

use super::{Address, Body, Command};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{LONG_DESTINATION_ADDR, LONG_SOURCE_ADDR};
use crate::tlv::Tlvs;
use crate::wire::{BodyReader, BodyWriter};

/// A phone is there again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertNotification<'a> {
    /// The phone, at most 64 octets.
    pub source: Address<'a>,
    /// The ESME that asked, at most 64 octets.
    pub esme: Address<'a>,
    /// `ms_availability_status`.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for AlertNotification<'a> {
    fn command(&self) -> Command {
        Command::ALERT_NOTIFICATION
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        self.source.encode(out, &LONG_SOURCE_ADDR)?;
        self.esme.encode(out, &LONG_DESTINATION_ADDR)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(AlertNotification {
            source: Address::decode(&mut body, &LONG_SOURCE_ADDR)?,
            esme: Address::decode(&mut body, &LONG_DESTINATION_ADDR)?,
            tlvs: body.tlvs()?,
        })
    }
}
