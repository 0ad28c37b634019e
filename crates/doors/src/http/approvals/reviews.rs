//! Reviews of alerts that were sent alone: each is a document that another person has to answer.

use super::approvers::Approvers;
use super::deciders;
use super::notices::{sentence, tell, where_to};
use super::view;
use crate::http::alerts::view::headline;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::SignedInUser;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Query, cursor};
use crate::http::request::time_text::rfc3339;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use engine::EngineError;
use records::{Alert, AlertId, ApprovalPerson, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Document, DocumentKind, DocumentWritten, Expected, NewDocument, StoreError};

/// Documents looked through for one page of open reviews.
const SCANNED_MAX: usize = 5_000;
/// A review of an alert that was not sent alone after all is dropped after so long, in microseconds.
const DROPPED_AFTER_US: i64 = 60_000_000;
/// Reviews of which administrators are told in one go.
const DUE_AT_ONCE: usize = 100;
/// Administrators are told for so long, in seconds.
const TRIED_S: i64 = 3_600;
/// Words of a verdict.
const VERDICTS: [(&str, ReviewVerdict); 2] =
    [("justified", ReviewVerdict::Justified), ("not-justified", ReviewVerdict::NotJustified)];

/// What a reviewer finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReviewVerdict {
    Justified,
    NotJustified,
}

/// A review as it is stored; its id is the alert's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Review {
    by: ApprovalPerson,
    authors: Vec<ApprovalPerson>,
    at: Timestamp,
    reason: String,
    answer: Option<ReviewAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ReviewAnswer {
    by: ApprovalPerson,
    at: Timestamp,
    verdict: ReviewVerdict,
    note: String,
}

/// Opens the review of an alert that is about to be sent alone. It is written first, and due at once: what is
/// not sent after all is found and dropped by who tells administrators.
pub(super) async fn open(app: &App, alert: &Alert, user: &SignedInUser, reason: &str) -> HttpResult<()> {
    let now = app.now();
    let authors = alert.approval.as_ref().map(|approval| approval.authors.clone()).unwrap_or_default();
    let by = deciders::person(user);
    let review = Review { by, authors, at: now, reason: reason.to_owned(), answer: None };
    let document = document(alert.id, &review, Some(now))?;
    let kind = DocumentKind::Review;
    match app.store.put_document(&alert.account, kind, document, Expected::Absent, now).await? {
        // One of an earlier try stands there.
        DocumentWritten::Done(_) | DocumentWritten::Conflict(_) | DocumentWritten::LookupTaken => Ok(()),
    }
}

/// Removes the review of an alert that was not sent alone after all.
pub(super) async fn withdraw(app: &App, alert: &Alert) -> HttpResult<()> {
    let now = app.engine.alert(&alert.account, alert.id).await?;
    if now.approval.as_ref().is_none_or(|approval| approval.sent_alone.is_none()) {
        let id = alert.id.to_string();
        app.store.delete_document(&alert.account, DocumentKind::Review, &id, Expected::Any).await?;
    }
    Ok(())
}

fn document(id: AlertId, review: &Review, due: Option<Timestamp>) -> HttpResult<NewDocument> {
    let body = serde_json::to_string(review)
        .map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    Ok(NewDocument { id: id.to_string(), lookup: None, due, body })
}

fn read(document: &Document) -> Result<Review, String> {
    serde_json::from_str(&document.body).map_err(|error| format!("review {}: {error}", document.id))
}

/// `GET /api/v1/reviews`: those that nobody answered yet.
pub(super) async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["cursor", "limit"])?;
    let limit = query.limit()?;
    let mut after = query.cursor()?.unwrap_or_default();
    let (mut items, mut seen) = (Vec::new(), 0);
    let next = loop {
        let page = app.store.documents_after(caller.account(), DocumentKind::Review, &after, limit).await?;
        seen += page.len();
        let is_last = page.len() < limit;
        for document in page {
            after.clone_from(&document.id);
            let review = read(&document).map_err(|why| HttpProblem::new(ProblemKind::Internal, why))?;
            if review.answer.is_none() {
                items.push(shown(&document.id, &review));
                if items.len() == limit {
                    break;
                }
            }
        }
        if items.len() == limit || seen >= SCANNED_MAX {
            break Some(cursor(&after));
        }
        if is_last {
            break None;
        }
    };
    Ok(Json(json!({"items": items, "next": next})))
}

fn shown(id: &str, review: &Review) -> Value {
    let answer = review.answer.as_ref().map(|answer| {
        json!({"by": view::person(&answer.by), "at": rfc3339(answer.at), "verdict": answer.verdict, "note": answer.note})
    });
    json!({
        "alert": id,
        "by": view::person(&review.by),
        "at": rfc3339(review.at),
        "reason": review.reason,
        "answer": answer,
    })
}

/// `POST /api/v1/alerts/{id}:review`: another person's verdict.
pub(super) async fn answer(
    app: &App,
    caller: &Caller,
    (user, alert): (&SignedInUser, &Alert),
    node: JsonNode,
) -> HttpResult<Response> {
    let (verdict, note) = read_answer(node)?;
    let (kind, id) = (DocumentKind::Review, alert.id.to_string());
    let stands = app.store.document(&alert.account, kind, &id).await?;
    let is_alone = alert.approval.as_ref().is_some_and(|approval| approval.sent_alone.is_some());
    let Some(stands) = stands.filter(|_| is_alone) else {
        let detail = "this alert was not sent alone: there is nothing to review";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    };
    let review = read(&stands).map_err(|why| HttpProblem::new(ProblemKind::Internal, why))?;
    let me = deciders::person(user);
    if review.by.is_same_person(&me) || review.authors.iter().any(|author| author.is_same_person(&me)) {
        let detail = "you sent or wrote this alert, as this user or as another one of yours: another person reviews it";
        return Err(HttpProblem::new(ProblemKind::AnotherPerson, detail));
    }
    if review.answer.is_some() {
        return Err(HttpProblem::new(ProblemKind::WrongState, "this alert was reviewed already"));
    }
    let now = app.now();
    let answer = Some(ReviewAnswer { by: me, at: now, verdict, note });
    let review = Review { answer, ..review };
    let document = document(alert.id, &review, stands.due)?;
    let act = app.act(caller, "alert.review", &id, "");
    let expected = Expected::Version(stands.version);
    let writing = async {
        match app.store.put_document(&alert.account, kind, document, expected, now).await? {
            DocumentWritten::Done(_) => Ok(()),
            DocumentWritten::Conflict(_) | DocumentWritten::LookupTaken => {
                let detail = "somebody else reviewed this alert at the same moment: look at it again";
                Err(HttpProblem::new(ProblemKind::WrongState, detail))
            }
        }
    };
    app.noted(act, writing).await?;
    Ok(Json(shown(&id, &review)).into_response())
}

fn read_answer(node: JsonNode) -> HttpResult<(ReviewVerdict, String)> {
    let mut fields = Fields::default();
    let read = Object::open(node, "", &["verdict", "note"], &mut fields).and_then(|mut object| {
        let verdict = object.word("verdict", &VERDICTS, &mut fields);
        if verdict.is_none() && fields.is_empty() {
            fields.push("verdict", "is needed: justified or not-justified");
        }
        let note = object.needed_text("note", super::decisions::REASON_CHARS_MAX, &mut fields);
        Some((verdict?, note?))
    });
    read.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

/// Tells all administrators of what was sent alone, at once; what was not sent after all is dropped.
pub(super) async fn tell_administrators(app: &App) -> Result<(), EngineError> {
    let stored = |error: StoreError| EngineError::Internal(error.to_string());
    let due = app.store.due_documents(DocumentKind::Review, app.now(), DUE_AT_ONCE).await.map_err(stored)?;
    for (account, document) in due {
        let (Ok(id), Ok(review)) = (document.id.parse::<AlertId>(), read(&document)) else {
            tracing::error!(review = document.id, "a review cannot be read");
            continue;
        };
        let alert = match app.engine.alert(&account, id).await {
            Ok(alert) => Some(alert),
            Err(EngineError::NotFound) => None,
            Err(error) => return Err(error),
        };
        let sent = alert
            .filter(|alert| alert.approval.as_ref().is_some_and(|approval| approval.sent_alone.is_some()));
        let Some(alert) = sent else {
            let is_old = app.now().us_since(document.changed) >= DROPPED_AFTER_US;
            if is_old {
                let expected = Expected::Version(document.version);
                let dropped =
                    app.store.delete_document(&account, DocumentKind::Review, &document.id, expected);
                dropped.await.map_err(stored)?;
            }
            continue;
        };
        tell_of(app, &alert, &review).await?;
        let told = NewDocument { id: document.id, lookup: None, due: None, body: document.body };
        let expected = Expected::Version(document.version);
        let written = app.store.put_document(&account, DocumentKind::Review, told, expected, app.now());
        written.await.map_err(stored)?;
    }
    Ok(())
}

async fn tell_of(app: &App, alert: &Alert, review: &Review) -> Result<(), EngineError> {
    let all = Approvers::of(&app.store, &alert.account).await;
    let all = all.map_err(|error| EngineError::Internal(error.to_string()))?;
    let persons: Vec<String> = all.administrators().map(|one| one.person.clone()).collect();
    if persons.is_empty() {
        tracing::error!(alert = %alert.id, "an alert was sent alone, and no administrator is there to be told");
        return Ok(());
    }
    let text = format!(
        "{} sent an alert alone, without the approval it needs: {} Reason: {} It has to be reviewed: {}",
        review.by.name,
        sentence(&headline(&alert.request)),
        sentence(&review.reason),
        where_to(app, alert),
    );
    let until = app.now().plus_s(TRIED_S);
    match tell(app, alert, (&persons, &text), (format!("alone {}", alert.id), until)).await {
        Err(EngineError::Unprocessable(problems)) => {
            let why = EngineError::Unprocessable(problems);
            tracing::error!(alert = %alert.id, %why, "administrators cannot be told that an alert was sent alone");
            Ok(())
        }
        told => told,
    }
}
