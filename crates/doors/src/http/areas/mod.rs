//! Named areas, which audiences name as `area:ID`: put, read, listed, removed, as GeoJSON ([`geojson`]).
//!
//! `POST`, `GET /api/v1/areas` · `GET`, `PUT`, `DELETE /api/v1/areas/{id}`.

mod geojson;
#[cfg(test)]
mod tests;

use self::geojson::AreaFeature;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::negotiation::negotiate;
use crate::http::request::query::{Captured, Query, check_preconditions, etag};
use crate::http::versioned::{self, Versioned};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use records::NamedArea;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{DocumentKind, Expected};

/// Named areas of one account.
const AREAS_MAX: u64 = 1_000;
const JSON: &str = "application/json";
const GEOJSON: &str = "application/geo+json";

/// An area as it is stored: what the engine reads, and what clients are shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AreaRecord {
    area: NamedArea,
    feature: Value,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/areas", get(list).post(create))
        .route("/api/v1/areas/{id}", get(show).put(replace).delete(remove))
}

/// One Feature, or a FeatureCollection of several.
async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let node = app.bodies.json(&headers, body, &[JSON, GEOJSON]).await?;
    let mut fields = Fields::default();
    let (mut features, is_collection) = geojson::read_body(node, &mut fields);
    if !fields.is_empty() {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    }
    if !is_collection && let Some(feature) = features.pop() {
        return put(&app, &caller, &headers, feature).await;
    }
    if headers.contains_key(IF_MATCH) || headers.contains_key(IF_NONE_MATCH) {
        let header = if headers.contains_key(IF_MATCH) { "If-Match" } else { "If-None-Match" };
        let reason = "goes with one Feature, not with a collection";
        return Err(HttpProblem::field(ProblemKind::BadHeader, header, reason));
    }
    let mut items = Vec::with_capacity(features.len());
    for feature in features {
        let id = feature.area.id.clone();
        let _held = app.hold(caller.account(), &format!("area {id}")).await;
        let is_new = find(&app, &caller, &id).await?.is_none();
        let version = written(&app, &caller, feature, (is_new, Expected::Any)).await?;
        items.push(json!({"id": id, "version": version.to_string()}));
    }
    Ok(Json(json!({"items": items})).into_response())
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let node = app.bodies.json(&headers, body, &[JSON, GEOJSON]).await?;
    let mut fields = Fields::default();
    let feature = geojson::read_feature(node, "", Some(&id), &mut fields).filter(|_| fields.is_empty());
    let feature = feature.ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))?;
    put(&app, &caller, &headers, feature).await
}

async fn find(app: &App, caller: &Caller, id: &str) -> HttpResult<Option<Versioned<AreaRecord>>> {
    versioned::find(&app.store, caller.account(), DocumentKind::Area, id).await
}

async fn put(app: &App, caller: &Caller, headers: &HeaderMap, feature: AreaFeature) -> HttpResult<Response> {
    let id = feature.area.id.clone();
    let _held = app.hold(caller.account(), &format!("area {id}")).await;
    let found = find(app, caller, &id).await?.map(|area| area.version);
    check_preconditions(headers, found)?;
    let shown = feature.feature.clone();
    let expected = found.map_or(Expected::Absent, Expected::Version);
    let version = written(app, caller, feature, (found.is_none(), expected)).await?;
    let mut response = ([etag(version)], Json(shown)).into_response();
    if found.is_none() {
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(location) = format!("/api/v1/areas/{}", encoded(&id)).parse() {
            response.headers_mut().insert(LOCATION, location);
        }
    }
    Ok(response)
}

async fn written(
    app: &App,
    caller: &Caller,
    feature: AreaFeature,
    (is_new, expected): (bool, Expected),
) -> HttpResult<u64> {
    let (account, id) = (caller.account(), feature.area.id.clone());
    if is_new {
        versioned::check_count(app, account, DocumentKind::Area, (AREAS_MAX, "areas")).await?;
    }
    let record = AreaRecord { area: feature.area, feature: feature.feature };
    let document = versioned::written_out(&id, &record)?;
    let putting = versioned::put(app, account, DocumentKind::Area, document, expected);
    versioned::done(app.noted(app.act(caller, "area.put", &id, ""), putting).await?)
}

fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such area")
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let media = negotiate(&headers, &[JSON, GEOJSON])?;
    let found = find(&app, &caller, &id).await?.ok_or_else(missing)?;
    let body = found.body.feature.to_string();
    Ok(([etag(found.version)], [(CONTENT_TYPE, media)], body).into_response())
}

/// A page of Features; as GeoJSON a FeatureCollection of them.
async fn list(State(app): State<App>, caller: Caller, uri: Uri, headers: HeaderMap) -> HttpResult<Response> {
    let media = negotiate(&headers, &[JSON, GEOJSON])?;
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let shown = |area: Versioned<AreaRecord>| Some(area.body.feature);
    let Json(mut page) =
        versioned::page(&app.store, caller.account(), DocumentKind::Area, &query, shown).await?;
    if media == GEOJSON {
        // A foreign member (RFC 7946, section 6.1) has the cursor of the next page.
        page = json!({"type": "FeatureCollection", "features": page["items"].take(), "next": page["next"].take()});
    }
    Ok(([(CONTENT_TYPE, media)], page.to_string()).into_response())
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let _held = app.hold(caller.account(), &format!("area {id}")).await;
    let found = find(&app, &caller, &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(found.version))?;
    let expected = Expected::Version(found.version);
    let deleting = app.store.delete_document(caller.account(), DocumentKind::Area, &id, expected);
    if !app.noted(app.act(&caller, "area.delete", &id, ""), deleting).await? {
        return Err(missing());
    }
    Ok(StatusCode::NO_CONTENT)
}
