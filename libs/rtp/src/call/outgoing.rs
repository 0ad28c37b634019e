//! Sound that is sent: what is played, keys, or silence.

use super::{CallAudioError, CallAudioOptions};
use crate::dtmf::{DtmfKey, DtmfTone};
use crate::events::EventSender;
use crate::g711::G711Law;
use crate::playout::{EncodedSound, Playout, PlayoutFrame};
use crate::sender::{RtpSender, RtpSenderOptions};
use crate::{FRAME_SAMPLES, packet::PAYLOAD_TYPE_MAX};
use std::sync::Arc;
use std::time::Duration;

/// Pause behind a key that is sent as sound.
const KEY_PAUSE: Duration = Duration::from_millis(80);

pub(super) struct OutgoingAudio {
    pub(super) sender: RtpSender,
    pub(super) playout: Playout,
    pub(super) is_sending: bool,
    events: EventSender,
    event_payload_type: Option<u8>,
    law: G711Law,
    /// Something was played in the tick before.
    was_playing: bool,
}

impl OutgoingAudio {
    pub(super) fn new(options: &CallAudioOptions) -> OutgoingAudio {
        let sequence = if options.srtp.is_some() { options.sequence & 0x7FFF } else { options.sequence };
        let sender = RtpSenderOptions {
            payload_type: options.law.payload_type(),
            ssrc: options.ssrc,
            sequence,
            timestamp: options.timestamp,
        };
        OutgoingAudio {
            sender: RtpSender::new(sender),
            playout: Playout::new(options.law),
            is_sending: true,
            events: EventSender::new(),
            event_payload_type: options.event_payload_type.map(|number| number & PAYLOAD_TYPE_MAX),
            law: options.law,
            was_playing: false,
        }
    }

    pub(super) fn press(&mut self, key: DtmfKey, held: Duration) -> Result<(), CallAudioError> {
        if self.event_payload_type.is_some() {
            let is_started = self.events.start(key.event(), self.sender.timestamp(), held);
            return if is_started { Ok(()) } else { Err(CallAudioError::KeyHeld) };
        }
        let mut samples = Vec::new();
        DtmfTone::append_keys(&[key], held, KEY_PAUSE, &mut samples);
        let sound = Arc::new(EncodedSound::new(self.law, &samples));
        self.playout.push(sound).map_err(CallAudioError::Playout)
    }

    /// Writes this tick's packet; tells whether what was played has ended.
    pub(super) fn tick(&mut self, out: &mut [u8]) -> Result<(Option<usize>, bool), CallAudioError> {
        if !self.is_sending {
            self.sender.skip(FRAME_SAMPLES as u32);
            return Ok((None, false));
        }
        if let (Some(number), Some(event)) = (self.event_payload_type, self.events.tick()) {
            let octets = self.sender.write_at(number, event.marker, event.timestamp, &event.payload, out)?;
            self.sender.skip(FRAME_SAMPLES as u32);
            return Ok((Some(octets), false));
        }
        let silence = [self.law.silence(); FRAME_SAMPLES];
        let (frame, is_playing) = match self.playout.next_frame() {
            PlayoutFrame::Sound(frame) => (frame, true),
            PlayoutFrame::Pause => (&silence, true),
            PlayoutFrame::Finished => (&silence, false),
        };
        let octets = self.sender.write_sound(frame, out)?;
        let is_played = std::mem::replace(&mut self.was_playing, is_playing) && !is_playing;
        Ok((Some(octets), is_played))
    }
}
