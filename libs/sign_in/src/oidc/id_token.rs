//! ID tokens: compact JWS (RFC 7515 §3.1) with claims, validated as OIDC Core §3.1.3.7 says.

use super::discovery::object;
use super::jwks::{JwkSet, JwsAlgorithm};
use super::{LEEWAY_S, OidcError};
use crate::text::{from_base64url, shown};
use serde_json::{Map, Value};

/// Octets of a token. Some providers write all of a person's groups into it.
pub const TOKEN_OCTETS_MAX: usize = 64 * 1_024;
/// Octets of a subject (OIDC Core §2).
pub const SUBJECT_OCTETS_MAX: usize = 255;
/// Audiences of a token.
pub const AUDIENCES_MAX: usize = 64;
/// Characters of a foreign value in an error.
const SHOWN_MAX: usize = 100;

/// A token that is expected.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedToken<'a> {
    /// The provider's issuer.
    pub issuer: &'a str,
    /// The client's id.
    pub client_id: &'a str,
    /// The nonce of the attempt.
    pub nonce: &'a str,
    /// The `max_age` of the request, if it had one.
    pub max_age_s: Option<u64>,
    /// The time.
    pub now_s: u64,
}

/// Claims of a token whose signature and validity were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct IdClaims {
    /// `sub`: the person at this provider, for ever; 1 to [`SUBJECT_OCTETS_MAX`] octets.
    pub subject: String,
    /// `auth_time`: when they proved who they are.
    pub auth_time_s: Option<u64>,
    /// All claims.
    pub all: Map<String, Value>,
}

impl IdClaims {
    /// Adds claims of the userinfo endpoint, as JSON (OIDC Core §5.3.2). A claim of the token stays as it is.
    ///
    /// # Errors
    /// It is no JSON object within the limit, or of another subject than the token: then nothing is added.
    pub fn add_userinfo(&mut self, json: &[u8]) -> Result<(), OidcError> {
        let userinfo = object("userinfo answer", json)?;
        if text(&userinfo, "sub")? != self.subject {
            return Err(OidcError::Claim("sub"));
        }
        for (name, value) in userinfo {
            self.all.entry(name).or_insert(value);
        }
        Ok(())
    }
}

/// Validates a token: form, algorithm, signature, then claims.
///
/// The algorithm has to be one of [`JwsAlgorithm`], and the key one of that algorithm: neither the header nor
/// the key alone decides.
///
/// # Errors
/// The token is not valid; the error names the step. At [`OidcError::UnknownKey`] the caller fetches the keys
/// again once, as providers change them, and validates again.
pub fn validate(token: &str, keys: &JwkSet, expected: ExpectedToken<'_>) -> Result<IdClaims, OidcError> {
    let claims = verify_signature(token, keys)?;
    check(&claims, expected)?;
    let subject = text(&claims, "sub")?.to_owned();
    if !(1..=SUBJECT_OCTETS_MAX).contains(&subject.len()) {
        return Err(OidcError::Claim("sub"));
    }
    let auth_time_s = optional_time(&claims, "auth_time")?;
    if let Some(max_age_s) = expected.max_age_s {
        let proved_s = auth_time_s.ok_or(OidcError::Claim("auth_time"))?;
        if expected.now_s > proved_s.saturating_add(max_age_s).saturating_add(LEEWAY_S) {
            return Err(OidcError::AuthTime);
        }
    }
    Ok(IdClaims { subject, auth_time_s, all: claims })
}

fn verify_signature(token: &str, keys: &JwkSet) -> Result<Map<String, Value>, OidcError> {
    if token.len() > TOKEN_OCTETS_MAX {
        return Err(OidcError::TokenForm("is too long"));
    }
    let (message, signature) = token.rsplit_once('.').ok_or(OidcError::TokenForm("has no three parts"))?;
    let (header, payload) = message.split_once('.').ok_or(OidcError::TokenForm("has no three parts"))?;
    let header = part(header, "has a header that is no JSON object in base64url")?;
    let name =
        header.get("alg").and_then(Value::as_str).ok_or(OidcError::TokenForm("has a header without alg"))?;
    let algorithm = JwsAlgorithm::of(name).ok_or_else(|| OidcError::Algorithm(shown(name, SHOWN_MAX)))?;
    // An extension that has to be understood (RFC 7515 §4.1.11); none is.
    if header.contains_key("crit") {
        return Err(OidcError::TokenForm("has an extension that is not known (crit)"));
    }
    let kid = match header.get("kid") {
        None => None,
        Some(kid) => Some(kid.as_str().ok_or(OidcError::TokenForm("has a kid that is no text"))?),
    };
    let signature =
        from_base64url(signature).ok_or(OidcError::TokenForm("has a signature that is no base64url"))?;
    keys.verify(algorithm, kid, message.as_bytes(), &signature)?;
    part(payload, "has a payload that is no JSON object in base64url")
}

fn part(text: &str, fault: &'static str) -> Result<Map<String, Value>, OidcError> {
    let octets = from_base64url(text).ok_or(OidcError::TokenForm(fault))?;
    serde_json::from_slice(&octets).map_err(|_| OidcError::TokenForm(fault))
}

/// Steps 2 to 4 and 9 to 11 of OIDC Core §3.1.3.7, and `nbf` of RFC 7519 §4.1.5.
fn check(claims: &Map<String, Value>, expected: ExpectedToken<'_>) -> Result<(), OidcError> {
    let issuer = text(claims, "iss")?;
    if issuer != expected.issuer {
        return Err(OidcError::Issuer(shown(issuer, SHOWN_MAX)));
    }
    check_audience(claims, expected.client_id)?;
    let later_s = expected.now_s.saturating_add(LEEWAY_S);
    if expected.now_s >= time(claims, "exp")?.saturating_add(LEEWAY_S) {
        return Err(OidcError::Expired);
    }
    if time(claims, "iat")? > later_s {
        return Err(OidcError::NotYet("iat"));
    }
    if optional_time(claims, "nbf")?.is_some_and(|begin_s| begin_s > later_s) {
        return Err(OidcError::NotYet("nbf"));
    }
    if text(claims, "nonce")? == expected.nonce { Ok(()) } else { Err(OidcError::Nonce) }
}

/// `aud` names the client. If it names others too, `azp` says that the token was made for this one; an `azp`
/// that is there is the client in any case.
fn check_audience(claims: &Map<String, Value>, client_id: &str) -> Result<(), OidcError> {
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) if list.len() <= AUDIENCES_MAX => {
            list.iter().map(Value::as_str).collect::<Option<_>>().ok_or(OidcError::Claim("aud"))?
        }
        _ => return Err(OidcError::Claim("aud")),
    };
    if !audiences.contains(&client_id) {
        return Err(OidcError::Audience);
    }
    match claims.get("azp") {
        None if audiences.len() == 1 => Ok(()),
        Some(Value::String(party)) if party == client_id => Ok(()),
        _ => Err(OidcError::AuthorizedParty),
    }
}

fn text<'a>(claims: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, OidcError> {
    claims.get(name).and_then(Value::as_str).ok_or(OidcError::Claim(name))
}

fn time(claims: &Map<String, Value>, name: &'static str) -> Result<u64, OidcError> {
    optional_time(claims, name)?.ok_or(OidcError::Claim(name))
}

/// A NumericDate (RFC 7519 §2), maybe with a fraction, which is cut off.
fn optional_time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<u64>, OidcError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let fraction = || value.as_f64().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64);
    value.as_u64().or_else(fraction).map(Some).ok_or(OidcError::Claim(name))
}
