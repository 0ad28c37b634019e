//! Long messages, put together from their parts (3GPP TS 23.040 §9.2.3.24.1 and .8; 3.4 §5.3.2.22 to 24).

use smpp::tlv::{Tag, Tlvs};
use std::collections::{HashMap, VecDeque};

/// So many unfinished messages are kept; the oldest goes first.
const UNFINISHED_MAX: usize = 100_000;

/// Which part of what a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartHeader {
    pub(super) reference: u16,
    pub(super) total: u8,
    /// From 1.
    pub(super) number: u8,
}

/// Splits a message's octets into its part's place (if it is one) and its text; a header that does not fit is
/// left in.
pub(super) fn split<'a>(octets: &'a [u8], has_udh: bool, tlvs: Tlvs<'_>) -> (Option<PartHeader>, &'a [u8]) {
    if has_udh && let Some((elements, text)) = header(octets) {
        return (of_header(elements), text);
    }
    (of_tlvs(tlvs), octets)
}

fn header(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = octets.split_first()?;
    rest.split_at_checked(usize::from(length))
}

fn of_header(mut elements: &[u8]) -> Option<PartHeader> {
    while let [kind, length, rest @ ..] = elements {
        let (value, after) = rest.split_at_checked(usize::from(*length))?;
        let part = match (kind, value) {
            (0x00, &[reference, total, number]) => {
                Some(PartHeader { reference: u16::from(reference), total, number })
            }
            (0x08, &[high, low, total, number]) => {
                Some(PartHeader { reference: u16::from_be_bytes([high, low]), total, number })
            }
            _ => None,
        };
        if part.is_some() {
            return part.filter(is_sound);
        }
        elements = after;
    }
    None
}

fn of_tlvs(tlvs: Tlvs<'_>) -> Option<PartHeader> {
    if tlvs.is_empty() {
        return None;
    }
    let reference = tlvs.find_u16(Tag::SAR_MSG_REF_NUM)?;
    let (total, number) = (tlvs.find_u8(Tag::SAR_TOTAL_SEGMENTS)?, tlvs.find_u8(Tag::SAR_SEGMENT_SEQNUM)?);
    Some(PartHeader { reference, total, number }).filter(is_sound)
}

fn is_sound(part: &PartHeader) -> bool {
    part.number >= 1 && part.number <= part.total && part.total > 1
}

/// Parts that wait for the others.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    messages: HashMap<JoinedKey, Vec<Option<Box<[u8]>>>>,
    order: VecDeque<JoinedKey>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct JoinedKey {
    from: Box<[u8]>,
    to: Box<[u8]>,
    reference: u16,
    total: u8,
}

impl Unfinished {
    /// Takes a part; gives the whole message when it was the last one.
    pub(super) fn take(
        &mut self,
        from: &[u8],
        to: &[u8],
        part: PartHeader,
        octets: &[u8],
    ) -> Option<Vec<u8>> {
        let key =
            JoinedKey { from: from.into(), to: to.into(), reference: part.reference, total: part.total };
        if !self.messages.contains_key(&key) {
            self.make_room();
            self.order.push_back(key.clone());
        }
        let parts = self.messages.entry(key.clone()).or_insert_with(|| vec![None; usize::from(part.total)]);
        parts[usize::from(part.number) - 1] = Some(octets.into());
        if parts.iter().any(Option::is_none) {
            return None;
        }
        let parts = self.messages.remove(&key)?;
        Some(parts.into_iter().flatten().flatten().collect())
    }

    fn make_room(&mut self) {
        // Finished messages leave their keys in the order until they come up here.
        while self.messages.len() >= UNFINISHED_MAX || self.order.len() >= 2 * UNFINISHED_MAX {
            let Some(oldest) = self.order.pop_front() else { return };
            self.messages.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smpp::tlv::TlvBuf;

    #[test]
    fn a_part_is_known_by_its_header_or_its_parameters() {
        let mut tlvs = TlvBuf::new();
        tlvs.push_u16(Tag::SAR_MSG_REF_NUM, 300)
            .push_u8(Tag::SAR_TOTAL_SEGMENTS, 2)
            .push_u8(Tag::SAR_SEGMENT_SEQNUM, 1);
        let part = |reference, total, number| Some(PartHeader { reference, total, number });
        for (octets, has_udh, tlvs, expected) in [
            (&b"\x05\x00\x03\x07\x03\x02hi"[..], true, Tlvs::NONE, (part(7, 3, 2), &b"hi"[..])),
            (b"\x06\x08\x04\x01\x02\x03\x02hi", true, Tlvs::NONE, (part(0x102, 3, 2), b"hi")),
            (b"\x08\x24\x01\x03\x00\x03\x07\x02\x01hi", true, Tlvs::NONE, (part(7, 2, 1), b"hi")),
            (b"hi", false, tlvs.as_tlvs(), (part(300, 2, 1), b"hi")),
            (b"hi", false, Tlvs::NONE, (None, b"hi")),
            (b"\x05\x00\x03\x07\x03\x04hi", true, Tlvs::NONE, (None, b"hi")),
            (b"\x05\x00\x03\x07\x00\x00hi", true, Tlvs::NONE, (None, b"hi")),
            (b"\x09hi", true, Tlvs::NONE, (None, b"\x09hi")),
            (b"\x02\x00\x09hi", true, Tlvs::NONE, (None, b"hi")),
            (b"", true, Tlvs::NONE, (None, b"")),
        ] {
            assert_eq!(split(octets, has_udh, tlvs), expected, "{octets:?}");
        }
    }

    #[test]
    fn parts_join_in_any_order_and_a_repeated_one_does_not_finish_a_message() {
        let mut unfinished = Unfinished::default();
        let part = |number| PartHeader { reference: 9, total: 3, number };
        assert_eq!(unfinished.take(b"a", b"b", part(3), b"three"), None);
        assert_eq!(unfinished.take(b"a", b"b", part(1), b"one "), None);
        assert_eq!(unfinished.take(b"a", b"b", part(1), b"one "), None);
        assert_eq!(unfinished.take(b"a", b"other", part(2), b"two "), None);
        assert_eq!(unfinished.take(b"a", b"b", part(2), b"two "), Some(b"one two three".to_vec()));
        assert_eq!(unfinished.take(b"a", b"b", part(2), b"two "), None);
    }

    #[test]
    fn unfinished_messages_are_bounded() {
        let mut unfinished = Unfinished::default();
        let part = PartHeader { reference: 9, total: 2, number: 1 };
        for to in 0..(UNFINISHED_MAX as u32 + 10) {
            unfinished.take(b"a", &to.to_be_bytes(), part, b"");
        }
        assert_eq!(unfinished.messages.len(), UNFINISHED_MAX);
        let last = PartHeader { number: 2, ..part };
        assert_eq!(unfinished.take(b"a", &0u32.to_be_bytes(), last, b""), None, "the oldest went first");
        assert_eq!(
            unfinished.take(b"a", &(UNFINISHED_MAX as u32).to_be_bytes(), last, b""),
            Some(Vec::new())
        );
    }
}
