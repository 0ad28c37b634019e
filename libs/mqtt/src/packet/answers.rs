//! Packets that say what became of something: PUBACK, SUBACK, UNSUBACK, DISCONNECT, AUTH (sections 3.4, 3.9,
//! 3.11, 3.14, 3.15).

use super::packet_id;
use crate::MqttReason;
use crate::error::{PacketEncodeError, PacketError};
use crate::property::{Properties, place};
use crate::wire::{PacketReader, WireValue};

/// PUBACK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckPacket {
    /// That of the message.
    pub packet_id: u16,
    /// What became of it.
    pub reason: MqttReason,
    /// Reason String and User Properties.
    pub properties: Properties,
}

/// SUBACK or UNSUBACK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAckPacket {
    /// That of the request.
    pub packet_id: u16,
    /// Reason String and User Properties.
    pub properties: Properties,
    /// A reason for each filter of the request, in its order; at least one.
    pub reasons: Vec<MqttReason>,
}

/// DISCONNECT or AUTH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonPacket {
    /// Why.
    pub reason: MqttReason,
    /// Reason String, Server Reference and others.
    pub properties: Properties,
}

impl AckPacket {
    /// Reason and properties may be left out (section 3.4.2.1).
    pub(super) fn read(reader: &mut PacketReader<'_>) -> Result<AckPacket, PacketError> {
        let packet_id = packet_id(reader)?;
        let ReasonPacket { reason, properties } = ReasonPacket::read(reader, place::PUBACK)?;
        Ok(AckPacket { packet_id, reason, properties })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        self.packet_id.write(out)?;
        write_reason(self.reason, &self.properties, place::PUBACK, out)
    }
}

impl ReasonPacket {
    /// Without properties.
    pub fn new(reason: MqttReason) -> ReasonPacket {
        ReasonPacket { reason, properties: Properties::new() }
    }

    /// What is left out is success without properties (sections 3.14.2.1 and 3.15.2.1).
    pub(super) fn read(reader: &mut PacketReader<'_>, place: u16) -> Result<ReasonPacket, PacketError> {
        if reader.is_empty() {
            return Ok(ReasonPacket::new(MqttReason::SUCCESS));
        }
        let reason = MqttReason(reader.value()?);
        let properties = if reader.is_empty() { Properties::new() } else { Properties::read(reader, place)? };
        Ok(ReasonPacket { reason, properties })
    }

    pub(super) fn write(&self, place: u16, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        write_reason(self.reason, &self.properties, place, out)
    }
}

fn write_reason(
    reason: MqttReason,
    properties: &Properties,
    place: u16,
    out: &mut Vec<u8>,
) -> Result<(), PacketEncodeError> {
    if properties.is_empty() && reason == MqttReason::SUCCESS {
        return Ok(());
    }
    out.push(reason.0);
    if properties.is_empty() { Ok(()) } else { properties.write(place, out) }
}

impl SubAckPacket {
    pub(super) fn read(reader: &mut PacketReader<'_>, place: u16) -> Result<SubAckPacket, PacketError> {
        let packet_id = packet_id(reader)?;
        let properties = Properties::read(reader, place)?;
        let reasons: Vec<MqttReason> = reader.rest().iter().map(|octet| MqttReason(*octet)).collect();
        match reasons.is_empty() {
            true => Err(PacketError::protocol("an answer to a subscription has no reason")),
            false => Ok(SubAckPacket { packet_id, properties, reasons }),
        }
    }

    pub(super) fn write(&self, place: u16, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        self.packet_id.write(out)?;
        self.properties.write(place, out)?;
        out.extend(self.reasons.iter().map(|reason| reason.0));
        Ok(())
    }
}
