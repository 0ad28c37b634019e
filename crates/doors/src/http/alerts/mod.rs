//! Alerts: submitted, forecast, read, steered, observed, answered.
//!
//! `POST`, `GET /api/v1/alerts` · `POST /api/v1/alerts:forecast`, `/api/v1/alerts:check` · `GET`, `POST
//! /api/v1/alerts/{id}` and its verbs · `…/{id}/deliveries` · `…/{id}/report` · `…/{id}/events` ·
//! `…/{id}/observers` · `POST /api/v1/answers`. A body is read by [`body`], [`texts`] and [`xml`], shown by
//! [`view`], followed by [`events`], looked at by [`warnings`], and compared with its forecast by
//! [`forecasts`].

pub(crate) mod body;
mod check;
mod event_position;
pub(crate) mod events;
mod extension;
mod filter;
mod follow_up;
mod forecasts;
mod people;
#[cfg(test)]
mod tests;
pub(crate) mod texts;
pub(crate) mod timeline;
pub(crate) mod view;
pub(crate) mod warnings;
mod xml;

use self::body::callback;
use self::events::EventStreams;
use self::filter::AlertFilter;
use crate::http::app::App;
use crate::http::approvals::{self, deciders};
use crate::http::attachments;
use crate::http::auth::Caller;
use crate::http::event_stream::EventBoards;
use crate::http::previews::frames::PreviewFrames;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::profiles::{self, AlertDefaults};
use crate::http::request::body::{media_type, off_thread};
use crate::http::request::fields::{Object, nearest};
use crate::http::request::json::JsonNode;
use crate::http::request::negotiation::negotiate;
use crate::http::request::query::{Captured, Query, cursor, etag};
use crate::http::scope;
use arc_swap::ArcSwap;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use engine::{Audiences, DeliveryView, Draft, EngineError, Forecasts, Steer, Submitted};
use futures_util::stream;
use net::{OutboundPolicy, OutboundRefusal};
use records::{
    Alert, AlertId, AlertNo, AlertRequest, ApprovalPerson, CallbackRequest, DeliveryState, EndpointNo,
    Origin, Timestamp,
};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use store::{Act, IdempotencyKey, KeyOwner};
use tokio::sync::Notify;

/// Octets of an Idempotency-Key.
const KEY_OCTETS_MAX: usize = 255;
/// Alerts looked through for those of one token, per page.
const OWN_SCAN_MAX: usize = 10_000;
/// Alerts read at a time where a filter may leave most of them out.
const SCANNED_AT_ONCE: usize = 200;
/// Observers of one alert.
const OBSERVERS_MAX: usize = 100;
/// Characters of an answer.
pub(crate) const ANSWER_CHARS_MAX: usize = 1_000;
/// Deliveries read for one piece of a CSV report.
const CSV_SLICE: usize = 512;
/// Says that the same request came before and was not carried out again.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(crate) const STEER: [(&str, Steer); 4] = [
    ("cancel", Steer::Cancel),
    ("pause", Steer::Pause),
    ("resume", Steer::Resume),
    ("retry-failed", Steer::RetryFailed),
];
/// What handlers of alerts share.
pub(crate) struct AlertState {
    pub event_streams: EventStreams,
    /// What the streams of browsers show.
    pub event_boards: EventBoards,
    /// Judges callbacks.
    pub outbound: Arc<ArcSwap<OutboundPolicy>>,
    /// Somebody has to be told of an approval at once.
    pub approvals_wake: Arc<Notify>,
    /// Counts audiences before they are sent to.
    pub audiences: Audiences,
    /// Pages of mails that are previewed.
    pub frames: PreviewFrames,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/alerts", post(submit).get(list))
        .route("/api/v1/alerts:forecast", post(forecast))
        .route("/api/v1/alerts:check", post(check::check))
        .route("/api/v1/alerts/{id}", get(show).post(steer))
        .route("/api/v1/alerts/{id}/forecast", get(forecasts::kept))
        .route("/api/v1/alerts/{id}/verdict", get(forecasts::verdict))
        .route("/api/v1/drills:replay", post(forecasts::replay))
        .route("/api/v1/alerts/{id}/deliveries", get(deliveries))
        .route("/api/v1/alerts/{id}/people", get(people::people))
        .route("/api/v1/alerts/{id}/people/{recipient}", post(people::record))
        .route("/api/v1/alerts/{id}/why/{recipient}", get(people::why))
        .route("/api/v1/alerts/{id}/timeline", get(timeline::timeline))
        .route("/api/v1/alerts/{id}/curve", get(timeline::curve))
        .route("/api/v1/alerts/{id}/follow-ups", post(follow_up::create))
        .route("/api/v1/alerts/{id}/answers", get(people::answers))
        .route("/api/v1/alerts/{id}/report", get(report))
        .route("/api/v1/alerts/{id}/events", get(events::events))
        .route("/api/v1/alerts/{id}/observers", post(add_observer).get(observers))
        .route("/api/v1/alerts/{id}/observers/{observer}", delete(remove_observer))
        .route("/api/v1/answers", post(answer))
}

async fn submit(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["mode"])?;
    let wait_solved = query.word("mode", &[("async", false), ("sync", true)])?;
    let node = request_tree(&app, &headers, body).await?;
    let key = idempotency_key(&headers, || node.canonical())?;
    let request = read_request(&app, &caller, node, app.now()).await?;
    let (origin, authors) = (deciders::origin(&caller), deciders::authors(&caller));
    let how = Acceptance { origin, authors, key, wait_solved, detail: String::new() };
    let submitted = accept(&app, &caller, request, how).await?;
    Ok(submitted_response(&submitted, wait_solved, json!(submitted.problems)))
}

/// How an alert of a caller is accepted.
pub(crate) struct Acceptance {
    pub origin: Origin,
    /// Who wrote it, of the people who signed in; who submits it first.
    pub authors: Vec<ApprovalPerson>,
    pub key: Option<IdempotencyKey>,
    pub wait_solved: bool,
    /// Of the entry in the audit trail.
    pub detail: String,
}

/// Accepts the alert of a caller: requests to submit one, drafts and schedules all end here.
pub(crate) async fn accept(
    app: &App,
    caller: &Caller,
    request: AlertRequest,
    how: Acceptance,
) -> HttpResult<Submitted> {
    let draft = Draft {
        account: caller.account().to_owned(),
        token: caller.token.id.clone(),
        authors: how.authors,
        request,
        origin: how.origin,
        key: how.key,
        wait_solved: how.wait_solved,
        note: Some(app.act(caller, "alert.submit", "", &how.detail)),
    };
    Ok(app.engine.submit(draft).await?)
}

/// The answer to an alert that was accepted.
pub(crate) fn submitted_response(submitted: &Submitted, waited: bool, problems: Value) -> Response {
    let id = submitted.alert.id.to_string();
    let mut view = json!({"id": id, "state": submitted.alert.state.name(), "problems": problems});
    if let Some(endpoints) = submitted.endpoints {
        view["endpoints"] = endpoints.into();
    }
    let status = if waited { StatusCode::CREATED } else { StatusCode::ACCEPTED };
    let mut response = (status, [(LOCATION, format!("/api/v1/alerts/{id}"))], Json(view)).into_response();
    if !submitted.fresh {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// The client's key with the hash of the canonical body.
pub(crate) fn idempotency_key(
    headers: &HeaderMap,
    body: impl FnOnce() -> String,
) -> HttpResult<Option<IdempotencyKey>> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().unwrap_or_default();
    if key.is_empty() || key.len() > KEY_OCTETS_MAX {
        let reason = format!("must be 1 to {KEY_OCTETS_MAX} printable ASCII characters");
        return Err(HttpProblem::field(ProblemKind::BadHeader, "Idempotency-Key", reason));
    }
    let body_hash = crate::http::auth::hash(&body());
    Ok(Some(IdempotencyKey { key: key.to_owned(), body_hash, of: KeyOwner::Token }))
}

/// A request's tree, of JSON or of XML.
async fn request_tree(app: &App, headers: &HeaderMap, body: Body) -> HttpResult<JsonNode> {
    if media_type(headers, &["application/json", "application/xml", "text/xml"])? == "application/json" {
        return app.json(headers, body).await;
    }
    let octets = app.bodies.whole(headers, body, xml::XML_OCTETS_MAX).await?;
    off_thread(octets.len(), move || xml::tree(&octets)).await?
}

/// Reads a request as of this time, with all that a door can check of it.
pub(crate) async fn read_request(
    app: &App,
    caller: &Caller,
    node: JsonNode,
    now: Timestamp,
) -> HttpResult<AlertRequest> {
    let defaults = app.defaults.load_full();
    let (size, has_mode) = match &node {
        JsonNode::Object(members) => (entries(members), members.iter().any(|(name, _)| name == "mode")),
        _ => (0, false),
    };
    let (node, expires_after_s) = AlertDefaults::of(app, caller).await?.fill(node);
    let mut request = off_thread(size * 100, move || body::parse(node, now, &defaults)).await??;
    profiles::end_after(&mut request, expires_after_s, now);
    if let Some(user) = &caller.user {
        // Without a mode it is of the space that the page is of.
        request.mode = if has_mode { request.mode } else { user.space };
        user.check_space(request.mode)?;
        scope::check(app, caller, &request).await?;
    }
    judge_callback(app, request.callback.as_ref(), "callback.url")?;
    attachments::check(app, caller, request).await
}

/// A callback goes where the outbound policy lets it. What its URL does not tell is judged at each call.
fn judge_callback(app: &App, callback: Option<&CallbackRequest>, field: &str) -> HttpResult<()> {
    let Some(callback) = callback else { return Ok(()) };
    let refused =
        |refusal: OutboundRefusal| HttpProblem::field(ProblemKind::InvalidFields, field, refusal.to_string());
    app.alerts.outbound.load().judge_text(&callback.url).map(|_| ()).map_err(refused)
}

/// Entries of the longest list, a measure of the work.
fn entries(members: &[(String, JsonNode)]) -> usize {
    members
        .iter()
        .map(|(_, node)| if let JsonNode::List(items) = node { items.len() } else { 0 })
        .max()
        .unwrap_or(0)
}

async fn forecast(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    Query::read(&uri, &[])?;
    let node = request_tree(&app, &headers, body).await?;
    let request = read_request(&app, &caller, node, app.now()).await?;
    let forecast = app.engine.forecast(caller.account(), request.clone()).await?;
    let warnings = warnings::of_forecast(&request, &forecast, app.now());
    let (origin, people) = (deciders::origin(&caller), forecast.recipients);
    let demand = Forecasts::of(&app.engine).approval(caller.account(), request, origin, people).await?;
    let is_typed = demand.type_people_over.is_some_and(|over| people > over);
    let mut view = json!(forecast);
    view["approval"] = json!({"needs": demand.needs.name(), "type_people": is_typed});
    view["warnings"] = warnings::view(&warnings);
    Ok(Json(view).into_response())
}

async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &filter::NAMES)?;
    let limit = query.limit()?;
    let before = query.number_cursor()?.map(AlertNo);
    let (alerts, next) = found(&app, &caller, (before, limit), &AlertFilter::read(&query)?).await?;
    let items: Vec<Value> = alerts.iter().map(view::summary).collect();
    Ok(Json(json!({"items": items, "next": next.map(|no| cursor(no.0))})))
}

/// Alerts the caller may see, newest first, and where the next page begins.
pub(crate) async fn page(
    app: &App,
    caller: &Caller,
    before: Option<AlertNo>,
    limit: usize,
) -> HttpResult<(Vec<Alert>, Option<AlertNo>)> {
    found(app, caller, (before, limit), &AlertFilter::default()).await
}

/// The same of those that fit a filter. A page may have fewer than it could, where others have to be looked
/// through.
async fn found(
    app: &App,
    caller: &Caller,
    (mut before, limit): (Option<AlertNo>, usize),
    filter: &AlertFilter,
) -> HttpResult<(Vec<Alert>, Option<AlertNo>)> {
    let mut alerts = Vec::new();
    let mut seen = 0;
    let at_once = if filter.is_empty() { limit } else { limit.max(SCANNED_AT_ONCE) };
    loop {
        let slice = app.store.alerts_before(caller.account(), before, at_once).await?;
        let is_past = slice.last().is_some_and(|alert| filter.is_past(alert));
        let (ended, last) = (is_past || slice.len() < at_once, slice.last().map(|alert| alert.no));
        seen += slice.len();
        for alert in slice {
            let is_own = !caller.only_own() || alert.token == caller.token.id;
            if is_own && filter.fits(&alert) && scope::has(app, caller, &alert).await? {
                let no = alert.no;
                alerts.push(alert);
                if alerts.len() == limit {
                    return Ok((alerts, (!ended || Some(no) != last).then_some(no)));
                }
            }
        }
        if ended {
            return Ok((alerts, None));
        }
        before = last;
        if seen >= OWN_SCAN_MAX {
            return Ok((alerts, before));
        }
    }
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let alert = seen(&app, &caller, alert_id(&id)?).await?;
    Ok(([etag(u64::from(alert.version))], Json(view::alert(&alert))).into_response())
}

/// An alert's id in a path; anything else is not found.
pub(crate) fn alert_id(text: &str) -> HttpResult<AlertId> {
    text.parse().map_err(|reason: String| HttpProblem::new(ProblemKind::NotFound, reason))
}

/// An alert the caller may see.
pub(crate) async fn seen(app: &App, caller: &Caller, id: AlertId) -> HttpResult<Alert> {
    let alert = app.engine.alert(caller.account(), id).await?;
    if caller.only_own() && alert.token != caller.token.id {
        // In the words for an alert that is not there.
        return Err(EngineError::NotFound.into());
    }
    scope::check_alert(app, caller, &alert).await?;
    Ok(alert)
}

/// Like [`seen`], for a handler that calls the engine next: the engine checks the account itself.
pub(crate) async fn check_own(app: &App, caller: &Caller, id: AlertId) -> HttpResult<()> {
    if caller.only_own() || caller.user.is_some() {
        seen(app, caller, id).await?;
    }
    Ok(())
}

async fn deliveries(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    uri: Uri,
) -> HttpResult<Json<Value>> {
    let query = Query::read(&uri, &["state", "cursor", "limit"])?;
    let id = alert_id(&id)?;
    let state: Option<DeliveryState> = query.parsed("state")?;
    let from = EndpointNo(query.number_cursor()?.unwrap_or(0));
    check_own(&app, &caller, id).await?;
    let (items, next) = delivery_page(&app, &caller, id, (state, from), query.limit()?).await?;
    app.note_read(app.act(&caller, "deliveries.read", &id.to_string(), "")).await?;
    Ok(Json(json!({"items": items, "next": next.map(|no| cursor(no.0))})))
}

/// A page of an alert's deliveries and where the next begins; it reads one more than it shows, to recognise
/// the last page.
pub(crate) async fn delivery_page(
    app: &App,
    caller: &Caller,
    id: AlertId,
    (state, from): (Option<DeliveryState>, EndpointNo),
    limit: usize,
) -> HttpResult<(Vec<DeliveryView>, Option<EndpointNo>)> {
    let (mut items, next) = app.engine.deliveries(caller.account(), id, state, from, limit + 1).await?;
    match items.get(limit).map(|more| EndpointNo(more.endpoint)) {
        Some(more) => {
            items.truncate(limit);
            Ok((items, Some(more)))
        }
        None => Ok((items, next)),
    }
}

async fn report(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> HttpResult<Response> {
    let id = alert_id(&id)?;
    let wanted = negotiate(&headers, &["application/json", "text/csv", "application/xml"])?;
    check_own(&app, &caller, id).await?;
    let report = app.engine.report(caller.account(), id).await?;
    match wanted {
        "text/csv" => {
            app.note(app.act(&caller, "report.export", &id.to_string(), "text/csv")).await?;
            Ok(deliveries_csv(app, caller, id))
        }
        "application/xml" => {
            Ok(([(CONTENT_TYPE, "application/xml; charset=utf-8")], engine::report::xml(&report, None))
                .into_response())
        }
        _ => Ok(Json(&*report).into_response()),
    }
}

/// Every delivery a line, read in slices as the client takes them.
fn deliveries_csv(app: App, caller: Caller, id: AlertId) -> Response {
    let disposition = format!("attachment; filename=\"{id}.csv\"");
    let head = Some(engine::report::csv_header());
    let start = (app, caller, Some(EndpointNo(0)), head);
    let pieces = stream::unfold(start, move |(app, caller, from, head)| async move {
        if let Some(head) = head {
            return Some((Ok(head), (app, caller, from, None)));
        }
        let slice = app.engine.deliveries(caller.account(), id, None, from?, CSV_SLICE).await;
        Some(match slice {
            Ok((items, next)) => (Ok(engine::report::csv_rows(&items)), (app, caller, next, None)),
            Err(error) => (Err(io::Error::other(error)), (app, caller, None, None)),
        })
    });
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, disposition.as_str())];
    (headers, Body::from_stream(pieces)).into_response()
}

/// `POST /api/v1/alerts/{id}:verb`; the router has no syntax for text behind a capture.
async fn steer(
    State(app): State<App>,
    caller: Option<axum::Extension<Caller>>,
    Captured(id_and_verb): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let Some((id, word)) = id_and_verb.rsplit_once(':') else {
        // The check of methods has answered a POST without a verb, unless its colon is encoded.
        return Err(encoded_colon());
    };
    if approvals::VERBS.contains(&word) {
        let Some(axum::Extension(caller)) = caller else { return Err(encoded_colon()) };
        return approvals::decide(&app, &caller, (id, word), &headers, body).await;
    }
    if word == extension::VERB {
        let Some(axum::Extension(caller)) = caller else { return Err(encoded_colon()) };
        return Ok(extension::extend(&app, &caller, id, &headers, body).await?.into_response());
    }
    let Some((_, verb)) = STEER.iter().find(|(known, _)| *known == word) else {
        let verbs: Vec<&str> =
            STEER.iter().map(|(word, _)| *word).chain([extension::VERB]).chain(approvals::VERBS).collect();
        let word: String = word.chars().take(40).collect();
        let near = nearest(&word, &verbs).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let detail = format!("there is no verb {word:?}; known are {}{near}", verbs.join(", "));
        return Err(HttpProblem::new(ProblemKind::UnknownPath, detail));
    };
    // A request without a caller has a path that is in no row of the table, such as one with its colon
    // encoded.
    let Some(axum::Extension(caller)) = caller else { return Err(encoded_colon()) };
    let id = alert_id(id)?;
    let alert = seen(&app, &caller, id).await?;
    let act = app.act(&caller, &format!("alert.{word}"), &id.to_string(), "");
    let steering = async {
        match approvals::steering::confirmed(&app, &caller, &alert, *verb).await? {
            Some(waits) => Ok((StatusCode::ACCEPTED, waits)),
            None => app
                .engine
                .steer(caller.account(), id, *verb)
                .await
                .map(|alert| (StatusCode::OK, alert))
                .map_err(HttpProblem::from),
        }
    };
    let (status, alert) = app.noted(act, steering).await?;
    Ok((status, Json(view::summary(&alert))).into_response())
}

fn encoded_colon() -> HttpProblem {
    HttpProblem::new(ProblemKind::UnknownPath, "the colon before the verb must not be encoded")
}

async fn add_observer(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let id = alert_id(&id)?;
    let node = app.json(&headers, body).await?;
    let mut fields = Fields::default();
    let Some(request) = callback(node, "", &mut fields).filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    judge_callback(&app, Some(&request), "url")?;
    check_own(&app, &caller, id).await?;
    let _held = app.hold(caller.account(), &format!("observers of {id}")).await;
    if app.engine.observers(caller.account(), id).await?.len() >= OBSERVERS_MAX {
        return Err(HttpProblem::new(
            ProblemKind::WrongState,
            format!("the alert has {OBSERVERS_MAX} observers, which is the limit"),
        ));
    }
    let view = view::callback(&request);
    let act = app.act(&caller, "observer.add", &id.to_string(), "");
    let observer = app.noted(act, app.engine.add_observer(caller.account(), id, request)).await?;
    let location = format!("/api/v1/alerts/{id}/observers/{observer}");
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(observer_view(observer, view))).into_response())
}

fn observer_view(id: u64, mut callback: Value) -> Value {
    callback["id"] = id.to_string().into();
    callback
}

async fn observers(
    State(app): State<App>,
    caller: Caller,
    Captured(id): Captured,
) -> HttpResult<Json<Value>> {
    let id = alert_id(&id)?;
    check_own(&app, &caller, id).await?;
    let observers = app.engine.observers(caller.account(), id).await?;
    let items: Vec<Value> =
        observers.iter().map(|(id, request)| observer_view(*id, view::callback(request))).collect();
    Ok(Json(json!({"items": items, "next": null})))
}

async fn remove_observer(
    State(app): State<App>,
    caller: Caller,
    Captured((id, observer)): Captured<(String, String)>,
) -> HttpResult<StatusCode> {
    let id = alert_id(&id)?;
    let missing = || HttpProblem::new(ProblemKind::NotFound, "no such observer");
    let number = observer.parse().map_err(|_| missing())?;
    check_own(&app, &caller, id).await?;
    let known = app.engine.observers(caller.account(), id).await?;
    if !known.iter().any(|(known, _)| *known == number) {
        return Err(missing());
    }
    let act = app.act(&caller, "observer.remove", &id.to_string(), &observer);
    if !app.noted(act, app.engine.remove_observer(caller.account(), id, number)).await? {
        return Err(missing());
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn answer(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<StatusCode> {
    let node = app.json(&headers, body).await?;
    let mut fields = Fields::default();
    let given = Object::open(node, "", &["alert", "recipient", "address", "text"], &mut fields).and_then(
        |mut object| {
            let alert = object.needed_text("alert", 64, &mut fields);
            let alert = alert.and_then(|text| {
                crate::http::request::fields::noted(text.parse(), || "alert".into(), &mut fields)
            });
            let recipient = object.text("recipient", body::ENTRY_CHARS_MAX, &mut fields);
            let address = object.text("address", body::ENTRY_CHARS_MAX, &mut fields);
            let text = object.needed_text("text", ANSWER_CHARS_MAX, &mut fields);
            if recipient.is_some() == address.is_some() {
                fields.push("recipient", "either this or address is needed");
            }
            Some((alert?, recipient.or(address)?, text?))
        },
    );
    let Some((alert, who, text)) = given.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    seen(&app, &caller, alert).await?;
    let act = Act { person: Some(who.clone()), ..app.act(&caller, "answer", &alert.to_string(), &who) };
    app.noted(act, app.engine.answer_by_address(caller.account(), alert, &who, &text)).await?;
    Ok(StatusCode::NO_CONTENT)
}
