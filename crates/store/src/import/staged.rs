//! A provisioning file on its way into the store.

use super::{Defaults, Format, Problem, Reader};
use crate::{ImportNo, SharedStore, StoreError};
use records::{Recipient, Timestamp};
use serde::{Deserialize, Serialize};

/// Recipients staged at a time.
const SLICE_ROWS: usize = 2_000;
/// Octets read between two looks whether a slice is full.
const PIECE_OCTETS: usize = 64 * 1024;
/// Problems that are listed; more are only counted.
pub const PROBLEMS_MAX: usize = 1_000;

/// What to do with a file that has problem rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnProblem {
    /// All or nothing: one problem, and nothing is imported. The rest of the file is still read for more.
    #[default]
    Reject,
    /// Leave out the rows with problems.
    Skip,
}

impl std::str::FromStr for OnProblem {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "reject" => Ok(OnProblem::Reject),
            "skip" => Ok(OnProblem::Skip),
            other => Err(format!("on_problem {other:?} is unknown: reject, skip")),
        }
    }
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Recipients that were put.
    pub imported: u64,
    /// The first [`PROBLEMS_MAX`], in the order of their rows.
    pub problems: Vec<Problem>,
    /// How many more there were.
    pub problems_more: u64,
}

/// A file being imported: begun, fed, and finished. Dropped before it is finished, it leaves nothing (within a tokio
/// runtime; elsewhere the next start sweeps up).
pub struct Staged {
    store: SharedStore,
    import: Option<ImportNo>,
    reader: Reader,
    on_problem: OnProblem,
    read: Vec<Result<Recipient, Problem>>,
    slice: Vec<Recipient>,
    rows: u64,
    problems: Vec<Problem>,
    problems_more: u64,
}

impl Staged {
    /// Begins.
    pub async fn begin(
        store: SharedStore,
        account: &str,
        reader: (Format, Defaults),
        on_problem: OnProblem,
        now: Timestamp,
    ) -> Result<Staged, StoreError> {
        let import = store.begin_import(account, now).await?;
        Ok(Staged {
            store,
            import: Some(import),
            reader: Reader::new(reader.0, reader.1),
            on_problem,
            read: Vec::new(),
            slice: Vec::new(),
            rows: 0,
            problems: Vec::new(),
            problems_more: 0,
        })
    }

    /// Takes the next octets of the file; waits while the store is behind. Never call it again after an error.
    pub async fn feed(&mut self, octets: &[u8]) -> Result<(), StoreError> {
        for piece in octets.chunks(PIECE_OCTETS) {
            self.reader.feed(piece, &mut self.read);
            self.sort();
            if self.slice.len() >= SLICE_ROWS {
                self.write().await?;
            }
        }
        Ok(())
    }

    /// Rows read, and problems found so far: for who watches.
    pub fn progress(&self) -> (u64, u64) {
        (self.reader.rows(), self.problem_count())
    }

    /// Nothing more of the file will be read: its header is wrong, or it is too long.
    pub fn is_over(&self) -> bool {
        self.reader.is_over()
    }

    /// Ends the file: publishes what was staged, or nothing at all if it has problems and they are not to be skipped.
    pub async fn finish(mut self) -> Result<Imported, StoreError> {
        self.reader.finish(&mut self.read);
        self.sort();
        self.write().await?;
        let mut imported = 0;
        if let Some(import) = self.import.take() {
            if self.problem_count() > 0 && (self.on_problem == OnProblem::Reject || self.rows == 0) {
                self.store.abandon_import(import).await?;
            } else {
                imported = self.store.publish_import(import).await?;
            }
        }
        let problems = std::mem::take(&mut self.problems);
        Ok(Imported { imported, problems, problems_more: self.problems_more })
    }

    /// Sorts what was read into good and bad. A file that will be rejected is not staged any further.
    fn sort(&mut self) {
        for read in self.read.drain(..) {
            match read {
                Ok(person) if self.problems.is_empty() || self.on_problem == OnProblem::Skip => {
                    self.rows += 1;
                    self.slice.push(person);
                }
                Ok(_) => {}
                Err(problem) if self.problems.len() < PROBLEMS_MAX => self.problems.push(problem),
                Err(_) => self.problems_more += 1,
            }
        }
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        match self.import {
            Some(import) if !self.slice.is_empty() => {
                self.store.stage(import, std::mem::take(&mut self.slice)).await
            }
            _ => Ok(()),
        }
    }

    fn problem_count(&self) -> u64 {
        u64::try_from(self.problems.len()).unwrap_or(u64::MAX).saturating_add(self.problems_more)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(import) = self.import.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let store = SharedStore::clone(&self.store);
            runtime.spawn(async move {
                if let Err(error) = store.abandon_import(import).await {
                    tracing::warn!(%error, "an import that was cut short could not be abandoned");
                }
            });
        }
    }
}
