//! Table of status codes (RFC 3261, section 21; RFC 6432, RFC 8197, RFC 8688).

use super::causes::{
    CALL_REJECTED, NO_ANSWER as CAUSE_NO_ANSWER, NO_USER_RESPONDING, SUBSCRIBER_ABSENT, USER_BUSY,
};
use super::{
    BUSY_WAIT, CallOutcome, CallProgress, CallRequest, EndingClass, FAILURE_WAIT, NO_ANSWER_WAIT,
    PermanentFor, PersonEnding, RETRY_AFTER_MAX, RETRY_AFTER_MIN, ReasonProtocol, RouteTrouble,
};
use std::time::Duration;

/// Class, code and words of an ending, before what the other side said.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusRow {
    class: EndingClass,
    pub code: &'static str,
    pub short: &'static str,
    pub words: &'static str,
}

impl StatusRow {
    /// The class, with the wait that the other side asks for.
    pub fn class(&self, retry_after: Option<Duration>) -> EndingClass {
        let asked = retry_after.map(|wait| wait.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX));
        match (self.class, asked) {
            (EndingClass::Person(PersonEnding::Temporary { .. }), Some(retry_after)) => {
                EndingClass::Person(PersonEnding::Temporary { retry_after })
            }
            (EndingClass::Route(RouteTrouble::Unavailable { .. }), retry_after) => {
                EndingClass::Route(RouteTrouble::Unavailable { retry_after })
            }
            (class, _) => class,
        }
    }
}

const fn entry(
    class: EndingClass,
    code: &'static str,
    short: &'static str,
    words: &'static str,
) -> StatusRow {
    StatusRow { class, code, short, words }
}

const fn temporary(retry_after: Duration) -> EndingClass {
    EndingClass::Person(PersonEnding::Temporary { retry_after })
}

const PERMANENT: EndingClass = EndingClass::Person(PersonEnding::Permanent(PermanentFor::Number));
const FOR_CALLER: EndingClass = EndingClass::Person(PersonEnding::Permanent(PermanentFor::CallerNumber));
const DECLINED: EndingClass = EndingClass::Person(PersonEnding::Declined);
const SETUP: EndingClass = EndingClass::Route(RouteTrouble::Setup);

pub(super) const STOPPED: StatusRow =
    entry(EndingClass::NotTried, "voice:stopped", "stopped", "the alert was stopped before anybody answered");
pub(super) const NO_ANSWER: StatusRow = entry(
    temporary(NO_ANSWER_WAIT),
    "voice:no_answer",
    "no answer",
    "nobody answered; the number is called again later",
);
pub(super) const UNREACHABLE: StatusRow = entry(
    EndingClass::Route(RouteTrouble::Unreachable),
    "voice:route_unreachable",
    "the route does not answer",
    "the server of the route did not answer at all; check its address, the network and the firewall",
);
const BUSY: StatusRow =
    entry(temporary(BUSY_WAIT), "voice:busy", "busy", "the line is busy; the number is called again soon");
const OFF: StatusRow = entry(
    temporary(NO_ANSWER_WAIT),
    "voice:unavailable",
    "out of reach",
    "the telephone is switched off, out of reach or not registered; the number is called again later",
);
const REFUSED: StatusRow = entry(
    DECLINED,
    "voice:declined",
    "declined",
    "the person declined the call; the number is not called again in this cycle",
);
const BLOCKED: StatusRow = entry(
    EndingClass::Route(RouteTrouble::Blocked),
    "voice:blocked",
    "blocked by the carrier",
    "blocked by the carrier's analytics, not declined by the person (603+); ask the carrier that the answer \
     names for redress, and send by another route or caller number",
);
const FAILURE: StatusRow = entry(
    temporary(FAILURE_WAIT),
    "voice:failure",
    "failure on the way",
    "a failure on the way to this number; it is called again soon",
);
const UNKNOWN_NUMBER: StatusRow = entry(
    PERMANENT,
    "voice:unknown_number",
    "no such number",
    "the number does not exist; correct the person's number",
);
const INCOMPLETE: StatusRow = entry(
    PERMANENT,
    "voice:incomplete_number",
    "incomplete number",
    "the number is incomplete or has a wrong form; correct the person's number",
);
const GONE: StatusRow = entry(
    PERMANENT,
    "voice:gone",
    "number no longer in use",
    "the number is no longer in use, or has changed; ask the person for the new one",
);
const FORBIDDEN: StatusRow = entry(
    PERMANENT,
    "voice:forbidden",
    "refused for this number",
    "the carrier refuses calls to this number; check the number, and whether the contract covers its country",
);
const CALL_REFUSED: StatusRow = entry(
    DECLINED,
    "voice:call_rejected",
    "call rejected",
    "the call was rejected, by the person or by their network; the number is not called again in this cycle",
);
const BARRED: StatusRow = entry(
    PERMANENT,
    "voice:barred",
    "calls barred",
    "calls to this number are barred; reach the person by another device",
);
const CREDENTIALS: StatusRow = entry(
    EndingClass::Route(RouteTrouble::Credentials),
    "voice:credentials",
    "the route refuses its login",
    "the server of the route refuses our login; check user and password of the route with the carrier",
);
const OVERLOADED: StatusRow = entry(
    EndingClass::Route(RouteTrouble::Unavailable { retry_after: None }),
    "voice:route_unavailable",
    "the route takes no call now",
    "the server of the route takes no call now: too many calls a second or at once, or no service; lower the \
     route's rate and lines to what the contract allows",
);
const MEDIA: StatusRow = entry(
    EndingClass::Route(RouteTrouble::Media),
    "voice:media",
    "no common media",
    "the other side takes neither of our codecs (PCMA, PCMU) or our encryption; set the route's codecs and \
     SRTP as the carrier asks",
);
const REDIRECTED: StatusRow = entry(
    SETUP,
    "voice:redirected",
    "redirected too often",
    "the call was redirected again; have the carrier redirect at most once, or set the route to the server \
     that it names",
);
const LOOP: StatusRow = entry(
    SETUP,
    "voice:loop",
    "the call went in a circle",
    "servers sent the call in a circle; the carrier has to mend its routing, or the route's server is \
     our own",
);
const NOT_UNDERSTOOD: StatusRow = entry(
    SETUP,
    "voice:not_understood",
    "the request was not understood",
    "the server of the route does not take our request; check transport and options of the route with the \
     carrier",
);
const UNWANTED: StatusRow = entry(
    FOR_CALLER,
    "voice:unwanted",
    "unwanted from this caller number",
    "the person has marked this caller number as unwanted; reach the person by another device or caller \
     number",
);
const REJECTED: StatusRow = entry(
    FOR_CALLER,
    "voice:rejected",
    "rejected for this caller number",
    "a server on the way rejects this caller number; ask whom the answer names (Call-Info) for redress",
);
const NOWHERE: StatusRow = entry(
    PERMANENT,
    "voice:nowhere",
    "number exists nowhere",
    "the number exists nowhere; correct the person's number",
);

/// The row of a final status.
pub(super) fn row(outcome: &CallOutcome, status: u16) -> StatusRow {
    let cause = q850(outcome);
    match status {
        300..=399 => REDIRECTED,
        401 | 407 => CREDENTIALS,
        403 => forbidden(outcome, cause),
        404 => UNKNOWN_NUMBER,
        408 | 487 if outcome.progress == CallProgress::Nothing => UNREACHABLE,
        408 | 487 => NO_ANSWER,
        410 => GONE,
        415 | 488 | 606 => MEDIA,
        480 => by_cause(cause).unwrap_or(unavailable(outcome)),
        482 | 483 => LOOP,
        484 => INCOMPLETE,
        485 => by_cause(cause).unwrap_or(INCOMPLETE),
        486 | 600 => BUSY,
        400
        | 402
        | 405
        | 406
        | 412..=414
        | 416
        | 417
        | 420..=424
        | 428..=439
        | 440
        | 469
        | 481
        | 489
        | 494 => NOT_UNDERSTOOD,
        501 | 505 | 513 => by_cause(cause).unwrap_or(NOT_UNDERSTOOD),
        503 => by_cause(cause).unwrap_or(OVERLOADED),
        603 if is_blocked(outcome) => BLOCKED,
        603 => REFUSED,
        604 => NOWHERE,
        607 => UNWANTED,
        608 => REJECTED,
        _ => by_cause(cause).unwrap_or(FAILURE),
    }
}

fn q850(outcome: &CallOutcome) -> Option<u16> {
    let reason = outcome.reasons.iter().find(|reason| reason.protocol == ReasonProtocol::Q850)?;
    Some(reason.cause)
}

/// 480: it rang, or the telephone is not there.
fn unavailable(outcome: &CallOutcome) -> StatusRow {
    if outcome.progress == CallProgress::Ringing { NO_ANSWER } else { OFF }
}

/// A cause that says more of the person than the status.
fn by_cause(cause: Option<u16>) -> Option<StatusRow> {
    Some(match cause? {
        USER_BUSY => BUSY,
        NO_USER_RESPONDING | CAUSE_NO_ANSWER => NO_ANSWER,
        SUBSCRIBER_ABSENT => OFF,
        CALL_REJECTED => REFUSED,
        1 => UNKNOWN_NUMBER,
        22 => GONE,
        28 => INCOMPLETE,
        _ => return None,
    })
}

/// 403 is the login's where it answers one, else the number's; [`super::RouteWatch`] sees several in a row.
/// RFC 3398 maps causes 21, 55, 57 and 87 to it.
fn forbidden(outcome: &CallOutcome, cause: Option<u16>) -> StatusRow {
    match (outcome.request, cause) {
        (CallRequest::Register | CallRequest::InviteWithDigest, None) => CREDENTIALS,
        (CallRequest::Register, Some(_)) => CREDENTIALS,
        (_, Some(55 | 57 | 87)) => BARRED,
        (_, Some(CALL_REJECTED)) => CALL_REFUSED,
        (_, cause) => by_cause(cause).unwrap_or(FORBIDDEN),
    }
}

/// 603+ (47 CFR 64.1200(k)(9)): the phrase "Network Blocked", or a text of analytics at a cause.
fn is_blocked(outcome: &CallOutcome) -> bool {
    let says = |text: &str, word: &str| text.to_ascii_lowercase().contains(word);
    says(&outcome.phrase, "network blocked")
        || says(&outcome.phrase, "603+")
        || outcome.reasons.iter().any(|reason| says(&reason.text, "v=analytics"))
}
