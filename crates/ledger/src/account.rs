//! Accounts: an index of eight octets a slot, and beside it one cache line for each account. Looking one up
//! costs two independent reads, which a pass over a batch makes overlap.

use super::hash::HashKey;
use super::key::PackedKey;

/// An account's number in its shard: its place in the arena, given in the order in which accounts were
/// opened.
pub type AccountNumber = u32;

/// No shard holds more accounts than this; the next one is refused as unknown (5030).
pub const ACCOUNTS_MAX: usize = 1 << 30;

/// One account's money, in minor units. Exactly one cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Account {
    pub key: PackedKey,
    /// What was paid in less what was taken.
    pub posted: i64,
    /// What is reserved and neither taken nor free.
    pub pending: i64,
    /// How far below zero `posted - pending` may go. Never negative.
    pub limit: i64,
    /// What emergencies cost, apart from the balance.
    pub debt: i64,
    /// What was taken for good, less refunds: never less than what `posted` lost.
    pub used: i64,
    pub is_blocked: bool,
    /// Whether there are bundles of messages for it.
    pub has_bundles: bool,
}

impl Account {
    /// What can be spent or reserved. Never below zero for what the ledger itself did; a limit that was
    /// lowered can leave it there.
    pub fn available(&self) -> i64 {
        self.posted.saturating_sub(self.pending).saturating_add(self.limit)
    }
}

/// All accounts of a shard.
#[derive(Clone, Debug)]
pub struct Accounts {
    hash: HashKey,
    /// Tag in the upper half, number plus one in the lower; zero is free. At most half full.
    index: Vec<u64>,
    /// A slot is the tag's first bits.
    shift: u32,
    arena: Vec<Account>,
    /// The octets of keys that do not fit their packed form.
    long_keys: std::collections::HashMap<AccountNumber, Box<[u8]>>,
}

const INDEX_BITS_MIN: u32 = 10;

impl Accounts {
    pub fn new(hash: HashKey) -> Accounts {
        Accounts {
            hash,
            index: vec![0; 1 << INDEX_BITS_MIN],
            shift: 64 - INDEX_BITS_MIN,
            arena: Vec::new(),
            long_keys: std::collections::HashMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.arena.len()
    }

    pub fn is_empty(&self) -> bool {
        self.arena.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (AccountNumber, &Account)> {
        self.arena.iter().enumerate().map(|(number, account)| (number as AccountNumber, account))
    }

    /// Reads the slot of a key without a look at what is there: so many misses of a batch overlap.
    #[inline]
    pub fn touch_index(&self, hash: u64) -> u64 {
        self.index[(hash >> self.shift) as usize]
    }

    /// The account that a key has by what stands in its slot, or in the next one where that is another's; and
    /// reads it.
    #[inline]
    pub fn touch_account(&self, hash: u64) -> (AccountNumber, i64) {
        let at = (hash >> self.shift) as usize;
        // No branch, which would be taken at random.
        let is_other = usize::from(self.index[at] >> 32 != hash >> 32);
        let number = (self.index[(at + is_other) & (self.index.len() - 1)] as AccountNumber).wrapping_sub(1);
        (number, self.arena.get(number as usize).map_or(0, |account| account.posted))
    }

    /// The number behind a key.
    #[inline]
    pub fn find(&self, hash: u64, key: &PackedKey) -> Option<AccountNumber> {
        let tag = hash >> 32;
        let mask = self.index.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.index[at];
            if slot == 0 {
                return None;
            }
            if slot >> 32 == tag {
                let number = slot as u32 - 1;
                if self.arena[number as usize].key == *key {
                    return Some(number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    pub fn find_key(&self, key: &PackedKey) -> Option<AccountNumber> {
        self.find(key.hash(self.hash), key)
    }

    /// Opens an account; the caller knows that there is none with this key. The next number.
    pub fn open(&mut self, key: PackedKey, octets: &[u8]) -> AccountNumber {
        if (self.arena.len() + 1) * 2 > self.index.len() {
            self.grow();
        }
        let number = self.arena.len() as AccountNumber;
        self.arena.push(Account {
            key,
            posted: 0,
            pending: 0,
            limit: 0,
            debt: 0,
            used: 0,
            is_blocked: false,
            has_bundles: false,
        });
        if key.is_hashed() {
            self.long_keys.insert(number, octets.into());
        }
        let hash = key.hash(self.hash);
        Self::insert(&mut self.index, self.shift, hash >> 32 << 32 | u64::from(number + 1));
        number
    }

    /// Closes the accounts that were opened last, until there are so many: as if they had never been.
    pub fn close_to(&mut self, len: usize) {
        while self.arena.len() > len {
            let Some(account) = self.arena.pop() else { return };
            let number = self.arena.len() as AccountNumber;
            self.long_keys.remove(&number);
            self.take_out(account.key.hash(self.hash), number);
        }
    }

    /// Takes a slot out, and closes the gap it leaves for those behind it that would not be found beyond a
    /// gap.
    fn take_out(&mut self, hash: u64, number: AccountNumber) {
        let mask = self.index.len() - 1;
        let mut gap = (hash >> self.shift) as usize;
        while self.index[gap] as u32 != number + 1 {
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let slot = self.index[at];
            if slot == 0 {
                break;
            }
            let home = (slot >> self.shift) as usize;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.index[gap] = slot;
                gap = at;
            }
        }
        self.index[gap] = 0;
    }

    fn insert(index: &mut [u64], shift: u32, slot: u64) {
        let mask = index.len() - 1;
        let mut at = (slot >> shift) as usize;
        while index[at] != 0 {
            at = (at + 1) & mask;
        }
        index[at] = slot;
    }

    /// Twice the slots. Tags hold all bits that a place needs, so the accounts themselves are not read.
    fn grow(&mut self) {
        let mut index = vec![0; self.index.len() * 2];
        super::huge_pages::ask_for_large(&mut index);
        self.shift -= 1;
        for &slot in self.index.iter().filter(|slot| **slot != 0) {
            Self::insert(&mut index, self.shift, slot);
        }
        self.index = index;
    }

    #[inline]
    pub fn account(&self, number: AccountNumber) -> Option<&Account> {
        self.arena.get(number as usize)
    }

    #[inline]
    pub fn account_mut(&mut self, number: AccountNumber) -> Option<&mut Account> {
        self.arena.get_mut(number as usize)
    }

    /// The octets of an account's key.
    pub fn octets(&self, number: AccountNumber) -> Vec<u8> {
        let packed = self.arena.get(number as usize).and_then(|account| account.key.octets());
        packed.or_else(|| self.long_keys.get(&number).map(|octets| octets.to_vec())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyKind;
    use super::*;

    #[test]
    fn an_account_fills_one_cache_line() {
        assert_eq!((size_of::<Account>(), align_of::<Account>()), (64, 64));
    }

    #[test]
    fn accounts_that_are_closed_again_leave_the_others_where_they_are_found() {
        let hash = HashKey([5, 6]);
        let mut accounts = Accounts::new(hash);
        let key = |i: usize| {
            PackedKey::new(hash, KeyKind::Nai, format!("{i}@a-rather-long-realm.example").as_bytes())
        };
        for round in 0..5 {
            for i in accounts.len()..3_000 + round * 100 {
                accounts.open(key(i), format!("{i}@a-rather-long-realm.example").as_bytes());
            }
            let left = 3_000 - round * 700;
            accounts.close_to(left);
            assert_eq!(accounts.len(), left);
            assert!((0..left).all(|i| accounts.find_key(&key(i)) == Some(i as u32)));
            assert!((left..3_500).all(|i| accounts.find_key(&key(i)).is_none()));
        }
    }

    #[test]
    fn accounts_are_found_by_their_keys_after_the_index_grew() {
        let hash = HashKey([5, 6]);
        let mut accounts = Accounts::new(hash);
        let names: Vec<String> = (0..5_000).map(|i| format!("{i}@a-rather-long-realm.example")).collect();
        for name in &names {
            let key = PackedKey::new(hash, KeyKind::Nai, name.as_bytes());
            assert_eq!(accounts.find_key(&key), None);
            accounts.open(key, name.as_bytes());
        }
        for (number, name) in names.iter().enumerate() {
            let key = PackedKey::new(hash, KeyKind::Nai, name.as_bytes());
            assert_eq!(accounts.find_key(&key), Some(number as u32));
            assert_eq!(accounts.octets(number as u32), name.as_bytes());
        }
    }
}
