//! outbind (3.4 §4.1.7): an SMSC asks an ESME it has connected to, to bind. It has no response.

use super::{Body, Command};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{PASSWORD, SYSTEM_ID};
use crate::tlv::Tlvs;
use crate::wire::{BodyReader, BodyWriter};

/// Please bind as receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outbind<'a> {
    /// The SMSC's name, at most 15 octets.
    pub system_id: &'a [u8],
    /// For the ESME to know the SMSC by, at most 8 octets.
    pub password: &'a [u8],
    /// None in the specification; a vendor's are kept.
    pub tlvs: Tlvs<'a>,
}

impl<'a> Body<'a> for Outbind<'a> {
    fn command(&self) -> Command {
        Command::OUTBIND
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.system_id, &SYSTEM_ID)?;
        out.cstring(self.password, &PASSWORD)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(_: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(Outbind {
            system_id: body.cstring(&SYSTEM_ID)?,
            password: body.cstring(&PASSWORD)?,
            tlvs: body.tlvs()?,
        })
    }
}
