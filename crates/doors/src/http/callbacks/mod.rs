//! Callbacks of endpoints and carriers: a device reports on its delivery or answers, the carrier of an HTTP
//! route posts receipts and messages from people.
//!
//! `POST /w/{token}`; [`tokens`] makes and reads the tokens. Nothing else of the path's methods is there, so
//! that a scanner that opens every URL of a message records nothing.

#[cfg(test)]
mod tests;
pub(crate) mod tokens;

use crate::http::alerts::ANSWER_CHARS_MAX;
use crate::http::answer_page::form_pairs;
use crate::http::app::App;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body;
use crate::http::request::json::{self, JsonNode};
use crate::http::request::query::Captured;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use engine::{AnswerGiven, EngineError};
use records::{AlertNo, CallbackPurpose, CarrierCallback, EndpointNo, Receipt, ReceiptState, channel_key};
pub use tokens::CallbackTarget;

/// Octets of a callback: more than any carrier's batch of receipts.
const CALLBACK_OCTETS_MAX: usize = 256 * 1024;
/// Characters of a device's own words in a report; the rest is cut off.
const WORDS_CHARS_MAX: usize = 200;
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
/// Members of a report.
const MEMBERS: [&str; 3] = ["state", "answer", "text"];

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/w/{token}", post(take))
}

async fn take(
    State(app): State<App>,
    Captured(token): Captured,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<StatusCode> {
    let target = app.links.read_callback(&token).ok_or_else(wrong_url)?;
    let is_json = body::media_type(&headers, &[JSON, FORM])? == JSON;
    let octets = app.bodies.whole(&headers, body, CALLBACK_OCTETS_MAX).await?;
    match target {
        CallbackTarget::Delivery(alert, endpoint) => {
            let report = DeviceReport::read(&octets, is_json)?;
            report.record(&app, alert, endpoint).await?;
        }
        CallbackTarget::Route(route, purpose) => {
            let callback = carrier_callback(&app, purpose, octets, is_json)?;
            engine::Callbacks::of(&app.engine).take(&route, &callback).await.map_err(
                |error| match error {
                    EngineError::NotFound => wrong_url(),
                    error => error.into(),
                },
            )?;
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

fn wrong_url() -> HttpProblem {
    HttpProblem::new(ProblemKind::NotFound, "this callback URL is not one of this server")
}

/// A carrier's post that can be read; what its fields mean is known to the route's gateway.
fn carrier_callback(
    app: &App,
    purpose: CallbackPurpose,
    octets: Vec<u8>,
    is_json: bool,
) -> HttpResult<CarrierCallback> {
    match is_json {
        true => drop(json::parse(&octets)?),
        false => drop(form_pairs(&octets)?),
    }
    let body = String::from_utf8(octets)
        .map_err(|_| HttpProblem::new(ProblemKind::MalformedBody, "the body is not UTF-8"))?;
    Ok(CarrierCallback { purpose, is_json, body, at: app.now() })
}

/// What a device says of its delivery.
#[derive(Debug, Default, PartialEq, Eq)]
struct DeviceReport {
    state: Option<ReceiptState>,
    answer: Option<String>,
    /// Its own words.
    text: String,
}

impl DeviceReport {
    fn read(octets: &[u8], is_json: bool) -> HttpResult<DeviceReport> {
        let members = if is_json { json_members(octets)? } else { form_pairs(octets)? };
        let mut report = DeviceReport::default();
        let mut problems = Fields::default();
        for (name, value) in members {
            match name.as_str() {
                "state" => match state(&value) {
                    Some(state) => report.state = Some(state),
                    None => problems
                        .push("state", "must be \"accepted\", \"delivered\", \"failed\" or \"expired\""),
                },
                "answer" if value.trim().is_empty() || value.chars().count() > ANSWER_CHARS_MAX => {
                    problems.push("answer", format!("must have 1 to {ANSWER_CHARS_MAX} characters"));
                }
                "answer" => report.answer = Some(value),
                "text" => report.text = value.chars().take(WORDS_CHARS_MAX).collect(),
                other => problems.push(shortened(other), "is unknown: state, answer and text are known"),
            }
        }
        if problems.is_empty() && report.state.is_none() && report.answer.is_none() {
            problems.push("state", "is needed, or answer");
        }
        unless_any(problems, report)
    }

    /// Resolves when all of it is on disk.
    async fn record(self, app: &App, alert: AlertNo, endpoint: EndpointNo) -> HttpResult<()> {
        if let Some(state) = self.state {
            let receipt = Receipt {
                // The submission has the route: the key leads there.
                route: String::new(),
                keys: vec![channel_key(channels::WEBHOOK, alert, endpoint)],
                id: String::new(),
                state,
                text: self.text,
                at: app.now(),
            };
            engine::Callbacks::of(&app.engine).report(receipt).await?;
        }
        if let Some(text) = self.answer {
            app.engine.answer(AnswerGiven { alert, endpoint, text, via: "webhook".to_owned() }).await?;
        }
        Ok(())
    }
}

/// A device's words for a state of its delivery.
fn state(word: &str) -> Option<ReceiptState> {
    match word {
        "accepted" => Some(ReceiptState::Buffered),
        "delivered" => Some(ReceiptState::Delivered),
        "failed" => Some(ReceiptState::Failed),
        "expired" => Some(ReceiptState::Expired),
        _ => None,
    }
}

/// Members of an object as texts; numbers as they are written.
fn json_members(octets: &[u8]) -> HttpResult<Vec<(String, String)>> {
    let JsonNode::Object(members) = json::parse(octets)? else {
        return Err(HttpProblem::new(ProblemKind::MalformedBody, "the body is not a JSON object"));
    };
    let mut texts = Vec::with_capacity(members.len());
    let mut problems = Fields::default();
    for (name, node) in members {
        match node {
            JsonNode::Text(text) => texts.push((name, text)),
            JsonNode::Number(number) => texts.push((name, number.to_string())),
            // Said by leaving it out, too.
            JsonNode::Null if MEMBERS.contains(&name.as_str()) => {}
            other => problems.push(shortened(&name), format!("must be a string, not {}", other.kind())),
        }
    }
    unless_any(problems, texts)
}

fn unless_any<T>(problems: Fields, value: T) -> HttpResult<T> {
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(HttpProblem::fields(ProblemKind::InvalidFields, problems))
    }
}

/// A member's name that somebody else chose.
fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}
