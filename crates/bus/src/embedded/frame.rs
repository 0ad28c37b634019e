//! Form of a log's file, little endian throughout. docs/dev/compatibility.md says how it may change.
//!
//! ```text
//! file   = file header, batch*, then the end of the file or zeros
//! header = magic 8, first index u64, salt u64, durable u64, flags u32, crc u32
//! batch  = magic u32, count u32, octets u32, crc u32, first index u64, durable u64, record{count}
//! record = length u32, crc u32, payload
//! ```
//!
//! A batch is what one append wrote: after a crash it counts whole or not at all. There are three kinds by
//! their magic: of records; of records under a key, which stands before them in a frame of its own that is
//! not counted; and of places of keys, which has no records and takes no index: it carries on what stood in
//! files that are removed. All checksums are CRC-32C seeded with the file's random salt, so that neither a
//! record that quotes a log nor what an earlier file left on the disk can pass for a frame. `durable` is the
//! index below which everything was known to be synced when the header was written: it tells a torn tail
//! (never promised to anyone) from damage (promised and gone).

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
/// The same of a batch under a key.
const KEYED_MAGIC: [u8; 4] = [0xb5, 0xca, 0x3f, 0x92];
/// The same of places of keys.
const PLACES_MAGIC: [u8; 4] = [0xb5, 0xca, 0x3f, 0x93];
/// All of them begin so.
pub(super) const BATCH_MAGICS: [u8; 3] = [0xb5, 0xca, 0x3f];
/// Flag of a file's header: a key stands in a file before this one.
const KEYS_BEFORE: u32 = 1;

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// Index of its first record.
    pub first: u64,
    /// Seed of all checksums in it.
    pub salt: u64,
    /// Everything below was synced when the file was begun.
    pub durable: u64,
    /// A key stands in a file before this one.
    pub keys_before: bool,
}

impl FileHeader {
    /// As written.
    pub fn encode(&self) -> [u8; FILE_HEADER] {
        let mut out = [0; FILE_HEADER];
        out[..8].copy_from_slice(&FILE_MAGIC);
        out[8..16].copy_from_slice(&self.first.to_le_bytes());
        out[16..24].copy_from_slice(&self.salt.to_le_bytes());
        out[24..32].copy_from_slice(&self.durable.to_le_bytes());
        out[32..36].copy_from_slice(&if self.keys_before { KEYS_BEFORE } else { 0 }.to_le_bytes());
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
            keys_before: u32_at(octets, 32) & KEYS_BEFORE != 0,
        })
    }
}

/// What a batch holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchKind {
    /// Records.
    Records,
    /// A key, and records under it.
    Keyed,
    /// Places of keys.
    Places,
}

/// What stands before the frames of one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchHeader {
    /// What it holds.
    pub kind: BatchKind,
    /// How many records or places, at least 1.
    pub count: u32,
    /// Octets of all frames together.
    pub octets: u32,
    /// Index of the first record, or of the one that comes next.
    pub first: u64,
    /// Everything below was synced when this was written.
    pub durable: u64,
}

impl BatchHeader {
    /// Reads a header that was written under this salt; nothing if it is anything else.
    pub fn decode(octets: &[u8], salt: u64) -> Option<BatchHeader> {
        let octets = octets.get(..BATCH_HEADER)?;
        let magic: [u8; 4] = octets.first_chunk().copied()?;
        let kind = match magic {
            BATCH_MAGIC => BatchKind::Records,
            KEYED_MAGIC => BatchKind::Keyed,
            PLACES_MAGIC => BatchKind::Places,
            _ => return None,
        };
        if batch_crc(octets, salt) != u32_at(octets, 12) {
            return None;
        }
        let header = BatchHeader {
            kind,
            count: u32_at(octets, 4),
            octets: u32_at(octets, 8),
            first: u64_at(octets, 16),
            durable: u64_at(octets, 24),
        };
        let frames_min = header.frames() * RECORD_HEADER as u64;
        (header.count > 0 && frames_min <= u64::from(header.octets)).then_some(header)
    }

    /// How many records it has.
    pub fn records(&self) -> u32 {
        if self.kind == BatchKind::Places { 0 } else { self.count }
    }

    /// How many frames follow.
    pub fn frames(&self) -> u64 {
        u64::from(self.count) + u64::from(self.kind == BatchKind::Keyed)
    }

    /// The checksum of a frame, the `at`-th of the batch.
    pub fn frame_crc(&self, salt: u64, at: u64, payload: &[u8]) -> u32 {
        let place = match (self.kind, at) {
            (BatchKind::Records, at) => self.first + at,
            (BatchKind::Keyed, 0) | (BatchKind::Places, _) => u64::MAX - at,
            (BatchKind::Keyed, at) => self.first + at - 1,
        };
        record_crc(salt, place, payload)
    }
}

/// What a batch's header says of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchPlace {
    /// The file's.
    pub salt: u64,
    /// Index of the next record.
    pub first: u64,
    /// Everything below is synced.
    pub durable: u64,
}

/// Appends one batch to `out`. The caller has checked that its octets fit 32 bits.
pub(super) fn encode_batch(out: &mut BytesMut, place: BatchPlace, key: Option<&[u8]>, records: &[&[u8]]) {
    let body = batch_octets(key, records) - BATCH_HEADER;
    let magic = if key.is_some() { KEYED_MAGIC } else { BATCH_MAGIC };
    encode_header(out, magic, place, records.len(), body);
    if let Some(key) = key {
        encode_frame(out, place.salt, u64::MAX, key);
    }
    for (index, record) in (place.first..).zip(records) {
        encode_frame(out, place.salt, index, record);
    }
}

/// Appends a batch of places of keys to `out`: each (first index, index behind the last, key).
pub(super) fn encode_places(out: &mut BytesMut, place: BatchPlace, places: &[(u64, u64, &[u8])]) {
    let body: usize = places.iter().map(|(.., key)| RECORD_HEADER + PLACE_OCTETS + key.len()).sum();
    encode_header(out, PLACES_MAGIC, place, places.len(), body);
    let mut payload = Vec::new();
    for (at, (first, end, key)) in (0..).zip(places) {
        payload.clear();
        payload.extend_from_slice(&first.to_le_bytes());
        payload.extend_from_slice(&end.to_le_bytes());
        payload.extend_from_slice(key);
        encode_frame(out, place.salt, u64::MAX - at, &payload);
    }
}

/// Octets of a key's place before the key.
const PLACE_OCTETS: usize = 16;

/// Reads a frame of [`encode_places`].
pub(super) fn decode_place(payload: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (numbers, key) = payload.split_at_checked(PLACE_OCTETS)?;
    Some((u64_at(numbers, 0), u64_at(numbers, 8), key))
}

fn encode_header(out: &mut BytesMut, magic: [u8; 4], place: BatchPlace, count: usize, body: usize) {
    out.reserve(BATCH_HEADER + body);
    let mut header = [0; BATCH_HEADER];
    header[..4].copy_from_slice(&magic);
    header[4..8].copy_from_slice(&(count as u32).to_le_bytes());
    header[8..12].copy_from_slice(&(body as u32).to_le_bytes());
    header[16..24].copy_from_slice(&place.first.to_le_bytes());
    header[24..].copy_from_slice(&place.durable.to_le_bytes());
    let crc = batch_crc(&header, place.salt);
    header[12..16].copy_from_slice(&crc.to_le_bytes());
    out.put_slice(&header);
}

fn encode_frame(out: &mut BytesMut, salt: u64, index: u64, payload: &[u8]) {
    out.put_u32_le(payload.len() as u32);
    out.put_u32_le(record_crc(salt, index, payload));
    out.put_slice(payload);
}

/// Octets a batch of these records takes in a file.
pub(super) fn batch_octets(key: Option<&[u8]>, records: &[&[u8]]) -> usize {
    batch_skip(key) + records.iter().map(|record| RECORD_HEADER + record.len()).sum::<usize>()
}

/// Octets of a batch before its first record.
pub(super) fn batch_skip(key: Option<&[u8]>) -> usize {
    BATCH_HEADER + key.map_or(0, |key| RECORD_HEADER + key.len())
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
        let header = FileHeader { first: 7, salt: 0x1234_5678_9abc_def0, durable: 5, keys_before: true };
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
        let place = BatchPlace { salt: 99, first: 1000, durable: 990 };
        let records: [&[u8]; 3] = [b"one", b"", b"three"];
        for (key, kind, before) in [(None, BatchKind::Records, 0), (Some(&b"key"[..]), BatchKind::Keyed, 11)]
        {
            let mut out = BytesMut::new();
            encode_batch(&mut out, place, key, &records);
            let header = BatchHeader::decode(&out, 99).unwrap();
            let octets = 8 * 3 + 8 + before;
            assert_eq!(header, BatchHeader { kind, count: 3, octets, first: 1000, durable: 990 });
            assert_eq!((header.records(), header.frames()), (3, 3 + u64::from(key.is_some())));
            assert_eq!(out.len(), batch_octets(key, &records));
            assert_eq!(BatchHeader::decode(&out, 98), None);
            for bit in 0..BATCH_HEADER * 8 {
                let mut bad = out.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(BatchHeader::decode(&bad, 99), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn places_of_keys_come_back_and_take_no_index() {
        let mut out = BytesMut::new();
        let places: [(u64, u64, &[u8]); 2] = [(7, 9, b"a"), (9, 10, b"")];
        encode_places(&mut out, BatchPlace { salt: 5, first: 40, durable: 40 }, &places);
        let header = BatchHeader::decode(&out, 5).unwrap();
        assert_eq!((header.kind, header.records(), header.first), (BatchKind::Places, 0, 40));
        assert_eq!(out.len(), BATCH_HEADER + header.octets as usize);
        let mut at = BATCH_HEADER;
        for (n, place) in (0..).zip(places) {
            let (len, crc) = record_header(&out[at..]).unwrap();
            let payload = &out[at + RECORD_HEADER..at + RECORD_HEADER + len];
            assert_eq!(header.frame_crc(5, n, payload), crc);
            assert_eq!(decode_place(payload), Some(place));
            assert_eq!(decode_place(&payload[..15]), None);
            at += RECORD_HEADER + len;
        }
    }

    #[test]
    fn a_record_under_another_index_does_not_pass() {
        assert_ne!(record_crc(1, 5, b"x"), record_crc(1, 6, b"x"));
        assert_ne!(record_crc(1, 5, b"x"), record_crc(2, 5, b"x"));
        assert_ne!(record_crc(1, 5, b""), record_crc(1, 6, b""));
    }
}
