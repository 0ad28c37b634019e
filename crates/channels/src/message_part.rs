//! MessagePart: which long message a client's short message is a part of, where the client cut it itself.

use records::Short;

/// Elements of a user data header that tie parts together (TS 23.040 §9.2.3.24.1 and §9.2.3.24.8).
const CONCAT8: u8 = 0x00;
const CONCAT16: u8 = 0x08;
/// Parameters that do (SMPP 3.4, 5.3.2.22 to 5.3.2.24).
const SAR_MSG_REF_NUM: u16 = 0x020C;
const SAR_TOTAL_SEGMENTS: u16 = 0x020E;

/// What the parts of one message have in common beside sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessagePart {
    /// The message's reference.
    pub reference: u16,
    /// It has 16 bits.
    pub wide: bool,
    /// How many parts there are; at least 2.
    pub total: u8,
}

impl MessagePart {
    /// The message that `short` is a part of; nothing if it is whole.
    pub fn of(short: &Short) -> Option<MessagePart> {
        let part = of_header(&short.udh).or_else(|| of_parameters(&short.tlvs))?;
        (part.total > 1).then_some(part)
    }
}

/// Of two elements the last counts, as phones read them.
fn of_header(udh: &[u8]) -> Option<MessagePart> {
    let (mut rest, mut part) = (udh, None);
    while let [id, length, after @ ..] = rest {
        let (data, behind) = after.split_at_checked(usize::from(*length))?;
        part = match (*id, data) {
            (CONCAT8, &[reference, total, _]) => {
                Some(MessagePart { reference: u16::from(reference), wide: false, total })
            }
            (CONCAT16, &[high, low, total, _]) => {
                Some(MessagePart { reference: u16::from_be_bytes([high, low]), wide: true, total })
            }
            _ => part,
        };
        rest = behind;
    }
    part
}

fn of_parameters(tlvs: &[u8]) -> Option<MessagePart> {
    let (mut rest, mut reference, mut total) = (tlvs, None, None);
    while let [t0, t1, l0, l1, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*l0, *l1]));
        let (value, behind) = after.split_at_checked(length)?;
        match (u16::from_be_bytes([*t0, *t1]), value) {
            (SAR_MSG_REF_NUM, &[high, low]) => reference = Some(u16::from_be_bytes([high, low])),
            (SAR_TOTAL_SEGMENTS, &[count]) => total = Some(count),
            _ => {}
        }
        rest = behind;
    }
    Some(MessagePart { reference: reference?, wide: true, total: total? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(udh: &[u8], tlvs: &[u8]) -> Option<(u16, bool, u8)> {
        let short = Short { udh: udh.into(), tlvs: tlvs.into(), ..Short::default() };
        MessagePart::of(&short).map(|part| (part.reference, part.wide, part.total))
    }

    #[test]
    fn a_part_is_known_by_its_header_or_its_parameters() {
        let sar = b"\x02\x0C\0\x02\x01\x07\x02\x0E\0\x01\x03\x02\x0F\0\x01\x02";
        type PartCase<'a> = (&'a [u8], &'a [u8], Option<(u16, bool, u8)>);
        let cases: [PartCase<'_>; 12] = [
            (b"", b"", None),
            (b"\0\x03\x07\x02\x01", b"", Some((7, false, 2))),
            (b"\x08\x04\x01\x07\x03\x02", b"", Some((263, true, 3))),
            (b"\x05\x04\x0B\x84\x23\xF0\0\x03\x07\x02\x01", b"", Some((7, false, 2))),
            (b"\0\x03\x07\x02\x01\0\x03\x09\x04\x01", b"", Some((9, false, 4))),
            (b"\x24\x01\x01", b"", None),
            (b"\0\x03\x07\x01\x01", b"", None),
            (b"\0\x03\x07", b"", None),
            (b"", sar, Some((263, true, 3))),
            (b"\0\x03\x07\x02\x01", sar, Some((7, false, 2))),
            (b"", b"\x02\x0C\0\x02\x01\x07", None),
            (b"", b"\x02\x0C\0\x09\x01", None),
        ];
        for (udh, tlvs, expected) in cases {
            assert_eq!(part(udh, tlvs), expected, "{udh:?} {tlvs:?}");
        }
    }
}
