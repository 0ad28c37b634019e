//! State shared by all handlers.

use super::attachments::UPLOADS_MAX;
use super::auth::{Caller, TokenCache};
use super::body;
use super::cap_in::CapSender;
use super::links::AnswerLinks;
use super::problem::{HttpProblem, Outcome, ProblemKind};
use super::sessions::Sessions;
use super::{Deps, Forwarding, HttpConfig, Limits, Reload};
use crate::kannel::SendSms;
use arc_swap::ArcSwap;
use channels::Defaults;
use engine::{Clock, Engine};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use metrics_exporter_prometheus::PrometheusHandle;
use records::Timestamp;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use store::{Act, SharedStore};
use tokio::sync::{Mutex, MutexGuard, Semaphore, watch};

/// Locks over which recipients and groups are spread, so that comparing a version and writing are one.
const STRIPES: usize = 64;
/// Live event streams at once.
pub(crate) const STREAMS_MAX: usize = 1_000;
/// Imports at once.
pub(crate) const IMPORTS_MAX: usize = 4;
/// Keys the rate limiter remembers before it drops those at rest.
const LIMITER_KEYS_MAX: usize = 10_000;

/// A cheap handle on what handlers share.
#[derive(Clone)]
pub(crate) struct App(Arc<AppState>);

impl Deref for App {
    type Target = AppState;
    fn deref(&self) -> &AppState {
        &self.0
    }
}

/// What handlers share.
pub(crate) struct AppState {
    pub engine: Engine,
    pub store: SharedStore,
    pub media: store::media::Media,
    pub clock: Clock,
    pub links: Arc<AnswerLinks>,
    pub cap_senders: Arc<ArcSwap<Vec<CapSender>>>,
    pub sendsms: Arc<SendSms>,
    pub defaults: Arc<ArcSwap<Defaults>>,
    pub reload: Option<Reload>,
    pub ledger: Option<super::LedgerAccess>,
    pub metrics: Option<PrometheusHandle>,
    pub forwarding: Option<Forwarding>,
    pub limits: Limits,
    /// Cookies are for TLS alone.
    pub secure: bool,
    pub public_url: Option<String>,
    pub tokens: TokenCache,
    pub sessions: Sessions,
    pub limiter: Limiter,
    pub large_bodies: Semaphore,
    pub streams: Arc<Semaphore>,
    pub imports: Semaphore,
    pub uploads: Semaphore,
    /// True once the server is stopping.
    pub stopping: watch::Receiver<bool>,
    stripes: Vec<Mutex<()>>,
}

impl App {
    pub(crate) fn new(deps: Deps, config: &HttpConfig, stopping: watch::Receiver<bool>) -> App {
        let (limits, public_url) = (config.limits.clone(), config.public_url.clone());
        let secure =
            config.tls.is_some() || public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
        let sendsms = SendSms::new(deps.messages, deps.platforms, deps.clock.clone());
        App(Arc::new(AppState {
            sendsms: Arc::new(sendsms),
            engine: deps.engine,
            store: deps.store,
            media: deps.media,
            clock: deps.clock,
            links: deps.links,
            cap_senders: deps.cap_senders,
            defaults: deps.defaults,
            reload: deps.reload,
            ledger: deps.ledger,
            metrics: deps.metrics,
            forwarding: deps.forwarding,
            limiter: Limiter::new(limits.requests_per_s, limits.burst),
            limits,
            secure,
            public_url,
            tokens: TokenCache::default(),
            sessions: Sessions::default(),
            large_bodies: Semaphore::new(body::LARGE_BODIES_MAX),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            imports: Semaphore::new(IMPORTS_MAX),
            uploads: Semaphore::new(UPLOADS_MAX),
            stopping,
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
        }))
    }
}

impl AppState {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Holds off other writers of the same object by this server.
    pub(crate) async fn hold(&self, account: &str, id: &str) -> MutexGuard<'_, ()> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (account, id).hash(&mut hasher);
        let stripe = hasher.finish() as usize % self.stripes.len();
        self.stripes[stripe].lock().await
    }

    /// Notes in the audit trail what somebody did. It is done by then, so a failure is logged, not told.
    pub(crate) async fn note(&self, caller: &Caller, verb: &str, object: &str, detail: &str) {
        let act = Act {
            at: self.now(),
            account: caller.account().to_owned(),
            token: caller.token.id.clone(),
            verb: verb.to_owned(),
            object: object.to_owned(),
            detail: detail.to_owned(),
        };
        if let Err(error) = self.store.note_act(act).await {
            tracing::error!(%error, verb, object, token = caller.token.id, "an act is not in the audit trail");
        }
    }

    /// Reads a JSON body within the limit.
    pub(crate) async fn json(
        &self,
        headers: &axum::http::HeaderMap,
        body: axum::body::Body,
    ) -> Outcome<super::json::JsonNode> {
        body::json(headers, body, self.limits.body_octets_max, &self.large_bodies).await
    }

    /// Refused for now.
    pub(crate) fn busy(&self, what: &str, limit: usize) -> HttpProblem {
        HttpProblem::new(ProblemKind::Busy, format!("{what}: at most {limit} at once")).retry_after(5)
    }
}

/// How many requests a token may make.
pub(crate) struct Limiter {
    inner: Option<DefaultKeyedRateLimiter<String>>,
    clock: DefaultClock,
}

impl Limiter {
    /// No limit if `per_s` is 0.
    fn new(per_s: u32, burst: u32) -> Limiter {
        let quota = NonZeroU32::new(per_s)
            .map(|per_s| Quota::per_second(per_s).allow_burst(NonZeroU32::new(burst).unwrap_or(per_s)));
        Limiter { inner: quota.map(RateLimiter::keyed), clock: DefaultClock::default() }
    }

    /// Counts one request, or says how long to wait.
    pub(crate) fn check(&self, key: &str) -> Result<(), Duration> {
        let Some(limiter) = &self.inner else { return Ok(()) };
        if limiter.len() > LIMITER_KEYS_MAX {
            limiter.retain_recent();
        }
        limiter.check_key(&key.to_owned()).map_err(|no| no.wait_time_from(self.clock.now()))
    }
}
