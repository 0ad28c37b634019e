//! Saves of a draft: under a version, with the earlier one kept where it is worth it, and conflicts told with
//! both versions.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::Author;
use crate::http::drafts::record::{DraftRecord, DraftVersionRecord, KeptVersion, version_key};
use crate::http::drafts::{body, seen, submission, view};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::json::{self, JsonNode};
use crate::http::request::query::{Captured, check_preconditions};
use crate::http::versioned::{self, Versioned, WriteResult};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use records::Mode;
use serde_json::{Value, json};
use store::{DocumentKind, Expected};

/// `PUT /api/v1/drafts/{id}`.
pub(super) async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let part = body::read_body(app.json(&headers, body).await?)?;
    let _held = app.hold(caller.account(), &format!("draft {id}")).await;
    let draft = seen(&app, &caller, &id).await?;
    check_mode(&draft.body, part.mode)?;
    save(&app, &caller, &headers, draft, part.request).await
}

/// `PATCH /api/v1/drafts/{id}`: a JSON merge patch (RFC 7396) of the request.
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let patch = app.json_patch(&headers, body).await?;
    if !matches!(patch, JsonNode::Object(_)) {
        let reason = "is no object; a JSON merge patch is needed";
        return Err(HttpProblem::field(ProblemKind::InvalidFields, "body", reason));
    }
    let _held = app.hold(caller.account(), &format!("draft {id}")).await;
    let draft = seen(&app, &caller, &id).await?;
    let mut node = json::tree_of(&draft.body.request)?;
    node.merge(patch);
    let part = body::read_body(node)?;
    check_mode(&draft.body, part.mode)?;
    save(&app, &caller, &headers, draft, part.request).await
}

fn check_mode(record: &DraftRecord, mode: Option<Mode>) -> HttpResult<()> {
    if mode.is_none_or(|mode| mode == record.space) {
        return Ok(());
    }
    let mut fields = Fields::default();
    let other = if record.space == Mode::Live { "drill" } else { "live" };
    let reason = format!("is not the draft's space: POST :copy?space={other} makes a draft in the other one");
    fields.push("mode", reason);
    Err(HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

async fn save(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    draft: Versioned<DraftRecord>,
    request: Value,
) -> HttpResult<Response> {
    if let Err(problem) = check_preconditions(headers, Some(draft.version)) {
        return Err(conflict(app, problem, &draft, Some(&request)).await);
    }
    submission::check_open(&draft.body)?;
    if draft.body.request == request {
        return view::answer(app, &draft).await;
    }
    let (account, id, author) = (caller.account().to_owned(), draft.id.clone(), Author::of(caller));
    let (mut record, now) = (draft.body.clone(), app.now());
    let forgotten = if draft.body.is_worth_keeping(draft.changed, &author) {
        keep(app, &account, &draft).await?;
        let (version, changed, by) = (draft.version, draft.changed, draft.body.changed_by.clone());
        record.keep(KeptVersion { version, changed, by }, now)
    } else {
        None
    };
    record.request = request;
    record.written_by(author).map_err(|detail| HttpProblem::new(ProblemKind::WrongState, detail))?;
    let document = versioned::written_out(&id, &record)?;
    let expected = Expected::Version(draft.version);
    let version = match versioned::put(app, &account, DocumentKind::Draft, document, expected).await? {
        WriteResult::Done(version) => version,
        WriteResult::Changed => {
            let now_there = seen(app, caller, &id).await?;
            let detail = "another process saved it at the same moment";
            let problem = HttpProblem::new(ProblemKind::VersionChanged, detail);
            return Err(conflict(app, problem, &now_there, Some(&record.request)).await);
        }
    };
    if let Some(forgotten) = forgotten {
        let key = version_key(&id, forgotten);
        app.store.delete_document(&account, DocumentKind::DraftVersion, &key, Expected::Any).await?;
    }
    view::answer(app, &Versioned { id, version, changed: now, body: record }).await
}

/// Keeps the version that stands. It is there before the draft names it: a crash between leaves a document
/// that goes with the draft.
async fn keep(app: &App, account: &str, draft: &Versioned<DraftRecord>) -> HttpResult<()> {
    let body = DraftVersionRecord {
        changed: draft.changed,
        by: draft.body.changed_by.clone(),
        request: draft.body.request.clone(),
    };
    let document = versioned::written_out(&version_key(&draft.id, draft.version), &body)?;
    versioned::put(app, account, DocumentKind::DraftVersion, document, Expected::Any).await.map(|_| ())
}

/// A refusal of a version that has changed, with whose change it was and both versions.
pub(super) async fn conflict(
    app: &App,
    problem: HttpProblem,
    current: &Versioned<DraftRecord>,
    yours: Option<&Value>,
) -> HttpProblem {
    if problem.status() != StatusCode::PRECONDITION_FAILED {
        return problem;
    }
    match view::whole(app, current).await {
        Ok(view) => {
            let mut members = json!({"changed_by": current.body.changed_by.view(), "current": view});
            if let Some(yours) = yours {
                members["yours"] = body::with_mode(yours, current.body.space);
            }
            problem.with_members(members)
        }
        Err(error) => error,
    }
}
