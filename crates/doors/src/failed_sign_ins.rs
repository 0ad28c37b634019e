//! Failed sign-ins, counted by address for the audit trail: somebody who guesses makes an entry a minute and
//! not one a guess.

use net::network_of;
use records::{Account, Timestamp};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Act;

/// The verb of their entries.
pub const VERB: &str = "sign-in.failed";
/// Addresses (in IPv6: first 64 bits) that are counted apart until they are noted; all further ones together.
const ADDRESSES_MAX: usize = 32;

/// Wrong names, passwords and tokens since they were last noted.
#[derive(Debug, Default)]
pub struct FailedSignIns(Mutex<HashMap<Key, u64>>);

/// Where: a door, and an address of its own or that of all the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    door: &'static str,
    network: Option<IpAddr>,
}

impl FailedSignIns {
    /// One more.
    pub fn count(&self, door: &'static str, client: IpAddr) {
        let key = Key { door, network: Some(network_of(client)) };
        self.add(key, 1);
    }

    /// What failed since; counting begins anew.
    pub fn take(&self) -> TakenFailures {
        let mut counts: Vec<(Key, u64)> = std::mem::take(&mut *self.lock()).into_iter().collect();
        counts.sort_unstable_by_key(|(key, count)| (std::cmp::Reverse(*count), key.network, key.door));
        TakenFailures(counts)
    }

    /// What was taken could not be noted: it is counted again.
    pub fn put_back(&self, taken: TakenFailures) {
        taken.0.into_iter().for_each(|(key, count)| self.add(key, count));
    }

    fn add(&self, key: Key, count: u64) {
        let mut counts = self.lock();
        let has_room = counts.len() < ADDRESSES_MAX || counts.contains_key(&key);
        let key = if has_room { key } else { Key { network: None, ..key } };
        *counts.entry(key).or_default() += count;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Failures that are to be noted.
#[derive(Debug)]
pub struct TakenFailures(Vec<(Key, u64)>);

impl TakenFailures {
    /// As acts of the server's, the most first.
    pub fn acts(&self, now: Timestamp) -> Vec<Act> {
        self.0.iter().map(|(key, count)| act(*key, *count, now)).collect()
    }
}

fn act(key: Key, count: u64, at: Timestamp) -> Act {
    Act {
        at,
        account: Account::DEFAULT.to_owned(),
        token: store::audit::SERVER.to_owned(),
        verb: VERB.to_owned(),
        from: key.network.map(|network| network.to_string()).unwrap_or_default(),
        object: key.door.to_owned(),
        detail: if key.network.is_none() { "from further addresses".to_owned() } else { String::new() },
        count: Some(count),
        ..Act::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u16) -> IpAddr {
        IpAddr::from([192, 0, (last >> 8) as u8, last as u8])
    }

    #[test]
    fn many_guesses_of_one_address_are_one_entry_with_their_count() {
        let failed = FailedSignIns::default();
        (0..1_000).for_each(|_| failed.count("http", ip(7)));
        failed.count("sendsms", ip(7));
        let taken = failed.take();
        let acts = taken.acts(Timestamp(5));
        let said: Vec<_> =
            acts.iter().map(|act| (act.object.as_str(), act.from.as_str(), act.count)).collect();
        assert_eq!(said, [("http", "192.0.0.7", Some(1_000)), ("sendsms", "192.0.0.7", Some(1))]);
        assert_eq!(failed.take().acts(Timestamp(6)), [], "they are counted once");
        failed.put_back(taken);
        failed.count("http", ip(7));
        assert_eq!(failed.take().acts(Timestamp(7))[0].count, Some(1_001), "what was put back is not lost");
    }

    #[test]
    fn addresses_beyond_the_bound_are_counted_together() {
        let failed = FailedSignIns::default();
        (0..5_000).for_each(|last| failed.count("http", ip(last)));
        let acts = failed.take().acts(Timestamp(5));
        assert_eq!(acts.len(), ADDRESSES_MAX + 1);
        assert_eq!(acts.iter().filter_map(|act| act.count).sum::<u64>(), 5_000);
        assert_eq!(acts[0].from, "", "the most are those of the others together");
    }
}
