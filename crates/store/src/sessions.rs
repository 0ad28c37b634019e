use crate::StoreError;
use futures_util::future::BoxFuture;
use records::Timestamp;

/// Sessions past their time removed by each that is added.
pub(crate) const OLD_SESSIONS_REMOVED: i64 = 16;

/// A session of somebody who signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// SHA-256 of what the cookie says.
    pub hash: [u8; 32],
    /// The user's account.
    pub account: String,
    /// The user's id.
    pub user: String,
    /// When it was used last, by the minute or so.
    pub used: Timestamp,
    /// Nothing of it holds after this.
    pub until: Timestamp,
    /// JSON: what the door keeps of it.
    pub body: String,
}

/// Sessions of people who signed in. They hold on every process and survive a restart.
pub trait Sessions {
    /// Adds one, and ends another in the same stroke if one is named: an id never outlives a sign-in.
    fn put_session(
        &self,
        session: StoredSession,
        instead_of: Option<[u8; 32]>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>>;
    /// One that has not ended.
    fn session(
        &self,
        hash: [u8; 32],
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<StoredSession>, StoreError>>;
    /// Replaces times and body of one that has not ended. False: it has.
    fn update_session(&self, session: StoredSession) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Ends one. False: there was none.
    fn end_session(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Ends all of a user but one. Resolves to how many.
    fn end_sessions_of<'a>(
        &'a self,
        account: &'a str,
        user: &'a str,
        but: Option<[u8; 32]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Those of a user that have not ended, the one used last first.
    fn sessions_of<'a>(
        &'a self,
        account: &'a str,
        user: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<StoredSession>, StoreError>>;
    /// Those of these that have not ended: for whoever holds a stream open.
    fn live_sessions(
        &self,
        hashes: Vec<[u8; 32]>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<[u8; 32]>, StoreError>>;
}
