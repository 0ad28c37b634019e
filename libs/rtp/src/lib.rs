//! Sound of telephone calls without IO: RTP, RTCP and SRTP, G.711, telephone-events, DTMF, listening, WAV.
//!
//! The crate never opens a socket, never reads a clock and never sleeps. Octets, sound and an instant go in;
//! octets, sound and events come out. Sound is mono at [`SAMPLE_RATE`]; it moves in frames of
//! [`FRAME_SAMPLES`], one each [`FRAME`]. Nothing is allocated for a packet or a frame.
//!
//! - [`call`]: [`CallAudio`](call::CallAudio), all that one call needs: one thread drives every call of a
//!   process with a tick of 20 ms.
//! - [`playout`]: sound encoded once and shared by all calls that play it.
//! - [`packet`]: RTP packets (RFC 3550). [`sender`], [`receiver`]: a stream's numbers and statistics.
//!   [`rtcp`]: reports.
//! - [`g711`]: A-law and mu-law (ITU-T G.711). [`jitter`]: a buffer that puts packets in order.
//! - [`events`]: telephone-events (RFC 4733). [`dtmf`]: keys found in the sound, and their sound.
//! - [`listen`]: voice, the end of the first words, a beep, long speech.
//! - [`wav`]: WAV files read and written, converted to the rate and level of a telephone.
//! - [`srtp`]: SRTP (RFC 3711) with keys by SDES (RFC 4568).
//!
//! # Invariants worth naming
//! - No length from the wire is believed before it is compared with the octets that are there.
//! - A key is told once, however often its packets come, as an event or in the sound.
//! - A packet under SRTP changes nothing before its tag is verified.
//! - Everything that waits is bounded: samples in the jitter buffer, events, sounds to be played, sources.
//!
//! # Two ends of a call
//!
//! ```
//! use rtp::call::{CallAudio, CallAudioEvent, CallAudioOptions};
//! use rtp::dtmf::DtmfKey;
//! use rtp::FRAME;
//! use std::time::{Duration, Instant};
//!
//! let mut now = Instant::now();
//! let options = CallAudioOptions { event_payload_type: Some(101), ..CallAudioOptions::default() };
//! let mut person = CallAudio::new(CallAudioOptions { ssrc: 1, ..options.clone() }, now);
//! let mut server = CallAudio::new(CallAudioOptions { ssrc: 2, ..options }, now);
//! person.press(DtmfKey::from_char('1').expect("a key"), Duration::from_millis(80))?;
//! let mut wire = [0; 256];
//! let key = loop {
//!     if let Some(octets) = person.tick(now, &mut wire)? {
//!         server.handle_packet(now, &mut wire[..octets])?;
//!     }
//!     server.tick(now, &mut wire)?;
//!     if let Some(CallAudioEvent::Key(key)) = server.poll_event() {
//!         break key;
//!     }
//!     now += FRAME;
//! };
//! assert_eq!(key.char(), '1');
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod call;
pub mod dtmf;
pub mod events;
pub mod g711;
pub mod jitter;
pub mod listen;
pub mod packet;
pub mod playout;
pub mod receiver;
pub mod rtcp;
pub mod sender;
pub mod srtp;
#[cfg(test)]
mod tests;
pub mod wav;
mod wire;

use std::time::Duration;

/// Samples a second of all sound (G.711, telephone-event/8000). Also the RTP clock.
pub const SAMPLE_RATE: u32 = 8_000;
/// Samples of a frame: 20 ms. In G.711 also its octets.
pub const FRAME_SAMPLES: usize = 160;
/// Time of a frame, and of the tick.
pub const FRAME: Duration = Duration::from_millis(20);

/// A frame of sound: signed samples, full scale at ±32,767 (+3.14 dBm0 for a sine, ITU-T G.711).
pub type SoundFrame = [i16; FRAME_SAMPLES];

/// Samples in a duration, rounded down; at most `u32::MAX`.
pub(crate) fn samples_in(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros() * u128::from(SAMPLE_RATE) / 1_000_000).unwrap_or(u32::MAX)
}

/// Frames in a duration, rounded up; at most `u32::MAX`.
pub(crate) fn frames_in(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros().div_ceil(FRAME.as_micros())).unwrap_or(u32::MAX)
}
