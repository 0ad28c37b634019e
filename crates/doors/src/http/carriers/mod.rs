//! Carriers' routes as operators see and steer them: how each stands, its use stopped and taken up again, and
//! test messages by a route or to a person's device.
//!
//! `GET /api/v1/routes` · `GET /api/v1/routes/{id}`, `/history` · `POST /api/v1/routes/{id}:hold`, `:release`
//! ([`holds`]), `:test` · `POST /api/v1/recipients/{id}/devices/{n}:test` · `GET /api/v1/tests/{id}`
//! ([`test_messages`]). A route's id is its name in the configuration; [`advice`] says what to do about its
//! errors.

mod advice;
mod holds;
mod test_limits;
mod test_messages;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use self::test_limits::TestLimits;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use crate::http::versioned;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use engine::{RoutePoint, Routes};
use records::Route;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const VERBS: [&str; 3] = ["hold", "release", "test"];

/// A route as its `[[route]]` has it, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteInConfig {
    /// Its name.
    pub name: String,
    /// The protocol that it speaks.
    pub protocol: Option<&'static str>,
    /// `host:port` of the far end, where it connects to one.
    pub address: Option<String>,
    /// Sessions that it keeps while there is work; nothing: it has none that are counted.
    pub sessions: Option<u32>,
    /// Lines of the configuration in which its keys stand.
    pub lines: BTreeMap<String, usize>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/routes", get(list))
        .route("/api/v1/routes/{id}", get(show).post(act))
        .route("/api/v1/routes/{id}/history", get(history))
        .route("/api/v1/recipients/{id}/devices/{n}", post(test_messages::test_device))
        .route("/api/v1/tests/{id}", get(test_messages::show))
}

fn no_such_route() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such route; GET /api/v1/routes lists them")
}

/// A configured route.
fn named(app: &App, name: &str) -> HttpResult<Route> {
    Routes::of(&app.engine).named(name).ok_or_else(no_such_route)
}

async fn list(State(app): State<App>, _: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let (limit, from) = (query.limit()?, query.number_cursor::<usize>()?.unwrap_or(0));
    let states = Routes::of(&app.engine).states().await?;
    let configured = app.operations.routes.load();
    let page = states.iter().skip(from).take(limit);
    let items: Vec<Value> = page.map(|state| view::summary(state, &configured)).collect();
    let end = from.saturating_add(limit);
    let next = (end < states.len()).then(|| cursor(end));
    Ok(Json(json!({"items": items, "next": next})))
}

async fn show(State(app): State<App>, _: Caller, Captured(name): Captured) -> HttpResult<Json<Value>> {
    let states = Routes::of(&app.engine).states().await?;
    let state = states.iter().find(|state| state.route.name == name).ok_or_else(no_such_route)?;
    Ok(Json(view::whole(state, &app.operations.routes.load())))
}

async fn history(State(app): State<App>, _: Caller, Captured(name): Captured) -> HttpResult<Json<Value>> {
    let history = Routes::of(&app.engine).history(&name).await?.ok_or_else(no_such_route)?;
    let point = |point: &RoutePoint| {
        json!({
            "at": rfc3339(point.at),
            "sent_per_s": point.sent_per_s,
            "refused": point.refused,
            "waiting": point.waiting,
        })
    };
    Ok(Json(json!({"items": history.iter().map(point).collect::<Vec<_>>()})))
}

/// `POST /api/v1/routes/{id}:verb`.
async fn act(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(path): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let (caller, name, verb) = versioned::id_and_verb(caller, &path, &VERBS)?;
    match verb {
        "hold" => holds::hold(&app, &caller, name, app.json(&headers, body).await?).await,
        "release" => holds::release(&app, &caller, name).await,
        _ => test_messages::test_route(&app, &caller, name, app.json(&headers, body).await?).await,
    }
}
