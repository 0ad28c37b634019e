use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{Timestamp, Token};

/// Bearer tokens.
pub trait Tokens {
    /// Adds one.
    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Adds one if there is none at all, of any account, revoked or not; of several who try at once one
    /// succeeds. False if there was one.
    fn put_first_token(&self, token: Token) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// By the SHA-256 of its secret; a revoked one is not found.
    fn token_by_hash(&self, hash: [u8; 32]) -> BoxFuture<'_, Result<Option<Token>, StoreError>>;
    /// All of an account, or of all.
    fn tokens<'a>(&'a self, account: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Token>, StoreError>>;
    /// How many were withdrawn, ever: it rises with each.
    fn revocations(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Those of these ids that were withdrawn.
    fn revoked_of(&self, ids: Vec<String>) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;
    /// Withdraws one. False if there was none.
    fn revoke_token<'a>(&'a self, id: &'a str, now: Timestamp) -> BoxFuture<'a, Result<bool, StoreError>>;
}
