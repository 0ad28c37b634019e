//! Forecasts of alerts: as fixed before one was sent beside what happened, verdicts, and replays.
//!
//! `GET /api/v1/alerts/{id}/forecast` · `GET /api/v1/alerts/{id}/verdict` · `POST /api/v1/drills:replay`.

use super::{alert_id, check_own, seen};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::{Object, noted, number};
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query};
use crate::http::scope;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use engine::{Forecasts, ReachTarget, ReplayRequest};
use records::AlertId;
use serde_json::{Value, json};

/// Characters of an alert's id.
const ID_CHARS_MAX: usize = 64;
/// Routes that a replay goes without.
const WITHOUT_MAX: usize = 100;
/// Characters of a route's name.
const ROUTE_CHARS_MAX: usize = 128;
/// Characters of a target.
const TARGET_CHARS_MAX: usize = 32;
/// The greatest seed: what a number of JSON holds exactly.
const SEED_MAX: f64 = 9_007_199_254_740_991.0;
/// The seed of a replay that names none.
const SEED_DEFAULT: u64 = 1;

/// `GET /api/v1/alerts/{id}/forecast`.
pub(super) async fn kept(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let id = alert_id(&id)?;
    check_own(&app, &caller, id).await?;
    let found = Forecasts::of(&app.engine).of_alert(caller.account(), id).await?;
    Ok(Json(json!(found)))
}

/// `GET /api/v1/alerts/{id}/verdict`.
pub(super) async fn verdict(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    let target = Query::read(&uri, &["target"])?.parsed("target")?.unwrap_or(ReachTarget::DEFAULT);
    let id = alert_id(&id)?;
    check_own(&app, &caller, id).await?;
    let verdict = Forecasts::of(&app.engine).verdict(caller.account(), id, target).await?;
    Ok(Json(json!(verdict)))
}

/// `POST /api/v1/drills:replay`.
pub(super) async fn replay(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let (id, asked) = read_replay(app.json(&headers, body).await?)?;
    let alert = seen(&app, &caller, id).await?;
    // The people of now are those that the caller may send to.
    scope::check(&app, &caller, &alert.request).await?;
    let (target, seed, without) = (asked.target, asked.seed, asked.without.clone());
    let replayed = Forecasts::of(&app.engine).replay(caller.account(), id, asked).await?;
    let mut view = json!(replayed);
    view["alert"] = id.to_string().into();
    view["target"] = json!(target);
    view["seed"] = seed.into();
    view["without"] = json!(without);
    Ok(Json(view))
}

fn read_replay(node: JsonNode) -> HttpResult<(AlertId, ReplayRequest)> {
    let mut fields = Fields::default();
    let known = ["alert", "without", "target", "seed"];
    let read = Object::open(node, "", &known, &mut fields).and_then(|mut object| {
        let alert = object.needed_text("alert", ID_CHARS_MAX, &mut fields);
        let alert = alert.and_then(|text| noted(text.parse(), || "alert".into(), &mut fields));
        let without = object.texts("without", WITHOUT_MAX, ROUTE_CHARS_MAX, &mut fields);
        let target = object.text("target", TARGET_CHARS_MAX, &mut fields);
        let target = match target {
            Some(text) => noted(text.parse(), || "target".into(), &mut fields)?,
            None => ReachTarget::DEFAULT,
        };
        let seed = object.take("seed").and_then(|node| number(&node, "seed", 0.0, SEED_MAX, &mut fields));
        let seed = seed.map_or(SEED_DEFAULT, |seed| seed as u64);
        Some((alert?, ReplayRequest { without, target, seed }))
    });
    read.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}
