//! Options for the browser's dialogs, as JSON with octets in base64url: for
//! `PublicKeyCredential.parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON` (§5.1.9 and §5.1.10).

use super::key::{ES256, RS256};
use super::relying_party::RelyingParty;
use super::{CHALLENGE_OCTETS, CHALLENGE_S, PASSKEYS_MAX, Passkey, USER_HANDLE_OCTETS_MAX, UserVerification};
use crate::text::base64url;
use serde_json::{Value, json};

/// Names of a user in the authenticator's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasskeyUser<'a> {
    /// Handle: 1 to [`USER_HANDLE_OCTETS_MAX`] octets that name the user for ever and say nothing of them
    /// (§14.6.1), as a random id. Further octets are left out.
    pub handle: &'a [u8],
    /// The name that they sign in by.
    pub name: &'a str,
    /// Their name for people.
    pub display_name: &'a str,
}

impl UserVerification {
    fn word(self) -> &'static str {
        match self {
            UserVerification::Required => "required",
            UserVerification::Preferred => "preferred",
        }
    }
}

/// Options of a registration (§5.4). `known` are the user's passkeys, so that no authenticator makes a second
/// one; the first [`PASSKEYS_MAX`] are named. A discoverable passkey is made where it can be.
pub fn creation(
    party: &RelyingParty,
    user: PasskeyUser<'_>,
    challenge: &[u8; CHALLENGE_OCTETS],
    verification: UserVerification,
    known: &[Passkey],
) -> Value {
    let handle = &user.handle[..user.handle.len().min(USER_HANDLE_OCTETS_MAX)];
    let must_be_found = verification == UserVerification::Required;
    json!({
        "rp": { "id": party.id(), "name": party.name() },
        "user": { "id": base64url(handle), "name": user.name, "displayName": user.display_name },
        "challenge": base64url(challenge),
        "pubKeyCredParams": [
            { "type": "public-key", "alg": ES256 },
            { "type": "public-key", "alg": RS256 },
        ],
        "timeout": CHALLENGE_S * 1_000,
        "excludeCredentials": descriptors(known),
        "authenticatorSelection": {
            "residentKey": if must_be_found { "required" } else { "preferred" },
            "requireResidentKey": must_be_found,
            "userVerification": verification.word(),
        },
        "attestation": "none",
    })
}

/// Options of an assertion (§5.5). `known` are the passkeys of a user who has said their name; without any,
/// the authenticator offers those that it has for the site, and its answer names the user.
///
/// Passkeys of a name that anybody may type say that there is such a user (§14.6.2): only after a password.
pub fn request(
    party: &RelyingParty,
    challenge: &[u8; CHALLENGE_OCTETS],
    verification: UserVerification,
    known: &[Passkey],
) -> Value {
    json!({
        "rpId": party.id(),
        "challenge": base64url(challenge),
        "timeout": CHALLENGE_S * 1_000,
        "allowCredentials": descriptors(known),
        "userVerification": verification.word(),
    })
}

fn descriptors(known: &[Passkey]) -> Vec<Value> {
    let descriptor = |passkey: &Passkey| json!({ "type": "public-key", "id": base64url(&passkey.id), "transports": passkey.transports });
    known.iter().take(PASSKEYS_MAX).map(descriptor).collect()
}
