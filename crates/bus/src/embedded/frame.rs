//! How records stand in a file, little endian throughout.
//!
//! ```text
//! file   = file header, batch*, then the end of the file or zeros
//! header = magic 8, first index u64, salt u64, durable u64, reserved u32, crc u32
//! batch  = magic u32, count u32, octets u32, crc u32, first index u64, durable u64, record{count}
//! record = length u32, crc u32, payload
//! ```
//!
//! A batch is what one append wrote: after a crash it counts whole or not at all. All checksums are CRC-32C
//! seeded with the file's random salt, so that neither a record that quotes a log nor what an earlier file left
//! on the disk can pass for a frame. `durable` is the index below which everything was known to be synced when
//! the header was written: it tells a torn tail (never promised to anyone) from damage (promised and gone).

use bytes::{BufMut, BytesMut};

/// Octets of a file's header.
pub(super) const FILE_HEADER: usize = 40;
/// Octets of a batch's header.
pub(super) const BATCH_HEADER: usize = 32;
/// Octets before a record's payload.
pub(super) const RECORD_HEADER: usize = 8;

const FILE_MAGIC: [u8; 8] = *b"CAMPBUS1";
/// First octets of a batch, as they stand in the file.
pub(super) const BATCH_MAGIC: [u8; 4] = [0xb5, 0xca, 0x3f, 0x91];

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// Index of its first record.
    pub first: u64,
    /// Seed of all checksums in it.
    pub salt: u64,
    /// Everything below was synced when the file was begun.
    pub durable: u64,
}

impl FileHeader {
    /// As written.
    pub fn encode(&self) -> [u8; FILE_HEADER] {
        let mut out = [0; FILE_HEADER];
        out[..8].copy_from_slice(&FILE_MAGIC);
        out[8..16].copy_from_slice(&self.first.to_le_bytes());
        out[16..24].copy_from_slice(&self.salt.to_le_bytes());
        out[24..32].copy_from_slice(&self.durable.to_le_bytes());
        let crc = crc32c::crc32c(&out[..36]);
        out[36..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads what [`FileHeader::encode`] wrote; nothing if it is anything else.
    pub fn decode(octets: &[u8]) -> Option<FileHeader> {
        let octets = octets.get(..FILE_HEADER)?;
        let intact = octets[..8] == FILE_MAGIC && crc32c::crc32c(&octets[..36]) == u32_at(octets, 36);
        intact.then(|| FileHeader {
            first: u64_at(octets, 8),
            salt: u64_at(octets, 16),
            durable: u64_at(octets, 24),
        })
    }
}

/// What stands before the records of one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchHeader {
    /// How many records, at least 1.
    pub count: u32,
    /// Octets of all record frames together.
    pub octets: u32,
    /// Index of the first record.
    pub first: u64,
    /// Everything below was synced when this was written.
    pub durable: u64,
}

impl BatchHeader {
    /// Reads a header that was written under this salt; nothing if it is anything else.
    pub fn decode(octets: &[u8], salt: u64) -> Option<BatchHeader> {
        let octets = octets.get(..BATCH_HEADER)?;
        if octets[..4] != BATCH_MAGIC || batch_crc(octets, salt) != u32_at(octets, 12) {
            return None;
        }
        let header = BatchHeader {
            count: u32_at(octets, 4),
            octets: u32_at(octets, 8),
            first: u64_at(octets, 16),
            durable: u64_at(octets, 24),
        };
        let frames_min = u64::from(header.count) * RECORD_HEADER as u64;
        (header.count > 0 && frames_min <= u64::from(header.octets)).then_some(header)
    }
}

/// Appends one batch to `out`. The caller has checked that its octets fit 32 bits.
pub(super) fn encode_batch(out: &mut BytesMut, salt: u64, first: u64, durable: u64, records: &[&[u8]]) {
    let body: usize = records.iter().map(|record| RECORD_HEADER + record.len()).sum();
    out.reserve(BATCH_HEADER + body);
    let mut header = [0; BATCH_HEADER];
    header[..4].copy_from_slice(&BATCH_MAGIC);
    header[4..8].copy_from_slice(&(records.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&(body as u32).to_le_bytes());
    header[16..24].copy_from_slice(&first.to_le_bytes());
    header[24..].copy_from_slice(&durable.to_le_bytes());
    let crc = batch_crc(&header, salt);
    header[12..16].copy_from_slice(&crc.to_le_bytes());
    out.put_slice(&header);
    for (index, record) in (first..).zip(records) {
        out.put_u32_le(record.len() as u32);
        out.put_u32_le(record_crc(salt, index, record));
        out.put_slice(record);
    }
}

/// Octets a batch of these records takes in a file.
pub(super) fn batch_octets(records: &[&[u8]]) -> usize {
    BATCH_HEADER + records.iter().map(|record| RECORD_HEADER + record.len()).sum::<usize>()
}

/// The length and checksum before a record's payload.
pub(super) fn record_header(octets: &[u8]) -> Option<(usize, u32)> {
    let octets = octets.get(..RECORD_HEADER)?;
    Some((u32_at(octets, 0) as usize, u32_at(octets, 4)))
}

/// The checksum of a record in its place: one that turns up under another index does not pass.
pub(super) fn record_crc(salt: u64, index: u64, payload: &[u8]) -> u32 {
    let place = (salt ^ index.rotate_left(32)) as u32 ^ (salt >> 32) as u32 ^ index as u32;
    crc32c::crc32c_append(place ^ (payload.len() as u32).rotate_left(7), payload)
}

fn batch_crc(header: &[u8], salt: u64) -> u32 {
    let crc = crc32c::crc32c_append(salt as u32 ^ (salt >> 32) as u32, &header[..12]);
    crc32c::crc32c_append(crc, &header[16..BATCH_HEADER])
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&octets[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(octets: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&octets[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_header_comes_back_and_a_flipped_bit_does_not_pass() {
        let header = FileHeader { first: 7, salt: 0x1234_5678_9abc_def0, durable: 5 };
        let octets = header.encode();
        assert_eq!(FileHeader::decode(&octets), Some(header));
        assert_eq!(FileHeader::decode(&octets[..39]), None);
        for bit in 0..FILE_HEADER * 8 {
            let mut bad = octets;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FileHeader::decode(&bad), None, "bit {bit}");
        }
    }

    #[test]
    fn a_batch_header_passes_only_under_its_salt() {
        let mut out = BytesMut::new();
        encode_batch(&mut out, 99, 1000, 990, &[b"one", b"", b"three"]);
        let header = BatchHeader::decode(&out, 99).unwrap();
        assert_eq!(header, BatchHeader { count: 3, octets: 8 * 3 + 8, first: 1000, durable: 990 });
        assert_eq!(out.len(), batch_octets(&[b"one", b"", b"three"]));
        assert_eq!(BatchHeader::decode(&out, 98), None);
        for bit in 0..BATCH_HEADER * 8 {
            let mut bad = out.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BatchHeader::decode(&bad, 99), None, "bit {bit}");
        }
    }

    #[test]
    fn a_record_under_another_index_does_not_pass() {
        assert_ne!(record_crc(1, 5, b"x"), record_crc(1, 6, b"x"));
        assert_ne!(record_crc(1, 5, b"x"), record_crc(2, 5, b"x"));
        assert_ne!(record_crc(1, 5, b""), record_crc(1, 6, b""));
    }
}
