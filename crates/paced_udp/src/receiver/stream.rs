//! One stream over all receiving threads.

use super::flow::{Evenness, Milliseconds};
use super::thread::StreamPart;
use crate::wire::Counted;
use serde::Serialize;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It has not.
    Running,
    /// Its sender said so.
    Bye,
    /// Nothing came any more.
    Silent,
}

/// What came of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct StreamReport {
    /// Its sender.
    pub from: SocketAddr,
    /// Octets of its packets.
    pub mss: u16,
    /// Bits a second that its sender announced at most.
    pub rate_announced: u64,
    /// Seconds since its first packet.
    pub seconds: f64,
    /// Seconds between the kernel's stamps of the first packet and of the last: what an exact rate is
    /// reckoned with.
    pub stamped_s: f64,
    /// Packets that came, each once, and their octets.
    pub packets: u64,
    pub octets: u64,
    /// Bits a second: in the mean of all, and of the last tenth of a second.
    pub rate: f64,
    pub rate_now: f64,
    /// What its sender said it sent and did not send; only after its end.
    pub sent: Option<u64>,
    pub not_sent: Option<u64>,
    /// Lost at our sockets for want of room, and before.
    pub lost_socket: u64,
    pub lost_path: u64,
    /// Came again; came behind a later one, and by how many at most.
    pub duplicates: u64,
    pub reordered: u64,
    pub reordering_extent: u64,
    /// RFC 3550's jitter, in microseconds.
    pub jitter_us: f64,
    /// One-way delay by both clocks, in microseconds: median, 99 of 100.
    pub delay_p50_us: f64,
    pub delay_p99_us: f64,
    /// Gaps between packets, in microseconds: median, 99 of 100, longest.
    pub gap_p50_us: f64,
    pub gap_p99_us: f64,
    pub gap_max_us: f64,
    /// The share of gaps within 20 % of ideal.
    pub gaps_near: f64,
    /// How many times the rate asked for came in the worst millisecond.
    pub worst_ms: f64,
    /// All gaps between packets; only after its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapBin>,
    /// What came to each socket, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketPart>,
    /// Octets of a file that came and could not be written in time.
    pub unwritten: u64,
    /// Whether it has ended.
    pub ended: Ended,
}

/// Gaps between packets of about one length: from so many nanoseconds, to so many (both belong to it), and
/// how many there were. About three digits of a length are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GapBin(pub u64, pub u64, pub u64);

/// What of a stream came to one socket, where there are several.
#[derive(Debug, Clone, Serialize)]
pub struct SocketPart {
    /// Which one, from 0.
    pub socket: usize,
    /// Packets that came to it, each once.
    pub packets: u64,
    /// RFC 3550's jitter between those, in microseconds.
    pub jitter_us: f64,
    /// Gaps between those, as in [`StreamReport`].
    pub gap_p50_us: f64,
    pub gap_p99_us: f64,
    pub gap_max_us: f64,
    pub gaps_near: f64,
    /// All of them; only after its end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapBin>,
}

/// One socket's share, while it runs.
struct Share {
    socket: usize,
    packets: u64,
    jitter_ns: f64,
    evenness: Evenness,
}

impl Share {
    fn of(socket: usize, part: &StreamPart) -> Share {
        let jitters = part.flows.values().map(|flow| flow.jitter_ns).sum::<f64>();
        Share {
            socket,
            packets: part.flows.values().map(|flow| flow.unique).sum(),
            jitter_ns: jitters / part.flows.len().max(1) as f64,
            evenness: part.evenness.clone(),
        }
    }

    fn part(&self) -> SocketPart {
        let gaps = &self.evenness.gaps;
        SocketPart {
            socket: self.socket,
            packets: self.packets,
            jitter_us: self.jitter_ns / 1e3,
            gap_p50_us: us(gaps.value_at_quantile(0.5)),
            gap_p99_us: us(gaps.value_at_quantile(0.99)),
            gap_max_us: us(gaps.max()),
            gaps_near: self.evenness.near_share(),
            gaps: Vec::new(),
        }
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// A stream.
pub(super) struct PacedStream {
    pub id: u32,
    pub from: SocketAddr,
    pub nonce: [u8; 16],
    pub mss: u16,
    pub rate: u64,
    pub first: Option<Instant>,
    pub last: Instant,
    /// What its sender said at its end, and when.
    pub bye: Option<(u64, u64, Instant)>,
    /// Its last word was told.
    pub parted: bool,
    pub feedbacks: u32,
    pub counted: Counted,
    before: (u64, Instant),
    rate_now: f64,
    octets: u64,
    reordered: (u64, u64),
    jitter_ns: f64,
    evenness: Evenness,
    milliseconds: Milliseconds,
    worst_ms: f64,
    unwritten: u64,
    /// Of each socket, where there are several.
    shares: Vec<Share>,
}

impl PacedStream {
    pub fn new(id: u32, from: SocketAddr, nonce: [u8; 16], mss: u16, rate: u64) -> PacedStream {
        let now = Instant::now();
        PacedStream {
            id,
            from,
            nonce,
            mss,
            rate,
            first: None,
            last: now,
            bye: None,
            parted: false,
            feedbacks: 0,
            counted: Counted::default(),
            before: (0, now),
            rate_now: 0.0,
            octets: 0,
            reordered: (0, 0),
            jitter_ns: 0.0,
            evenness: Evenness::default(),
            milliseconds: Milliseconds::default(),
            worst_ms: 0.0,
            unwritten: 0,
            shares: Vec::new(),
        }
    }

    /// Adds up what the threads told.
    pub fn add_up<'a>(
        &mut self,
        parts: impl Iterator<Item = (usize, &'a StreamPart)>,
        overflowed: u64,
        now: Instant,
        before_ms: u64,
    ) {
        let mut reached: HashMap<u16, u64> = HashMap::new();
        let (mut unique, mut duplicates, mut octets, mut unwritten) = (0, 0, 0, 0);
        let (mut reordered, mut extent, mut jitter) = (0, 0, (0.0, 0_u32));
        let mut evenness = Evenness::default();
        let parts: Vec<_> = parts.collect();
        self.shares = match parts[..] {
            [_] => Vec::new(),
            _ => parts.iter().map(|(socket, part)| Share::of(*socket, part)).collect(),
        };
        for (_, part) in parts {
            octets += part.octets;
            unwritten += part.unwritten;
            evenness.merge(&part.evenness);
            self.milliseconds.add(&part.milliseconds);
            for (thread, flow) in &part.flows {
                let most = reached.entry(*thread).or_default();
                *most = flow.reached.max(*most);
                unique += flow.unique;
                duplicates += flow.duplicates;
                reordered += flow.reordered;
                extent = extent.max(flow.extent_max);
                jitter = (jitter.0 + flow.jitter_ns, jitter.1 + 1);
            }
        }
        if unique > self.counted.packets {
            self.last = now;
            self.first.get_or_insert(now);
        }
        let missing = reached.values().sum::<u64>().saturating_sub(unique);
        self.counted = Counted { packets: unique, octets, missing, duplicates, overflowed };
        (self.octets, self.unwritten, self.evenness) = (octets, unwritten, evenness);
        self.reordered = (reordered, extent);
        self.jitter_ns = jitter.0 / f64::from(jitter.1.max(1));
        self.worst_ms = self.worst_ms.max(self.milliseconds.worst_before(before_ms));
        let span = now.saturating_duration_since(self.before.1);
        if span >= Duration::from_millis(90) {
            self.rate_now = (octets - self.before.0) as f64 * 8.0 / span.as_secs_f64();
            self.before = (octets, now);
        }
    }

    /// Packets lost at the socket and before it.
    fn lost(&self) -> (u64, u64) {
        let lost = match self.bye {
            Some((sent, _, _)) => sent.saturating_sub(self.counted.packets),
            None => self.counted.missing,
        };
        let socket = self.counted.overflowed.min(lost);
        (socket, lost - socket)
    }

    /// As [`report`](Self::report), with every gap.
    pub fn last_report(&self, ended: Ended) -> StreamReport {
        let mut report = self.report(ended);
        report.gaps = self.evenness.gap_bins();
        for (part, share) in report.sockets.iter_mut().zip(&self.shares) {
            part.gaps = share.evenness.gap_bins();
        }
        report
    }

    pub fn report(&self, ended: Ended) -> StreamReport {
        let seconds = self.first.map_or(0.0, |first| (self.last - first).as_secs_f64());
        let (lost_socket, lost_path) = self.lost();
        let (gaps, delays) = (&self.evenness.gaps, &self.evenness.delays);
        StreamReport {
            from: self.from,
            mss: self.mss,
            rate_announced: self.rate,
            seconds,
            stamped_s: self.evenness.span_s(),
            packets: self.counted.packets,
            octets: self.octets,
            rate: if seconds > 0.0 { self.octets as f64 * 8.0 / seconds } else { 0.0 },
            rate_now: self.rate_now,
            sent: self.bye.map(|(sent, _, _)| sent),
            not_sent: self.bye.map(|(_, not_sent, _)| not_sent),
            lost_socket,
            lost_path,
            duplicates: self.counted.duplicates,
            reordered: self.reordered.0,
            reordering_extent: self.reordered.1,
            jitter_us: self.jitter_ns / 1e3,
            delay_p50_us: us(delays.value_at_quantile(0.5)),
            delay_p99_us: us(delays.value_at_quantile(0.99)),
            gap_p50_us: us(gaps.value_at_quantile(0.5)),
            gap_p99_us: us(gaps.value_at_quantile(0.99)),
            gap_max_us: us(gaps.max()),
            gaps_near: self.evenness.near_share(),
            worst_ms: self.worst_ms,
            gaps: Vec::new(),
            sockets: self.shares.iter().map(Share::part).collect(),
            unwritten: self.unwritten,
            ended,
        }
    }
}
