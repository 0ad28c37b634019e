//! PHC strings of Argon2id: `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`, salt and hash in base64 without
//! padding.

use super::{HASH_OCTETS, HashCost, HashError, SALT_OCTETS};
use super::{STORED_LANES_MAX, STORED_MEMORY_KIB_MAX, STORED_PASSES_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::ops::RangeInclusive;

/// Octets of a stored string.
const OCTETS_MAX: usize = 256;
/// Octets of a salt (RFC 9106 §3.1 asks for eight).
const SALTS: RangeInclusive<usize> = 8..=48;
/// Octets of a hash.
const HASHES: RangeInclusive<usize> = 16..=64;

pub(super) struct PhcString {
    pub(super) cost: HashCost,
    pub(super) salt: Vec<u8>,
    pub(super) hash: Vec<u8>,
}

impl PhcString {
    /// Reads a stored string; the order of the parameters is fixed, as everybody writes them.
    pub(super) fn read(text: &str) -> Result<PhcString, HashError> {
        if text.len() > OCTETS_MAX {
            return Err(HashError::Form);
        }
        let parsed = parse(text).ok_or(HashError::Form)?;
        let HashCost { memory_kib, passes, lanes } = parsed.cost;
        let is_over =
            memory_kib > STORED_MEMORY_KIB_MAX || passes > STORED_PASSES_MAX || lanes > STORED_LANES_MAX;
        if is_over { Err(HashError::Cost(parsed.cost)) } else { Ok(parsed) }
    }

    pub(super) fn write(&self) -> String {
        let HashCost { memory_kib, passes, lanes } = self.cost;
        let (salt, hash) = (STANDARD_NO_PAD.encode(&self.salt), STANDARD_NO_PAD.encode(&self.hash));
        format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${hash}")
    }

    /// Whether a new hash would have the same cost and lengths.
    pub(super) fn is_current(&self) -> bool {
        self.cost == HashCost::CURRENT && self.salt.len() >= SALT_OCTETS && self.hash.len() == HASH_OCTETS
    }
}

fn parse(text: &str) -> Option<PhcString> {
    let mut fields = text.strip_prefix("$argon2id$v=19$")?.split('$');
    let mut cost = fields.next()?.split(',');
    let mut number = |prefix| decimal(cost.next()?.strip_prefix(prefix)?);
    let parsed = PhcString {
        cost: HashCost { memory_kib: number("m=")?, passes: number("t=")?, lanes: number("p=")? },
        salt: STANDARD_NO_PAD.decode(fields.next()?).ok()?,
        hash: STANDARD_NO_PAD.decode(fields.next()?).ok()?,
    };
    let is_whole = cost.next().is_none() && fields.next().is_none();
    (is_whole && SALTS.contains(&parsed.salt.len()) && HASHES.contains(&parsed.hash.len())).then_some(parsed)
}

/// Digits alone: no sign.
fn decimal(text: &str) -> Option<u32> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
