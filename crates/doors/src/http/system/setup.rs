//! Steps of a first run, and which of them are done: organisation, administrator, live route, people, first
//! alert, first drill.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use crate::http::request::query::Query;
use crate::http::users::record;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use records::Mode;
use serde_json::{Value, json};

/// Users read at a time, and at most.
const USERS_AT_ONCE: usize = 200;
const USERS_MAX: usize = 10_000;
/// The newest alerts that are counted.
const ALERTS_MAX: usize = 1_000;

/// Of the caller's account.
pub(super) async fn show(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let account = caller.account();
    let site = super::site::of(&app).await?;
    let routes = app.engine.health().await?.routes;
    let live = routes.iter().filter(|(route, _)| route.mode == Mode::Live && !route.simulated).count();
    let people = app.store.recipient_count(account).await?;
    let alerts = app.store.alerts_before(account, None, ALERTS_MAX).await?;
    let count = |mode: Mode| alerts.iter().filter(|alert| alert.request.mode == mode).count() as u64;
    let step = |count: u64| json!({"done": count > 0, "count": count});
    Ok(Json(json!({
        "organisation": step(u64::from(site.organisation().is_some())),
        "administrator": step(administrators(&app, account).await?),
        "live_route": step(live as u64),
        "people": step(people),
        "alert": step(count(Mode::Live)),
        "drill": step(count(Mode::Drill)),
        "alerts_counted_max": ALERTS_MAX,
        "settings": site.view(),
    })))
}

/// Users who can sign in as administrators.
async fn administrators(app: &App, account: &str) -> HttpResult<u64> {
    let (mut count, mut after) = (0, String::new());
    for _ in 0..USERS_MAX / USERS_AT_ONCE {
        let users = record::after(&app.store, account, &after, USERS_AT_ONCE).await?;
        count += users.iter().filter(|user| user.record.is_administrator()).count() as u64;
        match users.last() {
            Some(last) if users.len() == USERS_AT_ONCE => after.clone_from(&last.id),
            _ => break,
        }
    }
    Ok(count)
}
