//! Submission of a draft: one alert is made of a version, however often it is submitted and whatever crashes
//! between. A return by an approver opens the draft again.
//!
//! The version that is submitted is noted in the draft before the alert is accepted, under a key made of the
//! draft's id and that version. Until the alert is noted too, the draft takes no change: a repetition finds
//! the alert by the key, or makes it.

use crate::http::alerts::{self, Acceptance};
use crate::http::app::App;
use crate::http::approvals::deciders;
use crate::http::auth::Caller;
use crate::http::drafts::body::with_mode;
use crate::http::drafts::record::{DraftRecord, Returned, SubmittedAs, Submitting};
use crate::http::drafts::saving::conflict;
use crate::http::drafts::seen;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::json;
use crate::http::request::query::check_preconditions;
use crate::http::request::time_text::rfc3339;
use crate::http::versioned::{self, Versioned};
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::Submitted;
use records::{AlertId, AlertRequest, ApprovalPerson, Timestamp};
use serde_json::json;
use store::{
    Document, DocumentKind, DocumentWritten, Expected, IdempotencyKey, KeyOwner, NewDocument, SharedStore,
    StoreError,
};

/// A submitted draft is removed after so long, seconds: 41 days, when its alert cannot wait for anybody any
/// more.
const SUBMITTED_KEPT_S: i64 = 41 * 86_400;
/// A submission that was cut off is finished within so long, seconds: less than a key is kept.
const RESUMED_WITHIN_S: i64 = 23 * 3_600;
/// A return tries again so often when somebody changes the draft meanwhile.
const REOPEN_TRIES: usize = 5;

/// `POST /api/v1/drafts/{id}:submit`.
pub(super) async fn submit(
    app: &App,
    caller: &Caller,
    id: &str,
    headers: &HeaderMap,
) -> HttpResult<Response> {
    let _held = app.hold(caller.account(), &format!("draft {id}")).await;
    let draft = seen(app, caller, id).await?;
    check_version(app, headers, &draft).await?;
    if let Some(done) = &draft.body.submitted {
        return repeated(app, caller, done).await;
    }
    let is_resumed = draft.body.submitting.is_some();
    let begun = draft.body.submitting.clone();
    let begun = begun.unwrap_or(Submitting { version: draft.version, at: app.now() });
    if app.now() > begun.at.plus_s(RESUMED_WITHIN_S) {
        return Err(undecided(&begun));
    }
    let request = request_of(app, caller, &draft.body, begun.at).await;
    let (draft, accepted) = match request {
        Ok(request) if is_resumed => {
            let accepted = accept(app, caller, &draft, &begun, request).await;
            (draft, accepted)
        }
        Ok(request) => {
            app.engine.would_take(caller.account(), &request, &deciders::origin(caller)).await?;
            let draft = begin(app, caller, draft, &begun).await?;
            let accepted = accept(app, caller, &draft, &begun, request).await;
            (draft, accepted)
        }
        Err(problem) => (draft, Err(problem)),
    };
    match accepted {
        Ok(submitted) => {
            finish(app, caller, draft, &begun, &submitted).await;
            Ok(answer(&submitted, json!(submitted.problems)))
        }
        Err(problem) if problem.status().is_server_error() => Err(problem),
        // An earlier attempt may have been accepted, when it could be.
        Err(_) if is_resumed => Err(undecided(&begun)),
        Err(problem) => {
            undo(app, caller, draft).await;
            Err(problem)
        }
    }
}

/// If-Match names the current version, or the one that was or is being submitted.
async fn check_version(app: &App, headers: &HeaderMap, draft: &Versioned<DraftRecord>) -> HttpResult<()> {
    let of_submission = draft.body.submitted.as_ref().map(|done| done.version);
    let of_attempt = draft.body.submitting.as_ref().map(|begun| begun.version);
    let known = [of_submission, of_attempt, Some(draft.version)];
    let mut refusal = None;
    for version in known.into_iter().flatten() {
        match check_preconditions(headers, Some(version)) {
            Ok(()) => return Ok(()),
            Err(problem) => refusal = Some(problem),
        }
    }
    match refusal {
        Some(problem) => Err(conflict(app, problem, draft, None).await),
        None => Ok(()),
    }
}

/// The alert's request, with what is wrong with it as for an alert that is submitted.
async fn request_of(
    app: &App,
    caller: &Caller,
    record: &DraftRecord,
    at: Timestamp,
) -> HttpResult<AlertRequest> {
    let node = json::tree_of(&with_mode(&record.request, record.space))?;
    alerts::read_request(app, caller, node, at).await
}

async fn begin(
    app: &App,
    caller: &Caller,
    mut draft: Versioned<DraftRecord>,
    begun: &Submitting,
) -> HttpResult<Versioned<DraftRecord>> {
    draft.body.submitting = Some(begun.clone());
    let document = versioned::written_out(&draft.id, &draft.body)?;
    let expected = Expected::Version(draft.version);
    let putting = versioned::put(app, caller.account(), DocumentKind::Draft, document, expected);
    let act = app.act(caller, "draft.submit", &draft.id, &format!("version {}", begun.version));
    draft.version = versioned::done(app.noted(act, putting).await?)?;
    Ok(draft)
}

async fn accept(
    app: &App,
    caller: &Caller,
    draft: &Versioned<DraftRecord>,
    begun: &Submitting,
    request: AlertRequest,
) -> HttpResult<Submitted> {
    let key = format!("draft {} {}", draft.id, begun.version);
    // The version does not change any more: the key says all.
    let body_hash = crate::http::auth::hash(&key);
    let how = Acceptance {
        origin: deciders::origin(caller),
        authors: writers(app, caller, draft).await?,
        key: Some(IdempotencyKey { key, body_hash, of: KeyOwner::Account }),
        wait_solved: false,
        detail: format!("draft {} version {}", draft.id, begun.version),
    };
    alerts::accept(app, caller, request, how).await
}

/// The people who wrote a draft, who submits it first: none of them is the second person that a rule asks
/// for.
async fn writers(
    app: &App,
    caller: &Caller,
    draft: &Versioned<DraftRecord>,
) -> HttpResult<Vec<ApprovalPerson>> {
    let mut people = deciders::authors(caller);
    for writer in &draft.body.writers {
        if people.iter().any(|person| person.user == writer.id) {
            continue;
        }
        people.extend(writer.as_person(app, caller.account()).await?);
    }
    Ok(people)
}

/// Notes the alert in the draft. Where that fails the draft stays as it is, and a repetition notes it.
async fn finish(
    app: &App,
    caller: &Caller,
    draft: Versioned<DraftRecord>,
    begun: &Submitting,
    submitted: &Submitted,
) {
    let (alert, now) = (submitted.alert.id, app.now());
    let mut record = draft.body;
    record.submitting = None;
    record.returned = None;
    record.submitted = Some(SubmittedAs { alert, version: begun.version, at: now });
    let noted = async {
        let document = NewDocument {
            lookup: Some(alert.to_string()),
            due: Some(now.plus_s(SUBMITTED_KEPT_S)),
            ..versioned::written_out(&draft.id, &record)?
        };
        let expected = Expected::Version(draft.version);
        let put = versioned::put(app, caller.account(), DocumentKind::Draft, document, expected).await?;
        versioned::done(put)
    };
    if let Err(problem) = noted.await {
        let (draft, why) = (draft.id, problem.detail());
        tracing::warn!(draft, %alert, why, "an alert was made of a draft, and the draft does not name it yet");
    }
}

/// The draft is open again: nothing was accepted.
async fn undo(app: &App, caller: &Caller, mut draft: Versioned<DraftRecord>) {
    if draft.body.submitting.take().is_none() {
        return;
    }
    let undone = async {
        let document = versioned::written_out(&draft.id, &draft.body)?;
        let expected = Expected::Version(draft.version);
        versioned::put(app, caller.account(), DocumentKind::Draft, document, expected).await
    };
    if let Err(problem) = undone.await {
        tracing::warn!(draft = draft.id, why = problem.detail(), "a refused draft is not open again yet");
    }
}

/// The answer of the submission that made the alert.
async fn repeated(app: &App, caller: &Caller, done: &SubmittedAs) -> HttpResult<Response> {
    let alert = app.engine.alert(caller.account(), done.alert).await?;
    let submitted = Submitted { alert, fresh: false, endpoints: None, problems: Vec::new() };
    Ok(answer(&submitted, json!([])))
}

fn answer(submitted: &Submitted, problems: serde_json::Value) -> Response {
    let id = submitted.alert.id.to_string();
    let view = json!({"id": id, "state": submitted.alert.state.name(), "problems": problems});
    let mut response = (StatusCode::ACCEPTED, Json(view)).into_response();
    if !submitted.fresh {
        response.headers_mut().insert(alerts::REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

fn undecided(begun: &Submitting) -> HttpProblem {
    let detail = format!(
        "its submission at {} was cut off, and whether an alert was made of it is not known here: look in GET \
         /api/v1/alerts, and POST :copy to go on with another draft",
        rfc3339(begun.at)
    );
    HttpProblem::new(ProblemKind::WrongState, detail)
}

/// Refuses to change a draft that is no longer open.
pub(super) fn check_open(record: &DraftRecord) -> HttpResult<()> {
    check_not_under_way(record)?;
    let Some(done) = &record.submitted else { return Ok(()) };
    let detail = format!(
        "it was submitted as alert {}: POST :copy makes another draft of it, and it is open again when an approver \
         returns it",
        done.alert
    );
    Err(HttpProblem::new(ProblemKind::WrongState, detail))
}

/// Refuses to touch a draft of which an alert may be made at this moment.
pub(super) fn check_not_under_way(record: &DraftRecord) -> HttpResult<()> {
    let Some(begun) = &record.submitting else { return Ok(()) };
    let detail = format!(
        "its version {} is being submitted, or was when the server stopped: POST :submit finishes that",
        begun.version
    );
    Err(HttpProblem::new(ProblemKind::WrongState, detail))
}

/// Opens the draft of an alert again that an approver returned; gives its id. Nothing: the alert was made of
/// no draft.
///
/// # Errors
/// The store's; a draft that others change again and again.
pub(crate) async fn reopen(
    store: &SharedStore,
    account: &str,
    alert: AlertId,
    reason: &str,
    by: &str,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    for _ in 0..REOPEN_TRIES {
        let found = store.document_by(account, DocumentKind::Draft, &alert.to_string()).await?;
        let Some(Document { id, version, body, .. }) = found else { return Ok(None) };
        let damaged = |error: serde_json::Error| StoreError::Damaged { what: format!("draft {id}: {error}") };
        let mut record: DraftRecord = serde_json::from_str(&body).map_err(damaged)?;
        record.submitted = None;
        let (by, reason) = (by.to_owned(), reason.to_owned());
        record.returned = Some(Returned { alert, by, reason, at: now });
        let body = serde_json::to_string(&record).map_err(damaged)?;
        let document = NewDocument { id: id.clone(), lookup: None, due: None, body };
        let expected = Expected::Version(version);
        if let DocumentWritten::Done(_) =
            store.put_document(account, DocumentKind::Draft, document, expected, now).await?
        {
            return Ok(Some(id));
        }
    }
    Err(StoreError::Conflict { why: format!("the draft of alert {alert} was changed again and again") })
}

/// Removes submitted drafts past their time, of all accounts.
pub(crate) async fn remove_past(app: &App) -> HttpResult<()> {
    for (account, draft) in app.store.due_documents(DocumentKind::Draft, app.now(), 10).await? {
        super::forget_versions(app, &account, &draft.id).await?;
        let expected = Expected::Version(draft.version);
        app.store.delete_document(&account, DocumentKind::Draft, &draft.id, expected).await?;
    }
    Ok(())
}
