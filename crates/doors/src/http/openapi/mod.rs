//! OpenAPI document (`GET /openapi.json`): made from the table of routes, the schemas beside this file, and
//! the list of channels.

use crate::http::app::App;
use crate::http::routes::{Gives, Operation, ROWS, RequiredRole, Takes};
use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Schemas of bodies, written by hand, except the members that the list of channels adds.
const SCHEMAS: &str = include_str!("schemas.json");

static DOCUMENT: LazyLock<String> = LazyLock::new(|| build().to_string());
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/openapi.json", get(document))
}

async fn document() -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "max-age=60")];
    (headers, DOCUMENT.as_str()).into_response()
}

fn build() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for row in ROWS {
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        path[row.method.to_lowercase()] = operation(row);
    }
    let mut schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    add_channels(&mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Campanile",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Alerts to people, on whatever they carry. Errors are problem documents (RFC 9457); times are RFC 3339.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Problem": {
                "description": "What is wrong, field by field.",
                "content": {"application/problem+json": {"schema": reference("Problem")}},
            }},
        },
    })
}

/// The name of each channel, the form of its addresses, and its own member wherever one may write it.
fn add_channels(schemas: &mut Value) {
    schemas["ChannelName"] = json!({"enum": channels::names().collect::<Vec<_>>()});
    let forms = channels::ALL.iter().map(|channel| format!("{}: {}", channel.name(), channel.form()));
    let forms = format!("In its channel's form: {}.", forms.collect::<Vec<_>>().join("; "));
    schemas["Device"]["properties"]["address"]["description"] = forms.into();
    for channel in channels::ALL {
        let (name, example) = (channel.name(), channel.example());
        let one = json!({"type": "string", "examples": [example]});
        let many = json!({"type": "array", "items": {"type": "string"}});
        schemas["Recipient"]["properties"][name] =
            json!({"oneOf": [one, many], "description": "Short for devices."});
        schemas["ChannelTexts"]["oneOf"][1]["properties"][name] = channel.schema();
        schemas["AlertRequest"]["properties"]["texts"]["properties"][name] = channel.schema();
        if let Some(examples) = schemas["AudienceEntry"]["oneOf"][0]["examples"].as_array_mut() {
            examples.push(format!("{name}:{example}").into());
        }
    }
}

fn operation(row: &Operation) -> Value {
    let mut out = json!({
        "operationId": operation_id(row),
        "summary": row.about,
        "parameters": parameters(row),
        "responses": {
            row.status.to_string(): success(row),
            "default": {"$ref": "#/components/responses/Problem"},
        },
        "security": if row.need == RequiredRole::Nothing { json!([]) } else { json!([{"token": []}]) },
    });
    if row.need != RequiredRole::Nothing {
        out["description"] = format!("Roles: {}.", row.need.words()).into();
    }
    if let Some(body) = request_body(row.takes) {
        out["requestBody"] = body;
    }
    out
}

fn operation_id(row: &Operation) -> String {
    let words: Vec<&str> =
        row.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!(
        "{}_{}",
        row.method.to_lowercase(),
        if words.is_empty() { "page".to_owned() } else { words.join("_") }
    )
}

fn parameters(row: &Operation) -> Vec<Value> {
    let captures = row.path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let captures = captures.map(|name| parameter(name, "path", true));
    let queries = row.query.iter().map(|name| parameter(name, "query", false));
    let mut out: Vec<Value> = captures.chain(queries).collect();
    if row.method == "POST" && row.path == "/api/v1/alerts" {
        out.push(parameter("Idempotency-Key", "header", false));
    }
    if matches!(row.method, "PUT" | "PATCH" | "DELETE") && row.gives != Gives::Nothing {
        out.push(parameter("If-Match", "header", false));
    }
    out
}

fn parameter(name: &str, place: &str, required: bool) -> Value {
    let kind = if name == "limit" { "integer" } else { "string" };
    json!({"name": name, "in": place, "required": required, "schema": {"type": kind}})
}

fn request_body(takes: Takes) -> Option<Value> {
    let content = match takes {
        Takes::Nothing => return None,
        Takes::Json(schema) => json!({"application/json": {"schema": reference(schema)}}),
        Takes::OneOrMany(schema) => {
            let many = json!({"type": "array", "items": reference(schema)});
            json!({"application/json": {"schema": {"oneOf": [reference(schema), many]}}})
        }
        Takes::Media(types) => media(types),
    };
    Some(json!({"required": true, "content": content}))
}

fn success(row: &Operation) -> Value {
    let content = match row.gives {
        Gives::Nothing => return json!({"description": "Done."}),
        Gives::Json(schema) => json!({"application/json": {"schema": reference(schema)}}),
        Gives::Page(schema) => {
            let items = json!({"type": "array", "items": reference(schema)});
            let next = json!({"type": ["string", "null"]});
            let page = json!({"type": "object", "required": ["items", "next"], "properties": {"items": items, "next": next}});
            json!({"application/json": {"schema": page}})
        }
        Gives::JsonOr(schema, types) => {
            let mut content = media(types);
            content["application/json"] = json!({"schema": reference(schema)});
            content
        }
        Gives::Media(types) => media(types),
    };
    json!({"description": row.about, "content": content})
}

fn media(types: &[&str]) -> Value {
    types
        .iter()
        .map(|name| ((*name).to_owned(), json!({"schema": {"type": "string"}})))
        .collect::<Map<_, _>>()
        .into()
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema_and_every_schema_is_used() {
        let document = build();
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        assert!(!schemas.is_empty());
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name} has no schema");
        }
        for name in schemas.keys() {
            assert!(text.contains(&format!("#/components/schemas/{name}\"")), "{name} is used nowhere");
        }
    }

    #[test]
    fn every_channel_is_named_wherever_one_may_be_written() {
        let schemas = &build()["components"]["schemas"];
        let in_devices = &schemas["Device"]["properties"]["channel"];
        assert_eq!(in_devices["$ref"], "#/components/schemas/ChannelName");
        assert_eq!(schemas["AlertRequest"]["properties"]["channels"]["items"], *in_devices);
        let address = schemas["Device"]["properties"]["address"]["description"].as_str().unwrap();
        for channel in channels::ALL {
            let name = channel.name();
            assert!(schemas["ChannelName"]["enum"].as_array().unwrap().contains(&name.into()), "{name}");
            assert!(address.contains(&format!("{name}: {}", channel.form())), "{name}");
            assert!(schemas["Recipient"]["properties"][name]["oneOf"].is_array(), "{name}");
            let texts = &schemas["AlertRequest"]["properties"]["texts"]["properties"][name];
            assert_eq!(*texts, channel.schema(), "{name}");
            assert_eq!(schemas["ChannelTexts"]["oneOf"][1]["properties"][name], channel.schema(), "{name}");
            let examples = schemas["AudienceEntry"]["oneOf"][0]["examples"].as_array().unwrap();
            assert!(examples.contains(&format!("{name}:{}", channel.example()).into()), "{name}");
        }
        let shown = schemas["Recipient"]["additionalProperties"] == false;
        assert!(shown && schemas["Device"]["properties"]["address"]["type"] == "string");
    }

    #[test]
    fn operation_ids_are_unique() {
        let mut ids: Vec<String> = ROWS.iter().map(operation_id).collect();
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
