//! The provider of OpenID Connect, as this server knows it: its document and keys, fetched and remembered,
//! and the exchange of a code for the claims of who signed in.

use super::provider_calls::{ProviderCalls, sent};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use arc_swap::ArcSwap;
use net::OutboundPolicy;
use reqwest::Method;
use sign_in::oidc::authorization::SignInAttempt;
use sign_in::oidc::discovery::{self, OidcProvider};
use sign_in::oidc::id_token::{self, ExpectedToken, IdClaims};
use sign_in::oidc::jwks::JwkSet;
use sign_in::oidc::{OidcClient, OidcError, token};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A document is fetched again after so long.
const DOCUMENT_FOR: Duration = Duration::from_secs(600);
/// Keys are fetched again because of a token by an unknown key at most so often.
const KEYS_EVERY: Duration = Duration::from_secs(30);
/// Providers that are remembered; a reload may name another one.
const PROVIDERS_MAX: usize = 8;
/// Retry-After where the provider does not answer. It is not asked before.
const RETRY_S: u64 = 5;

/// Providers that were read lately.
pub(crate) struct ProviderCache {
    outbound: Arc<ArcSwap<OutboundPolicy>>,
    by_issuer: Mutex<HashMap<String, Remembered>>,
}

enum Remembered {
    Known(KnownProvider),
    /// It could not be read; whoever comes next does not wait for it again.
    Failed {
        at: Instant,
        outbound: Arc<OutboundPolicy>,
        problem: HttpProblem,
    },
}

#[derive(Clone)]
struct KnownProvider {
    calls: Arc<ProviderCalls>,
    /// The policy that the calls are judged by; after a reload it is another one.
    outbound: Arc<OutboundPolicy>,
    provider: Arc<OidcProvider>,
    keys: Arc<JwkSet>,
    read: Instant,
    /// When the keys were last fetched again because of a token.
    keys_asked: Option<Instant>,
}

impl ProviderCache {
    pub(crate) fn new(outbound: Arc<ArcSwap<OutboundPolicy>>) -> ProviderCache {
        ProviderCache { outbound, by_issuer: Mutex::default() }
    }

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
        let mut request = known.calls.request(Method::POST, &wanted.url)?;
        request = request.header("content-type", token::CONTENT_TYPE).body(wanted.body);
        if let Some(authorization) = wanted.authorization {
            request = request.header("authorization", authorization);
        }
        // One that refuses says why in its body.
        let (_, answer) = sent(request).await?;
        let answer = token::read(&answer).map_err(|why| misled(&why))?;
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
            let (_, json) = sent(known.calls.request(Method::GET, endpoint)?.bearer_auth(access)).await?;
            claims.add_userinfo(&json).map_err(|why| misled(&why))?;
        }
        Ok(claims)
    }

    async fn known(&self, issuer: &str) -> HttpResult<KnownProvider> {
        let outbound = self.outbound.load_full();
        let mut by_issuer = self.by_issuer.lock().await;
        match by_issuer.get(issuer) {
            Some(Remembered::Known(known))
                if known.read.elapsed() < DOCUMENT_FOR && Arc::ptr_eq(&known.outbound, &outbound) =>
            {
                return Ok(known.clone());
            }
            Some(Remembered::Failed { at, outbound: judged_by, problem })
                if at.elapsed() < Duration::from_secs(RETRY_S) && Arc::ptr_eq(judged_by, &outbound) =>
            {
                return Err(problem.clone());
            }
            _ => {}
        }
        if by_issuer.len() >= PROVIDERS_MAX {
            by_issuer.clear();
        }
        match read(issuer, outbound.clone()).await {
            Ok(known) => {
                by_issuer.insert(issuer.to_owned(), Remembered::Known(known.clone()));
                Ok(known)
            }
            Err(problem) => {
                let failed = Remembered::Failed { at: Instant::now(), outbound, problem: problem.clone() };
                by_issuer.insert(issuer.to_owned(), failed);
                Err(problem)
            }
        }
    }

    /// The keys as they are now. Whatever tokens name, they are fetched once in a while.
    async fn fresh_keys(&self, issuer: &str, used: &KnownProvider) -> HttpResult<Arc<JwkSet>> {
        let mut by_issuer = self.by_issuer.lock().await;
        let Some(Remembered::Known(known)) = by_issuer.get_mut(issuer) else { return Ok(used.keys.clone()) };
        let is_recent = known.keys_asked.is_some_and(|at| at.elapsed() < KEYS_EVERY);
        // Others may have fetched them meanwhile.
        if is_recent || !Arc::ptr_eq(&known.keys, &used.keys) {
            return Ok(known.keys.clone());
        }
        known.keys_asked = Some(Instant::now());
        known.keys = keys(&known.calls, &known.provider).await?;
        Ok(known.keys.clone())
    }
}

async fn read(issuer: &str, outbound: Arc<OutboundPolicy>) -> HttpResult<KnownProvider> {
    let calls = Arc::new(ProviderCalls::new(issuer, &outbound)?);
    let document = calls.document(&discovery::url(issuer)).await?;
    let provider = OidcProvider::read(issuer, &document).map_err(|why| misled(&why))?;
    let keys = keys(&calls, &provider).await?;
    let provider = Arc::new(provider);
    Ok(KnownProvider { calls, outbound, provider, keys, read: Instant::now(), keys_asked: None })
}

async fn keys(calls: &ProviderCalls, provider: &OidcProvider) -> HttpResult<Arc<JwkSet>> {
    let json = calls.document(&provider.jwks_uri).await?;
    Ok(Arc::new(JwkSet::read(&json).map_err(|why| misled(&why))?))
}

/// Said of a provider that does not answer, or cannot.
pub(super) fn unavailable(what: &str) -> HttpProblem {
    let detail = format!("the provider {what}; try again, or sign in with a password");
    HttpProblem::new(ProblemKind::Busy, detail).retry_after(RETRY_S)
}

/// An answer of the provider that is not as it has to be.
pub(crate) fn misled(why: &OidcError) -> HttpProblem {
    tracing::warn!(%why, "a sign-in by OpenID Connect was refused");
    let detail = format!("the provider's answer is refused: {why}; begin again, or ask an administrator");
    HttpProblem::new(ProblemKind::SignInFailed, detail)
}
