//! Approvals: alerts that wait for other people, what those decide, and reviews of what was sent alone.
//!
//! `GET /api/v1/approvals` · `GET /api/v1/reviews` · `POST /api/v1/alerts/{id}:approve`, `:return`,
//! `:reject`, `:send-alone`, `:review`, which [`crate::http::alerts`] hands over. A decision is read by
//! [`decisions`], who may take it is judged by [`deciders`]; [`notices`] tells approvers and administrators
//! by their own devices; [`steering`] has others confirm a stop or a pause where a rule says so.

pub(crate) mod approvers;
pub(crate) mod deciders;
mod decisions;
mod drafts;
pub(crate) mod notices;
mod reviews;
pub(crate) mod steering;
#[cfg(test)]
mod tests;
pub(crate) mod view;

pub(crate) use decisions::{VERBS, decide};

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use crate::http::request::query::{Query, cursor};
use crate::http::scope;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use records::AlertNo;
use serde_json::{Value, json};

/// Alerts that wait which are looked through for one person.
const WAITING_MAX: usize = 100;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/approvals", get(list)).route("/api/v1/reviews", get(reviews::list))
}

/// Alerts that this caller could approve now, the oldest first.
pub(crate) async fn waiting_for(app: &App, caller: &Caller) -> HttpResult<Vec<Value>> {
    let Some(user) = caller.user.as_deref() else { return Ok(Vec::new()) };
    let account = Some(caller.account());
    let alerts = app.store.alerts_awaiting_approval(account, AlertNo(0), WAITING_MAX).await?;
    let mut waiting = Vec::new();
    for alert in &alerts {
        if deciders::may_approve(user, alert) && scope::reaches(app, &user.scope, alert).await? {
            waiting.push(view::waiting(alert, Some(user), app.now()));
        }
    }
    Ok(waiting)
}

/// Alerts that wait, the oldest first; to a user those of their scope and space alone.
async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let after = query.number_cursor()?.map_or(AlertNo(0), AlertNo);
    let now = app.now();
    let alerts = app.store.alerts_awaiting_approval(Some(caller.account()), after, limit).await?;
    let next = alerts.last().filter(|_| alerts.len() == limit).map(|last| cursor(last.no.0));
    let mut items: Vec<Value> = Vec::with_capacity(alerts.len());
    for alert in &alerts {
        let is_seen = match caller.user.as_deref() {
            Some(user) => {
                user.space == alert.request.mode && scope::reaches(&app, &user.scope, alert).await?
            }
            None => true,
        };
        if is_seen {
            items.push(view::waiting(alert, caller.user.as_deref(), now));
        }
    }
    Ok(Json(json!({"items": items, "next": next})))
}
