//! Message ids as clients see them.

use records::MessageId;

/// Hexadecimal digits of an id.
const DIGITS: usize = 16;
/// To a client of version 3.3.
const SHORT_DIGITS: usize = 8;

/// An id as text.
#[derive(Clone, Copy)]
pub(super) struct IdText {
    octets: [u8; DIGITS],
    short: bool,
}

impl IdText {
    /// 16 digits, or the last 8 of them.
    pub(super) fn new(id: MessageId, short: bool) -> IdText {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut octets = [0; DIGITS];
        for (place, octet) in octets.iter_mut().enumerate() {
            *octet = HEX[(id.0 >> (60 - 4 * place)) as usize & 15];
        }
        IdText { octets, short }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        if self.short { &self.octets[DIGITS - SHORT_DIGITS..] } else { &self.octets }
    }
}

/// Reads an id. One of 8 digits is the last before `head` that ends so.
pub(crate) fn parse(text: &[u8], head: u64) -> Option<MessageId> {
    let digits =
        std::str::from_utf8(text).ok().filter(|digits| digits.bytes().all(|o| o.is_ascii_hexdigit()))?;
    match digits.len() {
        DIGITS => u64::from_str_radix(digits, 16).ok().map(MessageId),
        SHORT_DIGITS => {
            let low = u64::from_str_radix(digits, 16).ok()?;
            let near = head & !0xFFFF_FFFF | low;
            if near < head { Some(MessageId(near)) } else { near.checked_sub(1 << 32).map(MessageId) }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for (id, short, text) in [
            (0, false, "0000000000000000"),
            (0x1234_5678_9ABC_DEF0, false, "123456789abcdef0"),
            (0x1234_5678_9ABC_DEF0, true, "9abcdef0"),
        ] {
            let written = IdText::new(MessageId(id), short);
            assert_eq!(std::str::from_utf8(written.as_bytes()).unwrap(), text);
            assert_eq!(parse(written.as_bytes(), id + 1), Some(MessageId(id)));
            assert_eq!(parse(text.to_uppercase().as_bytes(), id + 1_000_000), Some(MessageId(id)));
        }
        assert_eq!(parse(b"fffffffe", 0x1_0000_0005), Some(MessageId(0xFFFF_FFFE)), "before the carry");
        assert_eq!(parse(b"00000005", 5), None, "not given out yet");
        for text in ["", "1", "123456789", "xxxxxxxx", "+1234567", "00000000000000001"] {
            assert_eq!(parse(text.as_bytes(), u64::MAX), None, "{text}");
        }
    }
}
