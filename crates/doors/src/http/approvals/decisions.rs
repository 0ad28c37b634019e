//! Decisions about an alert: approve, return, reject, send alone, review.

use super::deciders::{self, Act, decider};
use super::{drafts, reviews};
use crate::http::alerts::view::summary;
use crate::http::alerts::{alert_id, seen};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::auth::signed_in::SignedInUser;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::{Object, number};
use crate::http::request::json::JsonNode;
use crate::http::request::query::{check_preconditions, etag};
use axum::Json;
use axum::body::{Body, HttpBody as _};
use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use axum::response::{IntoResponse, Response};
use engine::{ApprovalDecision, ApprovalVerb, EngineError};
use records::{Alert, EndedKind};

/// Verbs of an alert that are decisions.
pub(crate) const VERBS: [&str; 5] = ["approve", "return", "reject", "send-alone", "review"];
/// Characters of a reason.
pub(super) const REASON_CHARS_MAX: usize = 1_000;
/// Characters of the reason of who sends alone, at least.
const ALONE_CHARS_MIN: usize = 10;
/// People that somebody types.
const PEOPLE_MAX: f64 = 1e12;

/// `POST /api/v1/alerts/{id}:VERB` with one of [`VERBS`].
pub(crate) async fn decide(
    app: &App,
    caller: &Caller,
    (id, word): (&str, &str),
    headers: &HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let alert = seen(app, caller, alert_id(id)?).await?;
    let act = match word {
        "send-alone" => Act::SendAlone,
        "review" => Act::Review,
        _ => Act::Approve,
    };
    let note = app.act(caller, &format!("alert.{word}"), id, "");
    let user = match decider(app, caller, &alert, act).await {
        Ok(user) => user,
        // Who may not is noted too: the trail has every try.
        Err(refused) => return app.noted(note, async { Err(refused) }).await,
    };
    let version = u64::from(alert.version);
    let is_conditional = headers.contains_key(IF_MATCH);
    if word == "approve" && !is_conditional {
        let reason = format!("is needed: it says which version you read; this one is \"{version}\"");
        return Err(HttpProblem::field(ProblemKind::BadHeader, "If-Match", reason));
    }
    check_preconditions(headers, Some(version))?;
    let node = match body.is_end_stream() {
        true => JsonNode::Object(Vec::new()),
        false => app.json(headers, body).await?,
    };
    if word == "review" {
        return reviews::answer(app, caller, (user, &alert), node).await;
    }
    let verb = verb(word, node)?;
    if let (ApprovalVerb::Return { .. }, Some(kept)) = (&verb, returned_before(user, &alert)) {
        drafts::reopen(app, &alert, kept).await?;
        return Ok(shown(&alert));
    }
    let reason = reason_of(&verb).to_owned();
    let by = Some(deciders::person(user));
    let decision = ApprovalDecision { by, verb, version: is_conditional.then_some(alert.version) };
    let note = store::Act { detail: reason.clone(), ..note };
    let decided = app.noted(note, carry_out(app, (&alert, user), decision)).await?;
    if word == "return" {
        drafts::reopen(app, &decided, &reason).await?;
    }
    Ok(shown(&decided))
}

/// Has the engine carry out a decision. What is sent alone has its review before.
async fn carry_out(
    app: &App,
    (alert, user): (&Alert, &SignedInUser),
    decision: ApprovalDecision,
) -> HttpResult<Alert> {
    let is_alone = matches!(decision.verb, ApprovalVerb::SendAlone { .. });
    if is_alone {
        reviews::open(app, alert, user, reason_of(&decision.verb)).await?;
    }
    let decided = app.engine.decide(&alert.account, alert.id, decision).await;
    match &decided {
        Ok(_) if is_alone => app.alerts.approvals_wake.notify_one(),
        // Any other error leaves it open whether it was sent; who tells administrators finds out.
        Err(EngineError::Approval(_) | EngineError::WrongState { .. }) if is_alone => {
            reviews::withdraw(app, alert).await?;
        }
        _ => {}
    }
    Ok(decided?)
}

fn reason_of(verb: &ApprovalVerb) -> &str {
    match verb {
        ApprovalVerb::Return { reason }
        | ApprovalVerb::Reject { reason }
        | ApprovalVerb::SendAlone { reason, .. } => reason,
        _ => "",
    }
}

/// The reason of a return that this user made before.
fn returned_before<'a>(user: &SignedInUser, alert: &'a Alert) -> Option<&'a str> {
    let ended = alert.approval.as_ref()?.ended_by.as_ref()?;
    let by_me = ended.by.as_ref().is_some_and(|by| by.is_same_person(&deciders::person(user)));
    (ended.kind == EndedKind::Returned && by_me).then_some(ended.reason.as_str())
}

fn shown(alert: &Alert) -> Response {
    ([etag(u64::from(alert.version))], Json(summary(alert))).into_response()
}

/// Reads what a verb is sent with.
fn verb(word: &str, node: JsonNode) -> HttpResult<ApprovalVerb> {
    let mut fields = Fields::default();
    let known: &[&str] = match word {
        "approve" => &["people"],
        "send-alone" => &["reason", "people"],
        _ => &["reason"],
    };
    let object = Object::open(node, "", known, &mut fields);
    let read = object.and_then(|mut object| {
        let people = object.take("people").and_then(|node| number(&node, "people", 0.0, PEOPLE_MAX, &mut fields));
        let people = people.map(|people| people as u64);
        if word == "approve" {
            return Some(ApprovalVerb::Approve { people });
        }
        let reason = object.needed_text("reason", REASON_CHARS_MAX, &mut fields)?;
        Some(match word {
            "return" => ApprovalVerb::Return { reason },
            "reject" => ApprovalVerb::Reject { reason },
            _ => {
                let count = reason.trim().chars().count();
                if count < ALONE_CHARS_MIN {
                    let why = format!("has {count} characters; at least {ALONE_CHARS_MIN} say why nobody could be waited for");
                    fields.push("reason", why);
                }
                ApprovalVerb::SendAlone { reason, people }
            }
        })
    });
    read.filter(|_| fields.is_empty()).ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
}
