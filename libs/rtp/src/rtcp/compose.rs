//! Compound packets that are written: a report, the CNAME, perhaps a BYE.

use super::{
    BYE, DESCRIPTION, ITEM_CNAME, RECEIVER_REPORT, RTCP_TEXT_OCTETS_MAX, ReportBlock, RtcpError,
    SENDER_REPORT, SenderInfo,
};
use crate::packet::RTP_VERSION;
use crate::wire::WireWriter;

/// One compound packet (section 6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtcpReport<'a> {
    /// Our source.
    pub ssrc: u32,
    /// Present if we have sent since the last report: SR, else RR.
    pub sender: Option<SenderInfo>,
    /// The peer's stream, once there is one.
    pub block: Option<ReportBlock>,
    /// Our canonical name, 1 to 255 octets (section 6.5.1; RFC 7022 wants it random for each call).
    pub cname: &'a str,
    /// The stream ends with this report (section 6.6).
    pub is_bye: bool,
}

impl RtcpReport<'_> {
    /// Writes the compound packet to the front of `out` and gives its octets: at most
    /// [`RTCP_REPORT_OCTETS_MAX`](super::RTCP_REPORT_OCTETS_MAX).
    ///
    /// # Errors
    /// A CNAME of a wrong length; a buffer that is too small.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, RtcpError> {
        if !(1..=RTCP_TEXT_OCTETS_MAX).contains(&self.cname.len()) {
            return Err(RtcpError::Cname(self.cname.len()));
        }
        let mut writer = WireWriter::new(out);
        self.write_all(&mut writer).ok_or(RtcpError::BufferTooSmall)?;
        Ok(writer.written())
    }

    fn write_all(&self, writer: &mut WireWriter<'_>) -> Option<()> {
        let kind = if self.sender.is_some() { SENDER_REPORT } else { RECEIVER_REPORT };
        let start = put_header(writer, u8::from(self.block.is_some()), kind)?;
        writer.put_u32(self.ssrc)?;
        if let Some(sender) = &self.sender {
            writer.put(&sender.ntp.0.to_be_bytes())?;
            writer.put_u32(sender.timestamp)?;
            writer.put_u32(sender.packets)?;
            writer.put_u32(sender.octets)?;
        }
        if let Some(block) = &self.block {
            put_block(writer, block)?;
        }
        set_length(writer, start);
        let start = put_header(writer, 1, DESCRIPTION)?;
        writer.put_u32(self.ssrc)?;
        // Within 255, so the cast loses nothing.
        writer.put(&[ITEM_CNAME, self.cname.len() as u8])?;
        writer.put(self.cname.as_bytes())?;
        // A chunk ends with one octet of 0 at least, at a word's end (section 6.5).
        writer.put(&[0; 4][..4 - (writer.written() - start) % 4])?;
        set_length(writer, start);
        if self.is_bye {
            let start = put_header(writer, 1, BYE)?;
            writer.put_u32(self.ssrc)?;
            set_length(writer, start);
        }
        Some(())
    }
}

/// Gives where the packet begins; its length is set when it ends.
fn put_header(writer: &mut WireWriter<'_>, count: u8, kind: u8) -> Option<usize> {
    let start = writer.written();
    writer.put(&[RTP_VERSION << 6 | count, kind, 0, 0])?;
    Some(start)
}

/// Words after the first (section 6.4.1).
fn set_length(writer: &mut WireWriter<'_>, start: usize) {
    let words = (writer.written() - start) / 4 - 1;
    // A report has at most 85 words, so the cast loses nothing.
    writer.set_u16(start + 2, words as u16);
}

fn put_block(writer: &mut WireWriter<'_>, block: &ReportBlock) -> Option<()> {
    writer.put_u32(block.ssrc)?;
    let [_, lost @ ..] = block.lost.to_be_bytes();
    writer.put(&[block.fraction_lost])?;
    writer.put(&lost)?;
    writer.put_u32(block.extended_highest)?;
    writer.put_u32(block.jitter)?;
    writer.put_u32(block.last_sender_report)?;
    writer.put_u32(block.delay)
}
