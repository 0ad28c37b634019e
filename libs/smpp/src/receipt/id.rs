//! Finding a receipt's message though carriers write one id in two ways.
//!
//! A submission is stored under **one** key, [`submit_key`]; a receipt is looked up under a few,
//! [`receipt_keys`], the surest first. Both hash the id's plain form:
//!
//! - spaces and NULs around it go;
//! - an id of hexadecimal digits only (a decimal number is one) loses its leading zeros, its case, and a `0x`
//!   before it;
//! - a UUID loses braces and dashes, and then the same;
//! - any other id stays as it is, case included.
//!
//! How the receipt's id differs from the submission's is a property of the carrier, [`IdForm`]. `Auto` tries
//! all forms: with a carrier whose ids are short numbers, the decimal id of one message can be the
//! hexadecimal id of another, so a lookup must take the keys in order, and a carrier that is known should be
//! configured.

/// Longest id that is looked at as a number: 32 hexadecimal or 38 decimal digits.
const DIGITS_MAX: usize = 38;

/// How a carrier's receipts write the ids of its submit_sm_resp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IdForm {
    /// The same.
    AsIs,
    /// Hexadecimal in the submit_sm_resp, decimal in the receipt.
    HexToDecimal,
    /// Decimal in the submit_sm_resp, hexadecimal in the receipt.
    DecimalToHex,
    /// Not known: all of the above are tried in this order.
    #[default]
    Auto,
}

/// The keys under which a receipt's message may be stored, the surest first. At least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdKeys {
    keys: [u64; 3],
    len: u8,
}

impl IdKeys {
    fn one(key: u64) -> Self {
        IdKeys { keys: [key, 0, 0], len: 1 }
    }

    fn push(&mut self, key: u64) {
        if !self.as_slice().contains(&key) && usize::from(self.len) < self.keys.len() {
            self.keys[usize::from(self.len)] = key;
            self.len += 1;
        }
    }

    /// The keys in order.
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.keys[..usize::from(self.len)]
    }
}

impl IntoIterator for IdKeys {
    type Item = u64;
    type IntoIter = std::iter::Take<std::array::IntoIter<u64, 3>>;

    fn into_iter(self) -> Self::IntoIter {
        self.keys.into_iter().take(usize::from(self.len))
    }
}

/// The key to store a submission under, from its submit_sm_resp's id. The same in every version of this
/// library: it may be kept on disk.
#[must_use]
pub fn submit_key(id: &[u8]) -> u64 {
    hash_plain(id)
}

/// The keys to look a receipt's message up under, in this order.
#[must_use]
pub fn receipt_keys(id: &[u8], form: IdForm) -> IdKeys {
    let as_is = hash_plain(id);
    match form {
        IdForm::AsIs => IdKeys::one(as_is),
        IdForm::HexToDecimal => IdKeys::one(decimal_as_hex(id).unwrap_or(as_is)),
        IdForm::DecimalToHex => IdKeys::one(hex_as_decimal(id).unwrap_or(as_is)),
        IdForm::Auto => {
            let mut keys = IdKeys::one(as_is);
            decimal_as_hex(id).into_iter().for_each(|key| keys.push(key));
            hex_as_decimal(id).into_iter().for_each(|key| keys.push(key));
            keys
        }
    }
}

/// The key of the submission whose hexadecimal id is this decimal one.
fn decimal_as_hex(id: &[u8]) -> Option<u64> {
    hash_number(number(id, 10)?, 16)
}

/// The key of the submission whose decimal id is this hexadecimal one.
fn hex_as_decimal(id: &[u8]) -> Option<u64> {
    hash_number(number(id, 16)?, 10)
}

fn number(id: &[u8], radix: u32) -> Option<u128> {
    let digits = without_prefix(trim(id));
    if digits.is_empty() || digits.len() > DIGITS_MAX || digits.first() == Some(&b'+') {
        return None;
    }
    u128::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// Hashes the number's digits as [`hash_plain`] hashes an id of them.
fn hash_number(mut value: u128, radix: u128) -> Option<u64> {
    let mut digits = [0u8; DIGITS_MAX + 1];
    let mut at = digits.len();
    loop {
        at = at.checked_sub(1)?;
        digits[at] = char::from_digit((value % radix) as u32, radix as u32)? as u8;
        value /= radix;
        if value == 0 {
            break;
        }
    }
    Some(hash(digits[at..].iter().copied()))
}

fn hash_plain(id: &[u8]) -> u64 {
    let id = trim(id);
    if is_uuid(id) {
        let digits = id.iter().filter(|octet| octet.is_ascii_hexdigit()).map(u8::to_ascii_lowercase);
        return hash(digits.skip_while(|&digit| digit == b'0'));
    }
    let digits = without_prefix(id);
    if !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit) {
        let zeros = digits.iter().take_while(|&&octet| octet == b'0').count().min(digits.len() - 1);
        return hash(digits[zeros..].iter().map(u8::to_ascii_lowercase));
    }
    hash(id.iter().copied())
}

fn trim(id: &[u8]) -> &[u8] {
    let is_blank = |octet: &u8| octet.is_ascii_whitespace() || *octet == 0;
    let start = id.iter().position(|octet| !is_blank(octet)).unwrap_or(id.len());
    let end = id.iter().rposition(|octet| !is_blank(octet)).map_or(start, |last| last + 1);
    &id[start..end]
}

fn without_prefix(id: &[u8]) -> &[u8] {
    match id {
        [b'0', b'x' | b'X', digits @ ..] if !digits.is_empty() => digits,
        _ => id,
    }
}

/// `8-4-4-4-12` hexadecimal digits, with or without braces.
fn is_uuid(id: &[u8]) -> bool {
    let id = id.strip_prefix(b"{").and_then(|id| id.strip_suffix(b"}")).unwrap_or(id);
    id.len() == 36
        && id.iter().enumerate().all(|(at, octet)| match at {
            8 | 13 | 18 | 23 => *octet == b'-',
            _ => octet.is_ascii_hexdigit(),
        })
}

/// FNV-1a of 64 bits, finished so that close ids lie far apart.
fn hash(octets: impl Iterator<Item = u8>) -> u64 {
    let fnv = octets.fold(0xCBF2_9CE4_8422_2325u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed ^ (mixed >> 33)
}
