//! A schedule as clients read it, with its next times.

use crate::http::alerts::view::mode;
use crate::http::problem::HttpResult;
use crate::http::request::time_text::{duration_text, rfc3339};
use crate::http::schedules::record::{
    AlertSource, RunResult, ScheduleRecord, ScheduledAction, ScheduledRun, instant, timestamp,
};
use crate::http::schedules::runner::parsed;
use crate::http::versioned::Versioned;
use records::Timestamp;
use recurrence::{DescribedIn, Schedule};
use serde_json::{Value, json};

/// Next times that are shown.
const NEXT_SHOWN: usize = 5;

/// The whole schedule.
pub(super) fn whole(schedule: &Versioned<ScheduleRecord>, now: Timestamp) -> HttpResult<Value> {
    let record = &schedule.body;
    let rule = parsed(record)?;
    let mut out = head(schedule, &rule, now);
    out["rule"] = record.rule.as_str().into();
    out["start"] = rule.start().to_string().into();
    out["time_zone"] = rule.zone_name().into();
    out["is_start_an_occurrence"] = rule.is_start_an_occurrence().into();
    out["grace"] = duration_text(record.grace_s).into();
    out["valid_for"] = record.valid_s.map(duration_text).into();
    let (template, request, directory) = match &record.action {
        ScheduledAction::Alert(AlertSource::Template(id)) => (id.as_str().into(), Value::Null, Value::Null),
        ScheduledAction::Alert(AlertSource::Request(request)) => (Value::Null, request.clone(), Value::Null),
        ScheduledAction::Directory(name) => (Value::Null, Value::Null, name.as_str().into()),
    };
    out["template"] = template;
    out["request"] = request;
    out["directory"] = directory;
    out["next"] = next(record, &rule, now);
    out["runs"] = record.runs.iter().rev().map(run).collect();
    Ok(out)
}

/// What a list shows.
pub(super) fn summary(schedule: &Versioned<ScheduleRecord>, now: Timestamp) -> Option<Value> {
    let rule = parsed(&schedule.body).ok()?;
    Some(head(schedule, &rule, now))
}

fn head(schedule: &Versioned<ScheduleRecord>, rule: &Schedule, now: Timestamp) -> Value {
    let record = &schedule.body;
    let next = rule.next_after(instant(record.looked_until.max(now)));
    let state = match next {
        _ if !record.enabled => "disabled",
        None => "ended",
        Some(_) if record.is_author_gone => "author_gone",
        Some(_) => "enabled",
    };
    json!({
        "id": schedule.id,
        "version": schedule.version,
        "name": record.name,
        "description": rule.describe(DescribedIn::English),
        "space": mode(record.space),
        "enabled": record.enabled,
        "state": state,
        "next_at": next.filter(|_| record.enabled).map(|next| rfc3339(timestamp(next.instant))),
        "author": record.author.view(),
        "changed": rfc3339(schedule.changed),
    })
}

/// The next times, those that are to be left out among them.
fn next(record: &ScheduleRecord, rule: &Schedule, now: Timestamp) -> Value {
    let mut after = instant(record.looked_until.max(now));
    let mut times = Vec::with_capacity(NEXT_SHOWN);
    while times.len() < NEXT_SHOWN
        && let Some(next) = rule.next_after(after)
    {
        after = next.instant;
        let at = timestamp(next.instant);
        times.push(json!({
            "at": rfc3339(at),
            "local": rule.clock_time(&next).to_string(),
            "skipped": record.skip == Some(at),
        }));
    }
    times.into()
}

fn run(run: &ScheduledRun) -> Value {
    let (alert, import, detail) = match &run.result {
        RunResult::Sent(alert) => (Some(alert.to_string()), None, None),
        RunResult::Started(import) => (None, Some(import), None),
        RunResult::Failed(detail) => (None, None, Some(detail)),
        _ => (None, None, None),
    };
    json!({
        "occurrence": rfc3339(run.occurrence),
        "at": rfc3339(run.at),
        "result": run.result.name(),
        "alert": alert,
        "import": import,
        "detail": detail,
    })
}
