//! Recipients: one or many put, changed, listed, removed.
//!
//! `POST`, `GET /api/v1/recipients` · `GET`, `PUT`, `PATCH`, `DELETE /api/v1/recipients/{id}`; files of any
//! size by `:import` and `:export` ([`stream`]); people searched for ([`search`]); one person forgotten, or
//! shown all that is known of them ([`person`]).

mod person;
mod search;
pub(crate) mod stops;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

pub(crate) use self::person::ERASED;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body::off_thread;
use crate::http::request::json::{self, JsonNode};
use crate::http::request::query::{Captured, Query, check_preconditions, cursor, etag};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use channels::Defaults;
use records::Recipient;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use store::Act;
use store::import::{from_json, to_json};

/// Recipients in one body; `:import` takes any number.
pub(crate) const MANY_MAX: usize = 10_000;
/// Recipients looked through for one page of a filtered list.
const FILTER_SCAN_MAX: usize = 20_000;
/// Filters of one list.
const FILTERS_MAX: usize = 16;
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/recipients", post(create).get(list))
        .route("/api/v1/recipients:import", post(stream::import))
        .route("/api/v1/recipients:export", get(stream::export))
        .route(
            "/api/v1/recipients/{id}",
            get(show).put(replace).patch(change).delete(remove).post(person::act),
        )
        .route("/api/v1/recipients/{id}/export", get(person::export))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    match app.json(&headers, body).await? {
        JsonNode::List(_) if headers.contains_key(IF_MATCH) || headers.contains_key(IF_NONE_MATCH) => {
            let header = if headers.contains_key(IF_MATCH) { "If-Match" } else { "If-None-Match" };
            let reason = "goes with one recipient, not with a list";
            Err(HttpProblem::field(ProblemKind::BadHeader, header, reason))
        }
        JsonNode::List(items) => {
            let defaults = app.defaults.load_full();
            let recipients = off_thread(items.len() * 500, move || read_many(items, &defaults)).await??;
            put_many(&app, &caller, recipients).await
        }
        node => {
            let recipient = read(node, None, &app.defaults.load())?;
            let _held = app.hold(caller.account(), &recipient.id).await;
            let found = app.store.recipient(caller.account(), &recipient.id).await?;
            check_preconditions(&headers, found.as_ref().map(|(_, version)| *version))?;
            put(&app, &caller, recipient, found.is_none()).await
        }
    }
}

fn read_many(items: Vec<JsonNode>, defaults: &Defaults) -> HttpResult<Vec<Recipient>> {
    if items.len() > MANY_MAX {
        let reason =
            format!("has {} recipients; at most {MANY_MAX} are taken, :import takes any number", items.len());
        return Err(HttpProblem::field(ProblemKind::InvalidFields, "body", reason));
    }
    let mut fields = Fields::default();
    let mut recipients: Vec<Recipient> = Vec::with_capacity(items.len());
    let mut ids = HashSet::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        match from_json(&node.into_value(), defaults) {
            Ok(recipient) if ids.insert(recipient.id.clone()) => recipients.push(recipient),
            Ok(recipient) => {
                fields.push(format!("[{index}].id"), format!("{:?} is there twice", recipient.id))
            }
            Err(faults) => faults.into_iter().for_each(|fault| {
                let dot = if fault.field.is_empty() { "" } else { "." };
                fields.push(format!("[{index}]{dot}{}", fault.field), fault.reason);
            }),
        }
    }
    if fields.is_empty() {
        Ok(recipients)
    } else {
        Err(HttpProblem::fields(ProblemKind::InvalidFields, fields))
    }
}

/// Reads one. With `id` given (it is in the path) the body's may be absent.
fn read(mut node: JsonNode, id: Option<&str>, defaults: &Defaults) -> HttpResult<Recipient> {
    if let (JsonNode::Object(members), Some(id)) = (&mut node, id) {
        match members.iter().find(|(name, _)| name == "id") {
            None => members.push(("id".to_owned(), JsonNode::Text(id.to_owned()))),
            Some((_, JsonNode::Text(own))) if own == id => {}
            Some(_) => {
                return Err(HttpProblem::field(
                    ProblemKind::InvalidFields,
                    "id",
                    "is not the id in the path",
                ));
            }
        }
    }
    from_json(&node.into_value(), defaults).map_err(|faults| {
        let mut fields = Fields::default();
        for fault in faults {
            let field = if fault.field.is_empty() { "body".to_owned() } else { fault.field };
            fields.push(field, fault.reason);
        }
        HttpProblem::fields(ProblemKind::InvalidFields, fields)
    })
}

async fn put_many(app: &App, caller: &Caller, mut recipients: Vec<Recipient>) -> HttpResult<Response> {
    let stops = stops::taken(&mut recipients);
    let mut ids: Vec<String> = recipients.iter().map(|recipient| recipient.id.clone()).collect();
    let act = app.act(caller, "recipients.put", &format!("{} recipients", ids.len()), "");
    let putting = stored(app, caller, recipients, stops);
    let versions = app.noted(act, putting).await?;
    let items: Vec<Value> = ids
        .drain(..)
        .zip(versions)
        .map(|(id, version)| json!({"id": id, "version": version.to_string()}))
        .collect();
    Ok(Json(json!({"items": items})).into_response())
}

/// Writes people; their stops come first, so that no crash loses one.
async fn stored(
    app: &App,
    caller: &Caller,
    recipients: Vec<Recipient>,
    stops: stops::Stops,
) -> HttpResult<Vec<u64>> {
    engine::Stops::of(&app.engine).opt_out(caller.account(), stops).await?;
    Ok(app.store.put_recipients(caller.account(), recipients).await?)
}

/// Writes one and shows it.
async fn put(app: &App, caller: &Caller, mut recipient: Recipient, new: bool) -> HttpResult<Response> {
    let act = about(app, caller, "recipient.put", &recipient.id);
    let stops = stops::taken(std::slice::from_mut(&mut recipient));
    let putting = stored(app, caller, vec![recipient.clone()], stops);
    let versions = app.noted(act, putting).await?;
    let version = versions.first().copied().unwrap_or_default();
    stops::mark(app, caller.account(), std::slice::from_mut(&mut recipient)).await?;
    let mut response = shown(&recipient, version);
    if new {
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(location) = format!("/api/v1/recipients/{}", encoded(&recipient.id)).parse() {
            response.headers_mut().insert(LOCATION, location);
        }
    }
    Ok(response)
}

/// An act that concerns one person: what it says of them can be forgotten.
fn about(app: &App, caller: &Caller, verb: &str, id: &str) -> Act {
    Act { person: Some(id.to_owned()), ..app.act(caller, verb, id, "") }
}

fn shown(recipient: &Recipient, version: u64) -> Response {
    ([etag(version)], Json(to_json(recipient))).into_response()
}

/// An id as a segment of a path (RFC 3986, section 3.3).
pub(crate) fn encoded(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' | b'+' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let found = app.store.recipient(caller.account(), &id).await?;
    let (mut recipient, version) = found.ok_or_else(missing)?;
    stops::mark(&app, caller.account(), std::slice::from_mut(&mut recipient)).await?;
    Ok(shown(&recipient, version))
}

fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such recipient")
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let node = app.json(&headers, body).await?;
    let recipient = read(node, Some(&id), &app.defaults.load())?;
    let _held = app.hold(caller.account(), &id).await;
    let found = app.store.recipient(caller.account(), &id).await?;
    check_preconditions(&headers, found.as_ref().map(|(_, version)| *version))?;
    put(&app, &caller, recipient, found.is_none()).await
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let patch = app.json_patch(&headers, body).await?;
    let JsonNode::Object(members) = &patch else {
        return Err(HttpProblem::field(
            ProblemKind::InvalidFields,
            "body",
            "is no object; a JSON merge patch is needed",
        ));
    };
    // Devices that stay as they are were right when they came.
    let defaults = match members.iter().any(|(name, _)| name == "devices") {
        true => app.defaults.load_full(),
        false => Arc::new(app.defaults.load().with_any_name()),
    };
    let _held = app.hold(caller.account(), &id).await;
    let (recipient, version) = app.store.recipient(caller.account(), &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(version))?;
    let mut node = json::tree_of(&to_json(&recipient))?;
    node.merge(patch);
    put(&app, &caller, read(node, Some(&id), &defaults)?, false).await
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let _held = app.hold(caller.account(), &id).await;
    let (_, version) = app.store.recipient(caller.account(), &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(version))?;
    let deleting = app.store.delete_recipient(caller.account(), &id);
    if !app.noted(about(&app, &caller, "recipient.delete", &id), deleting).await? {
        return Err(missing());
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["filter", "q", "group", "health", "sort", "cursor", "limit"])?;
    if search::is_search(&query) {
        return search::found(&app, &caller, &query).await;
    }
    let limit = query.limit()?;
    let filters: Vec<Filter> = query.all("filter").take(FILTERS_MAX).map(Filter::new).collect();
    let mut after = query.cursor()?.unwrap_or_default();
    let mut items: Vec<Recipient> = Vec::new();
    let mut seen = 0;
    let next = loop {
        let slice = app.store.recipients_after(caller.account(), &after, limit).await?;
        seen += slice.len();
        let ended = slice.len() < limit;
        for recipient in slice {
            after.clone_from(&recipient.id);
            if filters.iter().all(|filter| filter.fits(&recipient)) {
                items.push(recipient);
                if items.len() == limit {
                    break;
                }
            }
        }
        if items.len() == limit || seen >= FILTER_SCAN_MAX {
            break Some(cursor(&after));
        }
        if ended {
            break None;
        }
    };
    stops::mark(&app, caller.account(), &mut items).await?;
    Ok(Json(json!({"items": items.iter().map(to_json).collect::<Vec<_>>(), "next": next})))
}

/// One condition of a list: `group:staff`, `channel:sms`, `language:sv`, `ATTRIBUTE:value`, or a part of an
/// id or name.
enum Filter {
    Part(String),
    Field(String, String),
}

impl Filter {
    fn new(text: &str) -> Filter {
        match text.split_once(':') {
            Some((field, value)) if !field.is_empty() => Filter::Field(field.to_owned(), value.to_owned()),
            _ => Filter::Part(text.to_lowercase()),
        }
    }

    fn fits(&self, recipient: &Recipient) -> bool {
        let (field, value) = match self {
            Filter::Part(part) => {
                return recipient.id.to_lowercase().contains(part)
                    || recipient.name.to_lowercase().contains(part);
            }
            Filter::Field(field, value) => (field.as_str(), value.as_str()),
        };
        match field {
            "id" => recipient.id == value,
            "name" => recipient.name == value,
            "group" => {
                let wanted = channels::legible::name(value);
                recipient.groups.iter().any(|group| channels::legible::name(group) == wanted)
            }
            "channel" => recipient.devices.iter().any(|device| channels::name(device.channel) == value),
            "address" => recipient.devices.iter().any(|device| device.address == value),
            "language" => recipient.language.as_deref().is_some_and(|tag| tag.eq_ignore_ascii_case(value)),
            "time_zone" => recipient.time_zone.as_deref() == Some(value),
            other => match channels::named(other) {
                Ok(channel) => recipient
                    .devices
                    .iter()
                    .any(|device| device.channel == channel.number() && device.address == value),
                Err(_) => recipient.attributes.get(other).is_some_and(|own| own == value),
            },
        }
    }
}
