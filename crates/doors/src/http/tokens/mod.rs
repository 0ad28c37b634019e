//! Tokens: created, listed, revoked by an admin of their account or of the system.
//!
//! `POST`, `GET /api/v1/tokens` · `DELETE /api/v1/tokens/{id}`.

#[cfg(test)]
mod tests;

use crate::http::app::App;
use crate::http::auth::{Caller, mint};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::profiles;
use crate::http::request::fields::Object;
use crate::http::request::query::{Captured, Query};
use crate::http::request::time_text::rfc3339;
use crate::http::role_matrix::is_within;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, post};
use axum::{Json, Router};
use records::{Account, Role, Token};
use serde_json::{Value, json};
use store::SharedStore;

/// Characters of an account's or a token's name.
const NAME_CHARS_MAX: usize = 200;
/// Tokens that are not revoked, of one account.
const TOKENS_MAX: usize = 10_000;

const ROLES: [(&str, Role); 4] = [
    ("admin", Role::Admin),
    ("operator", Role::Operator),
    ("viewer", Role::Viewer),
    ("submit", Role::Submit),
];
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/tokens", post(create).get(list)).route("/api/v1/tokens/{id}", delete(revoke))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let node = app.json(&headers, body).await?;
    let mut fields = Fields::default();
    let wanted = Object::open(node, "", &["role", "account", "name"], &mut fields).and_then(|mut object| {
        let role = object.word("role", &ROLES, &mut fields);
        if role.is_none() && fields.is_empty() {
            fields.push("role", "is needed: admin, operator, viewer or submit");
        }
        let account = object.text("account", NAME_CHARS_MAX, &mut fields);
        Some((role?, account, object.text("name", NAME_CHARS_MAX, &mut fields).unwrap_or_default()))
    });
    let Some((role, account, name)) = wanted.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let account = account.unwrap_or_else(|| caller.account().to_owned());
    if !caller.reaches(&account) {
        // In the same words whether anybody has it.
        return Err(HttpProblem::new(
            ProblemKind::NotFound,
            format!("there is no account {account:?} in which this token can create tokens"),
        ));
    }
    if !is_within(role, &account, &caller.token) {
        let detail = format!("a token of the role {} would reach farther than yours", role.name());
        return Err(HttpProblem::new(ProblemKind::WrongRole, detail));
    }
    let count =
        app.store.tokens(Some(&account)).await?.iter().filter(|token| token.revoked.is_none()).count();
    if count >= TOKENS_MAX {
        return Err(HttpProblem::new(
            ProblemKind::WrongState,
            format!("the account has {TOKENS_MAX} tokens, which is the limit"),
        ));
    }
    let (token, secret) = mint(role, &account, &name, app.now())?;
    let detail = format!("{} of account {account}", role.name());
    let act = app.act(&caller, "token.create", &token.id, &detail);
    app.noted(act, app.store.put_token(token.clone())).await?;
    let mut view = view(&token);
    view["token"] = secret.into();
    Ok((StatusCode::CREATED, [(LOCATION, format!("/api/v1/tokens/{}", token.id))], Json(view))
        .into_response())
}

async fn list(State(store): State<SharedStore>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let tokens = store.tokens(caller.only_account()).await?;
    Ok(Json(json!({"items": tokens.iter().map(view).collect::<Vec<_>>(), "next": null})))
}

async fn revoke(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<StatusCode> {
    let _held = app.hold("", "tokens").await;
    let tokens = app.store.tokens(caller.only_account()).await?;
    let living = |token: &&Token| token.revoked.is_none();
    let Some(token) = tokens.iter().filter(living).find(|token| token.id == id) else {
        return Err(HttpProblem::new(ProblemKind::NotFound, "no such token, or it was revoked"));
    };
    // Those of other accounts do not count: they cannot create tokens of this one.
    let is_systems = |token: &Token| token.role == Role::Admin && token.account == Account::DEFAULT;
    let others = tokens.iter().filter(living).filter(|other| is_systems(other) && other.id != id).count();
    if is_systems(token) && others == 0 {
        return Err(HttpProblem::new(
            ProblemKind::WrongState,
            "this is the last admin token of the account default: without it no token could be created",
        ));
    }
    app.noted(app.act(&caller, "token.revoke", &id, ""), app.store.revoke_token(&id, app.now())).await?;
    profiles::forget(&app, &token.account, &id).await?;
    app.auth.tokens.forget(&id);
    app.auth.live_tokens.end(&id);
    Ok(StatusCode::NO_CONTENT)
}

fn view(token: &Token) -> Value {
    json!({
        "id": token.id,
        "role": token.role.name(),
        "account": token.account,
        "name": token.name,
        "created": rfc3339(token.created),
        "revoked": token.revoked.map(rfc3339),
    })
}
