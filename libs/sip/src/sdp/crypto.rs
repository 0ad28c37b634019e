//! Keys of SRTP by session description (RFC 4568).

use std::fmt;

/// Octets of a master key and its salt, of both suites.
const KEY_OCTETS: usize = 30;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Largest tag: nine digits.
const TAG_MAX: u32 = 999_999_999;

/// A suite of RFC 4568 section 6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SrtpSuite {
    /// AES in counter mode, tags of 80 bits.
    AesCm128HmacSha1With80,
    /// AES in counter mode, tags of 32 bits.
    AesCm128HmacSha1With32,
}

impl SrtpSuite {
    /// The suite's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SrtpSuite::AesCm128HmacSha1With80 => "AES_CM_128_HMAC_SHA1_80",
            SrtpSuite::AesCm128HmacSha1With32 => "AES_CM_128_HMAC_SHA1_32",
        }
    }
}

/// One `a=crypto`: the writer sends with this key. `Debug` shows no key.
#[derive(Clone, PartialEq, Eq)]
pub struct SrtpKey {
    /// An answer has the tag of the offer that it takes.
    pub tag: u32,
    /// The suite.
    pub suite: SrtpSuite,
    /// 16 octets of master key, 14 of master salt.
    pub key_and_salt: [u8; KEY_OCTETS],
}

impl SrtpKey {
    /// Reads the value of `a=crypto`; `None` for an unknown suite, for session parameters, which change the
    /// meaning of the key, and for a key with a master key index.
    #[must_use]
    pub fn parse(value: &str) -> Option<SrtpKey> {
        let mut parts = value.split_ascii_whitespace();
        let tag = parts.next()?.parse().ok().filter(|tag| *tag <= TAG_MAX)?;
        let suite = parts.next()?;
        let suite = [SrtpSuite::AesCm128HmacSha1With80, SrtpSuite::AesCm128HmacSha1With32]
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(suite))?;
        let key = parts.next()?;
        // WSH is a hint alone; every other session parameter must be understood.
        if parts.any(|parameter| !parameter.starts_with("WSH=")) {
            return None;
        }
        let key = key.get(..7).filter(|method| method.eq_ignore_ascii_case("inline:")).map(|_| &key[7..])?;
        let (key, rest) = key.split_once('|').unwrap_or((key, ""));
        // A lifetime may follow; a master key index has a colon.
        if rest.contains(':') {
            return None;
        }
        Some(SrtpKey { tag, suite, key_and_salt: decode(key)?.try_into().ok()? })
    }
}

impl fmt::Display for SrtpKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} inline:{}", self.tag, self.suite.as_str(), encode(&self.key_and_salt))
    }
}

impl fmt::Debug for SrtpKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SrtpKey({} {} ****)", self.tag, self.suite.as_str())
    }
}

/// Base64 of three octets each: 30 octets are 40 characters without padding.
fn encode(octets: &[u8; KEY_OCTETS]) -> String {
    let digits = octets.chunks_exact(3).flat_map(|three| {
        let bits = three.iter().fold(0_usize, |bits, octet| bits << 8 | usize::from(*octet));
        [18, 12, 6, 0].map(|shift| BASE64[bits >> shift & 63])
    });
    digits.map(char::from).collect()
}

fn decode(text: &str) -> Option<Vec<u8>> {
    if text.len() != KEY_OCTETS / 3 * 4 {
        return None;
    }
    let mut octets = Vec::with_capacity(KEY_OCTETS);
    for four in text.as_bytes().chunks_exact(4) {
        let mut bits = 0_usize;
        for digit in four {
            bits = bits << 6 | BASE64.iter().position(|known| known == digit)?;
        }
        octets.extend([16, 8, 0].map(|shift| (bits >> shift & 255) as u8));
    }
    Some(octets)
}
