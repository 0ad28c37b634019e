//! Users and their sessions, as the API shows them: what they may do, and nothing that they sign in with.

use super::body::UserBody;
use super::record::{PasskeyRecord, StoredUser};
use crate::http::auth::user_session::SessionRecord;
use crate::http::request::time_text::rfc3339;
use serde_json::{Value, json};
use store::StoredSession;

/// One user.
pub(crate) fn user(user: &StoredUser) -> Value {
    let record = &user.record;
    let credentials = &record.credentials;
    let body = UserBody {
        profile: record.profile.clone(),
        roles: record.roles.clone(),
        scope: record.scope.clone(),
        is_active: record.is_active,
    };
    let state = match (record.is_active, credentials.is_usable()) {
        (false, _) => "disabled",
        (true, false) => "invited",
        (true, true) => "active",
    };
    let mut view = body.to_json();
    view["id"] = user.id.as_str().into();
    view["account"] = user.account.as_str().into();
    view["state"] = state.into();
    view["created"] = rfc3339(record.created).into();
    view["factors"] = json!({
        "password": credentials.password.is_some(),
        "totp": credentials.totp.is_some(),
        "recovery_codes": credentials.recovery.len(),
        "passkeys": credentials.passkeys.len(),
        "provider": credentials.is_of_provider,
    });
    view
}

/// One session; `own` is the one that asks.
pub(crate) fn session(session: &StoredSession, own: Option<[u8; 32]>) -> Option<Value> {
    let state: SessionRecord = serde_json::from_str(&session.body).ok()?;
    Some(json!({
        "id": session_id(&session.hash),
        "began": rfc3339(crate::http::auth::user_session::timestamp(state.began_s)),
        "used": rfc3339(session.used),
        "ends": rfc3339(session.until),
        "from": state.from,
        "agent": state.agent,
        "is_this": own == Some(session.hash),
    }))
}

/// A name of a session that does not reveal its secret: 64 bits of its hash.
pub(crate) fn session_id(hash: &[u8; 32]) -> String {
    hash[..8].iter().fold("s_".to_owned(), |id, octet| format!("{id}{octet:02x}"))
}

/// One passkey.
pub(crate) fn passkey(passkey: &PasskeyRecord) -> Value {
    json!({
        "id": passkey.id,
        "name": passkey.name,
        "created": rfc3339(passkey.created),
        "used": passkey.answered.map(rfc3339),
        "is_backed_up": passkey.is_backed_up,
        "transports": passkey.transports,
    })
}
