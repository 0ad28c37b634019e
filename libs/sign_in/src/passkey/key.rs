//! Public keys of passkeys as COSE keys (RFC 9052 §7, RFC 9053 §7.1, RFC 8230 §4), and signatures by them.

use super::PasskeyError;
use super::cbor::{self, CborValue};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// COSE algorithm ECDSA on P-256 with SHA-256.
pub const ES256: i64 = -7;
/// COSE algorithm RSASSA-PKCS1-v1_5 with SHA-256; keys of 2,048 to 8,192 bits.
pub const RS256: i64 = -257;
/// Octets of an RSA modulus.
const MODULUS_OCTETS: std::ops::RangeInclusive<usize> = 256..=1_024;
/// Octets of an RSA exponent.
const EXPONENT_OCTETS: std::ops::RangeInclusive<usize> = 1..=4;

/// Public key of a passkey. Whether the coordinates are a point of the curve shows with its first signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasskeyKey {
    /// ECDSA on P-256.
    Es256 {
        /// Coordinate x, the highest octet first.
        x: [u8; 32],
        /// Coordinate y.
        y: [u8; 32],
    },
    /// RSA.
    Rs256 {
        /// Modulus, the highest octet first, without leading zeros.
        n: Vec<u8>,
        /// Exponent, likewise.
        e: Vec<u8>,
    },
}

impl PasskeyKey {
    /// Reads the CBOR of a COSE key.
    ///
    /// # Errors
    /// It is of another algorithm, or a parameter is missing or of another form.
    pub fn read(octets: &[u8]) -> Result<PasskeyKey, PasskeyError> {
        PasskeyKey::of(&cbor::read(octets)?)
    }

    /// Labels: 1 kty, 3 alg; of an EC2 key -1 crv, -2 x, -3 y; of an RSA key -1 n, -2 e.
    pub(super) fn of(key: &CborValue) -> Result<PasskeyKey, PasskeyError> {
        let integer = |label, name| key.at(label).and_then(CborValue::integer).ok_or(PasskeyError::Key(name));
        let octets = |label, name| key.at(label).and_then(CborValue::octets).ok_or(PasskeyError::Key(name));
        let is = |label, name, value| {
            if integer(label, name)? == value { Ok(()) } else { Err(PasskeyError::Key(name)) }
        };
        match integer(3, "alg")? {
            ES256 => {
                is(1, "kty", 2)?;
                is(-1, "crv", 1)?;
                let coordinate =
                    |label, name| octets(label, name)?.try_into().map_err(|_| PasskeyError::Key(name));
                Ok(PasskeyKey::Es256 { x: coordinate(-2, "x")?, y: coordinate(-3, "y")? })
            }
            RS256 => {
                is(1, "kty", 3)?;
                let n = number(octets(-1, "n")?, MODULUS_OCTETS).ok_or(PasskeyError::Key("n"))?;
                let e = number(octets(-2, "e")?, EXPONENT_OCTETS).ok_or(PasskeyError::Key("e"))?;
                Ok(PasskeyKey::Rs256 { n, e })
            }
            other => Err(PasskeyError::Algorithm(other)),
        }
    }

    /// The CBOR of the COSE key, to keep it.
    pub fn write(&self) -> Vec<u8> {
        let octets = |octets: &[u8]| CborValue::Octets(octets.to_vec());
        let entries = match self {
            PasskeyKey::Es256 { x, y } => vec![
                (CborValue::Unsigned(1), CborValue::Unsigned(2)),
                (CborValue::Unsigned(3), CborValue::Negative(6)),
                (CborValue::Negative(0), CborValue::Unsigned(1)),
                (CborValue::Negative(1), octets(x)),
                (CborValue::Negative(2), octets(y)),
            ],
            PasskeyKey::Rs256 { n, e } => vec![
                (CborValue::Unsigned(1), CborValue::Unsigned(3)),
                (CborValue::Unsigned(3), CborValue::Negative(256)),
                (CborValue::Negative(0), octets(n)),
                (CborValue::Negative(1), octets(e)),
            ],
        };
        let mut out = Vec::new();
        cbor::write(&CborValue::Map(entries), &mut out);
        out
    }

    /// COSE algorithm of the key.
    pub fn algorithm(&self) -> i64 {
        match self {
            PasskeyKey::Es256 { .. } => ES256,
            PasskeyKey::Rs256 { .. } => RS256,
        }
    }

    /// Verifies a signature: of ES256 in ASN.1 (§6.5.5), of RS256 as long as the modulus.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), PasskeyError> {
        let verified = match self {
            PasskeyKey::Es256 { x, y } => {
                let point = [&[4], x.as_slice(), y].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            PasskeyKey::Rs256 { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        };
        verified.map_err(|_| PasskeyError::Signature)
    }
}

/// A number without leading zeros, of so many octets.
fn number(octets: &[u8], lengths: std::ops::RangeInclusive<usize>) -> Option<Vec<u8>> {
    let zeros = octets.iter().take_while(|octet| **octet == 0).count();
    let number = &octets[zeros..];
    lengths.contains(&number.len()).then(|| number.to_vec())
}
