//! Audit trail: who did what, when, from where, as a chain of links that names each change made to it.
//!
//! [`chain`] has the canonical form, [`verify`] walks a chain; docs/dev/audit.md has both for other programs.

pub mod chain;
#[cfg(test)]
mod tests;
pub mod verify;

pub use chain::{AuditField, AuditKey, AuditLink, ChainHead, SaltedField};
pub use verify::{AuditVerdict, verify};

use crate::StoreError;
use futures_util::future::BoxFuture;
use records::Timestamp;

/// Octets of an act's longest text; the rest of a longer one is left out.
pub const TEXT_OCTETS_MAX: usize = 4_000;
/// Fields that one link of an erasure names.
pub(crate) const FORGOTTEN_MAX: usize = 1_000;
/// Links that retention drops at once.
pub(crate) const DROPPED_MAX: u64 = 5_000;
/// Verb of the link that a chain begins with.
pub const GENESIS: &str = "audit.begin";
/// Verb of a link that names erased fields.
pub const FORGET: &str = "audit.forget";
/// Verb of a link that stands for dropped ones.
pub const RETENTION: &str = "audit.retention";
/// Token and account of acts that the server does by itself.
pub const SERVER: &str = "server";

/// A link, and its fields as far as they were not erased.
pub type LinkWithFields = (AuditLink, Vec<SaltedField>);

/// Who did what, when. A chain: nothing in it is changed, and what is dropped or erased is named in it.
///
/// What was noted stays when the store is fenced off.
pub trait Audit {
    /// Notes an act; gives its link's number. Synced to disk when this resolves. If it fails the act must not
    /// be done.
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Notes several, in one transaction.
    fn note_acts(&self, acts: Vec<Act>) -> BoxFuture<'_, Result<(), StoreError>>;
    /// A page of the trail.
    fn audit_entries(&self, search: AuditSearch) -> BoxFuture<'_, Result<Vec<AuditEntry>, StoreError>>;
    /// Links behind `after` with their fields as they are stored, the oldest first.
    fn audit_links(&self, after: u64, limit: usize)
    -> BoxFuture<'_, Result<Vec<LinkWithFields>, StoreError>>;
    /// The newest link, as it is kept beside the chain.
    fn audit_head(&self) -> BoxFuture<'_, Result<ChainHead, StoreError>>;
    /// Fields without a link.
    fn stray_audit_fields(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Erases the fields that concern a person: objects and details of acts with [`Act::person`] equal to it.
    /// Call it with the recipient's id, and with each address of theirs. Gives how many were erased; links
    /// name them by their numbers.
    fn forget_person<'a>(
        &'a self,
        account: &'a str,
        recipient_id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Drops links from the oldest on, up to the first that is not older than `before`, at most a few
    /// thousand; a signed link stands for them. Gives how many were dropped.
    fn retain_acts(
        &self,
        before: Timestamp,
        now: Timestamp,
        key: AuditKey,
    ) -> BoxFuture<'_, Result<u64, StoreError>>;
}

/// One act of somebody with a token, or of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Act {
    /// When.
    pub at: Timestamp,
    /// Whose account.
    pub account: String,
    /// The token's id; [`SERVER`] for what the server does by itself.
    pub token: String,
    /// The token's name. Personal.
    pub token_name: String,
    /// The client's address; empty where there is none. Personal.
    pub from: String,
    /// Such as `alert.cancel`.
    pub verb: String,
    /// Such as the alert's id. May be personal.
    pub object: String,
    /// Anything to add, no secrets. May be personal.
    pub detail: String,
    /// The recipient (an id, or an address) that object and detail speak of.
    pub person: Option<String>,
    /// The act that was noted under this number failed; `detail` says why.
    pub failed: Option<u64>,
    /// How many times, where acts are counted and not noted one by one.
    pub count: Option<u64>,
}

/// A link of the trail, as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The link.
    pub link: AuditLink,
    /// What it says; fields that were erased are empty, and `person` is never told.
    pub act: Act,
    /// The fields with their salts, as far as they were not erased.
    pub fields: Vec<SaltedField>,
    /// Fields that were erased.
    pub erased: Vec<AuditField>,
}

/// Which links to list. What is empty does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditSearch {
    /// Of this account alone.
    pub account: Option<String>,
    /// With this verb alone.
    pub verb: Option<String>,
    /// By the token with this id alone.
    pub token: Option<String>,
    /// With this object alone.
    pub object: Option<String>,
    /// Not older than this.
    pub from: Option<Timestamp>,
    /// Older than this.
    pub until: Option<Timestamp>,
    /// Behind the link with this number, in the order of the list.
    pub place: Option<u64>,
    /// The oldest first; else the newest.
    pub oldest_first: bool,
    /// How many.
    pub limit: usize,
}

impl AuditSearch {
    /// The newest, of an account or of all.
    pub fn newest(account: Option<&str>, limit: usize) -> AuditSearch {
        AuditSearch { account: account.map(str::to_owned), limit, ..AuditSearch::default() }
    }

    /// The numbers between which a link's must be, exclusive.
    pub(crate) fn between(&self) -> (i64, i64) {
        let place = self.place.map(|place| i64::try_from(place).unwrap_or(i64::MAX));
        match self.oldest_first {
            true => (place.unwrap_or(-1), i64::MAX),
            false => (-1, place.unwrap_or(i64::MAX)),
        }
    }

    /// The times between which a link's must be; the second is exclusive.
    pub(crate) fn times(&self) -> (i64, i64) {
        (self.from.map_or(i64::MIN, |at| at.0), self.until.map_or(i64::MAX, |at| at.0))
    }
}

/// A failure to note an act, as one: whoever asked must know that it was not done. A full disk, a store that
/// closes and a lost lease keep their own names.
pub(crate) fn not_noted(error: StoreError) -> StoreError {
    match error {
        StoreError::Database { why } | StoreError::Conflict { why } | StoreError::Damaged { what: why } => {
            StoreError::NotNoted { why }
        }
        other => other,
    }
}

/// As [`not_noted`], for a result.
pub(crate) fn noted<T>(result: Result<T, impl Into<StoreError>>) -> Result<T, StoreError> {
    result.map_err(|error| not_noted(error.into()))
}

/// An act of an earlier form, with the person that its verb implies.
pub(crate) fn of_person(act: Act) -> Act {
    let person = match act.verb.as_str() {
        "recipient.put" | "recipient.delete" => Some(act.object.clone()),
        "answer" => Some(act.detail.clone()),
        _ => None,
    };
    Act { person, ..act }
}
