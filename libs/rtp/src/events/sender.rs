//! Events that are sent (RFC 4733 section 2.5.1): an update each tick, three packets at the end.

use super::{EVENT_ENDS, EVENT_OCTETS, EVENT_SAMPLES_MAX, EVENT_VOLUME, EventPayload};
use crate::{FRAME_SAMPLES, samples_in};
use std::time::Duration;

/// A packet of an event, to be written by [`RtpSender::write_at`](crate::sender::RtpSender::write_at).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventToSend {
    /// The first packet of the event.
    pub marker: bool,
    /// Where the event began: the same for all its packets.
    pub timestamp: u32,
    /// The payload.
    pub payload: [u8; EVENT_OCTETS],
}

/// One event at a time.
#[derive(Debug, Clone, Default)]
pub struct EventSender {
    current: Option<SentEvent>,
}

#[derive(Debug, Clone)]
struct SentEvent {
    event: u8,
    timestamp: u32,
    samples: u16,
    /// All of it.
    samples_total: u16,
    ends: u8,
}

impl EventSender {
    /// Nothing is sent.
    pub fn new() -> EventSender {
        EventSender::default()
    }

    /// True until all packets of the event were given.
    pub fn is_sending(&self) -> bool {
        self.current.is_some()
    }

    /// Begins an event at a timestamp; its time is rounded up to a frame and at most
    /// [`EVENT_SAMPLES_MAX`]. Gives false, and does nothing, while another is sent.
    pub fn start(&mut self, event: u8, timestamp: u32, duration: Duration) -> bool {
        if self.is_sending() {
            return false;
        }
        let samples = samples_in(duration).clamp(1, u32::from(EVENT_SAMPLES_MAX));
        let samples = samples.next_multiple_of(FRAME_SAMPLES as u32);
        let samples_total = u16::try_from(samples).unwrap_or(EVENT_SAMPLES_MAX);
        self.current = Some(SentEvent { event, timestamp, samples: 0, samples_total, ends: 0 });
        true
    }

    /// The packet of this tick. The ends follow in a tick each.
    pub fn tick(&mut self) -> Option<EventToSend> {
        let current = self.current.as_mut()?;
        let marker = current.samples == 0;
        if current.ends == 0 {
            let samples = current.samples.saturating_add(FRAME_SAMPLES as u16);
            current.samples = samples.min(current.samples_total);
        }
        let is_end = current.samples == current.samples_total;
        current.ends += u8::from(is_end);
        let payload =
            EventPayload { event: current.event, is_end, volume: EVENT_VOLUME, duration: current.samples };
        let packet = EventToSend { marker, timestamp: current.timestamp, payload: payload.to_octets() };
        if current.ends == EVENT_ENDS {
            self.current = None;
        }
        Some(packet)
    }
}
