//! Clients that hand messages in: those of the SMPP door with the sessions that are bound in this process,
//! and platforms of sendsms.
//!
//! `GET /api/v1/clients` · `GET /api/v1/clients/{system_id}` · `POST /api/v1/clients/{system_id}:unbind`

use crate::http::alerts::view::mode;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use crate::kannel::PlatformSettings;
use crate::smpp::{ActivityView, ClientSessionView, ClientView, SmppClient};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::get;
use axum::{Extension, Json, Router};
use records::{Timestamp, client_topic};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Characters of a reason.
const REASON_CHARS_MAX: usize = 1_000;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/clients", get(list)).route("/api/v1/clients/{id}", get(show).post(act))
}

/// A client or platform of the config.
enum MessageParty {
    Smpp(ClientView),
    Http(PlatformSettings),
}

impl MessageParty {
    fn name(&self) -> &str {
        match self {
            MessageParty::Smpp(client) => &client.settings.system_id,
            MessageParty::Http(platform) => &platform.username,
        }
    }

    fn account(&self) -> &str {
        match self {
            MessageParty::Smpp(client) => &client.settings.account,
            MessageParty::Http(platform) => &platform.account,
        }
    }
}

/// Those that a caller reaches, by name; an SMPP client before a platform of the same name.
fn reached(app: &App, caller: &Caller) -> Vec<MessageParty> {
    let operations = &app.operations;
    let clients = operations.server.clients.as_ref();
    let clients = clients.map(|clients| clients.shown(Instant::now())).unwrap_or_default();
    let platforms = operations.platforms.load_full();
    let mut all: Vec<MessageParty> = clients.into_iter().map(MessageParty::Smpp).collect();
    all.extend(platforms.settings().cloned().map(MessageParty::Http));
    all.retain(|one| caller.reaches(one.account()));
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let (limit, from) = (query.limit()?, query.number_cursor::<usize>()?.unwrap_or(0));
    let all = reached(&app, &caller);
    let next = from.saturating_add(limit);
    let next = (next < all.len()).then(|| cursor(next));
    let page: Vec<MessageParty> = all.into_iter().skip(from).take(limit).collect();
    let waiting = waiting(&app, &page).await?;
    let items: Vec<Value> = page.iter().map(|one| view(&app, one, &waiting)).collect();
    Ok(Json(json!({"items": items, "next": next})))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Captured(name): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let one = [named(&app, &caller, &name)?];
    let waiting = waiting(&app, &one).await?;
    Ok(Json(view(&app, &one[0], &waiting)))
}

fn named(app: &App, caller: &Caller, name: &str) -> HttpResult<MessageParty> {
    let found = reached(app, caller).into_iter().find(|one| one.name() == name);
    found.ok_or_else(|| HttpProblem::new(ProblemKind::NotFound, "no such client in the configuration"))
}

/// `POST /api/v1/clients/{system_id}:unbind`; the router has no syntax for text behind a capture.
async fn act(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(name_and_verb): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<(StatusCode, Json<Value>)> {
    let Some((name, "unbind")) = name_and_verb.rsplit_once(':') else {
        let detail = "POST needs a verb behind the name: {system_id}:unbind";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let reason = reason_of(app.json(&headers, body).await?)?;
    let unbinding = async { unbind(&app, &caller, name) };
    let sessions = app.noted(app.act(&caller, "client.unbind", name, &reason), unbinding).await?;
    let node = app.operations.server.facts.load().node.clone();
    Ok((StatusCode::ACCEPTED, Json(json!({"system_id": name, "node": node, "sessions": sessions}))))
}

fn reason_of(body: JsonNode) -> HttpResult<String> {
    let mut fields = Fields::default();
    let object = Object::open(body, "", &["reason"], &mut fields);
    let reason = object.and_then(|mut object| object.needed_text("reason", REASON_CHARS_MAX, &mut fields));
    match reason {
        Some(reason) if fields.is_empty() => Ok(reason),
        _ => Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)),
    }
}

/// Unbinds the sessions of this process; gives how many there were.
fn unbind(app: &App, caller: &Caller, name: &str) -> HttpResult<u32> {
    let clients = app.operations.server.clients.as_ref();
    match named(app, caller, name)? {
        MessageParty::Http(_) => {
            let detail = "a platform of sendsms has no sessions: remove it from the config and reload";
            Err(HttpProblem::new(ProblemKind::WrongState, detail))
        }
        MessageParty::Smpp(_) => Ok(clients.and_then(|clients| clients.unbind(name)).unwrap_or(0)),
    }
}

/// Events that wait, by SMPP client.
async fn waiting(app: &App, page: &[MessageParty]) -> HttpResult<HashMap<String, u64>> {
    let server = &app.operations.server;
    let smpp = |one: &MessageParty| matches!(one, MessageParty::Smpp(_)).then(|| one.name().to_owned());
    let names: Vec<String> = page.iter().filter_map(smpp).collect();
    let (Some(bus), Some(clients)) = (&server.bus, &server.clients) else { return Ok(HashMap::new()) };
    let (bus, clients) = (Arc::clone(bus), Arc::clone(clients));
    let read = move || {
        // All topics of clients stand below the one of no name.
        let topics: HashSet<String> = bus.topics(&client_topic(""))?.into_iter().collect();
        let waiting = |name: String| Ok((name.clone(), clients.waiting(&*bus, &topics, &name)?));
        names.into_iter().map(waiting).collect::<Result<HashMap<_, _>, bus::BusError>>()
    };
    let read = tokio::task::spawn_blocking(read).await;
    let read = read.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    read.map_err(|error| {
        let detail = format!("the events of clients cannot be counted: {error}; try again in a moment");
        HttpProblem::new(ProblemKind::Busy, detail)
    })
}

fn view(app: &App, one: &MessageParty, waiting: &HashMap<String, u64>) -> Value {
    let node = app.operations.server.facts.load().node.clone();
    let limit = |rate: f64| (rate > 0.0).then_some(rate);
    match one {
        MessageParty::Smpp(ClientView { settings, activity }) => json!({
            "system_id": settings.system_id,
            "kind": "smpp",
            "account": settings.account,
            "mode": mode(settings.mode),
            "node": node,
            "sessions": sessions(settings, activity),
            "sessions_max": settings.connections,
            "rate": {"now": activity.rate_now, "limit": limit(settings.rate)},
            "submitted": activity.submitted,
            "told": activity.told,
            "events_waiting": waiting.get(&settings.system_id),
            "last_refusal": refusal(activity, app.now()),
        }),
        MessageParty::Http(platform) => json!({
            "system_id": platform.username,
            "kind": "http",
            "account": platform.account,
            "mode": mode(platform.mode),
            "node": node,
            "sessions": [],
            "sessions_max": 0,
            "rate": {"now": null, "limit": limit(platform.rate)},
            "submitted": null,
            "told": null,
            "events_waiting": null,
            "last_refusal": null,
        }),
    }
}

fn sessions(settings: &SmppClient, activity: &ActivityView) -> Vec<Value> {
    let view = |session: &ClientSessionView| {
        json!({
            "address": session.peer.to_string(),
            "mode": session.mode,
            "version": session.version,
            "since": rfc3339(session.since),
            "requests_waiting": session.waiting,
            "window": settings.window,
        })
    };
    activity.sessions.iter().map(view).collect()
}

fn refusal(activity: &ActivityView, now: Timestamp) -> Option<Value> {
    let refusal = activity.refusal.as_ref()?;
    let ago_us = i64::try_from(refusal.ago.as_micros()).unwrap_or(i64::MAX);
    let at = Timestamp(now.0.saturating_sub(ago_us));
    let name = refusal.status.name().map(|name| format!("ESME_{name}"));
    Some(json!({
        "at": rfc3339(at),
        "request": refusal.request,
        "status": refusal.status.0,
        "name": name,
        "words": refusal.why,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::*;

    #[tokio::test]
    async fn clients_of_the_config_are_listed_with_what_they_do_and_without_their_passwords() {
        let server = TestServer::open().await;
        let page = server.get("/api/v1/clients").await.1;
        let names: Vec<&str> =
            page["items"].as_array().unwrap().iter().map(|one| one["system_id"].as_str().unwrap()).collect();
        assert_eq!(names, ["bank", "north-bank", "water"], "{page}");
        assert!(!page.to_string().contains("secret"), "{page}");
        let (status, bank) = server.get("/api/v1/clients/bank").await;
        assert_eq!(status, 200, "{bank}");
        assert_eq!((&bank["kind"], &bank["rate"]["limit"]), (&json!("smpp"), &json!(50.0)), "{bank}");
        assert_eq!((&bank["sessions"], &bank["events_waiting"]), (&json!([]), &json!(0)), "{bank}");
        let water = server.get("/api/v1/clients/water").await.1;
        assert_eq!((&water["kind"], &water["submitted"]), (&json!("http"), &json!(null)), "{water}");
        let first = server.get("/api/v1/clients?limit=2").await.1;
        let path = format!("/api/v1/clients?cursor={}", first["next"].as_str().unwrap());
        assert_eq!(server.get(&path).await.1["items"][0]["system_id"], "water");
        server.close().await;
    }

    #[tokio::test]
    async fn an_account_sees_its_own_clients_alone() {
        let server = TestServer::open().await;
        let body = json!({"role": "admin", "account": "north"});
        let north = server.post("/api/v1/tokens", body).await.1["token"].as_str().unwrap().to_owned();
        let list = said(server.anon(Method::GET, "/api/v1/clients").bearer_auth(&north)).await.1;
        assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
        assert_eq!(list["items"][0]["system_id"], "north-bank");
        let other = server.anon(Method::GET, "/api/v1/clients/bank").bearer_auth(&north);
        assert_eq!(said(other).await.0, 404);
        server.close().await;
    }

    #[tokio::test]
    async fn sessions_are_unbound_with_a_reason_that_is_noted() {
        let server = TestServer::open().await;
        let path = "/api/v1/clients/bank:unbind";
        let (status, refused) = server.post(path, json!({})).await;
        assert_eq!((status.as_u16(), reason(&refused, "reason")), (422, "is needed"));
        let (status, done) = server.post(path, json!({"reason": "it floods"})).await;
        assert_eq!((status.as_u16(), &done["sessions"]), (202, &json!(0)), "{done}");
        let (status, refused) = server.post("/api/v1/clients/water:unbind", json!({"reason": "x"})).await;
        assert_eq!((status.as_u16(), slug(&refused)), (409, "wrong-state"), "{refused}");
        let trail = server.get("/api/v1/audit?verb=client.unbind&object=bank").await.1;
        assert_eq!(trail["items"][0]["detail"], "it floods", "{trail}");
        server.close().await;
    }
}
