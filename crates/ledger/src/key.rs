//! Account key: a kind and octets (RFC 8506 8.47, Subscription-Id), in a form of 16 octets that is compared
//! at once.

use super::hash::HashKey;

/// RFC 8506 8.47, Subscription-Id-Type, and a kind of our own for the accounts of our clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum KeyKind {
    E164 = 0,
    Imsi = 1,
    Sip = 2,
    Nai = 3,
    Private = 4,
    /// A client of ours, by its name.
    Name = 5,
}

impl KeyKind {
    /// The kind behind a Subscription-Id-Type, or behind our own number of it.
    pub fn of(value: u32) -> Option<KeyKind> {
        use KeyKind::*;
        [E164, Imsi, Sip, Nai, Private, Name].into_iter().find(|kind| *kind as u32 == value)
    }

    /// Its name in exports and in the API.
    pub fn name(self) -> &'static str {
        ["e164", "imsi", "sip", "nai", "private", "name"][self as usize]
    }
}

/// The most octets that a key may have; a longer Subscription-Id is refused by the caller.
pub const KEY_OCTETS_MAX: usize = 255;
const INLINE_OCTETS: usize = 14;
const DIGITS_MAX: usize = 28;

const FORM_DIGITS: u8 = 0;
const FORM_OCTETS: u8 = 1;
const FORM_HASHED: u8 = 2;

/// A key in 16 octets: kind and form, length, and then the digits in halves of octets, or up to 14 octets as
/// they are, or 14 octets of the keyed hash of a longer key (112 bits, so that two keys never share one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedKey([u8; 16]);

/// The octets by which an account is known: an E.164 number without the `+` that some clients write before
/// it.
#[inline]
pub fn canonical(kind: KeyKind, octets: &[u8]) -> &[u8] {
    match octets {
        [b'+', digits @ ..] if kind == KeyKind::E164 && is_number(digits) => digits,
        _ => octets,
    }
}

fn is_number(octets: &[u8]) -> bool {
    !octets.is_empty() && octets.iter().all(u8::is_ascii_digit)
}

/// The digit zero, six, and each half, in eight octets.
const ZEROS: u64 = 0x3030_3030_3030_3030;
const SIXES: u64 = 0x0606_0606_0606_0606;
const LOWER: u64 = 0x0f0f_0f0f_0f0f_0f0f;
const UPPER: u64 = 0xf0f0_f0f0_f0f0_f0f0;

/// Eight digits less their zeros, in halves of octets: those of an octet's pair side by side.
#[inline]
fn halves(digits: u64) -> [u8; 4] {
    let pairs = (digits | digits >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    ((fours | fours >> 16) as u32).to_le_bytes()
}

/// The digits in halves of octets, the first one lower; none where there are too many, or others.
#[inline]
fn digits(octets: &[u8]) -> Option<[u8; INLINE_OCTETS]> {
    // Numbers of telephones and of SIM cards have 8 to 16 digits: two looks at eight of them, the second of
    // which overlaps the first.
    let (Some(first), Some(last)) = (octets.first_chunk::<8>(), octets.last_chunk::<8>()) else {
        return any_digits(octets);
    };
    if octets.len() > 16 {
        return any_digits(octets);
    }
    let less = |octets: &[u8; 8]| u64::from_le_bytes(*octets) ^ ZEROS;
    let (first, last) = (less(first), less(last));
    // A digit less its zero is at most 9: six more do not reach the upper half of its octet. What is over
    // 0x0f is found by itself.
    let over = |less: u64| (less | ((less & LOWER) + SIXES)) & UPPER;
    if over(first) | over(last) != 0 {
        return None;
    }
    // What the first eight had already goes out; 0 to 8 digits are left.
    let seen = 8 * (16 - octets.len() as u32);
    let mut all = [0; INLINE_OCTETS];
    all[..4].copy_from_slice(&halves(first));
    all[4..8].copy_from_slice(&halves(last.checked_shr(seen).unwrap_or(0)));
    Some(all)
}

/// The same of any number of octets. Loops of one length have no branches.
fn any_digits(octets: &[u8]) -> Option<[u8; INLINE_OCTETS]> {
    let mut all = [b'0'; DIGITS_MAX];
    all.get_mut(..octets.len())?.copy_from_slice(octets);
    let mut are_digits = true;
    for digit in &mut all {
        *digit = digit.wrapping_sub(b'0');
        are_digits &= *digit < 10;
    }
    let mut halves = [0; INLINE_OCTETS];
    for (half, pair) in halves.iter_mut().zip(all.chunks_exact(2)) {
        *half = pair[0] | pair[1] << 4;
    }
    are_digits.then_some(halves)
}

impl PackedKey {
    /// Packs a key. `hash` is the ledger's. Octets over `KEY_OCTETS_MAX` are for the caller to refuse; here
    /// they are hashed too.
    pub fn new(hash: HashKey, kind: KeyKind, octets: &[u8]) -> PackedKey {
        let mut packed = [0; 16];
        packed[1] = octets.len().min(255) as u8;
        if let Some(digits) = digits(octets) {
            packed[0] = kind as u8 | FORM_DIGITS << 4;
            packed[2..].copy_from_slice(&digits);
        } else if octets.len() <= INLINE_OCTETS {
            packed[0] = kind as u8 | FORM_OCTETS << 4;
            packed[2..2 + octets.len()].copy_from_slice(octets);
        } else {
            packed[0] = kind as u8 | FORM_HASHED << 4;
            let [low, high] = hash.octets(octets);
            packed[2..10].copy_from_slice(&low.to_le_bytes());
            packed[10..16].copy_from_slice(&high.to_le_bytes()[..6]);
        }
        PackedKey(packed)
    }

    /// The kind of account that it names.
    pub fn kind(&self) -> KeyKind {
        KeyKind::of(u32::from(self.0[0] & 0xf)).unwrap_or(KeyKind::Private)
    }

    /// Whether the octets of the key do not stand in its packed form.
    pub fn is_hashed(&self) -> bool {
        self.0[0] >> 4 == FORM_HASHED
    }

    /// The octets that it stands for, unless it is hashed.
    pub fn octets(&self) -> Option<Vec<u8>> {
        let len = usize::from(self.0[1]);
        match self.0[0] >> 4 {
            FORM_DIGITS if len <= DIGITS_MAX => {
                Some((0..len).map(|at| b'0' + (self.0[2 + at / 2] >> (4 * (at % 2)) & 0xf)).collect())
            }
            FORM_OCTETS if len <= INLINE_OCTETS => Some(self.0[2..2 + len].to_vec()),
            _ => None,
        }
    }

    /// How it stands on disk.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Back from disk.
    pub fn from_bytes(bytes: [u8; 16]) -> PackedKey {
        PackedKey(bytes)
    }

    /// Spreads accounts over shards and tables.
    #[inline]
    pub fn hash(&self, key: HashKey) -> u64 {
        let low = u64::from_le_bytes(self.0[..8].try_into().expect("eight octets"));
        let high = u64::from_le_bytes(self.0[8..].try_into().expect("eight octets"));
        key.first_of_words([low, high])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: HashKey = HashKey([3, 4]);

    #[test]
    fn a_plus_before_a_number_makes_no_other_account() {
        for (kind, octets, known) in [
            (KeyKind::E164, "+46701234567", "46701234567"),
            (KeyKind::E164, "46701234567", "46701234567"),
            (KeyKind::E164, "+", "+"),
            (KeyKind::E164, "++46", "++46"),
            (KeyKind::E164, "+46 70", "+46 70"),
            (KeyKind::Imsi, "+240010000000001", "+240010000000001"),
            (KeyKind::Sip, "+46701234567", "+46701234567"),
        ] {
            assert_eq!(canonical(kind, octets.as_bytes()), known.as_bytes(), "{octets}");
        }
    }

    #[test]
    fn short_keys_give_their_octets_back() {
        let keys: [&[u8]; 5] = [b"46701234567", b"", b"0", b"alice@x", b"1234567890123456789012345678"];
        for octets in keys {
            let packed = PackedKey::new(KEY, KeyKind::Nai, octets);
            assert_eq!((packed.octets().as_deref(), packed.kind()), (Some(octets), KeyKind::Nai));
        }
    }

    proptest::proptest! {
        #[test]
        fn digits_are_packed_eight_at_a_time_as_one_by_one(
            octets in proptest::prelude::prop_oneof![
                proptest::collection::vec(b'0'..=b'9', 0..31),
                proptest::collection::vec(b'/'..=b':', 0..31),
                proptest::collection::vec(proptest::prelude::any::<u8>(), 0..31),
            ],
        ) {
            proptest::prop_assert_eq!(digits(&octets), any_digits(&octets));
        }
    }

    #[test]
    fn one_octet_that_is_no_digit_is_found_wherever_it_stands() {
        for len in 1..30 {
            for at in 0..len {
                for octet in 0..=u8::MAX {
                    let mut octets = vec![b'7'; len];
                    octets[at] = octet;
                    assert_eq!(digits(&octets), any_digits(&octets), "{octet} at {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn keys_of_other_kinds_lengths_and_forms_never_meet() {
        let mut seen = std::collections::HashSet::new();
        let long = [b'x'; KEY_OCTETS_MAX];
        for kind in
            [KeyKind::E164, KeyKind::Imsi, KeyKind::Sip, KeyKind::Nai, KeyKind::Private, KeyKind::Name]
        {
            for len in 0..KEY_OCTETS_MAX {
                assert!(seen.insert(PackedKey::new(KEY, kind, &long[..len])));
            }
            for len in 1..40 {
                assert!(seen.insert(PackedKey::new(KEY, kind, &[b'0'; 40][..len])));
            }
        }
    }
}
