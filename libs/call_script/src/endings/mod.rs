//! End of a call attempt, classified: the person's, the route's, neither's.
//!
//! [`CallOutcome`] has what SIP said and what came before; [`classify`] makes an [`AttemptEnding`] of it.
//! [`AttemptEnding::of_report`] does the same for a call that was answered.
//!
//! A final status code names the class (RFC 3261, section 21). Where it says little (480, 5xx, 403), a cause
//! of Q.850 in its `Reason` header says more (RFC 3326, RFC 3398). Every cause is said in words.

mod causes;
mod route_watch;
mod statuses;
#[cfg(test)]
mod tests;

pub use causes::{
    CALL_REJECTED, NO_ANSWER, NO_USER_RESPONDING, NORMAL_CLEARING, SUBSCRIBER_ABSENT, USER_BUSY, cause_words,
    status_of_cause,
};
pub use route_watch::{FORBIDDEN_IN_A_ROW, RouteWatch};

use crate::script::ScriptReport;
use std::time::Duration;

/// Wait after a busy line.
pub const BUSY_WAIT: Duration = Duration::from_secs(60);
/// Wait after nobody answered.
pub const NO_ANSWER_WAIT: Duration = Duration::from_secs(180);
/// Wait after a failure on the way to this number.
pub const FAILURE_WAIT: Duration = Duration::from_secs(60);
/// Bounds of a wait that the other side asks for by Retry-After.
pub const RETRY_AFTER_MIN: Duration = Duration::from_secs(10);
/// As [`RETRY_AFTER_MIN`].
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
/// Characters of the other side's words in an ending.
pub const QUOTE_MAX: usize = 120;

/// Protocol of a value of a `Reason` header (RFC 3326).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasonProtocol {
    /// A status code.
    Sip,
    /// A cause of ITU-T Q.850.
    Q850,
}

/// One value of a `Reason` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonValue {
    /// Its protocol.
    pub protocol: ReasonProtocol,
    /// Its cause.
    pub cause: u16,
    /// Its text; empty where it has none.
    pub text: String,
}

/// Request whose end is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRequest {
    /// The first INVITE of a call.
    Invite,
    /// An INVITE that answers a challenge (401, 407).
    InviteWithDigest,
    /// A registration.
    Register,
}

/// Final event of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalEvent {
    /// A final answer that is no 2xx.
    Status(u16),
    /// We sent CANCEL, since nobody answered in time; then came this status, if any.
    RungOut(Option<u16>),
    /// We sent CANCEL, or did not begin, since the alert was stopped.
    Stopped,
    /// Nothing came at all (timer B, or the connection failed).
    Silence,
}

/// Progress of a call before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallProgress {
    /// No answer, not even 100.
    Nothing,
    /// 100, 182 or 183.
    Trying,
    /// 180.
    Ringing,
}

/// Everything that is known of an attempt that was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// The request.
    pub request: CallRequest,
    /// Progress before the end.
    pub progress: CallProgress,
    /// The end.
    pub event: FinalEvent,
    /// Reason phrase of the status line; empty where there is none.
    pub phrase: String,
    /// Values of `Reason` headers.
    pub reasons: Vec<ReasonValue>,
    /// Retry-After.
    pub retry_after: Option<Duration>,
}

/// Scope of a permanent ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermanentFor {
    /// The called number: it is not to be called again.
    Number,
    /// The called number from this caller number (RFC 8197, RFC 8688).
    CallerNumber,
}

/// Ending that is a matter of the person or their telephone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonEnding {
    /// Another call may succeed.
    Temporary {
        /// Wait before it.
        retry_after: Duration,
    },
    /// The person refused this call: never twice in a cycle.
    Declined,
    /// Another call would end alike.
    Permanent(PermanentFor),
}

/// Trouble of a route: other numbers would end alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteTrouble {
    /// 401 or 407 again, or 403 to a registration or to a digest.
    Credentials,
    /// 503: too many calls, or no service.
    Unavailable {
        /// Wait that it asks for.
        retry_after: Option<Duration>,
    },
    /// The carrier blocks calls of this caller number by analytics (603+).
    Blocked,
    /// Several numbers in a row with 403.
    Forbidden,
    /// The SIP of the route is set up wrongly: transport, loop, session timer, redirection.
    Setup,
    /// No common media.
    Media,
    /// Nothing came back.
    Unreachable,
}

/// Class of an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingClass {
    /// Somebody or something answered the call.
    Answered {
        /// A key was pressed: a person has it. Without one the next device follows.
        reached: bool,
    },
    /// A matter of the person or their telephone.
    Person(PersonEnding),
    /// A matter of the route.
    Route(RouteTrouble),
    /// The alert was stopped: the attempt counts as not tried.
    NotTried,
}

/// End of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptEnding {
    /// Its class.
    pub class: EndingClass,
    /// Stable: `voice:busy`.
    pub code: &'static str,
    /// The same for people: "busy".
    pub short: &'static str,
    /// What happened, what it means, what to do.
    pub words: String,
}

/// Classifies an attempt that was not answered.
pub fn classify(outcome: &CallOutcome) -> AttemptEnding {
    let row = match outcome.event {
        FinalEvent::Stopped => statuses::STOPPED,
        FinalEvent::RungOut(None | Some(487 | 408 | 480)) => statuses::NO_ANSWER,
        FinalEvent::Silence if outcome.progress == CallProgress::Nothing => statuses::UNREACHABLE,
        FinalEvent::Silence => statuses::NO_ANSWER,
        // The call ended by itself while our CANCEL was under way.
        FinalEvent::RungOut(Some(status)) | FinalEvent::Status(status) => statuses::row(outcome, status),
    };
    let class = row.class(outcome.retry_after);
    AttemptEnding { class, code: row.code, short: row.short, words: words(outcome, &row) }
}

impl AttemptEnding {
    /// The ending of a call that was answered.
    pub fn of_report(report: &ScriptReport) -> AttemptEnding {
        let ending = |reached, code, short, words: String| AttemptEnding {
            class: EndingClass::Answered { reached },
            code,
            short,
            words,
        };
        match report {
            ScriptReport::Answer { key, label } => {
                ending(true, "voice:answer", "answered by key", format!("pressed {key}: {label}"))
            }
            ScriptReport::Played { times: 0 } => ending(
                true,
                "voice:heard_in_part",
                "a key, but no answer",
                "a key was pressed, but the call ended before the text did".to_owned(),
            ),
            ScriptReport::Played { times } => ending(
                true,
                "voice:heard",
                "heard without an answer",
                format!("played {}; a key was pressed, but no choice", count_words(*times)),
            ),
            ScriptReport::NoKey { times, perhaps_machine } => {
                let (code, short, words) = no_key(*times, *perhaps_machine);
                ending(false, code, short, words)
            }
            ScriptReport::PinFailed => ending(
                false,
                "voice:pin_failed",
                "wrong PIN",
                "answered by somebody without the PIN; the text was not played".to_owned(),
            ),
            ScriptReport::DoNotCall => AttemptEnding {
                class: EndingClass::Person(PersonEnding::Permanent(PermanentFor::Number)),
                code: "voice:do_not_call",
                short: "wants no calls",
                words: "pressed 7 twice: this number is not called again; reach the person by another device"
                    .to_owned(),
            },
        }
    }

    /// A person has the message: the next device need not follow.
    pub fn is_reached(&self) -> bool {
        self.class == EndingClass::Answered { reached: true }
    }
}

/// Code, short and long words of a call without a key.
fn no_key(times: u8, perhaps_machine: bool) -> (&'static str, &'static str, String) {
    let tail = if perhaps_machine { "it seemed to be a machine" } else { "perhaps a machine" };
    match times {
        0 if !perhaps_machine => (
            "voice:hung_up",
            "hung up before the end of the text",
            "answered, but the call ended before the text did".to_owned(),
        ),
        0 => ("voice:no_key", "no key", format!("the text was not played to its end, no key; {tail}")),
        times => ("voice:no_key", "no key", format!("played {}, no key; {tail}", count_words(times))),
    }
}

/// "once", "twice", "3 times".
pub(crate) fn count_words(count: u8) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// The row's words, then what the other side said: status line, causes, texts.
fn words(outcome: &CallOutcome, row: &statuses::StatusRow) -> String {
    let mut words = row.words.to_owned();
    let mut said = Vec::new();
    if let FinalEvent::Status(status) | FinalEvent::RungOut(Some(status)) = outcome.event {
        said.push(format!("SIP {status} {}", quote(&outcome.phrase)).trim_end().to_owned());
    }
    for reason in &outcome.reasons {
        let (cause, text) = (reason.cause, quote(&reason.text));
        let mut entry = match (reason.protocol, cause_words(cause)) {
            (ReasonProtocol::Q850, Some(known)) => format!("cause {cause}: {known}"),
            (ReasonProtocol::Q850, None) => format!("cause {cause}"),
            (ReasonProtocol::Sip, _) => format!("reason SIP {cause}"),
        };
        if !text.is_empty() {
            entry.push_str(&format!(" ({text})"));
        }
        said.push(entry);
    }
    if !said.is_empty() {
        words.push_str(&format!(" [{}]", said.join("; ")));
    }
    words
}

/// The other side's words without controls, and not too long.
fn quote(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(QUOTE_MAX).collect()
}
