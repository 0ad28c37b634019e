//! People of accounts in memory, for audiences that everybody has to be asked for: solving and counting look
//! through them instead of SQL while the account's revision stays.
//!
//! An index is filled by the first look that goes through all people of SQL, and is bounded in octets over
//! all accounts; an account beyond the bound is read from SQL each time.

mod counts;
mod index;

pub use counts::DirectoryCounts;
pub use index::PeopleIndex;

use index::IndexBuilder;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{DirectoryRevision, EncodedPeople};

/// Octets of all indexes of a process. A person takes about 150.
const INDEX_OCTETS_MAX: usize = 512 * 1024 * 1024;

/// The indexes of a process.
#[derive(Clone, Default)]
pub struct DirectoryCache {
    known: Arc<Mutex<KnownIndexes>>,
}

#[derive(Default)]
struct KnownIndexes {
    by_account: FxHashMap<String, KnownIndex>,
    /// One is being filled: the others read from SQL and fill nothing.
    is_filling: bool,
    looks: u64,
}

struct KnownIndex {
    revision: u64,
    /// Nothing: there are too many people for it.
    index: Option<Arc<PeopleIndex>>,
    /// Number of the last look at it.
    used: u64,
}

impl DirectoryCache {
    /// The people of an account as of this revision.
    pub(crate) fn people(&self, account: &str, revision: DirectoryRevision) -> Option<Arc<PeopleIndex>> {
        let mut known = self.known();
        known.looks += 1;
        let looks = known.looks;
        let found = known.by_account.get_mut(account).filter(|known| known.revision == revision.people)?;
        found.used = looks;
        found.index.clone()
    }

    /// Begins an index; nothing if another one is being begun, or these people are known to be too many.
    pub(crate) fn begin(&self, account: &str, revision: DirectoryRevision) -> Option<IndexFilling> {
        let mut known = self.known();
        let is_current = known.by_account.get(account).is_some_and(|known| known.revision == revision.people);
        if known.is_filling || is_current {
            return None;
        }
        // What is there of an earlier revision is of no use any more.
        known.by_account.remove(account);
        known.is_filling = true;
        let account = account.to_owned();
        Some(IndexFilling {
            cache: self.clone(),
            account,
            revision,
            builder: IndexBuilder::new(INDEX_OCTETS_MAX),
        })
    }

    fn known(&self) -> MutexGuard<'_, KnownIndexes> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownIndexes {
    /// Makes room for so many octets: those that nobody looked at for the longest time go.
    fn make_room(&mut self, octets: usize) {
        let size = |known: &KnownIndex| known.index.as_ref().map_or(0, |index| index.octets());
        while self.by_account.values().map(size).sum::<usize>() + octets > INDEX_OCTETS_MAX {
            let kept = self.by_account.iter().filter(|(_, known)| known.index.is_some());
            let Some(oldest) = kept.min_by_key(|(_, known)| known.used).map(|(account, _)| account.clone())
            else {
                return;
            };
            self.by_account.remove(&oldest);
        }
    }
}

/// An index while people are read from SQL.
pub(crate) struct IndexFilling {
    cache: DirectoryCache,
    account: String,
    revision: DirectoryRevision,
    builder: IndexBuilder,
}

impl IndexFilling {
    /// Takes the next people, in the order of their ids.
    pub(crate) fn take(&mut self, people: &EncodedPeople) {
        people.records().for_each(|record| self.builder.add(record));
    }

    /// All were taken, and afterwards the account had this revision: if it is the one from before, they are
    /// the people of that revision.
    pub(crate) fn end(mut self, revision: DirectoryRevision) {
        if revision.people != self.revision.people {
            return;
        }
        let index = self.builder.finish().map(Arc::new);
        let mut known = self.cache.known();
        known.make_room(index.as_ref().map_or(0, |index| index.octets()));
        let used = known.looks;
        let entry = KnownIndex { revision: revision.people, index, used };
        known.by_account.insert(std::mem::take(&mut self.account), entry);
    }
}

impl Drop for IndexFilling {
    fn drop(&mut self) {
        self.cache.known().is_filling = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Recipient;

    fn revision(people: u64) -> DirectoryRevision {
        DirectoryRevision { people, stops: 0 }
    }

    fn people(ids: &[&str]) -> EncodedPeople {
        let person = |id: &&str| Recipient { id: (*id).to_owned(), ..Recipient::default() };
        ids.iter().map(person).collect::<Vec<_>>().iter().collect()
    }

    #[test]
    fn an_index_holds_for_its_revision_and_one_is_filled_at_a_time() {
        let cache = DirectoryCache::default();
        assert!(cache.people("a", revision(1)).is_none());
        let mut filling = cache.begin("a", revision(1)).unwrap();
        assert!(cache.begin("b", revision(1)).is_none(), "one at a time");
        filling.take(&people(&["ann", "bo"]));
        filling.end(revision(1));
        assert_eq!(cache.people("a", revision(1)).unwrap().person("bo").unwrap().unwrap().id, "bo");
        assert!(cache.people("a", revision(2)).is_none() && cache.people("b", revision(1)).is_none());
        assert!(cache.begin("a", revision(1)).is_none(), "it is there");
        drop(cache.begin("a", revision(2)).unwrap());
        assert!(cache.people("a", revision(1)).is_none(), "an earlier one goes");
    }

    #[test]
    fn people_who_changed_while_they_were_read_are_not_kept() {
        let cache = DirectoryCache::default();
        let mut filling = cache.begin("a", revision(1)).unwrap();
        filling.take(&people(&["ann"]));
        filling.end(revision(2));
        assert!(cache.people("a", revision(1)).is_none() && cache.people("a", revision(2)).is_none());
        assert!(cache.begin("a", revision(2)).is_some());
    }
}
