//! Identifiers that nobody can guess: branches, tags, Call-IDs, client nonces (RFC 3261 section 19.3).

use crate::message::MAGIC_COOKIE;
use ring::hmac;
use std::fmt::Write;

/// A sequence of identifiers from a seed. The seed must be random and of one process alone: with the same
/// seed come the same identifiers.
pub(crate) struct Identifiers {
    key: hmac::Key,
    count: u64,
}

impl Identifiers {
    pub(crate) fn new(seed: &[u8; 32]) -> Identifiers {
        Identifiers { key: hmac::Key::new(hmac::HMAC_SHA256, seed), count: 0 }
    }

    fn octets(&mut self) -> [u8; 32] {
        self.count += 1;
        let tag = hmac::sign(&self.key, &self.count.to_be_bytes());
        let mut octets = [0; 32];
        octets.copy_from_slice(tag.as_ref());
        octets
    }

    fn hex(&mut self, octets: usize) -> String {
        let mut text = String::with_capacity(octets * 2);
        for octet in self.octets().iter().take(octets) {
            // Writing to a string does not fail.
            let _ = write!(text, "{octet:02x}");
        }
        text
    }

    /// 64 random bits: a tag has at least 32.
    pub(crate) fn tag(&mut self) -> String {
        self.hex(8)
    }

    pub(crate) fn branch(&mut self) -> String {
        format!("{MAGIC_COOKIE}{}", self.hex(10))
    }

    pub(crate) fn call_id(&mut self) -> String {
        self.hex(16)
    }

    pub(crate) fn nonce(&mut self) -> String {
        self.hex(8)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let octets = self.octets();
        let mut eight = [0; 8];
        eight.copy_from_slice(&octets[..8]);
        u64::from_be_bytes(eight) % bound.max(1)
    }
}

impl std::fmt::Debug for Identifiers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identifiers({})", self.count)
    }
}
