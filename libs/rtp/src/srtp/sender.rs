//! Protection of packets that are sent.

use super::cipher::{LABEL_RTCP, LABEL_RTP, SessionKeys};
use super::{SRTCP_TAG_OCTETS, SRTCP_TRAILER_OCTETS, SrtpError, SrtpMasterKey};
use crate::packet::read_header;

/// Largest index of SRTCP: 31 bits.
pub(super) const RTCP_INDEX_MAX: u32 = 0x7FFF_FFFF;
/// The packet is encrypted.
pub(super) const RTCP_ENCRYPTED: u32 = 0x8000_0000;
/// Octets of an RTCP packet that stay clear: header and source.
pub(super) const RTCP_CLEAR_OCTETS: usize = 8;

/// One source's packets under a master key. The key must be used for nothing else.
pub struct SrtpSender {
    rtp: SessionKeys,
    rtcp: SessionKeys,
    tag_octets: usize,
    rollover: u32,
    last: Option<u16>,
    rtcp_index: u32,
}

impl SrtpSender {
    /// Nothing was sent; the rollover counter is 0.
    pub fn new(master: &SrtpMasterKey) -> SrtpSender {
        SrtpSender {
            rtp: SessionKeys::new(master, LABEL_RTP),
            rtcp: SessionKeys::new(master, LABEL_RTCP),
            tag_octets: master.suite().tag_octets(),
            rollover: 0,
            last: None,
            rtcp_index: 0,
        }
    }

    /// Protects the RTP packet in the first `octets` of the buffer, in place; gives its octets now, more by
    /// the suite's tag. Packets are to be given in the order of their sequence numbers.
    ///
    /// # Errors
    /// The packet has no header, the buffer no room, or the key has expired: nothing was changed.
    pub fn protect(&mut self, buffer: &mut [u8], octets: usize) -> Result<usize, SrtpError> {
        let end = octets.checked_add(self.tag_octets).filter(|end| *end <= buffer.len());
        let end = end.ok_or(SrtpError::BufferTooSmall)?;
        let (header, _, body) = read_header(&buffer[..octets])?;
        let (sequence, ssrc, start) = (header.sequence, header.ssrc, octets - body.len());
        // RFC 3711 section 3.3.1: the counter of a sender counts the wraps of its own numbers.
        if self.last.is_some_and(|last| sequence < last && last - sequence > 1 << 15) {
            self.rollover = self.rollover.checked_add(1).ok_or(SrtpError::KeyExpired)?;
        }
        self.last = Some(sequence);
        let index = u64::from(self.rollover) << 16 | u64::from(sequence);
        self.rtp.apply(ssrc, index, &mut buffer[start..octets]);
        let tag = self.rtp.tag(&buffer[..octets], &self.rollover.to_be_bytes());
        buffer[octets..end].copy_from_slice(&tag.as_ref()[..self.tag_octets]);
        Ok(end)
    }

    /// Protects the RTCP packet in the first `octets` of the buffer, in place; gives its octets now, more by
    /// [`SRTCP_TRAILER_OCTETS`] (section 3.4).
    ///
    /// # Errors
    /// As [`protect`](Self::protect).
    pub fn protect_rtcp(&mut self, buffer: &mut [u8], octets: usize) -> Result<usize, SrtpError> {
        let end = octets.checked_add(SRTCP_TRAILER_OCTETS).filter(|end| *end <= buffer.len());
        let end = end.ok_or(SrtpError::BufferTooSmall)?;
        let ssrc = rtcp_ssrc(&buffer[..octets]).ok_or(SrtpError::Short)?;
        if self.rtcp_index > RTCP_INDEX_MAX {
            return Err(SrtpError::KeyExpired);
        }
        self.rtcp.apply(ssrc, u64::from(self.rtcp_index), &mut buffer[RTCP_CLEAR_OCTETS..octets]);
        let trailer = (RTCP_ENCRYPTED | self.rtcp_index).to_be_bytes();
        buffer[octets..octets + trailer.len()].copy_from_slice(&trailer);
        let tag = self.rtcp.tag(&buffer[..octets + trailer.len()], &[]);
        buffer[octets + trailer.len()..end].copy_from_slice(&tag.as_ref()[..SRTCP_TAG_OCTETS]);
        self.rtcp_index += 1;
        Ok(end)
    }
}

/// The source of an RTCP packet.
pub(super) fn rtcp_ssrc(packet: &[u8]) -> Option<u32> {
    packet.get(4..).and_then(<[u8]>::first_chunk).map(|octets| u32::from_be_bytes(*octets))
}
