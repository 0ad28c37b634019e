//! Token request (OIDC Core §3.1.3.1, RFC 6749 §4.1.3) and its answer.

use super::authorization::SignInAttempt;
use super::callback::refusal;
use super::discovery::{OidcProvider, object, text};
use super::{ClientMethod, OidcClient, OidcError};
use crate::text::{form, percent_escape};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fmt;

/// `Content-Type` of the request.
pub const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";

/// A request to POST, with `Accept: application/json`. It has the code and maybe the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// URL: the token endpoint.
    pub url: String,
    /// Value of the `Authorization` header, with `client_secret_basic`.
    pub authorization: Option<String>,
    /// Body, of [`CONTENT_TYPE`].
    pub body: String,
}

impl fmt::Debug for TokenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenRequest {{ url: {:?}, .. }}", self.url)
    }
}

/// Answer of the token endpoint, of which nothing is verified.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenAnswer {
    /// `id_token`.
    pub id_token: String,
    /// `access_token`, for the userinfo endpoint.
    pub access_token: Option<String>,
}

impl fmt::Debug for TokenAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenAnswer(..)")
    }
}

/// The request for the tokens of a code.
///
/// # Errors
/// The provider allows no method of authentication that the client has.
pub fn request(
    provider: &OidcProvider,
    client: &OidcClient,
    attempt: &SignInAttempt,
    code: &str,
) -> Result<TokenRequest, OidcError> {
    let method = provider.method(client)?;
    let verifier = attempt.verifier();
    let mut pairs = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &client.redirect_uri),
        ("code_verifier", &verifier),
    ];
    let secret = client.secret.as_deref().unwrap_or_default();
    let mut authorization = None;
    match method {
        ClientMethod::Basic => authorization = Some(basic(&client.id, secret)),
        ClientMethod::Post => pairs.extend([("client_id", client.id.as_str()), ("client_secret", secret)]),
        ClientMethod::None => pairs.push(("client_id", &client.id)),
    }
    Ok(TokenRequest { url: provider.token_endpoint.clone(), authorization, body: form(&pairs) })
}

/// Both halves are escaped as in a form before they are joined (RFC 6749 §2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let pair = format!("{}:{}", percent_escape(id), percent_escape(secret));
    format!("Basic {}", STANDARD.encode(pair))
}

/// Reads an answer, whatever its status: one that refuses has a member `error` (RFC 6749 §5.2).
///
/// # Errors
/// The provider refuses, or the answer is none of a token endpoint.
pub fn read(json: &[u8]) -> Result<TokenAnswer, OidcError> {
    let answer = object("token answer", json)?;
    if let Some(code) = answer.get("error") {
        let description = answer.get("error_description").and_then(Value::as_str).unwrap_or_default();
        return Err(refusal(code.as_str().ok_or(OidcError::Member("error"))?, description));
    }
    if !text(&answer, "token_type")?.eq_ignore_ascii_case("bearer") {
        return Err(OidcError::Member("token_type"));
    }
    Ok(TokenAnswer {
        id_token: text(&answer, "id_token")?.to_owned(),
        access_token: answer.get("access_token").and_then(Value::as_str).map(str::to_owned),
    })
}
