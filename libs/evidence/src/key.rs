//! Ed25519 keys (RFC 8032) that sign statements, and their public halves as people hand them on.

use crate::EvidenceError;
use crate::hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};

/// Octets of a seed and of a public key.
pub const KEY_OCTETS: usize = 32;
/// Octets of a signature.
pub const SIGNATURE_OCTETS: usize = 64;
/// Octets of the hash of a public key that are its id.
const ID_OCTETS: usize = 8;
/// What stands before the key in a SubjectPublicKeyInfo (RFC 8410, section 4).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

/// Signs statements.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Of a secret seed.
    ///
    /// # Errors
    /// None for a seed of this length; the library's.
    pub fn from_seed(seed: &[u8; KEY_OCTETS]) -> Result<SigningKey, EvidenceError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        pair.map(SigningKey).map_err(|error| EvidenceError::Key(error.to_string()))
    }

    /// Whoever has it can verify.
    pub fn public(&self) -> PublicKey {
        let mut key = [0; KEY_OCTETS];
        key.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(key)
    }

    pub(crate) fn sign(&self, octets: &[u8]) -> [u8; SIGNATURE_OCTETS] {
        let mut signature = [0; SIGNATURE_OCTETS];
        signature.copy_from_slice(self.0.sign(octets).as_ref());
        signature
    }
}

/// Verifies statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_OCTETS]);

impl PublicKey {
    /// Reads a key as a PEM file has it (SubjectPublicKeyInfo), or as base64 of its 32 octets.
    ///
    /// # Errors
    /// [`EvidenceError::Key`] if it is neither.
    pub fn parse(text: &str) -> Result<PublicKey, EvidenceError> {
        let wrong = || {
            EvidenceError::Key(
                "it is neither a PEM file with an Ed25519 public key nor base64 of 32 octets; \
                 `campanile evidence key` prints it"
                    .to_owned(),
            )
        };
        let text = text.trim();
        let octets = match text.strip_prefix(BEGIN) {
            Some(rest) => {
                let base64: String =
                    rest.strip_suffix(END).ok_or_else(wrong)?.split_ascii_whitespace().collect();
                let octets = STANDARD.decode(base64).map_err(|_| wrong())?;
                octets.strip_prefix(&SPKI).ok_or_else(wrong)?.to_vec()
            }
            None => STANDARD.decode(text).map_err(|_| wrong())?,
        };
        octets.try_into().map(PublicKey).map_err(|_| wrong())
    }

    /// The first digits of its hash: a name, no proof.
    pub fn id(&self) -> String {
        hex::text(&Sha256::digest(self.0)[..ID_OCTETS])
    }

    /// As base64 of its 32 octets.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// As a PEM file.
    pub fn to_pem(&self) -> String {
        format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode([&SPKI[..], &self.0[..]].concat()))
    }

    pub(crate) fn has_signed(&self, octets: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(octets, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 2.
    const SEED: &str = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    const PUBLIC: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    const SIGNATURE: &str = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";

    #[test]
    fn a_signature_is_that_of_the_standard_and_holds_for_its_octets_alone() {
        let key = SigningKey::from_seed(&hex::array(SEED).unwrap()).unwrap();
        assert_eq!(key.public(), PublicKey(hex::array(PUBLIC).unwrap()));
        let signature = key.sign(&[0x72]);
        assert_eq!(hex::text(&signature), SIGNATURE);
        assert!(key.public().has_signed(&[0x72], &signature));
        assert!(!key.public().has_signed(&[0x73], &signature));
        assert!(!key.public().has_signed(&[0x72], &signature[1..]));
    }

    #[test]
    fn a_public_key_is_read_as_it_is_shown_and_nothing_else_is() {
        let key = PublicKey(hex::array(PUBLIC).unwrap());
        for text in [key.to_pem(), key.to_base64(), format!("  {}\n", key.to_base64())] {
            assert_eq!(PublicKey::parse(&text), Ok(key), "{text}");
        }
        let rsa = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode([0x30; 44]));
        for text in ["", "x", &key.to_base64()[1..], BEGIN, &rsa, &key.to_pem().replace(END, "")] {
            assert!(PublicKey::parse(text).is_err(), "{text}");
        }
    }
}
