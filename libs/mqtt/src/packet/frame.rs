//! Packet buffer: octets of a connection cut into packets.

use super::{MqttPacket, check_first};
use crate::MqttReason;
use crate::error::PacketError;
use crate::wire::variable_byte_integer;

/// Octets that came and are no whole packet yet. A packet's length is compared with the limit as soon as it
/// is known, before anything else of it is waited for.
#[derive(Debug)]
pub struct PacketBuffer {
    octets: Vec<u8>,
    /// Octets at the front that were taken.
    taken: usize,
    packet_octets_max: u32,
}

impl PacketBuffer {
    /// For packets of at most so many octets, header and all: our own Maximum Packet Size.
    pub fn new(packet_octets_max: u32) -> PacketBuffer {
        PacketBuffer { octets: Vec::new(), taken: 0, packet_octets_max }
    }

    /// Octets from the peer, in the order in which they came.
    pub fn push(&mut self, input: &[u8]) {
        self.octets.drain(..std::mem::take(&mut self.taken));
        self.octets.extend_from_slice(input);
    }

    /// Octets that wait for the rest of their packet.
    pub fn len(&self) -> usize {
        self.octets.len() - self.taken
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next packet; nothing while it is not complete.
    ///
    /// # Errors
    /// What the peer did wrong. The connection is of no use then.
    pub fn next_packet(&mut self) -> Result<Option<MqttPacket>, PacketError> {
        let waiting = &self.octets[self.taken..];
        let Some((&first, behind)) = waiting.split_first() else { return Ok(None) };
        check_first(first)?;
        let Some((length, length_octets)) = variable_byte_integer(behind)? else { return Ok(None) };
        let header = 1 + length_octets;
        let octets = header + length as usize;
        if octets > self.packet_octets_max as usize {
            return Err(PacketError {
                reason: MqttReason::PACKET_TOO_LARGE,
                why: "a packet is over our Maximum Packet Size",
            });
        }
        let Some(body) = waiting.get(header..octets) else { return Ok(None) };
        let packet = MqttPacket::decode(first, body)?;
        self.taken += octets;
        Ok(Some(packet))
    }
}
