//! Invitations and resets: links by which a user sets a password; for 24 hours, once, the newest of a user
//! alone. The store has the hash of the link's secret.
//!
//! `POST /api/v1/users/{id}:invite`, `:reset` · `POST /api/v1/invitations:accept`.

use super::client_of;
use super::record::{self, StoredUser, missing};
use crate::guessing::Attempt;
use crate::http::app::App;
use crate::http::auth::{Caller, hash, random_text, user_session};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::{Object, nearest};
use crate::http::request::query::Captured;
use crate::http::request::time_text::rfc3339;
use crate::http::session::small_json;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sign_in::password::policy::{self, PolicyNames};
use std::time::Instant;
use store::{Act, DocumentKind, DocumentWritten, Expected, NewDocument, SharedStore};

/// A link counts for so long.
const GOOD_FOR_S: i64 = 24 * 3_600;
/// Characters of a link's secret.
const SECRET_CHARS_MAX: usize = 512;
/// Characters of a password that are read; the policy has the lower limit.
pub(crate) const PASSWORD_CHARS_MAX: usize = 4_096;
const VERBS: [&str; 2] = ["invite", "reset"];
/// The door, as the log, the metric and the audit trail name it.
const DOOR: &str = "invitation";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/invitations:accept", post(accept))
}

/// What is kept of a link.
#[derive(Serialize, Deserialize)]
struct StoredInvitation {
    user: String,
    until: Timestamp,
    /// The second factors are removed with it.
    drops_factors: bool,
}

/// `POST /api/v1/users/{id}:verb`.
pub(super) async fn make(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(id_and_verb): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let unknown = |detail: String| HttpProblem::new(ProblemKind::UnknownPath, detail);
    let (Some((id, verb)), Some(Extension(caller))) = (id_and_verb.rsplit_once(':'), caller) else {
        return Err(unknown("the colon before the verb must not be encoded".to_owned()));
    };
    let is_reset = match verb {
        "invite" => false,
        "reset" => true,
        other => {
            let other: String = other.chars().take(40).collect();
            let near =
                nearest(&other, &VERBS).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(unknown(format!("there is no verb {other:?}; known are invite, reset{near}")));
        }
    };
    let drops_factors = if is_reset { drops_factors(&app, &headers, body).await? } else { false };
    let user = record::find(&app.store, caller.account(), id).await?.ok_or_else(missing)?;
    if !user.record.is_active {
        let detail = "the user is disabled: set active to true first";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    if !is_reset && user.record.credentials.is_usable() {
        let detail = "the user can sign in already; use :reset for another password";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    let act =
        app.act(&caller, &format!("user.{verb}"), id, if drops_factors { "second factors" } else { "" });
    let inviting = invite((&app.store, app.now()), &app.auth.sign_in.base, &user, drops_factors);
    let link = app.noted(act, inviting).await?;
    Ok(Json(link))
}

async fn drops_factors(app: &App, headers: &HeaderMap, body: Body) -> HttpResult<bool> {
    let mut fields = Fields::default();
    let node = app.json(headers, body).await?;
    let wanted = Object::open(node, "", &["second_factors"], &mut fields)
        .and_then(|mut object| object.flag("second_factors", &mut fields));
    match fields.is_empty() {
        true => Ok(wanted.unwrap_or(false)),
        false => Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)),
    }
}

/// Makes a link; those of the user before it count no more.
pub(super) async fn invite(
    (store, now): (&SharedStore, Timestamp),
    base: &str,
    user: &StoredUser,
    drops_factors: bool,
) -> HttpResult<Value> {
    // The account is in the link, for the store finds nothing without one.
    let secret = format!("{}.{}", URL_SAFE_NO_PAD.encode(&user.account), random_text()?);
    let (id, until) = (id_of(&secret), now.plus_s(GOOD_FOR_S));
    let kept = StoredInvitation { user: user.id.clone(), until, drops_factors };
    let failed =
        |error| HttpProblem::new(ProblemKind::Internal, format!("an invitation cannot be kept: {error}"));
    let body = serde_json::to_string(&kept).map_err(failed)?;
    let document = NewDocument { id: id.clone(), lookup: None, due: Some(until), body };
    let (account, kind) = (user.account.as_str(), DocumentKind::Invitation);
    match store.put_document(account, kind, document, Expected::Absent, now).await? {
        DocumentWritten::Done(_) => {}
        DocumentWritten::Conflict(_) | DocumentWritten::LookupTaken => {
            return Err(HttpProblem::new(ProblemKind::Internal, "two invitations have the same secret"));
        }
    }
    let replacing = record::change_in(store, (account, &user.id), now, |user| {
        Ok(user.record.credentials.invitation.replace(id.clone()))
    });
    if let (_, Some(before)) = replacing.await? {
        store.delete_document(account, kind, &before, Expected::Any).await?;
    }
    Ok(json!({
        "user": user.id,
        "link": format!("{base}/invitation#{secret}"),
        "token": secret,
        "expires": rfc3339(until),
    }))
}

/// The hash of a link's secret, in hexadecimal digits.
fn id_of(secret: &str) -> String {
    store::audit::chain::hex(&hash(secret))
}

fn not_good() -> HttpProblem {
    let detail =
        "the link was used, is too old, or another one came after it; ask an administrator for a new one";
    HttpProblem::new(ProblemKind::NotFound, detail)
}

/// Sets the password of the user that a link is for. It begins no session: the user signs in next.
async fn accept(State(app): State<App>, request: Request) -> HttpResult<Json<Value>> {
    let client = client_of(&request);
    let (parts, body) = request.into_parts();
    user_session::check_origin(&parts.headers, &app.auth.sign_in.base)?;
    let mut fields = Fields::default();
    let node = small_json(&app, &parts.headers, body).await?;
    let given = Object::open(node, "", &["token", "password"], &mut fields).and_then(|mut object| {
        let token = object.needed_text("token", SECRET_CHARS_MAX, &mut fields);
        Some((token?, object.needed_text("password", PASSWORD_CHARS_MAX, &mut fields)?))
    });
    let Some((secret, password)) = given.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let guessing = &app.auth.guessing;
    let turn = app.auth.sign_in.throttle.take_address_turn(client, app.now_ms());
    let turn = turn.inspect_err(|_| guessing.failures().count(DOOR, client))?;
    let found = find(&app, &secret).await;
    if found.as_ref().is_err_and(|problem| !problem.status().is_server_error()) {
        let attempt = Attempt { door: DOOR, name: b"", ip: client, is_known: false };
        guessing.note_failed(attempt, Instant::now());
    }
    let (user, invitation, id) = found?;
    turn.succeeded();
    check_password(&app, &user, &password)?;
    let hashed = app.auth.sign_in.hasher.hash(password).await?;
    let act = Act {
        at: app.now(),
        account: user.account.clone(),
        token: format!("{}{}", crate::http::auth::signed_in::USER_PREFIX, user.id),
        token_name: user.record.profile.name.clone(),
        from: client.to_string(),
        verb: "user.password.set".to_owned(),
        object: user.id.clone(),
        detail: "by a link".to_owned(),
        ..Act::default()
    };
    app.noted(act, take(&app, &user, (&invitation, &id), hashed)).await?;
    user_session::end_all(&app, (&user.account, &user.id), None).await?;
    Ok(Json(json!({"name": user.record.profile.name, "account": user.account})))
}

/// The user and the link of a secret, as far as it still counts.
async fn find(app: &App, secret: &str) -> HttpResult<(StoredUser, StoredInvitation, String)> {
    let account = secret.split_once('.').and_then(|(account, _)| URL_SAFE_NO_PAD.decode(account).ok());
    let account = account.and_then(|account| String::from_utf8(account).ok()).ok_or_else(not_good)?;
    let id = id_of(secret);
    let found = app.store.document(&account, DocumentKind::Invitation, &id).await?;
    let invitation = found.and_then(|found| serde_json::from_str::<StoredInvitation>(&found.body).ok());
    let invitation = invitation.filter(|invitation| invitation.until > app.now()).ok_or_else(not_good)?;
    let user = record::find(&app.store, &account, &invitation.user).await?;
    let counts = |user: &StoredUser| {
        user.record.is_active && user.record.credentials.invitation.as_deref() == Some(id.as_str())
    };
    Ok((user.filter(counts).ok_or_else(not_good)?, invitation, id))
}

/// Uses the link up and sets the password, in one stroke.
async fn take(
    app: &App,
    user: &StoredUser,
    (invitation, id): (&StoredInvitation, &str),
    hashed: String,
) -> HttpResult<()> {
    record::change(app, (&user.account, &user.id), |user| {
        let record = &mut user.record;
        if record.credentials.invitation.as_deref() != Some(id) || !record.is_active {
            return Err(not_good());
        }
        record.credentials.invitation = None;
        record.credentials.password = Some(hashed.clone());
        if invitation.drops_factors {
            record.credentials.totp = None;
            record.credentials.recovery.clear();
            record.credentials.passkeys.clear();
        }
        record.revision += 1;
        Ok(())
    })
    .await?;
    app.store.delete_document(&user.account, DocumentKind::Invitation, id, Expected::Any).await?;
    Ok(())
}

/// Refuses a password that is guessed first.
pub(crate) fn check_password(app: &App, user: &StoredUser, password: &str) -> HttpResult<()> {
    let policy = app.auth.sign_in.policy.load();
    let profile = &user.record.profile;
    let mail = profile.mail.as_deref().unwrap_or_default();
    let names: Vec<&str> = [profile.name.as_str(), profile.full_name.as_str(), mail]
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect();
    let names = PolicyNames { site: &["campanile", policy.site()], user: &names };
    policy::check(password, names)
        .map_err(|weak| HttpProblem::field(ProblemKind::InvalidFields, "password", weak.to_string()))
}
