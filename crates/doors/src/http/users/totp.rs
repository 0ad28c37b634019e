//! One-time codes of a user: offered, switched on by a first code, switched off; recovery codes.

use super::me::change_credentials;
use super::record::{StoredUser, TotpRecord};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::password_hasher::fill_random;
use crate::http::auth::user_session::seconds;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::session::factors::open;
use crate::http::session::small_json;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sign_in::recovery::{self, RecoveryCodes};
use sign_in::totp::{SECRET_OCTETS, TotpSecret};
use store::audit::chain::hex;

/// Characters of a typed code.
const CODE_CHARS_MAX: usize = 64;

/// A new secret. It counts once a code of it was given, so that nobody shuts themselves out.
pub(super) async fn offer(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let id = &super::me::signed_in(&caller)?.id;
    let mut octets = [0; SECRET_OCTETS];
    fill_random(&mut octets)?;
    let secret = TotpSecret::new(octets);
    let act = app.act(&caller, "user.totp.offer", id, "");
    let editing = super::record::change(&app, (caller.account(), id), |user| {
        user.record.credentials.totp_offered =
            Some(app.auth.sign_in.seal.seal(&user.owner(), secret.octets())?);
        Ok(())
    });
    let (user, ()) = app.noted(act, editing).await?;
    let policy = app.auth.sign_in.policy.load();
    let uri = secret.uri(policy.site(), &user.record.profile.name);
    Ok(Json(json!({"secret": secret.base32(), "uri": uri})))
}

/// Switches one-time codes on by a code of the secret that was offered.
pub(super) async fn switch_on(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let mut fields = Fields::default();
    let node = small_json(&app, &headers, body).await?;
    let code = Object::open(node, "", &["code"], &mut fields)
        .and_then(|mut object| object.needed_text("code", CODE_CHARS_MAX, &mut fields));
    let Some(code) = code.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let codes = new_codes()?;
    let edit = |user: &mut StoredUser| {
        let owner = user.owner();
        let credentials = &mut user.record.credentials;
        let sealed = credentials.totp_offered.clone().ok_or_else(|| {
            HttpProblem::new(
                ProblemKind::WrongState,
                "no secret was offered; begin with POST /api/v1/me/totp",
            )
        })?;
        let step = open(&app, &owner, &sealed)
            .ok_or_else(|| {
                HttpProblem::new(ProblemKind::WrongState, "the secret cannot be read; begin again")
            })?
            .verify(&code, seconds(app.now()), None)
            .map_err(|error| HttpProblem::field(ProblemKind::InvalidFields, "code", error.to_string()))?;
        credentials.totp = Some(TotpRecord { sealed, used_step: Some(step) });
        credentials.totp_offered = None;
        credentials.recovery = codes.hashes.iter().map(|hash| hex(hash)).collect();
        user.record.revision += 1;
        Ok(())
    };
    let (response, ..) = change_credentials(&app, &caller, &headers, ("user.totp.on", ""), edit).await?;
    Ok(with_codes(response, &codes))
}

fn new_codes() -> HttpResult<RecoveryCodes> {
    let mut failed = None;
    let codes = recovery::issue(&mut |octets| {
        if let Err(problem) = fill_random(octets) {
            failed = Some(problem);
        }
    });
    failed.map_or(Ok(codes), Err)
}

/// The codes in place of the session's view, with its cookie: the CSRF value is fetched by GET /session.
fn with_codes(response: Response, codes: &RecoveryCodes) -> Response {
    let mut shown = Json(json!({"codes": codes.codes})).into_response();
    for cookie in response.headers().get_all(SET_COOKIE) {
        shown.headers_mut().append(SET_COOKIE, cookie.clone());
    }
    shown
}

pub(super) async fn switch_off(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let edit = |user: &mut StoredUser| {
        let credentials = &mut user.record.credentials;
        (credentials.totp, credentials.totp_offered) = (None, None);
        if credentials.passkeys.is_empty() {
            credentials.recovery.clear();
        }
        user.record.revision += 1;
        Ok(())
    };
    let (response, ..) = change_credentials(&app, &caller, &headers, ("user.totp.off", ""), edit).await?;
    Ok(response)
}

pub(super) async fn new_recovery_codes(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let codes = new_codes()?;
    let edit = |user: &mut StoredUser| {
        let credentials = &mut user.record.credentials;
        if !credentials.has_second_factor() {
            let detail =
                "recovery codes stand in for a second factor; set up one-time codes or a passkey first";
            return Err(HttpProblem::new(ProblemKind::WrongState, detail));
        }
        credentials.recovery = codes.hashes.iter().map(|hash| hex(hash)).collect();
        user.record.revision += 1;
        Ok(())
    };
    let verb = ("user.recovery-codes.new", "");
    let (response, ..) = change_credentials(&app, &caller, &headers, verb, edit).await?;
    Ok(with_codes(response, &codes))
}
