//! Sound that is received: ordered, and listened to.

use super::{CallAudioError, CallAudioEvent, CallAudioOptions};
use crate::dtmf::DtmfDetector;
use crate::events::EventReceiver;
use crate::g711::G711Law;
use crate::jitter::{JitterBuffer, JitterFrame};
use crate::listen::{BeepDetector, FirstWords, LongSpeech, VoiceActivity};
use crate::packet::RtpPacket;
use crate::receiver::{RtpReceiver, RtpReception};
use crate::rtcp::{RtcpCompound, RtcpPacket};
use crate::{FRAME_SAMPLES, SoundFrame};
use std::collections::VecDeque;
use std::time::Instant;

/// Payload types of G.711 and of comfort noise (RFC 3551 section 6, RFC 3389).
const PCMU: u8 = G711Law::Mu.payload_type();
const PCMA: u8 = G711Law::A.payload_type();
const COMFORT_NOISE: u8 = 13;

pub(super) struct IncomingAudio {
    pub(super) receiver: RtpReceiver,
    pub(super) jitter: JitterBuffer,
    events: EventReceiver,
    event_payload_type: Option<u8>,
    /// Only without telephone-events: a key may come both ways, and counts once.
    dtmf: Option<DtmfDetector>,
    voice: VoiceActivity,
    first_words: Option<FirstWords>,
    long_speech: LongSpeech,
    beep: BeepDetector,
}

impl IncomingAudio {
    pub(super) fn new(options: &CallAudioOptions, now: Instant) -> IncomingAudio {
        IncomingAudio {
            receiver: RtpReceiver::new(now),
            jitter: JitterBuffer::new(options.jitter_delay),
            events: EventReceiver::new(),
            event_payload_type: options.event_payload_type,
            dtmf: options.event_payload_type.is_none().then(DtmfDetector::new),
            voice: VoiceActivity::new(),
            first_words: Some(FirstWords::new()),
            long_speech: LongSpeech::new(LongSpeech::LIMIT),
            beep: BeepDetector::new(),
        }
    }

    /// Takes an RTP packet without protection.
    pub(super) fn handle_packet(&mut self, now: Instant, datagram: &[u8]) -> Result<(), CallAudioError> {
        let packet = RtpPacket::parse(datagram)?;
        let is_event = self.event_payload_type == Some(packet.payload_type);
        let law = match packet.payload_type {
            _ if is_event => None,
            PCMU => Some(G711Law::Mu),
            PCMA => Some(G711Law::A),
            COMFORT_NOISE => None,
            number => return Err(CallAudioError::PayloadType(number)),
        };
        match self.receiver.handle_packet(now, &packet, law.is_some()) {
            RtpReception::InOrder => {}
            RtpReception::NewSource | RtpReception::Restarted => {
                self.jitter.clear();
                self.events.restart();
            }
            RtpReception::OutOfRange => return Err(CallAudioError::OutOfRange),
        }
        match law {
            Some(law) => {
                self.jitter.insert(packet.timestamp, packet.payload, law);
            }
            None if is_event => {
                self.events.handle_packet(now, packet.timestamp, packet.marker, packet.payload);
            }
            None => {}
        }
        Ok(())
    }

    /// Takes an RTCP packet without protection; true for a BYE of the source that is heard.
    pub(super) fn handle_rtcp(&mut self, now: Instant, datagram: &[u8]) -> Result<bool, CallAudioError> {
        let mut is_bye = false;
        for packet in RtcpCompound::parse(datagram)?.packets() {
            match packet? {
                RtcpPacket::SenderReport { ssrc, sender, .. } => {
                    self.receiver.handle_sender_report(now, ssrc, sender.ntp);
                }
                RtcpPacket::Bye { sources, .. } => {
                    let heard = self.receiver.ssrc().map(u32::to_be_bytes);
                    is_bye |= sources.as_chunks().0.iter().any(|source| Some(*source) == heard);
                }
                _ => {}
            }
        }
        Ok(is_bye)
    }

    /// Listens to one frame. At most `room` events are told.
    pub(super) fn tick(&mut self, now: Instant, room: usize, waiting: &mut VecDeque<CallAudioEvent>) {
        let mut frame: SoundFrame = [0; FRAME_SAMPLES];
        let origin = self.jitter.pull(&mut frame);
        self.events.handle_timeout(now);
        let most = waiting.len() + room;
        let mut tell = |event| {
            if waiting.len() < most {
                waiting.push_back(event);
            }
        };
        while let Some(event) = self.events.poll_event() {
            if let Some(key) = event.key() {
                tell(CallAudioEvent::Key(key));
            }
        }
        if let Some(dtmf) = &mut self.dtmf {
            let key = match origin {
                JitterFrame::Gap => dtmf.handle_gap(),
                _ => dtmf.handle_frame(&frame),
            };
            key.into_iter().for_each(|key| tell(CallAudioEvent::Key(key)));
        }
        let is_voice = self.voice.handle_frame(&frame);
        if let Some(end) = self.first_words.as_mut().and_then(|words| words.handle_frame(is_voice)) {
            self.first_words = None;
            tell(CallAudioEvent::FirstWords(end));
        }
        if self.long_speech.handle_frame(is_voice) {
            tell(CallAudioEvent::LongSpeech);
        }
        self.beep.handle_frame(&frame).into_iter().for_each(|beep| tell(CallAudioEvent::Beep(beep)));
    }
}
