//! Compound packets that are read (RFC 3550 section 6.1, appendix A.2), in place.

use super::{
    BLOCK_OCTETS, BYE, DESCRIPTION, ITEM_CNAME, NtpTimestamp, RECEIVER_REPORT, RTCP_HEADER_OCTETS,
    ReportBlock, RtcpError, SENDER_REPORT, SenderInfo,
};
use crate::packet::RTP_VERSION;
use crate::wire::WireReader;

/// A compound packet whose lengths add up and that begins with a report.
#[derive(Debug, Clone, Copy)]
pub struct RtcpCompound<'a> {
    octets: &'a [u8],
}

/// One packet of a compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtcpPacket<'a> {
    /// SR (section 6.4.1).
    SenderReport {
        /// The source that reports.
        ssrc: u32,
        /// Its own stream.
        sender: SenderInfo,
        /// The streams that it receives.
        blocks: ReportBlocks<'a>,
    },
    /// RR (section 6.4.2).
    ReceiverReport {
        /// The source that reports.
        ssrc: u32,
        /// The streams that it receives.
        blocks: ReportBlocks<'a>,
    },
    /// SDES (section 6.5): the first chunk.
    Description {
        /// The source that is described.
        ssrc: u32,
        /// Its CNAME, if it has one. As it came: not always UTF-8.
        cname: Option<&'a [u8]>,
    },
    /// BYE (section 6.6).
    Bye {
        /// The sources that end, four octets each.
        sources: &'a [u8],
        /// Why, as it came; empty without.
        reason: &'a [u8],
    },
    /// Another type: APP, or one of an extension. Not read.
    Other {
        /// The packet type.
        packet_type: u8,
    },
}

/// Report blocks of a packet, at most 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportBlocks<'a> {
    octets: &'a [u8],
}

/// A packet of a compound before its body is read.
struct Framed<'a> {
    count: u8,
    packet_type: u8,
    body: &'a [u8],
}

impl<'a> RtcpCompound<'a> {
    /// Checks the frame of all packets (appendix A.2): version, lengths, padding at the end alone, a report
    /// first.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(datagram: &'a [u8]) -> Result<RtcpCompound<'a>, RtcpError> {
        let mut rest = datagram;
        let mut is_first = true;
        while is_first || !rest.is_empty() {
            let (framed, behind) = frame(rest)?;
            if is_first && !matches!(framed.packet_type, SENDER_REPORT | RECEIVER_REPORT) {
                return Err(RtcpError::NoReport(framed.packet_type));
            }
            (rest, is_first) = (behind, false);
        }
        Ok(RtcpCompound { octets: datagram })
    }

    /// The packets in their order. An error ends them: what stands before it holds.
    pub fn packets(self) -> impl Iterator<Item = Result<RtcpPacket<'a>, RtcpError>> {
        let mut rest = self.octets;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let packet = frame(rest).and_then(|(framed, behind)| {
                rest = behind;
                read(&framed)
            });
            if packet.is_err() {
                rest = &[];
            }
            Some(packet)
        })
    }
}

/// The packet at the front, without its padding, and what stands behind it.
fn frame(octets: &[u8]) -> Result<(Framed<'_>, &[u8]), RtcpError> {
    const SHORT: RtcpError = RtcpError::Short { field: "header" };
    let mut reader = WireReader::new(octets);
    let first = reader.u8().ok_or(SHORT)?;
    if first >> 6 != RTP_VERSION {
        return Err(RtcpError::Version(first >> 6));
    }
    let packet_type = reader.u8().ok_or(SHORT)?;
    let words = usize::from(reader.u16().ok_or(SHORT)?);
    let body = reader.take(words * 4).ok_or(RtcpError::Short { field: "packet" })?;
    let behind = &octets[RTCP_HEADER_OCTETS + words * 4..];
    let padding = match first & 0x20 {
        0 => 0,
        _ => usize::from(*body.last().ok_or(RtcpError::Padding)?),
    };
    let is_padded_well = first & 0x20 == 0 || behind.is_empty() && padding > 0 && padding.is_multiple_of(4);
    if !is_padded_well {
        return Err(RtcpError::Padding);
    }
    let octets = body.len().checked_sub(padding).ok_or(RtcpError::Short { field: "padding" })?;
    Ok((Framed { count: first & 0x1F, packet_type, body: &body[..octets] }, behind))
}

fn read<'a>(framed: &Framed<'a>) -> Result<RtcpPacket<'a>, RtcpError> {
    let mut reader = WireReader::new(framed.body);
    let short = |field| RtcpError::Short { field };
    match framed.packet_type {
        SENDER_REPORT => {
            let (ssrc, sender) = read_sender(&mut reader).ok_or(short("packet"))?;
            Ok(RtcpPacket::SenderReport { ssrc, sender, blocks: read_blocks(framed.count, &mut reader)? })
        }
        RECEIVER_REPORT => {
            let ssrc = reader.u32().ok_or(short("packet"))?;
            Ok(RtcpPacket::ReceiverReport { ssrc, blocks: read_blocks(framed.count, &mut reader)? })
        }
        DESCRIPTION if framed.count > 0 => {
            let ssrc = reader.u32().ok_or(short("packet"))?;
            Ok(RtcpPacket::Description { ssrc, cname: read_cname(&mut reader)? })
        }
        BYE => {
            let sources = reader.take(usize::from(framed.count) * 4).ok_or(short("BYE"))?;
            let reason = match reader.u8() {
                None => &[][..],
                Some(octets) => reader.take(usize::from(octets)).ok_or(short("BYE"))?,
            };
            Ok(RtcpPacket::Bye { sources, reason })
        }
        packet_type => Ok(RtcpPacket::Other { packet_type }),
    }
}

fn read_sender(reader: &mut WireReader<'_>) -> Option<(u32, SenderInfo)> {
    let ssrc = reader.u32()?;
    let ntp = NtpTimestamp(reader.u64()?);
    let (timestamp, packets, octets) = (reader.u32()?, reader.u32()?, reader.u32()?);
    Some((ssrc, SenderInfo { ntp, timestamp, packets, octets }))
}

/// Octets behind the blocks are an extension of a profile: not read.
fn read_blocks<'a>(count: u8, reader: &mut WireReader<'a>) -> Result<ReportBlocks<'a>, RtcpError> {
    let octets = reader.take(usize::from(count) * BLOCK_OCTETS);
    Ok(ReportBlocks { octets: octets.ok_or(RtcpError::Short { field: "report block" })? })
}

/// Items of the first chunk up to its end.
fn read_cname<'a>(reader: &mut WireReader<'a>) -> Result<Option<&'a [u8]>, RtcpError> {
    const SHORT: RtcpError = RtcpError::Short { field: "SDES item" };
    while let Some(item @ 1..) = reader.u8() {
        let octets = usize::from(reader.u8().ok_or(SHORT)?);
        let text = reader.take(octets).ok_or(SHORT)?;
        if item == ITEM_CNAME {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

impl ReportBlocks<'_> {
    /// The blocks in their order.
    pub fn iter(&self) -> impl Iterator<Item = ReportBlock> {
        self.octets.chunks_exact(BLOCK_OCTETS).filter_map(|octets| read_block(&mut WireReader::new(octets)))
    }
}

fn read_block(reader: &mut WireReader<'_>) -> Option<ReportBlock> {
    let ssrc = reader.u32()?;
    let word = reader.u32()?;
    let (extended_highest, jitter) = (reader.u32()?, reader.u32()?);
    let (last_sender_report, delay) = (reader.u32()?, reader.u32()?);
    Some(ReportBlock {
        ssrc,
        fraction_lost: (word >> 24) as u8,
        // 24 bits with a sign.
        lost: (word << 8).cast_signed() >> 8,
        extended_highest,
        jitter,
        last_sender_report,
        delay,
    })
}
