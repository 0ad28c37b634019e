//! Users: created, changed, invited, removed by an administrator of their account; their sessions ended.
//!
//! `GET`, `POST /api/v1/users` · `GET`, `PATCH`, `DELETE /api/v1/users/{id}` and its verbs · `GET`, `DELETE
//! /api/v1/users/{id}/sessions` · `DELETE …/sessions/{session}`. [`record`] has a user as the store keeps
//! one, [`me`] what users change of their own, [`invitations`] the links by which they set a password.

pub(crate) mod body;
pub(crate) mod invitations;
pub(crate) mod me;
pub(crate) mod offline;
pub(crate) mod passkeys;
pub(crate) mod record;
pub(crate) mod sign_in_state;
#[cfg(test)]
mod tests;
mod totp;
pub(crate) mod view;

use self::body::UserBody;
use self::record::{StoredUser, UserCredentials, UserRecord, has_other_administrator, missing};
use crate::http::app::App;
use crate::http::auth::password_hasher::fill_random;
use crate::http::auth::user_session;
use crate::http::auth::{Caller, RequestOrigin};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::json::{JsonNode, tree_of};
use crate::http::request::query::{Captured, Query, check_preconditions, cursor, etag};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::Timestamp;
use serde_json::{Value, json};
use sign_in::session::RightsChange;
use store::{DocumentKind, Expected, SharedStore};

/// Users of one account.
const USERS_MAX: u64 = 100_000;
/// Random octets of a user's id.
const ID_OCTETS: usize = 12;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/users", post(create).get(list))
        .route("/api/v1/users/{id}", get(show).patch(change).delete(remove).post(invitations::make))
        .route("/api/v1/users/{id}/sessions", get(sessions).delete(end_sessions))
        .route("/api/v1/users/{id}/sessions/{session}", axum::routing::delete(end_session))
        .merge(invitations::routes())
        .merge(me::routes())
}

/// A new id: `u_` and 96 random bits.
pub(crate) fn new_id() -> HttpResult<String> {
    let mut octets = [0; ID_OCTETS];
    fill_random(&mut octets)?;
    Ok(format!("u_{}", URL_SAFE_NO_PAD.encode(octets)))
}

/// A user of this account with these rights, who cannot sign in yet.
pub(crate) fn new_user(account: &str, id: String, body: UserBody, now: Timestamp) -> StoredUser {
    let record = UserRecord {
        profile: body.profile,
        roles: body.roles,
        scope: body.scope,
        is_active: body.is_active,
        created: now,
        revision: 1,
        credentials: UserCredentials::default(),
    };
    StoredUser { account: account.to_owned(), id, version: 1, record }
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let body = UserBody::read(app.json(&headers, body).await?)?;
    let account = caller.account();
    check_count(&app, account).await?;
    let user = new_user(account, new_id()?, body, app.now());
    let act = app.act(&caller, "user.create", &user.id, &rights(&user.record));
    app.noted(act, record::add(&app.store, &user, app.now())).await?;
    let location = [(LOCATION, format!("/api/v1/users/{}", user.id))];
    Ok((StatusCode::CREATED, location, [etag(user.record.revision)], Json(view::user(&user))).into_response())
}

/// Refuses a user beyond the limit.
pub(crate) async fn check_count(app: &App, account: &str) -> HttpResult<()> {
    if app.store.count_documents(account, DocumentKind::User).await? < USERS_MAX {
        return Ok(());
    }
    let detail = format!("the account has {USERS_MAX} users, which is the limit; remove some first");
    Err(HttpProblem::new(ProblemKind::WrongState, detail))
}

/// A user's rights in words, for the audit trail.
pub(crate) fn rights(record: &UserRecord) -> String {
    let body = UserBody {
        profile: record.profile.clone(),
        roles: record.roles.clone(),
        scope: record.scope.clone(),
        is_active: record.is_active,
    };
    let said = body.to_json();
    let of = |name: &str| format!("{name} {}", said[name]);
    ["name", "roles", "groups", "areas", "spaces", "active"].map(of).join(", ")
}

async fn list(State(store): State<SharedStore>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let after = query.cursor()?.unwrap_or_default();
    let users = record::after(&store, caller.account(), &after, limit).await?;
    let next = users.last().filter(|_| users.len() == limit).map(|user| cursor(&user.id));
    Ok(Json(json!({"items": users.iter().map(view::user).collect::<Vec<_>>(), "next": next})))
}

async fn show(
    State(store): State<SharedStore>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<Response> {
    let user = record::find(&store, caller.account(), &id).await?.ok_or_else(missing)?;
    Ok(([etag(user.record.revision)], Json(view::user(&user))).into_response())
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let patch = app.json_patch(&headers, body).await?;
    if !matches!(patch, JsonNode::Object(_)) {
        let reason = "is no object; a JSON merge patch is needed";
        return Err(HttpProblem::field(ProblemKind::InvalidFields, "body", reason));
    }
    let account = caller.account();
    let _held = app.hold(account, "users").await;
    let before = record::find(&app.store, account, &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(before.record.revision))?;
    let wanted = patched(&before, patch.clone())?;
    let mut after = before.record.clone();
    apply(&mut after, wanted);
    keeps_administrator(&app, &before, after.is_administrator()).await?;
    let editing = record::change(&app, (account, &id), |user| {
        check_preconditions(&headers, Some(user.record.revision))?;
        let wanted = patched(user, patch.clone())?;
        apply(&mut user.record, wanted);
        user.record.revision += 1;
        Ok(())
    });
    let act = app.act(&caller, "user.change", &id, &rights(&after));
    let (user, ()) = app.noted(act, editing).await?;
    let mut response = ([etag(user.record.revision)], Json(view::user(&user))).into_response();
    if has_other_rights(&before.record, &user.record) {
        end_after_change(&app, &caller, (&headers, &user), &mut response).await?;
    }
    Ok(response)
}

/// The user with a patch.
fn patched(user: &StoredUser, patch: JsonNode) -> HttpResult<UserBody> {
    let record = &user.record;
    let body = UserBody {
        profile: record.profile.clone(),
        roles: record.roles.clone(),
        scope: record.scope.clone(),
        is_active: record.is_active,
    };
    let mut node = tree_of(&body.to_json())?;
    node.merge(patch);
    UserBody::read(node)
}

fn apply(record: &mut UserRecord, wanted: UserBody) {
    record.profile = wanted.profile;
    record.roles = wanted.roles;
    record.scope = wanted.scope;
    record.is_active = wanted.is_active;
}

/// Whether a change ends what is open: rights changed, or whose they are.
pub(crate) fn has_other_rights(before: &UserRecord, after: &UserRecord) -> bool {
    (&before.roles, &before.scope, before.is_active) != (&after.roles, &after.scope, after.is_active)
        || before.profile.person != after.profile.person
}

/// Refuses what would leave an account without an administrator who can sign in.
pub(crate) async fn keeps_administrator(app: &App, user: &StoredUser, stays: bool) -> HttpResult<()> {
    if !user.record.is_administrator() || stays {
        return Ok(());
    }
    if has_other_administrator(&app.store, &user.account, &user.id).await? {
        return Ok(());
    }
    let detail = "this is the account's last administrator who can sign in; make another one first";
    Err(HttpProblem::new(ProblemKind::WrongState, detail))
}

/// After a change of rights a session does not go on as it was: those of the user end; that of the caller, if
/// it is the same user's, gets another secret.
async fn end_after_change(
    app: &App,
    caller: &Caller,
    (headers, user): (&HeaderMap, &StoredUser),
    response: &mut Response,
) -> HttpResult<()> {
    let is_own = caller.user.as_ref().is_some_and(|own| own.id == user.id) && user.record.is_active;
    let own = if is_own { user_session::find(app, headers).await? } else { None };
    let renewed = match own {
        Some(session) => Some(user_session::renew(app, &session, RightsChange::Role).await?),
        None => None,
    };
    let but = renewed.as_ref().map(|session| session.stored.hash);
    user_session::end_all(app, (&user.account, &user.id), but).await?;
    if renewed.is_some() {
        let cookie = user_session::set_cookie(app, renewed.as_ref())?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(())
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let account = caller.account();
    let _held = app.hold(account, "users").await;
    let user = record::find(&app.store, account, &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(user.record.revision))?;
    keeps_administrator(&app, &user, false).await?;
    let deleting = app.store.delete_document(account, DocumentKind::User, &id, Expected::Any);
    if !app.noted(app.act(&caller, "user.remove", &id, &user.record.profile.name), deleting).await? {
        return Err(missing());
    }
    user_session::end_all(&app, (account, &id), None).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn sessions(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Json<Value>> {
    record::find(&app.store, caller.account(), &id).await?.ok_or_else(missing)?;
    listed_sessions(&app, &caller, &id).await
}

/// The sessions of a user.
async fn listed_sessions(app: &App, caller: &Caller, id: &str) -> HttpResult<Json<Value>> {
    let own = caller.user.as_ref().map(|user| user.session);
    let sessions = app.store.sessions_of(caller.account(), id, app.now()).await?;
    let items: Vec<Value> = sessions.iter().filter_map(|one| view::session(one, own)).collect();
    Ok(Json(json!({"items": items, "next": null})))
}

async fn end_sessions(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<StatusCode> {
    record::find(&app.store, caller.account(), &id).await?.ok_or_else(missing)?;
    let act = app.act(&caller, "user.sessions.end", &id, "");
    app.noted(act, user_session::end_all(&app, (caller.account(), &id), None)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn end_session(
    State(app): State<App>,
    caller: Caller,
    Captured((id, session)): Captured<(String, String)>,
) -> HttpResult<StatusCode> {
    record::find(&app.store, caller.account(), &id).await?.ok_or_else(missing)?;
    end_named(&app, &caller, &id, &session).await
}

/// Ends the session of a user with this id.
async fn end_named(app: &App, caller: &Caller, user: &str, session: &str) -> HttpResult<StatusCode> {
    let open = app.store.sessions_of(caller.account(), user, app.now()).await?;
    let found = open.iter().find(|one| view::session_id(&one.hash) == session);
    let found = found.ok_or_else(|| HttpProblem::new(ProblemKind::NotFound, "no such session"))?;
    let act = app.act(caller, "user.session.end", user, session);
    app.noted(act, user_session::end_one(app, found.hash)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The address of a request's client, where there is no caller.
pub(crate) fn client_of(request: &Request) -> std::net::IpAddr {
    RequestOrigin::of(request.extensions()).client
}
