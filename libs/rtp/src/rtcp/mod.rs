//! RTCP (RFC 3550 section 6): compound packets with a report, the source's name and a BYE; written and read.

mod compose;
mod parse;
#[cfg(test)]
mod tests;

pub use compose::RtcpReport;
pub use parse::{ReportBlocks, RtcpCompound, RtcpPacket};

use std::fmt;
use std::time::Duration;

/// Packet types (section 12.1).
pub(crate) const SENDER_REPORT: u8 = 200;
pub(crate) const RECEIVER_REPORT: u8 = 201;
pub(crate) const DESCRIPTION: u8 = 202;
pub(crate) const BYE: u8 = 203;
/// SDES item CNAME (section 6.5.1).
pub(crate) const ITEM_CNAME: u8 = 1;
/// Octets of a packet's own header.
pub(crate) const RTCP_HEADER_OCTETS: usize = 4;
/// Octets of a report block.
pub(crate) const BLOCK_OCTETS: usize = 24;
/// Most octets of a CNAME or a reason: the length has one octet.
pub const RTCP_TEXT_OCTETS_MAX: usize = 255;
/// Most octets of a report that [`RtcpReport::write`] makes: a buffer of this size always does.
pub const RTCP_REPORT_OCTETS_MAX: usize = 28 + BLOCK_OCTETS + (4 + 4 + 2 + RTCP_TEXT_OCTETS_MAX + 3) + 8;
/// Least time between reports (section 6.2), before it is varied.
pub const RTCP_INTERVAL: Duration = Duration::from_secs(5);

/// Seconds since 1900 times 2³² (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NtpTimestamp(
    /// Seconds in the upper 32 bits, their fraction in the lower.
    pub u64,
);

impl NtpTimestamp {
    /// Seconds from 1900 to 1970.
    const UNIX_EPOCH: u64 = 2_208_988_800;

    /// From the time since 1970. Wraps in 2036, as the standard has it.
    pub fn from_unix(since_epoch: Duration) -> NtpTimestamp {
        let seconds = since_epoch.as_secs().wrapping_add(Self::UNIX_EPOCH) << 32;
        NtpTimestamp(seconds | ((u64::from(since_epoch.subsec_nanos()) << 32) / 1_000_000_000))
    }

    /// The middle 32 bits, as reports give them back: units of 1/65,536 s.
    pub fn middle(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// A duration in units of 1/65,536 s, at most `u32::MAX`.
    pub(crate) fn short(duration: Duration) -> u32 {
        u32::try_from((duration.as_nanos() << 16) / 1_000_000_000).unwrap_or(u32::MAX)
    }
}

/// The sender's part of a sender report (section 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderInfo {
    /// Wall clock time of the report.
    pub ntp: NtpTimestamp,
    /// The same in the stream's samples.
    pub timestamp: u32,
    /// Packets sent, modulo 2³².
    pub packets: u32,
    /// Octets of payload sent, modulo 2³².
    pub octets: u32,
}

/// Reception of a source, as a report has it (section 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: u32,
    /// Lost since the report before, in 256ths.
    pub fraction_lost: u8,
    /// Lost since the beginning: −8,388,608 to 8,388,607.
    pub lost: i32,
    /// Highest sequence number, with its wraps.
    pub extended_highest: u32,
    /// Interarrival jitter in samples.
    pub jitter: u32,
    /// Middle bits of the last sender report's time; 0 without any.
    pub last_sender_report: u32,
    /// Since then, in 1/65,536 s.
    pub delay: u32,
}

impl ReportBlock {
    /// Round-trip time at the arrival of this block (section 6.4.1). `None` if the peer has no sender report
    /// yet, or the numbers are impossible.
    pub fn round_trip(&self, now: NtpTimestamp) -> Option<Duration> {
        if self.last_sender_report == 0 {
            return None;
        }
        let units = now.middle().wrapping_sub(self.last_sender_report).checked_sub(self.delay)?;
        Some(Duration::from_nanos((u64::from(units) * 1_000_000_000) >> 16))
    }
}

/// Time until the next report (sections 6.2 and 6.3.1, two participants of little bandwidth): 5 s times 0.5
/// to 1.5, divided by e − 1.5. `random` is any 32 random bits.
pub fn rtcp_interval(random: u32) -> Duration {
    const COMPENSATION: f64 = std::f64::consts::E - 1.5;
    RTCP_INTERVAL.mul_f64((0.5 + f64::from(random) / f64::from(u32::MAX)) / COMPENSATION)
}

/// An RTCP packet that cannot be read (the peer's fault) or written (the caller's).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtcpError {
    /// The datagram ends within this field.
    Short {
        /// `header`, `packet`, `report block`, `SDES item`, `BYE` or `padding`.
        field: &'static str,
    },
    /// Another version than 2.
    Version(u8),
    /// A compound packet begins with a report (section 6.1); this is the packet type instead.
    NoReport(u8),
    /// Only the last packet may have padding, of a multiple of four octets.
    Padding,
    /// A CNAME has 1 to 255 octets; these many were given.
    Cname(usize),
    /// The buffer is too small.
    BufferTooSmall,
}

impl fmt::Display for RtcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RtcpError::Short { field } => write!(f, "an RTCP packet ends within its {field}"),
            RtcpError::Version(version) => write!(f, "a datagram has RTCP version {version}, not 2"),
            RtcpError::NoReport(kind) => {
                write!(f, "an RTCP datagram begins with packet type {kind}, not with a report (200 or 201)")
            }
            RtcpError::Padding => f.write_str("an RTCP packet has padding where or as it cannot have any"),
            RtcpError::Cname(octets) => write!(f, "a CNAME has {octets} octets, not 1 to 255"),
            RtcpError::BufferTooSmall => {
                write!(f, "an RTCP report does not fit its buffer; {RTCP_REPORT_OCTETS_MAX} octets always do")
            }
        }
    }
}

impl std::error::Error for RtcpError {}
