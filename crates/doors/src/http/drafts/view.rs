//! A draft as clients read it.

use crate::http::alerts::{view, warnings};
use crate::http::app::App;
use crate::http::drafts::body::{meaning, with_mode};
use crate::http::drafts::record::{DraftRecord, KeptVersion};
use crate::http::problem::HttpResult;
use crate::http::request::query::etag;
use crate::http::request::time_text::rfc3339;
use crate::http::versioned::Versioned;
use axum::Json;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Characters of a text that a list shows.
const HEADLINE_CHARS: usize = 80;

/// The draft with its version in the headers.
pub(crate) async fn answer(app: &App, draft: &Versioned<DraftRecord>) -> HttpResult<Response> {
    Ok(([etag(draft.version)], Json(whole(app, draft).await?)).into_response())
}

/// The whole draft, with what it lacks and what is odd about its texts.
pub(crate) async fn whole(app: &App, draft: &Versioned<DraftRecord>) -> HttpResult<Value> {
    let record = &draft.body;
    let request = with_mode(&record.request, record.space);
    let (read, problems) = meaning(app, request.clone(), app.now()).await?;
    let warnings = read.as_ref().map(warnings::of_texts).unwrap_or_default();
    let mut out = head(draft);
    out["created"] = rfc3339(record.created).into();
    out["request"] = request;
    out["problems"] = json!(problems.listed());
    out["warnings"] = warnings::view(&warnings);
    out["returned"] = record.returned.as_ref().map_or(Value::Null, |returned| {
        json!({
            "alert": returned.alert.to_string(),
            "by": returned.by,
            "reason": returned.reason,
            "at": rfc3339(returned.at),
        })
    });
    Ok(out)
}

/// What a list shows.
pub(crate) fn summary(draft: &Versioned<DraftRecord>) -> Value {
    let mut out = head(draft);
    out["headline"] = headline(&draft.body.request).into();
    out
}

fn head(draft: &Versioned<DraftRecord>) -> Value {
    let record = &draft.body;
    json!({
        "id": draft.id,
        "version": draft.version,
        "space": view::mode(record.space),
        "state": state(record),
        "owner": record.owner.view(),
        "changed": rfc3339(draft.changed),
        "changed_by": record.changed_by.view(),
        "submitted": record.submitted.as_ref().map_or(Value::Null, |done| {
            json!({"alert": done.alert.to_string(), "version": done.version, "at": rfc3339(done.at)})
        }),
    })
}

/// `open`, `submitting`, `submitted`.
pub(crate) fn state(record: &DraftRecord) -> &'static str {
    match (&record.submitted, &record.submitting) {
        (Some(_), _) => "submitted",
        (None, Some(_)) => "submitting",
        (None, None) => "open",
    }
}

fn headline(request: &Value) -> String {
    let text = |name: &str| request[name].as_str().filter(|text| !text.is_empty());
    let found = text("headline").or_else(|| text("text")).unwrap_or_default();
    engine::without_values(found).chars().take(HEADLINE_CHARS).collect()
}

/// A version in the list of versions.
pub(crate) fn version(kept: &KeptVersion) -> Value {
    json!({"version": kept.version, "changed": rfc3339(kept.changed), "by": kept.by.view()})
}
