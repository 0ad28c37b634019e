//! A session as its own browser sees it, and the ways to sign in.

use super::facts;
use crate::http::app::App;
use crate::http::auth::user_session::{UserSession, has_nothing_to_confirm_by, timestamp};
use crate::http::problem::HttpResult;
use crate::http::request::time_text::rfc3339;
use crate::http::system::site;
use crate::http::users::record::StoredUser;
use crate::http::users::{passkeys, view};
use records::Account;
use serde_json::{Value, json};
use sign_in::passkey::UserVerification;
use sign_in::passkey::options::request;
use sign_in::session::CONFIRMED_S;
use store::DocumentKind;

/// What the challenge of a passkey is made for by which somebody signs in.
pub(crate) const SIGN_IN: &str = "sign-in";

/// What the challenge of a passkey is made for that is given in this session.
pub(crate) fn purpose(session: &UserSession) -> String {
    format!("session\n{}", crate::live_tokens::session_key(&session.stored.hash))
}

/// One session.
pub(crate) async fn session(app: &App, user: &StoredUser, session: &UserSession) -> HttpResult<Value> {
    let credentials = &user.record.credentials;
    let mut factors = Vec::new();
    if credentials.totp.is_some() {
        factors.push("totp");
    }
    if credentials.has_second_factor() && !credentials.recovery.is_empty() {
        factors.push("recovery");
    }
    let has_passkey = !credentials.passkeys.is_empty() && app.auth.sign_in.has_passkeys();
    if has_passkey {
        factors.push("passkey");
    }
    let passkey = match has_passkey {
        true => {
            let challenge = app.auth.sign_in.seal.challenge(&purpose(session), app.now())?;
            let known = passkeys::all_opened(user);
            request(app.auth.sign_in.party()?, &challenge, UserVerification::Preferred, &known)
        }
        false => Value::Null,
    };
    let is_pending = session.state.is_pending;
    let times = session.times();
    let confirmed_until_s = match has_nothing_to_confirm_by(app, user) {
        true => times.ends_s(),
        false => times.confirmed_s.saturating_add(CONFIRMED_S),
    };
    let confirmed = rfc3339(timestamp(confirmed_until_s));
    let mut view = json!({
        "state": if is_pending { "second_factor" } else { "signed_in" },
        "csrf": session.token.csrf(),
        "ends": rfc3339(timestamp(times.ends_s())),
        "confirmed_until": confirmed,
        "factors": factors,
        "passkey": passkey,
        "user": if is_pending { Value::Null } else { view::user(user) },
    });
    // Who has given a password alone learns nothing of the server.
    let facts = if is_pending { facts::unknown() } else { facts::members(app, &user.account).await };
    if let Value::Object(members) = &mut view {
        members.extend(facts);
    }
    Ok(view)
}

/// The ways to sign in.
pub(crate) async fn options(app: &App) -> HttpResult<Value> {
    let state = &app.auth.sign_in;
    let policy = state.policy.load_full();
    let passkey = match state.party() {
        Ok(party) => {
            let challenge = state.seal.challenge(SIGN_IN, app.now())?;
            request(party, &challenge, UserVerification::Required, &[])
        }
        Err(_) => Value::Null,
    };
    let provider = policy.oidc.as_ref().map(|oidc| json!({"name": oidc.name, "start": "/auth/oidc/start"}));
    let users = app.store.count_documents(Account::DEFAULT, DocumentKind::User).await?;
    Ok(json!({
        "site": site::of(app).await?.organisation().unwrap_or(policy.site()),
        "password": true,
        "passkey": passkey,
        "provider": provider,
        "needs_setup": users == 0,
    }))
}
