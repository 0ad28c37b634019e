//! Numbers in as few octets as they need: seven bits an octet, the lowest first; signed ones in zigzag.

/// Appends a number.
#[inline]
pub fn put(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Appends a signed number.
#[inline]
pub fn put_signed(into: &mut Vec<u8>, value: i64) {
    put(into, (value << 1 ^ value >> 63) as u64);
}

/// Writes into room that was made before: nothing grows on the way. Who makes the room sees to it that it is
/// enough.
pub struct Cursor<'a> {
    room: &'a mut [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(room: &'a mut [u8]) -> Cursor<'a> {
        Cursor { room, at: 0 }
    }
    /// How many octets were written.
    #[inline]
    pub fn octets(&self) -> usize {
        self.at
    }
    #[inline]
    pub fn octet(&mut self, octet: u8) {
        self.room[self.at] = octet;
        self.at += 1;
    }
    #[inline]
    pub fn array<const N: usize>(&mut self, octets: [u8; N]) {
        self.room[self.at..self.at + N].copy_from_slice(&octets);
        self.at += N;
    }
    pub fn slice(&mut self, octets: &[u8]) {
        self.room[self.at..self.at + octets.len()].copy_from_slice(octets);
        self.at += octets.len();
    }
    /// A number, as `put` appends it.
    #[inline]
    pub fn number(&mut self, value: u64) {
        if value < 0x80 {
            return self.octet(value as u8);
        }
        if value < 1 << 28 {
            return self.up_to_four(value as u32);
        }
        self.long_number(value);
    }
    /// Of 8 to 28 bits: all four octets are written at once, and those that are not needed are written over
    /// by what follows.
    #[inline]
    fn up_to_four(&mut self, value: u32) {
        let spread =
            value & 0x7f | (value & 0x3f80) << 1 | (value & 0x1f_c000) << 2 | (value & 0xfe0_0000) << 3;
        // Two to four octets, by the highest bit.
        let octets = (38 - value.leading_zeros() as usize) / 7;
        // All but the last say that another follows.
        let more = 0x0080_8080 >> (8 * (4 - octets));
        if let Some(room) = self.room.get_mut(self.at..self.at + 4) {
            room.copy_from_slice(&(spread | more).to_le_bytes());
            self.at += octets;
        } else {
            self.long_number(value.into());
        }
    }
    #[inline(never)]
    fn long_number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.octet(value as u8 | 0x80);
            value >>= 7;
        }
        self.octet(value as u8);
    }
    /// A signed number, as `put_signed` appends it.
    #[inline]
    pub fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }
}

/// Reads what was appended; each read says None where the octets end or a number has more than 64 bits.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub fn octet(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    #[inline]
    pub fn octets(&mut self, len: usize) -> Option<&'a [u8]> {
        let (octets, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(octets)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.octets(N)?.try_into().ok()
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            value |= u64::from(octet & 0x7f) << shift;
            if octet < 0x80 {
                return (shift < 63 || octet < 2).then_some(value);
            }
        }
        None
    }

    pub fn number_u32(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_cut_ones_do_not() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), i64::MAX as u64, u64::MAX] {
            let mut octets = Vec::new();
            put(&mut octets, value);
            put_signed(&mut octets, value as i64);
            let mut room = [0; 20];
            let mut cursor = Cursor::new(&mut room);
            cursor.number(value);
            cursor.signed(value as i64);
            let written = cursor.octets();
            assert_eq!(room[..written], octets);
            let mut reader = Reader(&octets);
            assert_eq!((reader.number(), reader.signed()), (Some(value), Some(value as i64)));
            assert_eq!(reader.octet(), None);
            let mut cut = Reader(&octets[..octets.len() - 1]);
            cut.number();
            assert_eq!(cut.signed(), None);
        }
    }

    #[test]
    fn a_cursor_writes_numbers_of_every_length_as_they_are_appended() {
        for bits in 0..64 {
            for value in
                [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 0x5555_5555_5555_5555 >> (63 - bits)]
            {
                let mut octets = Vec::new();
                put(&mut octets, value);
                // With room to spare, and with none.
                for room in [20, octets.len()] {
                    let mut room = vec![0xff; room];
                    let mut cursor = Cursor::new(&mut room);
                    cursor.number(value);
                    let written = cursor.octets();
                    assert_eq!(room[..written], octets, "{value}");
                }
            }
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        assert_eq!(Reader(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).number(), None);
        assert_eq!(Reader(&[0xff; 11]).number(), None);
    }
}
