//! The server itself, as operators see it: its state, its config, what of the first run is done, edge sites,
//! text topics.
//!
//! `GET /api/v1/server` · `GET /api/v1/config` · `POST /api/v1/config:check` · `GET`, `PATCH /api/v1/setup` ·
//! `GET /api/v1/edge-sites` · `GET /api/v1/topics` · `GET /api/v1/topics/{name}/messages`

pub(crate) mod config;
mod edge_sites;
mod facts;
mod setup;
pub(crate) mod site;
#[cfg(test)]
mod tests;
mod topics;

#[cfg(test)]
pub(crate) use tests::TestConfig;

pub use config::{CheckedConfig, ConfigAccess, ConfigKey, ConfigProblem, ConfigSection, ShownConfig};
pub use facts::{EdgeSiteFacts, ServerFacts, ServerHandles};

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::operations::server_trouble;
use crate::http::problem::HttpResult;
use crate::http::request::query::Query;
use crate::http::request::time_text::rfc3339;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::{Health, Leader};
use records::{Mode, NOTICE_GROUP, NOTICES, ROUTES, ServerTrouble, health_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use store::media::Media;

/// The engine answers within this, or its numbers are not known.
const HEALTH_WITHIN: Duration = Duration::from_secs(2);

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/server", get(server))
        .route("/api/v1/config", get(config::show))
        .route("/api/v1/config:check", post(config::check))
        .route("/api/v1/setup", get(setup::show).patch(site::change))
        .route("/api/v1/edge-sites", get(edge_sites::list))
        .route("/api/v1/topics", get(topics::list))
        .route("/api/v1/topics/{id}/messages", get(topics::messages))
}

/// What this process knows of the server now. A number that only the leading process knows is null elsewhere.
async fn server(State(app): State<App>, _: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let handles = &app.operations.server;
    let site = site::of(&app).await?;
    let facts = handles.facts.load_full();
    let leader = app.engine.leader();
    let health = tokio::time::timeout(HEALTH_WITHIN, app.engine.health()).await;
    let health = health.ok().and_then(Result::ok);
    let known = health.as_ref().filter(|_| leader == Leader::Here);
    let uptime_s = facts.started.map(|started| (app.now().0 - started.0).max(0) / 1_000_000);
    let (store, bus) = (app.store.trouble(), app.engine.bus_trouble());
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "organisation": site.organisation(),
        "time_zone": site.time_zone(),
        "node": facts.node,
        "leader": leader_view(&leader),
        "nodes": nodes(&app, facts.node.as_deref()),
        "started": facts.started.map(rfc3339),
        "uptime_s": uptime_s,
        "store": part(facts.store, store.as_ref()),
        "bus": part(facts.bus, bus.as_ref()),
        "disk": free_octets(&facts).await.map(|free| json!({"free": free})),
        "backlog": {
            "outcomes": known.map(|health| health.backlog),
            "intake": known.map(|health| health.intake),
            "notices": notices(&app).await,
        },
        "alerts": known.map(|health| {
            json!({"in_memory": health.alerts, "running": health.running, "deliveries": health.deliveries})
        }),
        "routes": health.as_ref().map(routes_view),
        "channels": health.as_ref().map(channels_of),
        "doors": facts.doors,
    })))
}

fn leader_view(leader: &Leader) -> Value {
    match leader {
        Leader::Here => json!({"is_here": true, "address": null}),
        Leader::There { address } => json!({"is_here": false, "address": address}),
        Leader::Nobody => Value::Null,
    }
}

fn part(kind: &str, trouble: Option<&ServerTrouble>) -> Value {
    json!({"kind": kind, "is_well": trouble.is_none(), "trouble": trouble.map(server_trouble)})
}

/// Processes that lately reported routes, and this one, with the number of their routes. Who is gone for good
/// is forgotten by the leading process.
fn nodes(app: &App, own: Option<&str>) -> Vec<Value> {
    let mut nodes: BTreeMap<String, u64> = own.map(|own| (own.to_owned(), 0)).into_iter().collect();
    let retained = app.operations.server.bus.as_ref().filter(|_| own.is_some());
    for (key, _) in retained.and_then(|bus| bus.retained(ROUTES).ok()).iter().flat_map(|all| all.all()) {
        if let Some((node, _)) = health_of(&key) {
            *nodes.entry(node.to_owned()).or_default() += 1;
        }
    }
    let view = |(name, routes): (String, u64)| json!({"is_this": own == Some(name.as_str()), "routes": routes, "name": name});
    nodes.into_iter().map(view).collect()
}

async fn free_octets(facts: &ServerFacts) -> Option<u64> {
    let media = Media::at(facts.data.as_ref()?);
    tokio::task::spawn_blocking(move || media.free().ok()).await.ok().flatten()
}

/// Calls of platforms and observers that wait, at most.
async fn notices(app: &App) -> Option<u64> {
    let bus = Arc::clone(app.operations.server.bus.as_ref()?);
    let count = move || {
        let (topic, group) = (bus.topic(NOTICES).ok()?, bus.group(NOTICES, NOTICE_GROUP).ok()?);
        Some(topic.head().saturating_sub(group.low_water().max(topic.low())))
    };
    tokio::task::spawn_blocking(count).await.ok().flatten()
}

/// With nobody real behind any live route it is a demo.
fn routes_view(health: &Health) -> Value {
    let of =
        |mode: Mode| health.routes.iter().map(|(route, _)| route).filter(move |route| route.mode == mode);
    let (live, simulated) = (of(Mode::Live).count(), of(Mode::Live).filter(|route| route.simulated).count());
    let up = health.routes.iter().filter(|(_, word)| word.as_ref().is_some_and(|word| word.up)).count();
    json!({
        "live": live,
        "live_simulated": simulated,
        "drill": of(Mode::Drill).count(),
        "up": up,
        "is_demo": live > 0 && simulated == live,
    })
}

fn channels_of(health: &Health) -> Vec<&'static str> {
    let names: BTreeSet<&str> =
        health.routes.iter().map(|(route, _)| channels::name(route.channel)).collect();
    names.into_iter().collect()
}
