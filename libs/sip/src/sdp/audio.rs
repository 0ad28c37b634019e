//! Offer and answer of telephone sound: PCMA, PCMU and telephone events over RTP or SRTP (RFC 3264, RFC 4733,
//! RFC 4568).

use super::{MediaDescription, MediaDirection, MediaProtocol, SdpAttribute, SessionDescription, SrtpKey};
use crate::uri::HostPort;
use std::fmt;
use std::net::SocketAddr;

/// Milliseconds of sound in a packet where nothing else is said (RFC 3551 section 4.2).
pub const PACKET_TIME_DEFAULT_MS: u16 = 20;
/// Payload type that our offers give to telephone events: the one that most trunks use.
const TELEPHONE_EVENT_TYPE: u8 = 101;
const CLOCK_RATE: u32 = 8_000;

/// G.711.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AudioCodec {
    /// A-law, payload type 8.
    Pcma,
    /// mu-law, payload type 0.
    Pcmu,
}

impl AudioCodec {
    fn name(self) -> &'static str {
        match self {
            AudioCodec::Pcma => "PCMA",
            AudioCodec::Pcmu => "PCMU",
        }
    }

    /// The static payload type (RFC 3551 table 4).
    #[must_use]
    pub fn payload_type(self) -> u8 {
        match self {
            AudioCodec::Pcma => 8,
            AudioCodec::Pcmu => 0,
        }
    }
}

/// The side of ours: the address of its RTP socket, and what it speaks.
#[derive(Debug, Clone)]
pub struct LocalAudio {
    /// The address that the peer sends to; its port is never 0.
    pub address: SocketAddr,
    /// Codecs in order of preference. In an answer the peer's order counts.
    pub codecs: Vec<AudioCodec>,
    /// Whether key presses come as telephone events (RFC 4733).
    pub telephone_events: bool,
    /// The key that we send with: an offer is of SRTP with it, and of RTP without; an answer uses it where
    /// SRTP is offered, with the tag and suite of the offer.
    pub srtp_key: Option<SrtpKey>,
    /// The ways that we want.
    pub direction: MediaDirection,
    /// `sess-id` of `o=`: fixed for the call.
    pub session_id: u64,
    /// `sess-version` of `o=`: one more with each change.
    pub version: u64,
}

/// What both sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreedAudio {
    /// The codec, both ways.
    pub codec: AudioCodec,
    /// Its payload type.
    pub payload_type: u8,
    /// The payload type of telephone events that the peer receives, and mostly sends; nothing: it has none.
    pub telephone_event: Option<u8>,
    /// The host that receives our sound; RTCP is at the port above.
    pub remote_host: HostPort,
    /// The port there.
    pub remote_port: u16,
    /// The directions, seen from us.
    pub direction: MediaDirection,
    /// Milliseconds of sound that the peer wants in a packet.
    pub packet_time_ms: u16,
    /// SRTP: our key and the peer's, one suite.
    pub srtp: Option<(SrtpKey, SrtpKey)>,
    /// Which of the description's media it is.
    pub medium: usize,
}

impl AgreedAudio {
    /// The socket that receives our sound, unless the peer gave a name.
    #[must_use]
    pub fn remote(&self) -> Option<SocketAddr> {
        self.remote_host.ip().map(|address| SocketAddr::new(address, self.remote_port))
    }
}

/// The reason why there is no sound between the sides (488).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AudioDisagreement {
    /// No medium of sound, or a refused one.
    NoAudio,
    /// No codec in common.
    NoCodec,
    /// The peer gave no address.
    NoAddress,
    /// One side wants SRTP and the other has no key that is spoken here.
    NoKey,
}

impl fmt::Display for AudioDisagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AudioDisagreement::NoAudio => "the peer's description has no sound",
            AudioDisagreement::NoCodec => "the peer speaks neither PCMA nor PCMU",
            AudioDisagreement::NoAddress => "the peer's description has no address",
            AudioDisagreement::NoKey => "one side wants SRTP, and the other has no key for it",
        })
    }
}

impl std::error::Error for AudioDisagreement {}

impl LocalAudio {
    /// An offer: one medium.
    #[must_use]
    pub fn offer(&self) -> SessionDescription {
        let mut description = self.empty();
        let codecs: Vec<_> = self.codecs.iter().map(|codec| (*codec, codec.payload_type())).collect();
        let event = self.telephone_events.then_some(TELEPHONE_EVENT_TYPE);
        description.media.push(self.medium(&codecs, event, self.direction, self.srtp_key.as_ref()));
        description
    }

    /// The answer to an offer, and what was agreed: the first medium of sound that fits, all others refused.
    /// The codec is the first of the offer that we speak.
    ///
    /// # Errors
    /// The offer's first obstacle: answer with 488.
    pub fn answer(
        &self,
        offer: &SessionDescription,
    ) -> Result<(SessionDescription, AgreedAudio), AudioDisagreement> {
        let mut problem = AudioDisagreement::NoAudio;
        for (index, medium) in offer.media.iter().enumerate() {
            match self.agree_on(offer, index, medium, None) {
                Err(AudioDisagreement::NoAudio) => {}
                Err(other) => problem = other,
                Ok(agreed) => {
                    let codecs = [(agreed.codec, agreed.payload_type)];
                    let own = agreed.srtp.as_ref().map(|(own, _)| own);
                    let answer = self.medium(&codecs, agreed.telephone_event, agreed.direction, own);
                    let mut description = self.empty();
                    description.media = offer.media.iter().map(MediaDescription::refused).collect();
                    description.media[index] = answer;
                    return Ok((description, agreed));
                }
            }
        }
        Err(problem)
    }

    /// What was agreed by an answer to [`LocalAudio::offer`].
    ///
    /// # Errors
    /// The answer refuses the sound or has something that was not offered: end the call.
    pub fn agreed(&self, answer: &SessionDescription) -> Result<AgreedAudio, AudioDisagreement> {
        let found = answer.media.iter().enumerate().find(|(_, medium)| is_sound(medium));
        let (index, medium) = found.ok_or(AudioDisagreement::NoAudio)?;
        self.agree_on(answer, index, medium, self.srtp_key.as_ref())
    }

    /// `offered` is our key, if the peer's description answers an offer with it.
    fn agree_on(
        &self,
        description: &SessionDescription,
        index: usize,
        medium: &MediaDescription,
        offered: Option<&SrtpKey>,
    ) -> Result<AgreedAudio, AudioDisagreement> {
        if !is_sound(medium) {
            return Err(AudioDisagreement::NoAudio);
        }
        let srtp = match (&medium.protocol, &self.srtp_key) {
            (MediaProtocol::RtpSavp, Some(own)) => Some(agree_on_keys(medium, own, offered)?),
            (MediaProtocol::RtpSavp, None) => return Err(AudioDisagreement::NoKey),
            _ if offered.is_some() => return Err(AudioDisagreement::NoKey),
            _ => None,
        };
        let mut types = medium.payload_types();
        let found = types.find_map(|number| self.codec_of(medium, number).map(|codec| (codec, number)));
        let (codec, payload_type) = found.ok_or(AudioDisagreement::NoCodec)?;
        let remote_host = description.address_of(medium).ok_or(AudioDisagreement::NoAddress)?.clone();
        let is_unspecified = remote_host.ip().is_some_and(|address| address.is_unspecified());
        // An address of zeros holds the sound, as RFC 2543 had it.
        let mut theirs = description.direction_of(medium);
        if is_unspecified {
            theirs = MediaDirection::of(theirs.sends(), false);
        }
        Ok(AgreedAudio {
            codec,
            payload_type,
            telephone_event: self.telephone_event_of(medium),
            remote_host,
            remote_port: medium.port,
            direction: theirs.answered(self.direction),
            packet_time_ms: medium.packet_time_ms().filter(|ms| *ms > 0).unwrap_or(PACKET_TIME_DEFAULT_MS),
            srtp,
            medium: index,
        })
    }

    fn codec_of(&self, medium: &MediaDescription, payload_type: u8) -> Option<AudioCodec> {
        let map = medium.rtp_map(payload_type).filter(|map| map.clock_rate == CLOCK_RATE)?;
        self.codecs.iter().copied().find(|codec| codec.name().eq_ignore_ascii_case(&map.encoding))
    }

    fn telephone_event_of(&self, medium: &MediaDescription) -> Option<u8> {
        let is_event = |number: &u8| {
            medium.rtp_map(*number).is_some_and(|map| {
                map.encoding.eq_ignore_ascii_case("telephone-event") && map.clock_rate == CLOCK_RATE
            })
        };
        medium.payload_types().find(is_event).filter(|_| self.telephone_events)
    }

    fn empty(&self) -> SessionDescription {
        SessionDescription::new(self.session_id, self.version, self.address.ip())
    }

    fn medium(
        &self,
        codecs: &[(AudioCodec, u8)],
        telephone_event: Option<u8>,
        direction: MediaDirection,
        key: Option<&SrtpKey>,
    ) -> MediaDescription {
        let mut formats = Vec::new();
        let mut attributes = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            let attribute = SdpAttribute::new(name, value.as_deref());
            attributes.push(attribute.expect("names and values of this module have their form"));
        };
        for (codec, number) in codecs {
            formats.push(number.to_string());
            add("rtpmap", Some(format!("{number} {}/{CLOCK_RATE}", codec.name())));
        }
        if let Some(number) = telephone_event {
            formats.push(number.to_string());
            add("rtpmap", Some(format!("{number} telephone-event/{CLOCK_RATE}")));
            add("fmtp", Some(format!("{number} 0-15")));
        }
        add("ptime", Some(PACKET_TIME_DEFAULT_MS.to_string()));
        add(direction.as_str(), None);
        if let Some(key) = key {
            add("crypto", Some(key.to_string()));
        }
        MediaDescription {
            kind: "audio".to_owned(),
            port: self.address.port(),
            protocol: if key.is_some() { MediaProtocol::RtpSavp } else { MediaProtocol::RtpAvp },
            formats,
            connection: None,
            attributes,
        }
    }
}

fn is_sound(medium: &MediaDescription) -> bool {
    let is_rtp = matches!(medium.protocol, MediaProtocol::RtpAvp | MediaProtocol::RtpSavp)
        || matches!(&medium.protocol, MediaProtocol::Other(text) if text.eq_ignore_ascii_case("RTP/AVPF"));
    medium.kind.eq_ignore_ascii_case("audio") && medium.port != 0 && is_rtp
}

/// Our key and the peer's (RFC 4568 section 7.1): an answer has the tag and suite of the offer.
fn agree_on_keys(
    medium: &MediaDescription,
    own: &SrtpKey,
    offered: Option<&SrtpKey>,
) -> Result<(SrtpKey, SrtpKey), AudioDisagreement> {
    let fits =
        |theirs: &SrtpKey| offered.is_none_or(|own| own.tag == theirs.tag && own.suite == theirs.suite);
    let theirs = medium.srtp_keys().find(fits).ok_or(AudioDisagreement::NoKey)?;
    let own = SrtpKey { tag: theirs.tag, suite: theirs.suite, key_and_salt: own.key_and_salt };
    Ok((own, theirs))
}
