//! Keys of a provider: a JWK set (RFC 7517), of which RSA keys and keys on P-256 are read (RFC 7518 §6).

use super::OidcError;
use super::discovery::object;
use crate::text::{from_base64url, shown};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};
use std::fmt;

/// Keys of a set that are read.
pub const KEYS_MAX: usize = 64;
/// Octets of a `kid`; a key with a longer one is left out.
pub const KID_OCTETS_MAX: usize = 512;
/// Octets of an RSA modulus.
const MODULUS_OCTETS: std::ops::RangeInclusive<usize> = 256..=1_024;
/// Octets of an RSA exponent.
const EXPONENT_OCTETS: std::ops::RangeInclusive<usize> = 1..=4;
/// Characters of a foreign `kid` in an error.
const SHOWN_MAX: usize = 100;

/// Algorithms that are accepted (RFC 7518 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwsAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

impl JwsAlgorithm {
    /// The algorithm of a name; nothing for `none`, HMAC and all others.
    pub fn of(name: &str) -> Option<JwsAlgorithm> {
        [JwsAlgorithm::Rs256, JwsAlgorithm::Es256].into_iter().find(|known| known.word() == name)
    }

    /// Name in headers and documents.
    pub fn word(self) -> &'static str {
        match self {
            JwsAlgorithm::Rs256 => "RS256",
            JwsAlgorithm::Es256 => "ES256",
        }
    }
}

/// The key that a token names and a set does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyWanted {
    /// Its `kid`, cut to what a log can take.
    pub kid: Option<String>,
    /// Its algorithm.
    pub algorithm: JwsAlgorithm,
}

impl fmt::Display for KeyWanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kid {
            Some(kid) => write!(f, "with the kid {kid:?} for {}", self.algorithm.word()),
            None => write!(f, "for {}", self.algorithm.word()),
        }
    }
}

/// A set of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JwkSet {
    keys: Vec<Jwk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Jwk {
    kid: Option<String>,
    key: JwkKey,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum JwkKey {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256 { point: Vec<u8> },
}

impl JwkSet {
    /// Reads a set. Keys of other types, for encryption, for other algorithms, or of another form are left
    /// out (RFC 7517 §5).
    ///
    /// # Errors
    /// It is no set, or over its limit.
    pub fn read(json: &[u8]) -> Result<JwkSet, OidcError> {
        let set = object("key set", json)?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or(OidcError::Member("keys"))?;
        let keys = keys.iter().filter_map(Value::as_object).filter_map(Jwk::read).take(KEYS_MAX);
        Ok(JwkSet { keys: keys.collect() })
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Verifies a signature by the key that a token names, or by the only one of the algorithm where it names
    /// none (OIDC Core §10.1). Keys that have no `kid` do for a token that has one only if no key has it.
    pub(super) fn verify(
        &self,
        algorithm: JwsAlgorithm,
        kid: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), OidcError> {
        let of_algorithm: Vec<&Jwk> =
            self.keys.iter().filter(|key| key.key.algorithm() == algorithm).collect();
        let named: Vec<&Jwk> = match kid {
            Some(kid) => of_algorithm.into_iter().filter(|key| key.kid.as_deref() == Some(kid)).collect(),
            None => of_algorithm,
        };
        match (named.as_slice(), kid) {
            ([], _) => {
                let kid = kid.map(|kid| shown(kid, SHOWN_MAX));
                Err(OidcError::UnknownKey(KeyWanted { kid, algorithm }))
            }
            ([_, _, ..], None) => Err(OidcError::AmbiguousKey),
            // A kid should name one key; where it names several, each may have signed.
            (keys, _) => {
                let is_signed = keys.iter().any(|key| key.key.has_signed(message, signature));
                if is_signed { Ok(()) } else { Err(OidcError::Signature) }
            }
        }
    }
}

impl Jwk {
    fn read(jwk: &Map<String, Value>) -> Option<Jwk> {
        let text = |member: &str| jwk.get(member).and_then(Value::as_str);
        let octets = |member: &str| text(member).and_then(from_base64url);
        let key = match text("kty")? {
            "RSA" => JwkKey::Rsa {
                n: number(octets("n")?, MODULUS_OCTETS)?,
                e: number(octets("e")?, EXPONENT_OCTETS)?,
            },
            "EC" if text("crv") == Some("P-256") => {
                let (x, y) = (octets("x")?, octets("y")?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                JwkKey::P256 { point: [&[4], x.as_slice(), &y].concat() }
            }
            _ => return None,
        };
        let is_for_signatures = jwk.get("use").is_none_or(|usage| usage == "sig");
        let is_for_it = jwk.get("alg").is_none_or(|algorithm| algorithm == key.algorithm().word());
        let is_kid = text("kid").is_none_or(|kid| kid.len() <= KID_OCTETS_MAX);
        (is_for_signatures && is_for_it && is_kid).then(|| Jwk { kid: text("kid").map(str::to_owned), key })
    }
}

impl JwkKey {
    fn algorithm(&self) -> JwsAlgorithm {
        match self {
            JwkKey::Rsa { .. } => JwsAlgorithm::Rs256,
            JwkKey::P256 { .. } => JwsAlgorithm::Es256,
        }
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            JwkKey::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            JwkKey::P256 { point } => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
        }
        .is_ok()
    }
}

/// A number without leading zeros, which some providers write (RFC 7518 §6.3.1.1 forbids them).
fn number(octets: Vec<u8>, lengths: std::ops::RangeInclusive<usize>) -> Option<Vec<u8>> {
    let zeros = octets.iter().take_while(|octet| **octet == 0).count();
    let number = octets[zeros..].to_vec();
    lengths.contains(&number.len()).then_some(number)
}
