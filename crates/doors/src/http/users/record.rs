//! A user as the store keeps one: profile, rights, credentials; read, found by name, changed in one stroke.

use crate::http::app::App;
use crate::http::auth::signed_in::UserScope;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use records::{Timestamp, UserRole};
use serde::{Deserialize, Serialize};
use store::{Document, DocumentKind, DocumentWritten, Expected, NewDocument, SharedStore};

/// Tries to write a user whom somebody else changes meanwhile.
const TRIES: usize = 8;
/// Users looked at together.
const SLICE: usize = 500;

/// What is kept of a user.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct UserRecord {
    #[serde(flatten)]
    pub profile: UserProfile,
    pub roles: Vec<UserRole>,
    pub scope: UserScope,
    /// May sign in.
    #[serde(rename = "active")]
    pub is_active: bool,
    pub created: Timestamp,
    /// Raised by each change that an administrator makes or sees: the ETag.
    pub revision: u64,
    #[serde(default)]
    pub credentials: UserCredentials,
}

/// Who a user is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserProfile {
    /// What they sign in with.
    pub name: String,
    /// What people call them.
    pub full_name: String,
    pub mail: Option<String>,
    /// The recipient that they are, or another name that all users of one person share.
    pub person: Option<String>,
}

/// What a user signs in with. It is in no log and no answer.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct UserCredentials {
    /// Argon2id, as a PHC string.
    pub password: Option<String>,
    pub totp: Option<TotpRecord>,
    /// A secret of one-time codes that no code was given of yet, sealed.
    pub totp_offered: Option<String>,
    /// Hashes of recovery codes that are left, in hexadecimal digits.
    #[serde(default)]
    pub recovery: Vec<String>,
    #[serde(default)]
    pub passkeys: Vec<PasskeyRecord>,
    /// When the last challenge was made that registered a passkey: each counts once.
    #[serde(default)]
    pub registered: Option<Timestamp>,
    /// The id of the invitation or reset that counts; all others of this user do not.
    pub invitation: Option<String>,
    /// They sign in at the provider of OpenID Connect.
    #[serde(default)]
    pub is_of_provider: bool,
    /// The subject there that they are, hashed with its issuer; nothing: SCIM made them, and they never
    /// signed in.
    #[serde(default)]
    pub subject: Option<String>,
}

/// One-time codes of a user.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TotpRecord {
    /// The secret, sealed.
    pub sealed: String,
    /// The step of the last code that was accepted.
    pub used_step: Option<u64>,
}

/// A passkey of a user. Nothing of it is secret.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PasskeyRecord {
    /// Credential id, in base64url.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// The COSE key, in base64url.
    pub key: String,
    pub sign_count: u32,
    pub is_backup_eligible: bool,
    pub is_backed_up: bool,
    pub was_user_verified: bool,
    pub aaguid: [u8; 16],
    pub transports: Vec<String>,
    pub created: Timestamp,
    /// When the last challenge was made that it answered: each counts once.
    pub answered: Option<Timestamp>,
}

impl UserCredentials {
    /// Whether something has to follow the password.
    pub(crate) fn has_second_factor(&self) -> bool {
        self.totp.is_some() || !self.passkeys.is_empty()
    }

    /// Whether one can sign in with any of it.
    pub(crate) fn is_usable(&self) -> bool {
        self.password.is_some() || !self.passkeys.is_empty() || self.subject.is_some()
    }
}

impl UserRecord {
    /// Whether they can sign in as an administrator.
    pub(crate) fn is_administrator(&self) -> bool {
        self.is_active && self.roles.contains(&UserRole::Administrator) && self.credentials.is_usable()
    }
}

/// A user with their place in the store.
#[derive(Clone)]
pub(crate) struct StoredUser {
    pub account: String,
    pub id: String,
    /// Of the document.
    pub version: u64,
    pub record: UserRecord,
}

impl StoredUser {
    /// What secrets of this user are sealed for.
    pub(crate) fn owner(&self) -> String {
        format!("{}\n{}", self.account, self.id)
    }

    fn read(account: &str, document: Document) -> HttpResult<StoredUser> {
        let damaged = |error| {
            let detail = format!("the user {} cannot be read: {error}", document.id);
            HttpProblem::new(ProblemKind::Internal, detail)
        };
        let record = serde_json::from_str(&document.body).map_err(damaged)?;
        Ok(StoredUser { account: account.to_owned(), id: document.id, version: document.version, record })
    }

    fn document(&self) -> HttpResult<NewDocument> {
        let failed =
            |error| HttpProblem::new(ProblemKind::Internal, format!("a user cannot be kept: {error}"));
        Ok(NewDocument {
            id: self.id.clone(),
            lookup: Some(name_key(&self.record.profile.name)),
            due: None,
            body: serde_json::to_string(&self.record).map_err(failed)?,
        })
    }
}

/// What a name is found by: names that differ in case alone, or in marks that nobody sees, are one.
pub(crate) fn name_key(name: &str) -> String {
    channels::legible::name(name).to_lowercase()
}

/// One user by id.
pub(crate) async fn find(store: &SharedStore, account: &str, id: &str) -> HttpResult<Option<StoredUser>> {
    if id.is_empty() || id.len() > store::DOCUMENT_KEY_OCTETS_MAX {
        return Ok(None);
    }
    let found = store.document(account, DocumentKind::User, id).await?;
    found.map(|document| StoredUser::read(account, document)).transpose()
}

/// One user by the name that they sign in with.
pub(crate) async fn find_by_name(
    store: &SharedStore,
    account: &str,
    name: &str,
) -> HttpResult<Option<StoredUser>> {
    let key = name_key(name);
    if key.is_empty() || key.len() > store::DOCUMENT_KEY_OCTETS_MAX {
        return Ok(None);
    }
    let found = store.document_by(account, DocumentKind::User, &key).await?;
    found.map(|document| StoredUser::read(account, document)).transpose()
}

/// Users in order of their ids.
pub(crate) async fn after(
    store: &SharedStore,
    account: &str,
    after: &str,
    limit: usize,
) -> HttpResult<Vec<StoredUser>> {
    let found = store.documents_after(account, DocumentKind::User, after, limit).await?;
    found.into_iter().map(|document| StoredUser::read(account, document)).collect()
}

/// Adds a user.
///
/// # Errors
/// Another user has the name.
pub(crate) async fn add(store: &SharedStore, user: &StoredUser, now: Timestamp) -> HttpResult<()> {
    let adding =
        store.put_document(&user.account, DocumentKind::User, user.document()?, Expected::Absent, now);
    match adding.await? {
        DocumentWritten::Done(_) => Ok(()),
        DocumentWritten::LookupTaken => Err(name_taken(&user.record.profile.name)),
        DocumentWritten::Conflict(_) => Err(busy()),
    }
}

fn name_taken(name: &str) -> HttpProblem {
    let detail = format!("another user has the name {name:?}; choose another one");
    HttpProblem::new(ProblemKind::WrongState, detail)
}

fn busy() -> HttpProblem {
    let detail = "the user is being changed by somebody else; try again in a moment";
    HttpProblem::new(ProblemKind::Busy, detail).retry_after(1)
}

/// Changes a user as they stand when it is written: `edit` is called again if they changed meanwhile.
///
/// # Errors
/// There is no such user, `edit` refuses, or another user has the name.
pub(crate) async fn change<T>(
    app: &App,
    whose: (&str, &str),
    edit: impl FnMut(&mut StoredUser) -> HttpResult<T>,
) -> HttpResult<(StoredUser, T)> {
    change_in(&app.store, whose, app.now(), edit).await
}

/// The same where there is a store alone.
pub(crate) async fn change_in<T>(
    store: &SharedStore,
    (account, id): (&str, &str),
    now: Timestamp,
    mut edit: impl FnMut(&mut StoredUser) -> HttpResult<T>,
) -> HttpResult<(StoredUser, T)> {
    for _ in 0..TRIES {
        let mut user = find(store, account, id).await?.ok_or_else(missing)?;
        let done = edit(&mut user)?;
        let expected = Expected::Version(user.version);
        let document = user.document()?;
        let writing = store.put_document(account, DocumentKind::User, document, expected, now);
        match writing.await? {
            DocumentWritten::Done(version) => return Ok((StoredUser { version, ..user }, done)),
            DocumentWritten::LookupTaken => return Err(name_taken(&user.record.profile.name)),
            DocumentWritten::Conflict(_) => {}
        }
    }
    Err(busy())
}

/// Said of a user who is not there.
pub(crate) fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such user")
}

/// Whether an account has another administrator who can sign in.
pub(crate) async fn has_other_administrator(
    store: &SharedStore,
    account: &str,
    but: &str,
) -> HttpResult<bool> {
    has_other(store, (account, but), UserRecord::is_administrator).await
}

/// Whether another user of an account has the passkey of this id.
pub(crate) async fn has_others_passkey(
    store: &SharedStore,
    whose: (&str, &str),
    id: &str,
) -> HttpResult<bool> {
    has_other(store, whose, |user| user.credentials.passkeys.iter().any(|known| known.id == id)).await
}

/// Whether an account has another user who is so.
async fn has_other(
    store: &SharedStore,
    (account, but): (&str, &str),
    is_so: impl Fn(&UserRecord) -> bool,
) -> HttpResult<bool> {
    let mut place = String::new();
    loop {
        let slice = after(store, account, &place, SLICE).await?;
        if slice.iter().any(|user| user.id != but && is_so(&user.record)) {
            return Ok(true);
        }
        match slice.last().filter(|_| slice.len() == SLICE) {
            Some(last) => place.clone_from(&last.id),
            None => return Ok(false),
        }
    }
}
