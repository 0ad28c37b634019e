//! State that the door signs people in with: the hasher of passwords, the throttle, sealed secrets, the
//! relying party of passkeys, and the policy of the configuration.

use crate::http::HttpConfig;
use crate::http::auth::password_hasher::PasswordHasher;
use crate::http::auth::sealed_secret::{SEALING_KEY_OCTETS, SecretSeal};
use crate::http::auth::sign_in_throttle::SignInThrottle;
use crate::http::oidc::attempts::UsedAttempts;
use crate::http::oidc::provider::ProviderCache;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::session::links::SignInLinks;
use arc_swap::ArcSwap;
use net::OutboundPolicy;
use records::{Mode, UserRole};
use sign_in::passkey::relying_party::RelyingParty;
use std::sync::Arc;

/// The name of the site where the configuration names no organisation.
const SITE: &str = "Campanile";

/// What the configuration says of signing in; a reload may change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInPolicy {
    /// Who runs this server, for authenticators and passkeys.
    pub organisation: Option<String>,
    /// The provider of OpenID Connect.
    pub oidc: Option<OidcSettings>,
}

impl SignInPolicy {
    /// The site's name, for people.
    pub fn site(&self) -> &str {
        self.organisation.as_deref().unwrap_or(SITE)
    }
}

/// A provider of OpenID Connect, and whom it signs in.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// Its issuer.
    pub issuer: String,
    /// This server's name there.
    pub client_id: String,
    /// Its secret there; nothing: PKCE alone.
    pub client_secret: Option<String>,
    /// What people call the provider: "Sign in with …".
    pub name: String,
    /// Scopes beside `openid`.
    pub scopes: Vec<String>,
    /// The claim that the roles follow from.
    pub claim: String,
    /// Values of the claim and the roles that each gives.
    pub roles: Vec<(String, Vec<UserRole>)>,
    /// Spaces of users who sign in for the first time.
    pub spaces: Vec<Mode>,
    /// The account that its users belong to.
    pub account: String,
}

impl std::fmt::Debug for OidcSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OidcSettings { issuer, client_id, account, .. } = self;
        write!(f, "OidcSettings {{ issuer: {issuer:?}, client_id: {client_id:?}, account: {account:?}, .. }}")
    }
}

/// Octets of the key under which secrets of users are sealed.
pub const USER_KEY_OCTETS: usize = SEALING_KEY_OCTETS;

/// What people sign in with.
pub(crate) struct SignInState {
    pub hasher: PasswordHasher,
    pub throttle: Arc<SignInThrottle>,
    pub seal: SecretSeal,
    pub policy: Arc<ArcSwap<SignInPolicy>>,
    pub providers: ProviderCache,
    pub attempts: UsedAttempts,
    /// One-time links that this process made.
    pub links: SignInLinks,
    /// Where people reach this server, without a slash at the end.
    pub base: String,
    party: Option<RelyingParty>,
}

impl SignInState {
    pub(crate) fn new(
        config: &HttpConfig,
        key: &[u8; SEALING_KEY_OCTETS],
        policy: Arc<ArcSwap<SignInPolicy>>,
        outbound: Arc<ArcSwap<OutboundPolicy>>,
    ) -> SignInState {
        let base = base(config);
        let party = relying_party(&base, policy.load().site());
        SignInState {
            hasher: PasswordHasher::default(),
            throttle: Arc::default(),
            seal: SecretSeal::new(key),
            policy,
            providers: ProviderCache::new(outbound),
            attempts: UsedAttempts::default(),
            links: SignInLinks::default(),
            base,
            party,
        }
    }

    /// The site that passkeys are for.
    ///
    /// # Errors
    /// Browsers make none for this server's address.
    pub(crate) fn party(&self) -> HttpResult<&RelyingParty> {
        self.party.as_ref().ok_or_else(|| {
            HttpProblem::new(
                ProblemKind::NotFound,
                "passkeys need a server with a name under TLS: set [http] public_url to https://NAME",
            )
        })
    }

    /// Whether there can be passkeys.
    pub(crate) fn has_passkeys(&self) -> bool {
        self.party.is_some()
    }
}

/// The public address, else the one that is listened on; browsers know loopback as localhost.
fn base(config: &HttpConfig) -> String {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let usual = || match config.listen.ip().is_loopback() {
        true => format!("{scheme}://localhost:{}", config.listen.port()),
        false => format!("{scheme}://{}", config.listen),
    };
    let url = config.public_url.clone().unwrap_or_else(usual);
    url.trim_end_matches('/').to_owned()
}

/// Passkeys belong to the host of the address, and are used at its origin.
fn relying_party(base: &str, site: &str) -> Option<RelyingParty> {
    let (scheme, rest) = base.split_once("://")?;
    let authority = rest.split('/').next()?.to_ascii_lowercase();
    let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
    // Browsers leave the usual port of a scheme out of an origin.
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let authority_shown = authority.strip_suffix(usual).unwrap_or(&authority);
    RelyingParty::new(host, site, &[&format!("{scheme}://{authority_shown}")]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_belong_to_a_name_under_tls_or_to_localhost() {
        for (base, id, origin) in [
            ("https://alerts.example", Some("alerts.example"), "https://alerts.example"),
            ("https://alerts.example:8443/x", Some("alerts.example"), "https://alerts.example:8443"),
            ("https://alerts.example:443", Some("alerts.example"), "https://alerts.example"),
            ("http://localhost:8080", Some("localhost"), "http://localhost:8080"),
            ("http://alerts.example", None, ""),
            ("https://192.0.2.1", None, ""),
        ] {
            let party = relying_party(base, "City of X");
            assert_eq!(party.as_ref().map(RelyingParty::id), id, "{base}");
            assert!(party.is_none_or(|party| party.has_origin(origin)), "{base}");
        }
    }

    #[test]
    fn the_base_is_the_public_address_or_localhost() {
        let config = |listen: &str, url: Option<&str>| {
            HttpConfig::plain(listen.parse().unwrap(), url.map(str::to_owned))
        };
        assert_eq!(base(&config("127.0.0.1:8080", None)), "http://localhost:8080");
        assert_eq!(base(&config("0.0.0.0:80", Some("https://a.example/"))), "https://a.example");
    }
}
