//! Test messages: one by exactly one route, or one to a device of a person by the way that an alert would
//! take. Each says that it is a test, is in no list of alerts, and is answered by nobody.

use super::named;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::check_space;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::Captured;
use crate::http::request::time_text::{parse_time, rfc3339};
use crate::http::{alerts::view::mode, scope, versioned};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{DeliveryView, EngineError, RouteTest, Routes};
use records::{Alert, AlertId, DeliveryState, EndpointNo, Mode, Origin, Timestamp};
use serde_json::{Value, json};
use store::Act;

/// Characters of an address.
const ADDRESS_CHARS_MAX: usize = 512;
/// Characters of the text of a test: a short message holds them in a part or two.
const TEXT_CHARS_MAX: usize = 200;
/// What every test begins with.
const MARK: &str = "TEST";
const MODES: [(&str, Mode); 2] = [("live", Mode::Live), ("drill", Mode::Drill)];

/// `POST /api/v1/routes/{id}:test`.
pub(super) async fn test_route(
    app: &App,
    caller: &Caller,
    name: &str,
    body: JsonNode,
) -> HttpResult<Response> {
    let mut fields = Fields::default();
    let mut object = Object::open(body, "", &["to", "text"], &mut fields);
    let to = object.as_mut().and_then(|object| object.needed_text("to", ADDRESS_CHARS_MAX, &mut fields));
    let text = object.as_mut().and_then(|object| object.text("text", TEXT_CHARS_MAX, &mut fields));
    let route = named(app, name)?;
    check_space(caller, route.mode)?;
    let to = to.and_then(|to| {
        let found = channels::endpoint(channels::name(route.channel), &to, &app.defaults.load());
        let found = found.map_err(|why| fields.push("to", why.to_string())).ok();
        found.map(|(channel, address)| channels::entry(channel, &address))
    });
    let Some(to) = to.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    scope::check_entry(app, caller, &to).await?;
    if Routes::of(&app.engine).hold_of(name)?.is_some() {
        let detail = "the use of this route is stopped, so a test would wait: release it first";
        return Err(HttpProblem::new(ProblemKind::WrongState, detail));
    }
    let text = text.unwrap_or_else(|| format!("This is a test of the route {name}. Nothing has happened."));
    let act = Act { person: Some(to.clone()), ..app.act(caller, "route.test", name, "") };
    send(app, caller, (route.mode, to, Some(name)), &text, act).await
}

/// `POST /api/v1/recipients/{id}/devices/{n}:test`, of the device in the n-th place, from 1.
pub(super) async fn test_device(
    State(app): State<App>,
    caller: Option<axum::Extension<Caller>>,
    Captured((id, path)): Captured<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let (caller, place, _) = versioned::id_and_verb(caller, &path, &["test"])?;
    let mut fields = Fields::default();
    let mut object = Object::open(app.json(&headers, body).await?, "", &["text", "mode"], &mut fields);
    let text = object.as_mut().and_then(|object| object.text("text", TEXT_CHARS_MAX, &mut fields));
    let wanted = object.as_mut().and_then(|object| object.word("mode", &MODES, &mut fields));
    if !fields.is_empty() {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    }
    let mode = wanted.or(caller.user.as_ref().map(|user| user.space)).unwrap_or(Mode::Live);
    check_space(&caller, mode)?;
    let missing = |detail: &str| HttpProblem::new(ProblemKind::NotFound, detail);
    let found = app.store.recipient(caller.account(), &id).await?;
    let (person, _) = found.ok_or_else(|| missing("no such recipient"))?;
    scope::check_entry(&app, &caller, &format!("recipient:{id}")).await?;
    let index = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
    let device = index.and_then(|index| person.devices.get(index));
    let device = device.ok_or_else(|| {
        missing("the recipient has no such device: devices are numbered from 1, in their order")
    })?;
    let to = channels::entry(device.channel, &device.address);
    let text = text.unwrap_or_else(|| "This is a test of your device. Nothing has happened.".to_owned());
    let act =
        Act { person: Some(id.clone()), ..app.act(&caller, "device.test", &id, &format!("device {place}")) };
    send(&app, &caller, (mode, to, None), &text, act).await
}

async fn send(
    app: &App,
    caller: &Caller,
    (mode, to, route): (Mode, String, Option<&str>),
    text: &str,
    act: Act,
) -> HttpResult<Response> {
    let taken = app.operations.test_limits.take(caller.account(), &to, app.now());
    taken.map_err(|refused| {
        let detail = format!("{}; try again in {} s", refused.why, refused.again_in_s);
        HttpProblem::new(ProblemKind::TooMany, detail).retry_after(refused.again_in_s)
    })?;
    let test = RouteTest {
        account: caller.account().to_owned(),
        token: caller.token.id.clone(),
        mode,
        to,
        route: route.map(str::to_owned),
        text: format!("{MARK}: {text}"),
    };
    let submitted = app.noted(act, Routes::of(&app.engine).test(test)).await?;
    let id = submitted.alert.id.to_string();
    Ok((StatusCode::ACCEPTED, Json(json!({"id": id}))).into_response())
}

/// How far a test got.
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<Json<Value>> {
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such test");
    let id: AlertId = id.parse().map_err(|_| missing())?;
    let alert = app.engine.alert(caller.account(), id).await.map_err(|error| match error {
        EngineError::NotFound => missing(),
        other => other.into(),
    })?;
    let Origin::Test { route } = &alert.origin else { return Err(missing()) };
    check_space(&caller, alert.request.mode)?;
    if alert.token != caller.token.id && !scope::is_within(&app, &caller, &alert.request).await? {
        return Err(missing());
    }
    let delivery = app.engine.people().delivery(caller.account(), id, EndpointNo(0)).await?;
    Ok(Json(view(&alert, route.as_deref(), delivery.as_ref())))
}

fn view(alert: &Alert, route: Option<&str>, delivery: Option<&DeliveryView>) -> Value {
    let time = |text: Option<&String>| text.and_then(|text| parse_time(text).ok());
    let after_ms = |at: Timestamp| at.us_since(alert.created).max(0) / 1_000;
    let submitted = time(delivery.and_then(|delivery| delivery.submitted.as_ref()));
    let accepted = time(delivery.and_then(|delivery| delivery.accepted.as_ref()));
    let delivered = time(delivery.and_then(|delivery| delivery.delivered.as_ref()));
    let state = delivery.map_or(DeliveryState::Planned, |delivery| delivery.state);
    let is_trouble =
        matches!(state, DeliveryState::Failed | DeliveryState::Unknown | DeliveryState::Excluded);
    json!({
        "id": alert.id.to_string(),
        "mode": mode(alert.request.mode),
        "to": alert.request.audience.first().map_or("", |entry| entry.to.as_str()),
        "wanted_route": route,
        "route": delivery.and_then(|delivery| delivery.route.clone()),
        "state": state.name(),
        "created": rfc3339(alert.created),
        "submitted": submitted.map(rfc3339),
        "accepted": accepted.map(rfc3339),
        "accepted_after_ms": accepted.map(after_ms),
        "delivered": delivered.map(rfc3339),
        "delivered_after_ms": delivered.map(after_ms),
        "reason": delivery.map_or("", |delivery| delivery.reason.as_str()),
        "failed": is_trouble,
    })
}
