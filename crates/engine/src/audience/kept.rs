//! Evaluations that are kept for a short time: as long as the directory is the same, and quiet hours are
//! about what they were.

use super::evaluation::Evaluation;
use records::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;
use store::DirectoryRevision;

/// Evaluations kept.
const KEPT_MAX: usize = 32;
/// Octets of them; one of a million people has about 40 million.
const KEPT_OCTETS_MAX: usize = 128 * 1024 * 1024;
/// Seconds for which one is kept: somebody's quiet hours may begin or end meanwhile.
const KEPT_S: i64 = 60;

/// What an evaluation follows from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvaluationKey {
    pub(super) account: String,
    pub(super) revision: DirectoryRevision,
    /// The part of a request that solving looks at.
    pub(super) audience: Vec<u8>,
}

struct Kept {
    key: EvaluationKey,
    evaluation: Arc<Evaluation>,
    octets: usize,
    until: Timestamp,
}

/// See the module. The newest is last.
#[derive(Default)]
pub(super) struct KeptEvaluations(VecDeque<Kept>);

impl KeptEvaluations {
    pub(super) fn find(&mut self, key: &EvaluationKey, now: Timestamp) -> Option<Arc<Evaluation>> {
        self.0.retain(|kept| now < kept.until);
        self.0.iter().find(|kept| kept.key == *key).map(|kept| kept.evaluation.clone())
    }

    pub(super) fn keep(&mut self, key: EvaluationKey, evaluation: Arc<Evaluation>, now: Timestamp) {
        // An account's earlier revisions are asked for no more.
        self.0.retain(|kept| {
            kept.key != key && (kept.key.account != key.account || kept.key.revision == key.revision)
        });
        let octets = evaluation.octets() + key.audience.len();
        self.0.push_back(Kept { key, evaluation, octets, until: now.plus_s(KEPT_S) });
        let octets = |kept: &VecDeque<Kept>| kept.iter().map(|kept| kept.octets).sum::<usize>();
        while self.0.len() > KEPT_MAX || octets(&self.0) > KEPT_OCTETS_MAX {
            self.0.pop_front();
        }
    }
}
