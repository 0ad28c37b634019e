//! Operation of the server: health, metrics, the audit trail, reload.
//!
//! `GET /healthz` · `/readyz` · `/metrics` · `/api/v1/audit` · `POST /api/v1/reload`.

use crate::http::Reload;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Query;
use crate::http::request::time_text::rfc3339;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::Health;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Act, SharedStore};
use tokio::sync::watch;

/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Reload, metrics, and the end of the server.
pub(crate) struct OperationsState {
    pub reload: Option<Reload>,
    pub metrics: Option<PrometheusHandle>,
    /// True once the server is stopping.
    pub stopping: watch::Receiver<bool>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/audit", get(audit))
        .route("/api/v1/reload", post(reload))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Ready once alerts are taken: the store answers and the server is not stopping.
async fn readyz(State(app): State<App>) -> Response {
    let store = app.store.folded_to().await.err().map(|error| error.to_string());
    let (health, engine) = match app.engine.health().await {
        Ok(health) => (health, None),
        Err(error) => (Health::default(), Some(error.to_string())),
    };
    let stopping = app.operations.stopping.borrow().then(|| "the server is stopping".to_owned());
    let why = store.or(engine).or(stopping);
    let up = health.routes.iter().filter(|(_, word)| word.as_ref().is_some_and(|word| word.up)).count();
    let status = if why.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let view = json!({
        "ready": why.is_none(),
        "why": why,
        "routes": {"up": up, "down": health.routes.len() - up},
        "backlog": health.backlog,
        "running": health.running,
    });
    (status, Json(view)).into_response()
}

async fn metrics(State(state): State<Arc<OperationsState>>) -> HttpResult<Response> {
    let handle = state
        .metrics
        .as_ref()
        .ok_or_else(|| HttpProblem::new(ProblemKind::NotFound, "metrics are switched off"))?;
    Ok(([(CONTENT_TYPE, PROMETHEUS)], handle.render()).into_response())
}

async fn audit(State(store): State<SharedStore>, _: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["limit"])?;
    let acts = store.acts(None, query.limit()?).await?;
    Ok(Json(json!({"items": acts.iter().map(act).collect::<Vec<_>>(), "next": null})))
}

fn act(act: &Act) -> Value {
    json!({
        "at": rfc3339(act.at),
        "account": act.account,
        "token": act.token,
        "verb": act.verb,
        "object": act.object,
        "detail": act.detail,
    })
}

async fn reload(State(app): State<App>, caller: Caller) -> HttpResult<Json<Value>> {
    let reload =
        app.operations.reload.as_ref().ok_or_else(|| {
            HttpProblem::new(ProblemKind::NotFound, "there is no config file to read again")
        })?;
    match reload().await {
        Ok(changes) => {
            app.note(&caller, "config.reload", "", &changes.join("; ")).await;
            Ok(Json(json!({"changed": changes})))
        }
        Err(problems) => Err(HttpProblem::fields(ProblemKind::InvalidFields, problems.into())),
    }
}
