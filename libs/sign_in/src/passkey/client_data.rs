//! Client data: what the browser says of the ceremony (§5.8.1), whose hash the authenticator signs.

use super::relying_party::RelyingParty;
use super::response::CLIENT_DATA_OCTETS_MAX;
use super::{CHALLENGE_OCTETS, PasskeyError};
use crate::text::{from_base64url, shown};
use serde::Deserialize;

/// `type` of a registration.
pub(super) const CREATE: &str = "webauthn.create";
/// `type` of an assertion.
pub(super) const GET: &str = "webauthn.get";
/// Characters of a foreign value in an error.
const SHOWN_MAX: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: Option<bool>,
    #[serde(default)]
    top_origin: Option<String>,
}

/// Checks the client data (§7.1 steps 5 to 11, §7.2 steps 8 to 14).
pub(super) fn check(
    octets: &[u8],
    kind: &str,
    party: &RelyingParty,
    challenge: &[u8; CHALLENGE_OCTETS],
) -> Result<(), PasskeyError> {
    if octets.len() > CLIENT_DATA_OCTETS_MAX {
        return Err(PasskeyError::Json("clientDataJSON"));
    }
    // UTF-8 decode takes off a byte order mark. Members that are not known are allowed, twice the same are
    // not.
    let json = octets.strip_prefix(b"\xef\xbb\xbf").unwrap_or(octets);
    let data: ClientData = serde_json::from_slice(json).map_err(|_| PasskeyError::Json("clientDataJSON"))?;
    if data.kind != kind {
        return Err(PasskeyError::Type(shown(&data.kind, SHOWN_MAX)));
    }
    if from_base64url(&data.challenge).as_deref() != Some(challenge) {
        return Err(PasskeyError::Challenge);
    }
    if !party.has_origin(&data.origin) {
        return Err(PasskeyError::Origin(shown(&data.origin, SHOWN_MAX)));
    }
    // The console is never in a frame of another site.
    if data.cross_origin == Some(true) || data.top_origin.is_some() {
        return Err(PasskeyError::CrossOrigin);
    }
    Ok(())
}
