//! People of an alert: lists of them by state, reason, answer, channel and route, what they answered, why one
//! got it or did not, and answers that somebody records for them.
//!
//! `GET /api/v1/alerts/{id}/people` · `…/{id}/answers` · `…/{id}/why/{recipient}` · `POST
//! /api/v1/alerts/{id}/people/{recipient}:answer`.

use crate::http::alerts::{ANSWER_CHARS_MAX, alert_id, seen};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query, cursor};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::{Extension, Json};
use engine::{AnswerFilter, EngineError, PeopleFilter, PeoplePage, PersonOfAlert, PersonPlace};
use records::{AlertId, ChannelNumber, EndpointNo, Reason};
use serde_json::{Value, json};
use store::Act;

/// Characters of what a list is filtered by.
const FILTER_CHARS_MAX: usize = 200;

pub(super) async fn people(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    const KNOWN: &[&str] = &["state", "reason", "answer", "channel", "route", "q", "cursor", "limit"];
    let query = Query::read(&uri, KNOWN)?;
    let id = alert_id(&id)?;
    let filter = PeopleFilter {
        state: query.parsed("state")?,
        reason: reason(&query)?,
        answer: text(&query, "answer")?.map(AnswerFilter::Key),
        channel: channel(&query)?,
        route: text(&query, "route")?,
    };
    let page =
        PeoplePage { filter, letters: text(&query, "q")?, from: place(&query)?, limit: query.limit()? };
    seen(&app, &caller, id).await?;
    let (items, next) = app.engine.people().page(caller.account(), id, page).await?;
    app.note_read(app.act(&caller, "people.read", &id.to_string(), "")).await?;
    Ok(Json(json!({"items": items, "next": next.map(place_cursor)})))
}

pub(super) async fn answers(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["choice", "cursor", "limit"])?;
    let id = alert_id(&id)?;
    let answer = text(&query, "choice")?.map_or(AnswerFilter::Any, AnswerFilter::Key);
    let filter = PeopleFilter { answer: Some(answer), ..PeopleFilter::default() };
    let page = PeoplePage { filter, from: place(&query)?, limit: query.limit()?, ..PeoplePage::default() };
    let alert = seen(&app, &caller, id).await?;
    let (people, next) = app.engine.people().page(caller.account(), id, page).await?;
    app.note_read(app.act(&caller, "answers.read", &id.to_string(), "")).await?;
    let items: Vec<Value> =
        people.iter().filter_map(|person| answer_view(&alert.request.choices, person)).collect();
    Ok(Json(json!({"items": items, "next": next.map(place_cursor)})))
}

/// What a person answered.
fn answer_view(choices: &[records::Choice], person: &PersonOfAlert) -> Option<Value> {
    let answer = person.answer.as_ref()?;
    let choice = choices.iter().find(|choice| Some(&choice.key) == answer.key.as_ref());
    let device = person.devices.first();
    Some(json!({
        "recipient": person.recipient,
        "name": person.name,
        "channel": device.and_then(|device| device.channel),
        "address": device.map(|device| device.address.as_str()),
        "choice": choice.map(|choice| json!({"key": choice.key, "label": choice.label})),
        "text": answer.text,
        "via": answer.via,
        "at": answer.at,
    }))
}

/// Why a person got it, or did not.
pub(super) async fn why(
    State(app): State<App>,
    caller: Caller,
    Captured((id, recipient)): Captured<(String, String)>,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let id = alert_id(&id)?;
    seen(&app, &caller, id).await?;
    let why =
        app.engine.people().why(caller.account(), id, &recipient).await.map_err(|error| nobody(error, id))?;
    let act = Act { person: Some(recipient), ..app.act(&caller, "people.read", &id.to_string(), "") };
    app.note_read(act).await?;
    Ok(Json(json!(why)))
}

fn nobody(error: EngineError, id: AlertId) -> HttpProblem {
    match error {
        EngineError::NotFound => {
            let detail = format!("nobody of this id is known, nor was any in alert {id}");
            HttpProblem::new(ProblemKind::NotFound, detail)
        }
        other => other.into(),
    }
}

/// `POST /api/v1/alerts/{id}/people/{recipient}:answer`; the router has no syntax for text behind a capture.
pub(super) async fn record(
    State(app): State<App>,
    caller: Option<Extension<Caller>>,
    Captured((id, recipient_and_verb)): Captured<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<StatusCode> {
    let Some((recipient, "answer")) = recipient_and_verb.rsplit_once(':') else {
        let detail = "POST needs a verb behind the recipient: {recipient}:answer";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        let detail = "the colon before the verb must not be encoded";
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    let id = alert_id(&id)?;
    let alert = seen(&app, &caller, id).await?;
    let node = app.json(&headers, body).await?;
    let mut fields = Fields::default();
    let given = recorded(node, &alert.request.choices, &mut fields);
    let Some((text, note)) = given.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let detail = if note.is_empty() { recipient.to_owned() } else { format!("{recipient}: {note}") };
    let act = Act {
        person: Some(recipient.to_owned()),
        ..app.act(&caller, "answer.record", &id.to_string(), &detail)
    };
    let by = caller.token.name.as_str();
    let recording = async {
        let people = app.engine.people();
        let recorded = people.record_answer(caller.account(), id, recipient, (&text, by)).await;
        recorded.map_err(|error| nobody(error, id))
    };
    app.noted(act, recording).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The answer that is recorded, and a note beside it.
fn recorded(node: JsonNode, choices: &[records::Choice], fields: &mut Fields) -> Option<(String, String)> {
    let mut object = Object::open(node, "", &["choice", "text", "note"], fields)?;
    let choice = object.text("choice", ANSWER_CHARS_MAX, fields);
    let text = object.text("text", ANSWER_CHARS_MAX, fields);
    let note = object.text("note", ANSWER_CHARS_MAX, fields).unwrap_or_default();
    if choice.is_some() == text.is_some() {
        fields.push("choice", "either this or text is needed");
    }
    if let Some(choice) = choice.as_ref().filter(|key| !choices.iter().any(|one| one.key == **key)) {
        let known: Vec<&str> = choices.iter().map(|choice| choice.key.as_str()).collect();
        fields.push("choice", format!("is {choice:?}; the choices of the alert are {}", known.join(", ")));
    }
    Some((choice.or(text)?, note))
}

fn text(query: &Query, name: &str) -> HttpResult<Option<String>> {
    let Some(text) = query.one(name).map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let length = text.chars().count();
    if length > FILTER_CHARS_MAX {
        let reason = format!("has {length} characters; at most {FILTER_CHARS_MAX} are allowed");
        return Err(HttpProblem::field(ProblemKind::BadQuery, name, reason));
    }
    Ok(Some(text.to_owned()))
}

fn reason(query: &Query) -> HttpResult<Option<Reason>> {
    let Some(code) = text(query, "reason")? else { return Ok(None) };
    serde_json::from_value(Value::String(code)).map(Some).map_err(|_| {
        let reason = "is no code of a reason; they stand in reason_codes of the alert's report";
        HttpProblem::field(ProblemKind::BadQuery, "reason", reason)
    })
}

fn channel(query: &Query) -> HttpResult<Option<ChannelNumber>> {
    let Some(name) = text(query, "channel")? else { return Ok(None) };
    match channels::named(&name) {
        Ok(channel) => Ok(Some(channel.number())),
        Err(error) => Err(HttpProblem::field(ProblemKind::BadQuery, "channel", error.to_string())),
    }
}

/// Where a page begins: the device and the place behind it, as one number.
fn place(query: &Query) -> HttpResult<PersonPlace> {
    let number: u64 = query.number_cursor()?.unwrap_or_default();
    Ok(PersonPlace { first: EndpointNo((number >> 32) as u32), place: number as u32 })
}

fn place_cursor(place: PersonPlace) -> String {
    cursor(u64::from(place.first.0) << 32 | u64::from(place.place))
}

#[cfg(test)]
mod tests {
    use crate::http::tests::*;

    async fn alert(server: &TestServer) -> String {
        server.people().await;
        let choices = json!([{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help", "needs_help": true}]);
        let alert = json!({"text": "Gas", "audience": ["all", "sms:+46700000999"], "choices": choices});
        let (status, made) = server.post("/api/v1/alerts?mode=sync", alert).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    /// All people of a list, a page of one at a time.
    async fn listed(server: &TestServer, path: &str) -> Vec<Value> {
        let (mut items, mut from) = (Vec::new(), String::new());
        for _ in 0..100 {
            let joint = if path.contains('?') { '&' } else { '?' };
            let (status, page) = server.get(&format!("{path}{joint}limit=1&cursor={from}")).await;
            assert_eq!(status, 200, "{page}");
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => from = next.to_owned(),
                None => return items,
            }
        }
        panic!("the list has no end");
    }

    #[tokio::test]
    async fn everybody_is_listed_once_by_page_and_addresses_of_nobody_known_too() {
        let server = TestServer::open().await;
        let id = alert(&server).await;
        let path = format!("/api/v1/alerts/{id}/people");
        let people = listed(&server, &path).await;
        let report = server.get(&format!("/api/v1/alerts/{id}/report")).await.1;
        assert_eq!(report["people"]["total"], people.len(), "{report}");
        let states = people.iter().map(|person| person["state"].as_str().unwrap());
        for state in states {
            let of_state = people.iter().filter(|person| person["state"] == state).count();
            assert_eq!(report["people"][state], of_state, "{state}");
        }
        let nobody = people.iter().find(|person| person["recipient"].is_null()).unwrap();
        assert_eq!(nobody["devices"][0]["address"], "+46700000999");
        let found = listed(&server, &format!("{path}?q=ANN")).await;
        assert!(found.iter().any(|person| person["recipient"] == "ann"), "{found:?}");
        assert!(found.len() < people.len());
        server.close().await;
    }

    #[tokio::test]
    async fn who_answered_is_listed_by_choice() {
        let server = TestServer::open().await;
        let id = alert(&server).await;
        let answer = json!({"alert": id, "recipient": "ann", "text": "2"});
        assert_eq!(server.post("/api/v1/answers", answer).await.0, 204);
        let answers = format!("/api/v1/alerts/{id}/answers");
        for _ in 0..2_000 {
            if !server.get(&answers).await.1["items"].as_array().unwrap().is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        for (query, count) in [("", 1), ("?choice=2", 1), ("?choice=1", 0), ("?choice=other", 0)] {
            let page = server.get(&format!("{answers}{query}")).await.1;
            assert_eq!(page["items"].as_array().unwrap().len(), count, "{query}: {page}");
        }
        let one = server.get(&answers).await.1["items"][0].clone();
        assert_eq!((&one["recipient"], &one["choice"]["label"]), (&json!("ann"), &json!("I need help")));
        let report = server.get(&format!("/api/v1/alerts/{id}/report")).await.1;
        assert_eq!((&report["people"]["answered"], &report["needs_help"]), (&json!(1), &json!(1)));
        server.close().await;
    }

    #[tokio::test]
    async fn a_filter_that_is_none_is_refused_by_name() {
        let server = TestServer::open().await;
        let id = alert(&server).await;
        for (query, field) in [
            ("state=gone", "state"),
            ("reason=because", "reason"),
            ("channel=smoke", "channel"),
            ("cursor=!", "cursor"),
            ("colour=red", "colour"),
        ] {
            let (status, problem) = server.get(&format!("/api/v1/alerts/{id}/people?{query}")).await;
            assert_eq!(status, 400, "{query}");
            assert!(!reason(&problem, field).is_empty(), "{query}: {problem}");
        }
        server.close().await;
    }
    #[tokio::test]
    async fn an_answer_is_recorded_for_a_person_and_says_by_whom() {
        let server = TestServer::open().await;
        let id = alert(&server).await;
        let path = format!("/api/v1/alerts/{id}/people/bo:answer");
        assert_eq!(server.post(&path, json!({"choice": "9"})).await.0, 422);
        assert_eq!(server.post(&path, json!({})).await.0, 422);
        let nobody = format!("/api/v1/alerts/{id}/people/nobody:answer");
        assert_eq!(server.post(&nobody, json!({"choice": "1"})).await.0, 404);
        assert_eq!(server.post(&path, json!({"choice": "1", "note": "at the gate"})).await.0, 204);
        let answers = format!("/api/v1/alerts/{id}/answers?choice=1");
        for _ in 0..2_000 {
            if !server.get(&answers).await.1["items"].as_array().unwrap().is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let one = server.get(&answers).await.1["items"][0].clone();
        assert_eq!(one["recipient"], "bo");
        assert!(one["via"].as_str().unwrap().starts_with(engine::RECORDED_BY), "{one}");
        server.close().await;
    }

    #[tokio::test]
    async fn why_names_the_entries_that_hold_a_person_and_why_not_too() {
        let server = TestServer::open().await;
        server.people().await;
        let alert = json!({"text": "Gas", "audience": ["group:staff", "recipient:ann"], "exclude": ["recipient:bo"], "channels": ["sms"]});
        let id = server.submit(alert).await;
        let why = |who: &str| format!("/api/v1/alerts/{id}/why/{who}");
        let (status, ann) = server.get(&why("ann")).await;
        assert_eq!((status.as_u16(), &ann["in_audience"]), (200, &json!(true)), "{ann}");
        let fields: Vec<&Value> =
            ann["matched"].as_array().unwrap().iter().map(|one| &one["field"]).collect();
        assert_eq!(fields, ["audience[0]", "audience[1]"]);
        assert_eq!(ann["matched"][0]["groups"], json!(["staff"]));
        assert_eq!(ann["person"]["devices"][0]["channel"], "sms");
        let bo = server.get(&why("bo")).await.1;
        assert_eq!(bo["left_out_by"][0]["field"], "exclude[0]", "{bo}");
        assert_eq!(bo["person"]["reason"]["code"], "excluded_by_sender");
        assert_eq!(server.get(&why("nobody")).await.0, 404);
        server.close().await;
    }
}
