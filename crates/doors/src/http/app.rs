//! State shared by all handlers, in parts: each belongs to the module that uses it.

use crate::http::alerts::AlertState;
use crate::http::alerts::events::EventStreams;
use crate::http::answer_page::links::AnswerLinks;
use crate::http::audit::AuditState;
use crate::http::auth::AuthState;
use crate::http::cap::CapState;
use crate::http::carriers::TestLimits;
use crate::http::directories::DirectoryState;
use crate::http::event_stream::EventBoards;
use crate::http::operations::OperationsState;
use crate::http::previews::frames::PreviewFrames;
use crate::http::problem::HttpResult;
use crate::http::readiness::ReadinessState;
use crate::http::request::body::BodyLimits;
use crate::http::request::json::JsonNode;
use crate::http::uploads::UploadState;
use crate::http::users::sign_in_state::SignInState;
use crate::http::{Deps, Forwarding, HttpConfig, LedgerAccess};
use arc_swap::ArcSwap;
use axum::body::Body;
use axum::extract::FromRef;
use axum::http::HeaderMap;
use channels::Defaults;
use engine::{Audiences, Clock, Engine};
use records::Timestamp;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use store::SharedStore;
use tokio::sync::{Mutex, MutexGuard, watch};

/// Locks over which recipients and groups are spread, so that comparing a version and writing are one.
const STRIPES: usize = 64;
const JSON: &str = "application/json";

/// A cheap handle on the state that handlers share. A handler that needs one part alone takes that part.
#[derive(Clone)]
pub(crate) struct App(Arc<AppState>);

impl Deref for App {
    type Target = AppState;
    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl FromRef<App> for Engine {
    fn from_ref(app: &App) -> Engine {
        app.engine.clone()
    }
}

impl FromRef<App> for SharedStore {
    fn from_ref(app: &App) -> SharedStore {
        app.store.clone()
    }
}

impl FromRef<App> for Arc<OperationsState> {
    fn from_ref(app: &App) -> Arc<OperationsState> {
        app.operations.clone()
    }
}

/// The state that handlers share.
pub(crate) struct AppState {
    pub engine: Engine,
    pub store: SharedStore,
    pub clock: Clock,
    pub defaults: Arc<ArcSwap<Defaults>>,
    pub links: Arc<AnswerLinks>,
    /// The ledger, where there is one.
    pub ledger: Option<LedgerAccess>,
    pub forwarding: Option<Forwarding>,
    pub auth: AuthState,
    pub bodies: BodyLimits,
    pub uploads: UploadState,
    pub cap: CapState,
    pub alerts: AlertState,
    pub audit: AuditState,
    pub operations: Arc<OperationsState>,
    locks: ObjectLocks,
}

impl App {
    pub(crate) fn new(deps: Deps, config: &HttpConfig, stopping: watch::Receiver<bool>) -> App {
        let limits = &config.limits;
        let audiences = Audiences::of(&deps.engine);
        App(Arc::new(AppState {
            engine: deps.engine,
            store: deps.store,
            clock: deps.clock,
            defaults: deps.policies.defaults,
            links: deps.links,
            ledger: deps.ledger,
            forwarding: deps.forwarding,
            auth: AuthState::new(
                config,
                deps.guessing,
                deps.live_tokens,
                SignInState::new(
                    config,
                    &deps.secrets.users,
                    deps.policies.sign_in,
                    deps.policies.outbound.clone(),
                ),
            ),
            bodies: BodyLimits::new(limits.body_octets_max),
            uploads: UploadState::new(limits, deps.media, DirectoryState::new(deps.policies.directories)),
            cap: CapState { senders: deps.policies.cap_senders, public_url: config.public_url.clone() },
            alerts: AlertState {
                event_streams: EventStreams::new(stopping.clone()),
                event_boards: EventBoards::default(),
                outbound: deps.policies.outbound,
                approvals_wake: Arc::default(),
                audiences,
                frames: PreviewFrames::default(),
            },
            audit: AuditState::new(deps.secrets.audit),
            operations: Arc::new(OperationsState {
                reload: deps.reload,
                metrics: deps.metrics,
                forget_elsewhere: deps.forget_elsewhere,
                routes: deps.policies.routes,
                test_limits: TestLimits::default(),
                readiness: ReadinessState::default(),
                callback_secrets: deps.secrets.callbacks,
                evidence_key: deps.secrets.evidence,
                stopping,
                server: deps.policies.server,
                platforms: deps.policies.platforms,
            }),
            locks: ObjectLocks::new(),
        }))
    }
}

impl AppState {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The same in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.now().0 / 1_000).unwrap_or(0)
    }

    /// Ends what is open by tokens that are revoked, for as long as it is polled.
    pub(crate) async fn follow_revocations(&self) {
        // Only where requests can be forwarded are there other processes.
        let is_shared = self.forwarding.is_some();
        let revoked = || self.auth.tokens.forget_all();
        self.auth.live_tokens.follow(self.store.clone(), is_shared, revoked, || self.now()).await;
    }

    /// Holds off other writers of the same object by this server.
    pub(crate) async fn hold(&self, account: &str, id: &str) -> MutexGuard<'_, ()> {
        self.locks.hold(account, id).await
    }

    /// Reads a JSON body within the limit.
    pub(crate) async fn json(&self, headers: &HeaderMap, body: Body) -> HttpResult<JsonNode> {
        self.bodies.json(headers, body, &[JSON]).await
    }

    /// Reads a JSON merge patch (RFC 7396) within the limit; clients also call it plain JSON.
    pub(crate) async fn json_patch(&self, headers: &HeaderMap, body: Body) -> HttpResult<JsonNode> {
        self.bodies.json(headers, body, &[JSON, "application/merge-patch+json"]).await
    }
}

/// Locks of objects by account and id; two objects may share one.
struct ObjectLocks {
    stripes: Vec<Mutex<()>>,
}

impl ObjectLocks {
    fn new() -> ObjectLocks {
        ObjectLocks { stripes: (0..STRIPES).map(|_| Mutex::new(())).collect() }
    }

    async fn hold(&self, account: &str, id: &str) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (account, id).hash(&mut hasher);
        let stripe = hasher.finish() as usize % self.stripes.len();
        self.stripes[stripe].lock().await
    }
}
