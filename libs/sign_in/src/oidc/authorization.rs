//! Authorization request (OIDC Core §3.1.2.1) with PKCE (RFC 7636), state and nonce.

use super::discovery::OidcProvider;
use super::{OidcClient, OidcError};
use crate::text::{base64url, form, from_base64url};
use ring::digest;
use std::fmt;

/// Random octets of a state, a nonce and a verifier, each.
pub const RANDOM_OCTETS: usize = 32;
/// Scopes of a request.
pub const SCOPES_MAX: usize = 16;
const OPENID: &str = "openid";

/// Secrets of one attempt to sign in. The caller keeps them for [`super::ATTEMPT_S`] where only the browser
/// that began it leads to them (an HttpOnly cookie), and takes them away at the first callback.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInAttempt {
    state: [u8; RANDOM_OCTETS],
    nonce: [u8; RANDOM_OCTETS],
    verifier: [u8; RANDOM_OCTETS],
}

impl fmt::Debug for SignInAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignInAttempt(..)")
    }
}

/// What a request asks for beside the flow itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuthorizationWish<'a> {
    /// Scopes beside `openid`, as `email`, `profile`, `groups`; the first [`SCOPES_MAX`].
    pub scopes: &'a [&'a str],
    /// `login_hint`: the name or address that the person typed here.
    pub login_hint: Option<&'a str>,
    /// `max_age`: the person proves who they are if the last time is longer ago. 0: in any case.
    pub max_age_s: Option<u64>,
    /// `ui_locales`: languages, best first, separated by spaces.
    pub ui_locales: Option<&'a str>,
}

impl SignInAttempt {
    /// An attempt of random octets from the system's generator: state, nonce, verifier.
    pub fn new(random: [[u8; RANDOM_OCTETS]; 3]) -> SignInAttempt {
        let [state, nonce, verifier] = random;
        SignInAttempt { state, nonce, verifier }
    }

    /// Text of the attempt, 128 letters of base64url, to keep it. It is secret.
    pub fn text(&self) -> String {
        base64url(&[self.state, self.nonce, self.verifier].concat())
    }

    /// Reads the text that was kept. Nothing if it has another form.
    pub fn read(text: &str) -> Option<SignInAttempt> {
        let octets = from_base64url(text)?;
        let (parts, rest) = octets.as_chunks::<RANDOM_OCTETS>();
        let parts = <[[u8; RANDOM_OCTETS]; 3]>::try_from(parts).ok()?;
        rest.is_empty().then(|| SignInAttempt::new(parts))
    }

    /// `state`: ties the callback to the browser.
    pub fn state(&self) -> String {
        base64url(&self.state)
    }

    /// `nonce`: ties the ID token to the attempt.
    pub fn nonce(&self) -> String {
        base64url(&self.nonce)
    }

    /// `code_verifier`: ties the code to this server. It is sent to the token endpoint alone.
    pub fn verifier(&self) -> String {
        base64url(&self.verifier)
    }

    /// URL to send the browser to. A query that the endpoint has stays (RFC 6749 §3.1).
    ///
    /// # Errors
    /// The client's redirection URI is not allowed.
    pub fn url(
        &self,
        provider: &OidcProvider,
        client: &OidcClient,
        wish: AuthorizationWish<'_>,
    ) -> Result<String, OidcError> {
        if !super::discovery::is_url(&client.redirect_uri) {
            return Err(OidcError::Url("redirect_uri"));
        }
        let more = wish.scopes.iter().copied().filter(|scope| *scope != OPENID).take(SCOPES_MAX);
        let scope = [OPENID].into_iter().chain(more).collect::<Vec<_>>().join(" ");
        let (state, nonce) = (self.state(), self.nonce());
        let challenge = code_challenge(&self.verifier());
        let max_age = wish.max_age_s.map(|seconds| seconds.to_string());
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", &client.redirect_uri),
            ("scope", &scope),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        pairs.extend(wish.login_hint.map(|hint| ("login_hint", hint)));
        pairs.extend(max_age.as_deref().map(|seconds| ("max_age", seconds)));
        pairs.extend(wish.ui_locales.map(|locales| ("ui_locales", locales)));
        let endpoint = &provider.authorization_endpoint;
        let join = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{join}{}", form(&pairs)))
    }
}

/// `code_challenge` of a verifier by S256 (RFC 7636 §4.2).
pub fn code_challenge(verifier: &str) -> String {
    base64url(digest::digest(&digest::SHA256, verifier.as_bytes()).as_ref())
}
