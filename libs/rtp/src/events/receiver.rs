//! Events that are received: each once, by its timestamp.

use super::{
    EVENT_MEMORY, EVENT_SAMPLES_MAX, EVENT_TIMEOUT, EVENTS_PER_PACKET_MAX, EVENTS_WAITING_MAX, EventPayload,
};
use crate::SAMPLE_RATE;
use crate::dtmf::DtmfKey;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An event that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelephoneEvent {
    /// Event code (RFC 4733 section 3.2): 0 to 15 are keys.
    pub event: u8,
    /// Time of the event, as far as packets told it.
    pub duration: Duration,
    /// Power in −dBm0, 0 to 63.
    pub volume: u8,
}

impl TelephoneEvent {
    /// The key, if the event is one.
    pub fn key(&self) -> Option<DtmfKey> {
        DtmfKey::from_event(self.event)
    }
}

/// Events of one source. An event is told when a packet with the end bit comes, when a later event begins, or
/// after [`EVENT_TIMEOUT`] without a packet. Packets of a told event, or of one before it, tell nothing.
#[derive(Debug, Clone)]
pub struct EventReceiver {
    open: Option<OpenEvent>,
    told: Option<ToldEvent>,
    waiting: VecDeque<TelephoneEvent>,
}

/// The event whose end has not come.
#[derive(Debug, Clone, Copy)]
struct OpenEvent {
    event: u8,
    volume: u8,
    /// Of the current segment.
    timestamp: u32,
    /// Samples in it.
    samples: u16,
    /// Samples of the segments before.
    segments: u32,
    last_packet: Instant,
}

#[derive(Debug, Clone, Copy)]
struct ToldEvent {
    timestamp: u32,
    last_packet: Instant,
}

impl OpenEvent {
    /// Section 2.5.1.3: a segment follows where the one before ends, full or as far as it is known.
    fn is_followed_by(&self, timestamp: u32, payload: &EventPayload, marker: bool) -> bool {
        let later = timestamp.wrapping_sub(self.timestamp);
        let is_next = later == u32::from(EVENT_SAMPLES_MAX) || later == u32::from(self.samples);
        self.event == payload.event && !marker && later > 0 && is_next
    }

    fn told(&self) -> TelephoneEvent {
        let samples = u64::from(self.segments) + u64::from(self.samples);
        let duration = Duration::from_micros(samples * 1_000_000 / u64::from(SAMPLE_RATE));
        TelephoneEvent { event: self.event, duration, volume: self.volume }
    }
}

impl Default for EventReceiver {
    fn default() -> EventReceiver {
        EventReceiver { open: None, told: None, waiting: VecDeque::with_capacity(EVENTS_WAITING_MAX) }
    }
}

impl EventReceiver {
    /// Nothing was received.
    pub fn new() -> EventReceiver {
        EventReceiver::default()
    }

    /// Takes the payload of a packet with the negotiated payload type, its timestamp and its marker.
    pub fn handle_packet(&mut self, now: Instant, timestamp: u32, marker: bool, payload: &[u8]) {
        if self.waiting.len() + EVENTS_PER_PACKET_MAX + 1 > EVENTS_WAITING_MAX {
            return;
        }
        self.handle_timeout(now);
        let mut timestamp = timestamp;
        for event in EventPayload::read_all(payload) {
            self.handle_event(now, timestamp, marker, &event);
            // Section 2.5.1.5: each follows where the one before ends.
            timestamp = timestamp.wrapping_add(u32::from(event.duration));
        }
    }

    /// Time passes: an event without packets for [`EVENT_TIMEOUT`] ends.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.open.is_some_and(|open| now.saturating_duration_since(open.last_packet) >= EVENT_TIMEOUT) {
            self.end_open();
        }
        if self.told.is_some_and(|told| now.saturating_duration_since(told.last_packet) >= EVENT_MEMORY) {
            self.told = None;
        }
    }

    /// The next event. To be asked until there is none, after each packet and each tick.
    pub fn poll_event(&mut self) -> Option<TelephoneEvent> {
        self.waiting.pop_front()
    }

    /// Another source: an open event ends, and timestamps begin again.
    pub fn restart(&mut self) {
        self.end_open();
        self.told = None;
    }

    fn handle_event(&mut self, now: Instant, timestamp: u32, marker: bool, payload: &EventPayload) {
        if let Some(told) = &mut self.told {
            match timestamp.wrapping_sub(told.timestamp).cast_signed() {
                0 => {
                    told.last_packet = now;
                    return;
                }
                ..0 => return,
                _ => {}
            }
        }
        match &mut self.open {
            Some(open) if open.timestamp == timestamp => {
                open.samples = open.samples.max(payload.duration);
                open.last_packet = now;
            }
            Some(open) if open.is_followed_by(timestamp, payload, marker) => {
                let passed = timestamp.wrapping_sub(open.timestamp);
                open.segments = open.segments.saturating_add(passed);
                (open.timestamp, open.samples, open.last_packet) = (timestamp, payload.duration, now);
            }
            // A packet that was overtaken: of an event without another packet, if it has the end.
            Some(open) if timestamp.wrapping_sub(open.timestamp).cast_signed() < 0 => {
                if payload.is_end {
                    let overtaken = new_event(now, timestamp, payload);
                    self.waiting.push_back(overtaken.told());
                    self.told = Some(ToldEvent { timestamp, last_packet: now });
                }
                return;
            }
            _ => {
                self.end_open();
                self.open = Some(new_event(now, timestamp, payload));
            }
        }
        if payload.is_end {
            self.end_open();
        }
    }

    fn end_open(&mut self) {
        if let Some(open) = self.open.take() {
            // A packet was refused unless there was room for all that it may end.
            self.waiting.push_back(open.told());
            self.told = Some(ToldEvent { timestamp: open.timestamp, last_packet: open.last_packet });
        }
    }
}

fn new_event(now: Instant, timestamp: u32, payload: &EventPayload) -> OpenEvent {
    OpenEvent {
        event: payload.event,
        volume: payload.volume,
        timestamp,
        samples: payload.duration,
        segments: 0,
        last_packet: now,
    }
}
