//! Blocks of the log: what one turn of an owner appended, with a checksum over all of it.
//!
//! Head, 48 octets, little endian: magic, CRC32C of all that follows, octets of entries, zero, position of
//! the head, the position up to which the log was synced when this block was written, time, reserved. A block
//! that is damaged was torn by a crash when nothing after it claims that it was synced; otherwise the disk
//! lost what was answered for, and recovery refuses.

use std::ops::Range;

/// The head's size.
pub const HEAD_OCTETS: usize = 48;
const MAGIC: u32 = 0x4c43_4d50;

/// A head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Octets of entries.
    pub octets: u32,
    /// Where the head stands in the log.
    pub position: u64,
    /// Up to where the log was synced before this block was written.
    pub synced: u64,
    pub time_us: u64,
}

/// Begins a block in an empty buffer: room for the head.
pub fn begin(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.resize(HEAD_OCTETS, 0);
}

/// Completes the head of the block in the buffer.
pub fn seal(buffer: &mut [u8], position: u64, synced: u64, time_us: u64) {
    let octets = (buffer.len() - HEAD_OCTETS) as u32;
    buffer[8..12].copy_from_slice(&octets.to_le_bytes());
    buffer[16..24].copy_from_slice(&position.to_le_bytes());
    buffer[24..32].copy_from_slice(&synced.to_le_bytes());
    buffer[32..40].copy_from_slice(&time_us.to_le_bytes());
    let crc = crc32c::crc32c(&buffer[8..]);
    buffer[..4].copy_from_slice(&MAGIC.to_le_bytes());
    buffer[4..8].copy_from_slice(&crc.to_le_bytes());
}

/// Reads the block that begins here and should stand at this position: its head and its entries.
///
/// None: there is no whole block.
pub fn read(octets: &[u8], position: u64) -> Option<(Head, &[u8])> {
    let head = octets.get(..HEAD_OCTETS)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    if word(0) != MAGIC || long(16) != position {
        return None;
    }
    let body = octets.get(..HEAD_OCTETS.checked_add(word(8) as usize)?)?;
    if crc32c::crc32c(&body[8..]) != word(4) {
        return None;
    }
    let head = Head { octets: word(8), position, synced: long(24), time_us: long(32) };
    Some((head, &body[HEAD_OCTETS..]))
}

/// The time of the block whose head this is, by the head alone: a hint where to look. None: it is no head for
/// this position.
pub fn peek_time(head: &[u8; HEAD_OCTETS], position: u64) -> Option<u64> {
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    (head[..4] == MAGIC.to_le_bytes() && long(16) == position).then(|| long(32))
}

/// The next whole block that begins in `within`: where that is.
pub fn find_next(octets: &[u8], within: Range<usize>, base: u64) -> Option<(usize, Head)> {
    let magic = MAGIC.to_le_bytes();
    let mut at = within.start;
    while let Some(found) = octets.get(at..within.end)?.windows(4).position(|window| window == magic) {
        at += found;
        if let Some((head, _)) = read(&octets[at..], base + at as u64) {
            return Some((at, head));
        }
        at += 1;
    }
    None
}
