//! Keys in SDP: the attribute `crypto` of SDES (RFC 4568), only ever under TLS.

use super::{SRTP_KEY_OCTETS_MAX, SRTP_SALT_OCTETS, SrtpMasterKey, SrtpSuite};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::fmt;

/// Digits of a tag at most (section 9.1).
const TAG_DIGITS_MAX: usize = 9;
/// The lifetime of a key is at most this power of two (RFC 3711 section 9.2).
const LIFETIME_POWER_MAX: u32 = 48;
/// Padding is written, and need not be there.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// One `crypto` attribute: what follows `a=crypto:`. Its debug form does not show the key, its display form
/// is the attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdesCrypto {
    /// The tag by which an answer takes it: up to nine digits.
    pub tag: u32,
    /// Key of the packets that the writer of the attribute sends.
    pub key: SrtpMasterKey,
}

/// An attribute that cannot be taken. Another in the offer may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdesError {
    /// The tag is no number of one to nine digits.
    Tag,
    /// The suite is not spoken.
    Suite,
    /// The key is not given `inline:`, or more than one is.
    Method,
    /// The key is no base64, or has not the octets of its suite.
    Key,
    /// The lifetime is no number, or over 2⁴⁸.
    Lifetime,
    /// A master key identifier: not spoken.
    KeyIdentifier,
    /// A session parameter that changes the packets: not spoken.
    Parameter,
}

impl fmt::Display for SdesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SdesError::Tag => "a crypto attribute has a tag that is no number of one to nine digits",
            SdesError::Suite => "a crypto attribute has a suite that is not supported",
            SdesError::Method => "a crypto attribute has not exactly one key behind inline:",
            SdesError::Key => "a crypto attribute has a key that is no base64 or not as long as its suite's",
            SdesError::Lifetime => "a crypto attribute has a key lifetime that is no number up to 2^48",
            SdesError::KeyIdentifier => {
                "a crypto attribute has a master key identifier, which is not supported"
            }
            SdesError::Parameter => "a crypto attribute has a session parameter that is not supported",
        })
    }
}

impl std::error::Error for SdesError {}

impl SdesCrypto {
    /// Reads `1 AES_CM_128_HMAC_SHA1_80 inline:KEY|2^31`, as it follows `a=crypto:` (section 9.1).
    ///
    /// # Errors
    /// The first part that cannot be taken.
    pub fn parse(attribute: &str) -> Result<SdesCrypto, SdesError> {
        let mut words = attribute.split_ascii_whitespace();
        let tag =
            words.next().filter(|tag| tag.len() <= TAG_DIGITS_MAX).and_then(number).ok_or(SdesError::Tag)?;
        let suite = words.next().and_then(SrtpSuite::from_name).ok_or(SdesError::Suite)?;
        let key = words.next().and_then(|word| word.strip_prefix("inline:")).ok_or(SdesError::Method)?;
        let key = read_key(suite, key)?;
        // A receiver may pass over a window size, and what a minus marks (sections 6.3.6 and 6.3.7).
        if words.any(|word| !word.starts_with('-') && !word.starts_with("WSH=")) {
            return Err(SdesError::Parameter);
        }
        Ok(SdesCrypto { tag, key })
    }
}

fn read_key(suite: SrtpSuite, text: &str) -> Result<SrtpMasterKey, SdesError> {
    if text.contains(';') {
        return Err(SdesError::Method);
    }
    let mut parts = text.split('|');
    let mut octets = [0; SRTP_KEY_OCTETS_MAX + SRTP_SALT_OCTETS + 2];
    let key = parts.next().unwrap_or_default();
    let count = BASE64.decode_slice(key, &mut octets).map_err(|_| SdesError::Key)?;
    let key = SrtpMasterKey::new(suite, &octets[..count]).ok_or(SdesError::Key)?;
    for part in parts {
        if part.contains(':') {
            return Err(SdesError::KeyIdentifier);
        }
        let is_right = match part.strip_prefix("2^") {
            Some(power) => number(power).is_some_and(|power| power <= LIFETIME_POWER_MAX),
            None => part.parse::<u64>().is_ok_and(|lifetime| lifetime <= 1 << LIFETIME_POWER_MAX),
        };
        if !is_right {
            return Err(SdesError::Lifetime);
        }
    }
    Ok(key)
}

/// Digits alone: no sign.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|octet| octet.is_ascii_digit()))
}

impl fmt::Display for SdesCrypto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [self.key.key(), self.key.salt()].concat();
        write!(f, "{} {} inline:{}", self.tag, self.key.suite().name(), BASE64.encode(key))
    }
}
