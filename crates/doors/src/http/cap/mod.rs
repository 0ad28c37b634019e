//! CAP messages: taken as alerts ([`incoming`]), and alerts given out as CAP ([`outgoing`]).
//!
//! `POST /api/v1/cap` · `GET /api/v1/alerts/{id}/cap` · without a token `GET /cap/feed.atom` and `/cap/{id}`.

pub(crate) mod incoming;
pub(crate) mod outgoing;
#[cfg(test)]
mod tests;

use self::incoming::{CapIntent, CapSender, Oddity, intent};
use crate::http::alerts;
use crate::http::alerts::body::whom;
use crate::http::alerts::{alert_id, idempotency_key, seen};
use crate::http::app::App;
use crate::http::attachments;
use crate::http::auth::{Caller, hash};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body::{self, media_type};
use crate::http::request::query::{Captured, Query};
use crate::http::request::time_text::rfc3339;
use crate::http::role_matrix::Reach;
use crate::http::routes::RequiredRole;
use arc_swap::ArcSwap;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use engine::{Draft, EngineError, Steer};
use records::{Account, Alert, AlertId, Origin};
use serde_json::json;
use std::sync::Arc;
use store::{IdempotencyKey, KeyOwner, SharedStore};

/// Entries of `?audience=`.
const AUDIENCE_MAX: usize = 1_000;
/// Earlier messages that one may stop.
const STOPS_MAX: usize = 100;
/// Alerts looked through for the feed.
const FEED_SCAN: usize = 300;
/// Entries of the feed.
const FEED_MAX: usize = 50;
/// CAP's media type.
const CAP_XML: &str = "application/cap+xml";
/// Settings of CAP: the senders that may submit, and the address in the feed's links.
pub(crate) struct CapState {
    pub senders: Arc<ArcSwap<Vec<CapSender>>>,
    pub public_url: Option<String>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/cap", post(submit))
        .route("/api/v1/alerts/{id}/cap", get(document))
        .route("/cap/feed.atom", get(feed))
        .route("/cap/{id}", get(public))
}

async fn submit(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["audience", "mode"])?;
    let wait_solved = query.word("mode", &[("async", false), ("sync", true)])?;
    media_type(&headers, &[CAP_XML, "application/xml", "text/xml"])?;
    let octets = app.bodies.whole(&headers, body, cap::DOCUMENT_OCTETS_MAX).await?;
    let text = String::from_utf8_lossy(&octets).into_owned();
    let reading = body::off_thread(octets.len(), move || cap::read(&octets)).await?.map_err(unreadable)?;
    let (audience, geocode_attribute) = audience(&app, &query, &reading.alert)?;
    let meant = intent(&reading.alert, audience, geocode_attribute.as_deref(), app.now())?;
    let mut oddities: Vec<Oddity> = reading.problems.iter().map(oddity).collect();
    oddities.extend(meant.oddities.iter().cloned());
    let CapIntent { request, stops, .. } = meant;
    let Some(mut request) = request else {
        let stopped = stop(&app, &caller, &stops, &mut oddities).await?;
        let id = stopped.first().map(|alert| alert.id.to_string());
        let state = stopped.first().map(|alert| alert.state.name());
        return Ok(
            (StatusCode::OK, Json(json!({"id": id, "state": state, "problems": oddities}))).into_response()
        );
    };
    request.attachments = attachments::of_cap(&app, &caller, &reading.alert, &mut oddities).await?;
    let key = match idempotency_key(&headers, || text.clone())? {
        Some(key) => key,
        None => own_key(&reading.alert, &text),
    };
    let draft = Draft {
        account: caller.account().to_owned(),
        token: caller.token.id.clone(),
        request,
        origin: Origin::Cap(text),
        key: Some(key),
        wait_solved,
        note: Some(app.act(&caller, "alert.submit", "", "a CAP message")),
    };
    let submitted = app.engine.submit(draft).await.map_err(same_identifier)?;
    // Also when it came before: the server may have stopped between the two.
    tie(&app, &caller, &submitted.alert, &reading.alert).await;
    // Only now: had the new word been refused, the old one had better stand.
    stop(&app, &caller, &stops, &mut oddities).await?;
    Ok(alerts::submitted_response(&submitted, wait_solved, json!(oddities)))
}

fn unreadable(refusal: cap::ReadError) -> HttpProblem {
    let mut fields = Fields::default();
    fields.push("alert", refusal.to_string());
    let kind = match refusal.code() {
        "too-large" => ProblemKind::TooLarge,
        _ => ProblemKind::MalformedBody,
    };
    HttpProblem::fields(kind, fields).with_members(json!({"rule": refusal.code()}))
}

fn oddity(problem: &cap::CapProblem) -> Oddity {
    Oddity::new(&problem.path, problem.rule.code(), problem.message.clone())
}

/// A message is sent again by networks that repeat: its identity (section 3.2.1: identifier, sender, sent) is
/// its key.
fn own_key(alert: &cap::Alert, text: &str) -> IdempotencyKey {
    let sent = alert.sent.map(|sent| sent.to_string()).unwrap_or_default();
    let identity = hash(&format!("{}\n{}\n{sent}", alert.sender, alert.identifier));
    let hex: String = identity.iter().map(|octet| format!("{octet:02x}")).collect();
    IdempotencyKey { key: format!("cap {hex}"), body_hash: hash(text), of: KeyOwner::Account }
}

fn same_identifier(error: EngineError) -> HttpProblem {
    match error {
        EngineError::KeyTaken => HttpProblem::field(
            ProblemKind::KeyTaken,
            "alert/identifier",
            "came before with this sender and time, and with other content (or the Idempotency-Key did)",
        ),
        other => other.into(),
    }
}

/// The audience of a message, and the attribute of recipients that holds geocodes.
fn audience(app: &App, query: &Query, alert: &cap::Alert) -> HttpResult<(Vec<String>, Option<String>)> {
    let senders = app.cap.senders.load();
    let configured = senders.iter().find(|known| known.sender == alert.sender);
    let wanted: Vec<String> = query
        .all("audience")
        .flat_map(|list| list.split(','))
        .map(|entry| entry.trim().to_owned())
        .filter(|entry| !entry.is_empty())
        .collect();
    let attribute = configured.and_then(|known| known.geocode_attribute.clone());
    let wanted = match (wanted.is_empty(), configured) {
        (false, _) => wanted,
        (true, Some(known)) => known.audience.clone(),
        (true, None) => Vec::new(),
    };
    if wanted.is_empty() {
        let sender: String = alert.sender.chars().take(100).collect();
        let reason = format!("{sender:?} has no [[cap.sender]] in the config, and there is no ?audience=");
        return Err(HttpProblem::field(ProblemKind::InvalidFields, "alert/sender", reason));
    }
    let mut fields = Fields::default();
    if wanted.len() > AUDIENCE_MAX {
        fields
            .push("audience", format!("has {} entries; at most {AUDIENCE_MAX} are taken here", wanted.len()));
    }
    let mut entries = Vec::with_capacity(wanted.len());
    let defaults = app.defaults.load();
    for (index, entry) in wanted.into_iter().take(AUDIENCE_MAX).enumerate() {
        match whom(&entry, true, &defaults) {
            Ok(kept) => entries.push(kept.unwrap_or(entry)),
            Err(reason) => fields.push(format!("audience[{index}]"), reason),
        }
    }
    if fields.is_empty() {
        Ok((entries, attribute))
    } else {
        Err(HttpProblem::fields(ProblemKind::InvalidFields, fields))
    }
}

/// Remembers which message an alert came from, for those that refer to it.
async fn tie(app: &App, caller: &Caller, ours: &Alert, alert: &cap::Alert) {
    let sent = alert.sent.map(|sent| sent.to_string()).unwrap_or_default();
    let tied = app.store.tie_cap(ours.no, caller.account(), &alert.sender, &alert.identifier, &sent).await;
    if let Err(error) = tied {
        tracing::error!(%error, alert = %ours.id, "an alert is not tied to its CAP message; an update of it will not stop it");
    }
}

/// Cancels the unsent rest of earlier messages. A token that may only submit stops only its own.
async fn stop(
    app: &App,
    caller: &Caller,
    stops: &[(String, String)],
    oddities: &mut Vec<Oddity>,
) -> HttpResult<Vec<Alert>> {
    let mut stopped = Vec::new();
    for (sender, identifier) in stops.iter().take(STOPS_MAX) {
        let mut earlier = app.store.alerts_of_cap(caller.account(), sender, identifier).await?;
        if RequiredRole::Change.reach(&caller.token) == Reach::Nothing {
            earlier.retain(|alert| alert.token == caller.token.id);
        }
        if earlier.is_empty() {
            // The same words for both: whether another token submitted it is not this one's to know.
            let message = format!("{sender},{identifier} is not known here, or not to this token");
            oddities.push(Oddity::new("alert/references", "unknown", message));
        }
        for alert in earlier {
            let act = app.act(caller, "alert.cancel", &alert.id.to_string(), "by a CAP message");
            let steering = async {
                match app.engine.steer(caller.account(), alert.id, Steer::Cancel).await {
                    // It was over already.
                    Err(EngineError::WrongState { .. }) => Ok(alert.clone()),
                    steered => steered,
                }
            };
            stopped.push(app.noted(act, steering).await?);
        }
    }
    Ok(stopped)
}

async fn document(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let alert = seen(&app, &caller, alert_id(&id)?).await?;
    Ok(([(CONTENT_TYPE, CAP_XML)], outgoing::document(&alert)?).into_response())
}

/// One of the feed's messages, without a token.
async fn public(State(store): State<SharedStore>, Captured(id): Captured) -> HttpResult<Response> {
    let id: AlertId = alert_id(&id)?;
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such public alert");
    let alert = store.alert(Account::DEFAULT, id).await?.ok_or_else(missing)?;
    outgoing::public(&alert).ok_or_else(missing)?;
    Ok(([(CONTENT_TYPE, CAP_XML), (CACHE_CONTROL, "max-age=60")], outgoing::document(&alert)?)
        .into_response())
}

/// Received CAP messages, public and actual, newest first, as Atom (RFC 4287).
async fn feed(State(app): State<App>) -> HttpResult<Response> {
    let alerts = app.store.alerts_before(Account::DEFAULT, None, FEED_SCAN).await?;
    let base = app.cap.public_url.clone().unwrap_or_default();
    let now = app.now();
    let feed = body::off_thread(usize::MAX, move || {
        let mut entries = String::new();
        let mut updated = None;
        for alert in alerts.iter().filter(|alert| alert.request.expires > now) {
            let Some(said) = outgoing::public(alert) else { continue };
            updated.get_or_insert(alert.created);
            entries.push_str(&entry(&base, alert, &said));
            if entries.matches("<entry>").count() == FEED_MAX {
                break;
            }
        }
        let updated = rfc3339(updated.unwrap_or(now));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <id>{base}/cap/feed.atom</id>\n<title>Alerts</title>\n<updated>{updated}</updated>\n\
             <author><name>Campanile</name></author>\n<link rel=\"self\" href=\"{base}/cap/feed.atom\"/>\n{entries}</feed>\n",
            base = escaped(&base),
        )
    });
    Ok(([(CONTENT_TYPE, "application/atom+xml"), (CACHE_CONTROL, "max-age=30")], feed.await?).into_response())
}

fn entry(base: &str, alert: &Alert, said: &cap::Alert) -> String {
    let time = rfc3339(alert.created);
    format!(
        "<entry>\n<id>urn:uuid:{id}</id>\n<title>{title}</title>\n<updated>{time}</updated>\n<author><name>{sender}</name></author>\n\
         <link rel=\"alternate\" type=\"{CAP_XML}\" href=\"{base}/cap/{id}\"/>\n</entry>\n",
        id = alert.id,
        title = escaped(&alerts::view::headline(&alert.request)),
        sender = escaped(&said.sender),
        base = escaped(base),
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
}
