//! Groups: put, read, listed, removed; a body is read by [`body`].
//!
//! `POST`, `GET /api/v1/groups` · `GET`, `PUT`, `DELETE /api/v1/groups/{id}`; its people, and whom a rule
//! fits ([`people`]).

pub(crate) mod body;
pub(crate) mod membership;
mod people;
#[cfg(test)]
mod tests;

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query, check_preconditions, cursor, etag};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use records::Group;
use serde_json::{Value, json};
use store::SharedStore;
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/groups", post(create).get(list))
        .route("/api/v1/groups:preview", post(people::preview))
        .route("/api/v1/groups/{id}", get(show).put(replace).delete(remove))
        .route("/api/v1/groups/{id}/people", get(people::list))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let group = read(app.json(&headers, body).await?, None)?;
    put(&app, &caller, &headers, group).await
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let group = read(app.json(&headers, body).await?, Some(&id))?;
    put(&app, &caller, &headers, group).await
}

fn read(node: JsonNode, id: Option<&str>) -> HttpResult<Group> {
    let mut fields = Fields::default();
    let group = body::parse(node, id, &mut fields);
    group.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

async fn put(app: &App, caller: &Caller, headers: &HeaderMap, group: Group) -> HttpResult<Response> {
    let _held = app.hold(caller.account(), &format!("group {}", group.id)).await;
    let found = app.store.group(caller.account(), &group.id).await?;
    check_preconditions(headers, found.as_ref().map(|(_, version)| *version))?;
    let putting = app.store.put_group(caller.account(), group.clone());
    let version = app.noted(app.act(caller, "group.put", &group.id, ""), putting).await?;
    let mut response = ([etag(version)], Json(&group)).into_response();
    if found.is_none() {
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(location) = format!("/api/v1/groups/{}", encoded(&group.id)).parse() {
            response.headers_mut().insert(LOCATION, location);
        }
    }
    Ok(response)
}

async fn show(
    State(store): State<SharedStore>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<Response> {
    let (group, version) = store.group(caller.account(), &id).await?.ok_or_else(missing)?;
    Ok(([etag(version)], Json(group)).into_response())
}

fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such group")
}

async fn list(State(store): State<SharedStore>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let after = query.cursor()?.unwrap_or_default();
    let groups = store.groups_after(caller.account(), &after, limit).await?;
    let next = groups.last().filter(|_| groups.len() == limit).map(|group| cursor(&group.id));
    Ok(Json(json!({"items": groups, "next": next})))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let _held = app.hold(caller.account(), &format!("group {id}")).await;
    let (_, version) = app.store.group(caller.account(), &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(version))?;
    let deleting = app.store.delete_group(caller.account(), &id);
    if !app.noted(app.act(&caller, "group.delete", &id, ""), deleting).await? {
        return Err(missing());
    }
    Ok(StatusCode::NO_CONTENT)
}
