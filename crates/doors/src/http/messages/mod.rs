//! Platforms' messages, by SMPP or sendsms: one by its id, or those to or from a number, step by step.
//!
//! `GET /api/v1/messages?id=&number=&client=` · `GET /api/v1/messages/{id}`
//!
//! Text and numbers are a person's: who reads deliveries of the account reads messages, the reads are noted
//! alike, and a page of drills shows messages of drills alone. Users limited to groups or areas see none:
//! a message's number is in no group.

mod events;
mod steps;
#[cfg(test)]
mod tests;

use crate::http::alerts::view::mode;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::space_name;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use crate::http::request::time_text::rfc3339;
use crate::http::scope;
use crate::smpp::parse_message_id;
use ::smpp::text::{Charset, Coding};
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use engine::{MessageCourse, MessageSearch};
use records::{DlrState, INTAKE, MessageClient, MessageId, ShortText};
use serde_json::{Value, json};

/// Messages of one page; each is looked up by itself.
const PAGE_MAX: usize = 100;
/// Characters of a number or of a client's name.
const WORD_CHARS_MAX: usize = 256;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/messages", get(list)).route("/api/v1/messages/{id}", get(show))
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["id", "number", "client", "cursor", "limit"])?;
    let limit = query.limit()?.min(PAGE_MAX);
    let before = query.number_cursor()?.map(MessageId);
    let (number, client) = (word(&query, "number")?, word(&query, "client")?);
    scope::check_unlimited(&caller)?;
    let space = caller.user.as_ref().map(|user| user.space);
    let messages = app.engine.messages();
    let (ids, next) = match query.one("id") {
        Some(id) => (parse_message_id(id.as_bytes(), head(&app)).into_iter().collect(), None),
        None => {
            let wanted =
                MessageSearch { number: number.clone(), client: client.clone(), mode: space, before };
            let found = messages.search(caller.account(), &wanted, limit).await?;
            (found.ids, found.next)
        }
    };
    let mut items = Vec::with_capacity(ids.len());
    for id in ids {
        let course = messages.course(caller.account(), id).await?;
        let course = course.filter(|course| space.is_none_or(|space| space == course.mode));
        items.extend(course.map(|course| summary(&course)));
    }
    app.note_read(app.act(&caller, "messages.read", number.as_deref().unwrap_or_default(), "")).await?;
    Ok(Json(json!({"items": items, "next": next.map(|id| cursor(id.0))})))
}

fn word(query: &Query, name: &str) -> HttpResult<Option<String>> {
    let word = query.one(name).map(str::trim).filter(|word| !word.is_empty());
    if word.is_some_and(|word| word.chars().count() > WORD_CHARS_MAX) {
        let reason = format!("has more than {WORD_CHARS_MAX} characters");
        return Err(HttpProblem::field(ProblemKind::BadQuery, name, reason));
    }
    Ok(word.map(str::to_owned))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    scope::check_unlimited(&caller)?;
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such message");
    let no = parse_message_id(id.as_bytes(), head(&app)).ok_or_else(missing)?;
    let course = app.engine.messages().course(caller.account(), no).await?.ok_or_else(missing)?;
    if let Some(user) = caller.user.as_ref().filter(|user| user.space != course.mode) {
        let (space, other) = (space_name(user.space), space_name(course.mode));
        let detail = format!("the message is of the {other} space, and this page of the {space} space");
        return Err(HttpProblem::new(ProblemKind::WrongSpace, detail));
    }
    app.note_read(app.act(&caller, "messages.read", &id, "")).await?;
    let told = events::told(&app, &course).await?;
    let mut view = summary(&course);
    let (text, data_coding) = text(&course.view.message.short.text);
    view["text"] = text.into();
    view["data_coding"] = data_coding.into();
    view["steps"] = steps::steps(&course, &told).into();
    Ok(Json(view))
}

/// The id that the next message will have, for ids of 8 digits.
fn head(app: &App) -> u64 {
    let intake = app.operations.server.bus.as_ref().and_then(|bus| bus.topic(INTAKE).ok());
    intake.map_or(0, |intake| intake.head())
}

fn summary(course: &MessageCourse) -> Value {
    let MessageCourse { view, delivery, not_before, expires, .. } = course;
    let (kind, client) = client_of(&view.message.party);
    json!({
        "id": format!("{:016x}", view.message.id.0),
        "client": {"kind": kind, "name": client},
        "mode": mode(course.mode),
        "priority": course.lane.name(),
        "from": view.message.short.source.addr,
        "to": view.to,
        "taken": rfc3339(view.message.at),
        "not_before": not_before.map(rfc3339),
        "expires": expires.map(rfc3339),
        "state": state_name(view.state),
        "is_final": view.is_final,
        "at": view.at.map(rfc3339),
        "reason_code": delivery.reason_code,
        "reason": delivery.reason,
        "route": delivery.route,
        "attempts": delivery.attempts,
    })
}

/// Kind and name of who handed a message in.
fn client_of(party: &MessageClient) -> (&'static str, Option<&str>) {
    match party {
        MessageClient::Smpp(name) => ("smpp", Some(name)),
        MessageClient::Platform(name) => ("http", Some(name)),
        MessageClient::House => ("own", None),
    }
}

fn state_name(state: DlrState) -> &'static str {
    match state {
        DlrState::Enroute => "enroute",
        DlrState::Delivered => "delivered",
        DlrState::Expired => "expired",
        DlrState::Deleted => "deleted",
        DlrState::Undeliverable => "undeliverable",
        DlrState::Accepted => "accepted",
        DlrState::Unknown => "unknown",
        DlrState::Rejected => "rejected",
    }
}

/// A message's words, unless they are binary, and the coding that the platform chose.
fn text(text: &ShortText) -> (Option<String>, Option<u8>) {
    match text {
        ShortText::Text { text, .. } => (Some(text.to_string()), None),
        // Stored octets of the default alphabet are GSM 7-bit.
        ShortText::Octets { data_coding, octets } => match Coding::of(*data_coding, Charset::Gsm7).charset {
            Charset::Binary => (None, Some(*data_coding)),
            charset => (Some(charset.decode(octets)), Some(*data_coding)),
        },
    }
}
