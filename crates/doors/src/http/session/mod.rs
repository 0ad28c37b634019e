//! The session of a browser: signing in by password or passkey, the second factor, giving the password again,
//! signing out.
//!
//! `GET`, `POST`, `DELETE /api/v1/session` · `POST /api/v1/session:second`, `:confirm` · `GET
//! /api/v1/session/options` · `GET /auth/link/{secret}` ([`links`]). [`factors`] checks what comes with or
//! behind a password, [`view`] shows a session with its [`facts`]; [`crate::http::auth::user_session`] has
//! the session itself.

pub(crate) mod factors;
mod facts;
pub(crate) mod links;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use self::factors::{FactorProof, GivenFactor};
use crate::guessing::Attempt;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::sign_in_throttle::SignInTurn;
use crate::http::auth::user_session::{self, SessionRecord, UserSession, seconds};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::{self, JsonNode};
use crate::http::users::invitations::PASSWORD_CHARS_MAX;
use crate::http::users::record::{self, StoredUser, name_key};
use crate::http::users::{body, client_of};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use records::{Account, Mode};
use serde_json::Value;
use sign_in::passkey::UserVerification;
use sign_in::passkey::response::RESPONSE_OCTETS_MAX;
use sign_in::password::PasswordMatch;
use sign_in::session::RightsChange;
use std::net::IpAddr;
use std::time::Instant;
use store::StoredSession;

/// Octets of a body by which somebody signs in: a passkey's response and some members beside it.
const BODY_OCTETS_MAX: usize = RESPONSE_OCTETS_MAX + 16 * 1_024;
/// Characters of an account's name.
const ACCOUNT_CHARS_MAX: usize = 200;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/session", get(show).post(sign_in).delete(sign_out))
        .route("/api/v1/session/options", get(options))
        .route("/api/v1/session:second", post(second_factor))
        .route("/api/v1/session:confirm", post(confirm))
        .route("/auth/link/{secret}", get(links::open))
}

/// Reads a JSON body of somebody who is not yet known: a short one, which says that it is JSON.
pub(crate) async fn small_json(app: &App, headers: &HeaderMap, body: Body) -> HttpResult<JsonNode> {
    if !headers.contains_key(CONTENT_TYPE) {
        let detail = "Content-Type is missing; send application/json";
        return Err(HttpProblem::new(ProblemKind::WrongMediaType, detail));
    }
    crate::http::request::body::media_type(headers, &["application/json"])?;
    json::parse(&app.bodies.whole(headers, body, BODY_OCTETS_MAX).await?)
}

/// A sign-in as a client sends it.
struct SignInBody {
    account: String,
    by: SignInBy,
}

enum SignInBy {
    Password { name: String, password: String },
    Passkey(JsonNode),
}

impl SignInBody {
    fn read(node: JsonNode) -> HttpResult<SignInBody> {
        let mut fields = Fields::default();
        let body = SignInBody::parse(node, &mut fields);
        let body = body.filter(|_| fields.is_empty());
        body.ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
    }

    fn parse(node: JsonNode, fields: &mut Fields) -> Option<SignInBody> {
        let mut object = Object::open(node, "", &["account", "name", "password", "passkey"], fields)?;
        let account = object.text("account", ACCOUNT_CHARS_MAX, fields);
        let account = account.unwrap_or_else(|| Account::DEFAULT.to_owned());
        if let Some(passkey) = object.take("passkey") {
            return Some(SignInBody { account, by: SignInBy::Passkey(passkey) });
        }
        // A longer name is nobody's; it is answered as a wrong one.
        let name = object.needed_text("name", 4 * body::NAME_CHARS_MAX, fields);
        let password = object.needed_text("password", PASSWORD_CHARS_MAX, fields);
        Some(SignInBody { account, by: SignInBy::Password { name: name?, password: password? } })
    }
}

async fn sign_in(State(app): State<App>, request: Request) -> HttpResult<Response> {
    let client = client_of(&request);
    let (parts, body) = request.into_parts();
    user_session::check_origin(&parts.headers, &app.auth.sign_in.base)?;
    let wanted = SignInBody::read(small_json(&app, &parts.headers, body).await?)?;
    let account = wanted.account;
    let (user, is_pending) = match wanted.by {
        SignInBy::Password { name, password } => {
            let user = by_password(&app, (&account, &name), password, client).await?;
            let is_pending = user.record.credentials.has_second_factor();
            (user, is_pending)
        }
        // The authenticator checked its holder: two factors in one.
        SignInBy::Passkey(response) => (by_passkey(&app, &account, response, client).await?, false),
    };
    let session = begin(&app, (&parts.headers, client), &user, is_pending).await?;
    answered(&app, &user, &session).await
}

/// The user with this name and password. Where there is none it takes the same time, and says the same.
async fn by_password(
    app: &App,
    (account, name): (&str, &str),
    password: String,
    client: IpAddr,
) -> HttpResult<StoredUser> {
    let state = &app.auth.sign_in;
    let key = format!("{account}\n{}", name_key(name));
    let turn = turn(app, &key, client).await?;
    let user = record::find_by_name(&app.store, account, name).await?;
    let stored = user.as_ref().filter(|user| user.record.is_active);
    let stored = stored.and_then(|user| user.record.credentials.password.clone());
    let verdict = state.hasher.verify(password.clone(), stored).await?;
    let Some(user) = user.filter(|_| verdict != PasswordMatch::Wrong) else {
        failed(app, name, client);
        return Err(wrong());
    };
    turn.succeeded();
    if verdict == PasswordMatch::RightNeedsRehash {
        let hashed = state.hasher.hash(password).await?;
        record::change(app, (account, &user.id), |user| {
            user.record.credentials.password = Some(hashed.clone());
            Ok(())
        })
        .await?;
    }
    Ok(user)
}

/// The user that a passkey's response names.
async fn by_passkey(app: &App, account: &str, response: JsonNode, client: IpAddr) -> HttpResult<StoredUser> {
    let response = factors::assertion(response)?;
    let handle = response.user_handle.clone().and_then(|handle| String::from_utf8(handle).ok());
    let handle = handle.unwrap_or_default();
    let turn = turn(app, &format!("{account}\npasskey {handle}"), client).await?;
    let proof = FactorProof {
        purpose: view::SIGN_IN.to_owned(),
        verification: UserVerification::Required,
        names_user: true,
    };
    let factor = GivenFactor::Passkey(Box::new(response));
    let known = record::find(&app.store, account, &handle).await?.filter(|user| user.record.is_active);
    let Some(known) = known else {
        failed(app, &handle, client);
        return Err(wrong());
    };
    let verified = record::change(app, (account, &known.id), |user| {
        factors::verify(app, user, &factor, &proof).map_err(|why| refused(&why))
    });
    match verified.await {
        Ok((user, ())) => {
            turn.succeeded();
            Ok(user)
        }
        Err(problem) => {
            failed(app, &known.record.profile.name, client);
            Err(problem)
        }
    }
}

async fn turn(app: &App, key: &str, client: IpAddr) -> HttpResult<SignInTurn> {
    let turn = app.auth.sign_in.throttle.take_turn(key, client, || app.now_ms()).await;
    turn.inspect_err(|_| app.auth.guessing.failures().count("session", client))
}

/// Counts a failure in the metric, the log and the audit trail.
fn failed(app: &App, name: &str, client: IpAddr) {
    let attempt = Attempt { door: "session", name: name.as_bytes(), ip: client, is_known: false };
    app.auth.guessing.note_failed(attempt, Instant::now());
}

/// Said of a wrong name, a wrong password, and a user who is disabled.
fn wrong() -> HttpProblem {
    HttpProblem::new(ProblemKind::SignInFailed, "the name or the password is wrong")
}

/// Said of a wrong factor.
fn refused(why: &str) -> HttpProblem {
    HttpProblem::new(ProblemKind::SignInFailed, why)
}

/// Begins a session. One that the browser brought is not adopted: it ends.
pub(crate) async fn begin(
    app: &App,
    (headers, client): (&HeaderMap, IpAddr),
    user: &StoredUser,
    is_pending: bool,
) -> HttpResult<UserSession> {
    let state = SessionRecord {
        began_s: 0,
        confirmed_s: 0,
        is_pending,
        from: client.to_string(),
        agent: user_session::agent(headers),
    };
    let session = UserSession::begin(user, state, app.now())?;
    let brought = user_session::brought(app, headers).map(|token| token.hash());
    if !is_pending {
        note(app, user, &session, ("session.begin", client)).await?;
    }
    app.store.put_session(session.stored.clone(), brought, app.now()).await?;
    if let Some(brought) = brought {
        app.auth.live_tokens.end(&crate::live_tokens::session_key(&brought));
    }
    Ok(session)
}

/// Notes an act of somebody in their session.
async fn note(
    app: &App,
    user: &StoredUser,
    session: &UserSession,
    (verb, client): (&str, IpAddr),
) -> HttpResult<()> {
    let caller = user_session::caller_of(app, user, session, Mode::Drill).at(Some(client));
    app.note(app.act(&caller, verb, "", "")).await
}

/// The session with its cookie.
pub(crate) async fn answered(app: &App, user: &StoredUser, session: &UserSession) -> HttpResult<Response> {
    let mut response = Json(view::session(app, user, session).await?).into_response();
    let cookie = user_session::set_cookie(app, Some(session))?;
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

async fn options(State(app): State<App>) -> HttpResult<Json<Value>> {
    Ok(Json(view::options(&app).await?))
}

async fn show(State(app): State<App>, request: Request) -> HttpResult<Json<Value>> {
    let (session, user) = own(&app, request.headers()).await?;
    Ok(Json(view::session(&app, &user, &session).await?))
}

/// The session of these headers and its user.
pub(crate) async fn own(app: &App, headers: &HeaderMap) -> HttpResult<(UserSession, StoredUser)> {
    let session = user_session::find(app, headers).await?;
    let session = session.ok_or_else(|| {
        HttpProblem::new(ProblemKind::NoToken, "sign in with POST /api/v1/session; there is no session")
    })?;
    let (account, id) = (&session.stored.account, &session.stored.user);
    let user = record::find(&app.store, account, id).await?.filter(|user| user.record.is_active);
    let user = user.ok_or_else(user_session::ended)?;
    Ok((session, user))
}

/// Ends the session; where it has ended, or there was none, its cookie is removed all the same. Nobody is
/// kept signed in because it cannot be noted.
async fn sign_out(State(app): State<App>, request: Request) -> HttpResult<Response> {
    let (client, headers) = (client_of(&request), request.headers());
    if let Some(token) = user_session::brought(&app, headers) {
        user_session::check_write(headers, &token, &app.auth.sign_in.base)?;
        if let Ok((session, user)) = own(&app, headers).await
            && let Err(problem) = note(&app, &user, &session, ("session.end", client)).await
        {
            tracing::error!(why = problem.detail(), "the end of a session is missing from the audit trail");
        }
        user_session::end_one(&app, token.hash()).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().append(SET_COOKIE, user_session::set_cookie(&app, None)?);
    Ok(response)
}

async fn second_factor(State(app): State<App>, request: Request) -> HttpResult<Response> {
    let client = client_of(&request);
    let (parts, body) = request.into_parts();
    let (session, user) = own(&app, &parts.headers).await?;
    user_session::check_write(&parts.headers, &session.token, &app.auth.sign_in.base)?;
    if !session.state.is_pending {
        let detail = "the session needs no second factor; it is signed in";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    let factor = GivenFactor::read(small_json(&app, &parts.headers, body).await?)?;
    let user = verified(&app, &user, (&session, client), &factor).await?;
    let renewed = session.renewed(RightsChange::SecondFactor, app.now())?;
    note(&app, &user, &renewed, ("session.begin", client)).await?;
    let old = session.stored.hash;
    // Ended first: of two answers side by side one goes on.
    if !app.store.end_session(old).await? {
        return Err(user_session::ended());
    }
    app.store.put_session(renewed.stored.clone(), None, app.now()).await?;
    answered(&app, &user, &renewed).await
}

/// The user, once a factor of theirs is right; it is used up in the same stroke.
async fn verified(
    app: &App,
    user: &StoredUser,
    (session, client): (&UserSession, IpAddr),
    factor: &GivenFactor,
) -> HttpResult<StoredUser> {
    let turn = turn(app, &format!("{}\nsecond {}", user.account, user.id), client).await?;
    let proof = FactorProof {
        purpose: view::purpose(session),
        verification: UserVerification::Preferred,
        names_user: false,
    };
    let checking = record::change(app, (&user.account, &user.id), |user| {
        factors::verify(app, user, factor, &proof).map_err(|why| refused(&why))
    });
    match checking.await {
        Ok((user, ())) => {
            turn.succeeded();
            Ok(user)
        }
        Err(problem) => {
            failed(app, &user.record.profile.name, client);
            Err(problem)
        }
    }
}

/// The password or a factor given again, in a session that goes on.
async fn confirm(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let (mut session, user) = own(&app, &headers).await?;
    let client = caller.from.unwrap_or(IpAddr::from([0, 0, 0, 0]));
    let node = small_json(&app, &headers, body).await?;
    let user = match password_of(&node) {
        Some(password) => confirmed_by_password(&app, user, password, client).await?,
        None => verified(&app, &user, (&session, client), &GivenFactor::read(node)?).await?,
    };
    let times = session.times().after(RightsChange::Confirmed, seconds(app.now()));
    let stored: StoredSession = session.with_times(times)?;
    let act = app.act(&caller, "session.confirm", "", "");
    if !app.noted(act, app.store.update_session(stored.clone())).await? {
        return Err(user_session::ended());
    }
    session.state.confirmed_s = times.confirmed_s;
    session.stored = stored;
    Ok(Json(view::session(&app, &user, &session).await?))
}

fn password_of(node: &JsonNode) -> Option<String> {
    let JsonNode::Object(members) = node else { return None };
    match members.as_slice() {
        [(name, JsonNode::Text(password))] if name == "password" => {
            (password.chars().count() <= PASSWORD_CHARS_MAX).then(|| password.clone())
        }
        _ => None,
    }
}

pub(crate) async fn confirmed_by_password(
    app: &App,
    user: StoredUser,
    password: String,
    client: IpAddr,
) -> HttpResult<StoredUser> {
    let name = &user.record.profile.name;
    let turn = turn(app, &format!("{}\n{}", user.account, name_key(name)), client).await?;
    let stored = user.record.credentials.password.clone();
    if app.auth.sign_in.hasher.verify(password, stored).await? == PasswordMatch::Wrong {
        failed(app, name, client);
        return Err(HttpProblem::new(ProblemKind::SignInFailed, "the password is wrong"));
    }
    turn.succeeded();
    Ok(user)
}
