//! SRTP (RFC 3711) with AES in counter mode and HMAC-SHA1, keys by SDES (RFC 4568). A master key for each
//! direction; no MKI, no key derivation rate, no rekeying: a call ends long before 2⁴⁸ packets.

mod cipher;
mod receiver;
mod sdes;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::SrtpReceiver;
pub use sdes::{SdesCrypto, SdesError};
pub use sender::SrtpSender;

use crate::packet::RtpPacketError;
use std::fmt;

/// Octets of a master salt.
pub const SRTP_SALT_OCTETS: usize = 14;
/// Most octets of a master key.
pub const SRTP_KEY_OCTETS_MAX: usize = 32;
/// Most octets that protection adds to a packet of RTP.
pub const SRTP_TAG_OCTETS_MAX: usize = 10;
/// Octets that protection adds to a packet of RTCP: the index and the tag.
pub const SRTCP_TRAILER_OCTETS: usize = 4 + SRTCP_TAG_OCTETS;
/// The tag of SRTCP has 80 bits in all suites (RFC 4568 section 6.2).
pub(crate) const SRTCP_TAG_OCTETS: usize = 10;
/// Sources of one peer at most, for each of RTP and RTCP: another is refused.
pub const SRTP_SOURCES_MAX: usize = 4;
/// Packets behind the newest that are still taken (RFC 3711 section 3.3.2 wants 64 at least).
pub const SRTP_REPLAY_WINDOW: u64 = 128;

/// A crypto suite (RFC 4568 section 6.2; RFC 6188 for 256 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SrtpSuite {
    /// AES_CM_128_HMAC_SHA1_80.
    Aes128Sha1Tag80,
    /// AES_CM_128_HMAC_SHA1_32.
    Aes128Sha1Tag32,
    /// AES_256_CM_HMAC_SHA1_80.
    Aes256Sha1Tag80,
    /// AES_256_CM_HMAC_SHA1_32.
    Aes256Sha1Tag32,
}

impl SrtpSuite {
    /// All suites, the preferred first.
    pub const ALL: [SrtpSuite; 4] = [
        SrtpSuite::Aes128Sha1Tag80,
        SrtpSuite::Aes128Sha1Tag32,
        SrtpSuite::Aes256Sha1Tag80,
        SrtpSuite::Aes256Sha1Tag32,
    ];

    /// Its name in SDP.
    pub const fn name(self) -> &'static str {
        match self {
            SrtpSuite::Aes128Sha1Tag80 => "AES_CM_128_HMAC_SHA1_80",
            SrtpSuite::Aes128Sha1Tag32 => "AES_CM_128_HMAC_SHA1_32",
            SrtpSuite::Aes256Sha1Tag80 => "AES_256_CM_HMAC_SHA1_80",
            SrtpSuite::Aes256Sha1Tag32 => "AES_256_CM_HMAC_SHA1_32",
        }
    }

    /// The suite with this name.
    pub fn from_name(name: &str) -> Option<SrtpSuite> {
        SrtpSuite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// Octets of its master key: 16 or 32.
    pub const fn key_octets(self) -> usize {
        match self {
            SrtpSuite::Aes128Sha1Tag80 | SrtpSuite::Aes128Sha1Tag32 => 16,
            SrtpSuite::Aes256Sha1Tag80 | SrtpSuite::Aes256Sha1Tag32 => 32,
        }
    }

    /// Octets of master key and salt together.
    pub const fn key_and_salt_octets(self) -> usize {
        self.key_octets() + SRTP_SALT_OCTETS
    }

    /// Octets of RTP's tag: 10 or 4.
    pub const fn tag_octets(self) -> usize {
        match self {
            SrtpSuite::Aes128Sha1Tag80 | SrtpSuite::Aes256Sha1Tag80 => 10,
            SrtpSuite::Aes128Sha1Tag32 | SrtpSuite::Aes256Sha1Tag32 => 4,
        }
    }
}

/// Master key and salt of one direction. Its debug form shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct SrtpMasterKey {
    suite: SrtpSuite,
    /// The key, then zeros.
    key: [u8; SRTP_KEY_OCTETS_MAX],
    salt: [u8; SRTP_SALT_OCTETS],
}

impl SrtpMasterKey {
    /// From key and salt, in that order: random octets that the caller drew, or those of a peer. `None`
    /// unless they are exactly [`SrtpSuite::key_and_salt_octets`].
    pub fn new(suite: SrtpSuite, key_and_salt: &[u8]) -> Option<SrtpMasterKey> {
        let (key, salt) = key_and_salt.split_at_checked(suite.key_octets())?;
        let mut master = SrtpMasterKey { suite, key: [0; SRTP_KEY_OCTETS_MAX], salt: salt.try_into().ok()? };
        master.key[..key.len()].copy_from_slice(key);
        Some(master)
    }

    /// Its suite.
    pub fn suite(&self) -> SrtpSuite {
        self.suite
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key[..self.suite.key_octets()]
    }

    pub(crate) fn salt(&self) -> &[u8; SRTP_SALT_OCTETS] {
        &self.salt
    }
}

impl fmt::Debug for SrtpMasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SrtpMasterKey").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// A packet that cannot be protected (the caller's fault) or is not to be taken (the peer's, or another's).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SrtpError {
    /// The header of the packet cannot be read.
    Packet(RtpPacketError),
    /// The packet has no room for a header, an index and a tag.
    Short,
    /// The tag is wrong: another key, or a packet that was changed on its way.
    Authentication,
    /// The packet came before, or is too old to tell (RFC 3711 section 3.3.2).
    Replayed,
    /// More than [`SRTP_SOURCES_MAX`] sources under one key.
    TooManySources,
    /// The buffer has no room for what protection adds.
    BufferTooSmall,
    /// The key has protected all packets that it may (section 9.2): 2⁴⁸ of RTP, 2³¹ of RTCP.
    KeyExpired,
}

impl fmt::Display for SrtpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SrtpError::Packet(error) => error.fmt(f),
            SrtpError::Short => f.write_str("a packet is too short for SRTP"),
            SrtpError::Authentication => {
                f.write_str("a packet has a wrong SRTP tag; is the key that of the SDP?")
            }
            SrtpError::Replayed => f.write_str("a packet under SRTP came before, or is too old"),
            SrtpError::TooManySources => {
                write!(f, "a peer has more than {SRTP_SOURCES_MAX} sources under one SRTP key")
            }
            SrtpError::BufferTooSmall => f.write_str("a buffer has no room for the SRTP tag"),
            SrtpError::KeyExpired => f.write_str("an SRTP key has protected all packets that it may"),
        }
    }
}

impl std::error::Error for SrtpError {}

impl From<RtpPacketError> for SrtpError {
    fn from(error: RtpPacketError) -> SrtpError {
        SrtpError::Packet(error)
    }
}
