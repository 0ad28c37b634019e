//! Statistics of a stream that is received: RFC 3550 appendices A.1 (sequence), A.3 (loss), A.8 (jitter).

use crate::SAMPLE_RATE;
use crate::packet::RtpPacket;
use crate::rtcp::{NtpTimestamp, ReportBlock};
use std::time::Instant;

/// Packets that may be missing before a sequence number counts as a jump (A.1: MAX_DROPOUT).
pub const DROPOUT_MAX: u16 = 3_000;
/// Packets that may be out of order before a sequence number counts as a jump (A.1: MAX_MISORDER).
pub const MISORDER_MAX: u16 = 100;
/// Largest and least cumulative loss of a report: 24 bits with a sign (section 6.4.1).
const LOST_MAX: i64 = 0x7F_FFFF;
const LOST_MIN: i64 = -0x80_0000;

/// Verdict on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtpReception {
    /// It belongs to the stream, in order or nearly so. It may be a duplicate.
    InOrder,
    /// First packet of a source. The one before it, if any, is forgotten.
    NewSource,
    /// The source has begun again with other numbers, and its second packet proves it.
    Restarted,
    /// Its number is far from the others: not to be played, unless the next one follows it.
    OutOfRange,
}

/// One stream from a peer. Another source takes its place: a telephone call has one at a time.
#[derive(Debug, Clone)]
pub struct RtpReceiver {
    /// Instants are counted from it.
    origin: Instant,
    source: Option<SourceState>,
    last_sender_report: Option<(NtpTimestamp, Instant)>,
}

/// Appendix A.1's `source`.
#[derive(Debug, Clone)]
struct SourceState {
    ssrc: u32,
    base: u32,
    highest: u16,
    /// Shifted count of wraps: a multiple of 2¹⁶.
    cycles: u32,
    /// The number that would prove a restart.
    expected_after_jump: Option<u16>,
    received: u64,
    expected_prior: u64,
    received_prior: u64,
    transit: i32,
    /// Times 16 (A.8).
    jitter: u32,
}

impl SourceState {
    fn new(packet: &RtpPacket<'_>, arrival: u32) -> SourceState {
        SourceState {
            ssrc: packet.ssrc,
            base: u32::from(packet.sequence),
            highest: packet.sequence,
            cycles: 0,
            expected_after_jump: None,
            received: 1,
            expected_prior: 0,
            received_prior: 0,
            transit: arrival.wrapping_sub(packet.timestamp).cast_signed(),
            jitter: 0,
        }
    }

    fn extended_highest(&self) -> u32 {
        self.cycles.wrapping_add(u32::from(self.highest))
    }

    fn expected(&self) -> u64 {
        u64::from(self.extended_highest().wrapping_sub(self.base)) + 1
    }

    /// A.1: update_seq.
    fn sequence(&mut self, packet: &RtpPacket<'_>, arrival: u32) -> RtpReception {
        let sequence = packet.sequence;
        let ahead = sequence.wrapping_sub(self.highest);
        if ahead < DROPOUT_MAX {
            if sequence < self.highest {
                self.cycles = self.cycles.wrapping_add(1 << 16);
            }
            self.highest = sequence;
        } else if ahead <= u16::MAX - MISORDER_MAX + 1 {
            if self.expected_after_jump != Some(sequence) {
                self.expected_after_jump = Some(sequence.wrapping_add(1));
                return RtpReception::OutOfRange;
            }
            *self = SourceState::new(packet, arrival);
            return RtpReception::Restarted;
        }
        self.expected_after_jump = None;
        self.received += 1;
        RtpReception::InOrder
    }

    /// A.8, in whole numbers.
    fn arrival(&mut self, timestamp: u32, arrival: u32) {
        let transit = arrival.wrapping_sub(timestamp).cast_signed();
        let difference = transit.wrapping_sub(self.transit).unsigned_abs();
        self.transit = transit;
        self.jitter =
            self.jitter.saturating_add(difference).saturating_sub(self.jitter.saturating_add(8) >> 4);
    }

    fn lost(&self) -> i64 {
        // Both count packets of one call: they fit.
        self.expected().cast_signed() - self.received.cast_signed()
    }

    /// A.3: the fraction since the last report, in 256ths.
    fn fraction(&mut self) -> u8 {
        let expected = self.expected();
        let (expected_now, received_now) =
            (expected.saturating_sub(self.expected_prior), self.received - self.received_prior);
        (self.expected_prior, self.received_prior) = (expected, self.received);
        let lost = expected_now.saturating_sub(received_now);
        match expected_now {
            0 => 0,
            _ => u8::try_from((lost << 8) / expected_now).unwrap_or(u8::MAX),
        }
    }
}

impl RtpReceiver {
    /// Nothing was received. `origin` is any instant before the first packet.
    pub fn new(origin: Instant) -> RtpReceiver {
        RtpReceiver { origin, source: None, last_sender_report: None }
    }

    /// The source that is heard.
    pub fn ssrc(&self) -> Option<u32> {
        self.source.as_ref().map(|source| source.ssrc)
    }

    /// Packets received from the source.
    pub fn packets(&self) -> u64 {
        self.source.as_ref().map_or(0, |source| source.received)
    }

    /// Packets that did not come; below 0 with duplicates (A.3).
    pub fn lost(&self) -> i64 {
        self.source.as_ref().map_or(0, SourceState::lost)
    }

    /// Interarrival jitter in samples (A.8).
    pub fn jitter(&self) -> u32 {
        self.source.as_ref().map_or(0, |source| source.jitter >> 4)
    }

    /// Counts a packet. The payloads of the last three verdicts but [`OutOfRange`](RtpReception::OutOfRange)
    /// are to be played; buffers are cleared before a new source or a restart.
    ///
    /// `sound` says whether the timestamp is that of the packet's own time: not that of a telephone-event,
    /// whose packets share one (A.8 needs it).
    pub fn handle_packet(&mut self, now: Instant, packet: &RtpPacket<'_>, sound: bool) -> RtpReception {
        let arrival = self.arrival(now);
        match &mut self.source {
            Some(source) if source.ssrc == packet.ssrc => {
                let reception = source.sequence(packet, arrival);
                if sound && reception == RtpReception::InOrder {
                    source.arrival(packet.timestamp, arrival);
                }
                reception
            }
            source => {
                *source = Some(SourceState::new(packet, arrival));
                self.last_sender_report = None;
                RtpReception::NewSource
            }
        }
    }

    /// Notes the peer's sender report, whose time the next report block gives back.
    pub fn handle_sender_report(&mut self, now: Instant, ssrc: u32, ntp: NtpTimestamp) {
        if self.ssrc() == Some(ssrc) {
            self.last_sender_report = Some((ntp, now));
        }
    }

    /// The block of the next report (section 6.4.1), `None` before the first packet. The fraction lost is
    /// that since the call before.
    pub fn report_block(&mut self, now: Instant) -> Option<ReportBlock> {
        let (last_sender_report, delay) = match self.last_sender_report {
            Some((ntp, at)) => (ntp.middle(), NtpTimestamp::short(now.saturating_duration_since(at))),
            None => (0, 0),
        };
        let source = self.source.as_mut()?;
        Some(ReportBlock {
            ssrc: source.ssrc,
            fraction_lost: source.fraction(),
            // Within 24 bits, so the cast loses nothing.
            lost: source.lost().clamp(LOST_MIN, LOST_MAX) as i32,
            extended_highest: source.extended_highest(),
            jitter: source.jitter >> 4,
            last_sender_report,
            delay,
        })
    }

    /// An instant in samples, modulo 2³².
    fn arrival(&self, now: Instant) -> u32 {
        let micros = now.saturating_duration_since(self.origin).as_micros();
        (micros * u128::from(SAMPLE_RATE) / 1_000_000) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FRAME;
    use std::time::Duration;

    fn packet(ssrc: u32, sequence: u16, timestamp: u32) -> RtpPacket<'static> {
        RtpPacket {
            payload_type: 8,
            marker: false,
            sequence,
            timestamp,
            ssrc,
            csrcs: &[],
            extension: None,
            payload: &[],
            padding: 0,
        }
    }

    /// Feeds sequence numbers, 20 ms apart.
    fn receiver(sequences: &[u16]) -> (RtpReceiver, Vec<RtpReception>, Instant) {
        let mut now = Instant::now();
        let mut receiver = RtpReceiver::new(now);
        let mut verdicts = Vec::new();
        for (at, sequence) in sequences.iter().enumerate() {
            verdicts.push(receiver.handle_packet(now, &packet(9, *sequence, at as u32 * 160), true));
            now += FRAME;
        }
        (receiver, verdicts, now)
    }

    #[test]
    fn numbers_that_wrap_are_extended_and_gaps_count_as_lost() {
        let (mut receiver, verdicts, now) = receiver(&[65_533, 65_534, 0, 1, 3]);
        assert_eq!(verdicts[0], RtpReception::NewSource);
        assert!(verdicts[1..].iter().all(|verdict| *verdict == RtpReception::InOrder));
        let block = receiver.report_block(now).unwrap();
        assert_eq!(
            (block.extended_highest, block.lost, block.fraction_lost),
            (65_536 + 3, 2, (2 * 256 / 7) as u8)
        );
        assert_eq!(receiver.report_block(now).unwrap().fraction_lost, 0, "nothing is lost since");
    }

    #[test]
    fn packets_out_of_order_and_duplicates_do_not_move_the_highest_back() {
        let (mut receiver, _, now) = receiver(&[10, 12, 11, 12, 13]);
        let block = receiver.report_block(now).unwrap();
        assert_eq!((block.extended_highest, block.lost), (13, -1));
    }

    #[test]
    fn a_jump_counts_once_its_next_packet_follows() {
        let (receiver, verdicts, _) = receiver(&[10, 11, 30_000, 12, 40_000, 40_001, 40_002]);
        use RtpReception::{InOrder, NewSource, OutOfRange, Restarted};
        assert_eq!(verdicts, [NewSource, InOrder, OutOfRange, InOrder, OutOfRange, Restarted, InOrder]);
        assert_eq!((receiver.packets(), receiver.lost()), (2, 0));
    }

    #[test]
    fn another_source_takes_the_place_of_the_first() {
        let (mut receiver, _, now) = receiver(&[10, 11]);
        assert_eq!(receiver.handle_packet(now, &packet(5, 900, 0), true), RtpReception::NewSource);
        assert_eq!((receiver.ssrc(), receiver.packets(), receiver.lost()), (Some(5), 1, 0));
    }

    #[test]
    fn an_even_stream_has_no_jitter_and_an_uneven_one_converges_to_its_deviation() {
        let (even, _, _) = receiver(&(0..500).collect::<Vec<_>>());
        assert_eq!(even.jitter(), 0);
        let origin = Instant::now();
        let mut uneven = RtpReceiver::new(origin);
        for at in 0..500_u32 {
            let late = Duration::from_millis(u64::from(at % 2) * 10);
            uneven.handle_packet(origin + FRAME * at + late, &packet(9, at as u16, at * 160), true);
        }
        assert!((78..=80).contains(&uneven.jitter()), "10 ms are 80 samples, not {}", uneven.jitter());
    }

    #[test]
    fn events_that_share_a_timestamp_do_not_count_as_jitter() {
        let origin = Instant::now();
        let mut receiver = RtpReceiver::new(origin);
        for at in 0..50_u32 {
            receiver.handle_packet(origin + FRAME * at, &packet(9, at as u16, 160), false);
        }
        assert_eq!(receiver.jitter(), 0);
    }

    #[test]
    fn the_time_of_a_sender_report_is_given_back_with_the_delay_since() {
        let (mut receiver, _, now) = receiver(&[10, 11]);
        receiver.handle_sender_report(now, 9, NtpTimestamp(0x1122_3344_5566_7788));
        let block = receiver.report_block(now + Duration::from_millis(1_500)).unwrap();
        assert_eq!((block.last_sender_report, block.delay), (0x3344_5566, 0x1_8000));
        receiver.handle_sender_report(now, 8, NtpTimestamp(1));
        assert_eq!(receiver.report_block(now).unwrap().last_sender_report, 0x3344_5566, "of another source");
    }
}
