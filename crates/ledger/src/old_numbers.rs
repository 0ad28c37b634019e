//! Old numbers: accounts that a ledger until 0.2.0 opened as `+46…`, beside or in the place of `46…`. They
//! keep their key, their shard and their money; whoever names the number in either form finds them.

use std::collections::HashMap;

use super::batch::account_hash;
use super::hash::HashKey;
use super::key::{KeyKind, PackedKey, canonical};
use super::shard::Shard;

/// Accounts with a `+` in their key, by the key without it. Nearly every ledger has none.
#[derive(Debug, Default)]
pub(super) struct OldNumbers(HashMap<PackedKey, OldNumber>);

#[derive(Debug)]
struct OldNumber {
    key: PackedKey,
    /// There is an account without the `+` too: each form then has its own.
    has_twin: bool,
}

impl OldNumbers {
    /// Those of all shards, as they are at a start: no new one is opened.
    pub(super) fn of<'s>(key: HashKey, shards: impl Iterator<Item = &'s Shard> + Clone) -> OldNumbers {
        let mut old = HashMap::new();
        for (_, account) in shards.clone().flat_map(|shard| shard.accounts().iter()) {
            let octets = account.key.octets().filter(|octets| octets.first() == Some(&b'+'));
            let number = octets.as_deref().map(|octets| canonical(account.key.kind(), octets));
            if let Some(number) = number.filter(|number| number.first() != Some(&b'+')) {
                let (known, _) = account_hash(key, KeyKind::E164, number);
                let has_twin = shards.clone().any(|shard| shard.find(&known).is_some());
                old.insert(known, OldNumber { key: account.key, has_twin });
            }
        }
        OldNumbers(old)
    }

    /// The key of the account that is meant by these octets, whose key is `known` in a new ledger.
    #[inline]
    pub(super) fn find(&self, known: PackedKey, octets: &[u8]) -> PackedKey {
        if self.0.is_empty() {
            return known;
        }
        let is_plus = octets.first() == Some(&b'+');
        self.0.get(&known).filter(|old| is_plus || !old.has_twin).map_or(known, |old| old.key)
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::{Kind, Request};
    use super::super::tests::{ShardUnderTest, plain};
    use super::*;

    const KEY: HashKey = HashKey([11, 12]);

    #[test]
    fn an_account_that_was_opened_with_a_plus_is_found_in_either_form() {
        let raw = |octets: &str| PackedKey::new(KEY, KeyKind::E164, octets.as_bytes());
        let mut ledger = ShardUnderTest::new(Default::default());
        for name in ["+4670", "+4671", "4671", "4672"] {
            let create = Kind::Create { balance: 1, limit: 0 };
            ledger.ask(&Request { account: raw(name), account_octets: name.as_bytes(), ..plain(create) });
        }
        let old = OldNumbers::of(KEY, std::iter::once(&ledger.shard));
        for (said, meant) in [
            ("4670", "+4670"),
            ("+4670", "+4670"),
            ("4671", "4671"),
            ("+4671", "+4671"),
            ("4672", "4672"),
            ("+4672", "4672"),
            ("+4673", "4673"),
        ] {
            let (known, _) = account_hash(KEY, KeyKind::E164, said.as_bytes());
            assert_eq!(old.find(known, said.as_bytes()), raw(meant), "{said}");
        }
    }
}
