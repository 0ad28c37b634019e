//! PersonLookup finds the people behind addresses that wrote.
//!
//! There is no index of addresses: all people are gone through, once for all addresses that wait, and who was
//! found is remembered for a while.

use crate::api::EngineError;
use crate::run::store_error;
use records::{ChannelNumber, Recipient};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{SharedStore, StoreError};

/// Who was found is remembered for so long.
const REMEMBERED: Duration = Duration::from_secs(300);
/// Addresses that are remembered at most.
const REMEMBERED_MAX: usize = 10_000;

/// An address of an account, by its key.
pub(super) type AddressOf = (String, ChannelNumber, String);

/// See the module.
#[derive(Default)]
pub(super) struct PersonLookup {
    known: Mutex<FxHashMap<AddressOf, (Instant, Vec<String>)>>,
}

/// The people behind each address: those with none are not in it.
pub(super) type People = FxHashMap<AddressOf, Vec<Recipient>>;

/// The form in which addresses are looked for.
pub(super) fn address_of(account: &str, channel: ChannelNumber, address: &str) -> AddressOf {
    let key = channels::canonical(channel, address, &channels::Defaults::default()).into_owned();
    (account.to_owned(), channel, key)
}

impl PersonLookup {
    /// Finds all of them; those that `is_asked_for` refuses only among those who are remembered.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn find(
        &self,
        store: &SharedStore,
        addresses: FxHashSet<AddressOf>,
        is_asked_for: impl Fn(&AddressOf) -> bool,
    ) -> Result<People, EngineError> {
        let mut people = People::default();
        let mut missing: FxHashMap<String, FxHashSet<AddressOf>> = FxHashMap::default();
        for of in addresses {
            let found = self.remembered(store, &of).await.map_err(store_error)?;
            match found.is_empty() {
                false => _ = people.insert(of, found),
                true if !is_asked_for(&of) => {}
                true => _ = missing.entry(of.0.clone()).or_default().insert(of),
            }
        }
        for (account, wanted) in missing {
            let store = Arc::clone(store);
            let scan = move || scan(&store, &account, &wanted);
            let found = tokio::task::spawn_blocking(scan).await;
            let found = found.map_err(|error| EngineError::Internal(error.to_string()))?;
            let found = found.map_err(store_error)?;
            self.remember(&found);
            people.extend(found);
        }
        Ok(people)
    }

    /// Those who were found before, and still have the address.
    async fn remembered(&self, store: &SharedStore, of: &AddressOf) -> Result<Vec<Recipient>, StoreError> {
        let ids = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let found = known.get(of).filter(|(at, _)| at.elapsed() < REMEMBERED);
            found.map(|(_, ids)| ids.clone()).unwrap_or_default()
        };
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = store.recipients_by_ids(&of.0, &ids).await?;
        found.retain(|person| has(person, of.1, &of.2));
        Ok(found)
    }

    fn remember(&self, people: &People) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + people.len() > REMEMBERED_MAX {
            known.clear();
        }
        let at = Instant::now();
        let ids = |found: &[Recipient]| found.iter().map(|person| person.id.clone()).collect();
        known.extend(people.iter().map(|(of, found)| (of.clone(), (at, ids(found)))));
    }
}

fn scan(store: &SharedStore, account: &str, wanted: &FxHashSet<AddressOf>) -> Result<People, StoreError> {
    let by_channel: FxHashSet<ChannelNumber> = wanted.iter().map(|(_, channel, _)| *channel).collect();
    let mut keys: FxHashMap<(ChannelNumber, &str), &AddressOf> = FxHashMap::default();
    keys.extend(wanted.iter().map(|of| ((of.1, of.2.as_str()), of)));
    let mut people = People::default();
    store.scan_recipients(account, &mut |slice| {
        for person in slice {
            let devices = person.devices.iter().filter(|device| by_channel.contains(&device.channel));
            for device in devices {
                let key = channels::key(device.channel, &device.address);
                let Some(of) = keys.get(&(device.channel, &*key)) else { continue };
                let found = people.entry((*of).clone()).or_default();
                if found.last().is_none_or(|last| last.id != person.id) {
                    found.push(person.clone());
                }
            }
        }
        true
    })?;
    Ok(people)
}

fn has(person: &Recipient, channel: ChannelNumber, key: &str) -> bool {
    let mut devices = person.devices.iter().filter(|device| device.channel == channel);
    devices.any(|device| channels::key(channel, &device.address) == key)
}
