//! Checks of whom an alert names: people whom nobody knows, and people whom nothing reaches, are told by
//! name.

use super::actor::store_error;
use super::submit::RequestCheck;
use crate::api::{EngineError, Problem};
use crate::solve::audience::To;
use channels::legible;
use std::collections::HashMap;

/// People named one by one who are looked up; the report has a row for each of any number.
const LOOKED_UP_MAX: usize = 10_000;
/// People looked up in one go.
const AT_ONCE: usize = 1_000;
/// Problems of this kind in one answer; of more their number is told.
const LISTED_MAX: usize = 50;

impl RequestCheck<'_> {
    /// What is odd about the people that an alert names, and does not stop it: a slip in an id of the
    /// audience leaves somebody out, one in `exclude` sends to somebody who was not meant.
    pub(super) async fn named_people(
        &self,
        account: &str,
        wanted: &[To],
        unwanted: &[To],
    ) -> Result<Vec<Problem>, EngineError> {
        let named: Vec<(&'static str, usize, &str)> =
            ids("audience", wanted).chain(ids("exclude", unwanted)).take(LOOKED_UP_MAX).collect();
        let mut ids: Vec<String> = named.iter().map(|(.., id)| (*id).to_owned()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut reachable: HashMap<String, bool> = HashMap::with_capacity(ids.len());
        for slice in ids.chunks(AT_ONCE) {
            let people =
                self.engine.inner.parts.store.recipients_by_ids(account, slice).await.map_err(store_error)?;
            reachable.extend(people.into_iter().map(|person| (person.id, !person.devices.is_empty())));
        }
        let reason = |field: &str, id: &str| match reachable.get(id) {
            None if field == "exclude" => {
                Some(format!("there is no recipient {id:?}: nobody is left out by this"))
            }
            None => Some(format!("there is no recipient {id:?}: nobody is told by this")),
            Some(false) if field == "audience" => {
                Some(format!("recipient {id:?} has no device: nothing reaches them"))
            }
            Some(_) => None,
        };
        let told = named.iter().filter_map(|(field, place, id)| {
            let reason = reason(field, id)?;
            Some(Problem { field: format!("{field}[{place}]"), reason })
        });
        Ok(listed(told.collect()))
    }

    /// Whether there is such a group, defined or only named by its members, also in the form of its name in
    /// which an earlier version may have kept it.
    pub(super) async fn has_group(&self, account: &str, name: &str) -> Result<bool, EngineError> {
        let store = &self.engine.inner.parts.store;
        if store.group_exists(account, name).await.map_err(store_error)? {
            return Ok(true);
        }
        match legible::decomposed(name) {
            Some(name) => store.group_exists(account, &name).await.map_err(store_error),
            None => Ok(false),
        }
    }
}

/// The people named one by one, with the place of each entry.
fn ids<'a>(field: &'static str, entries: &'a [To]) -> impl Iterator<Item = (&'static str, usize, &'a str)> {
    entries.iter().enumerate().filter_map(move |(place, to)| match to {
        To::Recipient(id) => Some((field, place, id.as_str())),
        _ => None,
    })
}

fn listed(mut problems: Vec<Problem>) -> Vec<Problem> {
    let more = problems.len().saturating_sub(LISTED_MAX);
    problems.truncate(LISTED_MAX);
    if more > 0 {
        let reason =
            format!("{more} more of those named are unknown or have no device: the report has them all");
        problems.push(Problem { field: "audience".to_owned(), reason });
    }
    problems
}
