//! Keyed hashes: SipHash-1-3 with an output of 128 bits. The key is drawn when a ledger's folder is made, so that nobody outside can
//! choose session ids or account numbers that fall together.

/// A hash of 128 bits, as two words.
pub type Hash128 = [u64; 2];

/// The key of one ledger's hashes. It is stored in the ledger's folder, since hashes stand in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashKey(pub [u64; 2]);

struct State([u64; 4]);

impl State {
    fn new(key: HashKey) -> State {
        let [k0, k1] = key.0;
        // The published constants; 0xee marks the form with 128 bits.
        State([
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

    fn finish(mut self) -> Hash128 {
        self.0[2] ^= 0xee;
        (0..3).for_each(|_| self.round());
        let low = self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3];
        self.0[1] ^= 0xdd;
        (0..3).for_each(|_| self.round());
        [low, self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]]
    }
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
    pub fn octets(self, octets: &[u8]) -> Hash128 {
        let mut state = State::new(self);
        let mut words = octets.chunks_exact(8);
        for word in &mut words {
            state.word(u64::from_le_bytes(word.try_into().expect("chunks of eight")));
        }
        let rest = words.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = octets.len() as u8;
        state.word(u64::from_le_bytes(last));
        state.finish()
    }

    /// The hash of an Origin-Host, to be kept with its connection.
    pub fn origin_host(self, host: &[u8]) -> OriginHost {
        OriginHost(self.octets(host))
    }

    /// The hash of two words.
    pub fn words(self, words: [u64; 2]) -> Hash128 {
        let mut state = State::new(self);
        state.word(words[0]);
        state.word(words[1]);
        state.finish()
    }
}

/// The hash of an Origin-Host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginHost(Hash128);

/// So many end-to-end ids in a row have the first word in common.
const NEIGHBOURS_SHIFT: u32 = 2;

impl OriginHost {
    /// The hash of a request's origin. Clients count their end-to-end ids up (RFC 6733 3), so neighbours are kept in the same line of the
    /// table of duplicates: the first word is theirs in common, the second one tells them apart.
    #[inline]
    pub fn request(self, end_to_end: u32) -> Hash128 {
        let folded =
            u128::from(self.0[0] ^ u64::from(end_to_end >> NEIGHBOURS_SHIFT)) * 0x9e37_79b9_7f4a_7c15_u128;
        let second = self.0[1].wrapping_add(u64::from(end_to_end).wrapping_mul(0xd6e8_feb8_6659_fd93));
        [(folded >> 64) as u64 ^ folded as u64, second]
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
    fn origins_differ_by_host_and_number_and_neighbours_share_a_word() {
        let host = HashKey([7, 9]).origin_host(b"client.example");
        let other = HashKey([7, 9]).origin_host(b"client.exampl");
        let mut seen = std::collections::HashSet::new();
        for number in (0..10_000).chain(u32::MAX - 10_000..u32::MAX) {
            assert!(seen.insert(host.request(number)[1]) && seen.insert(other.request(number)[1]));
            assert_ne!(host.request(number)[0], host.request(number ^ 4)[0]);
            assert_eq!(host.request(number)[0], host.request(number ^ 1)[0]);
        }
    }
}
