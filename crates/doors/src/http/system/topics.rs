//! Text topics of the topic door, to read. They have no accounts: they are the system's.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, cursor};
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use bus::{Bus, BusError, Topic, TopicSettings};
use records::{TEXT_TOPIC_OCTETS_MAX, TEXT_TOPICS, text_topic_of_bus, text_topic_on_bus};
use serde_json::{Value, json};
use std::sync::Arc;

/// Octets of messages in one answer, about.
const OCTETS_MAX: usize = 4 << 20;

/// The bus, and how text topics are kept; nothing: there are none.
fn kept(app: &App) -> Option<(Arc<dyn Bus>, TopicSettings)> {
    let handles = &app.operations.server;
    Some((Arc::clone(handles.bus.as_ref()?), handles.facts.load().topics?))
}

pub(super) async fn list(State(app): State<App>, _: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let (limit, after) = (query.limit()?, query.cursor()?.unwrap_or_default());
    let Some((bus, settings)) = kept(&app) else { return Ok(Json(json!({"items": [], "next": null}))) };
    let read = move || -> Result<(Vec<Value>, Option<String>), BusError> {
        let mut names = bus.topics(TEXT_TOPICS)?;
        names.retain(|name| *name > after && text_topic_of_bus(name).is_some());
        names.sort();
        let next = names.get(limit - 1).filter(|_| names.len() > limit).map(cursor);
        names.truncate(limit);
        let view = |name: &String| Ok(view(name, &*bus.topic_with(name, &settings)?));
        Ok((names.iter().map(view).collect::<Result<_, BusError>>()?, next))
    };
    let (items, next) = blocking(read).await?;
    Ok(Json(json!({"items": items, "next": next})))
}

fn view(name: &str, topic: &dyn Topic) -> Value {
    let (low, head) = (topic.low(), topic.head());
    json!({"name": word(name), "first": low, "next": head, "messages": head.saturating_sub(low)})
}

/// Without the `@` that the protocol writes before it.
fn word(name: &str) -> String {
    let topic = text_topic_of_bus(name).unwrap_or_default();
    String::from_utf8_lossy(topic.strip_prefix(b"@").unwrap_or(&topic)).into_owned()
}

pub(super) async fn messages(
    State(app): State<App>,
    _: Caller,
    Captured(name): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["from", "limit"])?;
    let limit = query.limit()?;
    let from: u64 = match query.one("from").map(str::parse) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(_)) => {
            let reason = "is not the number of a message";
            return Err(HttpProblem::field(ProblemKind::BadQuery, "from", reason));
        }
    };
    let missing = || HttpProblem::new(ProblemKind::NotFound, "there is no such topic");
    let (bus, settings) = kept(&app).ok_or_else(missing)?;
    if name.len() > TEXT_TOPIC_OCTETS_MAX {
        return Err(missing());
    }
    let open = move || -> Result<Option<Arc<dyn Topic>>, BusError> {
        let name = text_topic_on_bus(name.as_bytes());
        // To open a topic would make it.
        if !bus.topics(&name)?.contains(&name) {
            return Ok(None);
        }
        bus.topic_with(&name, &settings).map(Some)
    };
    let topic = blocking(open).await?.ok_or_else(missing)?;
    let records = topic.fetch(from, limit, OCTETS_MAX).await.map_err(problem)?;
    let next = records.last().map(|last| last.index + 1).filter(|next| *next < topic.head());
    let items = records
        .iter()
        .take(limit)
        .map(|record| json!({"index": record.index, "text": String::from_utf8_lossy(&record.octets)}));
    Ok(Json(json!({"items": items.collect::<Vec<_>>(), "next": next, "first": topic.low()})))
}

/// Topics are files or servers' streams.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BusError> + Send + 'static,
) -> HttpResult<T> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    done.map_err(problem)
}

fn problem(error: BusError) -> HttpProblem {
    HttpProblem::new(ProblemKind::Busy, format!("the topic cannot be read: {error}; try again in a moment"))
}
