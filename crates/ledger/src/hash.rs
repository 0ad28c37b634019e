//! Keyed hashes: SipHash-1-3 with an output of 128 bits. The key is drawn when a ledger's folder is made, so
//! that nobody outside can choose session ids or account numbers that fall together.

/// A hash of 128 bits, as two words.
pub type Hash128 = [u64; 2];

/// The key of one ledger's hashes. It is stored in the ledger's folder, since hashes stand in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashKey(pub [u64; 2]);

#[derive(Clone, Copy, Debug)]
struct SipHashState([u64; 4]);

impl SipHashState {
    fn new(key: HashKey) -> SipHashState {
        let [k0, k1] = key.0;
        // The published constants; 0xee marks the form with 128 bits.
        SipHashState([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    #[inline(always)]
    fn round(&mut self) {
        let v = &mut self.0;
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    /// What comes behind the whole words before.
    #[inline(always)]
    fn rest(mut self, words: &[[u8; 8]], rest: &[u8], octets: usize) -> Hash128 {
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        self.word(last_word(rest, octets));
        self.finish()
    }

    #[inline(always)]
    fn finish_first(&mut self) -> u64 {
        self.0[2] ^= 0xee;
        (0..3).for_each(|_| self.round());
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }

    #[inline(always)]
    fn finish(mut self) -> Hash128 {
        let low = self.finish_first();
        self.0[1] ^= 0xdd;
        (0..3).for_each(|_| self.round());
        [low, self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]]
    }
}

/// Less than eight octets, and how many there were in all: the last word.
#[inline(always)]
fn last_word(rest: &[u8], octets: usize) -> u64 {
    let last = match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            // Two looks at four, the second of which overlaps the first.
            let word = |octets: &[u8; 4]| u64::from(u32::from_le_bytes(*octets));
            word(first) | word(last) << (8 * (rest.len() - 4))
        }
        _ => rest.iter().rev().fold(0, |word, octet| word << 8 | u64::from(*octet)),
    };
    last | u64::from(octets as u8) << 56
}

impl HashKey {
    /// A key that nobody can foresee.
    pub fn draw() -> HashKey {
        use std::hash::{BuildHasher, Hasher};
        HashKey(std::array::from_fn(|i| {
            let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
            hasher.write_usize(i);
            hasher.finish()
        }))
    }

    /// The hash of some octets.
    #[inline]
    pub fn octets(self, octets: &[u8]) -> Hash128 {
        let (words, rest) = octets.as_chunks();
        SipHashState::new(self).rest(words, rest, octets.len())
    }

    /// The hash of two words.
    #[inline]
    pub fn words(self, words: [u64; 2]) -> Hash128 {
        self.after_words(words).finish()
    }

    /// The first word of the hash of two words.
    #[inline]
    pub fn first_of_words(self, words: [u64; 2]) -> u64 {
        self.after_words(words).finish_first()
    }

    #[inline(always)]
    fn after_words(self, words: [u64; 2]) -> SipHashState {
        let mut state = SipHashState::new(self);
        words.into_iter().for_each(|word| state.word(word));
        state
    }
}

/// Hashes octets that mostly begin alike, such as the Session-Ids of one client (RFC 6733 8.8: they begin
/// with its identity): the hash is that of [`HashKey::octets`], and goes on from where the last ones began to
/// differ.
#[derive(Clone, Debug)]
pub struct Beginning {
    key: HashKey,
    /// What they have in common, in whole words, and the state behind it.
    begin: Vec<[u8; 8]>,
    state: SipHashState,
    /// The octets that it was last compared with.
    last: Vec<[u8; 8]>,
    /// So many more until it is looked for again.
    until_next: u32,
}

/// What is in common is looked for again after so many: numbers count up, and what they have in common
/// changes.
const BEGINNINGS_KEPT: u32 = 256;

impl Beginning {
    pub fn new(key: HashKey) -> Beginning {
        Beginning { key, begin: Vec::new(), state: SipHashState::new(key), last: Vec::new(), until_next: 0 }
    }

    /// The hash of some octets.
    #[inline]
    pub fn hash(&mut self, octets: &[u8]) -> Hash128 {
        let (words, rest) = octets.as_chunks::<8>();
        if let Some((begin, words)) = words.split_at_checked(self.begin.len())
            && begin == &self.begin[..]
            && self.until_next > 0
        {
            self.until_next -= 1;
            return self.state.rest(words, rest, octets.len());
        }
        self.learn(words);
        self.key.octets(octets)
    }

    #[cold]
    fn learn(&mut self, words: &[[u8; 8]]) {
        let alike = self.last.iter().zip(words).take_while(|(one, other)| one == other).count();
        self.begin.clear();
        self.begin.extend_from_slice(&words[..alike]);
        self.last.clear();
        self.last.extend_from_slice(words);
        self.state = SipHashState::new(self.key);
        for word in &self.begin {
            self.state.word(u64::from_le_bytes(*word));
        }
        self.until_next = BEGINNINGS_KEPT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_each_octet_the_length_and_the_key() {
        let key = HashKey([1, 2]);
        let mut seen = std::collections::HashSet::new();
        for len in 0..40 {
            let octets = vec![0; len];
            assert!(seen.insert(key.octets(&octets)));
            assert_ne!(HashKey([1, 3]).octets(&octets), key.octets(&octets));
            for at in 0..len {
                let mut other = octets.clone();
                other[at] = 1;
                assert!(seen.insert(key.octets(&other)));
            }
        }
    }

    #[test]
    fn the_hash_is_siphash_with_one_and_three_rounds() {
        // Stands in logs: of octets 0, 1, 2 and so on, as it was when the first was written.
        let octets: Vec<u8> = (0..15).collect();
        let key = HashKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        assert_eq!(key.octets(&octets), [0x6c52_bdb2_0555_7ec1, 0x0901_7e1e_eccd_2129]);
        assert_eq!(key.words([1, 2])[0], key.first_of_words([1, 2]));
    }

    proptest::proptest! {
        #[test]
        fn what_begins_alike_has_the_hash_it_has_by_itself(
            begins in proptest::collection::vec("[a-c]{0,40}", 1..4),
            ends in proptest::collection::vec((0_usize..4, "[0-9]{0,20}", 1_usize..200), 1..20),
        ) {
            let key = HashKey([11, 12]);
            let mut beginning = Beginning::new(key);
            for (begin, end, times) in ends {
                for n in 0..times {
                    let octets = format!("{}{end}{n}", begins[begin % begins.len()]);
                    proptest::prop_assert_eq!(beginning.hash(octets.as_bytes()), key.octets(octets.as_bytes()));
                }
            }
        }
    }
}
