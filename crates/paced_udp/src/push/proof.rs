//! Mutual proof that both sides know a site's key, bound to the QUIC connection it is made on.
//!
//! The QUIC certificates prove nothing: any is accepted. Instead each side keys BLAKE3 with the site's key
//! over what TLS exports for this connection alone (RFC 5705, RFC 8446 section 7.5) and both nonces. Who
//! stands between has two connections, which export different octets, so that what one side proves is worth
//! nothing on the other.

use crate::wire::Key;
use blake3::Hash;

/// Octets of keys, nonces and proofs.
pub const KEY_LEN: usize = 32;
/// The label under which TLS exports.
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-campanile-push-1";

/// A secret that a sender and a site share.
#[derive(Clone, Copy)]
pub struct SiteKey([u8; KEY_LEN]);

impl std::fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SiteKey(…)")
    }
}

impl SiteKey {
    /// A key of 32 random octets.
    pub fn new(octets: [u8; KEY_LEN]) -> Self {
        Self(octets)
    }

    /// The key that two sides share who share `key`.
    pub fn of(key: &Key) -> Self {
        Self(key.derive("campanile 2026 push"))
    }

    /// The key written in 64 hexadecimal digits. None when it is not.
    pub fn from_hex(text: &str) -> Option<Self> {
        Hash::from_hex(text.trim()).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

/// Who proves, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofRole {
    /// The sender: that it knows the key.
    Sender,
    /// The receiver: that it knows the key.
    Receiver,
    /// The receiver: that it has the whole file on disk.
    Receipt,
}

/// What both sides of one connection know.
#[derive(Clone, Copy)]
pub struct Bond {
    /// What TLS exports for this connection.
    pub exported: [u8; KEY_LEN],
    /// The sender's nonce.
    pub sender: [u8; KEY_LEN],
    /// The receiver's nonce.
    pub receiver: [u8; KEY_LEN],
}

impl Bond {
    /// The proof of one side. `about` is the file's hash for a receipt, and empty otherwise.
    pub fn prove(&self, key: &SiteKey, part: ProofRole, about: &[u8]) -> Hash {
        let mut hasher = blake3::Hasher::new_keyed(&key.0);
        hasher.update(&[part as u8]);
        hasher.update(&self.exported).update(&self.sender).update(&self.receiver).update(about);
        hasher.finalize()
    }

    /// Whether a proof is right; takes the same time whatever it is.
    pub fn holds(&self, key: &SiteKey, part: ProofRole, about: &[u8], proof: [u8; KEY_LEN]) -> bool {
        self.prove(key, part, about) == Hash::from_bytes(proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_key_part_connection_and_nonces_only() {
        let bond = Bond { exported: [1; 32], sender: [2; 32], receiver: [3; 32] };
        let key = SiteKey::new([9; 32]);
        let proof = *bond.prove(&key, ProofRole::Sender, b"").as_bytes();
        assert!(bond.holds(&key, ProofRole::Sender, b"", proof));
        assert!(!bond.holds(&SiteKey::new([8; 32]), ProofRole::Sender, b"", proof));
        assert!(!bond.holds(&key, ProofRole::Receiver, b"", proof));
        assert!(!bond.holds(&key, ProofRole::Sender, b"x", proof));
        for other in [
            Bond { exported: [0; 32], ..bond },
            Bond { sender: [0; 32], ..bond },
            Bond { receiver: [0; 32], ..bond },
        ] {
            assert!(!other.holds(&key, ProofRole::Sender, b"", proof));
        }
    }

    #[test]
    fn a_key_is_read_from_hexadecimal_digits_and_never_shown() {
        assert!(SiteKey::from_hex(&format!("{}\n", "ab".repeat(32))).is_some());
        for wrong in ["", "ab", &"ab".repeat(33), &"zz".repeat(32)] {
            assert!(SiteKey::from_hex(wrong).is_none());
        }
        assert_eq!(format!("{:?}", SiteKey::new([7; 32])), "SiteKey(…)");
    }
}
