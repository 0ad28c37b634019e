//! Callback: the parameters with which the browser comes back (OIDC Core §3.1.2.5 and §3.1.2.6, RFC 9207).

use super::OidcError;
use super::authorization::SignInAttempt;
use super::discovery::OidcProvider;
use crate::text::{form_unescape, from_base64url, shown};

/// Octets of a query.
pub const QUERY_OCTETS_MAX: usize = 8 * 1_024;
/// Octets of a code.
pub const CODE_OCTETS_MAX: usize = 4 * 1_024;
/// Parameters of a query; providers add some of their own.
const PARAMETERS_MAX: usize = 32;
/// Characters of an error's code and of its words.
const ERROR_CHARACTERS_MAX: usize = 200;

/// Reads the query of a callback and gives the code for the token endpoint.
///
/// `state` is looked at before all else, then the issuer, so that an error is believed only if it comes from
/// the provider that was asked, in the browser that asked it.
///
/// # Errors
/// `state` or `iss` is not that of the attempt, the provider refuses, or a parameter is missing, stands twice
/// (RFC 6749 §3.1) or has another form.
pub fn read(query: &str, attempt: &SignInAttempt, provider: &OidcProvider) -> Result<String, OidcError> {
    let query = query.strip_prefix('?').unwrap_or(query);
    if query.len() > QUERY_OCTETS_MAX {
        return Err(OidcError::Parameter("query"));
    }
    let pairs: Vec<&str> = query.split('&').take(PARAMETERS_MAX + 1).collect();
    if pairs.len() > PARAMETERS_MAX {
        return Err(OidcError::Parameter("query"));
    }
    let parameter = |name| parameter(&pairs, name);
    let state = parameter("state")?.ok_or(OidcError::Parameter("state"))?;
    // The state is 256 random bits that count once: the time of comparing them tells nobody enough.
    if from_base64url(&state) != from_base64url(&attempt.state()) {
        return Err(OidcError::State);
    }
    match parameter("iss")? {
        Some(issuer) if issuer != provider.issuer => {
            return Err(OidcError::Issuer(shown(&issuer, ERROR_CHARACTERS_MAX)));
        }
        None if provider.sends_issuer => return Err(OidcError::Parameter("iss")),
        _ => {}
    }
    if let Some(code) = parameter("error")? {
        let description = parameter("error_description")?.unwrap_or_default();
        return Err(refusal(&code, &description));
    }
    let code = parameter("code")?.ok_or(OidcError::Parameter("code"))?;
    let is_code =
        (1..=CODE_OCTETS_MAX).contains(&code.len()) && code.bytes().all(|b| (0x20..0x7f).contains(&b));
    if is_code { Ok(code) } else { Err(OidcError::Parameter("code")) }
}

/// What a provider says when it refuses, cut to what a log can take.
pub(super) fn refusal(code: &str, description: &str) -> OidcError {
    OidcError::Provider {
        code: shown(code, ERROR_CHARACTERS_MAX),
        description: shown(description, ERROR_CHARACTERS_MAX),
    }
}

/// A parameter's value, if it is there once.
fn parameter(pairs: &[&str], name: &'static str) -> Result<Option<String>, OidcError> {
    let mut values = pairs.iter().filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (form_unescape(key).as_deref() == Some(name)).then_some(value)
    });
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(OidcError::Parameter(name));
    }
    form_unescape(value).map(Some).ok_or(OidcError::Parameter(name))
}
