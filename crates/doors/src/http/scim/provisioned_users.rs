//! Users who sign in, as an identity provider provisions them: made, changed, switched off.
//!
//! The one place of this door that knows what a user is. A user's document is changed as JSON, member by
//! member, so that credentials and everything else stay as they are.

use crate::http::app::App;
use crate::http::auth::signed_in::USER_PREFIX;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use channels::legible;
use futures_util::future::BoxFuture;
use records::UserRole;
use serde_json::{Value, json};
use store::{Document, DocumentKind, DocumentWritten, Expected, NewDocument};
use uuid::Uuid;

/// Tries to write a user whom somebody else changes meanwhile.
const TRIES: usize = 8;

/// A user as a provider has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProvisionedUser {
    /// The name that the provider gave before; the same where it did not change.
    pub before: String,
    /// What they sign in with.
    pub name: String,
    pub full_name: String,
    pub mail: Option<String>,
    /// The recipient that they are.
    pub person: String,
    pub roles: Vec<UserRole>,
}

/// What a provider does to users who sign in.
pub(crate) trait ProvisionedUsers: Send + Sync {
    /// Makes a user, or changes the one of this name. A new one signs in at the provider of OpenID Connect,
    /// and has the drill space alone until an administrator adds the live one.
    fn put<'a>(
        &'a self,
        app: &'a App,
        account: &'a str,
        user: ProvisionedUser,
    ) -> BoxFuture<'a, HttpResult<()>>;
    /// Switches one off: no session and no stream of theirs is open when this resolves.
    fn end<'a>(&'a self, app: &'a App, account: &'a str, name: &'a str) -> BoxFuture<'a, HttpResult<()>>;
}

/// Users as documents of the store.
pub(crate) struct UserDocuments;

impl ProvisionedUsers for UserDocuments {
    fn put<'a>(
        &'a self,
        app: &'a App,
        account: &'a str,
        user: ProvisionedUser,
    ) -> BoxFuture<'a, HttpResult<()>> {
        Box::pin(async move {
            for _ in 0..TRIES {
                let found = find(app, account, &user.before).await?;
                let (id, expected, mut body) = match found {
                    Some(found) => (found.id.clone(), Expected::Version(found.version), parse(&found)?),
                    None => (Uuid::now_v7().to_string(), Expected::Absent, new_body(app)),
                };
                let roles: Vec<&str> = user.roles.iter().map(|role| role.name()).collect();
                let had_roles = body["roles"] == json!(roles);
                body["profile"] = json!({
                    "name": user.name, "full_name": user.full_name, "mail": user.mail, "person": user.person,
                });
                body["roles"] = json!(roles);
                body["is_active"] = true.into();
                if put(app, account, (&id, &user.name), expected, body).await? {
                    // Rights changed: what is open was opened with others.
                    return if had_roles { Ok(()) } else { end_sessions(app, account, &id).await };
                }
            }
            Err(busy())
        })
    }

    fn end<'a>(&'a self, app: &'a App, account: &'a str, name: &'a str) -> BoxFuture<'a, HttpResult<()>> {
        Box::pin(async move {
            for _ in 0..TRIES {
                let Some(found) = find(app, account, name).await? else { return Ok(()) };
                let mut body = parse(&found)?;
                let name = body["profile"]["name"].as_str().unwrap_or(name).to_owned();
                body["is_active"] = false.into();
                let expected = Expected::Version(found.version);
                if put(app, account, (&found.id, &name), expected, body).await? {
                    return end_sessions(app, account, &found.id).await;
                }
            }
            Err(busy())
        })
    }
}

/// What a name is found by: names that differ in case alone, or in marks that nobody sees, are one.
fn name_key(name: &str) -> String {
    legible::name(name).to_lowercase()
}

async fn find(app: &App, account: &str, name: &str) -> HttpResult<Option<Document>> {
    let key = name_key(name);
    if key.is_empty() || key.len() > store::DOCUMENT_KEY_OCTETS_MAX {
        return Ok(None);
    }
    Ok(app.store.document_by(account, DocumentKind::User, &key).await?)
}

fn parse(document: &Document) -> HttpResult<Value> {
    serde_json::from_str(&document.body).map_err(|error| {
        HttpProblem::new(ProblemKind::Internal, format!("the user {} cannot be read: {error}", document.id))
    })
}

fn new_body(app: &App) -> Value {
    json!({
        "profile": {}, "roles": [], "scope": {"groups": null, "areas": null, "spaces": ["drill"]},
        "is_active": true, "created": app.now(), "revision": 0,
        "credentials": {"is_of_provider": true},
    })
}

/// Writes a user; false: somebody else changed it meanwhile.
async fn put(
    app: &App,
    account: &str,
    (id, name): (&str, &str),
    expected: Expected,
    mut body: Value,
) -> HttpResult<bool> {
    body["revision"] = (body["revision"].as_u64().unwrap_or(0) + 1).into();
    let lookup = Some(name_key(name));
    let document = NewDocument { id: id.to_owned(), lookup, due: None, body: body.to_string() };
    match app.store.put_document(account, DocumentKind::User, document, expected, app.now()).await? {
        DocumentWritten::Done(_) => Ok(true),
        DocumentWritten::Conflict(_) => Ok(false),
        DocumentWritten::LookupTaken => {
            let detail = format!("another user who signs in has the name {name:?}");
            Err(HttpProblem::new(ProblemKind::WrongState, detail))
        }
    }
}

/// Sessions in the store, and whatever is open by one in this process; others look for ended sessions.
async fn end_sessions(app: &App, account: &str, id: &str) -> HttpResult<()> {
    app.store.end_sessions_of(account, id, None).await?;
    app.auth.live_tokens.end(&format!("{USER_PREFIX}{id}"));
    Ok(())
}

fn busy() -> HttpProblem {
    HttpProblem::new(ProblemKind::Busy, "the user is being changed by somebody else; try again in a moment")
        .retry_after(1)
}
