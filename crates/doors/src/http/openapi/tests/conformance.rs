//! Check of everything that the tests of this crate send and get against the description: what is not in it
//! ends the connection, and so the test.

use crate::http::openapi::build;
use crate::http::routes;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::Value;
use std::sync::{Arc, LazyLock, Mutex};

static DOCUMENT: LazyLock<Value> = LazyLock::new(build);

/// A layer around the whole router.
pub(crate) async fn check(request: Request, next: Next) -> Response {
    let Some(operation) = operation_of(&request) else { return next.run(request).await };
    let (sent, request) = copied(operation, request);
    let asked = format!("{} {}", request.method(), request.uri());
    let is_head = request.method() == Method::HEAD;
    let response = next.run(request).await;
    let status = response.status();
    if status.is_success()
        && let Some(body) = sent
        && let Ok(body) = serde_json::from_slice::<Value>(&body.lock().unwrap())
    {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let fits = Schemas { is_closed: false }.fits(schema, &body, "body");
        assert_eq!(fits, Ok(()), "{asked} took what the description does not have: {body}");
    }
    checked(operation, &asked, is_head, response).await
}

fn operation_of(request: &Request) -> Option<&'static Value> {
    let matched = request.extensions().get::<MatchedPath>()?;
    let path = routes::template(request.method(), matched.as_str(), request.uri().path());
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    DOCUMENT["paths"][path.as_str()].get(method.as_str().to_lowercase())
}

type Copied = Arc<Mutex<Vec<u8>>>;

/// A copy of a JSON body as it is read.
fn copied(operation: &Value, request: Request) -> (Option<Copied>, Request) {
    let is_json = operation["requestBody"]["content"]["application/json"].is_object();
    if !is_json || request.headers().contains_key(CONTENT_ENCODING) {
        return (None, request);
    }
    let copy = Copied::default();
    let into = Arc::clone(&copy);
    let request = request.map(|body| {
        Body::from_stream(body.into_data_stream().inspect(move |piece| {
            piece.iter().for_each(|octets| into.lock().unwrap().extend_from_slice(octets));
        }))
    });
    (Some(copy), request)
}

async fn checked(operation: &Value, asked: &str, is_head: bool, response: Response) -> Response {
    let status = response.status();
    let said = &operation["responses"][status.as_str()];
    assert!(said.is_object(), "{asked}: {status} is not in the description");
    check_headers(said, response.headers(), asked);
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if said["content"].is_null() {
        assert_eq!(kind, None, "{asked}: {status} has no body in the description");
        return Response::from_parts(parts, body);
    }
    let media = &said["content"][essence];
    assert!(media.is_object(), "{asked}: {status} is {essence:?}, which is not in the description");
    if is_head || !essence.ends_with("json") || essence.contains("ndjson") {
        return Response::from_parts(parts, body);
    }
    let octets = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let value: Value = serde_json::from_slice(&octets).unwrap();
    let fits = Schemas { is_closed: true }.fits(&media["schema"], &value, "answer");
    assert_eq!(fits, Ok(()), "{asked}: {status} {value}");
    Response::from_parts(parts, Body::from(octets))
}

fn check_headers(said: &Value, headers: &HeaderMap, asked: &str) {
    for (name, header) in said["headers"].as_object().into_iter().flatten() {
        match headers.get(name).map(|value| value.to_str().unwrap()) {
            None => assert_ne!(header["required"], true, "{asked}: no {name}"),
            Some(text) => {
                let is_number = header["schema"]["type"] == "integer";
                let value = if is_number { text.parse().unwrap() } else { Value::from(text) };
                let fits = Schemas { is_closed: true }.fits(&header["schema"], &value, name);
                assert_eq!(fits, Ok(()), "{asked}");
            }
        }
    }
    let described = |name: &str| said["headers"][name].is_object();
    for name in ["Location", "ETag", "Retry-After", "Allow"] {
        let is_problem = said["content"]["application/problem+json"].is_object();
        assert!(
            !headers.contains_key(name) || described(name) || is_problem,
            "{asked}: {name} is not described"
        );
    }
}

/// The schemas of the description, as far as they use JSON Schema; another keyword is a mistake.
#[derive(Clone, Copy)]
pub(super) struct Schemas {
    /// An object has only members that its schema lists.
    pub(super) is_closed: bool,
}

impl Schemas {
    /// Whether a value fits.
    pub(super) fn fits(self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (keyword, wanted) in schema.as_object().ok_or(format!("{at}: no schema"))? {
            let bound = wanted.as_f64().unwrap_or_default();
            let count = |count: Option<usize>| count.map(|count| count as f64);
            let characters = value.as_str().map(|text| text.chars().count());
            let (items, members) = (value.as_array().map(Vec::len), value.as_object().map(|all| all.len()));
            let holds = match keyword.as_str() {
                "$ref" => {
                    let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                    self.fits(DOCUMENT.pointer(pointer).unwrap(), value, at)?;
                    true
                }
                "oneOf" => self.one_of(wanted, value, at)?,
                "type" => is_of(wanted, value),
                "enum" => wanted.as_array().unwrap().contains(value),
                "required" => wanted
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| !value.is_object() || value.get(name.as_str().unwrap()).is_some()),
                "properties" | "additionalProperties" => {
                    self.members(schema, value, at)?;
                    true
                }
                "items" => {
                    let mut items = value.as_array().into_iter().flatten().enumerate();
                    items.try_for_each(|(place, item)| self.fits(wanted, item, &format!("{at}[{place}]")))?;
                    true
                }
                "minimum" => value.as_f64().is_none_or(|value| value >= bound),
                "maximum" => value.as_f64().is_none_or(|value| value <= bound),
                "minLength" => count(characters).is_none_or(|count| count >= bound),
                "maxLength" => count(characters).is_none_or(|count| count <= bound),
                "minItems" => count(items).is_none_or(|count| count >= bound),
                "maxItems" => count(items).is_none_or(|count| count <= bound),
                "minProperties" => count(members).is_none_or(|count| count >= bound),
                "maxProperties" => count(members).is_none_or(|count| count <= bound),
                "pattern" => {
                    let pattern = regex::Regex::new(wanted.as_str().unwrap()).unwrap();
                    value.as_str().is_none_or(|text| pattern.is_match(text))
                }
                "format" => is_written_as(wanted.as_str().unwrap(), value),
                "title" | "description" | "default" | "examples" => true,
                other => return Err(format!("{at}: keyword {other}")),
            };
            if !holds {
                return Err(format!("{at} breaks {keyword} {wanted}: {value}"));
            }
        }
        Ok(())
    }

    fn one_of(self, forms: &Value, value: &Value, at: &str) -> Result<bool, String> {
        let all: Vec<_> = forms.as_array().unwrap().iter().map(|form| self.fits(form, value, at)).collect();
        match all.iter().filter(|fits| fits.is_ok()).count() {
            1 => Ok(true),
            0 => Err(all.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("; or ")),
            count => Err(format!("{at} fits {count} of {forms}")),
        }
    }

    fn members(self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (name, member) in value.as_object().into_iter().flatten() {
            let place = format!("{at}.{name}");
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(own), _) => self.fits(own, member, &place)?,
                (None, Value::Bool(false)) => return Err(format!("{place} is not described")),
                (None, Value::Null) if self.is_closed => return Err(format!("{place} is not described")),
                (None, other @ Value::Object(_)) => self.fits(other, member, &place)?,
                (None, _) => {}
            }
        }
        Ok(())
    }
}

fn is_of(types: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    }
}

fn is_written_as(format: &str, value: &Value) -> bool {
    let Some(text) = value.as_str() else { return true };
    match format {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "uuid" => text.parse::<uuid::Uuid>().is_ok(),
        "uri" => text.parse::<axum::http::Uri>().is_ok(),
        "binary" => true,
        other => panic!("format {other}"),
    }
}
