//! Authentication and authorization: bearer tokens and their cache, sessions of users and of the plain pages,
//! request rates, and the guard that applies the required roles to each request.

mod first_token;
pub(crate) mod password_hasher;
mod request_rate;
pub(crate) mod sealed_secret;
pub(crate) mod sessions;
pub(crate) mod sign_in_throttle;
pub(crate) mod signed_in;
pub(crate) mod user_session;

pub use first_token::{AdminOnRecord, AdminRecord, AdminToken, ensure_admin_token, mint_token};

use self::request_rate::RequestRate;
use self::sessions::BrowserSessions;
use self::signed_in::{SignedInUser, USER_PREFIX};
use crate::activity::Activity;
use crate::guessing::GuessingGuard;
use crate::http::HttpConfig;
use crate::http::app::App;
use crate::http::forward;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::role_matrix::{Reach, nearest_token_role};
use crate::http::routes::{self, Operation, RequiredRole};
use crate::http::server::ClientAddress;
use crate::http::users::sign_in_state::SignInState;
use crate::live_tokens::{LiveTokens, UntilRevoked, session_key};
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::{Alert, Role, Timestamp, Token};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{SharedStore, StoreError};
use tokio::time::Instant;

/// Tokens looked up, sessions of browsers, and the rate of each token.
pub(crate) struct AuthState {
    pub tokens: TokenCache,
    pub sessions: BrowserSessions,
    rate: RequestRate,
    pub guessing: Arc<GuessingGuard>,
    /// Tokens by which something is open, in all doors.
    pub live_tokens: Arc<LiveTokens>,
    pub admin: AdminRecord,
    /// Cookies are for TLS alone.
    pub secure_cookies: bool,
    /// What people sign in with.
    pub sign_in: SignInState,
}

impl AuthState {
    pub(crate) fn new(
        config: &HttpConfig,
        guessing: Arc<GuessingGuard>,
        live_tokens: Arc<LiveTokens>,
        sign_in: SignInState,
    ) -> AuthState {
        let is_https = |url: &str| url.starts_with("https://");
        AuthState {
            tokens: TokenCache::default(),
            sessions: BrowserSessions::default(),
            rate: RequestRate::new(config.limits.requests_per_s, config.limits.burst),
            guessing,
            live_tokens,
            admin: AdminRecord::default(),
            secure_cookies: config.tls.is_some() || config.public_url.as_deref().is_some_and(is_https),
            sign_in,
        }
    }
}

impl AuthState {
    /// A refusal for want of a token, with what to do where nobody can have one.
    fn refusal(&self, kind: ProblemKind, detail: impl Into<String>) -> HttpProblem {
        let mut detail = detail.into();
        if self.admin.get() != AdminOnRecord::Known {
            detail.push_str(NO_ADMIN);
        }
        HttpProblem::new(kind, detail)
    }
}

/// Said beside a refusal where no admin token is on record.
const NO_ADMIN: &str = ". This server has no admin token yet: stop it and make one with campanile token create \
                        --role admin --data DIR, or start it with a standard output that can be written";

/// Prefix of all tokens.
pub(crate) const TOKEN_PREFIX: &str = "cmp_";
/// Characters of the longest token looked at.
const TOKEN_CHARS_MAX: usize = 200;
/// Tokens kept in memory.
const CACHE_MAX: usize = 10_000;
/// A token is looked up again after so long: another process may have revoked it.
const CACHE_FOR: Duration = Duration::from_secs(10);

/// A body of more octets, or of unknown length, is watched for as long as it lasts.
const LONG_OCTETS: u64 = 1 << 20;
/// A first token that was printed is on record within so long.
const PRINTED_WAIT: Duration = Duration::from_secs(5);
const PRINTED_POLL: Duration = Duration::from_millis(10);

/// The caller of a request, identified by a valid token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Their token; of a user one that stands for them, whose id is `user:` and theirs.
    pub token: Arc<Token>,
    /// How far they reach with this operation.
    pub reach: Reach,
    /// Their address, as this server knows it, or as the process says that passed the request on.
    pub from: Option<IpAddr>,
    /// The user, if it is one who signed in.
    pub user: Option<Arc<SignedInUser>>,
}

impl Caller {
    /// For an operation that looks at alerts, from an address that is not known yet.
    pub(crate) fn new(token: Arc<Token>) -> Caller {
        Caller { reach: RequiredRole::SeeOwn.reach(&token), token, from: None, user: None }
    }

    /// A user who signed in; for an operation that looks at alerts, as [`new`](Self::new).
    pub(crate) fn of_user(user: SignedInUser, account: &str) -> Caller {
        let token = Token {
            id: format!("{USER_PREFIX}{}", user.id),
            hash: [0; 32],
            role: nearest_token_role(&user.roles),
            account: account.to_owned(),
            name: user.name.clone(),
            created: Timestamp(0),
            revoked: None,
        };
        let reach = RequiredRole::SeeOwn.reach_of_user(&user.roles, account);
        Caller { token: Arc::new(token), reach, from: None, user: Some(Arc::new(user)) }
    }

    /// How far they reach with an operation that needs this.
    pub(crate) fn reach_with(&self, need: RequiredRole) -> Reach {
        match &self.user {
            Some(user) => need.reach_of_user(&user.roles, self.account()),
            None => need.reach(&self.token),
        }
    }

    /// Whether what they ask for in their space may concern this alert.
    pub(crate) fn check_space(&self, alert: &Alert) -> HttpResult<()> {
        self.user.as_ref().map_or(Ok(()), |user| user.check_space(alert.request.mode))
    }

    /// By what something of theirs is held open: their session, or their token.
    fn hold_key(&self) -> String {
        self.user.as_ref().map_or_else(|| self.token.id.clone(), |user| session_key(&user.session))
    }

    /// From this address, unless another process named one.
    pub(crate) fn at(self, client: Option<IpAddr>) -> Caller {
        Caller { from: self.from.or(client), ..self }
    }

    pub(crate) fn account(&self) -> &str {
        &self.token.account
    }

    /// Reaches only what it submitted.
    pub(crate) fn only_own(&self) -> bool {
        self.reach <= Reach::Mine
    }

    /// The only token whose things this caller reaches; nothing: those of any token of the account.
    pub(crate) fn only_token(&self) -> Option<&str> {
        self.only_own().then_some(self.token.id.as_str())
    }

    /// The only account that this caller reaches; nothing: all.
    pub(crate) fn only_account(&self) -> Option<&str> {
        (self.reach < Reach::All).then_some(self.account())
    }

    /// Whether this caller reaches into an account.
    pub(crate) fn reaches(&self, account: &str) -> bool {
        self.only_account().is_none_or(|own| own == account)
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
    let Some(row) = row_of(&request) else { return next.run(request).await };
    if row.need == RequiredRole::Nothing {
        return next.run(request).await;
    }
    if let Err(problem) = user_session::name_space_by_query(row, &mut request) {
        return problem.into_response();
    }
    let headers = request.headers().clone();
    let origin = RequestOrigin::of(request.extensions());
    match admit(&app, &headers, (row, &origin)).await {
        Ok(caller) => {
            let caller = caller.at(Some(origin.client));
            let hold = || app.auth.live_tokens.hold(&caller.hold_key());
            if is_long(request.body()) {
                let hold = hold();
                request = request.map(|body| UntilRevoked::wrap(body, hold));
            }
            request.extensions_mut().insert(caller.clone());
            let response = next.run(request).await;
            if is_long(response.body()) {
                return response.map(|body| UntilRevoked::wrap(body, hold()));
            }
            response
        }
        Err(problem) => problem.into_response(),
    }
}

/// Where a request came from; the server adds it to each.
#[derive(Clone)]
pub(crate) struct RequestOrigin {
    pub client: IpAddr,
    activity: Option<Arc<Activity>>,
}

impl RequestOrigin {
    pub(crate) fn of(extensions: &Extensions) -> RequestOrigin {
        let client = extensions.get::<ClientAddress>().map(|client| client.0);
        RequestOrigin {
            client: client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            activity: extensions.get().cloned(),
        }
    }
}

/// Whether a body may take its time: it ends when its token is revoked.
fn is_long(body: &Body) -> bool {
    body.size_hint().upper().is_none_or(|octets| octets > LONG_OCTETS)
}

/// The row of the table for this request; nothing if it is in no row (then the router answers 404 or 405).
fn row_of(request: &Request) -> Option<&'static Operation> {
    let matched = request.extensions().get::<MatchedPath>()?;
    let template = routes::template(request.method(), matched.as_str(), request.uri().path());
    routes::row(request.method(), &template)
}

pub(crate) async fn admit(
    app: &App,
    headers: &HeaderMap,
    (row, origin): (&'static Operation, &RequestOrigin),
) -> HttpResult<Caller> {
    let mut caller = identify(app, headers, (row, origin)).await?;
    if let Err(wait) = app.auth.rate.check(&caller.token.id) {
        let detail = format!("more than {} requests a second with this token", app.auth.rate.per_s);
        return Err(
            HttpProblem::new(ProblemKind::TooMany, detail).retry_after(wait.as_secs_f64().ceil() as u64)
        );
    }
    caller.reach = caller.reach_with(row.need);
    if caller.reach == Reach::Nothing {
        return Err(forbidden(&caller, row.need));
    }
    if row.is_dangerous && caller.user.as_ref().is_some_and(|user| !user.is_confirmed) {
        return Err(HttpProblem::new(
            ProblemKind::ConfirmationNeeded,
            "give your password, a code or a passkey again with POST /api/v1/session:confirm; it holds for ten minutes",
        ));
    }
    Ok(caller)
}

fn forbidden(caller: &Caller, need: RequiredRole) -> HttpProblem {
    let (about, account) = (need.about(), caller.account());
    let detail = match &caller.user {
        Some(user) => {
            let roles: Vec<&str> = user.roles.iter().map(|role| role.name()).collect();
            let (roles, needed) = (roles.join(", "), need.user_words());
            format!("your roles ({roles}) in the account {account} do not allow this ({about}); {needed} may")
        }
        None => {
            let (role, roles) = (caller.token.role.name(), need.words());
            format!("role {role} of the account {account} may not do this ({about}); {roles} is needed")
        }
    };
    HttpProblem::new(ProblemKind::WrongRole, detail)
}

async fn identify(
    app: &App,
    headers: &HeaderMap,
    (row, origin): (&'static Operation, &RequestOrigin),
) -> HttpResult<Caller> {
    if let Some(caller) = forward::vouched(app, headers)? {
        return Ok(caller);
    }
    if let Some(value) = headers.get(AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        let secret = match value.split_once(' ') {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => secret.trim(),
            _ => {
                return Err(app
                    .auth
                    .refusal(ProblemKind::BadToken, "the Authorization header must be: Bearer TOKEN"));
            }
        };
        let caller = caller_of_secret(app, secret, ("api", origin)).await?;
        if row.concerns_alerts() {
            // A token's alerts say themselves what they are; the header has to make sense all the same.
            user_session::named_space(headers)?;
        }
        return Ok(caller);
    }
    if let Some(caller) = user_session::caller(app, headers, row).await? {
        return Ok(caller);
    }
    // A session of the plain pages only reads; forms that change something carry a token of their own.
    if row.method == "GET"
        && let Some(caller) = sessions::caller(app, headers).await?
    {
        return Ok(caller);
    }
    Err(app.auth.refusal(ProblemKind::NoToken, "send the header: Authorization: Bearer TOKEN, or sign in"))
}

/// The caller with this token, shown at a door by a client. A wrong one waits for its turn.
pub(crate) async fn caller_of_secret(
    app: &App,
    secret: &str,
    (door, origin): (&'static str, &RequestOrigin),
) -> HttpResult<Caller> {
    if secret.len() > TOKEN_CHARS_MAX || !secret.starts_with(TOKEN_PREFIX) {
        app.auth.guessing.failures().count(door, origin.client);
        return Err(app.auth.refusal(
            ProblemKind::BadToken,
            format!("the token has a wrong form: tokens begin with {TOKEN_PREFIX}"),
        ));
    }
    let hash = hash(secret);
    let found = match app.auth.tokens.fresh(&hash) {
        Some(token) => Some(token),
        None => {
            let look = find_or_await(app, hash);
            let _suspended = origin.activity.as_ref().map(Activity::suspend);
            app.auth.guessing.judge_token((door, origin.client), secret.as_bytes(), look).await?
        }
    };
    let Some(token) = found else {
        return Err(app.auth.refusal(ProblemKind::BadToken, "the token is unknown or was revoked"));
    };
    // Made meanwhile, by another process.
    if token.role == Role::Admin && app.auth.admin.get() != AdminOnRecord::Known {
        app.auth.admin.set(AdminOnRecord::Known);
    }
    Ok(Caller::new(token))
}

/// The token with this hash. While the first one is coming, it may have been printed just now and be on
/// record in a moment.
async fn find_or_await(app: &App, hash: [u8; 32]) -> Result<Option<Arc<Token>>, StoreError> {
    let begun = Instant::now();
    loop {
        let is_last = app.auth.admin.get() != AdminOnRecord::Coming || begun.elapsed() > PRINTED_WAIT;
        let found = app.auth.tokens.find(&app.store, hash).await?;
        if found.is_some() || is_last {
            return Ok(found);
        }
        tokio::time::sleep(PRINTED_POLL).await;
    }
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
    /// By hash, from memory alone.
    fn fresh(&self, hash: &[u8; 32]) -> Option<Arc<Token>> {
        let inner = self.lock();
        inner
            .by_hash
            .get(hash)
            .filter(|(_, since)| since.elapsed() < CACHE_FOR)
            .map(|(token, _)| token.clone())
    }

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

    /// Forgets all: another process revoked one of them.
    pub(crate) fn forget_all(&self) {
        let mut inner = self.lock();
        inner.revocations += 1;
        inner.by_hash.clear();
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
