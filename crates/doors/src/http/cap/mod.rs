//! CAP messages: taken as alerts ([`incoming`], [`submission`]), ended by later ones ([`ending`]), and alerts
//! given out as CAP ([`outgoing`], [`feed`]).
//!
//! `POST /api/v1/cap` · `GET /api/v1/alerts/{id}/cap` · without a token `GET /cap/feed.atom` and `/cap/{id}`.

mod cancel;
#[cfg(test)]
mod course_tests;
mod ending;
mod feed;
pub(crate) mod incoming;
pub(crate) mod outgoing;
mod submission;
#[cfg(test)]
mod tests;

use self::incoming::{CapAudience, CapSender};
use crate::http::alerts::body::whom;
use crate::http::alerts::{alert_id, seen};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query};
use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use engine::ApprovalPolicy;
use records::{Account, Alert, AlertId, AlertState, Origin};
use std::sync::Arc;

/// Entries of `?audience=`.
const AUDIENCE_MAX: usize = 1_000;
/// CAP's media type.
const CAP_XML: &str = "application/cap+xml";
/// Settings of CAP: the senders that may submit, and the address in the feed's links.
pub(crate) struct CapState {
    pub senders: Arc<ArcSwap<Vec<CapSender>>>,
    pub public_url: Option<String>,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/cap", post(submission::submit))
        .route("/api/v1/alerts/{id}/cap", get(document))
        .route("/cap/feed.atom", get(feed::feed))
        .route("/cap/{id}", get(public))
}

/// The audience of a message, and the attribute of recipients that holds geocodes.
pub(super) fn audience(app: &App, query: &Query, alert: &cap::Alert) -> HttpResult<CapAudience> {
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
        Ok(CapAudience { entries, geocode_attribute: attribute })
    } else {
        Err(HttpProblem::fields(ProblemKind::InvalidFields, fields))
    }
}

async fn document(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let alert = seen(&app, &caller, alert_id(&id)?).await?;
    let mut earlier = Vec::new();
    for id in outgoing::follows(&alert) {
        earlier.extend(app.store.alert(caller.account(), id).await?);
    }
    let document = match alert.state {
        AlertState::Cancelled if !matches!(alert.origin, Origin::Cap(_)) => {
            let ended = app.store.alert_ended(alert.no).await?;
            outgoing::withdrawal(&alert, ended.unwrap_or_else(|| app.now()))?
        }
        _ => outgoing::document(&alert, &earlier)?,
    };
    Ok(([(CONTENT_TYPE, CAP_XML)], document).into_response())
}

/// Nothing of an alert keeps it from the public: it does not wait for approval, and will not.
fn is_released(policy: &ApprovalPolicy, alert: &Alert) -> bool {
    match alert.state {
        AlertState::AwaitingApproval => false,
        AlertState::Accepted | AlertState::Solving => alert.approval.is_none() && policy.rules.is_empty(),
        _ => alert.may_send(),
    }
}

/// One of the feed's messages, without a token.
async fn public(State(app): State<App>, Captured(id): Captured) -> HttpResult<Response> {
    let id: AlertId = alert_id(&id)?;
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such public alert");
    let found = app.store.alert(Account::DEFAULT, id).await?;
    let alert =
        found.filter(|alert| is_released(&app.engine.approval_policy(), alert)).ok_or_else(missing)?;
    outgoing::public(&alert).ok_or_else(missing)?;
    Ok(([(CONTENT_TYPE, CAP_XML), (CACHE_CONTROL, "max-age=60")], outgoing::document(&alert, &[])?)
        .into_response())
}
