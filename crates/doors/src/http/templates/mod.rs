//! Templates: alerts that are prepared to be sent again and again, each perhaps with its all-clear.
//!
//! `POST`, `GET /api/v1/templates` · `GET`, `PUT`, `DELETE /api/v1/templates/{id}` · `POST
//! /api/v1/templates/{id}:draft`.

#[cfg(test)]
mod tests;

use crate::http::alerts::warnings;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::{Author, space_in, space_of};
use crate::http::drafts;
use crate::http::drafts::body::meaning;
use crate::http::drafts::record::DraftRecord;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::recipients::encoded;
use crate::http::request::fields::{Object, noted};
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query, check_preconditions, etag};
use crate::http::request::time_text::rfc3339;
use crate::http::versioned::{self, Versioned, check_id};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use engine::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{DocumentKind, Expected};

/// Templates of one account.
const TEMPLATES_MAX: u64 = 1_000;
/// Characters of a name or a category.
const NAME_CHARS_MAX: usize = 200;
/// Characters of a description.
const DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Categories of one template.
const CATEGORIES_MAX: usize = 20;
const MEMBERS: [&str; 6] = ["id", "name", "description", "categories", "request", "all_clear"];
const VERBS: [&str; 1] = ["draft"];

/// A template as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TemplateRecord {
    pub name: String,
    pub description: String,
    pub categories: Vec<String>,
    /// The alert's request, without a mode: a template is of both spaces.
    pub request: Value,
    /// The request of its all-clear.
    pub all_clear: Option<Value>,
    pub changed_by: Author,
}

/// Which of its alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplatePart {
    Alert,
    AllClear,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/templates", get(list).post(create))
        .route("/api/v1/templates/{id}", get(show).put(replace).delete(remove).post(draft))
}

/// A template of an account.
pub(crate) async fn find(
    app: &App,
    account: &str,
    id: &str,
) -> HttpResult<Option<Versioned<TemplateRecord>>> {
    versioned::find(&app.store, account, DocumentKind::Template, id).await
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let (id, record) = read(app.json(&headers, body).await?, None, &caller)?;
    put(&app, &caller, &headers, (id, record)).await
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let (id, record) = read(app.json(&headers, body).await?, Some(&id), &caller)?;
    put(&app, &caller, &headers, (id, record)).await
}

/// Reads a template. Without an id in path or body it gets one.
fn read(node: JsonNode, id: Option<&str>, caller: &Caller) -> HttpResult<(String, TemplateRecord)> {
    let mut fields = Fields::default();
    let record = Object::open(node, "", &MEMBERS, &mut fields).map(|mut object| {
        let own = object.text("id", versioned::ID_CHARS_MAX, &mut fields);
        if let (Some(own), Some(id)) = (&own, id)
            && own != id
        {
            fields.push("id", "is not the id in the path");
        }
        let id = id.map(str::to_owned).or(own).unwrap_or_else(versioned::new_id);
        noted(check_id(&id), || "id".to_owned(), &mut fields);
        let name = object.needed_text("name", NAME_CHARS_MAX, &mut fields);
        let record = TemplateRecord {
            name: name.unwrap_or_default(),
            description: object.text("description", DESCRIPTION_CHARS_MAX, &mut fields).unwrap_or_default(),
            categories: object.texts("categories", CATEGORIES_MAX, NAME_CHARS_MAX, &mut fields),
            request: request(&mut object, "request", &mut fields).unwrap_or_else(|| json!({})),
            all_clear: request(&mut object, "all_clear", &mut fields),
            changed_by: Author::of(caller),
        };
        (id, record)
    });
    record
        .filter(|_| fields.is_empty())
        .ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

/// A request that may lack members, without a mode.
fn request(object: &mut Object, name: &str, fields: &mut Fields) -> Option<Value> {
    let path = object.path(name);
    let part = drafts::body::read(object.take(name)?, &path, fields)?;
    if part.mode.is_some() {
        let reason = "is of no template: the draft or schedule that is made from it has a space";
        fields.push(format!("{path}.mode"), reason);
    }
    Some(part.request)
}

async fn put(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    (id, record): (String, TemplateRecord),
) -> HttpResult<Response> {
    let account = caller.account();
    let _held = app.hold(account, &format!("template {id}")).await;
    let found = find(app, account, &id).await?.map(|template| template.version);
    check_preconditions(headers, found)?;
    if found.is_none() {
        versioned::check_count(app, account, DocumentKind::Template, (TEMPLATES_MAX, "templates")).await?;
    }
    let document = versioned::written_out(&id, &record)?;
    let expected = found.map_or(Expected::Absent, Expected::Version);
    let putting = versioned::put(app, account, DocumentKind::Template, document, expected);
    let version = versioned::done(app.noted(app.act(caller, "template.put", &id, ""), putting).await?)?;
    let template = Versioned { id, version, changed: app.now(), body: record };
    let mut response = answer(app, &template).await?;
    if found.is_none() {
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(location) = format!("/api/v1/templates/{}", encoded(&template.id)).parse() {
            response.headers_mut().insert(LOCATION, location);
        }
    }
    Ok(response)
}

fn missing() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "no such template")
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    answer(&app, &find(&app, caller.account(), &id).await?.ok_or_else(missing)?).await
}

/// The template, with what its alerts lack and what is odd about their texts.
async fn answer(app: &App, template: &Versioned<TemplateRecord>) -> HttpResult<Response> {
    let record = &template.body;
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    for (name, request) in [("request", Some(&record.request)), ("all_clear", record.all_clear.as_ref())] {
        let Some(request) = request else { continue };
        let (read, fields) = meaning(app, request.clone(), app.now()).await?;
        problems.extend(fields.listed().iter().map(|problem| Problem {
            field: format!("{name}.{}", problem.field),
            reason: problem.reason.clone(),
        }));
        let found = read.as_ref().map(warnings::of_texts).unwrap_or_default();
        warnings.extend(found.into_iter().map(|warning| {
            let field = format!("{name}.{}", warning.field);
            warnings::AlertWarning { field, ..warning }
        }));
    }
    let mut view = summary(template);
    view["request"] = record.request.clone();
    view["all_clear"] = record.all_clear.clone().unwrap_or(Value::Null);
    view["problems"] = json!(problems);
    view["warnings"] = warnings::view(&warnings);
    Ok(([etag(template.version)], Json(view)).into_response())
}

fn summary(template: &Versioned<TemplateRecord>) -> Value {
    let record = &template.body;
    json!({
        "id": template.id,
        "version": template.version,
        "name": record.name,
        "description": record.description,
        "categories": record.categories,
        "has_all_clear": record.all_clear.is_some(),
        "changed": rfc3339(template.changed),
        "changed_by": record.changed_by.view(),
    })
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["category", "cursor", "limit"])?;
    let category = query.one("category");
    let shown = |template: Versioned<TemplateRecord>| {
        let is_wanted =
            category.is_none_or(|wanted| template.body.categories.iter().any(|one| one == wanted));
        is_wanted.then(|| summary(&template))
    };
    versioned::page(&app.store, caller.account(), DocumentKind::Template, &query, shown).await
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    let _held = app.hold(caller.account(), &format!("template {id}")).await;
    let found = find(&app, caller.account(), &id).await?.ok_or_else(missing)?;
    check_preconditions(&headers, Some(found.version))?;
    let expected = Expected::Version(found.version);
    let deleting = app.store.delete_document(caller.account(), DocumentKind::Template, &id, expected);
    if !app.noted(app.act(&caller, "template.delete", &id, ""), deleting).await? {
        return Err(missing());
    }
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /api/v1/templates/{id}:draft`: a draft of the caller's with the template's alert, or its all-clear.
async fn draft(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured(path): Captured,
    uri: Uri,
) -> HttpResult<Response> {
    let (caller, id, _) = versioned::id_and_verb(caller, &path, &VERBS)?;
    let query = Query::read(&uri, &["part", "space"])?;
    let part =
        query.word("part", &[("alert", TemplatePart::Alert), ("all_clear", TemplatePart::AllClear)])?;
    let space = space_of(&caller, space_in(&query)?)?;
    let template = find(&app, caller.account(), id).await?.ok_or_else(missing)?.body;
    let request = match part {
        TemplatePart::Alert => template.request,
        TemplatePart::AllClear => template.all_clear.ok_or_else(|| {
            HttpProblem::new(
                ProblemKind::WrongState,
                "the template has no all-clear: PUT it with all_clear first",
            )
        })?,
    };
    drafts::made(&app, &caller, DraftRecord::new(space, Author::of(&caller), request, app.now())).await
}
