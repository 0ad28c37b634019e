//! Imports as jobs: looked at before they are committed, and undone for a day.
//!
//! `POST /api/v1/recipients:import?dry_run=true` makes one · `GET /api/v1/imports`, `/{id}`,
//! `/{id}/problems.csv` · `POST /api/v1/imports/{id}:commit`, `:discard`, `:undo`.
//!
//! The rows stand in the store, unseen, from when they were compared ([`run`]) until the decision; a commit,
//! a discard and an undo each change one row and the job's document in one transaction. So a crash leaves
//! either nothing of a step or the whole.

pub(crate) mod job;
pub(crate) mod keeper;
pub(crate) mod run;
#[cfg(test)]
mod tests;

use self::job::{Actor, ImportDecision, ImportJob, ImportState, KeptProblem, find, problems_of, written};
use self::run::{FileFacts, ImportRun, NewImport};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::stream::csv_line;
use crate::http::request::body::{BodyReader, broken};
use crate::http::request::query::{Captured, Query, check_preconditions, cursor, etag};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use bytes::Bytes;
use futures_util::stream;
use records::ChannelNumber;
use serde_json::{Value, json};
use std::io;
use store::import::ImportReader;
use store::{DocumentKind, Expected, ImportStep, StoreError};
use tokio::io::AsyncBufReadExt;

/// A committed import can be undone for so long.
const UNDO_S: i64 = 86_400;
/// Verbs behind the id.
const VERBS: [&str; 3] = ["commit", "discard", "undo"];
/// The heading of the file of problems.
const PROBLEMS_HEADING: [&str; 4] = ["row", "column", "value", "reason"];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/imports", get(list))
        .route("/api/v1/imports/{id}", get(show).post(act))
        .route("/api/v1/imports/{id}/problems.csv", get(problems))
}

impl Actor {
    pub(crate) fn of(caller: &Caller) -> Actor {
        Actor { id: caller.token.id.clone(), name: caller.token.name.clone() }
    }
}

/// A file of a client, read whole before the answer; it is compared behind it.
pub(crate) async fn from_file(
    app: &App,
    caller: &Caller,
    (mut reader, skips_wrong): (ImportReader, bool),
    mut body: BodyReader,
) -> HttpResult<Response> {
    let place = app.uploads.directory.places.take(caller.account())?;
    app.note(app.act(caller, "import.begin", "", "file")).await?;
    let new = NewImport {
        account: caller.account().to_owned(),
        source: "file".to_owned(),
        by: Actor::of(caller),
        skips_wrong,
        absent: None,
    };
    let mut run = ImportRun::begin(app, new, place).await?;
    let read = loop {
        match read_piece(&mut body, reader).await {
            Ok((next, rows, is_last)) => {
                reader = next;
                let is_unreadable = !is_last && reader.is_over();
                if let Err(problem) = run.take(rows).await {
                    break Err(problem);
                }
                if is_unreadable {
                    break Err(HttpProblem::new(
                        ProblemKind::InvalidFields,
                        "the file cannot be read to its end",
                    ));
                }
                if is_last {
                    break run.read(facts(&reader)).await;
                }
            }
            Err(problem) => break Err(problem),
        }
    };
    let (id, account) = (run.id().to_owned(), caller.account().to_owned());
    match read {
        Ok(()) => {
            let (job, version) = run.job();
            let answer = accepted(&job.view(app, &account).await?, &id, version);
            tokio::spawn(run.compare()); // what fails is said in the job
            Ok(answer)
        }
        // The job says which row is wrong.
        Err(problem) if problem.slug() == "invalid-fields" => {
            run.fail(problem.detail().to_owned()).await;
            let (job, version) = find(app, &account, &id).await?;
            Ok(accepted(&job.view(app, &account).await?, &id, version))
        }
        Err(problem) => {
            run.fail(problem.detail().to_owned()).await;
            Err(problem)
        }
    }
}

pub(crate) fn accepted(view: &Value, id: &str, version: u64) -> Response {
    let mut response = (StatusCode::ACCEPTED, [etag(version)], Json(view)).into_response();
    if let Ok(location) = format!("/api/v1/imports/{id}").parse() {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn facts(reader: &ImportReader) -> FileFacts {
    let summary = reader.summary();
    FileFacts {
        columns: reader.columns(),
        notes: summary.notes.clone(),
        attributes: summary.attributes.clone(),
        without_device: summary.without_device,
    }
}

type ReadRows = Vec<Result<records::Recipient, store::import::RowProblem>>;

/// Reads the next piece of a body, and parses it off the runtime's threads. True: it was the last.
async fn read_piece(
    body: &mut BodyReader,
    mut reader: ImportReader,
) -> HttpResult<(ImportReader, ReadRows, bool)> {
    let octets = body.fill_buf().await.map_err(|error| broken(&error))?;
    let (piece, length) = (Bytes::copy_from_slice(octets), octets.len());
    body.consume(length);
    let parsed = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        if piece.is_empty() {
            reader.finish(&mut out);
        } else {
            reader.feed(&piece, &mut out);
        }
        (reader, out, piece.is_empty())
    });
    parsed.await.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let after = query.cursor()?.unwrap_or_default();
    let account = caller.account();
    let found = app.store.documents_after(account, DocumentKind::Import, &after, limit).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| cursor(&last.id));
    let mut items = Vec::with_capacity(found.len());
    for document in &found {
        let job = job::parse(&document.body)?;
        items.push(
            ImportJob { file: job::ReadFile { problem_parts: 0, ..job.file }, ..job }
                .view(&app, account)
                .await?,
        );
    }
    Ok(Json(json!({"items": items, "next": next})))
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let (job, version) = find(&app, caller.account(), &id).await?;
    Ok(([etag(version)], Json(job.view(&app, caller.account()).await?)).into_response())
}

/// All problems, as a file that a spreadsheet opens.
async fn problems(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let account = caller.account().to_owned();
    let (job, _) = find(&app, &account, &id).await?;
    app.note_read(app.act(&caller, "import.problems", &id, "")).await?;
    let parts = job.file.problem_parts;
    let pieces = stream::unfold((app, account, id, None), move |(app, account, id, part)| async move {
        let Some(part) = part else {
            return Some((
                io::Result::Ok(csv_line(PROBLEMS_HEADING.into_iter())),
                (app, account, id, Some(0)),
            ));
        };
        if part >= parts {
            return None;
        }
        let piece = match problems_of(&app, &account, &id, part).await {
            Ok(problems) => Ok(problems.iter().map(line).collect::<String>()),
            Err(problem) => Err(io::Error::other(problem.detail().to_owned())),
        };
        Some((piece, (app, account, id, Some(part + 1))))
    });
    let disposition = "attachment; filename=\"problems.csv\"";
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, disposition)];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

fn line(KeptProblem(row, column, value, reason): &KeptProblem) -> String {
    let row = row.to_string();
    csv_line([row.as_str(), column, value, reason].into_iter())
}

/// `POST /api/v1/imports/{id}:verb`; the router has no syntax for text behind a capture.
async fn act(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(id_and_verb): Captured,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let (id, verb) = id_and_verb.rsplit_once(':').unwrap_or((&id_and_verb, ""));
    if !VERBS.contains(&verb) {
        let detail = "POST needs a verb behind the id: {id}:commit, {id}:discard or {id}:undo";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    }
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let known: &[&str] = if verb == "commit" { &["on_problem"] } else { &[] };
    let query = Query::read(&uri, known)?;
    let skips_wrong = query.word("on_problem", &[("reject", false), ("skip", true)])?;
    let (job, version) = find(&app, caller.account(), id).await?;
    check_preconditions(&headers, Some(version))?;
    let act = app.act(&caller, &format!("import.{verb}"), id, &job.source);
    let by = Actor::of(&caller);
    let account = caller.account();
    let job = match verb {
        "commit" => {
            let job = ImportJob { skips_wrong: job.skips_wrong || skips_wrong, ..job };
            check_committable(&job)?;
            app.noted(act, commit(&app, account, (job, version), by)).await?
        }
        "discard" => app.noted(act, discard(&app, account, (job, version), by)).await?,
        _ => app.noted(act, undo(&app, account, (job, version), by)).await?,
    };
    let (job, version) = job;
    Ok(([etag(version)], Json(job.view(&app, account).await?)).into_response())
}

/// Refuses to commit an import that does not wait, or has rows that are wrong.
pub(crate) fn check_committable(job: &ImportJob) -> HttpResult<()> {
    check_state(job, ImportState::Ready, "only one that is ready can be committed")?;
    if job.file.wrong > 0 && !job.skips_wrong {
        let detail = format!(
            "{} rows are wrong: correct them and import the file again, or leave them out with ?on_problem=skip",
            job.file.wrong
        );
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    Ok(())
}

fn check_state(job: &ImportJob, needed: ImportState, why: &str) -> HttpResult<()> {
    if job.state == needed {
        return Ok(());
    }
    Err(HttpProblem::new(ProblemKind::WrongState, format!("the import is {}: {why}", job.state.name())))
}

/// The one stroke. Stops that the file brings are noted before it, so that no crash loses one.
pub(crate) async fn commit(
    app: &App,
    account: &str,
    (job, version): (ImportJob, u64),
    by: Actor,
) -> HttpResult<(ImportJob, u64)> {
    check_committable(&job)?;
    for number in 0..job.file.stop_parts {
        opt_out(app, account, &job.id, number).await?;
    }
    let now = app.now();
    let undo_until = now.plus_s(UNDO_S);
    let decision = Some(ImportDecision { by, at: now, undo_until: Some(undo_until) });
    let job = ImportJob { state: ImportState::Committed, decision, ..job };
    step(app, account, (job, version), ImportStep::Commit { undo_until }).await
}

async fn opt_out(app: &App, account: &str, job: &str, number: u32) -> HttpResult<()> {
    let part = app.store.document(account, DocumentKind::ImportPart, &job::part_id(job, 's', number)).await?;
    let lost = || StoreError::Damaged { what: format!("the stops of import {job} are not there") };
    let stops: Vec<(u8, String)> = serde_json::from_str(&part.ok_or_else(lost)?.body).map_err(|_| lost())?;
    let stops = stops.into_iter().map(|(channel, address)| (ChannelNumber(channel), address)).collect();
    Ok(engine::Stops::of(&app.engine).opt_out(account, stops).await?)
}

pub(crate) async fn discard(
    app: &App,
    account: &str,
    (job, version): (ImportJob, u64),
    by: Actor,
) -> HttpResult<(ImportJob, u64)> {
    check_state(&job, ImportState::Ready, "only one that is ready can be discarded")?;
    let decision = Some(ImportDecision { by, at: app.now(), undo_until: None });
    let job = ImportJob { state: ImportState::Discarded, decision, ..job };
    step(app, account, (job, version), ImportStep::Discard).await
}

async fn undo(
    app: &App,
    account: &str,
    (job, version): (ImportJob, u64),
    by: Actor,
) -> HttpResult<(ImportJob, u64)> {
    check_state(&job, ImportState::Committed, "only one that was committed can be undone")?;
    let until = job.decision.as_ref().and_then(|decision| decision.undo_until);
    if until.is_none_or(|until| until <= app.now()) {
        let detail = "the 24 hours in which the import could be undone are over: import what is to be there";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    let decision = Some(ImportDecision { by, at: app.now(), undo_until: None });
    let job = ImportJob { state: ImportState::Undone, decision, ..job };
    step(app, account, (job, version), ImportStep::Undo).await
}

async fn step(
    app: &App,
    account: &str,
    (job, version): (ImportJob, u64),
    step: ImportStep,
) -> HttpResult<(ImportJob, u64)> {
    let document = job.document(account, Expected::Version(version), app.now())?;
    let version = written(app.store.step_import(job.import(), step, document).await?)?;
    Ok((job, version))
}
