//! A datagram of data: a header of 20 octets and one symbol.
//!
//! | octets | what |
//! |---|---|
//! | 0–7 | the token of this push, told over QUIC only to sites that proved themselves |
//! | 8–11 | number of the datagram on its path, from 0 |
//! | 12–15 | block |
//! | 16–19 | symbol of the block: sources first, then repairs (the encoding symbol id of RFC 6330) |

/// Octets before the symbol.
pub const HEADER_LEN: usize = 20;

/// What stands before a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The secret name of the push.
    pub token: u64,
    /// Number of the datagram on its path.
    pub seq: u32,
    /// The block.
    pub block: u32,
    /// The symbol: sources, then repairs.
    pub symbol: u32,
}

impl Header {
    /// Writes the header to the first 20 octets.
    pub fn write(&self, into: &mut [u8]) {
        into[0..8].copy_from_slice(&self.token.to_be_bytes());
        into[8..12].copy_from_slice(&self.seq.to_be_bytes());
        into[12..16].copy_from_slice(&self.block.to_be_bytes());
        into[16..20].copy_from_slice(&self.symbol.to_be_bytes());
    }

    /// Reads a datagram: header and symbol. None when it is shorter than a header.
    pub fn read(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (header, symbol) = datagram.split_at_checked(HEADER_LEN)?;
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let token = u64::from(word(0)) << 32 | u64::from(word(4));
        Some((Self { token, seq: word(8), block: word(12), symbol: word(16) }, symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header { token: 0x0102_0304_0506_0708, seq: 9, block: 0xA0B0, symbol: 0xFFFF_FFFE };
        let mut datagram = [7; HEADER_LEN + 3];
        header.write(&mut datagram);
        assert_eq!(Header::read(&datagram), Some((header, &[7, 7, 7][..])));
        assert_eq!(Header::read(&datagram[..HEADER_LEN - 1]), None);
    }
}
