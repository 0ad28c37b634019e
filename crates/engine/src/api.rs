//! Interface of the engine for doors and the composition root.

mod report;

pub use report::*;

use crate::approval::{ApprovalPolicy, ApprovalRefusal};
use records::{
    Alert, AlertNo, AlertRequest, Answer, ApprovalPerson, Body, EndpointNo, MessageClient, MessagePreview,
    Mode, Origin, PreviewSource, Route, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything the engine needs from outside.
#[derive(Clone)]
pub struct Parts {
    /// Topics.
    pub bus: Arc<dyn bus::Bus>,
    /// SQL.
    pub store: store::SharedStore,
    /// Ways out, as configured.
    pub routes: Vec<Route>,
    /// What a rendering costs.
    pub weigher: Arc<dyn UnitsEstimator>,
    /// Answer links.
    pub links: Arc<dyn Links>,
    /// The wall clock, injected.
    pub clock: Clock,
    /// Rules with numbers.
    pub settings: Settings,
    /// Clients that hand in messages and get those of people to their numbers.
    pub clients: Vec<MessageClientSettings>,
    /// Compiled texts of alerts.
    pub texts: crate::dispatch::TextCache,
    /// People of accounts in memory: empty at a start.
    pub directory: crate::directory::DirectoryCache,
}

impl Parts {
    /// The wall clock.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

/// A platform that hands in messages, by SMPP or the old HTTP way, and the messages of people it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageClientSettings {
    /// The client.
    pub client: MessageClient,
    /// Whose messages they are.
    pub account: String,
    /// Live or drill.
    pub mode: Mode,
    /// Our numbers, or beginnings of them, whose messages it gets; empty: any that no other client names.
    pub numbers: Vec<String>,
    /// Routes whose messages it gets; empty: all.
    pub routes: Vec<String>,
    /// Where messages from people go, with escapes, for a platform of the old HTTP way.
    pub callback: Option<String>,
    /// A text in the answer to the callback goes back to the person.
    pub replies: bool,
}

/// Words by which people say that they want no more messages, want them again, or want to know what to do,
/// beside the reserved ones, which always hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Keywords {
    /// The first that fits counts; those limited to the number it was said to go before the others.
    pub list: Vec<Keyword>,
    /// One person is told the same so often at most, seconds.
    pub confirm_every_s: u32,
    /// How far a stop goes.
    pub opt_out: OptOutRules,
    /// What people may do from their devices.
    pub services: Arc<crate::services::ServiceRules>,
}

/// How far a stop goes, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OptOutRules {
    /// A reserved word holds for the sender it was said to alone; STOP ALL for all of them.
    pub by_sender: bool,
    /// Alerts of priority emergency reach also those who said stop.
    pub emergencies_override: bool,
    /// The region of numbers that networks and platforms write without a country code.
    pub numbers: channels::Defaults,
    /// Our numbers and names that short messages without a sender of their own show.
    pub senders: Vec<(Mode, String)>,
}

/// One meaning, in one language, with what is said back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyword {
    /// What follows.
    pub action: KeywordAction,
    /// What people type: the whole message, whatever the case and the punctuation after it.
    pub words: Vec<String>,
    /// Only when it is said to one of these numbers or names of ours; then it holds for that one alone.
    /// Empty: any, for all.
    pub senders: Vec<String>,
    /// The language of `words` and `reply`, as a BCP 47 tag.
    pub language: Option<String>,
    /// What is said back; nothing: nothing is.
    pub reply: Option<String>,
    /// With [`KeywordAction::Url`]: what is fetched, with escapes.
    pub url: Option<String>,
}

/// What a keyword does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeywordAction {
    /// No more messages.
    Stop,
    /// Messages again.
    Start,
    /// Only the reply.
    Help,
    /// Only the reply, whatever the word.
    Text,
    /// What a URL answers.
    Url,
}

impl KeywordAction {
    /// It goes before everything else that a message could be.
    pub(crate) fn is_reserved(self) -> bool {
        matches!(self, KeywordAction::Stop | KeywordAction::Start)
    }
}

impl Default for Keywords {
    fn default() -> Self {
        Keywords {
            list: Vec::new(),
            confirm_every_s: 86_400,
            opt_out: OptOutRules::default(),
            services: Arc::default(),
        }
    }
}

/// The wall clock as a function, so that tests own time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Knows how many units of its route's rate (for SMS: parts) a rendering costs. Gateways know; the engine
/// does not.
pub trait UnitsEstimator: Send + Sync {
    /// At least 1.
    fn units(&self, route: &Route, body: &Body) -> u32;

    /// So many units one message may have on this route: what has more cannot be sent.
    fn units_max(&self, _route: &Route) -> u32 {
        u32::MAX
    }

    /// How a message reads as this route writes it.
    fn preview(&self, _route: &Route, source: &PreviewSource<'_>) -> MessagePreview {
        MessagePreview::as_it_is(source)
    }
}

/// A link to a person's own page holds for so long, in seconds: 30 days.
pub const PAGE_LINK_S: i64 = 30 * 86_400;

/// A keyed hash, of 96 bits.
pub type KeyedHash = [u8; 12];

/// Makes the link behind which a person answers.
pub trait Links: Send + Sync {
    /// Nothing if no public address is configured.
    fn link(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String>;

    /// A link to a person's own page, by account and recipient id; it holds for [`PAGE_LINK_S`] from now on.
    /// Nothing if no public address is configured.
    fn page(&self, _account: &str, _recipient: &str, _now: Timestamp) -> Option<String> {
        None
    }

    /// A hash of these pieces, which only who has the key of the links can make: of codes and of names, where
    /// they themselves are not to stand. Pieces of another purpose have other hashes.
    fn keyed_hash(&self, purpose: &str, pieces: &[&[u8]]) -> KeyedHash;
}

/// Rules with numbers; each is a key of the config's `[engine]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Waits before the second, third, … try after a temporary failure, seconds.
    pub retry_after_s: Vec<u32>,
    /// With `first-reachable`: no receipt for so long means the next device, seconds.
    pub receipt_timeout_s: u32,
    /// Endpoints of one alert at most.
    pub endpoints_max: u32,
    /// A finished alert stays in memory for so long, seconds, so that late receipts and answers are cheap.
    pub linger_s: u32,
    /// Carrier ids are kept so long, seconds.
    pub carrier_ids_s: u32,
    /// Words people stop and start messages with.
    pub keywords: Keywords,
    /// Which alerts others have to approve.
    pub approval: ApprovalPolicy,
    /// Others that take the topic of outcomes in, each by a consumer group of this name: it is kept until
    /// they have.
    pub outcome_groups: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            retry_after_s: vec![30, 120, 600, 1800],
            receipt_timeout_s: 120,
            endpoints_max: 5_000_000,
            linger_s: 600,
            carrier_ids_s: 3 * 86_400,
            keywords: Keywords::default(),
            approval: ApprovalPolicy::default(),
            outcome_groups: Vec::new(),
        }
    }
}

/// An alert that a door wants accepted: parsed, valid in itself, of an authenticated sender.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The token's account.
    pub account: String,
    /// The token's id.
    pub token: String,
    /// Who wrote it, the first submits it; none: a program did.
    pub authors: Vec<ApprovalPerson>,
    /// What is asked for.
    pub request: AlertRequest,
    /// By which door.
    pub origin: Origin,
    /// The client's key, if it sent one.
    pub key: Option<store::IdempotencyKey>,
    /// Wait until it is solved.
    pub wait_solved: bool,
    /// Noted in the audit trail together with the alert, if it is new: both are on record, or neither.
    pub note: Option<store::Act>,
}

/// What became of a draft.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// As accepted.
    pub alert: Alert,
    /// False: the same request under the same key came before, and this is what it became.
    pub fresh: bool,
    /// Known once it is solved.
    pub endpoints: Option<u32>,
    /// What was odd and did not stop it.
    pub problems: Vec<Problem>,
}

/// Something wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Such as `audience[2]`.
    pub field: String,
    /// In words, with the limit where there is one.
    pub reason: String,
}

/// Why the engine said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineError {
    /// The request cannot be carried out as it stands; each field is named. HTTP 422.
    Unprocessable(Vec<Problem>),
    /// The idempotency key came before with another body. HTTP 422.
    KeyTaken,
    /// No such alert. HTTP 404.
    NotFound,
    /// The alert's state does not allow it. HTTP 409.
    WrongState {
        /// The state it is in.
        state: &'static str,
        /// What was asked.
        verb: &'static str,
    },
    /// A decision about an alert that waits for approval does not count. HTTP 403, 412, 422 or 409.
    Approval(ApprovalRefusal),
    /// The disk is full. HTTP 507.
    DiskFull,
    /// Too much is waiting; try again later. HTTP 429 or 503.
    Busy(String),
    /// Store or bus failed, in their words. HTTP 500.
    Internal(String),
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EngineError::Unprocessable(problems) => {
                let list: Vec<String> =
                    problems.iter().map(|p| format!("{}: {}", p.field, p.reason)).collect();
                f.write_str(&list.join("; "))
            }
            EngineError::KeyTaken => {
                f.write_str("this Idempotency-Key was used with another body in the last 24 hours")
            }
            EngineError::NotFound => f.write_str("no such alert"),
            EngineError::WrongState { state, verb } => write!(f, "cannot {verb} an alert that is {state}"),
            EngineError::Approval(refusal) => std::fmt::Display::fmt(refusal, f),
            EngineError::DiskFull => {
                f.write_str("the disk is full: nothing was accepted; free some room and try again")
            }
            EngineError::Busy(why) | EngineError::Internal(why) => f.write_str(why),
        }
    }
}
impl std::error::Error for EngineError {}

/// What a sender can tell a running alert to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steer {
    /// Stop for good.
    Cancel,
    /// Stop for now.
    Pause,
    /// Go on.
    Resume,
    /// Try what failed again, and nothing else.
    RetryFailed,
}

impl Steer {
    /// All of them.
    pub const ALL: [Steer; 4] = [Steer::Cancel, Steer::Pause, Steer::Resume, Steer::RetryFailed];
    /// As a sentence has it: "cannot VERB an alert".
    pub fn name(self) -> &'static str {
        match self {
            Steer::Cancel => "cancel",
            Steer::Pause => "pause",
            Steer::Resume => "resume",
            Steer::RetryFailed => "retry what failed of",
        }
    }
}

/// What a live view is told.
#[derive(Debug, Clone)]
pub enum Event {
    /// How far it is, at most four times a second.
    Progress(Arc<Report>),
    /// Somebody answered.
    Answer {
        /// The delivery.
        endpoint: EndpointNo,
        /// What they said.
        answer: Answer,
    },
    /// It is over; the last event.
    Done(Arc<Report>),
}

/// An answer given by link or API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerGiven {
    /// Which alert.
    pub alert: AlertNo,
    /// Which delivery.
    pub endpoint: EndpointNo,
    /// A choice's key, or free text, at most 1,000 characters.
    pub text: String,
    /// `link` or `api`.
    pub via: String,
}
