//! First admin token: told first, and then on record, so that none is on record that nobody knows.

use super::mint;
use records::{Account, Role, Timestamp, Token};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use store::{Act, SharedStore, StoreError};

/// What a door knows of admin tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AdminOnRecord {
    /// There is one.
    Known,
    /// The first one is told by this process or by the leading one, and will be on record in a moment:
    /// whoever shows it meanwhile is waited for.
    Coming,
    /// There is none: a refusal for want of a token says how to make one.
    Missing,
}

/// [`AdminOnRecord`], shared by a door and who makes tokens.
#[derive(Debug, Clone, Default)]
pub struct AdminRecord(Arc<AtomicU8>);

impl AdminRecord {
    /// As it is known now.
    pub fn get(&self) -> AdminOnRecord {
        match self.0.load(Ordering::Relaxed) {
            coming if coming == AdminOnRecord::Coming as u8 => AdminOnRecord::Coming,
            missing if missing == AdminOnRecord::Missing as u8 => AdminOnRecord::Missing,
            _ => AdminOnRecord::Known,
        }
    }

    /// Somebody knows better.
    pub fn set(&self, now: AdminOnRecord) {
        self.0.store(now as u8, Ordering::Relaxed);
    }
}

/// What a start finds or makes.
#[derive(Debug)]
pub enum AdminToken {
    /// There is one, or several.
    Known,
    /// This is the secret of the first one, told and on record.
    Made(String),
    /// There are tokens, and none of an admin among those that are not revoked.
    Missing,
    /// The first one could not be told: it is not on record.
    NotTold(io::Error),
}

/// Makes the first admin token if there is no token at all. `tell` gets its secret before it is on record.
///
/// # Errors
/// An error of the store, or of the random number generator.
pub async fn ensure_admin_token(
    store: &SharedStore,
    now: Timestamp,
    tell: impl FnOnce(&str) -> io::Result<()>,
) -> Result<AdminToken, StoreError> {
    let tokens = store.tokens(None).await?;
    let is_admin = |token: &Token| token.role == Role::Admin && token.revoked.is_none();
    if tokens.iter().any(is_admin) {
        return Ok(AdminToken::Known);
    }
    if !tokens.is_empty() {
        return Ok(AdminToken::Missing);
    }
    let (token, secret) = mint_token(Role::Admin, Account::DEFAULT, "first admin token", now)?;
    if let Err(error) = tell(&secret) {
        return Ok(AdminToken::NotTold(error));
    }
    store.note_act(first_token(&token, now)).await?;
    if store.put_first_token(token).await? {
        return Ok(AdminToken::Made(secret));
    }
    tracing::warn!(
        "another process made the first token at the same time: the admin token told here is void"
    );
    Ok(AdminToken::Known)
}

fn first_token(token: &Token, at: Timestamp) -> Act {
    Act {
        at,
        account: token.account.clone(),
        token: store::audit::SERVER.to_owned(),
        verb: "token.create".to_owned(),
        object: token.id.clone(),
        detail: "admin, the first token".to_owned(),
        ..Act::default()
    }
}

/// A new token and its secret, for the store to keep; the secret is nowhere else.
///
/// # Errors
/// The random number generator fails.
pub fn mint_token(
    role: Role,
    account: &str,
    name: &str,
    now: Timestamp,
) -> Result<(Token, String), StoreError> {
    mint(role, account, name, now)
        .map_err(|problem| StoreError::Database { why: problem.detail().to_owned() })
}
