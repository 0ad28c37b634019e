//! Recovery codes: ten of 80 bits, for a person whose authenticator is lost; each counts once.
//!
//! A code is 16 letters of an alphabet without 0, O, 1 and I, in groups of four: `K7QM-2XPA-VW9D-HT4E`.

use ring::digest;
use std::fmt;

/// Codes that are issued together; they replace all before.
pub const CODES: usize = 10;
/// Random octets of a code.
pub const CODE_OCTETS: usize = 10;
/// Octets of a code's hash.
pub const HASH_OCTETS: usize = 32;
/// Octets of a typed code that are looked at, with hyphens and spaces.
const TYPED_OCTETS_MAX: usize = 64;
const GROUP: usize = 4;
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Keeps these hashes apart from all others over ten octets.
const CONTEXT: &[u8] = b"campanile recovery code\0";

/// Hash of a code, to keep. Codes have 80 random bits, so SHA-256 is enough against who has the hashes.
pub type RecoveryHash = [u8; HASH_OCTETS];

/// Codes to show once, and their hashes to keep, in the same order.
pub struct RecoveryCodes {
    /// Written codes.
    pub codes: [String; CODES],
    /// What is kept of them.
    pub hashes: [RecoveryHash; CODES],
}

impl fmt::Debug for RecoveryCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCodes(..)")
    }
}

/// A code is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryError {
    /// Not 16 letters of the alphabet.
    Form,
    /// None of those that are left.
    Wrong,
}

impl fmt::Display for RecoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecoveryError::Form => {
                "a recovery code has 16 letters and digits, without 0 and O: type it as it was printed"
            }
            RecoveryError::Wrong => {
                "the recovery code is wrong or was used before: take another one of the list"
            }
        })
    }
}

impl std::error::Error for RecoveryError {}

/// Issues new codes; `random` fills octets from the system's generator.
pub fn issue(random: &mut dyn FnMut(&mut [u8])) -> RecoveryCodes {
    let octets: [[u8; CODE_OCTETS]; CODES] = std::array::from_fn(|_| {
        let mut octets = [0; CODE_OCTETS];
        random(&mut octets);
        octets
    });
    RecoveryCodes { codes: octets.map(|octets| write(&octets)), hashes: octets.map(|octets| hash(&octets)) }
}

/// Finds the hash that a typed code has: its index in `left`. The caller removes it in one stroke with
/// accepting the code, so that it counts once.
///
/// # Errors
/// The code has another form, or none of the hashes is its own.
pub fn verify(typed: &str, left: &[RecoveryHash]) -> Result<usize, RecoveryError> {
    let typed = hash(&read(typed).ok_or(RecoveryError::Form)?);
    // Hashes of random octets are compared, so the time says nothing of a code.
    left.iter().position(|hash| *hash == typed).ok_or(RecoveryError::Wrong)
}

fn hash(octets: &[u8; CODE_OCTETS]) -> RecoveryHash {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(CONTEXT);
    context.update(octets);
    let mut hash = [0; HASH_OCTETS];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

fn write(octets: &[u8; CODE_OCTETS]) -> String {
    let bits = octets.iter().fold(0_u128, |bits, octet| bits << 8 | u128::from(*octet));
    let letters = CODE_OCTETS * 8 / 5;
    let mut out = String::with_capacity(letters + letters / GROUP);
    for at in 0..letters {
        if at > 0 && at % GROUP == 0 {
            out.push('-');
        }
        out.push(char::from(ALPHABET[(bits >> (5 * (letters - 1 - at)) & 31) as usize]));
    }
    out
}

/// Reads a code in any case, with hyphens and spaces or without; 1 and I are read as L.
fn read(typed: &str) -> Option<[u8; CODE_OCTETS]> {
    if typed.len() > TYPED_OCTETS_MAX {
        return None;
    }
    let (mut bits, mut count) = (0_u128, 0);
    for c in typed.chars().filter(|c| !c.is_whitespace() && *c != '-') {
        let letter = match c.to_ascii_uppercase() {
            '1' | 'I' => 'L',
            other => other,
        };
        let value = ALPHABET.iter().position(|known| char::from(*known) == letter)?;
        bits = bits << 5 | u128::try_from(value).ok()?;
        count += 1;
    }
    if count != CODE_OCTETS * 8 / 5 {
        return None;
    }
    bits.to_be_bytes()[16 - CODE_OCTETS..].try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn issued() -> RecoveryCodes {
        let mut next = 0_u8;
        issue(&mut |octets| {
            for octet in octets {
                *octet = next;
                next = next.wrapping_add(37);
            }
        })
    }

    #[test]
    fn ten_different_codes_are_issued_in_groups_without_letters_that_look_alike() {
        let codes = issued().codes;
        let different: std::collections::BTreeSet<_> = codes.iter().collect();
        assert_eq!(different.len(), CODES);
        for code in &codes {
            assert!(code.split('-').count() == 4 && code.split('-').all(|group| group.len() == 4), "{code}");
            assert!(!code.contains(['0', 'O', '1', 'I']), "{code}");
        }
    }

    #[test]
    fn a_code_counts_once_however_it_is_typed() {
        let RecoveryCodes { codes, hashes } = issued();
        let mut left = hashes.to_vec();
        let typed = codes[3].to_lowercase().replace('-', " ").replace('l', "1");
        let at = verify(&typed, &left).unwrap();
        assert_eq!(at, 3);
        left.remove(at);
        assert_eq!(verify(&codes[3], &left), Err(RecoveryError::Wrong));
        assert_eq!(verify(&codes[4], &left), Ok(3));
    }

    #[test]
    fn anything_else_is_no_code() {
        for wrong in
            ["", "K7QM", "K7QM-2XPA-VW9D-HT40", "K7QM-2XPA-VW9D-HT4EA", "ÅÅÅÅ-ÅÅÅÅ", &"A".repeat(999)]
        {
            assert_eq!(verify(wrong, &issued().hashes), Err(RecoveryError::Form), "{wrong}");
        }
        assert_eq!(verify("K7QM-2XPA-VW9D-HT4E", &issued().hashes), Err(RecoveryError::Wrong));
    }

    proptest! {
        #[test]
        fn every_code_is_read_back(octets: [u8; CODE_OCTETS]) {
            prop_assert_eq!(read(&write(&octets)), Some(octets));
        }
    }
}
