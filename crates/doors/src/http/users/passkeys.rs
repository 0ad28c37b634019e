//! Passkeys of a user: listed, registered, removed.

use super::me::{change_credentials, signed_in};
use super::record::{self, PasskeyRecord, StoredUser};
use super::view;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::fields::Object;
use crate::http::request::query::Captured;
use crate::http::session::factors::challenge;
use crate::http::session::small_json;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::Timestamp;
use serde_json::{Value, json};
use sign_in::passkey::key::PasskeyKey;
use sign_in::passkey::options::{PasskeyUser, creation};
use sign_in::passkey::response::RegistrationResponse;
use sign_in::passkey::{PASSKEYS_MAX, Passkey, UserVerification, registration};

/// Characters of a passkey's name.
const NAME_CHARS_MAX: usize = 100;
/// Its name where its owner gives none.
const UNNAMED: &str = "passkey";

/// What the challenge is made for by which a user registers a passkey.
fn purpose(account: &str, user: &str) -> String {
    format!("register\n{account}\n{user}")
}

/// A passkey as the checks want it; nothing if it is damaged.
pub(crate) fn opened(kept: &PasskeyRecord) -> Option<Passkey> {
    Some(Passkey {
        id: URL_SAFE_NO_PAD.decode(&kept.id).ok()?,
        key: PasskeyKey::read(&URL_SAFE_NO_PAD.decode(&kept.key).ok()?).ok()?,
        sign_count: kept.sign_count,
        is_backup_eligible: kept.is_backup_eligible,
        is_backed_up: kept.is_backed_up,
        was_user_verified: kept.was_user_verified,
        aaguid: kept.aaguid,
        transports: kept.transports.clone(),
    })
}

/// All of a user.
pub(crate) fn all_opened(user: &StoredUser) -> Vec<Passkey> {
    user.record.credentials.passkeys.iter().filter_map(opened).collect()
}

fn kept(passkey: Passkey, name: String, now: Timestamp) -> PasskeyRecord {
    PasskeyRecord {
        id: URL_SAFE_NO_PAD.encode(&passkey.id),
        name,
        key: URL_SAFE_NO_PAD.encode(passkey.key.write()),
        sign_count: passkey.sign_count,
        is_backup_eligible: passkey.is_backup_eligible,
        is_backed_up: passkey.is_backed_up,
        was_user_verified: passkey.was_user_verified,
        aaguid: passkey.aaguid,
        transports: passkey.transports,
        created: now,
        answered: None,
    }
}

pub(super) async fn list(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let user = own(&app, &caller).await?;
    let items: Vec<Value> = user.record.credentials.passkeys.iter().map(view::passkey).collect();
    Ok(Json(json!({"items": items, "next": null})))
}

async fn own(app: &App, caller: &Caller) -> HttpResult<StoredUser> {
    let id = &signed_in(caller)?.id;
    record::find(&app.store, caller.account(), id).await?.ok_or_else(record::missing)
}

pub(super) async fn options(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let party = app.auth.sign_in.party()?;
    let user = own(&app, &caller).await?;
    let challenge = app.auth.sign_in.seal.challenge(&purpose(&user.account, &user.id), app.now())?;
    let profile = &user.record.profile;
    let display_name = if profile.full_name.is_empty() { &profile.name } else { &profile.full_name };
    let shown = PasskeyUser { handle: user.id.as_bytes(), name: &profile.name, display_name };
    let known = all_opened(&user);
    Ok(Json(creation(party, shown, &challenge, UserVerification::Required, &known)))
}

pub(super) async fn register(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let mut fields = Fields::default();
    let node = small_json(&app, &headers, body).await?;
    let given = Object::open(node, "", &["name", "credential"], &mut fields).and_then(|mut object| {
        let name = object.text("name", NAME_CHARS_MAX, &mut fields).unwrap_or_else(|| UNNAMED.to_owned());
        let credential = object.take("credential");
        if credential.is_none() {
            fields.push("credential", "is needed: what the browser's dialog returned, as JSON");
        }
        Some((name, credential?))
    });
    let Some((name, credential)) = given.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let id = signed_in(&caller)?.id.clone();
    let (passkey, made) = verified(&app, (caller.account(), &id), &credential.into_value().to_string())?;
    let added = kept(passkey, name, app.now());
    if record::has_others_passkey(&app.store, (caller.account(), &id), &added.id).await? {
        let detail = "another user has this passkey; each user needs one of their own, also where two are one \
                      person: register another one";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    let edit = |user: &mut StoredUser| {
        let passkeys = &user.record.credentials.passkeys;
        let refused = match passkeys.len() {
            PASSKEYS_MAX.. => Some(format!("a user has {PASSKEYS_MAX} passkeys at most; remove one first")),
            _ => passkeys
                .iter()
                .any(|known| known.id == added.id)
                .then(|| "the passkey is registered already".to_owned()),
        };
        if let Some(refused) = refused {
            return Err(HttpProblem::new(ProblemKind::WrongState, refused));
        }
        let registered = &mut user.record.credentials.registered;
        if registered.is_some_and(|before| before >= made) {
            let reason = "answers a dialog that was answered before: begin again";
            return Err(HttpProblem::field(ProblemKind::InvalidFields, "credential", reason));
        }
        *registered = Some(made);
        user.record.credentials.passkeys.push(added.clone());
        user.record.revision += 1;
        Ok(())
    };
    let verb = ("user.passkey.add", added.name.as_str());
    let (response, ..) = change_credentials(&app, &caller, &headers, verb, edit).await?;
    let mut shown = (StatusCode::CREATED, Json(view::passkey(&added))).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/api/v1/me/passkeys/{}", encoded(&added.id))) {
        shown.headers_mut().insert(LOCATION, location);
    }
    for cookie in response.headers().get_all(SET_COOKIE) {
        shown.headers_mut().append(SET_COOKIE, cookie.clone());
    }
    Ok(shown)
}

/// The passkey that a response registers, and when the challenge was made that it answers.
fn verified(app: &App, (account, user): (&str, &str), credential: &str) -> HttpResult<(Passkey, Timestamp)> {
    let wrong = |why: String| HttpProblem::field(ProblemKind::InvalidFields, "credential", why);
    let party = app.auth.sign_in.party()?;
    let response =
        RegistrationResponse::read(credential.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let again = || wrong("answers a dialog that is too old, or not ours: begin again".to_owned());
    let challenge = challenge(&response.client_data).ok_or_else(again)?;
    let made = app.auth.sign_in.seal.challenge_made(&purpose(account, user), &challenge, app.now());
    let made = made.ok_or_else(again)?;
    let passkey = registration::verify(party, &challenge, UserVerification::Required, &response);
    Ok((passkey.map_err(|error| wrong(error.to_string()))?, made))
}

pub(super) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let edit = |user: &mut StoredUser| {
        let credentials = &mut user.record.credentials;
        let before = credentials.passkeys.len();
        credentials.passkeys.retain(|known| known.id != id);
        if credentials.passkeys.len() == before {
            return Err(HttpProblem::new(ProblemKind::NotFound, "no such passkey"));
        }
        if !credentials.is_usable() {
            let detail = "this is all that you can sign in with; set a password first";
            return Err(HttpProblem::new(ProblemKind::WrongState, detail));
        }
        user.record.revision += 1;
        Ok(())
    };
    let (response, ..) =
        change_credentials(&app, &caller, &headers, ("user.passkey.remove", ""), edit).await?;
    Ok(response)
}
