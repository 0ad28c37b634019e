//! Record of a group's own log: the low-water mark and spans of acknowledged indexes above it.
//!
//! ```text
//! record = low u64, (from u64, below u64)*        little endian
//!        | all ones u64, (index u64, times u64)*  how often records were given out, in groups that bound it
//! ```
//! Records add up: the highest low-water mark holds, spans only grow, and the highest count holds.

/// Stands for the low-water mark where a record counts deliveries.
const DELIVERIES: u64 = u64::MAX;

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saved {
    /// Everything below is acknowledged, and these spans above it.
    Acked(u64, Vec<(u64, u64)>),
    /// These were given out so often.
    Given(Vec<(u64, u32)>),
}

/// A record of how often records were given out.
pub(super) fn encode_given(given: &[(u64, u32)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + given.len() * 16);
    out.extend_from_slice(&DELIVERIES.to_le_bytes());
    for (index, times) in given {
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&u64::from(*times).to_le_bytes());
    }
    out
}

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

/// Reads what [`encode`] or [`encode_given`] wrote.
pub(super) fn decode(record: &[u8]) -> Option<Saved> {
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
    if low == DELIVERIES {
        let times = |times: u64| u32::try_from(times).unwrap_or(u32::MAX);
        return Some(Saved::Given(spans.into_iter().map(|(index, given)| (index, times(given))).collect()));
    }
    Some(Saved::Acked(low, spans))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_state_comes_back_without_what_the_low_water_mark_covers() {
        let record = encode(100, &[(50, 60), (90, 105), (200, 201)]);
        assert_eq!(decode(&record), Some(Saved::Acked(100, vec![(90, 105), (200, 201)])));
        let given = vec![(7, 1), (u64::MAX, u32::MAX)];
        assert_eq!(decode(&encode_given(&given)), Some(Saved::Given(given)));
        for cut in 0..record.len() {
            if cut % 16 != 8 {
                assert_eq!(decode(&record[..cut]), None, "{cut} octets");
            }
        }
    }
}
