//! What a group's own log holds: the low-water mark and spans of acknowledged indexes above it.
//!
//! ```text
//! record = low u64, (from u64, below u64)*        little endian
//! ```
//! Records add up: the highest low-water mark holds, and spans only grow.

/// One record.
pub(super) fn encode(low: u64, spans: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + spans.len() * 16);
    out.extend_from_slice(&low.to_le_bytes());
    for (from, below) in spans.iter().filter(|(_, below)| *below > low) {
        out.extend_from_slice(&from.to_le_bytes());
        out.extend_from_slice(&below.to_le_bytes());
    }
    out
}

/// Reads what [`encode`] wrote.
pub(super) fn decode(record: &[u8]) -> Option<(u64, Vec<(u64, u64)>)> {
    let mut words = record
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |sum, octet| sum << 8 | u64::from(*octet)));
    if !record.len().is_multiple_of(8) || record.len() % 16 != 8 {
        return None;
    }
    let low = words.next()?;
    let mut spans = Vec::with_capacity(record.len() / 16);
    while let (Some(from), Some(below)) = (words.next(), words.next()) {
        spans.push((from, below));
    }
    Some((low, spans))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_state_comes_back_without_what_the_low_water_mark_covers() {
        let record = encode(100, &[(50, 60), (90, 105), (200, 201)]);
        assert_eq!(decode(&record), Some((100, vec![(90, 105), (200, 201)])));
        assert_eq!(decode(&encode(u64::MAX, &[])), Some((u64::MAX, vec![])));
        for cut in 0..record.len() {
            if cut % 16 != 8 {
                assert_eq!(decode(&record[..cut]), None, "{cut} octets");
            }
        }
    }
}
