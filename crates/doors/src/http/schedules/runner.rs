//! Runner of schedules: the process that leads looks each second for those that are due, and does what they
//! say.
//!
//! A time is sent once, whatever crashes and whoever leads: the alert is accepted under a key made of the
//! schedule and the time, and the schedule is moved on only if it is still the version that was read. A
//! process that no longer leads, and does not know it yet, finds the alert that the other made.

use crate::http::alerts::timeline;
use crate::http::alerts::{self, Acceptance};
use crate::http::app::App;
use crate::http::approvals::deciders;
use crate::http::auth::{self, Caller};
use crate::http::directories;
use crate::http::drafts;
use crate::http::drafts::body::with_mode;
use crate::http::help_cases;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::json;
use crate::http::request::time_text::rfc3339;
use crate::http::schedules::directory;
use crate::http::schedules::record::{
    AlertSource, RunResult, ScheduleRecord, ScheduledAction, instant, timestamp,
};
use crate::http::templates;
use crate::http::versioned::{self, Versioned};
use engine::{Leader, Submitted};
use records::{Origin, Timestamp};
use recurrence::{Downtime, Schedule};
use std::time::Duration;
use store::{Act, DocumentKind, Expected, IdempotencyKey, KeyOwner, NewDocument};

/// Interval of looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks between two removals of drafts past their time.
const LOOKS_PER_REMOVAL: u32 = 600;
/// Schedules looked after in one look.
const DUE_AT_ONCE: usize = 50;
/// A time that could not be sent for now is tried again after so long, seconds.
const AGAIN_S: i64 = 10;

/// Runs until it is aborted.
pub(crate) async fn run(app: App) {
    let mut looks: u32 = 0;
    loop {
        if app.engine.leader() == Leader::Here {
            look(&app).await;
            if looks.is_multiple_of(LOOKS_PER_REMOVAL)
                && let Err(problem) = drafts::submission::remove_past(&app).await
            {
                tracing::warn!(
                    why = problem.detail(),
                    "submitted drafts past their time could not be removed"
                );
            }
            if looks.is_multiple_of(LOOKS_PER_REMOVAL)
                && let Err(problem) = help_cases::remove_past(&app).await
            {
                tracing::warn!(why = problem.detail(), "help cases past their time could not be removed");
            }
            if looks.is_multiple_of(LOOKS_PER_REMOVAL)
                && let Err(problem) = timeline::remove_past(&app).await
            {
                tracing::warn!(why = problem.detail(), "stories of removed alerts could not be removed");
            }
        }
        looks = looks.wrapping_add(1);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Looks after every schedule that is due.
pub(crate) async fn look(app: &App) {
    let due = match app.store.due_documents(DocumentKind::Schedule, app.now(), DUE_AT_ONCE).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "schedules could not be read; they are looked for again in a second");
            return;
        }
    };
    for (account, document) in due {
        let id = document.id;
        if let Err(problem) = settle(app, &account, &id).await {
            tracing::warn!(
                account,
                schedule = id,
                why = problem.detail(),
                "a schedule could not be looked after"
            );
        }
    }
}

/// Does what is due of one schedule, and moves it on.
async fn settle(app: &App, account: &str, id: &str) -> HttpResult<()> {
    let _held = app.hold(account, &format!("schedule {id}")).await;
    let found = app.store.document(account, DocumentKind::Schedule, id).await?;
    // It may have been changed, skipped or removed since it was found to be due.
    let Some(document) = found.filter(|found| found.due.is_some_and(|due| due <= app.now())) else {
        return Ok(());
    };
    let mut schedule: Versioned<ScheduleRecord> = versioned::opened(document)?;
    let rule = parsed(&schedule.body)?;
    let (record, now) = (&mut schedule.body, app.now());
    let grace = Duration::from_secs(u64::from(record.grace_s));
    let downtime = match record.enabled {
        true => rule.missed(instant(record.looked_until), instant(now), grace),
        false => Downtime::default(),
    };
    if let Some(occurrence) = &downtime.run {
        let at = timestamp(occurrence.instant);
        let result = match record.skip {
            Some(skip) if skip == at => RunResult::Skipped,
            _ => match act(app, account, (schedule.id.as_str(), &mut *record), at).await {
                Ok(result) => result,
                Err(problem) if problem.status().is_server_error() => {
                    return postpone(app, account, &schedule, &problem).await;
                }
                Err(problem) => RunResult::Failed(problem.detail().to_owned()),
            },
        };
        note_downtime(record, &downtime, now);
        record.note(at, now, result);
    } else {
        note_downtime(record, &downtime, now);
    }
    if record.skip.is_some_and(|skip| skip <= now) {
        record.skip = None;
    }
    record.looked_until = record.looked_until.max(now);
    write(app, account, &schedule, None).await
}

fn note_downtime(record: &mut ScheduleRecord, downtime: &Downtime, now: Timestamp) {
    for missed in &downtime.missed {
        record.note(timestamp(missed.instant), now, RunResult::Missed);
    }
    for merged in &downtime.merged {
        record.note(timestamp(merged.instant), now, RunResult::Merged);
    }
}

/// The rule of a stored schedule.
pub(crate) fn parsed(record: &ScheduleRecord) -> HttpResult<Schedule> {
    Schedule::parse(&record.rule).map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))
}

/// Carries out one time, in the name of the schedule's author.
async fn act(
    app: &App,
    account: &str,
    (id, record): (&str, &mut ScheduleRecord),
    at: Timestamp,
) -> HttpResult<RunResult> {
    let author = record.author.as_caller(app, account, record.space).await?;
    let Some(caller) = author.filter(|author| directory::may(author, &record.action)) else {
        if !record.is_author_gone {
            note_author_gone(app, account, id, record).await?;
        }
        record.is_author_gone = true;
        return Ok(RunResult::AuthorGone);
    };
    record.is_author_gone = false;
    let record: &ScheduleRecord = record;
    match &record.action {
        ScheduledAction::Alert(_) => {
            let key = format!("schedule {id} {}", rfc3339(at));
            // A template may change between two tries of one time: the key says all.
            let body_hash = auth::hash(&key);
            let key = IdempotencyKey { key, body_hash, of: KeyOwner::Account };
            send(app, &caller, (id, record), (at, Some(key))).await.map(|done| RunResult::Sent(done.alert.id))
        }
        ScheduledAction::Directory(name) => {
            let key = format!("schedule {id} {}", rfc3339(at));
            directories::run_once(app, &caller, name, &key).await.map(RunResult::Started)
        }
    }
}

async fn note_author_gone(app: &App, account: &str, id: &str, record: &ScheduleRecord) -> HttpResult<()> {
    tracing::warn!(
        account,
        schedule = id,
        author = record.author.id,
        "a schedule does not run: its author is gone"
    );
    let act = Act {
        at: app.now(),
        account: account.to_owned(),
        token: record.author.id.clone(),
        token_name: record.author.name.clone(),
        verb: "schedule.author_gone".to_owned(),
        object: id.to_owned(),
        ..Act::default()
    };
    app.store.note_act(act).await?;
    Ok(())
}

/// Sends the schedule's alert for a time.
pub(super) async fn send(
    app: &App,
    caller: &Caller,
    (id, record): (&str, &ScheduleRecord),
    (at, key): (Timestamp, Option<IdempotencyKey>),
) -> HttpResult<Submitted> {
    let request = match &record.action {
        ScheduledAction::Alert(AlertSource::Request(request)) => request.clone(),
        ScheduledAction::Alert(AlertSource::Template(template)) => {
            let found = templates::find(app, caller.account(), template).await?;
            let missing = || {
                HttpProblem::new(ProblemKind::NotFound, format!("there is no template {template:?} any more"))
            };
            found.ok_or_else(missing)?.body.request
        }
        ScheduledAction::Directory(name) => {
            let detail = format!(
                "the schedule sends no alert: POST /api/v1/directories/{name}:run imports the directory now"
            );
            return Err(HttpProblem::new(ProblemKind::WrongState, detail));
        }
    };
    let mut whole = with_mode(&request, record.space);
    if let Some(valid) = record.valid_s {
        whole["expires"] = rfc3339(at.plus_s(i64::from(valid))).into();
    }
    let request = alerts::read_request(app, caller, json::tree_of(&whole)?, app.now()).await?;
    let detail = format!("schedule {id} of {}", rfc3339(at));
    let (origin, authors) = (Origin::Schedule, deciders::authors(caller));
    let how = Acceptance { origin, authors, key, wait_solved: false, detail };
    alerts::accept(app, caller, request, how).await
}

/// Nothing could be done for now: the same time is tried again.
async fn postpone(
    app: &App,
    account: &str,
    schedule: &Versioned<ScheduleRecord>,
    problem: &HttpProblem,
) -> HttpResult<()> {
    tracing::warn!(
        account,
        schedule = schedule.id,
        why = problem.detail(),
        "a schedule could not run, and is tried again in {AGAIN_S} s"
    );
    write(app, account, schedule, Some(app.now().plus_s(AGAIN_S))).await
}

/// Writes the schedule, if nobody changed it meanwhile: then it is looked after again as it stands.
async fn write(
    app: &App,
    account: &str,
    schedule: &Versioned<ScheduleRecord>,
    due: Option<Timestamp>,
) -> HttpResult<()> {
    let document = document(&schedule.id, &schedule.body)?;
    let document = NewDocument { due: due.or(document.due), ..document };
    let expected = Expected::Version(schedule.version);
    versioned::put(app, account, DocumentKind::Schedule, document, expected).await.map(|_| ())
}

/// A schedule as it is stored, due at its next time.
pub(super) fn document(id: &str, record: &ScheduleRecord) -> HttpResult<NewDocument> {
    let due = record.due(&parsed(record)?);
    Ok(NewDocument { due, ..versioned::written_out(id, record)? })
}
