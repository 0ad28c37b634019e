//! MQTT Control Packets (section 3): read with every check of the standard that needs no state, and written.
//!
//! QoS 2 is not spoken: its packets PUBREC, PUBREL and PUBCOMP are refused by name, and a machine refuses a
//! PUBLISH of QoS 2.

mod answers;
mod connect;
mod frame;
mod publish;
mod subscribe;
#[cfg(test)]
mod tests;

pub use answers::{AckPacket, ReasonPacket, SubAckPacket};
pub use connect::{ConnAckPacket, ConnectPacket, WillMessage};
pub use frame::PacketBuffer;
pub use publish::{PublishPacket, Qos};
pub use subscribe::{SubscribePacket, TopicSubscription, UnsubscribePacket};

use crate::error::{PacketEncodeError, PacketError};
use crate::property::place;
use crate::wire::{PacketReader, VARIABLE_BYTE_INTEGER_MAX, put_variable_byte_integer};

/// A Control Packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MqttPacket {
    /// A client asks for a connection (3.1).
    Connect(Box<ConnectPacket>),
    /// The server's answer (3.2).
    ConnAck(ConnAckPacket),
    /// A message (3.3).
    Publish(PublishPacket),
    /// The answer to a message of QoS 1 (3.4).
    PubAck(AckPacket),
    /// A client subscribes (3.8).
    Subscribe(SubscribePacket),
    /// The server's answer (3.9).
    SubAck(SubAckPacket),
    /// A client ends subscriptions (3.10).
    Unsubscribe(UnsubscribePacket),
    /// The server's answer (3.11).
    UnsubAck(SubAckPacket),
    /// The client is there (3.12).
    PingReq,
    /// So is the server (3.13).
    PingResp,
    /// The end, and why (3.14).
    Disconnect(ReasonPacket),
    /// A step of an authentication (3.15).
    Auth(ReasonPacket),
}

/// Types of the fixed header's first octet (table 2-1).
const CONNECT: u8 = 1;
const CONNACK: u8 = 2;
const PUBLISH: u8 = 3;
const PUBACK: u8 = 4;
const PUBREC: u8 = 5;
const PUBREL: u8 = 6;
const PUBCOMP: u8 = 7;
const SUBSCRIBE: u8 = 8;
const SUBACK: u8 = 9;
const UNSUBSCRIBE: u8 = 10;
const UNSUBACK: u8 = 11;
const PINGREQ: u8 = 12;
const PINGRESP: u8 = 13;
const DISCONNECT: u8 = 14;
const AUTH: u8 = 15;

impl MqttPacket {
    /// Reads a packet from the first octet of its fixed header and everything behind the Remaining Length.
    ///
    /// # Errors
    /// What the peer did wrong, with the Reason Code that it is told.
    pub fn decode(first: u8, body: &[u8]) -> Result<MqttPacket, PacketError> {
        check_first(first)?;
        let mut reader = PacketReader::new(body);
        let packet = match first >> 4 {
            CONNECT => MqttPacket::Connect(Box::new(ConnectPacket::read(&mut reader)?)),
            CONNACK => MqttPacket::ConnAck(ConnAckPacket::read(&mut reader)?),
            PUBLISH => MqttPacket::Publish(PublishPacket::read(first & 0x0F, &mut reader)?),
            PUBACK => MqttPacket::PubAck(AckPacket::read(&mut reader)?),
            SUBSCRIBE => MqttPacket::Subscribe(SubscribePacket::read(&mut reader)?),
            SUBACK => MqttPacket::SubAck(SubAckPacket::read(&mut reader, place::SUBACK)?),
            UNSUBSCRIBE => MqttPacket::Unsubscribe(UnsubscribePacket::read(&mut reader)?),
            UNSUBACK => MqttPacket::UnsubAck(SubAckPacket::read(&mut reader, place::UNSUBACK)?),
            PINGREQ => MqttPacket::PingReq,
            PINGRESP => MqttPacket::PingResp,
            DISCONNECT => MqttPacket::Disconnect(ReasonPacket::read(&mut reader, place::DISCONNECT)?),
            _ => MqttPacket::Auth(ReasonPacket::read(&mut reader, place::AUTH)?),
        };
        match reader.is_empty() {
            true => Ok(packet),
            false => Err(PacketError::malformed("a packet has octets behind its end")),
        }
    }

    /// Appends the packet.
    ///
    /// # Errors
    /// A value that has no form on the wire; a packet over `octets_max` (the receiver's Maximum Packet Size,
    /// header and all). Nothing is appended then.
    pub fn encode(&self, octets_max: u32, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        let mut body = Vec::new();
        let first = self.write(&mut body)?;
        let limit = (octets_max as usize).min(VARIABLE_BYTE_INTEGER_MAX as usize);
        let mut header = vec![first];
        let length = u32::try_from(body.len()).map_err(|_| PacketEncodeError::NumberTooLarge)?;
        put_variable_byte_integer(length, &mut header)?;
        let octets = header.len() + body.len();
        if octets > limit {
            return Err(PacketEncodeError::PacketTooLarge { octets, limit });
        }
        out.extend_from_slice(&header);
        out.extend_from_slice(&body);
        Ok(())
    }

    /// Writes what stands behind the fixed header; gives that one's first octet.
    fn write(&self, out: &mut Vec<u8>) -> Result<u8, PacketEncodeError> {
        let (packet_type, flags) = match self {
            MqttPacket::Connect(packet) => (CONNECT, packet.write(out).map(|()| 0)?),
            MqttPacket::ConnAck(packet) => (CONNACK, packet.write(out).map(|()| 0)?),
            MqttPacket::Publish(packet) => (PUBLISH, packet.write(out)?),
            MqttPacket::PubAck(packet) => (PUBACK, packet.write(out).map(|()| 0)?),
            MqttPacket::Subscribe(packet) => (SUBSCRIBE, packet.write(out).map(|()| 2)?),
            MqttPacket::SubAck(packet) => (SUBACK, packet.write(place::SUBACK, out).map(|()| 0)?),
            MqttPacket::Unsubscribe(packet) => (UNSUBSCRIBE, packet.write(out).map(|()| 2)?),
            MqttPacket::UnsubAck(packet) => (UNSUBACK, packet.write(place::UNSUBACK, out).map(|()| 0)?),
            MqttPacket::PingReq => (PINGREQ, 0),
            MqttPacket::PingResp => (PINGRESP, 0),
            MqttPacket::Disconnect(packet) => (DISCONNECT, packet.write(place::DISCONNECT, out).map(|()| 0)?),
            MqttPacket::Auth(packet) => (AUTH, packet.write(place::AUTH, out).map(|()| 0)?),
        };
        Ok(packet_type << 4 | flags)
    }
}

/// Type and flags (tables 2-1 and 2-2), before anything of the packet is waited for.
pub(crate) fn check_first(first: u8) -> Result<(), PacketError> {
    let flags = first & 0x0F;
    let expected = match first >> 4 {
        0 => return Err(PacketError::malformed("a packet has the type 0, which is reserved")),
        PUBLISH => return Ok(()),
        PUBREC | PUBREL | PUBCOMP => {
            return Err(PacketError::protocol(
                "PUBREC, PUBREL and PUBCOMP are of QoS 2, which is not spoken",
            ));
        }
        SUBSCRIBE | UNSUBSCRIBE => 2,
        _ => 0,
    };
    match flags == expected {
        true => Ok(()),
        false => Err(PacketError::malformed("a packet has flags that its type cannot have")),
    }
}

/// Section 2.2.1: a Packet Identifier is not 0.
pub(crate) fn packet_id(reader: &mut PacketReader<'_>) -> Result<u16, PacketError> {
    match reader.value()? {
        0 => Err(PacketError::protocol("a Packet Identifier is 0")),
        id => Ok(id),
    }
}
