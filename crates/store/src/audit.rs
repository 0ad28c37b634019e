use crate::StoreError;
use futures_util::future::BoxFuture;
use records::Timestamp;

/// Who did what, when. Append-only.
pub trait Audit {
    /// Notes an act.
    fn note_act(&self, act: Act) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Newest first.
    fn acts<'a>(
        &'a self,
        account: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Act>, StoreError>>;
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
