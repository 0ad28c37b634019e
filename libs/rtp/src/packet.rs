//! RTP packets (RFC 3550 section 5.1), read in place and written into a buffer that is given.

use crate::wire::{WireReader, WireWriter};
use std::fmt;

/// The version of RTP that is spoken.
pub(crate) const RTP_VERSION: u8 = 2;
/// Octets of a header without CSRC list and extension.
pub const RTP_HEADER_OCTETS: usize = 12;
/// Most contributing sources of a packet: the count has four bits.
pub const CSRCS_MAX: usize = 15;
/// Largest payload type: it has seven bits.
pub const PAYLOAD_TYPE_MAX: u8 = 127;
/// Octets of a CSRC, and of the unit in which an extension counts.
const WORD_OCTETS: usize = 4;

/// An RTP packet. Its octets are those of the datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtpPacket<'a> {
    /// The payload type, at most [`PAYLOAD_TYPE_MAX`].
    pub payload_type: u8,
    /// The marker: the first packet of a talkspurt (RFC 3551 section 4.1), or of an event (RFC 4733).
    pub marker: bool,
    /// The sequence number.
    pub sequence: u16,
    /// When the first sample of the payload was taken, in samples.
    pub timestamp: u32,
    /// The synchronisation source.
    pub ssrc: u32,
    /// The contributing sources, four octets each, at most [`CSRCS_MAX`].
    pub csrcs: &'a [u8],
    /// The header extension (section 5.3.1).
    pub extension: Option<RtpExtension<'a>>,
    /// The payload, without padding.
    pub payload: &'a [u8],
    /// Octets of padding, 0 without any. The last of them is this number.
    pub padding: u8,
}

/// A header extension (RFC 3550 section 5.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtpExtension<'a> {
    /// Defined by the profile.
    pub profile: u16,
    /// A multiple of four octets, at most 262,140.
    pub data: &'a [u8],
}

/// A packet that cannot be read (the peer's fault) or written (the caller's).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtpPacketError {
    /// The datagram ends within this field.
    Short {
        /// `header`, `CSRC list`, `header extension` or `padding`.
        field: &'static str,
    },
    /// Another version than 2, perhaps no RTP at all.
    Version(u8),
    /// The padding count is 0.
    EmptyPadding,
    /// A field has a value without a form on the wire.
    Field {
        /// `payload type`, `CSRC list` or `header extension`.
        field: &'static str,
    },
    /// The buffer is too small.
    BufferTooSmall {
        /// Octets that the packet has.
        octets: usize,
    },
}

impl fmt::Display for RtpPacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RtpPacketError::Short { field } => write!(f, "an RTP packet ends within its {field}"),
            RtpPacketError::Version(version) => write!(f, "a datagram has RTP version {version}, not 2"),
            RtpPacketError::EmptyPadding => f.write_str("an RTP packet has padding of 0 octets"),
            RtpPacketError::Field { field } => {
                write!(f, "the {field} of an RTP packet is over its limit or has an odd length")
            }
            RtpPacketError::BufferTooSmall { octets } => {
                write!(f, "an RTP packet of {octets} octets does not fit its buffer")
            }
        }
    }
}

impl std::error::Error for RtpPacketError {}

/// Tells RTCP from RTP on one port (RFC 5761 section 4): true for RTCP.
pub fn is_rtcp(datagram: &[u8]) -> bool {
    datagram.get(1).is_some_and(|octet| (192..=223).contains(octet))
}

impl<'a> RtpPacket<'a> {
    /// Reads a datagram (RFC 3550 appendix A.1: version, lengths, padding).
    ///
    /// # Errors
    /// The field in which the datagram ends, a wrong version, padding of no octets.
    pub fn parse(datagram: &'a [u8]) -> Result<RtpPacket<'a>, RtpPacketError> {
        let (header, has_padding, body) = read_header(datagram)?;
        let padding = match (has_padding, body.last()) {
            (false, _) => 0,
            (true, Some(0)) => return Err(RtpPacketError::EmptyPadding),
            (true, Some(&octets)) => octets,
            (true, None) => return Err(RtpPacketError::Short { field: "padding" }),
        };
        let octets = body.len().checked_sub(usize::from(padding));
        let octets = octets.ok_or(RtpPacketError::Short { field: "padding" })?;
        Ok(RtpPacket { payload: &body[..octets], padding, ..header })
    }

    /// Writes the packet to the front of `out` and gives its octets.
    ///
    /// # Errors
    /// A field over its limit; a buffer that is too small. `out` may have been written to.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, RtpPacketError> {
        self.check()?;
        let octets = self.octets();
        let mut writer = WireWriter::new(out);
        self.write_all(&mut writer).ok_or(RtpPacketError::BufferTooSmall { octets })?;
        Ok(octets)
    }

    fn check(&self) -> Result<(), RtpPacketError> {
        if self.payload_type > PAYLOAD_TYPE_MAX {
            return Err(RtpPacketError::Field { field: "payload type" });
        }
        if !self.csrcs.len().is_multiple_of(WORD_OCTETS) || self.csrcs.len() > CSRCS_MAX * WORD_OCTETS {
            return Err(RtpPacketError::Field { field: "CSRC list" });
        }
        let data = self.extension.map_or(0, |extension| extension.data.len());
        match data.is_multiple_of(WORD_OCTETS) && data / WORD_OCTETS <= usize::from(u16::MAX) {
            true => Ok(()),
            false => Err(RtpPacketError::Field { field: "header extension" }),
        }
    }

    /// Octets of the whole packet.
    pub fn octets(&self) -> usize {
        let extension = self.extension.map_or(0, |extension| WORD_OCTETS + extension.data.len());
        RTP_HEADER_OCTETS + self.csrcs.len() + extension + self.payload.len() + usize::from(self.padding)
    }

    /// Within [`check`](Self::check), so that the casts lose nothing.
    fn write_all(&self, writer: &mut WireWriter<'_>) -> Option<()> {
        let padding = u8::from(self.padding > 0) << 5;
        let extension = u8::from(self.extension.is_some()) << 4;
        let csrcs = (self.csrcs.len() / WORD_OCTETS) as u8;
        writer.put(&[
            RTP_VERSION << 6 | padding | extension | csrcs,
            u8::from(self.marker) << 7 | self.payload_type,
        ])?;
        writer.put(&self.sequence.to_be_bytes())?;
        writer.put_u32(self.timestamp)?;
        writer.put_u32(self.ssrc)?;
        writer.put(self.csrcs)?;
        if let Some(extension) = self.extension {
            writer.put(&extension.profile.to_be_bytes())?;
            writer.put(&((extension.data.len() / WORD_OCTETS) as u16).to_be_bytes())?;
            writer.put(extension.data)?;
        }
        writer.put(self.payload)?;
        if self.padding > 0 {
            for _ in 1..self.padding {
                writer.put(&[0])?;
            }
            writer.put(&[self.padding])?;
        }
        Some(())
    }
}

/// The header, whether the packet has padding, and everything behind the header. Under SRTP payload and
/// padding are encrypted, so the header is read without them.
pub(crate) fn read_header(datagram: &[u8]) -> Result<(RtpPacket<'_>, bool, &[u8]), RtpPacketError> {
    const SHORT: RtpPacketError = RtpPacketError::Short { field: "header" };
    let mut reader = WireReader::new(datagram);
    let first = reader.u8().ok_or(SHORT)?;
    if first >> 6 != RTP_VERSION {
        return Err(RtpPacketError::Version(first >> 6));
    }
    let second = reader.u8().ok_or(SHORT)?;
    let sequence = reader.u16().ok_or(SHORT)?;
    let timestamp = reader.u32().ok_or(SHORT)?;
    let ssrc = reader.u32().ok_or(SHORT)?;
    let csrcs = reader.take(usize::from(first & 0x0F) * WORD_OCTETS);
    let csrcs = csrcs.ok_or(RtpPacketError::Short { field: "CSRC list" })?;
    let extension = match first & 0x10 {
        0 => None,
        _ => {
            let extension = read_extension(&mut reader);
            Some(extension.ok_or(RtpPacketError::Short { field: "header extension" })?)
        }
    };
    let header = RtpPacket {
        payload_type: second & PAYLOAD_TYPE_MAX,
        marker: second & 0x80 != 0,
        sequence,
        timestamp,
        ssrc,
        csrcs,
        extension,
        payload: &[],
        padding: 0,
    };
    Ok((header, first & 0x20 != 0, reader.rest()))
}

fn read_extension<'a>(reader: &mut WireReader<'a>) -> Option<RtpExtension<'a>> {
    let profile = reader.u16()?;
    let words = reader.u16()?;
    Some(RtpExtension { profile, data: reader.take(usize::from(words) * WORD_OCTETS)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const PLAIN: [u8; 14] = [0x80, 0x88, 0x12, 0x34, 0, 0, 1, 0x40, 0xCA, 0xFE, 0xBA, 0xBE, 0xD5, 0xD5];

    #[test]
    fn a_plain_packet_is_read_field_by_field() {
        let packet = RtpPacket::parse(&PLAIN).unwrap();
        assert_eq!((packet.payload_type, packet.marker), (8, true));
        assert_eq!((packet.sequence, packet.timestamp, packet.ssrc), (0x1234, 320, 0xCAFE_BABE));
        assert_eq!((packet.payload, packet.csrcs, packet.extension), (&[0xD5, 0xD5][..], &[][..], None));
    }

    #[test]
    fn a_datagram_that_ends_within_a_field_names_it() {
        let all =
            [0xB2, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1, 1, 2, 2, 2, 2, 0xBE, 0xDE, 0, 1, 9, 9, 9, 9, 7];
        let field = |octets: usize| RtpPacket::parse(&all[..octets]).unwrap_err();
        for octets in 0..12 {
            assert_eq!(field(octets), RtpPacketError::Short { field: "header" });
        }
        for octets in 12..20 {
            assert_eq!(field(octets), RtpPacketError::Short { field: "CSRC list" });
        }
        for octets in 20..28 {
            assert_eq!(field(octets), RtpPacketError::Short { field: "header extension" });
        }
        assert_eq!(field(28), RtpPacketError::Short { field: "padding" });
        assert_eq!(field(29), RtpPacketError::Short { field: "padding" });
    }

    #[test]
    fn another_version_and_padding_of_no_octets_are_refused() {
        let mut datagram = PLAIN;
        datagram[0] = 0x40;
        assert_eq!(RtpPacket::parse(&datagram), Err(RtpPacketError::Version(1)));
        datagram[0] = 0xA0;
        datagram[13] = 0;
        assert_eq!(RtpPacket::parse(&datagram), Err(RtpPacketError::EmptyPadding));
        datagram[13] = 2;
        assert_eq!(RtpPacket::parse(&datagram).unwrap().payload, &[] as &[u8]);
        datagram[13] = 3;
        assert_eq!(RtpPacket::parse(&datagram), Err(RtpPacketError::Short { field: "padding" }));
    }

    #[test]
    fn a_field_over_its_limit_is_not_written() {
        let packet = RtpPacket::parse(&PLAIN).unwrap();
        let mut out = [0; 64];
        let field = |packet: RtpPacket<'_>, out: &mut [u8]| packet.write(out).unwrap_err();
        let wrong = RtpPacket { payload_type: 128, ..packet };
        assert_eq!(field(wrong, &mut out), RtpPacketError::Field { field: "payload type" });
        let wrong = RtpPacket { csrcs: &[0; 64], ..packet };
        assert_eq!(field(wrong, &mut out), RtpPacketError::Field { field: "CSRC list" });
        let wrong = RtpPacket { extension: Some(RtpExtension { profile: 0, data: &[0; 3] }), ..packet };
        assert_eq!(field(wrong, &mut out), RtpPacketError::Field { field: "header extension" });
        assert_eq!(field(packet, &mut out[..13]), RtpPacketError::BufferTooSmall { octets: 14 });
    }

    #[test]
    fn rtcp_on_the_same_port_is_told_by_its_packet_type() {
        assert!(is_rtcp(&[0x80, 200]) && is_rtcp(&[0x81, 201, 0, 1]));
        assert!(!is_rtcp(&PLAIN) && !is_rtcp(&[0x80]) && !is_rtcp(&[0x80, 0x80 | 101]));
    }

    proptest! {
        #[test]
        fn a_written_packet_is_read_as_it_was(
            (payload_type, marker, sequence, timestamp, ssrc) in
                (0..=PAYLOAD_TYPE_MAX, any::<bool>(), any::<u16>(), any::<u32>(), any::<u32>()),
            csrcs in 0..=CSRCS_MAX,
            extension in proptest::option::of((any::<u16>(), 0..40_usize)),
            payload in vec(any::<u8>(), 0..400),
            padding in any::<u8>(),
        ) {
            let words = [0x5A; 160];
            let packet = RtpPacket {
                payload_type, marker, sequence, timestamp, ssrc,
                csrcs: &words[..csrcs * 4],
                extension: extension.map(|(profile, n)| RtpExtension { profile, data: &words[..n * 4] }),
                payload: &payload,
                padding,
            };
            let mut out = [0; 2_000];
            let octets = packet.write(&mut out).unwrap();
            prop_assert_eq!(octets, packet.octets());
            prop_assert_eq!(RtpPacket::parse(&out[..octets]).unwrap(), packet);
            prop_assert!(packet.write(&mut out[..octets - 1]).is_err());
        }

        #[test]
        fn any_octets_are_read_or_refused_and_what_is_read_is_written_as_long(
            datagram in vec(any::<u8>(), 0..80),
        ) {
            if let Ok(packet) = RtpPacket::parse(&datagram) {
                prop_assert_eq!(packet.octets(), datagram.len());
                let mut out = [0; 80];
                prop_assert_eq!(packet.write(&mut out), Ok(datagram.len()));
                prop_assert_eq!(RtpPacket::parse(&out[..datagram.len()]).unwrap(), packet);
            }
        }
    }
}
