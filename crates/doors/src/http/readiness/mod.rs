//! Readiness of an account in one answer: the last drill, people who cannot be reached, money, routes.
//!
//! `GET /api/v1/readiness`. What takes long is found out once and kept until it changes; what is not known,
//! or not the caller's to see, is null.

#[cfg(test)]
mod tests;

use crate::http::alerts::view::headline;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::space_name;
use crate::http::problem::HttpResult;
use crate::http::request::query::Query;
use crate::http::request::time_text::rfc3339;
use crate::http::role_matrix::{Reach, RequiredRole};
use crate::http::scope;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use axum::{Json, Router};
use engine::{AlertReach, DirectoryCounts, Forecasts, ReachTarget};
use ledger::books::AccountId;
use records::{Alert, AlertId, AlertNo, AlertState, Mode};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// What takes longer is null in this answer, and there in a later one.
const WITHIN: Duration = Duration::from_secs(2);
/// Alerts read at a time, and at most, to find the last drill and the last alert.
const ALERTS_AT_ONCE: usize = 50;
const ALERTS_MAX: usize = 500;
/// Late receipts may change a verdict: it is found out again after so long.
const VERDICT_KEPT_S: i64 = 600;
/// Accounts of which something is kept; then all of it is forgotten.
const ACCOUNTS_MAX: usize = 1_000;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/readiness", get(show))
}

/// What was found out, by account.
#[derive(Default)]
pub(crate) struct ReadinessState {
    people: Arc<Findings<u64, DirectoryCounts>>,
    verdicts: Arc<Findings<(AlertId, i64), AlertReach>>,
}

impl ReadinessState {
    /// How many people an account has; nothing: that is being counted.
    pub(crate) async fn people(&self, app: &App, account: &str) -> Option<DirectoryCounts> {
        let revision = app.store.directory_revision(account).await.ok()?.people;
        let (engine, of) = (app.engine.clone(), account.to_owned());
        let counting = async move { DirectoryCounts::of(&engine, &of).await.ok() };
        self.people.find(account, revision, counting).await
    }

    /// How far an alert that is over came.
    async fn verdict(&self, app: &App, alert: &Alert) -> Option<AlertReach> {
        let key = (alert.id, app.now().0 / (VERDICT_KEPT_S * 1_000_000));
        let (engine, account, alert) = (app.engine.clone(), alert.account.clone(), alert.clone());
        let finding = async move { Forecasts::of(&engine).reach(&alert, ReachTarget::DEFAULT).await.ok() };
        self.verdicts.find(&account, key, finding).await
    }
}

/// Findings that take long, the newest of each account: found out once, however many ask.
struct Findings<K, V> {
    kept: Mutex<HashMap<String, (K, V)>>,
    under_way: Mutex<HashSet<String>>,
    ended: Notify,
}

impl<K, V> Default for Findings<K, V> {
    fn default() -> Findings<K, V> {
        Findings { kept: Mutex::default(), under_way: Mutex::default(), ended: Notify::new() }
    }
}

impl<K: PartialEq + Send + 'static, V: Clone + Send + 'static> Findings<K, V> {
    /// What is kept under this key, else what is found out in time. It goes on beyond that.
    async fn find(
        self: &Arc<Self>,
        account: &str,
        key: K,
        finding: impl Future<Output = Option<V>> + Send + 'static,
    ) -> Option<V> {
        tokio::time::timeout(WITHIN, self.found(account, key, finding)).await.ok()?
    }

    async fn found(
        self: &Arc<Self>,
        account: &str,
        key: K,
        finding: impl Future<Output = Option<V>> + Send + 'static,
    ) -> Option<V> {
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if let Some(found) = self.kept(account, &key) {
                return Some(found);
            }
            if locked(&self.under_way).insert(account.to_owned()) {
                break;
            }
            ended.await;
        }
        let ending = Ending { findings: self.clone(), account: account.to_owned() };
        let task = tokio::spawn(async move {
            let found = finding.await?;
            ending.keep(key, found.clone());
            Some(found)
        });
        task.await.ok()?
    }

    fn kept(&self, account: &str, key: &K) -> Option<V> {
        let kept = locked(&self.kept);
        kept.get(account).filter(|(of, _)| of == key).map(|(_, found)| found.clone())
    }
}

/// Ends what is under way, whatever came of it.
struct Ending<K, V> {
    findings: Arc<Findings<K, V>>,
    account: String,
}

impl<K, V> Ending<K, V> {
    fn keep(&self, key: K, found: V) {
        let mut kept = locked(&self.findings.kept);
        if kept.len() >= ACCOUNTS_MAX {
            kept.clear();
        }
        kept.insert(self.account.clone(), (key, found));
    }
}

impl<K, V> Drop for Ending<K, V> {
    fn drop(&mut self) {
        locked(&self.findings.under_way).remove(&self.account);
        self.findings.ended.notify_waiters();
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn show(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let may = |need: RequiredRole| caller.reach_with(need) > Reach::Mine;
    let last = LastAlerts::of(&app, &caller).await?;
    let last_drill = match &last.drill {
        Some(drill) => last_drill(&app, drill).await,
        None => Value::Null,
    };
    let people = match may(RequiredRole::See) {
        true => people(&app, caller.account()).await,
        false => Value::Null,
    };
    let money = match may(RequiredRole::SeeMoney) {
        true => money(&app, caller.account(), last.live).await.unwrap_or(Value::Null),
        false => Value::Null,
    };
    let routes = match may(RequiredRole::SeeSystem) {
        true => routes_view(&app).await,
        false => Value::Null,
    };
    Ok(Json(json!({"last_drill": last_drill, "people": people, "money": money, "routes": routes})))
}

/// The newest that the caller may see.
#[derive(Default)]
struct LastAlerts {
    /// One that is over.
    drill: Option<Alert>,
    live: Option<AlertId>,
}

impl LastAlerts {
    async fn of(app: &App, caller: &Caller) -> HttpResult<LastAlerts> {
        let mut last = LastAlerts::default();
        let sees_drills = caller.user.as_ref().is_none_or(|user| user.scope.spaces.contains(&Mode::Drill));
        if caller.reach_with(RequiredRole::SeeOwn) <= Reach::Mine {
            return Ok(last);
        }
        let (mut before, mut seen): (Option<AlertNo>, usize) = (None, 0);
        while seen < ALERTS_MAX && (last.drill.is_none() || last.live.is_none()) {
            let slice = app.store.alerts_before(caller.account(), before, ALERTS_AT_ONCE).await?;
            (seen, before) = (seen + slice.len(), slice.last().map(|alert| alert.no));
            let is_last = slice.len() < ALERTS_AT_ONCE;
            for alert in slice.into_iter().filter(|alert| !alert.origin.is_internal()) {
                match alert.request.mode {
                    Mode::Live => last.live = last.live.or(Some(alert.id)),
                    Mode::Drill if last.drill.is_none() && sees_drills && is_over(&alert) => {
                        if scope::is_within(app, caller, &alert.request).await? {
                            last.drill = Some(alert);
                        }
                    }
                    Mode::Drill => {}
                }
            }
            if is_last {
                break;
            }
        }
        Ok(last)
    }
}

/// It was sent, and is over.
fn is_over(alert: &Alert) -> bool {
    matches!(alert.state, AlertState::Done | AlertState::Expired)
}

async fn last_drill(app: &App, drill: &Alert) -> Value {
    let verdict = app.operations.readiness.verdict(app, drill).await;
    let target = ReachTarget::DEFAULT;
    json!({
        "id": drill.id.to_string(),
        "headline": headline(&drill.request),
        "created": rfc3339(drill.created),
        "people": verdict.as_ref().map(|verdict| verdict.people),
        "met": verdict.as_ref().and_then(|verdict| verdict.met),
        "seconds": verdict.as_ref().and_then(|verdict| verdict.seconds),
        "target": {"people": target.part(), "seconds": target.seconds},
    })
}

async fn people(app: &App, account: &str) -> Value {
    match app.operations.readiness.people(app, account).await {
        Some(counts) => json!({"total": counts.people, "without_device": counts.without_device}),
        None => Value::Null,
    }
}

/// Sums are in minor units, as everywhere. Nothing: there is no ledger, or the account is none of it.
async fn money(app: &App, account: &str, last: Option<AlertId>) -> Option<Value> {
    let view = app.ledger.as_ref()?.books.account(&AccountId::named(account)).await.ok()?;
    let cost = match last {
        Some(id) => Forecasts::of(&app.engine).fixed_cost(account, id).await.ok().flatten(),
        None => None,
    };
    let left = view.balance.saturating_add(view.limit).saturating_sub(view.reserved).max(0);
    Some(json!({
        "account": account,
        "balance": view.balance,
        "left": left,
        "last_alert": cost,
        "alerts_like_last": cost.filter(|cost| *cost > 0).map(|cost| left / cost),
    }))
}

/// A route of which nothing is known is not counted as down.
async fn routes_view(app: &App) -> Value {
    let health = tokio::time::timeout(WITHIN, app.engine.health()).await;
    let Some(health) = health.ok().and_then(Result::ok) else { return Value::Null };
    let down = health.routes.iter().filter_map(|(route, word)| {
        let word = word.as_ref().filter(|word| !word.up)?;
        Some(json!({"name": route.name, "mode": space_name(route.mode), "since": rfc3339(word.since)}))
    });
    let down: Vec<Value> = down.collect();
    json!({"total": health.routes.len(), "down": down})
}
