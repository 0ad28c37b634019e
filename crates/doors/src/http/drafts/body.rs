//! An alert's request that may lack members, as clients write it into drafts, templates and schedules: its
//! members are known ones, and whatever else is wrong with it is listed and kept.

use crate::http::alerts::body::{self, MEMBERS};
use crate::http::app::App;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body::off_thread;
use crate::http::request::fields::nearest;
use crate::http::request::json::{self, JsonNode};
use records::{AlertRequest, Mode, Timestamp};
use serde_json::{Map, Value};

/// Octets of a request, as JSON.
pub(crate) const REQUEST_OCTETS_MAX: usize = 900_000;
const MODE: &str = "mode";

/// A request apart from its mode.
#[derive(Debug)]
pub(crate) struct RequestPart {
    pub request: Value,
    pub mode: Option<Mode>,
}

/// Reads a request at a place such as `request`; the body itself is at the empty place.
pub(crate) fn read(node: JsonNode, at: &str, fields: &mut Fields) -> Option<RequestPart> {
    let place = |name: &str| match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    };
    let JsonNode::Object(members) = node else {
        let field = if at.is_empty() { "body" } else { at };
        fields.push(field, format!("is {}; an object is needed", node.kind()));
        return None;
    };
    let (mut request, mut mode) = (Map::new(), None);
    for (name, node) in members {
        let short: String = name.chars().take(40).collect();
        match (name.as_str(), node) {
            (_, JsonNode::Null) if MEMBERS.contains(&name.as_str()) => {}
            (MODE, JsonNode::Text(word)) if word == "live" => mode = Some(Mode::Live),
            (MODE, JsonNode::Text(word)) if word == "drill" => mode = Some(Mode::Drill),
            (MODE, _) => fields.push(place(MODE), "must be live or drill"),
            (known, node) if MEMBERS.contains(&known) => _ = request.insert(name, node.into_value()),
            _ => match nearest(&short, &MEMBERS) {
                Some(near) => fields.push(place(&short), format!("is unknown; did you mean {near:?}?")),
                None => fields.push(place(&short), format!("is unknown; known are {}", MEMBERS.join(", "))),
            },
        }
    }
    let request = Value::Object(request);
    let octets = request.to_string().len();
    if octets > REQUEST_OCTETS_MAX {
        let reason = format!(
            "has {octets} octets; at most {REQUEST_OCTETS_MAX} are kept: name groups instead of single addresses"
        );
        fields.push(if at.is_empty() { "body" } else { at }, reason);
    }
    Some(RequestPart { request, mode })
}

/// Reads a whole body of it.
pub(crate) fn read_body(node: JsonNode) -> HttpResult<RequestPart> {
    let mut fields = Fields::default();
    let part = read(node, "", &mut fields);
    part.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

/// The request with the mode of its space.
pub(crate) fn with_mode(request: &Value, mode: Mode) -> Value {
    let mut whole = request.clone();
    if let Some(members) = whole.as_object_mut() {
        members.insert(MODE.to_owned(), crate::http::alerts::view::mode(mode).into());
    }
    whole
}

/// What a stored request means at this time, with defaults for what it lacks, and what is wrong with it.
pub(crate) async fn meaning(
    app: &App,
    request: Value,
    now: Timestamp,
) -> HttpResult<(Option<AlertRequest>, Fields)> {
    let defaults = app.defaults.load_full();
    let octets = request.to_string().len();
    off_thread(octets, move || {
        let node = json::tree_of(&request)?;
        Ok(body::parse_part(node, now, &defaults))
    })
    .await?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(body: &str) -> Result<RequestPart, Vec<(String, String)>> {
        read_body(json::parse(body.as_bytes()).unwrap()).map_err(|problem| problem.listed())
    }

    #[test]
    fn what_lacks_or_is_wrong_is_kept_and_what_is_unknown_is_refused() {
        for body in [
            r#"{}"#,
            r#"{"audience": ["sms:+46"]}"#,
            r#"{"text": ""}"#,
            r#"{"expires": "tomorrow", "text": null}"#,
        ] {
            assert!(read_text(body).is_ok(), "{body}");
        }
        for (body, field, says) in [
            (r#"{"txt": "x"}"#, "txt", "did you mean \"text\"?"),
            (r#"{"zzzzzzzzz": 1}"#, "zzzzzzzzz", "known are headline"),
            (r#"{"mode": "test"}"#, "mode", "live or drill"),
            ("[]", "body", "an object is needed"),
        ] {
            let problems = read_text(body).unwrap_err();
            assert_eq!(problems[0].0, field, "{body}");
            assert!(problems[0].1.contains(says), "{body}: {problems:?}");
        }
    }

    #[test]
    fn the_mode_is_the_space_and_null_is_absent() {
        let part = read_text(r#"{"text": "x", "mode": "drill", "headline": null}"#).unwrap();
        assert_eq!(part.mode, Some(Mode::Drill));
        assert_eq!(part.request, serde_json::json!({"text": "x"}));
        assert_eq!(with_mode(&part.request, Mode::Drill)["mode"], "drill");
    }

    #[test]
    fn a_request_that_no_document_could_hold_names_the_limit() {
        let body = format!(r#"{{"text": "{}"}}"#, "x".repeat(REQUEST_OCTETS_MAX));
        assert!(read_text(&body).unwrap_err()[0].1.contains("at most 900000 are kept"));
    }
}
