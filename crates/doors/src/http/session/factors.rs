//! Factors beside a password: one-time codes, recovery codes, passkeys. A right one is used up in the user's
//! record by the stroke that accepts it.

use crate::http::app::App;
use crate::http::auth::user_session::seconds;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::users::passkeys;
use crate::http::users::record::StoredUser;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sign_in::passkey::assertion::{self, ExpectedAssertion};
use sign_in::passkey::response::AssertionResponse;
use sign_in::passkey::{CHALLENGE_OCTETS, UserVerification};
use sign_in::recovery::{self, RecoveryHash};
use sign_in::totp::TotpSecret;
use store::audit::chain::hex;

/// Characters of a typed code.
const CODE_CHARS_MAX: usize = 64;

/// A factor as it was given.
pub(crate) enum GivenFactor {
    Totp(String),
    Recovery(String),
    Passkey(Box<AssertionResponse>),
}

/// What a passkey's response has to answer.
pub(crate) struct FactorProof {
    /// What its challenge was made for.
    pub purpose: String,
    pub verification: UserVerification,
    /// Nothing else says who it is.
    pub names_user: bool,
}

impl GivenFactor {
    /// Reads `{totp}`, `{recovery}` or `{passkey}`.
    pub(crate) fn read(node: JsonNode) -> HttpResult<GivenFactor> {
        let mut fields = Fields::default();
        let known = ["totp", "recovery", "passkey", "password"];
        let Some(mut object) = Object::open(node, "", &known, &mut fields) else {
            return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
        };
        if let Some(passkey) = object.take("passkey").filter(|_| fields.is_empty()) {
            return Ok(GivenFactor::Passkey(Box::new(assertion(passkey)?)));
        }
        let totp = object.text("totp", CODE_CHARS_MAX, &mut fields);
        let recovery = object.text("recovery", CODE_CHARS_MAX, &mut fields);
        match (totp, recovery, fields.is_empty()) {
            (Some(code), None, true) => Ok(GivenFactor::Totp(code)),
            (None, Some(code), true) => Ok(GivenFactor::Recovery(code)),
            (_, _, is_readable) => {
                if is_readable {
                    fields.push("totp", "exactly one of totp, recovery and passkey is needed");
                }
                Err(HttpProblem::fields(ProblemKind::InvalidFields, fields))
            }
        }
    }
}

/// Reads a passkey's response.
pub(crate) fn assertion(node: JsonNode) -> HttpResult<AssertionResponse> {
    let json = node.into_value().to_string();
    AssertionResponse::read(json.as_bytes())
        .map_err(|error| HttpProblem::field(ProblemKind::InvalidFields, "passkey", error.to_string()))
}

/// Checks a factor of a user, and uses it up in their record.
///
/// # Errors
/// Why it is refused, in words for the user.
pub(crate) fn verify(
    app: &App,
    user: &mut StoredUser,
    factor: &GivenFactor,
    proof: &FactorProof,
) -> Result<(), String> {
    match factor {
        GivenFactor::Totp(code) => totp(app, user, code),
        GivenFactor::Recovery(code) => recovery(user, code),
        GivenFactor::Passkey(response) => passkey(app, user, response, proof),
    }
}

fn totp(app: &App, user: &mut StoredUser, code: &str) -> Result<(), String> {
    let owner = user.owner();
    let Some(kept) = &mut user.record.credentials.totp else {
        return Err("no one-time codes are set up".to_owned());
    };
    let secret = open(app, &owner, &kept.sealed).ok_or("the secret of one-time codes cannot be read")?;
    let step = secret.verify(code, seconds(app.now()), kept.used_step).map_err(|error| error.to_string())?;
    kept.used_step = Some(step);
    Ok(())
}

/// The secret of one-time codes that was sealed for its owner.
pub(crate) fn open(app: &App, owner: &str, sealed: &str) -> Option<TotpSecret> {
    let octets = app.auth.sign_in.seal.open(owner, sealed)?;
    octets.try_into().ok().map(TotpSecret::new)
}

fn recovery(user: &mut StoredUser, code: &str) -> Result<(), String> {
    let left = &mut user.record.credentials.recovery;
    let hashes: Vec<RecoveryHash> = left.iter().filter_map(|digits| unhex(digits)).collect();
    let at = recovery::verify(code, &hashes).map_err(|error| error.to_string())?;
    let used = hex(&hashes[at]);
    left.retain(|digits| *digits != used);
    Ok(())
}

fn unhex(digits: &str) -> Option<RecoveryHash> {
    let mut hash = [0; recovery::HASH_OCTETS];
    if digits.len() != 2 * hash.len() || !digits.is_ascii() {
        return None;
    }
    for (at, octet) in hash.iter_mut().enumerate() {
        *octet = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

fn passkey(
    app: &App,
    user: &mut StoredUser,
    response: &AssertionResponse,
    proof: &FactorProof,
) -> Result<(), String> {
    let state = &app.auth.sign_in;
    let party = state.party().map_err(|problem| problem.detail().to_owned())?;
    let handle = user.id.clone();
    let id = URL_SAFE_NO_PAD.encode(&response.id);
    let kept = user.record.credentials.passkeys.iter_mut().find(|kept| kept.id == id);
    let kept = kept.ok_or("the passkey is not registered here; sign in with another one")?;
    let again = "the passkey's dialog is too old, or not ours: begin again";
    let challenge = challenge(&response.client_data).ok_or(again)?;
    let made = state.seal.challenge_made(&proof.purpose, &challenge, app.now()).ok_or(again)?;
    if kept.answered.is_some_and(|answered| answered >= made) {
        return Err("the passkey's answer was used before: begin again".to_owned());
    }
    let expected = ExpectedAssertion {
        challenge: &challenge,
        verification: proof.verification,
        user_handle: handle.as_bytes(),
        names_user: proof.names_user,
    };
    let known = passkeys::opened(kept).ok_or("the passkey cannot be read; register it again")?;
    let used = assertion::verify(party, expected, &known, response).map_err(|error| {
        tracing::warn!(user = handle, %error, "a passkey's answer was refused");
        "the passkey's answer was refused; begin again, or sign in another way".to_owned()
    })?;
    kept.sign_count = used.sign_count;
    kept.is_backed_up = used.is_backed_up;
    kept.answered = Some(made);
    Ok(())
}

/// The challenge that a response says it answers; whether it is ours is another question.
pub(crate) fn challenge(client_data: &[u8]) -> Option<[u8; CHALLENGE_OCTETS]> {
    let said: Value = serde_json::from_slice(client_data).ok()?;
    URL_SAFE_NO_PAD.decode(said["challenge"].as_str()?).ok()?.try_into().ok()
}
