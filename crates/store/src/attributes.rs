//! Attributes of an account's people: which names has anybody a value under?
//!
//! The store keeps each name with a witness, a recipient who had a value when the name was noted. A question
//! looks at the witnesses alone. Only where one was deleted or lost its value are the people looked through
//! for another, who is noted. So names are right at any moment, though nothing is counted.

use crate::{SharedStore, StoreError};
use records::Recipient;
use std::collections::BTreeMap;

/// Names with their witnesses that are written in one piece.
const SLICE_NAMES_MAX: usize = 10_000;

/// Names that somebody has a value under, each with the first one found.
#[derive(Default)]
pub(crate) struct FoundAttributes(BTreeMap<String, String>);

impl FoundAttributes {
    /// Takes a person in. True: there are so many that they are to be written.
    pub(crate) fn take(&mut self, person: &Recipient) -> bool {
        for name in valued(person) {
            if !self.0.contains_key(name) {
                self.0.insert(name.to_owned(), person.id.clone());
            }
        }
        self.0.len() >= SLICE_NAMES_MAX
    }

    /// All of them, in order.
    pub(crate) fn drain(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0).into_iter().collect()
    }

    pub(crate) fn of(people: &[Recipient]) -> Vec<(String, String)> {
        let mut found = FoundAttributes::default();
        for person in people {
            found.take(person);
        }
        found.drain()
    }
}

fn valued(person: &Recipient) -> impl Iterator<Item = &str> {
    person.attributes.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str())
}

fn has(person: &Recipient, name: &str) -> bool {
    person.attributes.get(name).is_some_and(|value| !value.is_empty())
}

/// Those of the names under which no recipient of the account has a value, in the order asked.
///
/// # Errors
/// As the store's.
pub async fn unused_attributes(
    store: &SharedStore,
    account: &str,
    names: &[String],
) -> Result<Vec<String>, StoreError> {
    let noted = store.attribute_witnesses(account, names).await?;
    let ids: Vec<String> = noted.iter().map(|(_, witness)| witness.clone()).collect();
    let witnesses = store.recipients_by_ids(account, &ids).await?;
    let stands =
        |(name, id): &&(String, String)| witnesses.iter().any(|person| person.id == *id && has(person, name));
    let mut used: Vec<String> = noted.iter().filter(stands).map(|(name, _)| name.clone()).collect();
    let doubtful: Vec<String> =
        noted.into_iter().map(|(name, _)| name).filter(|name| !used.contains(name)).collect();
    if !doubtful.is_empty() {
        let found = look_through(store, account, doubtful).await?;
        used.extend(found.iter().map(|(name, _)| name.clone()));
        if let Err(error) = store.note_attributes(account, found).await {
            tracing::debug!(%error, "people are looked through again for these attributes");
        }
    }
    Ok(names.iter().filter(|name| !used.contains(name)).cloned().collect())
}

/// The first who has a value, for each name that anybody has.
async fn look_through(
    store: &SharedStore,
    account: &str,
    mut names: Vec<String>,
) -> Result<Vec<(String, String)>, StoreError> {
    let (store, account) = (store.clone(), account.to_owned());
    let look = move || {
        let mut found = Vec::new();
        store.scan_recipients(&account, &mut |people| {
            for person in people {
                names.retain(|name| {
                    let is_found = has(person, name);
                    if is_found {
                        found.push((name.clone(), person.id.clone()));
                    }
                    !is_found
                });
            }
            !names.is_empty()
        })?;
        Ok(found)
    };
    tokio::task::spawn_blocking(look).await.unwrap_or(Err(StoreError::Closed))
}
