//! A datagram of data: a header of 15 octets and one symbol. What is not in the header is goodput.
//!
//! | octets | what |
//! |---|---|
//! | 0–5 | the token of this push, told over QUIC only to sites that proved themselves |
//! | 6–9 | number of the datagram on its path, from 0 |
//! | 10–12 | block |
//! | 13–14 | symbol of the block: sources first, then repairs (the encoding symbol id of RFC 6330) |

/// Octets before the symbol.
pub const HEADER_LEN: usize = 15;

/// Tokens are below this: who guesses a million a second finds one in nine years.
pub const TOKEN_LIMIT: u64 = 1 << 48;

/// What stands before a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolHeader {
    /// The secret name of the push, below [`TOKEN_LIMIT`].
    pub token: u64,
    /// Number of the datagram on its path.
    pub seq: u32,
    /// The block, below [`super::layout::BLOCKS_MAX`].
    pub block: u32,
    /// The symbol: sources, then repairs.
    pub symbol: u16,
}

impl SymbolHeader {
    /// Writes the header to the first 15 octets.
    pub fn write(&self, into: &mut [u8]) {
        into[0..6].copy_from_slice(&self.token.to_be_bytes()[2..]);
        into[6..10].copy_from_slice(&self.seq.to_be_bytes());
        into[10..13].copy_from_slice(&self.block.to_be_bytes()[1..]);
        into[13..15].copy_from_slice(&self.symbol.to_be_bytes());
    }

    /// Reads a datagram: header and symbol. None when it is shorter than a header.
    pub fn read(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (header, symbol) = datagram.split_first_chunk::<HEADER_LEN>()?;
        let number = |octets: &[u8]| octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
        let [token, seq, block, index] =
            [&header[0..6], &header[6..10], &header[10..13], &header[13..15]].map(number);
        Some((Self { token, seq: seq as u32, block: block as u32, symbol: index as u16 }, symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header =
            SymbolHeader { token: 0x0102_0304_0506, seq: 0x0708_090A, block: 0x00A0_B0C0, symbol: 0xFFFE };
        let mut datagram = [7; HEADER_LEN + 3];
        header.write(&mut datagram);
        assert_eq!(datagram[..HEADER_LEN], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xA0, 0xB0, 0xC0, 0xFF, 0xFE]);
        assert_eq!(SymbolHeader::read(&datagram), Some((header, &[7, 7, 7][..])));
        assert_eq!(SymbolHeader::read(&datagram[..HEADER_LEN - 1]), None);
    }
}
