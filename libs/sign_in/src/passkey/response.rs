//! Responses of the browser: the JSON of `PublicKeyCredential.toJSON()` (§5.1, `RegistrationResponseJSON` and
//! `AuthenticationResponseJSON`). Members that nothing needs are read over.

use super::{ID_OCTETS_MAX, PasskeyError, USER_HANDLE_OCTETS_MAX, cbor};
use crate::text::from_base64url;
use serde::Deserialize;

/// Octets of a response.
pub const RESPONSE_OCTETS_MAX: usize = 128 * 1_024;
/// Octets of the client data.
pub const CLIENT_DATA_OCTETS_MAX: usize = 8 * 1_024;
/// Octets of the authenticator data of an assertion.
pub const AUTHENTICATOR_DATA_OCTETS_MAX: usize = 8 * 1_024;
/// Octets of a signature: RSA of 8,192 bits.
pub const SIGNATURE_OCTETS_MAX: usize = 1_024;
/// Ways to an authenticator that are kept; further ones are left out.
pub const TRANSPORTS_MAX: usize = 8;
/// Characters of the name of such a way; longer ones are left out.
const TRANSPORT_CHARACTERS_MAX: usize = 32;

/// Response to a creation, decoded and not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationResponse {
    /// Credential id.
    pub id: Vec<u8>,
    /// Client data as the authenticator saw its hash.
    pub client_data: Vec<u8>,
    /// Attestation object (§6.5.4).
    pub attestation_object: Vec<u8>,
    /// Ways to the authenticator.
    pub transports: Vec<String>,
}

/// Response to a request, decoded and not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertionResponse {
    /// Credential id: the caller looks the passkey up by it.
    pub id: Vec<u8>,
    /// Client data as the authenticator saw its hash.
    pub client_data: Vec<u8>,
    /// Authenticator data (§6.1).
    pub authenticator_data: Vec<u8>,
    /// Signature.
    pub signature: Vec<u8>,
    /// The user, as the authenticator knows them; missing where the options named passkeys.
    pub user_handle: Option<Vec<u8>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outer<T> {
    id: String,
    raw_id: String,
    #[serde(rename = "type")]
    kind: String,
    response: T,
}

#[derive(Deserialize)]
struct Creation {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    #[serde(rename = "attestationObject")]
    attestation_object: String,
    #[serde(default)]
    transports: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    authenticator_data: String,
    signature: String,
    #[serde(default)]
    user_handle: Option<String>,
}

impl RegistrationResponse {
    /// Reads the JSON of a registration.
    ///
    /// # Errors
    /// It is too long or no such JSON, or a member has another form.
    pub fn read(json: &[u8]) -> Result<RegistrationResponse, PasskeyError> {
        let (id, response) = outer::<Creation>(json)?;
        let mut transports = response.transports.unwrap_or_default();
        let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        transports
            .retain(|way| (1..=TRANSPORT_CHARACTERS_MAX).contains(&way.len()) && way.bytes().all(is_word));
        transports.truncate(TRANSPORTS_MAX);
        Ok(RegistrationResponse {
            id,
            client_data: octets("clientDataJSON", &response.client_data, CLIENT_DATA_OCTETS_MAX)?,
            attestation_object: octets("attestationObject", &response.attestation_object, cbor::OCTETS_MAX)?,
            transports,
        })
    }
}

impl AssertionResponse {
    /// Reads the JSON of an assertion.
    ///
    /// # Errors
    /// It is too long or no such JSON, or a member has another form.
    pub fn read(json: &[u8]) -> Result<AssertionResponse, PasskeyError> {
        let (id, response) = outer::<Request>(json)?;
        // Some browsers write an empty handle where there is none.
        let user_handle = response.user_handle.filter(|handle| !handle.is_empty());
        let user_handle = user_handle.map(|handle| octets("userHandle", &handle, USER_HANDLE_OCTETS_MAX));
        let data = &response.authenticator_data;
        Ok(AssertionResponse {
            id,
            client_data: octets("clientDataJSON", &response.client_data, CLIENT_DATA_OCTETS_MAX)?,
            authenticator_data: octets("authenticatorData", data, AUTHENTICATOR_DATA_OCTETS_MAX)?,
            signature: octets("signature", &response.signature, SIGNATURE_OCTETS_MAX)?,
            user_handle: user_handle.transpose()?,
        })
    }
}

fn outer<T: for<'a> Deserialize<'a>>(json: &[u8]) -> Result<(Vec<u8>, T), PasskeyError> {
    if json.len() > RESPONSE_OCTETS_MAX {
        return Err(PasskeyError::Json("body"));
    }
    let outer: Outer<T> = serde_json::from_slice(json).map_err(|_| PasskeyError::Json("body"))?;
    if outer.kind != "public-key" {
        return Err(PasskeyError::Json("type"));
    }
    if outer.id != outer.raw_id {
        return Err(PasskeyError::Json("rawId"));
    }
    Ok((octets("id", &outer.id, ID_OCTETS_MAX)?, outer.response))
}

/// Octets of a member, at least one.
fn octets(member: &'static str, text: &str, octets_max: usize) -> Result<Vec<u8>, PasskeyError> {
    from_base64url(text)
        .filter(|octets| (1..=octets_max).contains(&octets.len()))
        .ok_or(PasskeyError::Json(member))
}
