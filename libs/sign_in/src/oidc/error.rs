//! Refusals on the way of a sign-in, each by the field that is wrong.

use super::jwks::KeyWanted;
use std::fmt;

/// A sign-in by OpenID Connect does not work. The text is for the log and the administrator; the person at
/// the browser learns that it did not work, and of [`OidcError::Provider`] what the provider said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OidcError {
    /// A document is no JSON object, or over its limit.
    Document(&'static str),
    /// A member of a document is missing or of another form.
    Member(&'static str),
    /// A URL is none of https, or of http to this machine.
    Url(&'static str),
    /// The issuer is not the one that is configured.
    Issuer(String),
    /// The provider allows no method of client authentication that is known here.
    ClientMethod,
    /// The provider allows no PKCE with S256, and says so.
    Pkce,
    /// A parameter of the callback is missing, stands twice, or is of another form.
    Parameter(&'static str),
    /// The `state` is not that of the attempt: the browser did not begin it, or too long ago.
    State,
    /// The provider refuses, by a code of RFC 6749 §4.1.2.1 or OIDC Core §3.1.2.6, maybe with words.
    Provider {
        /// Code, as `access_denied`.
        code: String,
        /// Words of the provider; empty if there are none.
        description: String,
    },
    /// The ID token is no compact JWS, or over its limit.
    TokenForm(&'static str),
    /// The ID token is signed by an algorithm that is not accepted.
    Algorithm(String),
    /// The set has no such key: fetch it again once, and try again.
    UnknownKey(KeyWanted),
    /// The token does not say which of several keys signed it.
    AmbiguousKey,
    /// The signature is not by the key.
    Signature,
    /// A claim is missing or of another form.
    Claim(&'static str),
    /// The token is for somebody else.
    Audience,
    /// The token was made for another client.
    AuthorizedParty,
    /// The token has expired.
    Expired,
    /// The token is of the future: `iat` or `nbf`.
    NotYet(&'static str),
    /// The token belongs to another attempt.
    Nonce,
    /// The person last proved who they are too long ago.
    AuthTime,
}

impl fmt::Display for OidcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OidcError::Document(what) => write!(f, "the provider's {what} is no JSON object, or too long"),
            OidcError::Member(member) => write!(f, "{member} is missing in the provider's document, or has another form"),
            OidcError::Url(member) => {
                write!(f, "{member} is no URL with https (http is allowed to a loopback address alone)")
            }
            OidcError::Issuer(given) => write!(
                f,
                "the provider calls itself {given:?}, which is not the configured issuer: write it exactly so, if it is right"
            ),
            OidcError::ClientMethod => f.write_str(
                "the provider takes neither client_secret_basic, client_secret_post nor, without a secret, none: allow one of \
                 them for this client",
            ),
            OidcError::Pkce => f.write_str("the provider does not take PKCE with S256: allow it for this client"),
            OidcError::Parameter(name) => {
                write!(f, "the parameter {name} of the provider's answer is missing, stands twice or has another form")
            }
            OidcError::State => f.write_str("the sign-in was begun in another browser or too long ago: begin again"),
            OidcError::Provider { code, description } if description.is_empty() => {
                write!(f, "the provider refuses: {code}")
            }
            OidcError::Provider { code, description } => write!(f, "the provider refuses: {code} ({description})"),
            OidcError::TokenForm(what) => write!(f, "the ID token {what}"),
            OidcError::Algorithm(given) => write!(
                f,
                "the ID token is signed by {given:?}; RS256 and ES256 are accepted: choose one for this client at the provider"
            ),
            OidcError::UnknownKey(wanted) => write!(f, "the provider's keys have none {wanted}"),
            OidcError::AmbiguousKey => {
                f.write_str("the ID token does not say by which of several keys it is signed (kid)")
            }
            OidcError::Signature => f.write_str("the signature of the ID token is wrong"),
            OidcError::Claim(name) => write!(f, "the claim {name} of the ID token is missing or has another form"),
            OidcError::Audience => f.write_str("the ID token is for another client (aud)"),
            OidcError::AuthorizedParty => f.write_str("the ID token was made for another client (azp)"),
            OidcError::Expired => f.write_str("the ID token has expired (exp): check the clocks of both machines"),
            OidcError::NotYet(claim) => {
                write!(f, "the ID token is of the future ({claim}): check the clocks of both machines")
            }
            OidcError::Nonce => f.write_str("the ID token belongs to another attempt to sign in (nonce): begin again"),
            OidcError::AuthTime => {
                f.write_str("the person did not prove who they are again (auth_time): the provider ignores max_age")
            }
        }
    }
}

impl std::error::Error for OidcError {}
