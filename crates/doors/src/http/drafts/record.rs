//! A draft as it is stored: an alert's request as the client wrote it, and where the draft is on its way.

use crate::http::authors::Author;
use records::{AlertId, Mode, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Earlier versions of a draft that are kept.
pub(crate) const VERSIONS_MAX: usize = 50;
/// Users and tokens that write one draft.
const WRITERS_MAX: usize = 100;
/// A version is kept if the one kept before it is at least so much older, or if another author follows.
const KEEP_EVERY_US: i64 = 60_000_000;

/// A draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DraftRecord {
    /// Live or drill.
    pub space: Mode,
    pub owner: Author,
    pub created: Timestamp,
    /// Who wrote its current version.
    pub changed_by: Author,
    /// All who wrote it, in the order in which they began; none of them may approve it.
    #[serde(default)]
    pub writers: Vec<Author>,
    /// The alert's request, without its mode.
    pub request: Value,
    /// Earlier versions, the oldest first.
    #[serde(default)]
    pub kept: Vec<KeptVersion>,
    /// It is noted here before an alert is made of it, so that a crash between never makes two.
    #[serde(default)]
    pub submitting: Option<Submitting>,
    /// The alert that was made of it.
    #[serde(default)]
    pub submitted: Option<SubmittedAs>,
    /// Why an approver opened it again.
    #[serde(default)]
    pub returned: Option<Returned>,
}

/// An earlier version that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptVersion {
    pub version: u64,
    pub changed: Timestamp,
    pub by: Author,
}

/// A submission that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Submitting {
    /// The version that is submitted.
    pub version: u64,
    pub at: Timestamp,
}

/// A submission that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubmittedAs {
    pub alert: AlertId,
    /// The version that was submitted.
    pub version: u64,
    pub at: Timestamp,
}

/// A return by an approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Returned {
    /// The alert that was returned.
    pub alert: AlertId,
    pub by: String,
    pub reason: String,
    pub at: Timestamp,
}

/// The document of an earlier version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DraftVersionRecord {
    pub changed: Timestamp,
    pub by: Author,
    pub request: Value,
}

/// The key of an earlier version's document; they sort by number.
pub(crate) fn version_key(draft: &str, version: u64) -> String {
    format!("{draft}/{version:012}")
}

impl DraftRecord {
    pub(crate) fn new(space: Mode, owner: Author, request: Value, now: Timestamp) -> DraftRecord {
        DraftRecord {
            space,
            changed_by: owner.clone(),
            writers: vec![owner.clone()],
            owner,
            created: now,
            request,
            kept: Vec::new(),
            submitting: None,
            submitted: None,
            returned: None,
        }
    }

    /// Whether its current version, of this time, is worth keeping when `author` replaces it.
    pub(crate) fn is_worth_keeping(&self, changed: Timestamp, author: &Author) -> bool {
        let is_of_another = self.changed_by.id != author.id;
        is_of_another || self.kept.last().is_none_or(|last| changed.us_since(last.changed) >= KEEP_EVERY_US)
    }

    /// Notes who writes the version that follows.
    ///
    /// # Errors
    /// More people than a draft may have.
    pub(crate) fn written_by(&mut self, author: Author) -> Result<(), String> {
        if self.writers.iter().all(|writer| writer.id != author.id) {
            if self.writers.len() >= WRITERS_MAX {
                return Err(format!(
                    "{WRITERS_MAX} people have written this draft: copy it, and go on with the copy"
                ));
            }
            self.writers.push(author.clone());
        }
        self.changed_by = author;
        Ok(())
    }

    /// Lists a version that is kept; gives the number of the one to be forgotten for it.
    pub(crate) fn keep(&mut self, kept: KeptVersion, now: Timestamp) -> Option<u64> {
        self.kept.push(kept);
        if self.kept.len() <= VERSIONS_MAX {
            return None;
        }
        let at = most_crowded(&self.kept, now);
        Some(self.kept.remove(at).version)
    }
}

/// The version whose neighbours are nearest to each other, measured by its age: old versions are thinned
/// first, and the first and the last stay.
fn most_crowded(kept: &[KeptVersion], now: Timestamp) -> usize {
    let gap = |at: usize| {
        let span = kept[at + 1].changed.us_since(kept[at - 1].changed).max(0) as f64;
        span / (now.us_since(kept[at].changed).max(0) as f64 + 1.0)
    };
    (1..kept.len().saturating_sub(1)).min_by(|a, b| gap(*a).total_cmp(&gap(*b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn author(id: &str) -> Author {
        Author { id: id.into(), name: String::new() }
    }

    #[test]
    fn a_version_is_kept_each_minute_and_where_another_author_follows() {
        let mut draft = DraftRecord::new(Mode::Live, author("a"), json!({}), Timestamp(0));
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        assert!(draft.is_worth_keeping(at(0), &author("a")), "the first one");
        draft.keep(KeptVersion { version: 1, changed: at(0), by: author("a") }, at(1));
        for (seconds, by, expected) in [(1, "a", false), (59, "a", false), (60, "a", true), (2, "b", true)] {
            assert_eq!(draft.is_worth_keeping(at(seconds), &author(by)), expected, "{seconds} {by}");
        }
    }

    #[test]
    fn versions_of_a_long_day_stay_few_and_the_newer_ones_are_denser() {
        let mut draft = DraftRecord::new(Mode::Live, author("a"), json!({}), Timestamp(0));
        let mut forgotten = 0;
        for minute in 0..1_440 {
            let changed = Timestamp(minute * 60_000_000);
            let kept = KeptVersion { version: minute as u64 + 1, changed, by: author("a") };
            forgotten += usize::from(draft.keep(kept, changed.plus_s(1)).is_some());
        }
        assert_eq!((draft.kept.len(), forgotten), (VERSIONS_MAX, 1_440 - VERSIONS_MAX));
        assert_eq!((draft.kept[0].version, draft.kept[VERSIONS_MAX - 1].version), (1, 1_440));
        let of_last_hour = draft.kept.iter().filter(|kept| kept.version > 1_380).count();
        let of_first_hour = draft.kept.iter().filter(|kept| kept.version <= 60).count();
        assert!(of_last_hour > 3 * of_first_hour, "{of_last_hour} {of_first_hour}");
    }
}
