//! What is kept in SQL: a trait per aggregate, SQLite behind all of them.
//!
//! Invariants worth naming:
//! - Every row has its account from the first migration.
//! - One writer drains a queue into batches; callers with somebody waiting go before imports. Readers never wait for it.
//! - An alert that was accepted is synced to disk, whatever else is relaxed.
//! - An import is staged under a generation of its own and becomes visible at one stroke; until then
//!   nobody sees a row of it, and nothing waits for it.
//! - No index on random keys: carrier ids live in the engine's log-backed map.

use futures_util::future::BoxFuture;
use records::{
    Alert, AlertId, AlertNo, AlertState, CallbackRequest, Channel, Delivery, DeliveryState, EndpointNo, Group, Recipient,
    RosterBlock, Timestamp, Token,
};
use std::sync::Arc;

/// Everything a store is. One value, shared by doors and engine.
pub trait Store: Recipients + Groups + OptOuts + Alerts + Deliveries + Tokens + Observers + Audit + Send + Sync {
    /// Moves what is in the write-ahead log where it belongs, and closes; for an orderly end.
    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// A shared store.
pub type SharedStore = Arc<dyn Store>;

/// People. A key is (account, recipient id).
pub trait Recipients {
    /// Inserts or replaces. All or none. Resolves to each one's new version (for ETags).
    fn put_recipients<'a>(&'a self, account: &'a str, recipients: Vec<Recipient>) -> BoxFuture<'a, Result<Vec<u64>, StoreError>>;
    /// One of them, with its version.
    fn recipient<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<(Recipient, u64)>, StoreError>>;
    /// Those of the ids that exist, in the order asked.
    fn recipients_by_ids<'a>(&'a self, account: &'a str, ids: &'a [String]) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>>;
    /// The next up to `limit` in key order after `after`.
    fn recipients_after<'a>(&'a self, account: &'a str, after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Recipient>, StoreError>>;
    /// The ids that say they belong to one of `groups`, in key order after `after`.
    fn members_after<'a>(&'a self, account: &'a str, groups: &'a [String], after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;
    /// Removes one. False if there was none.
    fn delete_recipient<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// How many there are.
    fn recipient_count<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Calls `each` with every recipient in key order, in slices, on the calling thread: one snapshot, one pass, no copy of the whole.
    /// For solve, which runs on a thread of its own. Ends early when `each` returns false.
    fn scan_recipients(&self, account: &str, each: &mut dyn FnMut(&[Recipient]) -> bool) -> Result<(), StoreError>;
    /// Begins an import; its rows are seen by nobody until [`Recipients::publish_import`].
    fn begin_import<'a>(&'a self, account: &'a str, now: Timestamp) -> BoxFuture<'a, Result<ImportNo, StoreError>>;
    /// Stages rows. Waits while the writer is busy with who has somebody waiting.
    fn stage<'a>(&'a self, import: ImportNo, rows: Vec<Recipient>) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Makes the import visible at one stroke: existing ids are replaced, absent ids stay. Resolves to the number of rows.
    fn publish_import(&self, import: ImportNo) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Drops a staged import; its rows are removed in the background.
    fn abandon_import(&self, import: ImportNo) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// An import's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportNo(pub u64);

/// Named audiences.
pub trait Groups {
    /// Inserts or replaces. Resolves to the new version.
    fn put_group<'a>(&'a self, account: &'a str, group: Group) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// One of them, with its version.
    fn group<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<(Group, u64)>, StoreError>>;
    /// In key order.
    fn groups_after<'a>(&'a self, account: &'a str, after: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<Group>, StoreError>>;
    /// Removes one. False if there was none.
    fn delete_group<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Is there such a group, defined or only named by its members?
    fn group_exists<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Addresses whose owners said stop, whoever they belong to.
pub trait OptOuts {
    /// Notes a stop (or, with `out` false, a start) for an address.
    fn set_opt_out<'a>(&'a self, account: &'a str, channel: Channel, address: &'a str, out: bool, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>>;
    /// All of the account's.
    fn opt_outs<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Vec<(Channel, String)>, StoreError>>;
}

/// Alerts.
pub trait Alerts {
    /// Stores a new alert, synced to disk before this resolves, and gives it its number. With an idempotency key seen within 24 h the earlier alert
    /// comes back instead, if the body's hash is the same.
    fn accept_alert<'a>(&'a self, alert: Alert, key: Option<IdempotencyKey>) -> BoxFuture<'a, Result<Accepted, StoreError>>;
    /// By its outside id.
    fn alert<'a>(&'a self, account: &'a str, id: AlertId) -> BoxFuture<'a, Result<Option<Alert>, StoreError>>;
    /// By its inside number.
    fn alert_by_no(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Alert>, StoreError>>;
    /// Newest first, older than `before` (an inside number) if given.
    fn alerts_before<'a>(&'a self, account: &'a str, before: Option<AlertNo>, limit: usize) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// Every alert that is not final, of every account: what a start has to pick up.
    fn unfinished_alerts(&self) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>>;
    /// Notes a change of state. Resolves when synced.
    fn set_alert_state<'a>(&'a self, no: AlertNo, state: AlertState, version: u32, note: &'a str, now: Timestamp) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Stores what solve found and moves the alert from solving to `then`, in one transaction per block and one for the move; a
    /// roster of an earlier, interrupted solve is removed first.
    fn put_roster(&self, no: AlertNo, blocks: Vec<RosterBlock>, then: AlertState, now: Timestamp) -> BoxFuture<'_, Result<(), StoreError>>;
    /// One block, by the number of an endpoint in it. On the calling thread; blocks are small.
    fn roster_block(&self, no: AlertNo, of: EndpointNo) -> Result<Option<RosterBlock>, StoreError>;
    /// How many endpoints the roster has.
    fn roster_len(&self, no: AlertNo) -> BoxFuture<'_, Result<u32, StoreError>>;
    /// Removes alerts (with rosters and deliveries) that became final before `before`, at most `limit`. Resolves to those removed.
    fn remove_alerts_before(&self, before: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>>;
    /// Final alerts that became final before `before`, oldest first: for export before removal.
    fn final_alerts_before(&self, before: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>>;
    /// A CAP message of the account by its (sender, identifier): the alerts that carry it, newest first.
    fn alerts_of_cap<'a>(&'a self, account: &'a str, sender: &'a str, identifier: &'a str) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// Ties an alert to the CAP message it came from.
    fn tie_cap<'a>(&'a self, no: AlertNo, account: &'a str, sender: &'a str, identifier: &'a str, sent: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// An idempotency key with the hash of the body it came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// As the client sent it, at most 255 octets.
    pub key: String,
    /// SHA-256 of the body (and of what else decides its meaning).
    pub body_hash: [u8; 32],
}

/// What [`Alerts::accept_alert`] did.
#[derive(Debug, Clone, PartialEq)]
pub enum Accepted {
    /// It is new.
    New(Alert),
    /// It came before, under the same key with the same body.
    Before(Alert),
    /// The key came before with another body.
    KeyTaken,
}

/// Deliveries, folded: rows that are absent are planned.
pub trait Deliveries {
    /// Upserts in key order in one transaction, and notes how far the topic of outcomes is folded.
    fn fold(&self, deliveries: Vec<Delivery>, folded_to: u64) -> BoxFuture<'_, Result<(), StoreError>>;
    /// How far the topic of outcomes is folded.
    fn folded_to(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Deliveries of an alert in key order from `from`, optionally of one state.
    fn deliveries_from(&self, alert: AlertNo, from: EndpointNo, state: Option<DeliveryState>, limit: usize) -> BoxFuture<'_, Result<Vec<Delivery>, StoreError>>;
    /// All of an alert's, in key order, in slices, on the calling thread: for a start and for exports.
    fn scan_deliveries(&self, alert: AlertNo, each: &mut dyn FnMut(&[Delivery]) -> bool) -> Result<(), StoreError>;
}

/// Bearer tokens.
pub trait Tokens {
    /// Adds one.
    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<(), StoreError>>;
    /// By the SHA-256 of its secret; a revoked one is not found.
    fn token_by_hash(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<Option<Token>, StoreError>>;
    /// All of an account, or of all.
    fn tokens<'a>(&'a self, account: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Token>, StoreError>>;
    /// Withdraws one. False if there was none.
    fn revoke_token<'a>(&'a self, id: &'a str, now: Timestamp) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// Observers that registered later.
pub trait Observers {
    /// Adds one; resolves to its id.
    fn put_observer(&self, no: AlertNo, request: CallbackRequest) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// All of an alert.
    fn observers(&self, no: AlertNo) -> BoxFuture<'_, Result<Vec<(u64, CallbackRequest)>, StoreError>>;
    /// Removes one. False if there was none.
    fn delete_observer(&self, no: AlertNo, id: u64) -> BoxFuture<'_, Result<bool, StoreError>>;
}

/// Who did what, when. Append-only.
pub trait Audit {
    /// Notes an act.
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Newest first.
    fn acts<'a>(&'a self, account: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<Act>, StoreError>>;
}

/// One act of somebody with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// When.
    pub at: Timestamp,
    /// Whose account.
    pub account: String,
    /// The token's id; `server` for what the server does by itself.
    pub token: String,
    /// Such as `alert.cancel`.
    pub verb: String,
    /// Such as the alert's id.
    pub object: String,
    /// Anything to add, no secrets.
    pub detail: String,
}

/// Why the store could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The disk is full. Nothing of this change was made.
    DiskFull,
    /// The change contradicts what is there.
    Conflict {
        /// What contradicts.
        why: String,
    },
    /// The database refused, in its words.
    Database {
        /// What was tried, and the words.
        why: String,
    },
    /// A row cannot be read.
    Damaged {
        /// Which, why.
        what: String,
    },
    /// The store is closing.
    Closed,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::DiskFull => f.write_str("the disk is full: nothing was changed; free some room and try again"),
            StoreError::Conflict { why } => f.write_str(why),
            StoreError::Database { why } => write!(f, "the database refused: {why}"),
            StoreError::Damaged { what } => write!(f, "a stored row is damaged: {what}"),
            StoreError::Closed => f.write_str("the store is closing"),
        }
    }
}
impl std::error::Error for StoreError {}
