//! Store keeps aggregates in SQL: a trait per aggregate, SQLite behind all of them for one process,
//! PostgreSQL for several.
//!
//! Invariants worth naming:
//! - Every row has its account from the first migration.
//! - One writer drains a queue into batches; callers with somebody waiting go before imports. Readers never
//!   wait for it.
//! - An alert that was accepted is synced to disk, whatever else is relaxed.
//! - An import is staged under a generation of its own and becomes visible at one stroke; until then
//!   nobody sees a row of it, and nothing waits for it.
//! - Bulk is written in key order and in slices: what has somebody waiting waits for one slice at most.
//! - The writer never moves a long log into the database: that is done beside it.
//! - No index on random keys: carrier ids live in the engine's log-backed map.

mod alerts;
mod attachment_sweep;
mod attachments;
mod attributes;
pub mod audit;
mod cap_messages;
#[cfg(test)]
mod conformance;
mod deliveries;
mod documents;
mod error;
mod evidence;
mod groups;
pub mod import;
mod import_jobs;
mod import_merge;
mod leases;
mod ledger_log;
pub mod media;
mod observers;
mod opt_outs;
pub mod postgres;
mod privacy;
mod recipients;
pub mod rule;
pub mod search;
mod sessions;
mod spool;
pub mod spreadsheet;
pub mod sqlite;
mod staged;
mod stops;
pub mod tiles;
mod tokens;
mod visible;

pub use alerts::{Accepted, Alerts, ApprovalChange, IdempotencyKey, KeyOwner, SeenAlert};
pub use attachment_sweep::sweep_attachments;
pub use attachments::{Attachments, FILES_MAX, ForgottenFiles, NAMED_KEPT_S, OwnedFile, UploadRoom};
pub use attributes::unused_attributes;
pub use audit::{Act, Audit, AuditEntry, AuditKey, AuditSearch};
pub use cap_messages::{CapEnd, CapMessages, CapTold};
pub use deliveries::{Deliveries, Fold, FoldedBlock};
pub use documents::{
    DOCUMENT_KEY_OCTETS_MAX, DOCUMENT_OCTETS_MAX, Document, DocumentKind, DocumentWritten, Documents,
    Expected, NewDocument,
};
pub use error::StoreError;
pub use evidence::{
    EVIDENCE_PAGE_LEAVES, Evidence, EvidenceDraft, EvidenceHead, EvidenceKind, EvidenceLeaf, EvidencePage,
    NewEvidence,
};
pub use groups::Groups;
pub use import_jobs::{AbsentPeople, ImportCounts, ImportDocument, ImportJobs, ImportStep};
pub use leases::{Fence, HeldLease, Holder, LeaseTaken, Leases};
pub use ledger_log::{Appended, LedgerBlock, LedgerHold, LedgerIdentity, LedgerLog, NewLedgerBlock};
pub use observers::Observers;
pub use opt_outs::{OptOut, OptOuts, PERHAPS_STOPS_MAX, PerhapsStop};
pub use privacy::{ErasedRecord, PendingErasure, Privacy, StopOf};
pub use recipients::{DirectoryRevision, EncodedPeople, ImportNo, Recipients};
pub use sessions::{Sessions, StoredSession};
pub use stops::{ForgottenStop, OptOutSet, STOP_HASH_OCTETS, StopHash, StopHasher};
pub use tokens::Tokens;

use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Everything a store is. One value, shared by doors and engine.
pub trait Store:
    Recipients
    + Groups
    + OptOuts
    + Alerts
    + CapMessages
    + Attachments
    + Deliveries
    + Tokens
    + Observers
    + Audit
    + Privacy
    + Evidence
    + Leases
    + Documents
    + Sessions
    + ImportJobs
    + Send
    + Sync
{
    /// The same store, in which every transaction that writes asks first whether the lease is still held at
    /// this epoch; once it is not, each fails with [`StoreError::Fenced`] and changes nothing.
    fn fenced(&self, fence: Fence) -> SharedStore;
    /// Who this store is: made with the first migration, another for each database. What belongs to it (a
    /// bus) can be told by it.
    fn house(&self) -> BoxFuture<'_, Result<uuid::Uuid, StoreError>>;
    /// The id that this store and its bus share; nothing: it never had a bus that knew it.
    fn pair(&self) -> BoxFuture<'_, Result<Option<uuid::Uuid>, StoreError>>;
    /// Takes over the id of the pair. Done twice it is done once.
    fn set_pair(&self, pair: uuid::Uuid) -> BoxFuture<'_, Result<(), StoreError>>;
    /// What is wrong with the server behind the store now. A file of this machine has no server.
    fn trouble(&self) -> Option<records::ServerTrouble> {
        None
    }
    /// The key of the hashes by which stops of forgotten people are known: a secret of the installation,
    /// which is not in the database. The first one that is set holds.
    fn set_stop_key(&self, key: [u8; 32]);
    /// The log of a ledger that all processes with this store share. None: the store is one process's own.
    fn ledger_log(&self) -> Option<Arc<dyn LedgerLog>>;
    /// Moves what is in the write-ahead log where it belongs, and closes; for an orderly end.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// A shared store.
pub type SharedStore = Arc<dyn Store>;
