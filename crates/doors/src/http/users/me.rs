//! Handlers of what users change of their own: the password, one-time codes, passkeys, sessions.
//!
//! `GET /api/v1/me` · `PUT /api/v1/me/password` · `/me/totp`, `/me/recovery-codes` ([`super::totp`]) ·
//! `/me/passkeys` ([`super::passkeys`]) · `GET`, `DELETE /api/v1/me/sessions` · `DELETE
//! …/sessions/{session}`.

use super::invitations::{PASSWORD_CHARS_MAX, check_password};
use super::record::{self, StoredUser};
use super::{listed_sessions, passkeys, totp, view};
use crate::http::app::App;
use crate::http::auth::signed_in::SignedInUser;
use crate::http::auth::{Caller, user_session};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::query::Captured;
use crate::http::session::{answered, confirmed_by_password, own, small_json};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use serde_json::Value;
use sign_in::session::RightsChange;
use std::net::IpAddr;
use store::Act;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/me", get(show))
        .route("/api/v1/me/password", put(change_password))
        .route("/api/v1/me/totp", post(totp::offer).put(totp::switch_on).delete(totp::switch_off))
        .route("/api/v1/me/recovery-codes", post(totp::new_recovery_codes))
        .route("/api/v1/me/passkeys", get(passkeys::list).post(passkeys::register))
        .route("/api/v1/me/passkeys:options", post(passkeys::options))
        .route("/api/v1/me/passkeys/{id}", delete(passkeys::remove))
        .route("/api/v1/me/sessions", get(sessions).delete(end_others))
        .route("/api/v1/me/sessions/{session}", delete(end_session))
}

/// The user of a caller who signed in.
pub(super) fn signed_in(caller: &Caller) -> HttpResult<&SignedInUser> {
    let user = caller.user.as_deref();
    user.ok_or_else(|| HttpProblem::new(ProblemKind::NoToken, "sign in first; a token is nobody's own"))
}

async fn show(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let id = &signed_in(&caller)?.id;
    let user = record::find(&app.store, caller.account(), id).await?.ok_or_else(record::missing)?;
    Ok(Json(view::user(&user)))
}

/// Changes credentials of the caller's own, and gives the session another secret: all others end.
pub(super) async fn change_credentials<T>(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    (verb, detail): (&str, &str),
    edit: impl FnMut(&mut StoredUser) -> HttpResult<T>,
) -> HttpResult<(Response, StoredUser, T)> {
    let id = signed_in(caller)?.id.clone();
    let (session, _) = own(app, headers).await?;
    let act: Act = app.act(caller, verb, &id, detail);
    let editing = record::change(app, (caller.account(), &id), edit);
    let (user, done) = app.noted(act, editing).await?;
    let renewed = user_session::renew(app, &session, RightsChange::Credentials).await?;
    Ok((answered(app, &user, &renewed).await?, user, done))
}

async fn change_password(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let mut fields = Fields::default();
    let node = small_json(&app, &headers, body).await?;
    let given = Object::open(node, "", &["current", "password"], &mut fields).and_then(|mut object| {
        let current = object.text("current", PASSWORD_CHARS_MAX, &mut fields);
        Some((current, object.needed_text("password", PASSWORD_CHARS_MAX, &mut fields)?))
    });
    let Some((current, password)) = given.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let (_, user) = own(&app, &headers).await?;
    check_password(&app, &user, &password)?;
    prove(&app, &caller, user, current).await?;
    let hashed = app.auth.sign_in.hasher.hash(password).await?;
    let edit = |user: &mut StoredUser| {
        user.record.credentials.password = Some(hashed.clone());
        user.record.credentials.invitation = None;
        user.record.revision += 1;
        Ok(())
    };
    let (response, ..) =
        change_credentials(&app, &caller, &headers, ("user.password.change", ""), edit).await?;
    Ok(response)
}

/// Asks for the password; whoever has none (they sign in at a provider, or by a passkey) has confirmed their
/// session.
async fn prove(app: &App, caller: &Caller, user: StoredUser, current: Option<String>) -> HttpResult<()> {
    let has_password = user.record.credentials.password.is_some();
    match (has_password, current) {
        (true, Some(current)) => {
            let client = caller.from.unwrap_or(IpAddr::from([0, 0, 0, 0]));
            confirmed_by_password(app, user, current, client).await.map(drop)
        }
        (true, None) => Err(HttpProblem::field(ProblemKind::InvalidFields, "current", "is needed")),
        (false, _) if signed_in(caller)?.is_confirmed => Ok(()),
        (false, _) => Err(HttpProblem::new(
            ProblemKind::ConfirmationNeeded,
            "give a passkey again with POST /api/v1/session:confirm, or sign in again",
        )),
    }
}

async fn sessions(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    listed_sessions(&app, &caller, &signed_in(&caller)?.id).await
}

async fn end_others(State(app): State<App>, caller: Caller) -> HttpResult<StatusCode> {
    let user = signed_in(&caller)?;
    let act = app.act(&caller, "user.sessions.end", &user.id, "all but the one that asks");
    app.noted(act, user_session::end_all(&app, (caller.account(), &user.id), Some(user.session))).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn end_session(
    State(app): State<App>,
    caller: Caller,
    Captured(session): Captured,
) -> HttpResult<StatusCode> {
    super::end_named(&app, &caller, &signed_in(&caller)?.id, &session).await
}
