//! Schedules: alerts and tests that recur, and imports of directories.
//!
//! `POST`, `GET /api/v1/schedules` · `GET`, `PUT`, `PATCH`, `DELETE /api/v1/schedules/{id}` · `POST
//! /api/v1/schedules/{id}:run`, `:skip`, `:unskip`. One is read by [`body`], kept as [`record`], shown by
//! [`view`], and carried out by the [`runner`].

mod body;
mod directory;
mod record;
pub(crate) mod runner;
#[cfg(test)]
mod tests;
mod view;

use self::body::ReadSchedule;
use self::record::{RunResult, ScheduleRecord, instant, timestamp};
use crate::http::alerts::{idempotency_key, submitted_response};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::check_space;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::json::{self, JsonNode};
use crate::http::request::query::{Captured, Query, check_preconditions, etag};
use crate::http::versioned::{self, Versioned};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use serde_json::Value;
use store::{DocumentKind, Expected};

/// Schedules of one account.
const SCHEDULES_MAX: u64 = 500;
const VERBS: [&str; 3] = ["run", "skip", "unskip"];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/schedules", get(list).post(create))
        .route("/api/v1/schedules/{id}", get(show).put(replace).patch(change).delete(remove).post(verb))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let node = app.json(&headers, body).await?;
    let read = body::read(&app, &caller, node, None).await?;
    let _held = hold(&app, &caller, &read.id).await;
    let found = find(&app, &caller, &read.id).await?;
    put(&app, &caller, &headers, found, read).await
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let node = app.json(&headers, body).await?;
    let read = body::read(&app, &caller, node, Some(&id)).await?;
    let _held = hold(&app, &caller, &id).await;
    let found = find(&app, &caller, &id).await?;
    put(&app, &caller, &headers, found, read).await
}

/// A JSON merge patch (RFC 7396) of what a client may write.
async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let patch = app.json_patch(&headers, body).await?;
    let JsonNode::Object(members) = &patch else {
        let reason = "is no object; a JSON merge patch is needed";
        return Err(HttpProblem::field(ProblemKind::InvalidFields, "body", reason));
    };
    let has_start = |rule: &JsonNode| matches!(rule, JsonNode::Text(rule) if rule.contains("DTSTART"));
    let is_whole_rule = members.iter().any(|(name, rule)| name == "rule" && has_start(rule));
    let _held = hold(&app, &caller, &id).await;
    let found = seen(&app, &caller, &id).await?;
    let mut node = json::tree_of(&body::writable(&found.body, is_whole_rule)?)?;
    node.merge(patch);
    let read = body::read(&app, &caller, node, Some(&id)).await?;
    put(&app, &caller, &headers, Some(found), read).await
}

async fn hold<'a>(app: &'a App, caller: &Caller, id: &str) -> tokio::sync::MutexGuard<'a, ()> {
    app.hold(caller.account(), &format!("schedule {id}")).await
}

async fn find(app: &App, caller: &Caller, id: &str) -> HttpResult<Option<Versioned<ScheduleRecord>>> {
    versioned::find(&app.store, caller.account(), DocumentKind::Schedule, id).await
}

/// A schedule of the space of the request.
async fn seen(app: &App, caller: &Caller, id: &str) -> HttpResult<Versioned<ScheduleRecord>> {
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such schedule");
    let found = find(app, caller, id).await?.ok_or_else(missing)?;
    check_space(caller, found.body.space)?;
    Ok(found)
}

async fn put(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    found: Option<Versioned<ScheduleRecord>>,
    read: ReadSchedule,
) -> HttpResult<Response> {
    let account = caller.account();
    let version = found.as_ref().map(|schedule| schedule.version);
    check_preconditions(headers, version)?;
    let mut record = read.record;
    match &found {
        None => {
            let limit = (SCHEDULES_MAX, "schedules");
            versioned::check_count(app, account, DocumentKind::Schedule, limit).await?;
        }
        Some(earlier) => {
            check_space(caller, earlier.body.space)?;
            carry_over(&mut record, &earlier.body);
        }
    }
    let document = runner::document(&read.id, &record)?;
    let expected = version.map_or(Expected::Absent, Expected::Version);
    let putting = versioned::put(app, account, DocumentKind::Schedule, document, expected);
    let act = app.act(caller, "schedule.put", &read.id, "");
    let version = versioned::done(app.noted(act, putting).await?)?;
    let schedule = Versioned { id: read.id, version, changed: app.now(), body: record };
    let mut response = answer(app, &schedule)?;
    if found.is_none() {
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(location) = format!("/api/v1/schedules/{}", encoded(&schedule.id)).parse() {
            response.headers_mut().insert(LOCATION, location);
        }
    }
    Ok(response)
}

/// What stays of the schedule that is replaced. A new rule, and one that was disabled, begin now: no time of
/// before is made up for.
fn carry_over(record: &mut ScheduleRecord, earlier: &ScheduleRecord) {
    record.runs.clone_from(&earlier.runs);
    if record.rule == earlier.rule {
        record.skip = earlier.skip;
        if record.enabled && earlier.enabled {
            record.looked_until = earlier.looked_until;
        }
    }
}

fn answer(app: &App, schedule: &Versioned<ScheduleRecord>) -> HttpResult<Response> {
    Ok(([etag(schedule.version)], Json(view::whole(schedule, app.now())?)).into_response())
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    answer(&app, &seen(&app, &caller, &id).await?)
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let now = app.now();
    let shown = |schedule: Versioned<ScheduleRecord>| {
        let is_of_space = check_space(&caller, schedule.body.space).is_ok();
        view::summary(&schedule, now).filter(|_| is_of_space)
    };
    versioned::page(&app.store, caller.account(), DocumentKind::Schedule, &query, shown).await
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let _held = hold(&app, &caller, &id).await;
    let found = seen(&app, &caller, &id).await?;
    check_preconditions(&headers, Some(found.version))?;
    let expected = Expected::Version(found.version);
    let deleting = app.store.delete_document(caller.account(), DocumentKind::Schedule, &id, expected);
    if !app.noted(app.act(&caller, "schedule.delete", &id, ""), deleting).await? {
        return Err(HttpProblem::new(
            ProblemKind::VersionChanged,
            "it was changed at the same moment: read it again before you delete it",
        ));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /api/v1/schedules/{id}:verb`.
async fn verb(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(path): Captured,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let (caller, id, verb) = versioned::id_and_verb(caller, &path, &VERBS)?;
    Query::read(&uri, &[])?;
    let _held = hold(&app, &caller, id).await;
    let found = seen(&app, &caller, id).await?;
    match verb {
        "run" => run_now(&app, &caller, found, &headers).await,
        _ => skip(&app, &caller, found, (verb, &headers)).await,
    }
}

/// Sends the alert now, in the caller's name, whether the schedule is enabled or not.
async fn run_now(
    app: &App,
    caller: &Caller,
    mut schedule: Versioned<ScheduleRecord>,
    headers: &HeaderMap,
) -> HttpResult<Response> {
    let key = idempotency_key(headers, || format!("run {}", schedule.id))?;
    let now = app.now();
    let act = app.act(caller, "schedule.run", &schedule.id, "");
    let sending = runner::send(app, caller, (schedule.id.as_str(), &schedule.body), (now, key));
    let submitted = app.noted(act, sending).await?;
    if submitted.fresh {
        schedule.body.note(now, now, RunResult::Sent(submitted.alert.id));
        let document = runner::document(&schedule.id, &schedule.body)?;
        let expected = Expected::Version(schedule.version);
        // If the runner moved it on meanwhile, the alert is in the list of alerts alone.
        versioned::put(app, caller.account(), DocumentKind::Schedule, document, expected).await?;
    }
    Ok(submitted_response(&submitted, false, serde_json::json!(submitted.problems)))
}

/// Leaves the next time out, or not any more.
async fn skip(
    app: &App,
    caller: &Caller,
    mut schedule: Versioned<ScheduleRecord>,
    (verb, headers): (&str, &HeaderMap),
) -> HttpResult<Response> {
    check_preconditions(headers, Some(schedule.version))?;
    let rule = runner::parsed(&schedule.body)?;
    let next = rule.next_after(instant(schedule.body.looked_until.max(app.now())));
    let next = next.ok_or_else(|| {
        HttpProblem::new(ProblemKind::WrongState, "the schedule has ended: there is no next time")
    })?;
    schedule.body.skip = (verb == "skip").then(|| timestamp(next.instant));
    let document = runner::document(&schedule.id, &schedule.body)?;
    let expected = Expected::Version(schedule.version);
    let putting = versioned::put(app, caller.account(), DocumentKind::Schedule, document, expected);
    let act = app.act(caller, &format!("schedule.{verb}"), &schedule.id, "");
    schedule.version = versioned::done(app.noted(act, putting).await?)?;
    schedule.changed = app.now();
    answer(app, &schedule)
}
