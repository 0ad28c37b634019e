//! Client-server API of Matrix: the calls that a gateway makes, answered as a homeserver does.

use super::NetworkState;
use super::book::{ArrivedMessage, ImRefusal, object};
use super::http::{ApiReply, ApiRequest};
use super::options::ImManner;
use serde_json::{Value, json};
use std::time::Duration;

/// Events of a room in one answer of `/sync`, where the filter names no number.
const TIMELINE_DEFAULT: usize = 10;
/// Octets of an event's content.
const CONTENT_OCTETS_MAX: usize = 64 * 1024;

fn ok(body: Value) -> ApiReply {
    ApiReply { status: 200, body }
}

fn error(status: u16, code: &str, words: &str) -> ApiReply {
    ApiReply { status, body: json!({"errcode": code, "error": words}) }
}

fn not_found() -> ApiReply {
    error(404, "M_NOT_FOUND", "Not found")
}

/// Answers a call of `/_matrix/client/v3/…`.
pub(super) async fn answer(shared: &NetworkState, path: &[&str], request: ApiRequest) -> ApiReply {
    let options = shared.options();
    let token = request.bearer.as_deref().unwrap_or_default();
    if token.is_empty() {
        return error(401, "M_MISSING_TOKEN", "Missing access token");
    }
    if !options.tokens.is_empty() && !options.tokens.iter().any(|known| known == token) {
        return error(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.");
    }
    match (request.method.as_str(), path) {
        ("GET", ["account", "whoami"]) => {
            ok(json!({"user_id": shared.homeserver().me, "device_id": "SIM", "is_guest": false}))
        }
        ("GET", ["sync"]) => sync(shared, &request).await,
        ("PUT", ["rooms", room, "send", kind, transaction]) => {
            send(shared, room, kind, transaction, request.body).await
        }
        ("POST", ["createRoom"]) => create(shared, &request.body),
        ("POST", ["join", room] | ["rooms", room, "join"]) => {
            ok(json!({"room_id": shared.homeserver().join(room)}))
        }
        ("POST", ["rooms", room, "invite"]) => invite(shared, room, &request.body),
        ("GET", ["rooms", room, "state", rest @ ..]) => state(shared, room, rest),
        ("GET", ["rooms", room, "event", event]) => match shared.homeserver().event(room, event) {
            Some(event) => ok((*event).clone()),
            None => not_found(),
        },
        ("GET", ["rooms", room, "context", event]) => context(shared, room, event, &request),
        ("GET", ["rooms", room, "messages"]) => messages(shared, room, &request),
        ("GET", ["user", _, "account_data", "m.direct"]) => ok(shared.homeserver().direct.clone()),
        ("PUT", ["user", _, "account_data", "m.direct"]) => {
            shared.homeserver().direct = request.body;
            ok(json!({}))
        }
        _ => error(404, "M_UNRECOGNIZED", "Unrecognized request"),
    }
}

async fn send(shared: &NetworkState, room: &str, kind: &str, transaction: &str, content: Value) -> ApiReply {
    let options = shared.options();
    let refused = |status, code, words| {
        shared.book().note_refused();
        error(status, code, words)
    };
    match options.manner {
        ImManner::Accept => {}
        ImManner::Silent => {
            shared.book().note_unanswered();
            return std::future::pending().await;
        }
        ImManner::RefuseForGood => {
            return refused(403, "M_FORBIDDEN", "You are not allowed to send messages here");
        }
        ImManner::RefuseForNow => return refused(500, "M_UNKNOWN", "Internal server error"),
    }
    shared.delay().await;
    if let Some(event) = shared.homeserver().done(room, transaction) {
        shared.book().note_known();
        return ok(json!({"event_id": event}));
    }
    let Some(address) = address_of(shared, room) else {
        return refused(403, "M_FORBIDDEN", "User is not in the room");
    };
    if content.to_string().len() > CONTENT_OCTETS_MAX {
        return refused(413, "M_TOO_LARGE", "event too large");
    }
    match shared.book().judge(&options, &address) {
        Ok(()) => {}
        Err(ImRefusal::Throttled(wait_ms)) => return throttled(wait_ms),
        Err(ImRefusal::Blocked) => {
            return error(403, "M_FORBIDDEN", "You are not allowed to send messages here");
        }
    }
    if shared.refuses(&address) {
        return refused(403, "M_FORBIDDEN", "You are not allowed to send messages here");
    }
    let event = {
        let mut homeserver = shared.homeserver();
        // Two of one transaction may have come together.
        if let Some(event) = homeserver.done(room, transaction) {
            return ok(json!({"event_id": event}));
        }
        let me = homeserver.me.clone();
        let event = homeserver.add(room, &me, kind, content.clone(), false);
        homeserver.note_done(room, transaction, &event);
        event
    };
    let text = content["body"].as_str().unwrap_or_default().to_owned();
    let at_us = shared.book().now_us();
    shared.arrived(ArrivedMessage { address, text: text.clone(), id: event.clone(), at_us, content }, &text);
    ok(json!({"event_id": event}))
}

fn throttled(wait_ms: u64) -> ApiReply {
    let body =
        json!({"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": wait_ms});
    ApiReply { status: 429, body }
}

/// The address of a room that the account is in: its person, or itself.
fn address_of(shared: &NetworkState, room: &str) -> Option<String> {
    let homeserver = shared.homeserver();
    let found = homeserver.room(room).filter(|found| found.members.get(&homeserver.me) == Some(&"join"))?;
    Some(format!("matrix:{}", found.person.as_deref().unwrap_or(room)))
}

fn create(shared: &NetworkState, body: &Value) -> ApiReply {
    let person = body["invite"][0].as_str();
    ok(json!({"room_id": shared.homeserver().create(person)}))
}

fn invite(shared: &NetworkState, room: &str, body: &Value) -> ApiReply {
    let mut homeserver = shared.homeserver();
    match (homeserver.room_mut(room), body["user_id"].as_str()) {
        (Some(room), Some(person)) => {
            room.members.insert(person.to_owned(), "join");
            ok(json!({}))
        }
        _ => error(403, "M_FORBIDDEN", "You are not in the room"),
    }
}

fn state(shared: &NetworkState, room: &str, rest: &[&str]) -> ApiReply {
    let homeserver = shared.homeserver();
    let Some(room) = homeserver.room(room) else {
        return error(403, "M_FORBIDDEN", "You are not in the room");
    };
    match rest {
        ["m.room.encryption", ..] if room.is_encrypted => ok(json!({"algorithm": "m.megolm.v1.aes-sha2"})),
        ["m.room.member", person] => match room.members.get(*person) {
            Some(membership) => ok(json!({"membership": membership})),
            None => not_found(),
        },
        _ => not_found(),
    }
}

/// Users whose events alone are wanted.
fn senders(request: &ApiRequest) -> Option<Vec<String>> {
    let filter: Value = serde_json::from_str(request.parameter("filter")?).ok()?;
    let senders = filter["senders"].as_array()?.iter();
    Some(senders.filter_map(|sender| sender.as_str().map(str::to_owned)).collect())
}

fn is_wanted(event: &Value, senders: &Option<Vec<String>>) -> bool {
    let by = |senders: &Vec<String>| senders.iter().any(|sender| event["sender"] == *sender);
    senders.as_ref().is_none_or(by)
}

fn context(shared: &NetworkState, room: &str, event: &str, request: &ApiRequest) -> ApiReply {
    let (homeserver, senders) = (shared.homeserver(), senders(request));
    let limit = request.parameter("limit").and_then(|limit| limit.parse::<usize>().ok()).unwrap_or(10);
    let (Some(place), Some(found)) = (homeserver.place_of(room, event), homeserver.event(room, event)) else {
        return not_found();
    };
    let before = homeserver.events_before(room, place, 0);
    let before = before.iter().map(|(_, event)| (**event).clone()).filter(|event| is_wanted(event, &senders));
    let before: Vec<Value> = before.take(limit / 2).collect();
    ok(json!({"event": *found, "events_before": before, "events_after": []}))
}

fn messages(shared: &NetworkState, room: &str, request: &ApiRequest) -> ApiReply {
    let place = |name: &str| request.parameter(name).and_then(|token| token.get(1..)?.parse::<u64>().ok());
    let (from, to) = (place("from").unwrap_or(u64::MAX), place("to").unwrap_or(0));
    let limit = request.parameter("limit").and_then(|limit| limit.parse::<usize>().ok()).unwrap_or(10);
    let (homeserver, senders) = (shared.homeserver(), senders(request));
    let events = homeserver.events_before(room, from, to);
    let shown: Vec<&(u64, _)> = events.iter().take(limit).collect();
    let end = shown.last().filter(|_| events.len() > limit).map(|(place, _)| format!("t{place}"));
    let chunk: Vec<Value> = shown
        .iter()
        .map(|(_, event)| (**event).clone())
        .filter(|event: &Value| is_wanted(event, &senders))
        .collect();
    ok(object(json!({"chunk": chunk, "start": request.parameter("from"), "end": end})))
}

async fn sync(shared: &NetworkState, request: &ApiRequest) -> ApiReply {
    let since = match request.parameter("since") {
        None => None,
        Some(token) => match token.strip_prefix('s').and_then(|place| place.parse::<u64>().ok()) {
            Some(place) if place <= shared.homeserver().last_place() => Some(place),
            _ => return error(400, "M_UNKNOWN", "Invalid stream token"),
        },
    };
    let filter: Option<Value> =
        request.parameter("filter").and_then(|filter| serde_json::from_str(filter).ok());
    let limit = filter.and_then(|filter| filter["room"]["timeline"]["limit"].as_u64());
    let limit = limit.map_or(TIMELINE_DEFAULT, |limit| limit as usize);
    let poll = request.parameter("timeout").and_then(|timeout| timeout.parse().ok()).unwrap_or(0);
    let end = tokio::time::Instant::now() + Duration::from_millis(poll);
    loop {
        let changed = shared.changed.notified();
        let is_over = since.is_none() || tokio::time::Instant::now() >= end;
        {
            let homeserver = shared.homeserver();
            if is_over || since.is_some_and(|since| homeserver.has_news(since)) {
                return ok(homeserver.sync(since, limit));
            }
        }
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(end) => {}
        }
    }
}
