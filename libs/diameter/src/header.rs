//! The twenty octets in front of every message (RFC 6733, section 3).

use crate::message::MessageError;

/// Octets of a message header.
pub const HEADER_OCTETS: usize = 20;
/// The one version of Diameter there is.
pub const VERSION: u8 = 1;
/// The greatest length the 24 bits of the header can say; as a multiple of four.
pub const MESSAGE_OCTETS_MAX: u32 = 0xFF_FFFC;

/// The flags of a command. Reserved bits are kept as they came and mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandFlags(pub u8);

impl CommandFlags {
    /// `R`: a request, not an answer.
    pub const REQUEST: CommandFlags = CommandFlags(0x80);
    /// `P`: may be proxied, relayed or redirected.
    pub const PROXIABLE: CommandFlags = CommandFlags(0x40);
    /// `E`: a protocol error, in the grammar of answer-message (section 7.2).
    pub const ERROR: CommandFlags = CommandFlags(0x20);
    /// `T`: perhaps sent before.
    pub const RETRANSMIT: CommandFlags = CommandFlags(0x10);

    /// Whether all of these bits are set.
    #[inline]
    pub const fn contains(self, other: CommandFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These bits as well.
    #[must_use]
    pub const fn with(self, other: CommandFlags) -> CommandFlags {
        CommandFlags(self.0 | other.0)
    }

    /// Without these bits.
    #[must_use]
    pub const fn without(self, other: CommandFlags) -> CommandFlags {
        CommandFlags(self.0 & !other.0)
    }

    /// `R` is set.
    #[inline]
    pub const fn is_request(self) -> bool {
        self.contains(Self::REQUEST)
    }

    /// `P` is set.
    #[inline]
    pub const fn is_proxiable(self) -> bool {
        self.contains(Self::PROXIABLE)
    }

    /// `E` is set.
    #[inline]
    pub const fn is_error(self) -> bool {
        self.contains(Self::ERROR)
    }

    /// `T` is set.
    #[inline]
    pub const fn is_retransmit(self) -> bool {
        self.contains(Self::RETRANSMIT)
    }
}

impl std::ops::BitOr for CommandFlags {
    type Output = CommandFlags;

    fn bitor(self, other: CommandFlags) -> CommandFlags {
        self.with(other)
    }
}

/// A message header, as it stands on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Octets of the whole message, header included.
    pub length: u32,
    /// What kind of message it is.
    pub flags: CommandFlags,
    /// Command code, 24 bits; a request and its answer have the same.
    pub command: u32,
    /// Application the message belongs to.
    pub application: u32,
    /// Matches an answer with its request on one connection.
    pub hop_by_hop: u32,
    /// Matches duplicates, together with Origin-Host.
    pub end_to_end: u32,
}

impl Header {
    /// Reads the header at the front of `octets`; whether that many octets are there is not looked at.
    ///
    /// # Errors
    /// Fewer than 20 octets; another version (5011); a length under 20 or not a multiple of four (5015).
    #[inline]
    pub fn read(octets: &[u8]) -> Result<Header, MessageError> {
        let Some(h) = octets.first_chunk::<HEADER_OCTETS>() else {
            return Err(MessageError::Truncated { octets: octets.len() });
        };
        let word = |at: usize| u32::from_be_bytes([h[at], h[at + 1], h[at + 2], h[at + 3]]);
        let length = word(0) & 0xFF_FFFF;
        if h[0] != VERSION {
            return Err(MessageError::Version { version: h[0] });
        }
        if (length as usize) < HEADER_OCTETS || !length.is_multiple_of(4) {
            return Err(MessageError::Length { length, octets: octets.len() });
        }
        Ok(Header {
            length,
            flags: CommandFlags(h[4]),
            command: word(4) & 0xFF_FFFF,
            application: word(8),
            hop_by_hop: word(12),
            end_to_end: word(16),
        })
    }

    /// The header as it is sent. Of `length` and `command` the lower 24 bits are written.
    pub fn octets(&self) -> [u8; HEADER_OCTETS] {
        let mut octets = [0; HEADER_OCTETS];
        octets[0..4].copy_from_slice(&(self.length & 0xFF_FFFF).to_be_bytes());
        octets[0] = VERSION;
        octets[4..8].copy_from_slice(&(self.command & 0xFF_FFFF).to_be_bytes());
        octets[4] = self.flags.0;
        octets[8..12].copy_from_slice(&self.application.to_be_bytes());
        octets[12..16].copy_from_slice(&self.hop_by_hop.to_be_bytes());
        octets[16..20].copy_from_slice(&self.end_to_end.to_be_bytes());
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CCR: Header = Header {
        length: 300,
        flags: CommandFlags(0xC0),
        command: 272,
        application: 4,
        hop_by_hop: 0x0102_0304,
        end_to_end: 0xFFEE_DDCC,
    };

    #[test]
    fn a_header_stands_on_the_wire_as_section_3_draws_it() {
        let octets = CCR.octets();
        assert_eq!(octets, [1, 0, 1, 44, 0xC0, 0, 1, 16, 0, 0, 0, 4, 1, 2, 3, 4, 0xFF, 0xEE, 0xDD, 0xCC]);
        assert_eq!(Header::read(&octets), Ok(CCR));
    }

    #[test]
    fn reserved_bits_of_the_flags_are_ignored() {
        let header = Header { flags: CommandFlags(0x8F), ..CCR };
        let read = Header::read(&header.octets()).unwrap();
        assert!(read.flags.is_request() && !read.flags.is_proxiable() && !read.flags.is_error());
        assert!(!read.flags.is_retransmit());
    }

    #[test]
    fn another_version_and_impossible_lengths_are_refused() {
        let mut octets = CCR.octets();
        octets[0] = 2;
        assert_eq!(Header::read(&octets), Err(MessageError::Version { version: 2 }));
        for length in [0, 7, 16, 19, 21, 22, 23, 301] {
            let octets = Header { length, ..CCR }.octets();
            assert_eq!(Header::read(&octets), Err(MessageError::Length { length, octets: 20 }), "{length}");
        }
        assert_eq!(Header::read(&octets[..19]), Err(MessageError::Truncated { octets: 19 }));
    }
}
