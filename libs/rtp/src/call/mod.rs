//! Sound of one call, both ways: the machine that a gateway drives, a tick each 20 ms.

mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

use crate::FRAME_SAMPLES;
use crate::dtmf::DtmfKey;
use crate::g711::G711Law;
use crate::jitter::{JITTER_DELAY, JitterCounts};
use crate::listen::{Beep, FirstWordsEnd};
use crate::packet::{RTP_HEADER_OCTETS, RtpPacketError, is_rtcp};
use crate::playout::{Playout, PlayoutRefusal};
use crate::receiver::RtpReceiver;
use crate::rtcp::{
    NtpTimestamp, RTCP_INTERVAL, RTCP_REPORT_OCTETS_MAX, RtcpError, RtcpReport, SenderInfo, rtcp_interval,
};
use crate::srtp::{
    SRTCP_TRAILER_OCTETS, SRTP_TAG_OCTETS_MAX, SrtpError, SrtpMasterKey, SrtpReceiver, SrtpSender,
};
use incoming::IncomingAudio;
use outgoing::OutgoingAudio;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// A buffer of this size holds any packet of a tick.
pub const CALL_PACKET_OCTETS_MAX: usize = RTP_HEADER_OCTETS + FRAME_SAMPLES + SRTP_TAG_OCTETS_MAX;
/// A buffer of this size holds any report.
pub const CALL_REPORT_OCTETS_MAX: usize = RTCP_REPORT_OCTETS_MAX + SRTCP_TRAILER_OCTETS;
/// Events that wait for the caller at most; later ones are dropped.
pub const CALL_EVENTS_MAX: usize = 32;

/// Terms of a call, as SDP settled them, and numbers that the caller drew.
#[derive(Debug, Clone)]
pub struct CallAudioOptions {
    /// Law of the sound that is sent. Both are received.
    pub law: G711Law,
    /// Payload type of telephone-events, for both ways. Without one keys are found in the sound, and sent so.
    pub event_payload_type: Option<u8>,
    /// Source: random.
    pub ssrc: u32,
    /// First sequence number: random. Under SRTP its highest bit is cleared, so that a lost first packet does
    /// not hide a wrap.
    pub sequence: u16,
    /// First timestamp: random.
    pub timestamp: u32,
    /// Canonical name in reports: 1 to 255 octets, random for each call (RFC 7022).
    pub cname: String,
    /// Delay of the jitter buffer, at most [`JITTER_DELAY_MAX`](crate::jitter::JITTER_DELAY_MAX).
    pub jitter_delay: Duration,
    /// Keys, if the call is under SRTP.
    pub srtp: Option<CallSrtpKeys>,
}

impl Default for CallAudioOptions {
    fn default() -> CallAudioOptions {
        CallAudioOptions {
            law: G711Law::A,
            event_payload_type: None,
            ssrc: 0,
            sequence: 0,
            timestamp: 0,
            cname: "call".to_owned(),
            jitter_delay: JITTER_DELAY,
            srtp: None,
        }
    }
}

/// Master keys of both directions (RFC 4568): ours in our SDP, the peer's in the peer's.
#[derive(Debug, Clone)]
pub struct CallSrtpKeys {
    /// Of packets that are sent.
    pub sent: SrtpMasterKey,
    /// Of packets that are received.
    pub received: SrtpMasterKey,
}

/// Something that was heard, or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAudioEvent {
    /// The person pressed a key: once for each press.
    Key(DtmfKey),
    /// The person has said hello, or nothing: a message may begin. Once for each call.
    FirstWords(FirstWordsEnd),
    /// Long speech without a pause: perhaps a machine. Once for each call.
    LongSpeech,
    /// A beep has ended: perhaps a machine records now.
    Beep(Beep),
    /// All that was to be played was played.
    Played,
    /// The peer's stream ends (RTCP BYE). The call itself ends by SIP.
    Bye,
}

/// A packet that was dropped, or something that could not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAudioError {
    /// An RTP packet cannot be read, or does not fit its buffer.
    Packet(RtpPacketError),
    /// An RTCP packet cannot be read, or does not fit its buffer.
    Rtcp(RtcpError),
    /// SRTP refuses the packet.
    Srtp(SrtpError),
    /// A payload type that was not negotiated.
    PayloadType(u8),
    /// A sequence number far from the others.
    OutOfRange,
    /// A key is still being sent.
    KeyHeld,
    /// A key cannot be played as sound.
    Playout(PlayoutRefusal),
}

impl fmt::Display for CallAudioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallAudioError::Packet(error) => error.fmt(f),
            CallAudioError::Rtcp(error) => error.fmt(f),
            CallAudioError::Srtp(error) => error.fmt(f),
            CallAudioError::PayloadType(number) => {
                write!(f, "an RTP packet has the payload type {number}, which was not negotiated")
            }
            CallAudioError::OutOfRange => {
                f.write_str("an RTP packet has a sequence number far from the others")
            }
            CallAudioError::KeyHeld => {
                f.write_str("a key is still being sent; press the next when it has ended")
            }
            CallAudioError::Playout(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CallAudioError {}

impl From<RtpPacketError> for CallAudioError {
    fn from(error: RtpPacketError) -> CallAudioError {
        CallAudioError::Packet(error)
    }
}

impl From<RtcpError> for CallAudioError {
    fn from(error: RtcpError) -> CallAudioError {
        CallAudioError::Rtcp(error)
    }
}

impl From<SrtpError> for CallAudioError {
    fn from(error: SrtpError) -> CallAudioError {
        CallAudioError::Srtp(error)
    }
}

/// One call's sound. Each tick sends one packet, takes one frame from the jitter buffer and listens to it.
/// Nothing is allocated after [`new`](Self::new), but by [`press`](Self::press) of a key that is sent as
/// sound.
pub struct CallAudio {
    outgoing: OutgoingAudio,
    incoming: IncomingAudio,
    srtp: Option<(SrtpSender, SrtpReceiver)>,
    waiting: VecDeque<CallAudioEvent>,
    cname: String,
    next_report: Instant,
    /// Packets sent when the last report was.
    packets_reported: u32,
}

impl CallAudio {
    /// A call whose sound begins now.
    pub fn new(options: CallAudioOptions, now: Instant) -> CallAudio {
        let srtp = options.srtp.as_ref();
        CallAudio {
            outgoing: OutgoingAudio::new(&options),
            incoming: IncomingAudio::new(&options, now),
            srtp: srtp.map(|keys| (SrtpSender::new(&keys.sent), SrtpReceiver::new(&keys.received))),
            waiting: VecDeque::with_capacity(CALL_EVENTS_MAX),
            cname: options.cname,
            next_report: now + RTCP_INTERVAL / 2,
            packets_reported: 0,
        }
    }

    /// What is played. Sounds and pauses are added to it; silence is sent without any.
    pub fn playout(&mut self) -> &mut Playout {
        &mut self.outgoing.playout
    }

    /// Sends (the state at first) or is silent, as a re-INVITE with `recvonly` or `inactive` asks. What is
    /// played stands still meanwhile.
    pub fn set_sending(&mut self, is_sending: bool) {
        self.outgoing.is_sending = is_sending;
    }

    /// Statistics of the peer's stream.
    pub fn receiver(&self) -> &RtpReceiver {
        &self.incoming.receiver
    }

    /// Counts of the jitter buffer.
    pub fn jitter_counts(&self) -> JitterCounts {
        self.incoming.jitter.counts()
    }

    /// Presses a key, as a person does (for simulators): by telephone-events, or as sound behind what is
    /// played.
    ///
    /// # Errors
    /// A key is still being sent, or too many sounds wait.
    pub fn press(&mut self, key: DtmfKey, held: Duration) -> Result<(), CallAudioError> {
        self.outgoing.press(key, held)
    }

    /// A tick of 20 ms: listens to a frame, and writes the packet to be sent to the front of `out`, which has
    /// [`CALL_PACKET_OCTETS_MAX`]. Gives its octets; `None` while nothing is sent.
    ///
    /// # Errors
    /// The buffer is too small, or the key of SRTP has expired.
    pub fn tick(&mut self, now: Instant, out: &mut [u8]) -> Result<Option<usize>, CallAudioError> {
        let room = CALL_EVENTS_MAX.saturating_sub(self.waiting.len());
        self.incoming.tick(now, room, &mut self.waiting);
        let (octets, is_played) = self.outgoing.tick(out)?;
        if is_played && self.waiting.len() < CALL_EVENTS_MAX {
            self.waiting.push_back(CallAudioEvent::Played);
        }
        match (octets, &mut self.srtp) {
            (Some(octets), Some((sender, _))) => Ok(Some(sender.protect(out, octets)?)),
            (octets, _) => Ok(octets),
        }
    }

    /// Takes a datagram from the peer, RTP or, on one port (RFC 5761), RTCP. Decrypts it in place.
    ///
    /// # Errors
    /// The datagram was dropped, and why.
    pub fn handle_packet(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), CallAudioError> {
        if is_rtcp(datagram) {
            return self.handle_rtcp(now, datagram);
        }
        let octets = match &mut self.srtp {
            Some((_, receiver)) => receiver.unprotect(datagram)?,
            None => datagram.len(),
        };
        self.incoming.handle_packet(now, &datagram[..octets])
    }

    /// Takes a datagram that came to the port of RTCP. Decrypts it in place.
    ///
    /// # Errors
    /// The datagram was dropped, and why.
    pub fn handle_rtcp(&mut self, now: Instant, datagram: &mut [u8]) -> Result<(), CallAudioError> {
        let octets = match &mut self.srtp {
            Some((_, receiver)) => receiver.unprotect_rtcp(datagram)?,
            None => datagram.len(),
        };
        let is_bye = self.incoming.handle_rtcp(now, &datagram[..octets])?;
        if is_bye && self.waiting.len() < CALL_EVENTS_MAX {
            self.waiting.push_back(CallAudioEvent::Bye);
        }
        Ok(())
    }

    /// The next event. To be asked until there is none, after each tick.
    pub fn poll_event(&mut self) -> Option<CallAudioEvent> {
        self.waiting.pop_front()
    }

    /// When [`report`](Self::report) is to be called next.
    pub fn next_report(&self) -> Instant {
        self.next_report
    }

    /// Writes the report that is due into `out`, which has [`CALL_REPORT_OCTETS_MAX`], and gives its octets;
    /// `None` before [`next_report`](Self::next_report). `wall` is the time of day, `random` any 32 random
    /// bits.
    ///
    /// # Errors
    /// The CNAME has a wrong length, the buffer is too small, or the key of SRTP has expired.
    pub fn report(
        &mut self,
        now: Instant,
        wall: NtpTimestamp,
        random: u32,
        out: &mut [u8],
    ) -> Result<Option<usize>, CallAudioError> {
        if now < self.next_report {
            return Ok(None);
        }
        self.next_report = now + rtcp_interval(random);
        self.write_report(now, wall, false, out).map(Some)
    }

    /// Writes the last report, with a BYE, and gives its octets.
    ///
    /// # Errors
    /// As [`report`](Self::report).
    pub fn bye(&mut self, now: Instant, wall: NtpTimestamp, out: &mut [u8]) -> Result<usize, CallAudioError> {
        self.write_report(now, wall, true, out)
    }

    fn write_report(
        &mut self,
        now: Instant,
        wall: NtpTimestamp,
        is_bye: bool,
        out: &mut [u8],
    ) -> Result<usize, CallAudioError> {
        let sent = &self.outgoing.sender;
        let sender = (sent.packets() != self.packets_reported).then(|| SenderInfo {
            ntp: wall,
            timestamp: sent.timestamp(),
            packets: sent.packets(),
            octets: sent.payload_octets(),
        });
        self.packets_reported = sent.packets();
        let block = self.incoming.receiver.report_block(now);
        let report = RtcpReport { ssrc: sent.ssrc(), sender, block, cname: &self.cname, is_bye };
        let octets = report.write(out)?;
        match &mut self.srtp {
            Some((sender, _)) => Ok(sender.protect_rtcp(out, octets)?),
            None => Ok(octets),
        }
    }
}
