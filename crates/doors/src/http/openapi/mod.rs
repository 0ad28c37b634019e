//! OpenAPI document (`GET /openapi.json`, `campanile openapi`): made from the table of routes, the schemas
//! beside this file, and the list of channels.
//!
//! `schemas.json` has the bodies of answers, and what both ways share; `requests.json` the bodies of
//! requests, whose optional members may all be null; `parameters.json` the parameters. [`answers`] derives
//! the answers of an operation from its row, [`names`] its name.

mod answers;
#[cfg(test)]
#[path = "tests/conformance.rs"]
pub(crate) mod conformance;
mod names;
#[cfg(test)]
mod tests;

use self::answers::{answers, page_name, page_of};
use self::names::{operation_id, tag};
use crate::http::app::App;
use crate::http::routes::{Gives, Operation, ROWS, RequiredRole, Takes, Versions};
use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use records::DeliveryState;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

const SCHEMAS: &str = include_str!("schemas.json");
const REQUESTS: &str = include_str!("requests.json");
const PARAMETERS: &str = include_str!("parameters.json");
const FORM: &str = "application/x-www-form-urlencoded";
const DESCRIPTION: &str = "Alerts to people, on whatever they carry. Errors are problem documents (RFC 9457); \
    times are RFC 3339. HEAD is answered as GET without a body; any other method that a path does not list is \
    answered 405 with those that it has in Allow. Optional members of a request's body may be null, which is as \
    good as absent. Bodies may be compressed by gzip or zstd.";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| build().to_string());
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/openapi.json", get(document))
}

async fn document() -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "max-age=60")];
    (headers, DOCUMENT.as_str()).into_response()
}

/// The API's description, as JSON on several lines. It needs no server.
pub fn openapi_document() -> String {
    format!("{:#}\n", build())
}

pub(crate) fn build() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let parameters = parsed(PARAMETERS);
    for row in ROWS {
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        path[row.method.to_lowercase()] = operation(row, &parameters);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Campanile",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token, cmp_…"},
                "session": {"type": "apiKey", "in": "cookie", "name": crate::http::auth::sessions::SESSION_COOKIE,
                    "description": "A session of the plain pages; it only reads."},
                "user": {"type": "apiKey", "in": "cookie", "name": crate::http::auth::user_session::SECURE_COOKIE,
                    "description": "The session of a user who signed in; without TLS the cookie is campanile."},
                "csrf": {"type": "apiKey", "in": "header", "name": "X-Campanile-CSRF",
                    "description": "What writes of a user's session bring: the csrf of GET /api/v1/session."},
            },
        },
    })
}

fn parsed(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn schemas() -> Value {
    let (mut requests, mut schemas) = (Value::Object(parsed(REQUESTS)), Value::Object(parsed(SCHEMAS)));
    schemas["DeliveryState"]["enum"] = DeliveryState::ALL.map(DeliveryState::name).to_vec().into();
    add_channels(&mut requests, &mut schemas);
    requests["DraftBody"] = part_of(&requests["AlertRequest"]);
    let mut patch = requests["ScheduleBody"].clone();
    patch["required"] = json!([]);
    requests["SchedulePatch"] = patch;
    for (body, new) in [("RecipientBody", "NewRecipient"), ("GroupBody", "NewGroup")] {
        // Where the path has no id, the body needs one.
        let mut needing = requests[body].clone();
        needing["required"] = json!(["id"]);
        requests[new] = needing;
    }
    for row in ROWS {
        if let Gives::Page(schema) = row.gives {
            schemas[page_name(schema)] = page_of(schema);
        }
    }
    for (name, schema) in requests.as_object_mut().into_iter().flatten() {
        allow_null(schema);
        schemas[name] = schema.take();
    }
    schemas
}

/// A request that may lack members, and have wrong ones: they are kept as they are, and listed.
fn part_of(request: &Value) -> Value {
    let any = ["string", "number", "boolean", "object", "array"];
    let names = request["properties"].as_object().into_iter().flat_map(Map::keys);
    let members = names.map(|name| {
        let member = match name.as_str() {
            "mode" => reference("Mode"),
            _ => json!({"type": any, "description": "As in AlertRequest."}),
        };
        (name.clone(), member)
    });
    json!({
        "type": "object",
        "description": "An AlertRequest that may lack members. What is wrong with one is listed, and kept as it is.",
        "properties": members.collect::<Map<_, _>>(),
        "additionalProperties": false,
        "examples": [{"text": "Leave the building by the north stairs."}],
    })
}

/// The name of each channel, the form of its addresses, and its own member wherever one may write it.
fn add_channels(requests: &mut Value, schemas: &mut Value) {
    let names = channels::names().collect::<Vec<_>>();
    schemas["ChannelName"] = json!({"type": "string", "enum": names});
    let forms = channels::ALL.iter().map(|channel| format!("{}: {}", channel.name(), channel.form()));
    let forms = format!("In its channel's form: {}.", forms.collect::<Vec<_>>().join("; "));
    requests["DeviceBody"]["properties"]["address"]["description"] = forms.into();
    let wanted = format!("Of {}; empty: all of each person's.", names.join(", "));
    requests["AlertRequest"]["properties"]["channels"]["description"] = wanted.into();
    for channel in channels::ALL {
        let (name, example) = (channel.name(), channel.example());
        let one = json!({"type": "string", "examples": [example]});
        let many = json!({"type": "array", "items": {"type": "string"}});
        requests["RecipientBody"]["properties"][name] =
            json!({"oneOf": [one, many], "description": "Short for devices."});
        for texts in ["Texts", "LanguageTexts"] {
            requests[texts]["properties"][name] = channel.schema();
        }
        for texts in ["ContentTexts", "ContentLanguageTexts"] {
            schemas[texts]["properties"][name] = channel.schema();
        }
        if let Some(examples) = requests["AudienceEntry"]["oneOf"][0]["examples"].as_array_mut() {
            examples.push(format!("{name}:{example}").into());
        }
    }
}

/// Lets the optional members of all objects in a schema be null.
fn allow_null(schema: &mut Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in members.into_iter().flatten() {
        allow_null(member);
        if !required.contains(&Value::from(name.as_str())) {
            nullable(member);
        }
    }
    for inner in ["items", "additionalProperties"] {
        schema.get_mut(inner).into_iter().for_each(allow_null);
    }
    let forms = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    forms.into_iter().flatten().for_each(allow_null);
}

fn nullable(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if let Some(reference) = keywords.remove("$ref") {
        keywords.insert("oneOf".into(), json!([{"$ref": reference}, {"type": "null"}]));
    } else if let Some(Value::Array(forms)) = keywords.get_mut("oneOf") {
        forms.push(json!({"type": "null"}));
    } else {
        let types = match keywords.remove("type") {
            Some(Value::Array(types)) => types,
            one => one.into_iter().collect(),
        };
        let types: Vec<Value> = types.into_iter().chain([Value::from("null")]).collect();
        keywords.insert("type".into(), types.into());
    }
}

fn operation(row: &Operation, parameters: &Map<String, Value>) -> Value {
    let mut out = json!({
        "operationId": operation_id(row),
        "tags": [tag(row)],
        "summary": row.about,
        "parameters": parameters_of(row, parameters),
        "responses": answers(row),
        "security": security(row),
    });
    if row.need != RequiredRole::Nothing {
        out["description"] = about_roles(row).into();
    }
    if let Some(body) = request_body(row) {
        out["requestBody"] = body;
    }
    out
}

/// Who may, and what of a user beside a role.
fn about_roles(row: &Operation) -> String {
    let (tokens, users) = (row.need.words(), row.need.user_words());
    let who = if tokens == users { users } else { format!("{tokens}; {users}") };
    let again = match row.is_dangerous {
        true => " A user gave the password again within ten minutes (POST /api/v1/session:confirm).",
        false => "",
    };
    format!("Roles: {who}.{again}")
}

/// Tokens, and sessions of users, which prove that a write is theirs; a session of the plain pages reads.
fn security(row: &Operation) -> Value {
    match (row.need, row.method) {
        (RequiredRole::Nothing, _) => json!([]),
        (RequiredRole::SignedIn, "GET") => json!([{"user": []}]),
        (RequiredRole::SignedIn, _) => json!([{"user": [], "csrf": []}]),
        (_, "GET") => json!([{"token": []}, {"session": []}, {"user": []}]),
        _ => json!([{"token": []}, {"user": [], "csrf": []}]),
    }
}

fn parameters_of(row: &Operation, types: &Map<String, Value>) -> Vec<Value> {
    let captures = row.path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let captures = captures.map(|name| parameter(name, "path", row, types));
    let queries = row.query.iter().map(|name| parameter(name, "query", row, types));
    let mut out: Vec<Value> = captures.chain(queries).collect();
    if row.is_keyed {
        out.push(parameter("Idempotency-Key", "header", row, types));
    }
    if matches!(row.versions, Versions::Checks | Versions::ShowsAndChecks) {
        out.push(parameter("If-Match", "header", row, types));
        out.push(parameter("If-None-Match", "header", row, types));
    }
    if row.concerns_alerts() {
        out.push(parameter("X-Campanile-Space", "header", row, types));
    }
    // Of all alerts together there is no replay.
    if row.is_event_stream() && row.path.contains("{id}") {
        out.push(parameter("Last-Event-ID", "header", row, types));
    }
    out
}

/// A parameter with the type that it has on this path or on those below one (of several on the longest, and
/// perhaps with one method alone), else everywhere. What a platform hands in is text.
fn parameter(name: &str, place: &str, row: &Operation, types: &Map<String, Value>) -> Value {
    let of_path = types.iter().filter_map(|(known, schema)| {
        let (known, rest) = known.split_once(' ')?;
        let (method, path) = rest.split_once(' ').unwrap_or((row.method, rest));
        let is_its = known == name && method == row.method && row.path.starts_with(path);
        is_its.then_some((path.len(), schema))
    });
    let of_path = of_path.max_by_key(|(length, _)| *length).map(|(_, schema)| schema);
    let usual = || types.get(name).filter(|_| !row.is_for_people);
    let mut schema = of_path.or_else(usual).cloned().unwrap_or_else(|| json!({"type": "string"}));
    let mut part = |key: &str| schema.as_object_mut().and_then(|schema| schema.remove(key));
    let (about, required) = (part("description"), part("required"));
    let required = required.unwrap_or_else(|| (place == "path").into());
    let mut out = json!({"name": name, "in": place, "required": required, "schema": schema});
    if let Some(about) = about {
        out["description"] = about;
    }
    out
}

fn request_body(row: &Operation) -> Option<Value> {
    let content = match row.takes {
        Takes::Nothing => return None,
        Takes::Json(schema) => json!({"application/json": {"schema": reference(schema)}}),
        Takes::JsonOr(schema, types) => {
            let mut content = media(types);
            content["application/json"] = json!({"schema": reference(schema)});
            content
        }
        Takes::Patch(schema) => {
            let of = json!({"schema": reference(schema)});
            json!({"application/json": of, "application/merge-patch+json": of})
        }
        Takes::OneOrMany(schema) => {
            let many = json!({"type": "array", "maxItems": crate::http::recipients::MANY_MAX, "items": reference(schema)});
            json!({"application/json": {"schema": {"oneOf": [reference(schema), many]}}})
        }
        Takes::Media(types) => media(types),
    };
    // A platform may put everything into the query.
    let required = !row.path.starts_with("/cgi-bin/");
    Some(json!({"required": required, "content": content}))
}

/// Bodies that are no JSON: a form's fields, text, or octets of any number.
fn media(types: &[&str]) -> Value {
    let schema = |name: &str| match name {
        FORM => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        "text/html" | "text/plain" => json!({"type": "string"}),
        // Beside a form: of whatever members the far end has.
        "application/json" | "application/geo+json" => json!({"type": "object"}),
        // A schema here would be that of an event to some, of the whole stream to others.
        "text/event-stream" => json!({}),
        xml if xml.ends_with("xml") => json!({"type": "string"}),
        _ => json!({"type": "string", "format": "binary"}),
    };
    types
        .iter()
        .map(|name| ((*name).to_owned(), json!({"schema": schema(name)})))
        .collect::<Map<_, _>>()
        .into()
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}
