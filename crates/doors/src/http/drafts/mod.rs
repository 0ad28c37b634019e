//! Drafts of alerts: written, saved again and again, submitted, copied.
//!
//! `POST`, `GET /api/v1/drafts` · `GET`, `PUT`, `PATCH`, `DELETE /api/v1/drafts/{id}` · `POST
//! /api/v1/drafts/{id}:submit`, `:copy` · `GET …/{id}/versions`, `…/versions/{version}`. A request is read by
//! [`body`], kept as [`record`], saved by [`saving`], made an alert by [`submission`], shown by [`view`].

pub(crate) mod body;
pub(crate) mod record;
mod saving;
pub(crate) mod submission;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use self::record::{DraftRecord, DraftVersionRecord, KeptVersion, version_key};
use crate::http::alerts::view::mode;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::{Author, check_space, space_in, space_of};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query, check_preconditions};
use crate::http::request::time_text::rfc3339;
use crate::http::versioned::{self, Versioned};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Json, Router};
use records::Mode;
use serde_json::{Value, json};
use store::{DocumentKind, Expected};

/// Drafts of one account, submitted ones of the last weeks among them.
const DRAFTS_MAX: u64 = 1_000;
/// Documents of versions removed at once with their draft.
const VERSIONS_AT_ONCE: usize = 4;
const VERBS: [&str; 2] = ["submit", "copy"];
/// Drafts that a list shows: those of this state; nothing: all.
const STATES: [(&str, Option<&str>); 4] = [
    ("open", Some("open")),
    ("submitting", Some("submitting")),
    ("submitted", Some("submitted")),
    ("all", None),
];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/drafts", get(list).post(create))
        .route(
            "/api/v1/drafts/{id}",
            get(show).put(saving::replace).patch(saving::change).delete(remove).post(verb),
        )
        .route("/api/v1/drafts/{id}/versions", get(versions))
        .route("/api/v1/drafts/{id}/versions/{version}", get(version))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let part = body::read_body(app.json(&headers, body).await?)?;
    let space = space_of(&caller, part.mode)?;
    made(&app, &caller, DraftRecord::new(space, Author::of(&caller), part.request, app.now())).await
}

/// Stores a new draft, and answers with it.
pub(crate) async fn made(app: &App, caller: &Caller, record: DraftRecord) -> HttpResult<Response> {
    let account = caller.account();
    let _held = app.hold(account, "number of drafts").await;
    versioned::check_count(app, account, DocumentKind::Draft, (DRAFTS_MAX, "drafts")).await?;
    let id = versioned::new_id();
    let document = versioned::written_out(&id, &record)?;
    let putting = versioned::put(app, account, DocumentKind::Draft, document, Expected::Absent);
    let act = app.act(caller, "draft.create", &id, mode(record.space));
    let version = versioned::done(app.noted(act, putting).await?)?;
    let draft = Versioned { id, version, changed: app.now(), body: record };
    let mut response = view::answer(app, &draft).await?;
    *response.status_mut() = StatusCode::CREATED;
    if let Ok(location) = format!("/api/v1/drafts/{}", draft.id).parse() {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// A draft that the caller may see, in the space of the request.
pub(crate) async fn seen(app: &App, caller: &Caller, id: &str) -> HttpResult<Versioned<DraftRecord>> {
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such draft");
    let found = versioned::find(&app.store, caller.account(), DocumentKind::Draft, id).await?;
    let draft: Versioned<DraftRecord> = found.ok_or_else(missing)?;
    if caller.only_own() && draft.body.owner.id != caller.token.id {
        return Err(missing());
    }
    check_space(caller, draft.body.space)?;
    Ok(draft)
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["state", "space", "cursor", "limit"])?;
    let wanted = query.word("state", &STATES)?;
    let space = match &caller.user {
        Some(user) => Some(user.space),
        None => space_in(&query)?,
    };
    versioned::page(
        &app.store,
        caller.account(),
        DocumentKind::Draft,
        &query,
        |draft: Versioned<DraftRecord>| {
            let is_seen = !caller.only_own() || draft.body.owner.id == caller.token.id;
            let is_of_space = space.is_none_or(|space| space == draft.body.space);
            let is_wanted = wanted.is_none_or(|state| state == view::state(&draft.body));
            (is_seen && is_of_space && is_wanted).then(|| view::summary(&draft))
        },
    )
    .await
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    view::answer(&app, &seen(&app, &caller, &id).await?).await
}

async fn versions(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Json<Value>> {
    let draft = seen(&app, &caller, &id).await?;
    let by = draft.body.changed_by.clone();
    let current = KeptVersion { version: draft.version, changed: draft.changed, by };
    let newest_first = std::iter::once(&current).chain(draft.body.kept.iter().rev());
    Ok(Json(json!({"items": newest_first.map(view::version).collect::<Vec<_>>(), "next": null})))
}

async fn version(
    State(app): State<App>,
    caller: Caller,
    Captured((id, version)): Captured<(String, String)>,
) -> HttpResult<Json<Value>> {
    let draft = seen(&app, &caller, &id).await?;
    let missing = || {
        let detail = format!("version {version} of the draft is not kept: …/versions lists those that are");
        HttpProblem::new(ProblemKind::NotFound, detail)
    };
    let number: u64 = version.parse().map_err(|_| missing())?;
    let record = match number == draft.version {
        true => DraftVersionRecord {
            changed: draft.changed,
            by: draft.body.changed_by,
            request: draft.body.request,
        },
        false => {
            let key = version_key(&id, number);
            let found =
                versioned::find(&app.store, caller.account(), DocumentKind::DraftVersion, &key).await?;
            found.ok_or_else(missing)?.body
        }
    };
    Ok(Json(json!({
        "version": number,
        "changed": rfc3339(record.changed),
        "by": record.by.view(),
        "request": body::with_mode(&record.request, draft.body.space),
    })))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let account = caller.account();
    let _held = app.hold(account, &format!("draft {id}")).await;
    let draft = seen(&app, &caller, &id).await?;
    check_preconditions(&headers, Some(draft.version))?;
    submission::check_not_under_way(&draft.body)?;
    let deleting = async {
        forget_versions(&app, account, &id).await?;
        let expected = Expected::Version(draft.version);
        HttpResult::Ok(app.store.delete_document(account, DocumentKind::Draft, &id, expected).await?)
    };
    if !app.noted(app.act(&caller, "draft.delete", &id, ""), deleting).await? {
        return Err(HttpProblem::new(
            ProblemKind::VersionChanged,
            "it was changed at the same moment: read it again before you delete it",
        ));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Removes what is kept of earlier versions.
pub(crate) async fn forget_versions(app: &App, account: &str, id: &str) -> HttpResult<()> {
    let prefix = format!("{id}/");
    loop {
        let kind = DocumentKind::DraftVersion;
        let slice = app.store.documents_after(account, kind, &prefix, VERSIONS_AT_ONCE).await?;
        let own = slice.iter().filter(|version| version.id.starts_with(&prefix));
        let mut removed = 0;
        for version in own {
            app.store.delete_document(account, kind, &version.id, Expected::Any).await?;
            removed += 1;
        }
        if removed < VERSIONS_AT_ONCE {
            return Ok(());
        }
    }
}

/// `POST /api/v1/drafts/{id}:verb`.
async fn verb(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(path): Captured,
    uri: Uri,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let (caller, id, verb) = versioned::id_and_verb(caller, &path, &VERBS)?;
    if verb == "submit" {
        Query::read(&uri, &[])?;
        return submission::submit(&app, &caller, id, &headers).await;
    }
    let space = space_in(&Query::read(&uri, &["space"])?)?;
    copy(&app, &caller, id, space).await
}

/// A new draft of the caller's with the same request, perhaps in the other space.
async fn copy(app: &App, caller: &Caller, id: &str, space: Option<Mode>) -> HttpResult<Response> {
    let draft = seen(app, caller, id).await?.body;
    let space = space.unwrap_or(draft.space);
    if caller.user.as_ref().is_some_and(|user| !user.scope.spaces.contains(&space)) {
        let detail = format!("you may not write in the {} space: an administrator can allow it", mode(space));
        return Err(HttpProblem::new(ProblemKind::WrongRole, detail));
    }
    made(app, caller, DraftRecord::new(space, Author::of(caller), draft.request, app.now())).await
}
