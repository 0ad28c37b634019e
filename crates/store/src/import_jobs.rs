//! Imports that are looked at before they are published: prepared, held over restarts, committed at one
//! stroke, taken back for a while.

use crate::{DocumentWritten, Expected, ImportNo, NewDocument, StoreError};
use futures_util::future::BoxFuture;
use records::{Recipient, Timestamp};
use serde::{Deserialize, Serialize};

/// What an import does to the people there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportCounts {
    /// Ids that nobody has yet.
    pub new: u64,
    /// People who will be another than now.
    pub changed: u64,
    /// People who are in the file as they are now. Nothing is written for them.
    pub unchanged: u64,
    /// People who go, because they are absent.
    pub gone: u64,
}

/// The people whom an import takes away if they are not in it: those with this value of this attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentPeople {
    /// The attribute's name.
    pub attribute: String,
    /// Its value.
    pub value: String,
}

impl AbsentPeople {
    pub(crate) fn has(&self, person: &Recipient) -> bool {
        person.attributes.get(&self.attribute) == Some(&self.value)
    }
}

/// A step of an import that was prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportStep {
    /// It waits for a decision, over restarts too.
    Hold,
    /// All see it. What it superseded stays until `undo_until`.
    Commit {
        /// It may be taken back until then.
        undo_until: Timestamp,
    },
    /// It is given up; its rows are removed in the background.
    Discard,
    /// What was committed is taken back: what it superseded is seen again, but for people who were put or
    /// deleted since.
    Undo,
}

/// The document of an import, written in the transaction of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportDocument {
    /// The import's account.
    pub account: String,
    /// The document, of the kind Import.
    pub document: NewDocument,
    /// What has to stand there.
    pub expected: Expected,
    /// Now.
    pub now: Timestamp,
}

/// Imports between being read and being settled.
pub trait ImportJobs {
    /// Writes what was staged, unseen, and says what it would do to the people there are: a merge of both in
    /// the order of ids. What is there already as it is gets no row. Then the import can be held.
    fn prepare_import(
        &self,
        import: ImportNo,
        absent: Option<AbsentPeople>,
    ) -> BoxFuture<'_, Result<ImportCounts, StoreError>>;
    /// Takes a step, and writes the document in the same transaction; nothing of both unless the document
    /// stands as expected. [`StoreError::Conflict`]: the import is not in a state for this step.
    fn step_import(
        &self,
        import: ImportNo,
        step: ImportStep,
        document: ImportDocument,
    ) -> BoxFuture<'_, Result<DocumentWritten, StoreError>>;
    /// Whether it is still being read or prepared by a living process.
    fn is_import_staged(&self, import: ImportNo) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// What may no longer be taken back is settled: what it superseded is removed in the background. Resolves
    /// to how many there were.
    fn settle_imports(&self, now: Timestamp) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Ids of people of whom a search term begins so, each once, in order; of the first `limit` terms.
    fn people_by_term<'a>(
        &'a self,
        account: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;
}

/// Refuses a step that the state does not allow.
pub(crate) fn not_allowed(import: ImportNo, step: ImportStep) -> StoreError {
    let why = match step {
        ImportStep::Hold => "it is not being prepared",
        ImportStep::Commit { .. } | ImportStep::Discard => "it does not wait for a decision",
        ImportStep::Undo => "it was not committed, or its time to be undone is over",
    };
    StoreError::Conflict { why: format!("import {}: {why}", import.0) }
}
