//! Timeline and curve of an alert: what happened to it, newest first, and how many people it had reached by
//! when. A timeline is made of the alert itself, the story that was kept of it, the audit trail (who steered
//! it) and its help cases.
//!
//! `GET /api/v1/alerts/{id}/timeline` · `…/{id}/curve`.

use crate::http::alerts::{alert_id, seen};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::USER_PREFIX;
use crate::http::problem::HttpResult;
use crate::http::request::query::{Captured, Query};
use crate::http::request::time_text::{parse_time, rfc3339};
use crate::http::users::record;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use engine::{AlertStory, AnswerFilter, MarkKind, PeopleFilter, PeoplePage, StoryMark};
use records::{Alert, AlertNo, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use store::{AuditEntry, AuditSearch, DocumentKind, Expected, NewDocument};

/// Entries of one timeline: of more, the newest.
const ENTRIES_MAX: usize = 500;
/// Acts of one alert that are looked through.
const ACTS_MAX: usize = 1_000;
/// Users of one timeline whose full names are looked up; the others are called as the audit trail has them.
const NAMED_MAX: usize = 50;

/// Stories past their time that are looked at in one go.
const LOOKED_AT_ONCE: usize = 100;
/// A story whose alert is kept is looked at again after so long, seconds: 30 days.
const KEPT_ON_S: i64 = 30 * 86_400;

/// Codes of what people did, by the verbs of the audit trail.
const ACTS: [(&str, &str); 11] = [
    ("alert.approve", "approved"),
    ("alert.return", "returned"),
    ("alert.reject", "rejected"),
    ("alert.send-alone", "sent_alone"),
    ("alert.pause", "paused"),
    ("alert.resume", "resumed"),
    ("alert.cancel", "stopped"),
    ("alert.retry-failed", "retried"),
    ("alert.extend", "extended"),
    ("help-case.take", "help_taken"),
    ("help-case.resolve", "help_resolved"),
];

pub(super) async fn timeline(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let id = alert_id(&id)?;
    let alert = seen(&app, &caller, id).await?;
    let story = app.engine.people().story(caller.account(), id).await?;
    let ended = app.store.alert_ended(alert.no).await?;
    let search =
        AuditSearch { object: Some(id.to_string()), ..AuditSearch::newest(Some(caller.account()), ACTS_MAX) };
    let acts = app.store.audit_entries(search).await?;
    let mut entries = vec![(alert.created, entry("accepted", json!({"origin": alert.origin.name()})))];
    entries.extend(story.marks.iter().map(mark));
    entries.extend(end(&alert, &story, ended));
    let names = full_names(&app, caller.account(), &acts).await?;
    entries.extend(done_by_people(&acts, &names));
    entries.extend(calls(&app, &caller, &alert).await?);
    // What came at the same moment stays in this order.
    entries.sort_by_key(|(at, _)| *at);
    entries.drain(..entries.len().saturating_sub(ENTRIES_MAX));
    let items: Vec<Value> = entries.into_iter().rev().map(|(at, entry)| dated(at, entry)).collect();
    Ok(Json(json!({"items": items})))
}

fn entry(code: &str, args: Value) -> Value {
    json!({"code": code, "args": args})
}

fn dated(at: Timestamp, mut entry: Value) -> Value {
    entry["at"] = rfc3339(at).into();
    entry
}

fn mark(mark: &StoryMark) -> (Timestamp, Value) {
    let people = mark.people;
    let (code, args) = match mark.kind {
        MarkKind::FirstSent => ("first_sent", json!({})),
        MarkKind::HalfReached => ("half_reached", json!({"people": people})),
        MarkKind::MostReached => ("most_reached", json!({"people": people})),
        MarkKind::HandedOver => ("handed_over", json!({"people": people})),
        MarkKind::Ended => ("ended", json!({"state": mark.of, "people": people})),
        MarkKind::RouteDown => ("route_down", json!({"route": mark.of})),
        MarkKind::RouteUp => ("route_up", json!({"route": mark.of})),
    };
    (mark.at, entry(code, args))
}

/// The end, where a crash came before it was noted.
fn end(alert: &Alert, story: &AlertStory, ended: Option<Timestamp>) -> Option<(Timestamp, Value)> {
    let is_noted = story.marks.iter().any(|mark| mark.kind == MarkKind::Ended);
    let at = ended.filter(|_| alert.state.is_final() && !is_noted)?;
    Some((at, entry("ended", json!({"state": alert.state.name()}))))
}

/// What people did, but for what failed.
fn done_by_people(acts: &[AuditEntry], names: &BTreeMap<String, String>) -> Vec<(Timestamp, Value)> {
    let failed: BTreeSet<u64> = acts.iter().filter_map(|entry| entry.act.failed).collect();
    let done = acts.iter().filter(|entry| entry.act.failed.is_none() && !failed.contains(&entry.link.seq));
    let coded = done.filter_map(|entry| {
        let (_, code) = ACTS.iter().find(|(verb, _)| *verb == entry.act.verb)?;
        Some((entry, *code))
    });
    let args = |entry: &AuditEntry| {
        let name = names.get(&entry.act.token).unwrap_or(&entry.act.token_name);
        let mut args = json!({"by": name});
        if !entry.act.detail.is_empty() {
            let name = if entry.act.verb.starts_with("help-case.") { "case" } else { "reason" };
            args[name] = entry.act.detail.as_str().into();
        }
        args
    };
    coded.map(|(one, code)| (one.act.at, entry(code, args(one)))).collect()
}

/// What people call the users of some acts, by how the acts name them. Who is gone stays as the act says.
async fn full_names(app: &App, account: &str, acts: &[AuditEntry]) -> HttpResult<BTreeMap<String, String>> {
    let users: BTreeSet<&str> = acts
        .iter()
        .filter(|entry| ACTS.iter().any(|(verb, _)| *verb == entry.act.verb))
        .filter_map(|entry| entry.act.token.strip_prefix(USER_PREFIX))
        .collect();
    let mut names = BTreeMap::new();
    for id in users.into_iter().take(NAMED_MAX) {
        let user = record::find(&app.store, account, id).await?;
        let full_name = user.map(|user| user.record.profile.full_name).filter(|name| !name.is_empty());
        names.extend(full_name.map(|name| (format!("{USER_PREFIX}{id}"), name)));
    }
    Ok(names)
}

/// Who called for help, by the answers that stand.
async fn calls(app: &App, caller: &Caller, alert: &Alert) -> HttpResult<Vec<(Timestamp, Value)>> {
    let mut calls = Vec::new();
    for key in &alert.request.answer_rules.needs_help {
        let filter = PeopleFilter { answer: Some(AnswerFilter::Key(key.clone())), ..PeopleFilter::default() };
        let page = PeoplePage { filter, limit: ENTRIES_MAX, ..PeoplePage::default() };
        let (people, _) = app.engine.people().page(caller.account(), alert.id, page).await?;
        let choice = alert.request.choices.iter().find(|choice| choice.key == *key);
        let label = choice.map(|choice| choice.label.as_str());
        for person in people {
            let answer = person.answer.as_ref().filter(|answer| answer.key.as_ref() == Some(key));
            let Some(at) = answer.and_then(|answer| parse_time(&answer.at).ok()) else { continue };
            let args =
                json!({"recipient": person.recipient, "name": person.name, "choice": key, "label": label});
            calls.push((at, entry("needs_help", args)));
        }
    }
    Ok(calls)
}

/// Looks at stories past their time, of all accounts: those whose alert is kept are kept on.
pub(crate) async fn remove_past(app: &App) -> HttpResult<()> {
    let (kind, now) = (DocumentKind::AlertStory, app.now());
    for (account, story) in app.store.due_documents(kind, now, LOOKED_AT_ONCE).await? {
        let no = u64::from_str_radix(&story.id, 16).map(AlertNo);
        let alert = match no {
            Ok(no) => app.store.alert_by_no(no).await?,
            Err(_) => None,
        };
        if alert.is_none() {
            app.store.delete_document(&account, kind, &story.id, Expected::Version(story.version)).await?;
            continue;
        }
        let (id, expected) = (story.id, Expected::Version(story.version));
        let kept =
            NewDocument { id, lookup: story.lookup, due: Some(now.plus_s(KEPT_ON_S)), body: story.body };
        app.store.put_document(&account, kind, kept, expected, now).await?;
    }
    Ok(())
}

pub(super) async fn curve(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let id = alert_id(&id)?;
    let alert = seen(&app, &caller, id).await?;
    let story = app.engine.people().story(caller.account(), id).await?;
    let point = |point: &engine::CurvePoint| json!({"s": point.second, "reached": point.reached, "answered": point.answered});
    let points: Vec<Value> = story.curve.points().iter().map(point).collect();
    Ok(Json(json!({"since": rfc3339(alert.created), "points": points})))
}

#[cfg(test)]
mod tests {
    use crate::http::tests::*;

    async fn codes(server: &TestServer, id: &str) -> Vec<String> {
        let (status, timeline) = server.get(&format!("/api/v1/alerts/{id}/timeline")).await;
        assert_eq!(status, 200, "{timeline}");
        let items = timeline["items"].as_array().unwrap();
        items.iter().map(|item| item["code"].as_str().unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn what_people_did_and_the_end_stand_in_the_timeline_newest_first() {
        let server = TestServer::open().await;
        server.people().await;
        let id = server.submit(json!({"text": "Gas", "audience": ["all"]})).await;
        for verb in ["pause", "pause", "resume", "cancel"] {
            let path = format!("/api/v1/alerts/{id}:{verb}");
            said(server.call(Method::POST, &path)).await;
            server.clock.fetch_add(1_000_000, Ordering::SeqCst);
        }
        let mut found = Vec::new();
        for _ in 0..2_000 {
            found = codes(&server, &id).await;
            if found.iter().any(|code| code == "ended") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let acts: Vec<&str> = found.iter().map(String::as_str).filter(|code| *code != "ended").collect();
        assert_eq!(acts, ["stopped", "resumed", "paused", "accepted"], "what failed is not there");
        let (_, curve) = server.get(&format!("/api/v1/alerts/{id}/curve")).await;
        assert_eq!(curve["points"][0]["reached"], 0, "{curve}");
        server.close().await;
    }
}
