//! Carriers of a demonstration, which people may break: each is told to work, to be down, to be slow or to
//! send no receipts. Any other server has nothing here.
//!
//! `GET /api/v1/demo` · `POST /api/v1/demo/carriers/{id}`

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::TestDemo;

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query};
use crate::http::request::time_text::rfc3339;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::routing::{get, post};
use axum::{Json, Router};
use records::{ChannelNumber, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a carrier does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CarrierBehaviour {
    /// As it was started.
    Works,
    /// It does not listen, and has dropped its connections.
    Down,
    /// Each answer takes some seconds.
    Slow,
    /// It takes messages and never says what became of them.
    WithoutReceipts,
}

impl CarrierBehaviour {
    const NAMES: [(&'static str, CarrierBehaviour); 4] = [
        ("works", CarrierBehaviour::Works),
        ("down", CarrierBehaviour::Down),
        ("slow", CarrierBehaviour::Slow),
        ("without_receipts", CarrierBehaviour::WithoutReceipts),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("works", |(name, _)| name)
    }
}

/// A simulated carrier, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoCarrier {
    /// The route's name.
    pub name: String,
    /// What it carries.
    pub channel: ChannelNumber,
    /// What it does.
    pub behaviour: CarrierBehaviour,
    /// Since when; nothing: from the start.
    pub since: Option<Timestamp>,
    /// What it can be told to do.
    pub can_be: Vec<CarrierBehaviour>,
}

/// The simulated carriers of a demonstration.
pub trait DemoCarriers: Send + Sync {
    /// All of them, in the order of their names.
    fn carriers(&self) -> Vec<DemoCarrier>;
    /// Tells one what to do from now on.
    ///
    /// # Errors
    /// It cannot, in words.
    fn behave(&self, name: &str, behaviour: CarrierBehaviour, now: Timestamp) -> Result<(), String>;
}

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/demo", get(show)).route("/api/v1/demo/carriers/{id}", post(change))
}

fn demo(app: &App) -> HttpResult<&Arc<dyn DemoCarriers>> {
    let demo = app.operations.server.demo.get();
    demo.ok_or_else(|| {
        HttpProblem::new(ProblemKind::NotFound, "this server is no demonstration; campanile demo starts one")
    })
}

async fn show(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let carriers: Vec<Value> = demo(&app)?.carriers().iter().map(view).collect();
    let people = app.store.recipient_count(caller.account()).await?;
    Ok(Json(json!({"people": people, "carriers": carriers})))
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(name): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    let demo = demo(&app)?;
    let behaviour = read(app.json(&headers, body).await?)?;
    let carrier = named(&**demo, &name)?;
    if !carrier.can_be.contains(&behaviour) {
        let can: Vec<&str> = carrier.can_be.iter().map(|one| one.name()).collect();
        let reason = format!("{name} cannot be {:?}; it can be {}", behaviour.name(), can.join(", "));
        return Err(HttpProblem::field(ProblemKind::InvalidFields, "behaviour", reason));
    }
    let behaving = async {
        let told = demo.behave(&name, behaviour, app.now());
        told.map_err(|why| HttpProblem::new(ProblemKind::Internal, format!("{name}: {why}")))
    };
    app.noted(app.act(&caller, "demo.carrier", &name, behaviour.name()), behaving).await?;
    Ok(Json(view(&named(&**demo, &name)?)))
}

fn named(demo: &dyn DemoCarriers, name: &str) -> HttpResult<DemoCarrier> {
    let carriers = demo.carriers();
    let found = carriers.iter().find(|carrier| carrier.name == name).cloned();
    found.ok_or_else(|| {
        let known: Vec<&str> = carriers.iter().map(|carrier| carrier.name.as_str()).collect();
        let detail = format!("there is no such carrier; there are {}", known.join(", "));
        HttpProblem::new(ProblemKind::NotFound, detail)
    })
}

fn read(node: JsonNode) -> HttpResult<CarrierBehaviour> {
    let mut fields = Fields::default();
    let object = Object::open(node, "", &["behaviour"], &mut fields);
    let wanted =
        object.and_then(|mut object| object.word("behaviour", &CarrierBehaviour::NAMES, &mut fields));
    if wanted.is_none() && fields.is_empty() {
        fields.push("behaviour", "is needed: works, down, slow or without_receipts");
    }
    wanted
        .filter(|_| fields.is_empty())
        .ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

fn view(carrier: &DemoCarrier) -> Value {
    json!({
        "name": carrier.name,
        "channel": channels::name(carrier.channel),
        "behaviour": carrier.behaviour.name(),
        "since": carrier.since.map(rfc3339),
        "can_be": carrier.can_be.iter().map(|one| one.name()).collect::<Vec<_>>(),
    })
}
