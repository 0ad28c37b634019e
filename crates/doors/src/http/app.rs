//! State shared by all handlers, in parts: each belongs to the module that uses it.

use crate::http::alerts::events::EventStreams;
use crate::http::answer_page::links::AnswerLinks;
use crate::http::attachments::AttachmentState;
use crate::http::auth::{AuthState, Caller};
use crate::http::cap::CapState;
use crate::http::operations::OperationsState;
use crate::http::problem::HttpResult;
use crate::http::recipients::stream::IMPORTS_MAX;
use crate::http::request::body::BodyLimits;
use crate::http::request::json::JsonNode;
use crate::http::{Deps, Forwarding, HttpConfig, LedgerAccess};
use arc_swap::ArcSwap;
use axum::body::Body;
use axum::extract::FromRef;
use axum::http::HeaderMap;
use channels::Defaults;
use engine::{Clock, Engine};
use records::Timestamp;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use store::{Act, SharedStore};
use tokio::sync::{Mutex, MutexGuard, Semaphore, watch};

/// Locks over which recipients and groups are spread, so that comparing a version and writing are one.
const STRIPES: usize = 64;

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

impl FromRef<App> for Arc<AttachmentState> {
    fn from_ref(app: &App) -> Arc<AttachmentState> {
        app.attachments.clone()
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
    pub attachments: Arc<AttachmentState>,
    pub cap: CapState,
    pub event_streams: EventStreams,
    /// Imports at once.
    pub imports: Semaphore,
    pub operations: Arc<OperationsState>,
    locks: ObjectLocks,
}

impl App {
    pub(crate) fn new(deps: Deps, config: &HttpConfig, stopping: watch::Receiver<bool>) -> App {
        let limits = &config.limits;
        App(Arc::new(AppState {
            engine: deps.engine,
            store: deps.store,
            clock: deps.clock,
            defaults: deps.defaults,
            links: deps.links,
            ledger: deps.ledger,
            forwarding: deps.forwarding,
            auth: AuthState::new(config),
            bodies: BodyLimits::new(limits.body_octets_max),
            attachments: Arc::new(AttachmentState::new(deps.media, limits.attachment_octets_max)),
            cap: CapState { senders: deps.cap_senders, public_url: config.public_url.clone() },
            event_streams: EventStreams::new(stopping.clone()),
            imports: Semaphore::new(IMPORTS_MAX),
            operations: Arc::new(OperationsState { reload: deps.reload, metrics: deps.metrics, stopping }),
            locks: ObjectLocks::new(),
        }))
    }
}

impl AppState {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Holds off other writers of the same object by this server.
    pub(crate) async fn hold(&self, account: &str, id: &str) -> MutexGuard<'_, ()> {
        self.locks.hold(account, id).await
    }

    /// Writes an action of a caller to the audit trail. The action is done by then, so a failure is logged
    /// and not reported to the caller.
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
            tracing::error!(%error, verb, object, token = caller.token.id, "an action is missing from the audit trail");
        }
    }

    /// Reads a JSON body within the limit.
    pub(crate) async fn json(&self, headers: &HeaderMap, body: Body) -> HttpResult<JsonNode> {
        self.bodies.json(headers, body).await
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
