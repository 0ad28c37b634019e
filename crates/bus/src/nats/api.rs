//! Questions to JetStream's API and its answers: JSON over requests. What is asked and what comes back is in
//! the servers' own words (ADR-1 and the schemas of `io.nats.jetstream.api.v1`).

use super::link::NatsLink;
use super::{ANSWERED_WITHIN, BusError};
use async_nats::HeaderMap;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::{Duration, Instant};

/// One try of a question. A failover answers nothing for seconds; then the same is asked again.
pub const TRY_WITHIN: Duration = Duration::from_secs(3);
/// Pause before the same is tried again.
pub const TRY_AGAIN_AFTER: Duration = Duration::from_millis(60);

/// Numbers of JetStream's errors (server/errors.json).
pub mod code {
    /// Over the account's limit.
    pub const ACCOUNT_RESOURCES_EXCEEDED: u32 = 10_002;
    /// No servers to place it on (yet).
    pub const CLUSTER_NO_PEERS: u32 = 10_005;
    /// No leader at the moment.
    pub const CLUSTER_NOT_AVAILABLE: u32 = 10_008;
    /// The one asked does not lead any more.
    pub const CLUSTER_NOT_LEADER: u32 = 10_009;
    /// The consumer's name is taken.
    pub const CONSUMER_NAME_EXISTS: u32 = 10_013;
    /// No such consumer.
    pub const CONSUMER_NOT_FOUND: u32 = 10_014;
    /// No message there.
    pub const NO_MESSAGE_FOUND: u32 = 10_037;
    /// No room.
    pub const STORAGE_RESOURCES_EXCEEDED: u32 = 10_047;
    /// The server's disk, or what it may use of it, is full.
    pub const INSUFFICIENT_RESOURCES: u32 = 10_023;
    /// The stream's name is taken, kept in another way.
    pub const STREAM_NAME_EXISTS: u32 = 10_058;
    /// No such stream.
    pub const STREAM_NOT_FOUND: u32 = 10_059;
    /// `Nats-Expected-Last-Msg-Id` is another.
    pub const WRONG_LAST_MESSAGE_ID: u32 = 10_070;
    /// `Nats-Expected-Last-Sequence` is another.
    pub const WRONG_LAST_SEQUENCE: u32 = 10_071;
    /// JetStream is off.
    pub const NOT_ENABLED: u32 = 10_076;
    /// The store refused, with its words.
    pub const STORE_FAILED: u32 = 10_077;
    /// The consumer exists, kept in another way.
    pub const CONSUMER_EXISTS: u32 = 10_148;
    /// The same message is being stored at this moment.
    pub const DUPLICATE_IN_PROCESS: u32 = 10_158;
    /// A batch whose beginning the leader does not know (any more).
    pub const BATCH_INCOMPLETE: u32 = 10_176;
    /// A batch holds a message that is there already.
    pub const BATCH_HOLDS_DUPLICATE: u32 = 10_201;
}

/// Why an answer is none.
#[derive(Debug, Clone)]
pub enum ApiFailure {
    /// Nobody answered: whether it was done is not known.
    Silent(String),
    /// There has been no connection for so long that nobody waits for one, with the words for people.
    Away(String),
    /// The servers say no.
    Refused(ApiRefusal),
    /// The bus is closing.
    Closed,
}

/// What they say.
#[derive(Debug, Clone, Deserialize)]
pub struct ApiRefusal {
    /// As in HTTP: 503 passes.
    #[serde(default)]
    pub code: u16,
    /// See [`code`].
    #[serde(default)]
    pub err_code: u32,
    /// In words.
    #[serde(default)]
    pub description: String,
}

impl ApiRefusal {
    /// The server, the account or the stream holds as much as it may.
    pub fn has_no_room(&self) -> bool {
        matches!(
            self.err_code,
            code::ACCOUNT_RESOURCES_EXCEEDED
                | code::STORAGE_RESOURCES_EXCEEDED
                | code::INSUFFICIENT_RESOURCES
        ) || ["no space left", "maximum bytes exceeded", "maximum messages exceeded"]
            .iter()
            .any(|words| self.description.contains(words))
    }
}

impl ApiFailure {
    /// It may go better in a moment.
    pub fn passes(&self) -> bool {
        match self {
            ApiFailure::Silent(_) => true,
            ApiFailure::Closed | ApiFailure::Away(_) => false,
            // Room comes back when somebody makes some: who waits is told.
            ApiFailure::Refused(refusal) if refusal.has_no_room() => false,
            ApiFailure::Refused(refusal) => {
                matches!(refusal.code, 429 | 503) && refusal.err_code != code::NOT_ENABLED
                    || matches!(
                        refusal.err_code,
                        code::CLUSTER_NO_PEERS
                            | code::CLUSTER_NOT_AVAILABLE
                            | code::CLUSTER_NOT_LEADER
                            | code::DUPLICATE_IN_PROCESS
                            | code::BATCH_INCOMPLETE
                    )
            }
        }
    }

    /// It is this refusal.
    pub fn is(&self, number: u32) -> bool {
        matches!(self, ApiFailure::Refused(refusal) if refusal.err_code == number)
    }

    /// As an error of the bus, of something asked about `what`.
    pub fn into_error(self, what: &str) -> BusError {
        match self {
            ApiFailure::Closed => BusError::Closed,
            ApiFailure::Away(why) => BusError::Unreachable { why },
            ApiFailure::Silent(heard) => BusError::Unreachable { why: format!("{what}: {heard}") },
            ApiFailure::Refused(refusal) => {
                let no_room = refusal.has_no_room();
                let said = format!("{what}: {} ({})", refusal.description, refusal.err_code);
                match refusal.err_code {
                    _ if no_room => BusError::DiskFull { topic: what.to_owned() },
                    code::NOT_ENABLED => BusError::Unfit { why: format!("{said}: enable JetStream there") },
                    code::STORE_FAILED => BusError::Io { topic: what.to_owned(), why: refusal.description },
                    _ if matches!(refusal.code, 429 | 503) => BusError::Unreachable { why: said },
                    code::CLUSTER_NO_PEERS | code::CLUSTER_NOT_LEADER | code::BATCH_INCOMPLETE => {
                        BusError::Unreachable { why: said }
                    }
                    _ => BusError::Io { topic: what.to_owned(), why: said },
                }
            }
        }
    }
}

/// Asks once. The answer as JSON, or what went wrong.
pub async fn ask_once(link: &NatsLink, subject: &str, question: &Value) -> Result<Value, ApiFailure> {
    ask_within(link, subject, question, TRY_WITHIN).await
}

/// The same within a time.
pub async fn ask_within(
    link: &NatsLink,
    subject: &str,
    question: &Value,
    within: Duration,
) -> Result<Value, ApiFailure> {
    let payload = if question.is_null() { Bytes::new() } else { Bytes::from(question.to_string()) };
    let answer = link.request(subject, HeaderMap::new(), payload, within).await?;
    let mut answer: Value = serde_json::from_slice(&answer.payload)
        .map_err(|error| ApiFailure::Silent(format!("an answer that is no JSON: {error}")))?;
    match answer.get_mut("error").map(Value::take) {
        None => Ok(answer),
        Some(error) => Err(ApiFailure::Refused(read(error)?)),
    }
}

/// Asks until there is an answer that will not change in a moment, at most for [`ANSWERED_WITHIN`].
pub async fn ask(link: &NatsLink, subject: &str, question: &Value) -> Result<Value, ApiFailure> {
    let until = Instant::now() + ANSWERED_WITHIN;
    loop {
        match ask_once(link, subject, question).await {
            Err(fault) if fault.passes() && Instant::now() < until => {
                tokio::time::sleep(TRY_AGAIN_AFTER).await
            }
            heard => return heard,
        }
    }
}

/// A part of an answer as what it is.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, ApiFailure> {
    serde_json::from_value(value)
        .map_err(|error| ApiFailure::Silent(format!("an answer of another form: {error}")))
}
