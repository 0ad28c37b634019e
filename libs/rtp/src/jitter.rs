//! Jitter buffer: packets in, one frame a tick out, in the order of their timestamps.

use crate::g711::G711Law;
use crate::{FRAME_SAMPLES, SoundFrame, samples_in};
use std::time::Duration;

/// Samples that wait at most: 512 ms. A power of two.
pub const JITTER_SAMPLES_MAX: usize = 4_096;
/// Samples of a packet at most: 200 ms.
pub const JITTER_PACKET_SAMPLES_MAX: usize = 1_600;
/// Delay at most: half of what may wait.
pub const JITTER_DELAY_MAX: Duration = Duration::from_millis(256);
/// Delay by default: two packets may be late by a frame.
pub const JITTER_DELAY: Duration = Duration::from_millis(60);
/// So many packets in a row that come too late move the buffer to them: the peer's clock has jumped.
pub const JITTER_LATE_MAX: u32 = 5;
/// Bits of a word of the map.
const WORD_BITS: usize = 64;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitterInsert {
    /// It waits for its tick.
    Buffered,
    /// All its samples wait already.
    Duplicate,
    /// Its tick is over: it is dropped. A part that is not over is kept and counts as buffered.
    Late,
    /// It is the first, or far from the others: the buffer begins again with it.
    Restarted,
    /// It has no samples or more than [`JITTER_PACKET_SAMPLES_MAX`]: dropped.
    WrongLength,
}

/// Origin of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitterFrame {
    /// All of it came.
    Sound,
    /// A part came, the rest is silence.
    Partial,
    /// Nothing came: silence. The peer is silent, or packets are lost.
    Gap,
}

/// Counts of packets and frames since the buffer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JitterCounts {
    /// Packets that were buffered, restarts among them.
    pub buffered: u64,
    /// Packets dropped because all of them waited already.
    pub duplicate: u64,
    /// Packets dropped because they came too late.
    pub late: u64,
    /// Times that the buffer began again, the first among them.
    pub restarts: u64,
    /// Frames without a sample, or with a part of them, after the first packet.
    pub gaps: u64,
}

/// Buffer of one stream: a ring of samples by timestamp, so that packets may have any length up to
/// [`JITTER_PACKET_SAMPLES_MAX`], come in any order and twice. 8 kB, allocated once.
#[derive(Debug, Clone)]
pub struct JitterBuffer {
    samples: Box<[i16; JITTER_SAMPLES_MAX]>,
    /// A bit for each sample that came.
    filled: [u64; JITTER_SAMPLES_MAX / WORD_BITS],
    delay: u32,
    /// Timestamp of the next frame; `None` before the first packet.
    next: Option<u32>,
    late_in_a_row: u32,
    counts: JitterCounts,
}

impl JitterBuffer {
    /// An empty buffer. A packet that starts it is played after `delay`, at most [`JITTER_DELAY_MAX`].
    pub fn new(delay: Duration) -> JitterBuffer {
        JitterBuffer {
            samples: Box::new([0; JITTER_SAMPLES_MAX]),
            filled: [0; JITTER_SAMPLES_MAX / WORD_BITS],
            delay: samples_in(delay.min(JITTER_DELAY_MAX)),
            next: None,
            late_in_a_row: 0,
            counts: JitterCounts::default(),
        }
    }

    /// Counts so far.
    pub fn counts(&self) -> JitterCounts {
        self.counts
    }

    /// Forgets what waits: the next packet begins again. For another source.
    pub fn clear(&mut self) {
        self.filled = [0; JITTER_SAMPLES_MAX / WORD_BITS];
        self.next = None;
        self.late_in_a_row = 0;
    }

    /// Takes the payload of a packet.
    pub fn insert(&mut self, timestamp: u32, payload: &[u8], law: G711Law) -> JitterInsert {
        if payload.is_empty() || payload.len() > JITTER_PACKET_SAMPLES_MAX {
            return JitterInsert::WrongLength;
        }
        let Some(next) = self.next else { return self.restart(timestamp, payload, law) };
        // Samples from the next frame on, with a sign.
        let ahead = timestamp.wrapping_sub(next).cast_signed();
        // Within JITTER_PACKET_SAMPLES_MAX, so the cast loses nothing.
        let end = ahead.saturating_add(payload.len() as i32);
        if end > JITTER_SAMPLES_MAX as i32 {
            return self.restart(timestamp, payload, law);
        }
        if end <= 0 {
            self.late_in_a_row += 1;
            if self.late_in_a_row >= JITTER_LATE_MAX {
                return self.restart(timestamp, payload, law);
            }
            self.counts.late += 1;
            return JitterInsert::Late;
        }
        self.late_in_a_row = 0;
        let over = usize::try_from(-ahead).unwrap_or(0);
        match self.put(timestamp.wrapping_add(over as u32), &payload[over..], law) {
            0 => {
                self.counts.duplicate += 1;
                JitterInsert::Duplicate
            }
            _ => {
                self.counts.buffered += 1;
                JitterInsert::Buffered
            }
        }
    }

    /// The next frame: samples that came, silence for others.
    pub fn pull(&mut self, frame: &mut SoundFrame) -> JitterFrame {
        frame.fill(0);
        let Some(next) = self.next else { return JitterFrame::Gap };
        self.next = Some(next.wrapping_add(FRAME_SAMPLES as u32));
        let mut came = 0;
        for (offset, sample) in frame.iter_mut().enumerate() {
            let (at, word, bit) = place(next.wrapping_add(offset as u32));
            if self.filled[word] & bit != 0 {
                self.filled[word] &= !bit;
                *sample = self.samples[at];
                came += 1;
            }
        }
        match came {
            FRAME_SAMPLES => JitterFrame::Sound,
            0 => {
                self.counts.gaps += 1;
                JitterFrame::Gap
            }
            _ => {
                self.counts.gaps += 1;
                JitterFrame::Partial
            }
        }
    }

    fn restart(&mut self, timestamp: u32, payload: &[u8], law: G711Law) -> JitterInsert {
        self.clear();
        self.next = Some(timestamp.wrapping_sub(self.delay));
        self.counts.restarts += 1;
        self.counts.buffered += 1;
        self.put(timestamp, payload, law);
        JitterInsert::Restarted
    }

    /// Decodes into the ring; gives the number of samples that were not there.
    fn put(&mut self, timestamp: u32, payload: &[u8], law: G711Law) -> usize {
        let mut new = 0;
        for (offset, character) in payload.iter().enumerate() {
            let (at, word, bit) = place(timestamp.wrapping_add(offset as u32));
            if self.filled[word] & bit == 0 {
                self.filled[word] |= bit;
                self.samples[at] = law.decode(*character);
                new += 1;
            }
        }
        new
    }
}

/// Place of a timestamp in the ring, its word and bit in the map.
fn place(timestamp: u32) -> (usize, usize, u64) {
    let at = timestamp as usize % JITTER_SAMPLES_MAX;
    (at, at / WORD_BITS, 1 << (at % WORD_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Draw;

    const LAW: G711Law = G711Law::A;

    /// Characters that tell the timestamp they are of.
    fn payload(timestamp: u32, octets: usize) -> Vec<u8> {
        (0..octets as u32).map(|at| (timestamp.wrapping_add(at) / 8) as u8).collect()
    }

    fn expected(timestamp: u32) -> SoundFrame {
        let mut frame = [0; FRAME_SAMPLES];
        LAW.decode_to(&payload(timestamp, FRAME_SAMPLES), &mut frame);
        frame
    }

    fn insert(buffer: &mut JitterBuffer, timestamp: u32) -> JitterInsert {
        buffer.insert(timestamp, &payload(timestamp, FRAME_SAMPLES), LAW)
    }

    fn pull(buffer: &mut JitterBuffer) -> (JitterFrame, SoundFrame) {
        let mut frame = [1; FRAME_SAMPLES];
        (buffer.pull(&mut frame), frame)
    }

    #[test]
    fn the_first_packet_is_played_after_the_delay_and_the_others_follow() {
        let mut buffer = JitterBuffer::new(Duration::from_millis(40));
        assert_eq!(pull(&mut buffer), (JitterFrame::Gap, [0; 160]));
        assert_eq!(insert(&mut buffer, 1_000), JitterInsert::Restarted);
        assert_eq!(insert(&mut buffer, 1_160), JitterInsert::Buffered);
        assert_eq!(pull(&mut buffer).0, JitterFrame::Gap);
        assert_eq!(pull(&mut buffer).0, JitterFrame::Gap);
        assert_eq!(pull(&mut buffer), (JitterFrame::Sound, expected(1_000)));
        assert_eq!(pull(&mut buffer), (JitterFrame::Sound, expected(1_160)));
        assert_eq!(pull(&mut buffer), (JitterFrame::Gap, [0; 160]));
    }

    #[test]
    fn packets_out_of_order_are_put_in_order_over_the_wrap_of_the_timestamp() {
        let first = u32::MAX - 200;
        let mut buffer = JitterBuffer::new(Duration::from_millis(60));
        for offset in [0, 480, 160, 320] {
            insert(&mut buffer, first.wrapping_add(offset));
        }
        for _ in 0..3 {
            pull(&mut buffer);
        }
        for offset in [0, 160, 320, 480] {
            assert_eq!(pull(&mut buffer), (JitterFrame::Sound, expected(first.wrapping_add(offset))));
        }
    }

    #[test]
    fn a_duplicate_is_dropped_and_a_packet_whose_tick_is_over_too() {
        let mut buffer = JitterBuffer::new(Duration::ZERO);
        insert(&mut buffer, 0);
        assert_eq!(insert(&mut buffer, 0), JitterInsert::Duplicate);
        assert_eq!(pull(&mut buffer).0, JitterFrame::Sound);
        assert_eq!(insert(&mut buffer, 0), JitterInsert::Late);
        assert_eq!(pull(&mut buffer).0, JitterFrame::Gap);
        let counts = JitterCounts { buffered: 1, duplicate: 1, late: 1, restarts: 1, gaps: 1 };
        assert_eq!(buffer.counts(), counts);
    }

    #[test]
    fn the_part_of_a_packet_that_is_not_over_is_played() {
        let mut buffer = JitterBuffer::new(Duration::ZERO);
        insert(&mut buffer, 0);
        pull(&mut buffer);
        assert_eq!(buffer.insert(80, &payload(80, 160), LAW), JitterInsert::Buffered);
        let (origin, frame) = pull(&mut buffer);
        assert_eq!((origin, &frame[..80]), (JitterFrame::Partial, &expected(160)[..80]));
        assert_eq!(frame[80..], [0; 80]);
    }

    #[test]
    fn packets_of_10_30_and_60_ms_make_whole_frames() {
        for octets in [80, 240, 480] {
            let mut buffer = JitterBuffer::new(Duration::ZERO);
            for at in 0..4 {
                let timestamp = at * octets;
                buffer.insert(timestamp, &payload(timestamp, octets as usize), LAW);
            }
            for at in 0..2 {
                assert_eq!(pull(&mut buffer), (JitterFrame::Sound, expected(at * 160)), "{octets} octets");
            }
        }
    }

    #[test]
    fn a_jump_ahead_begins_again_and_one_back_does_after_five_packets() {
        let mut buffer = JitterBuffer::new(Duration::ZERO);
        insert(&mut buffer, 0);
        assert_eq!(insert(&mut buffer, 1_000_000), JitterInsert::Restarted);
        assert_eq!(pull(&mut buffer), (JitterFrame::Sound, expected(1_000_000)));
        for at in 0..4 {
            assert_eq!(insert(&mut buffer, 5_000 + at * 160), JitterInsert::Late);
        }
        assert_eq!(insert(&mut buffer, 5_640), JitterInsert::Restarted);
        assert_eq!(pull(&mut buffer), (JitterFrame::Sound, expected(5_640)));
    }

    #[test]
    fn packets_without_samples_or_with_too_many_are_dropped() {
        let mut buffer = JitterBuffer::new(Duration::from_secs(9));
        assert_eq!(buffer.insert(0, &[], LAW), JitterInsert::WrongLength);
        assert_eq!(buffer.insert(0, &[0; JITTER_PACKET_SAMPLES_MAX + 1], LAW), JitterInsert::WrongLength);
        assert_eq!(buffer.insert(0, &[0; JITTER_PACKET_SAMPLES_MAX], LAW), JitterInsert::Restarted);
        assert_eq!(buffer.insert(1, &[0; JITTER_PACKET_SAMPLES_MAX], LAW), JitterInsert::Buffered);
    }

    #[test]
    fn loss_reordering_and_duplicates_change_no_sample_that_came_in_time() {
        for seed in cases::seeds(200) {
            let mut draw = Draw(seed);
            let first = draw.next() as u32;
            let mut buffer = JitterBuffer::new(JITTER_DELAY);
            // Packet n is sent at tick n; each copy arrives 0 to 2 ticks later.
            let mut arrivals = vec![Vec::new(); 210];
            let mut came = [false; 200];
            for packet in 0..200_usize {
                let copies = if packet == 0 { 1 } else { draw.below(3) };
                for _ in 0..copies {
                    let delay = if packet == 0 { 0 } else { draw.below(3) as usize };
                    arrivals[packet + delay].push(packet);
                    came[packet] = true;
                }
            }
            let stamp = |packet: usize| first.wrapping_add(packet as u32 * 160);
            for (tick, packets) in arrivals.iter().enumerate() {
                for packet in packets {
                    insert(&mut buffer, stamp(*packet));
                }
                let (origin, frame) = pull(&mut buffer);
                let Some(packet) = tick.checked_sub(3).filter(|packet| *packet < 200) else { continue };
                let wanted = if came[packet] { expected(stamp(packet)) } else { [0; 160] };
                assert_eq!(frame, wanted, "seed {seed}, packet {packet}: {origin:?}");
            }
            assert_eq!((buffer.counts().restarts, buffer.counts().late), (1, 0), "seed {seed}");
        }
    }
}
