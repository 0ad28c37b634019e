//! Media descriptions (RFC 8866 section 5.14): port, protocol, formats and their attributes.

use super::SdpAttribute;
use super::crypto::SrtpKey;
use crate::uri::HostPort;
use std::fmt;

/// The transport of a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaProtocol {
    /// RTP/AVP.
    RtpAvp,
    /// RTP/SAVP: SRTP.
    RtpSavp,
    /// udptl: T.38.
    Udptl,
    /// Any other, as it is written.
    Other(String),
}

impl MediaProtocol {
    pub(super) fn from_text(text: &str) -> MediaProtocol {
        match text.to_ascii_lowercase().as_str() {
            "rtp/avp" => MediaProtocol::RtpAvp,
            "rtp/savp" => MediaProtocol::RtpSavp,
            "udptl" => MediaProtocol::Udptl,
            _ => MediaProtocol::Other(text.to_owned()),
        }
    }
}

impl fmt::Display for MediaProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MediaProtocol::RtpAvp => "RTP/AVP",
            MediaProtocol::RtpSavp => "RTP/SAVP",
            MediaProtocol::Udptl => "udptl",
            MediaProtocol::Other(text) => text,
        })
    }
}

/// The directions in which a medium runs, seen by the side that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaDirection {
    /// Both ways.
    SendRecv,
    /// The writer sends alone.
    SendOnly,
    /// The writer receives alone: the other side holds.
    RecvOnly,
    /// Neither.
    Inactive,
}

impl MediaDirection {
    pub(super) fn from_name(name: &str) -> Option<MediaDirection> {
        match name {
            "sendrecv" => Some(MediaDirection::SendRecv),
            "sendonly" => Some(MediaDirection::SendOnly),
            "recvonly" => Some(MediaDirection::RecvOnly),
            "inactive" => Some(MediaDirection::Inactive),
            _ => None,
        }
    }

    /// The attribute's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MediaDirection::SendRecv => "sendrecv",
            MediaDirection::SendOnly => "sendonly",
            MediaDirection::RecvOnly => "recvonly",
            MediaDirection::Inactive => "inactive",
        }
    }

    /// Whether the writer sends.
    #[must_use]
    pub fn sends(self) -> bool {
        matches!(self, MediaDirection::SendRecv | MediaDirection::SendOnly)
    }

    /// Whether the writer receives.
    #[must_use]
    pub fn receives(self) -> bool {
        matches!(self, MediaDirection::SendRecv | MediaDirection::RecvOnly)
    }

    /// The direction with these ways.
    #[must_use]
    pub fn of(sends: bool, receives: bool) -> MediaDirection {
        match (sends, receives) {
            (true, true) => MediaDirection::SendRecv,
            (true, false) => MediaDirection::SendOnly,
            (false, true) => MediaDirection::RecvOnly,
            (false, false) => MediaDirection::Inactive,
        }
    }

    /// The answer to an offer of this direction by a side that wants `wanted` (RFC 3264 section 6.1).
    #[must_use]
    pub fn answered(self, wanted: MediaDirection) -> MediaDirection {
        MediaDirection::of(wanted.sends() && self.receives(), wanted.receives() && self.sends())
    }
}

/// `a=rtpmap`: the encoding of a payload type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtpMap {
    /// The payload type, 0 to 127.
    pub payload_type: u8,
    /// The encoding's name, compared without case.
    pub encoding: String,
    /// Clock rate in hertz.
    pub clock_rate: u32,
}

/// A medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaDescription {
    /// `audio`, `image`, `video` or another word.
    pub kind: String,
    /// The port at which it is received; 0: refused or over.
    pub port: u16,
    /// The transport.
    pub protocol: MediaProtocol,
    /// Payload types of RTP, or the words of another protocol.
    pub formats: Vec<String>,
    /// `c=` of the medium.
    pub connection: Option<HostPort>,
    /// `a=` of the medium.
    pub attributes: Vec<SdpAttribute>,
}

impl MediaDescription {
    /// The values of all attributes of a name; those without a value are left out.
    pub fn values<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m str> {
        let named = move |attribute: &&SdpAttribute| attribute.name() == name;
        self.attributes.iter().filter(named).filter_map(SdpAttribute::value)
    }

    /// The payload types, in order of preference; formats that are none are left out.
    pub fn payload_types(&self) -> impl Iterator<Item = u8> {
        self.formats.iter().filter_map(|format| format.parse().ok()).filter(|number| *number < 128)
    }

    /// The encoding of a payload type: its rtpmap, or the static assignment of RFC 3551 for 0 (PCMU) and 8
    /// (PCMA).
    #[must_use]
    pub fn rtp_map(&self, payload_type: u8) -> Option<RtpMap> {
        let mapped =
            self.values("rtpmap").filter_map(parse_rtp_map).find(|map| map.payload_type == payload_type);
        mapped.or_else(|| {
            let encoding = match payload_type {
                0 => "PCMU",
                8 => "PCMA",
                _ => return None,
            };
            Some(RtpMap { payload_type, encoding: encoding.to_owned(), clock_rate: 8_000 })
        })
    }

    /// The format parameters (`a=fmtp`) of a payload type.
    #[must_use]
    pub fn format_parameters(&self, payload_type: u8) -> Option<&str> {
        self.values("fmtp").find_map(|value| {
            let (number, parameters) = value.split_once(' ')?;
            (number.parse() == Ok(payload_type)).then(|| parameters.trim())
        })
    }

    /// Milliseconds of sound in one packet (`a=ptime`).
    #[must_use]
    pub fn packet_time_ms(&self) -> Option<u16> {
        self.values("ptime").find_map(|value| value.trim().parse().ok())
    }

    /// The keys of SRTP (`a=crypto`, RFC 4568) with a suite that is spoken here, in order of preference.
    pub fn srtp_keys(&self) -> impl Iterator<Item = SrtpKey> {
        self.values("crypto").filter_map(SrtpKey::parse)
    }

    /// The same medium refused: port 0 (RFC 3264 section 6).
    #[must_use]
    pub fn refused(&self) -> MediaDescription {
        MediaDescription { port: 0, connection: None, attributes: Vec::new(), ..self.clone() }
    }
}

fn parse_rtp_map(value: &str) -> Option<RtpMap> {
    let (number, encoding) = value.trim().split_once([' ', '\t'])?;
    let mut parts = encoding.trim().split('/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    let clock_rate = parts.next()?.trim().parse().ok()?;
    Some(RtpMap { payload_type: number.parse().ok()?, encoding: name.to_owned(), clock_rate })
}
