//! Answers of an operation: those of its row, and the problems that follow from what it needs and takes.

use super::{media, reference};
use crate::http::routes::{Gives, Operation, RequiredRole, Takes, Versions};
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Pages and lines for people.
const HTML: &str = "text/html";
const PROBLEM: &str = "application/problem+json";

/// Every answer, by its status.
pub(super) fn answers(row: &Operation) -> Value {
    let mut out = Map::new();
    for status in problems(row) {
        out.insert(status.to_string(), problem(row, status));
    }
    for (status, gives) in [(row.status, row.gives)].iter().chain(row.also) {
        out.insert(status.to_string(), given(row, *status, *gives));
    }
    Value::Object(out)
}

/// Statuses of problem documents. 405 is for the other methods of the path: a description has no other place
/// for it; 400 also for a request that is none of HTTP.
fn problems(row: &Operation) -> BTreeSet<u16> {
    let mut out: BTreeSet<u16> = row.refuses.iter().copied().chain([400, 405]).collect();
    if row.path.contains('{') {
        out.insert(404);
    }
    if row.need != RequiredRole::Nothing {
        out.extend([401, 403, 429, 500, 503]);
        if row.method != "GET" {
            out.insert(507);
        }
    }
    match row.takes {
        Takes::Nothing => {}
        // Platforms are answered as Kannel answers them.
        Takes::Media(_) if row.path.starts_with("/cgi-bin/") => {}
        Takes::Media(_) => out.extend([408, 413, 415]),
        Takes::Json(_) | Takes::JsonOr(..) | Takes::Patch(_) | Takes::OneOrMany(_) => {
            out.extend([408, 413, 415, 422])
        }
    }
    if row.is_keyed {
        out.insert(422);
    }
    if matches!(row.gives, Gives::Media([_, _, ..]) | Gives::JsonOr(_, [_, ..])) {
        out.insert(406);
    }
    if matches!(row.versions, Versions::Checks | Versions::ShowsAndChecks) {
        out.insert(412);
    }
    out
}

fn problem(row: &Operation, status: u16) -> Value {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let content = match row.is_for_people {
        true => media(&[HTML]),
        false => json!({PROBLEM: {"schema": reference("Problem")}}),
    };
    let mut out = json!({"description": reason.unwrap_or("A problem"), "content": content});
    let of = |schema: Value, about: &str| json!({"required": true, "description": about, "schema": schema});
    let headers = match status {
        401 => json!({"WWW-Authenticate": of(json!({"type": "string"}), "The scheme: Bearer.")}),
        405 => json!({"Allow": of(json!({"type": "string"}), "The methods of this path.")}),
        429 | 503 if !(row.is_for_people && ["/a/", "/p/"].iter().any(|page| row.path.starts_with(page))) => {
            json!({"Retry-After": of(json!({"type": "integer", "minimum": 1}), "Seconds.")})
        }
        _ => return out,
    };
    out["headers"] = headers;
    out
}

fn given(row: &Operation, status: u16, gives: Gives) -> Value {
    let mut out = json!({"description": row.about});
    if let Some(content) = content(gives) {
        out["content"] = content;
    }
    let mut headers = Map::new();
    let text = || json!({"type": "string"});
    let is_job = gives == Gives::Json("ImportJob");
    if status == 201 || status == 303 || (status == 202 && (row.is_keyed || is_job)) {
        let is_new =
            json!({"required": true, "description": "What was made, or where to go.", "schema": text()});
        headers.insert("Location".into(), is_new);
    }
    if row.is_keyed && status != 200 {
        let said = json!({"description": "The same request came before.", "schema": {"type": "string", "enum": ["true"]}});
        headers.insert("Idempotency-Replayed".into(), said);
    }
    // People who were imported at once have versions of their own.
    let is_versioned = gives != Gives::Json("Imported");
    if status < 300 && is_versioned && matches!(row.versions, Versions::Shows | Versions::ShowsAndChecks) {
        // A list of many gives their versions in the body.
        let is_sure = !matches!(gives, Gives::OneOrMany(..));
        headers.insert(
            "ETag".into(),
            json!({"required": is_sure, "description": "The version.", "schema": {"type": "string", "pattern": "^\"[0-9]+\"$"}}),
        );
    }
    if !headers.is_empty() {
        out["headers"] = Value::Object(headers);
    }
    out
}

/// The schema of a page of a list.
pub(super) fn page_name(schema: &str) -> String {
    format!("{schema}Page")
}

/// A page of a list.
pub(super) fn page_of(schema: &str) -> Value {
    let items = json!({"type": "array", "items": reference(schema)});
    let about = "The cursor of the next page; null: this is the last.";
    let next = json!({"type": ["string", "null"], "description": about});
    json!({"type": "object", "required": ["items", "next"], "properties": {"items": items, "next": next}})
}

fn content(gives: Gives) -> Option<Value> {
    let of_json = |schema: Value| json!({"application/json": {"schema": schema}});
    Some(match gives {
        Gives::Nothing => return None,
        Gives::Json(schema) => of_json(reference(schema)),
        Gives::Page(schema) => of_json(reference(&page_name(schema))),
        Gives::JsonOr(schema, types) => {
            let mut content = media(types);
            content["application/json"] = json!({"schema": reference(schema)});
            content
        }
        Gives::OneOrMany(one, many) => {
            let items = json!({"type": "array", "items": reference(many)});
            let many = json!({"title": format!("{many}s"), "type": "object", "required": ["items"], "properties": {"items": items}});
            of_json(json!({"oneOf": [reference(one), many]}))
        }
        Gives::Media(types) => media(types),
    })
}
