//! Errors of the codec, by who is to blame: the peer that sent a packet, or the caller that made one.

use crate::MqttReason;
use std::fmt;

/// A packet that the peer should not have sent (sections 1.2 and 4.13): the connection ends with this reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketError {
    /// Reason Code for CONNACK or DISCONNECT: 0x81 Malformed Packet, 0x82 Protocol Error, 0x84 Unsupported
    /// Protocol Version, 0x93, 0x94, 0x95 or 0x9B.
    pub reason: MqttReason,
    /// What is wrong, in words, such as `a string has the character U+0000`.
    pub why: &'static str,
}

impl PacketError {
    /// A packet that cannot be read (0x81).
    pub(crate) const fn malformed(why: &'static str) -> PacketError {
        PacketError { reason: MqttReason::MALFORMED_PACKET, why }
    }

    /// A packet that can be read and should not have come (0x82).
    pub(crate) const fn protocol(why: &'static str) -> PacketError {
        PacketError { reason: MqttReason::PROTOCOL_ERROR, why }
    }
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.why)
    }
}

impl std::error::Error for PacketError {}

/// A packet that cannot be written: the caller's fault. Nothing of it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEncodeError {
    /// A string or binary value has more than 65,535 octets (sections 1.5.4 and 1.5.6).
    ValueTooLong {
        /// Octets of the value.
        octets: usize,
    },
    /// A string has U+0000 (MQTT-1.5.4-2).
    NullCharacter,
    /// A number does not fit a Variable Byte Integer: over 268,435,455 (section 1.5.5).
    NumberTooLarge,
    /// The packet would have more octets than the receiver takes.
    PacketTooLarge {
        /// Octets of the packet.
        octets: usize,
        /// The most that the receiver takes.
        limit: usize,
    },
    /// A property is not of this packet, stands in it twice, or has a value that it cannot have.
    Property {
        /// The property's name in the standard.
        name: &'static str,
    },
}

impl fmt::Display for PacketEncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacketEncodeError::ValueTooLong { octets } => {
                write!(f, "a value of {octets} octets is over the limit of 65535")
            }
            PacketEncodeError::NullCharacter => f.write_str("a string has the character U+0000"),
            PacketEncodeError::NumberTooLarge => f.write_str("a number is over the limit of 268435455"),
            PacketEncodeError::PacketTooLarge { octets, limit } => {
                write!(f, "a packet of {octets} octets is over the receiver's Maximum Packet Size of {limit}")
            }
            PacketEncodeError::Property { name } => {
                write!(f, "the property {name} cannot stand in this packet with this value")
            }
        }
    }
}

impl std::error::Error for PacketEncodeError {}
