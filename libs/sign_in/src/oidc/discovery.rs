//! Discovery document of a provider (OIDC Discovery 1.0 §3 and §4, RFC 8414).

use super::{ClientMethod, DOCUMENT_OCTETS_MAX, OidcClient, OidcError, URL_OCTETS_MAX};
use crate::text::shown;
use serde_json::{Map, Value};

/// Path of the document, behind the issuer.
pub const WELL_KNOWN: &str = "/.well-known/openid-configuration";
/// Characters of a foreign issuer in an error.
const SHOWN_MAX: usize = 200;

/// A provider, as its document describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcProvider {
    /// `issuer`: the configured one.
    pub issuer: String,
    /// `authorization_endpoint`.
    pub authorization_endpoint: String,
    /// `token_endpoint`.
    pub token_endpoint: String,
    /// `jwks_uri`.
    pub jwks_uri: String,
    /// `userinfo_endpoint`, where claims are that do not stand in the token.
    pub userinfo_endpoint: Option<String>,
    /// `end_session_endpoint`, of providers that can end a session of theirs.
    pub end_session_endpoint: Option<String>,
    /// `authorization_response_iss_parameter_supported`: every callback has `iss` (RFC 9207 §3).
    pub sends_issuer: bool,
    /// `token_endpoint_auth_methods_supported`, those that are known here; the default is Basic alone.
    pub methods: Vec<ClientMethod>,
}

/// URL of the document of an issuer.
pub fn url(issuer: &str) -> String {
    format!("{}{WELL_KNOWN}", issuer.strip_suffix('/').unwrap_or(issuer))
}

/// Whether a URL may be used: https, or http to a loopback address, without user, spaces and fragment.
pub fn is_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split_once(']').map_or("", |(address, _)| address),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_plain = url.bytes().all(|octet| octet.is_ascii_graphic() && !b"#\\\"<>".contains(&octet));
    let is_local = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let is_scheme = scheme == "https" || (scheme == "http" && is_local);
    is_scheme && is_plain && url.len() <= URL_OCTETS_MAX && !host.is_empty() && !authority.contains('@')
}

impl OidcProvider {
    /// Reads the document that was fetched from [`url`] of the configured issuer.
    ///
    /// # Errors
    /// It is no document, of another issuer (Discovery §4.3: equal octet by octet, so that a document cannot
    /// speak for another), a URL is not allowed, or the provider allows no PKCE with S256.
    pub fn read(issuer: &str, json: &[u8]) -> Result<OidcProvider, OidcError> {
        let document = object("discovery document", json)?;
        let given = text(&document, "issuer")?;
        if given != issuer {
            return Err(OidcError::Issuer(shown(given, SHOWN_MAX)));
        }
        if !is_url(issuer) {
            return Err(OidcError::Url("issuer"));
        }
        // Without the list nothing is known; PKCE is sent in any case, and RFC 6749 ignores what is unknown.
        if let Some(methods) = document.get("code_challenge_methods_supported")
            && !words("code_challenge_methods_supported", methods)?.any(|word| word == "S256")
        {
            return Err(OidcError::Pkce);
        }
        Ok(OidcProvider {
            issuer: issuer.to_owned(),
            authorization_endpoint: endpoint(&document, "authorization_endpoint")?,
            token_endpoint: endpoint(&document, "token_endpoint")?,
            jwks_uri: endpoint(&document, "jwks_uri")?,
            userinfo_endpoint: optional_endpoint(&document, "userinfo_endpoint")?,
            end_session_endpoint: optional_endpoint(&document, "end_session_endpoint")?,
            sends_issuer: document.get("authorization_response_iss_parameter_supported")
                == Some(&Value::Bool(true)),
            methods: methods(&document)?,
        })
    }

    /// The method by which a client authenticates: the configured one, or the first that both sides have.
    ///
    /// # Errors
    /// There is none.
    pub fn method(&self, client: &OidcClient) -> Result<ClientMethod, OidcError> {
        let known: &[ClientMethod] = match (&client.method, &client.secret) {
            (Some(method @ (ClientMethod::Basic | ClientMethod::Post)), Some(_)) => return Ok(*method),
            (Some(ClientMethod::None), _) => return Ok(ClientMethod::None),
            (Some(_), None) => return Err(OidcError::ClientMethod),
            // A public client is no matter of the list in many documents.
            (None, None) => return Ok(ClientMethod::None),
            (None, Some(_)) => &[ClientMethod::Basic, ClientMethod::Post],
        };
        known.iter().copied().find(|method| self.methods.contains(method)).ok_or(OidcError::ClientMethod)
    }
}

/// A JSON object within the limit.
pub(super) fn object(what: &'static str, json: &[u8]) -> Result<Map<String, Value>, OidcError> {
    if json.len() > DOCUMENT_OCTETS_MAX {
        return Err(OidcError::Document(what));
    }
    serde_json::from_slice(json).map_err(|_| OidcError::Document(what))
}

pub(super) fn text<'a>(document: &'a Map<String, Value>, member: &'static str) -> Result<&'a str, OidcError> {
    document.get(member).and_then(Value::as_str).ok_or(OidcError::Member(member))
}

fn endpoint(document: &Map<String, Value>, member: &'static str) -> Result<String, OidcError> {
    let url = text(document, member)?;
    if is_url(url) { Ok(url.to_owned()) } else { Err(OidcError::Url(member)) }
}

fn optional_endpoint(
    document: &Map<String, Value>,
    member: &'static str,
) -> Result<Option<String>, OidcError> {
    match document.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => endpoint(document, member).map(Some),
    }
}

fn words<'a>(member: &'static str, list: &'a Value) -> Result<impl Iterator<Item = &'a str>, OidcError> {
    let list = list.as_array().ok_or(OidcError::Member(member))?;
    Ok(list.iter().filter_map(Value::as_str))
}

fn methods(document: &Map<String, Value>) -> Result<Vec<ClientMethod>, OidcError> {
    let member = "token_endpoint_auth_methods_supported";
    let Some(list) = document.get(member) else { return Ok(vec![ClientMethod::Basic]) };
    let of = |word: &str| {
        [ClientMethod::Basic, ClientMethod::Post, ClientMethod::None]
            .into_iter()
            .find(|known| known.word() == word)
    };
    Ok(words(member, list)?.filter_map(of).collect())
}
