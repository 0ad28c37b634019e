//! Passwords: hashes by Argon2id as PHC strings, and the [`policy`] for new ones.
//!
//! A password is prepared before it is hashed or compared, so that it is the same from every keyboard: spaces
//! of other scripts become ordinary ones and the text is normalised (NFC), as OpaqueString of RFC 8265 §4.2.
//! Case and everything else count as typed.

mod phc;
pub mod policy;
#[cfg(test)]
mod tests;

use argon2::{Algorithm, Argon2, Params, Version};
use phc::PhcString;
use std::fmt;
use unicode_normalization::UnicodeNormalization as _;

/// Octets of a salt.
pub const SALT_OCTETS: usize = 16;
/// Octets of a hash.
pub const HASH_OCTETS: usize = 32;
/// Octets of a password that are looked at. A longer one is no password of anybody: the policy allows
/// [`policy::CHARACTERS_MAX`] characters of at most four octets.
pub const PASSWORD_OCTETS_MAX: usize = 4 * policy::CHARACTERS_MAX;
/// Memory of a stored hash that is computed again, in KiB: a stored string cannot take all of it.
pub const STORED_MEMORY_KIB_MAX: u32 = 256 * 1_024;
/// Passes of a stored hash that is computed again.
pub const STORED_PASSES_MAX: u32 = 16;
/// Lanes of a stored hash that is computed again.
pub const STORED_LANES_MAX: u32 = 16;

/// Price of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashCost {
    /// Memory, in KiB; at least eight for each lane.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl HashCost {
    /// That of new hashes: 19 MiB, two passes, one lane (OWASP's first choice for Argon2id).
    pub const CURRENT: HashCost = HashCost { memory_kib: 19 * 1_024, passes: 2, lanes: 1 };
}

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordMatch {
    /// Another password.
    Wrong,
    /// The password.
    Right,
    /// The password, with a hash of another cost or length: [`hash`] it again, and keep that.
    RightNeedsRehash,
}

/// A hash cannot be computed or a stored one cannot be read. It is the keeper's fault, not the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashError {
    /// The stored string is no PHC string of Argon2id, version 19.
    Form,
    /// The stored string asks for more than [`STORED_MEMORY_KIB_MAX`], [`STORED_PASSES_MAX`] or
    /// [`STORED_LANES_MAX`].
    Cost(HashCost),
    /// Argon2 refuses the cost or the lengths of salt and hash.
    Refused(HashCost),
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, cost) = match self {
            HashError::Form => {
                return f.write_str(
                    "the stored password hash is no string of Argon2id version 19 ($argon2id$v=19$…): reset the password",
                );
            }
            HashError::Cost(cost) => ("is over the limit", cost),
            HashError::Refused(cost) => ("is none that Argon2 takes", cost),
        };
        let HashCost { memory_kib, passes, lanes } = cost;
        write!(
            f,
            "the cost of the stored password hash (m={memory_kib}, t={passes}, p={lanes}) {what}: reset the password"
        )
    }
}

impl std::error::Error for HashError {}

/// Hashes a password with [`HashCost::CURRENT`] to a PHC string of 97 octets. The policy is not looked at.
///
/// Takes some 20 ms of a processor and 19 MiB; the caller bounds how many run at a time.
///
/// # Errors
/// None at this cost; the type is that of [`hash_at`].
pub fn hash(password: &str, salt: [u8; SALT_OCTETS]) -> Result<String, HashError> {
    hash_at(HashCost::CURRENT, password, salt)
}

/// Hashes a password at another cost.
///
/// # Errors
/// Argon2 takes no such cost.
pub fn hash_at(cost: HashCost, password: &str, salt: [u8; SALT_OCTETS]) -> Result<String, HashError> {
    let mut phc = PhcString { cost, salt: salt.to_vec(), hash: vec![0; HASH_OCTETS] };
    phc.hash = argon2id(&phc, password)?;
    Ok(phc.write())
}

/// Compares a password with a stored PHC string, at the cost that stands in it.
///
/// # Errors
/// The stored string cannot be read, or asks for more than the limits.
pub fn verify(password: &str, stored: &str) -> Result<PasswordMatch, HashError> {
    let stored = PhcString::read(stored)?;
    let hash = argon2id(&stored, password)?;
    // Of such a one only the beginning was hashed.
    let is_too_long = password.len() > PASSWORD_OCTETS_MAX;
    // Every octet is compared, so that the time does not say where they differ.
    let difference = hash.iter().zip(&stored.hash).fold(0, |all, (one, other)| all | (one ^ other));
    Ok(match difference == 0 && hash.len() == stored.hash.len() && !is_too_long {
        false => PasswordMatch::Wrong,
        true if stored.is_current() => PasswordMatch::Right,
        true => PasswordMatch::RightNeedsRehash,
    })
}

/// Takes the time of [`verify`] where there is no such user or they have no password, and finds nothing.
pub fn verify_nobody(password: &str) -> PasswordMatch {
    // The result cannot matter, nor can an error: there is nothing to compare with.
    let _ = hash(password, [0; SALT_OCTETS]);
    PasswordMatch::Wrong
}

fn argon2id(like: &PhcString, password: &str) -> Result<Vec<u8>, HashError> {
    let HashCost { memory_kib, passes, lanes } = like.cost;
    let refused = |_| HashError::Refused(like.cost);
    let params = Params::new(memory_kib, passes, lanes, Some(like.hash.len())).map_err(refused)?;
    let mut out = vec![0; like.hash.len()];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(prepared(password).as_bytes(), &like.salt, &mut out)
        .map_err(refused)?;
    Ok(out)
}

/// One form for each password, of its first [`PASSWORD_OCTETS_MAX`].
fn prepared(password: &str) -> String {
    let within = &password[..password.floor_char_boundary(PASSWORD_OCTETS_MAX)];
    within.chars().map(|c| if is_space(c) { ' ' } else { c }).nfc().collect()
}

/// Separators of Unicode's category Zs.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}
