//! Data representation (section 1.5): integers, strings, binary data, string pairs.

use crate::error::{PacketEncodeError, PacketError};

/// The largest Variable Byte Integer (section 1.5.5): 268,435,455.
pub const VARIABLE_BYTE_INTEGER_MAX: u32 = 268_435_455;
/// A Variable Byte Integer has at most so many octets.
pub(crate) const VARIABLE_BYTE_OCTETS_MAX: usize = 4;

const SHORT: PacketError = PacketError::malformed("a packet ends in the middle of a value");

/// Reads values from the front of a packet's octets. No length from the wire is believed before it is
/// compared with the octets that are there.
pub(crate) struct PacketReader<'a> {
    octets: &'a [u8],
}

impl<'a> PacketReader<'a> {
    pub(crate) fn new(octets: &'a [u8]) -> PacketReader<'a> {
        PacketReader { octets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.octets)
    }

    pub(crate) fn take(&mut self, octets: usize) -> Result<&'a [u8], PacketError> {
        let (taken, rest) = self.octets.split_at_checked(octets).ok_or(SHORT)?;
        self.octets = rest;
        Ok(taken)
    }

    /// One value.
    pub(crate) fn value<V: WireValue>(&mut self) -> Result<V, PacketError> {
        V::read(self)
    }

    /// Section 1.5.5. The shortest form alone is one (MQTT-1.5.5-1).
    pub(crate) fn variable_byte_integer(&mut self) -> Result<u32, PacketError> {
        match variable_byte_integer(self.octets)? {
            Some((value, octets)) => {
                self.take(octets)?;
                Ok(value)
            }
            None => Err(SHORT),
        }
    }

    /// Octets behind a length of two octets.
    fn counted(&mut self) -> Result<&'a [u8], PacketError> {
        let octets: u16 = self.value()?;
        self.take(usize::from(octets))
    }
}

/// A Variable Byte Integer at the front of these octets and its own octets; nothing while it is not complete.
pub(crate) fn variable_byte_integer(octets: &[u8]) -> Result<Option<(u32, usize)>, PacketError> {
    let mut value = 0;
    for (place, octet) in octets.iter().take(VARIABLE_BYTE_OCTETS_MAX).enumerate() {
        value |= u32::from(octet & 0x7F) << (7 * place);
        if octet & 0x80 == 0 {
            if place > 0 && *octet == 0 {
                return Err(PacketError::malformed("a Variable Byte Integer is longer than it need be"));
            }
            return Ok(Some((value, place + 1)));
        }
    }
    match octets.len() < VARIABLE_BYTE_OCTETS_MAX {
        true => Ok(None),
        false => Err(PacketError::malformed("a Variable Byte Integer has more than 4 octets")),
    }
}

/// Appends a Variable Byte Integer.
pub(crate) fn put_variable_byte_integer(value: u32, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
    if value > VARIABLE_BYTE_INTEGER_MAX {
        return Err(PacketEncodeError::NumberTooLarge);
    }
    let mut rest = value;
    loop {
        let octet = (rest & 0x7F) as u8;
        rest >>= 7;
        if rest == 0 {
            out.push(octet);
            return Ok(());
        }
        out.push(octet | 0x80);
    }
}

/// A value with a form on the wire.
pub(crate) trait WireValue: Sized {
    fn read(reader: &mut PacketReader<'_>) -> Result<Self, PacketError>;
    fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError>;
    /// As a number, if it is one.
    fn number(&self) -> Option<u32> {
        None
    }
}

/// A Variable Byte Integer as the value of a property: at most [`VARIABLE_BYTE_INTEGER_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariableByteInteger(pub u32);

macro_rules! integer {
    ($type:ty) => {
        impl WireValue for $type {
            fn read(reader: &mut PacketReader<'_>) -> Result<Self, PacketError> {
                let octets = reader.take(size_of::<$type>())?;
                Ok(octets.iter().fold(0, |value, octet| value << (8 % <$type>::BITS) | Self::from(*octet)))
            }
            fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
                out.extend_from_slice(&self.to_be_bytes());
                Ok(())
            }
            fn number(&self) -> Option<u32> {
                Some(u32::from(*self))
            }
        }
    };
}

integer!(u8);
integer!(u16);
integer!(u32);

impl WireValue for VariableByteInteger {
    fn read(reader: &mut PacketReader<'_>) -> Result<Self, PacketError> {
        reader.variable_byte_integer().map(VariableByteInteger)
    }
    fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        put_variable_byte_integer(self.0, out)
    }
    fn number(&self) -> Option<u32> {
        Some(self.0)
    }
}

impl WireValue for Vec<u8> {
    fn read(reader: &mut PacketReader<'_>) -> Result<Self, PacketError> {
        reader.counted().map(<[u8]>::to_vec)
    }
    fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        put_counted(self, out)
    }
}

/// Section 1.5.4: well-formed UTF-8 without U+0000.
impl WireValue for String {
    fn read(reader: &mut PacketReader<'_>) -> Result<Self, PacketError> {
        let text = std::str::from_utf8(reader.counted()?)
            .map_err(|_| PacketError::malformed("a string is not UTF-8"))?;
        match text.contains('\0') {
            true => Err(PacketError::malformed("a string has the character U+0000")),
            false => Ok(text.to_owned()),
        }
    }
    fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        put_string(self, out)
    }
}

impl WireValue for (String, String) {
    fn read(reader: &mut PacketReader<'_>) -> Result<Self, PacketError> {
        Ok((reader.value()?, reader.value()?))
    }
    fn write(&self, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
        put_string(&self.0, out)?;
        put_string(&self.1, out)
    }
}

pub(crate) fn put_string(text: &str, out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
    match text.contains('\0') {
        true => Err(PacketEncodeError::NullCharacter),
        false => put_counted(text.as_bytes(), out),
    }
}

fn put_counted(octets: &[u8], out: &mut Vec<u8>) -> Result<(), PacketEncodeError> {
    let length =
        u16::try_from(octets.len()).map_err(|_| PacketEncodeError::ValueTooLong { octets: octets.len() })?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(octets);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 1-1 of the standard.
    const TABLE: [(u32, &[u8]); 8] = [
        (0, &[0x00]),
        (127, &[0x7F]),
        (128, &[0x80, 0x01]),
        (16_383, &[0xFF, 0x7F]),
        (16_384, &[0x80, 0x80, 0x01]),
        (2_097_151, &[0xFF, 0xFF, 0x7F]),
        (2_097_152, &[0x80, 0x80, 0x80, 0x01]),
        (268_435_455, &[0xFF, 0xFF, 0xFF, 0x7F]),
    ];

    #[test]
    fn variable_byte_integers_are_those_of_table_1_1() {
        for (value, octets) in TABLE {
            let mut out = Vec::new();
            put_variable_byte_integer(value, &mut out).unwrap();
            assert_eq!(out, octets);
            assert_eq!(variable_byte_integer(octets), Ok(Some((value, octets.len()))));
            for cut in 0..octets.len() {
                assert_eq!(variable_byte_integer(&octets[..cut]), Ok(None), "{value} {cut}");
            }
        }
        for (wrong, why) in [
            (&[0xFF, 0xFF, 0xFF, 0xFF][..], "more than 4"),
            (&[0x80, 0x80, 0x80, 0x80, 0x01], "more than 4"),
            (&[0x80, 0x00], "longer than it need be"),
            (&[0xFF, 0x80, 0x00], "longer than it need be"),
        ] {
            let error = variable_byte_integer(wrong).unwrap_err();
            assert!(error.why.contains(why) && error.reason == MqttReason::MALFORMED_PACKET, "{error}");
        }
        assert!(put_variable_byte_integer(VARIABLE_BYTE_INTEGER_MAX + 1, &mut Vec::new()).is_err());
    }

    use crate::MqttReason;

    #[test]
    fn strings_are_utf_8_without_the_null_character() {
        let string = |octets: &[u8]| PacketReader::new(octets).value::<String>();
        // Figure 1-2: A and U+2A6D4.
        assert_eq!(string(&[0, 5, 0x41, 0xF0, 0xAA, 0x9B, 0x94]).unwrap(), "A\u{2A6D4}");
        // U+FEFF is kept (MQTT-1.5.4-3).
        assert_eq!(string(&[0, 3, 0xEF, 0xBB, 0xBF]).unwrap(), "\u{FEFF}");
        for wrong in [
            &[0, 1, 0][..],
            &[0, 3, b'a', 0, b'b'],
            &[0, 3, 0xED, 0xA0, 0x80], // U+D800
            &[0, 2, 0xC0, 0x80],       // U+0000, too long
            &[0, 1, 0xFF],
            &[0, 2, b'a'],
            &[0],
            &[],
        ] {
            assert_eq!(string(wrong).unwrap_err().reason, MqttReason::MALFORMED_PACKET, "{wrong:?}");
        }
        assert_eq!(put_string("a\0", &mut Vec::new()), Err(PacketEncodeError::NullCharacter));
        let long = "x".repeat(65_536);
        assert_eq!(
            put_string(&long, &mut Vec::new()),
            Err(PacketEncodeError::ValueTooLong { octets: 65_536 })
        );
        assert!(put_string(&long[1..], &mut Vec::new()).is_ok());
    }

    #[test]
    fn integers_are_big_endian() {
        let mut reader = PacketReader::new(&[1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(reader.value::<u8>(), Ok(1));
        assert_eq!(reader.value::<u16>(), Ok(0x0203));
        assert_eq!(reader.value::<u32>(), Ok(0x0405_0607));
        assert!(reader.is_empty() && reader.value::<u8>().is_err());
    }
}
