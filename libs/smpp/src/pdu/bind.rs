//! bind_transmitter, bind_receiver, bind_transceiver and their responses (3.4 §4.1).

use super::{Body, Command, Version};
use crate::error::{DecodeError, EncodeError};
use crate::limits::{ADDRESS_RANGE, PASSWORD, SYSTEM_ID, SYSTEM_TYPE};
use crate::tlv::{Tag, Tlvs};
use crate::wire::{BodyReader, BodyWriter};

/// What a bound ESME may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BindMode {
    /// Submits only.
    Transmitter,
    /// Is delivered to only.
    Receiver,
    /// Both.
    #[default]
    Transceiver,
}

impl BindMode {
    /// Whether the ESME may submit.
    #[must_use]
    pub fn transmits(self) -> bool {
        self != BindMode::Receiver
    }

    /// Whether the ESME may be delivered to.
    #[must_use]
    pub fn receives(self) -> bool {
        self != BindMode::Transmitter
    }

    /// The command that binds so.
    #[must_use]
    pub fn command(self) -> Command {
        match self {
            BindMode::Transmitter => Command::BIND_TRANSMITTER,
            BindMode::Receiver => Command::BIND_RECEIVER,
            BindMode::Transceiver => Command::BIND_TRANSCEIVER,
        }
    }

    /// The mode of a bind command or bind response; `None` for all other commands.
    #[must_use]
    pub fn of(command: Command) -> Option<BindMode> {
        match command.request() {
            Command::BIND_TRANSMITTER => Some(BindMode::Transmitter),
            Command::BIND_RECEIVER => Some(BindMode::Receiver),
            Command::BIND_TRANSCEIVER => Some(BindMode::Transceiver),
            _ => None,
        }
    }
}

/// A request to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// Which of the three commands.
    pub mode: BindMode,
    /// Who binds, at most 15 octets.
    pub system_id: &'a [u8],
    /// At most 8 octets.
    pub password: &'a [u8],
    /// At most 12 octets.
    pub system_type: &'a [u8],
    /// The highest version the ESME speaks; a session puts its own here.
    pub interface_version: Version,
    /// Type of number of the addresses served.
    pub addr_ton: u8,
    /// Numbering plan of the addresses served.
    pub addr_npi: u8,
    /// The addresses served, a pattern; at most 40 octets.
    pub address_range: &'a [u8],
    /// None in the specification; a vendor's are kept.
    pub tlvs: Tlvs<'a>,
}

impl Default for Bind<'_> {
    fn default() -> Self {
        Bind {
            mode: BindMode::Transceiver,
            system_id: b"",
            password: b"",
            system_type: b"",
            interface_version: Version::V3_4,
            addr_ton: 0,
            addr_npi: 0,
            address_range: b"",
            tlvs: Tlvs::NONE,
        }
    }
}

impl<'a> Body<'a> for Bind<'a> {
    fn command(&self) -> Command {
        self.mode.command()
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.system_id, &SYSTEM_ID)?;
        out.cstring(self.password, &PASSWORD)?;
        out.cstring(self.system_type, &SYSTEM_TYPE)?;
        out.u8(self.interface_version.0);
        out.u8(self.addr_ton);
        out.u8(self.addr_npi);
        out.cstring(self.address_range, &ADDRESS_RANGE)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(command: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        Ok(Bind {
            mode: BindMode::of(command).unwrap_or_default(),
            system_id: body.cstring(&SYSTEM_ID)?,
            password: body.cstring(&PASSWORD)?,
            system_type: body.cstring(&SYSTEM_TYPE)?,
            interface_version: Version(body.u8("interface_version")?),
            addr_ton: body.u8("addr_ton")?,
            addr_npi: body.u8("addr_npi")?,
            address_range: body.cstring(&ADDRESS_RANGE)?,
            tlvs: body.tlvs()?,
        })
    }
}

/// The answer to a bind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindResp<'a> {
    /// Which of the three commands is answered.
    pub mode: BindMode,
    /// Who answers, at most 15 octets.
    pub system_id: &'a [u8],
    /// `sc_interface_version`, if the SMSC says one.
    pub tlvs: Tlvs<'a>,
}

impl BindResp<'_> {
    /// `sc_interface_version`: without it the SMSC is taken to be below 3.4 (3.4 §4.1.2).
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.tlvs.find_u8(Tag::SC_INTERFACE_VERSION).map(Version)
    }
}

impl<'a> Body<'a> for BindResp<'a> {
    fn command(&self) -> Command {
        self.mode.command().response()
    }

    fn encode_body(&self, out: &mut BodyWriter<'_>) -> Result<(), EncodeError> {
        out.cstring(self.system_id, &SYSTEM_ID)?;
        out.tlvs(self.tlvs)
    }

    fn decode_body(command: Command, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut body = BodyReader::new(body);
        let mode = BindMode::of(command).unwrap_or_default();
        Ok(BindResp { mode, system_id: body.cstring_of_response(&SYSTEM_ID)?, tlvs: body.tlvs()? })
    }
}
