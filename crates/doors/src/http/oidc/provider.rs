//! The provider of OpenID Connect, as this server talks to it: its document and keys, fetched and remembered,
//! and the exchange of a code for the claims of who signed in.

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use futures_util::StreamExt;
use net::{TlsClient, TlsClientSettings};
use sign_in::oidc::authorization::SignInAttempt;
use sign_in::oidc::discovery::{self, OidcProvider};
use sign_in::oidc::id_token::{self, ExpectedToken, IdClaims};
use sign_in::oidc::jwks::JwkSet;
use sign_in::oidc::{DOCUMENT_OCTETS_MAX, OidcClient, OidcError, token};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A document is fetched again after so long.
const DOCUMENT_FOR: Duration = Duration::from_secs(600);
/// Keys are fetched again because of a token by an unknown key at most so often.
const KEYS_EVERY: Duration = Duration::from_secs(30);
const CONNECT_MAX: Duration = Duration::from_secs(5);
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Providers that are remembered; a reload may name another one.
const PROVIDERS_MAX: usize = 8;
/// Retry-After where the provider does not answer.
const RETRY_S: u64 = 5;

/// Providers that were read lately.
#[derive(Default)]
pub(crate) struct ProviderCache {
    by_issuer: Mutex<HashMap<String, KnownProvider>>,
}

#[derive(Clone)]
struct KnownProvider {
    http: reqwest::Client,
    provider: Arc<OidcProvider>,
    keys: Arc<JwkSet>,
    read: Instant,
    keys_read: Instant,
}

impl ProviderCache {
    /// The provider of an issuer.
    pub(crate) async fn provider(&self, issuer: &str) -> HttpResult<Arc<OidcProvider>> {
        Ok(self.known(issuer).await?.provider)
    }

    /// The claims of whoever the provider gave this code for.
    pub(crate) async fn claims(
        &self,
        client: &OidcClient,
        (issuer, code): (&str, &str),
        attempt: &SignInAttempt,
        now_s: u64,
    ) -> HttpResult<IdClaims> {
        let known = self.known(issuer).await?;
        let wanted = token::request(&known.provider, client, attempt, code).map_err(|why| misled(&why))?;
        let mut request = known.http.post(&wanted.url).header("content-type", token::CONTENT_TYPE);
        request = request.header("accept", "application/json").body(wanted.body);
        if let Some(authorization) = wanted.authorization {
            request = request.header("authorization", authorization);
        }
        let answer = token::read(&fetched(request).await?).map_err(|why| misled(&why))?;
        let nonce = attempt.nonce();
        let client_id = &client.id;
        let expected = ExpectedToken { issuer, client_id, nonce: &nonce, max_age_s: None, now_s };
        let mut claims = match id_token::validate(&answer.id_token, &known.keys, expected) {
            Err(OidcError::UnknownKey(wanted)) => {
                tracing::info!(%wanted, issuer, "the provider signs by a new key");
                let keys = self.fresh_keys(issuer, &known).await?;
                id_token::validate(&answer.id_token, &keys, expected)
            }
            validated => validated,
        }
        .map_err(|why| misled(&why))?;
        if let (Some(endpoint), Some(access)) = (&known.provider.userinfo_endpoint, answer.access_token) {
            let json = fetched(known.http.get(endpoint).bearer_auth(access)).await?;
            claims.add_userinfo(&json).map_err(|why| misled(&why))?;
        }
        Ok(claims)
    }

    async fn known(&self, issuer: &str) -> HttpResult<KnownProvider> {
        let mut by_issuer = self.by_issuer.lock().await;
        if let Some(known) = by_issuer.get(issuer).filter(|known| known.read.elapsed() < DOCUMENT_FOR) {
            return Ok(known.clone());
        }
        let http = client()?;
        let document = fetched(http.get(discovery::url(issuer))).await?;
        let provider = OidcProvider::read(issuer, &document).map_err(|why| misled(&why))?;
        let keys = keys(&http, &provider).await?;
        let now = Instant::now();
        let known = KnownProvider { http, provider: Arc::new(provider), keys, read: now, keys_read: now };
        if by_issuer.len() >= PROVIDERS_MAX {
            by_issuer.clear();
        }
        by_issuer.insert(issuer.to_owned(), known.clone());
        Ok(known)
    }

    /// The keys as they are now; lately read ones are not read again, whatever a token names.
    async fn fresh_keys(&self, issuer: &str, known: &KnownProvider) -> HttpResult<Arc<JwkSet>> {
        if known.keys_read.elapsed() < KEYS_EVERY {
            return Ok(known.keys.clone());
        }
        let keys = keys(&known.http, &known.provider).await?;
        if let Some(known) = self.by_issuer.lock().await.get_mut(issuer) {
            (known.keys, known.keys_read) = (keys.clone(), Instant::now());
        }
        Ok(keys)
    }
}

async fn keys(http: &reqwest::Client, provider: &OidcProvider) -> HttpResult<Arc<JwkSet>> {
    let json = fetched(http.get(&provider.jwks_uri)).await?;
    Ok(Arc::new(JwkSet::read(&json).map_err(|why| misled(&why))?))
}

/// The provider is named in the configuration, so it is trusted to be called wherever it is.
fn client() -> HttpResult<reqwest::Client> {
    let failed = |why: String| HttpProblem::new(ProblemKind::Internal, format!("no HTTP client: {why}"));
    let trust = TlsClientSettings { ca_file: None, server_name: None };
    let tls = TlsClient::new(&trust).map_err(|error| failed(error.to_string()))?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.config())
        .no_proxy()
        .connect_timeout(CONNECT_MAX)
        .timeout(ANSWER_MAX)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")))
        .build();
    client.map_err(|error| failed(error.to_string()))
}

/// The body of an answer, whatever its status, within the limit.
async fn fetched(request: reqwest::RequestBuilder) -> HttpResult<Vec<u8>> {
    let answer = request.send().await.map_err(|error| silent(&error))?;
    let mut body = answer.bytes_stream();
    let mut octets = Vec::new();
    while let Some(piece) = body.next().await {
        octets.extend_from_slice(&piece.map_err(|error| silent(&error))?);
        if octets.len() > DOCUMENT_OCTETS_MAX {
            break;
        }
    }
    Ok(octets)
}

fn silent(error: &reqwest::Error) -> HttpProblem {
    // Its URL may have secrets in its query.
    let kind = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
    tracing::warn!(kind, is_connect = error.is_connect(), "the provider of OpenID Connect failed");
    let detail = format!("the provider {kind}; try again, or sign in with a password");
    HttpProblem::new(ProblemKind::Busy, detail).retry_after(RETRY_S)
}

/// An answer of the provider that is not as it has to be.
pub(crate) fn misled(why: &OidcError) -> HttpProblem {
    tracing::warn!(%why, "a sign-in by OpenID Connect was refused");
    let detail = format!("the provider's answer is refused: {why}; begin again, or ask an administrator");
    HttpProblem::new(ProblemKind::SignInFailed, detail)
}
