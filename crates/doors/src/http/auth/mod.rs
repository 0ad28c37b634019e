//! Authentication and authorization: bearer tokens and their cache, browser sessions, request rates, and the
//! guard that applies the required roles to each request.

mod request_rate;
pub(crate) mod sessions;

use self::request_rate::RequestRate;
use self::sessions::BrowserSessions;
use crate::http::HttpConfig;
use crate::http::app::App;
use crate::http::forward;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::routes::{self, RequiredRole};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::{Account, Role, Timestamp, Token};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{SharedStore, StoreError};
use tokio::time::Instant;

/// Tokens looked up, sessions of browsers, and the rate of each token.
pub(crate) struct AuthState {
    pub tokens: TokenCache,
    pub sessions: BrowserSessions,
    rate: RequestRate,
    /// Cookies are for TLS alone.
    pub secure_cookies: bool,
}

impl AuthState {
    pub(crate) fn new(config: &HttpConfig) -> AuthState {
        let is_https = |url: &str| url.starts_with("https://");
        AuthState {
            tokens: TokenCache::default(),
            sessions: BrowserSessions::default(),
            rate: RequestRate::new(config.limits.requests_per_s, config.limits.burst),
            secure_cookies: config.tls.is_some() || config.public_url.as_deref().is_some_and(is_https),
        }
    }
}

/// Prefix of all tokens.
pub(crate) const TOKEN_PREFIX: &str = "cmp_";
/// Characters of the longest token looked at.
const TOKEN_CHARS_MAX: usize = 200;
/// Tokens kept in memory.
const CACHE_MAX: usize = 10_000;
/// A token is looked up again after so long: another process may have revoked it.
const CACHE_FOR: Duration = Duration::from_secs(10);

/// The caller of a request, identified by a valid token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Their token.
    pub token: Arc<Token>,
}

impl Caller {
    pub(crate) fn account(&self) -> &str {
        &self.token.account
    }

    /// Sees only alerts it submitted.
    pub(crate) fn only_own(&self) -> bool {
        self.token.role == Role::Submit
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = HttpProblem;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, HttpProblem> {
        let found = parts.extensions.get::<Caller>().cloned();
        found.ok_or_else(|| HttpProblem::new(ProblemKind::NoToken, "a token is needed"))
    }
}

/// Guard of every route of the table: admits callers with the required role, and adds the caller to the
/// request.
pub(crate) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let Some(need) = need_of(&request) else { return next.run(request).await };
    if need == RequiredRole::Nothing {
        return next.run(request).await;
    }
    let (method, headers) = (request.method().clone(), request.headers().clone());
    match admit(&app, &method, &headers, need).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// The role that the table requires for this request; nothing if it is in no row (then the router answers 404
/// or 405).
fn need_of(request: &Request) -> Option<RequiredRole> {
    let matched = request.extensions().get::<MatchedPath>()?;
    let template = routes::template(request.method(), matched.as_str(), request.uri().path());
    routes::row(request.method(), &template).map(|row| row.need)
}

async fn admit(app: &App, method: &Method, headers: &HeaderMap, need: RequiredRole) -> HttpResult<Caller> {
    let caller = identify(app, method, headers).await?;
    if let Err(wait) = app.auth.rate.check(&caller.token.id) {
        let detail = format!("more than {} requests a second with this token", app.auth.rate.per_s);
        return Err(
            HttpProblem::new(ProblemKind::TooMany, detail).retry_after(wait.as_secs_f64().ceil() as u64)
        );
    }
    if need.allows(caller.token.role) {
        return Ok(caller);
    }
    let detail = format!("role {} may not do this; {} is needed", caller.token.role.name(), need.words());
    Err(HttpProblem::new(ProblemKind::WrongRole, detail))
}

async fn identify(app: &App, method: &Method, headers: &HeaderMap) -> HttpResult<Caller> {
    if let Some(caller) = forward::vouched(app, headers)? {
        return Ok(caller);
    }
    if let Some(value) = headers.get(AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        let secret = match value.split_once(' ') {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => secret.trim(),
            _ => {
                return Err(HttpProblem::new(
                    ProblemKind::BadToken,
                    "the Authorization header must be: Bearer TOKEN",
                ));
            }
        };
        return caller_of_secret(app, secret).await;
    }
    // A browser's session only reads; forms that change something carry a token of their own.
    if matches!(*method, Method::GET | Method::HEAD)
        && let Some(caller) = sessions::caller(app, headers).await?
    {
        return Ok(caller);
    }
    Err(HttpProblem::new(ProblemKind::NoToken, "send the header: Authorization: Bearer TOKEN"))
}

/// The caller with this token.
pub(crate) async fn caller_of_secret(app: &App, secret: &str) -> HttpResult<Caller> {
    if secret.len() > TOKEN_CHARS_MAX || !secret.starts_with(TOKEN_PREFIX) {
        return Err(HttpProblem::new(
            ProblemKind::BadToken,
            format!("the token has a wrong form: tokens begin with {TOKEN_PREFIX}"),
        ));
    }
    let found = app.auth.tokens.find(&app.store, hash(secret)).await?;
    found
        .map(|token| Caller { token })
        .ok_or_else(|| HttpProblem::new(ProblemKind::BadToken, "the token is unknown or was revoked"))
}

/// SHA-256, as stored.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, secret.as_bytes());
    let mut out = [0; 32];
    out.copy_from_slice(digest.as_ref());
    out
}

/// 256 random bits, base64url.
pub(crate) fn random_text() -> HttpResult<String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| {
        HttpProblem::new(ProblemKind::Internal, "the system's random number generator failed")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// A new token and its secret, which is nowhere else.
pub(crate) fn mint(role: Role, account: &str, name: &str, now: Timestamp) -> HttpResult<(Token, String)> {
    let secret = format!("{TOKEN_PREFIX}{}", random_text()?);
    let hash = hash(&secret);
    // A public name of the token, from its hash: 48 bits of the hash do not reveal the secret.
    let id = format!("t_{}", URL_SAFE_NO_PAD.encode(&hash[..6]));
    let token = Token {
        id,
        hash,
        role,
        account: account.to_owned(),
        name: name.to_owned(),
        created: now,
        revoked: None,
    };
    Ok((token, secret))
}

/// Makes the first admin token if there is no token at all; its secret is returned only here.
///
/// # Errors
/// An error of the store, or of the random number generator.
pub async fn ensure_admin_token(store: &SharedStore, now: Timestamp) -> Result<Option<String>, StoreError> {
    if !store.tokens(None).await?.is_empty() {
        return Ok(None);
    }
    let minted = mint(Role::Admin, Account::DEFAULT, "first admin token", now);
    let (token, secret) =
        minted.map_err(|problem| StoreError::Database { why: problem.detail().to_owned() })?;
    Ok(store.put_first_token(token).await?.then_some(secret))
}

/// Tokens looked up lately, by hash.
#[derive(Default)]
pub(crate) struct TokenCache {
    inner: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    by_hash: HashMap<[u8; 32], (Arc<Token>, Instant)>,
    /// Raised by every revocation, so that a lookup that began before one is not kept.
    revocations: u64,
}

impl TokenCache {
    /// By hash, from memory or the store.
    pub(crate) async fn find(
        &self,
        store: &SharedStore,
        hash: [u8; 32],
    ) -> Result<Option<Arc<Token>>, StoreError> {
        let revocations = {
            let inner = self.lock();
            match inner.by_hash.get(&hash) {
                Some((token, since)) if since.elapsed() < CACHE_FOR => return Ok(Some(token.clone())),
                _ => inner.revocations,
            }
        };
        let Some(token) = store.token_by_hash(hash).await?.map(Arc::new) else {
            self.lock().by_hash.remove(&hash);
            return Ok(None);
        };
        let mut inner = self.lock();
        if inner.revocations == revocations {
            if inner.by_hash.len() >= CACHE_MAX {
                inner.by_hash.clear();
            }
            inner.by_hash.insert(hash, (token.clone(), Instant::now()));
        }
        Ok(Some(token))
    }

    /// Forgets a token that was revoked.
    pub(crate) fn forget(&self, id: &str) {
        let mut inner = self.lock();
        inner.revocations += 1;
        inner.by_hash.retain(|_, (token, _)| token.id != id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Cached> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
