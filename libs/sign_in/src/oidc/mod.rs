//! OpenID Connect as a relying party: authorization code flow with PKCE (OIDC Core 1.0, RFC 6749, RFC 7636).
//!
//! The way of one sign-in, of which the caller does the HTTP:
//! 1. [`discovery`]: the provider's document, read at start and once in a while; [`jwks`]: its keys.
//! 2. [`authorization`]: the URL to send the browser to, and an [`authorization::SignInAttempt`] to keep.
//! 3. [`callback`]: the parameters with which the browser comes back.
//! 4. [`token`]: the request for the ID token, and its answer.
//! 5. [`id_token`]: the token's signature and claims. [`claims`]: the user that they name.
//!
//! Tokens signed by RS256 and ES256 are accepted. `none` and the HMAC algorithms are refused whatever the
//! provider says, as the latter would let whoever reads a public key sign.

pub mod authorization;
pub mod callback;
pub mod claims;
pub mod discovery;
mod error;
pub mod id_token;
pub mod jwks;
#[cfg(test)]
mod tests;
pub mod token;

pub use error::OidcError;

/// Octets of a discovery document, a set of keys, or an answer of the token endpoint.
pub const DOCUMENT_OCTETS_MAX: usize = 256 * 1_024;
/// Octets of a URL in a document or the configuration.
pub const URL_OCTETS_MAX: usize = 2_048;
/// Leeway between the clocks of the provider and of this machine.
pub const LEEWAY_S: u64 = 60;
/// An attempt to sign in is forgotten after so long: people type passwords at the provider meanwhile.
pub const ATTEMPT_S: u64 = 10 * 60;

/// This server at a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcClient {
    /// `client_id`.
    pub id: String,
    /// `client_secret`; nothing of a public client.
    pub secret: Option<String>,
    /// Where the browser comes back to: as it is registered at the provider, octet by octet.
    pub redirect_uri: String,
    /// How the secret is given; nothing: as the discovery document allows, `client_secret_basic` first.
    pub method: Option<ClientMethod>,
}

impl std::fmt::Debug for OidcClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OidcClient { id, redirect_uri, method, .. } = self;
        write!(f, "OidcClient {{ id: {id:?}, redirect_uri: {redirect_uri:?}, method: {method:?}, .. }}")
    }
}

/// Authentication at the token endpoint (OIDC Core §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientMethod {
    /// `client_secret_basic`: in a header.
    Basic,
    /// `client_secret_post`: in the body.
    Post,
    /// `none`: PKCE alone.
    None,
}

impl ClientMethod {
    /// The method's name in documents and the configuration.
    pub fn word(self) -> &'static str {
        match self {
            ClientMethod::Basic => "client_secret_basic",
            ClientMethod::Post => "client_secret_post",
            ClientMethod::None => "none",
        }
    }
}
