//! Telephone-events (RFC 4733): the payload; keys and other events received once each; keys sent.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::{EventReceiver, TelephoneEvent};
pub use sender::{EventSender, EventToSend};

use crate::wire::WireReader;
use std::time::Duration;

/// Octets of one event in a payload (section 2.3).
pub const EVENT_OCTETS: usize = 4;
/// Events in one packet at most that are read; more are dropped (section 2.5.1.5 names no limit).
pub const EVENTS_PER_PACKET_MAX: usize = 4;
/// Events that wait for the caller at most. A packet that finds no room is dropped; its repetitions come.
pub const EVENTS_WAITING_MAX: usize = 16;
/// An event without a packet for so long has ended (section 2.5.2.2: three intervals, of 50 ms).
pub const EVENT_TIMEOUT: Duration = Duration::from_millis(150);
/// Timestamps of events that were told are remembered for so long after their last packet.
pub const EVENT_MEMORY: Duration = Duration::from_secs(5);
/// Packets that end an event: one and two repetitions (section 2.5.1.4).
pub const EVENT_ENDS: u8 = 3;
/// Longest event in samples: 8.19 s. Longer ones come in segments (section 2.5.1.3).
pub const EVENT_SAMPLES_MAX: u16 = u16::MAX;
/// Volume of the events that are sent, in −dBm0.
pub const EVENT_VOLUME: u8 = 10;

/// One event of a payload (RFC 4733 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPayload {
    /// Event code: 0 to 15 are keys (section 3.2).
    pub event: u8,
    /// The event has ended, and `duration` is all of it.
    pub is_end: bool,
    /// Power in −dBm0, 0 to 63.
    pub volume: u8,
    /// Samples since the packet's timestamp.
    pub duration: u16,
}

impl EventPayload {
    /// Largest volume: it has six bits.
    pub const VOLUME_MAX: u8 = 63;

    /// The octets. A volume over [`VOLUME_MAX`](Self::VOLUME_MAX) becomes that.
    pub fn to_octets(self) -> [u8; EVENT_OCTETS] {
        let [high, low] = self.duration.to_be_bytes();
        [self.event, u8::from(self.is_end) << 7 | self.volume.min(Self::VOLUME_MAX), high, low]
    }

    /// Reads all events of a payload, at most [`EVENTS_PER_PACKET_MAX`]; octets of a broken last one are
    /// dropped.
    pub fn read_all(payload: &[u8]) -> impl Iterator<Item = EventPayload> {
        payload.chunks_exact(EVENT_OCTETS).take(EVENTS_PER_PACKET_MAX).filter_map(|octets| {
            let mut reader = WireReader::new(octets);
            let (event, flags, duration) = (reader.u8()?, reader.u8()?, reader.u16()?);
            let is_end = flags & 0x80 != 0;
            Some(EventPayload { event, is_end, volume: flags & Self::VOLUME_MAX, duration })
        })
    }
}
