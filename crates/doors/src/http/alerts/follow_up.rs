//! Follow-ups of an alert: to those of its people who did not answer, gave an answer, were not reached, or
//! got it; and the all-clear to exactly those who got it or may have. Each is an alert of its own, which
//! follows the first.
//!
//! `POST /api/v1/alerts/{id}/follow-ups`.

use crate::http::alerts::{
    Acceptance, accept, alert_id, idempotency_key, read_request, seen, submitted_response, view,
};
use crate::http::app::App;
use crate::http::approvals::deciders;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json;
use crate::http::request::query::Captured;
use crate::http::templates;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use records::Alert;
use serde_json::{Map, Value};

/// Characters of whom it is to.
const TO_CHARS_MAX: usize = 100;
/// Characters of a template's id.
const TEMPLATE_CHARS_MAX: usize = 64;
/// Members of the new alert that follow from the first, and are not given.
const GIVEN_BY_FIRST: [&str; 5] = ["audience", "exclude", "area", "follows", "mode"];

/// What is asked for.
struct FollowUp {
    is_all_clear: bool,
    to: String,
    template: Option<String>,
    /// Members of the new alert.
    alert: Map<String, Value>,
}

pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let first = seen(&app, &caller, alert_id(&id)?).await?;
    let node = app.json(&headers, body).await?;
    let canonical = node.canonical();
    let key = idempotency_key(&headers, || format!("{} {canonical}", first.id))?;
    let wanted = read(node)?;
    let node = json::tree_of(&request(&app, &caller, &first, wanted).await?)?;
    let request = read_request(&app, &caller, node, app.now()).await?;
    let (origin, authors) = (deciders::origin(&caller), deciders::authors(&caller));
    let detail = format!("follows {}", first.id);
    let how = Acceptance { origin, authors, key, wait_solved: false, detail };
    let submitted = accept(&app, &caller, request, how).await?;
    Ok(submitted_response(&submitted, false, serde_json::json!(submitted.problems)))
}

fn read(node: json::JsonNode) -> HttpResult<FollowUp> {
    let mut fields = Fields::default();
    let wanted =
        Object::open(node, "", &["kind", "to", "template", "alert"], &mut fields).map(|mut object| {
            let kinds = [("follow_up", false), ("all_clear", true)];
            let is_all_clear = object.word("kind", &kinds, &mut fields).unwrap_or(false);
            let to = object.text("to", TO_CHARS_MAX, &mut fields);
            if to.is_none() && !is_all_clear {
                fields.push("to", format!("is needed: {WHOM}"));
            }
            let template = object.text("template", TEMPLATE_CHARS_MAX, &mut fields);
            let alert = object.take("alert").map(|node| members(&node, &mut fields)).unwrap_or_default();
            // An all-clear is for those alone who were alarmed.
            let to = to.unwrap_or_else(|| "received".to_owned());
            FollowUp { is_all_clear, to, template, alert }
        });
    if let Some(wanted) = wanted.as_ref().filter(|wanted| entry("ID", &wanted.to).is_none()) {
        fields.push("to", format!("is {:?}; it must be {WHOM}", wanted.to));
    }
    wanted
        .filter(|_| fields.is_empty())
        .ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}

/// Whom a follow-up can be to.
const WHOM: &str = "not_answered, answer=KEY, not_reached, received or everyone";

/// The entry of an audience that names these people of an alert; the alert's own audience for everyone.
fn entry(id: &str, to: &str) -> Option<String> {
    let is_answer = to.strip_prefix("answer=").is_some_and(|key| !key.is_empty());
    match to {
        "everyone" => Some(String::new()),
        "not_answered" | "not_reached" | "received" => Some(format!("alert:{id}/{to}")),
        _ => is_answer.then(|| format!("alert:{id}/{to}")),
    }
}

/// The members of the new alert that the client gives.
fn members(node: &json::JsonNode, fields: &mut Fields) -> Map<String, Value> {
    match serde_json::from_str(&node.canonical()) {
        Ok(Value::Object(members)) => {
            for name in GIVEN_BY_FIRST.iter().filter(|name| members.contains_key(**name)) {
                let reason = "follows from the first alert and from `to`: leave it out";
                fields.push(format!("alert.{name}"), reason);
            }
            members
        }
        _ => {
            fields.push("alert", "is no object: members of an alert are needed, such as text");
            Map::new()
        }
    }
}

/// The new alert, as a client could post it.
async fn request(app: &App, caller: &Caller, first: &Alert, wanted: FollowUp) -> HttpResult<Value> {
    let earlier = view::request(&first.request);
    let mut request = match (&wanted.template, wanted.is_all_clear) {
        (Some(id), _) => prepared(app, caller, id, wanted.is_all_clear).await?,
        (None, true) => all_clear(first),
        (None, false) => Map::new(),
    };
    request.entry("priority").or_insert_with(|| earlier["priority"].clone());
    request.extend(wanted.alert);
    for name in GIVEN_BY_FIRST {
        request.remove(name);
    }
    match entry(&first.id.to_string(), &wanted.to).filter(|entry| !entry.is_empty()) {
        Some(entry) => _ = request.insert("audience".into(), vec![entry].into()),
        None => {
            for name in ["audience", "exclude", "area"] {
                if let Some(value) = earlier.get(name) {
                    request.insert(name.into(), value.clone());
                }
            }
        }
    }
    request.insert("mode".into(), earlier["mode"].clone());
    request.insert("follows".into(), first.id.to_string().into());
    Ok(Value::Object(request))
}

/// The text that a template has ready.
async fn prepared(
    app: &App,
    caller: &Caller,
    id: &str,
    is_all_clear: bool,
) -> HttpResult<Map<String, Value>> {
    let missing = |reason: String| HttpProblem::field(ProblemKind::InvalidFields, "template", reason);
    let found = templates::find(app, caller.account(), id).await?;
    let template = found.ok_or_else(|| missing(format!("there is no template {id:?}")))?.body;
    let prepared = if is_all_clear { template.all_clear } else { Some(template.request) };
    match prepared {
        Some(Value::Object(members)) => Ok(members),
        _ => Err(missing(format!("template {id:?} has no all-clear: PUT it with all_clear first"))),
    }
}

/// The all-clear of an alert whose sender prepared none.
fn all_clear(first: &Alert) -> Map<String, Value> {
    let what = view::headline(&first.request);
    let mut members = Map::new();
    members.insert("headline".into(), "All clear".into());
    members.insert("text".into(), format!("All clear. This is over: {what}").into());
    members
}

#[cfg(test)]
mod tests {
    use crate::http::tests::*;

    #[tokio::test]
    async fn an_all_clear_goes_to_who_got_it_and_a_follow_up_to_whom_it_names() {
        let server = TestServer::open().await;
        server.people().await;
        let choices = json!([{"key": "1", "label": "I am safe"}]);
        let first = server
            .submit(json!({"headline": "Gas", "text": "Leave", "audience": ["all"], "choices": choices}))
            .await;
        let path = format!("/api/v1/alerts/{first}/follow-ups");
        for (body, entry) in [
            (json!({"kind": "all_clear"}), format!("alert:{first}/received")),
            (
                json!({"to": "not_answered", "alert": {"text": "Answer, please"}}),
                format!("alert:{first}/not_answered"),
            ),
            (json!({"to": "answer=1", "alert": {"text": "Thank you"}}), format!("alert:{first}/answer=1")),
            (json!({"to": "everyone", "alert": {"text": "More"}}), "all".to_owned()),
        ] {
            let (status, made) = server.post(&path, body.clone()).await;
            assert_eq!(status, 202, "{body}: {made}");
            let shown = server.get(&format!("/api/v1/alerts/{}", made["id"].as_str().unwrap())).await.1;
            let request = &shown["request"];
            assert_eq!(
                (&request["audience"], &request["follows"]),
                (&json!([entry]), &json!(first)),
                "{shown}"
            );
        }
        for (body, field) in [
            (json!({"alert": {"text": "x"}}), "to"),
            (json!({"to": "nobody", "alert": {"text": "x"}}), "to"),
            (json!({"to": "everyone", "alert": {"text": "x", "audience": ["all"]}}), "alert.audience"),
            (json!({"kind": "all_clear", "template": "none"}), "template"),
        ] {
            let (status, problem) = server.post(&path, body.clone()).await;
            assert_eq!(status, 422, "{body}: {problem}");
            assert!(!reason(&problem, field).is_empty(), "{body}: {problem}");
        }
        server.close().await;
    }

    #[tokio::test]
    async fn the_same_follow_up_under_a_key_is_sent_once() {
        let server = TestServer::open().await;
        server.people().await;
        let first = server.submit(json!({"text": "Leave", "audience": ["all"]})).await;
        let path = format!("/api/v1/alerts/{first}/follow-ups");
        let mut ids = Vec::new();
        for _ in 0..2 {
            let body = json!({"kind": "all_clear"});
            let request = server.call(Method::POST, &path).header("idempotency-key", "k1").json(&body);
            let (status, made) = said(request).await;
            assert_eq!(status, 202, "{made}");
            ids.push(made["id"].clone());
        }
        assert_eq!(ids[0], ids[1]);
        server.close().await;
    }
}
