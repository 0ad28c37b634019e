//! Operation of the server: health, metrics, reload.
//!
//! `GET /healthz` · `/readyz` · `/metrics` · `GET /api/v1/callback-secret` · `POST /api/v1/reload`.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::carriers::{RouteInConfig, TestLimits};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::readiness::ReadinessState;
use crate::http::request::time_text::rfc3339;
use crate::http::{CallbackSecrets, Reload, ServerHandles};
use crate::kannel::Platforms;
use arc_swap::ArcSwap;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::Health;
use metrics_exporter_prometheus::PrometheusHandle;
use records::{ServerTrouble, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Whoever asks whether the server is ready is answered within about this.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Reload, metrics, and the end of the server.
pub(crate) struct OperationsState {
    pub reload: Option<Reload>,
    pub metrics: Option<PrometheusHandle>,
    /// Forgets a person in what neither engine nor store keeps.
    pub forget_elsewhere: Option<engine::ForgetElsewhere>,
    /// What the configuration says of routes.
    pub routes: Arc<ArcSwap<Vec<RouteInConfig>>>,
    /// Tests that were sent lately.
    pub test_limits: TestLimits,
    /// What was found out for who asks whether all is ready.
    pub readiness: ReadinessState,
    /// The secrets that sign callbacks, by account.
    pub callback_secrets: CallbackSecrets,
    /// Verifies evidence of alerts.
    pub evidence_key: evidence::PublicKey,
    /// True once the server is stopping.
    pub stopping: watch::Receiver<bool>,
    /// What operators see of the server itself.
    pub server: Arc<ServerHandles>,
    /// Platforms of sendsms.
    pub platforms: Arc<ArcSwap<Platforms>>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/callback-secret", get(callback_secret))
        .route("/api/v1/reload", post(reload))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Ready once alerts are taken: the servers behind store and bus work, the store answers, and the server is
/// not stopping.
async fn readyz(State(app): State<App>) -> Response {
    let servers = [("store", app.store.trouble()), ("bus", app.engine.bus_trouble())];
    let servers: Vec<Value> =
        servers.iter().filter_map(|(part, trouble)| Some(server(part, trouble.as_ref()?))).collect();
    let stopping = app.operations.stopping.borrow().then(|| "the server is stopping".to_owned());
    let known = servers.first().and_then(|first| first["why"].as_str().map(str::to_owned)).or(stopping);
    let (health, why) = match known {
        // Who is known to be away is not asked.
        Some(why) => (Health::default(), Some(why)),
        None => asked(&app).await,
    };
    let up = health.routes.iter().filter(|(_, word)| word.as_ref().is_some_and(|word| word.up)).count();
    let status = if why.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let view = json!({
        "ready": why.is_none(),
        "why": why,
        "servers": servers,
        "routes": {"up": up, "down": health.routes.len() - up},
        "backlog": health.backlog,
        "running": health.running,
    });
    (status, Json(view)).into_response()
}

fn server(part: &str, trouble: &ServerTrouble) -> Value {
    let mut view = server_trouble(trouble);
    view["part"] = part.into();
    view
}

/// What is wrong with a server of others.
pub(crate) fn server_trouble(trouble: &ServerTrouble) -> Value {
    let since = trouble.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    let since = Timestamp(i64::try_from(since).unwrap_or(i64::MAX));
    json!({"server": trouble.server, "since": rfc3339(since), "why": trouble.why})
}

/// How the engine stands, and why nothing is taken.
async fn asked(app: &App) -> (Health, Option<String>) {
    let store = tokio::time::timeout(READY_WITHIN, app.store.folded_to()).await;
    let store = match store {
        Ok(found) => found.err().map(|error| error.to_string()),
        Err(_) => Some("the store does not answer".to_owned()),
    };
    match tokio::time::timeout(READY_WITHIN, app.engine.health()).await {
        Ok(Ok(health)) => (health, store),
        Ok(Err(error)) => (Health::default(), store.or(Some(error.to_string()))),
        Err(_) => (Health::default(), store.or(Some("the engine does not answer".to_owned()))),
    }
}

async fn metrics(State(state): State<Arc<OperationsState>>) -> HttpResult<Response> {
    let handle = state
        .metrics
        .as_ref()
        .ok_or_else(|| HttpProblem::new(ProblemKind::NotFound, "metrics are switched off"))?;
    Ok(([(CONTENT_TYPE, PROMETHEUS)], handle.render()).into_response())
}

/// The secret that signs the callbacks of the caller's account.
async fn callback_secret(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let account = caller.account();
    let secret = (app.operations.callback_secrets)(account);
    let secret = secret.ok_or_else(|| {
        HttpProblem::new(
            ProblemKind::NotFound,
            "the secret of callbacks cannot be read: see the server's log",
        )
    })?;
    app.note(app.act(&caller, "callback-secret.read", account, "")).await?;
    Ok(Json(json!({"account": account, "secret": secret})))
}

async fn reload(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let reload =
        app.operations.reload.as_ref().ok_or_else(|| {
            HttpProblem::new(ProblemKind::NotFound, "there is no config file to read again")
        })?;
    let refused =
        |problems: Vec<engine::Problem>| HttpProblem::fields(ProblemKind::InvalidFields, problems.into());
    let reloading = async { reload().await.map_err(refused) };
    let changes = app.noted(app.act(&caller, "config.reload", "", ""), reloading).await?;
    // What changed is known now; that somebody reloads was noted before.
    app.note(app.act(&caller, "config.changed", "", &changes.join("; "))).await?;
    Ok(Json(json!({"changed": changes})))
}
