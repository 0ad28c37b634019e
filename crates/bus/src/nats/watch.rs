//! Watch over the servers: whether they answer, have room, and still have our streams. A connection says
//! nothing of a cluster without a leader, so JetStream is asked.

use super::api::{self, ApiFailure, code};
use super::link::{NatsLink, asked_of_client, whole};
use super::{lock, words};
use async_nats::connection::State;
use serde_json::Value;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(600);
/// JetStream answers within this.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// What is wrong is heard within this.
const HEARD_WITHIN: Duration = Duration::from_millis(600);
/// So many looks without an answer, and the servers count as gone.
const LOOKS_LOST_MAX: usize = 2;
/// Where nothing listens for so long, nobody waits for a connection any more: a failover takes less.
const AWAY_AFTER: Duration = Duration::from_secs(5);
/// The same where nobody answers: a machine that stands still may go on, and appends with it.
const SILENT_AFTER: Duration = Duration::from_secs(15);
/// Nobody has met trouble for so long: there is none.
const QUIET: Duration = Duration::from_secs(3);
/// So many streams are looked after: those of the topics that were opened first, which are the server's own.
const STREAMS_MAX: usize = 16;
/// At every so many looks: sooner than trouble with them is forgotten.
const STREAMS_EVERY: u64 = 3;

/// Looks until the bus closes.
pub async fn run(link: Weak<NatsLink>) {
    let mut lost = 0;
    for turn in 0_u64.. {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(link) = link.upgrade() else { return };
        if link.is_closed() {
            return;
        }
        let looked = link.look(turn).await;
        lost = if matches!(looked, Look::Lost(_)) { lost + 1 } else { 0 };
        link.answers.store(lost < LOOKS_LOST_MAX, Ordering::Relaxed);
        match looked {
            Look::Works => link.works(),
            // One answer that is late says nothing.
            Look::Lost(_) if lost < LOOKS_LOST_MAX && link.is_connected() => {}
            Look::Lost(heard) => match link.what_is_wrong().await {
                Some(heard) => link.meets(&words::diagnose(link.trouble.server(), &heard).text),
                None if lost >= LOOKS_LOST_MAX => {
                    link.meets(&words::diagnose(link.trouble.server(), &heard).text);
                }
                // It is there, and about to be connected to.
                None => {}
            },
            Look::Trouble(text) => link.meets(&text),
        }
        let lasts = link.trouble.lasts(SystemTime::now()).unwrap_or_default();
        let is_away = !link.is_connected() && lasts >= link.patience();
        link.away.send_if_modified(|away| std::mem::replace(away, is_away) != is_away);
    }
}

/// What a look has shown.
enum Look {
    Works,
    /// Nobody answered, in these words.
    Lost(String),
    /// Something is wrong, in words for people.
    Trouble(String),
}

impl NatsLink {
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// A stream that has been opened: the first few are looked after.
    pub fn has_opened(&self, stream: &str) {
        let mut streams = lock(&self.streams);
        if streams.len() < STREAMS_MAX && !streams.iter().any(|known| known == stream) {
            streams.push(stream.to_owned());
        }
    }

    /// A stream was removed by us.
    pub fn has_removed(&self, stream: &str) {
        lock(&self.streams).retain(|known| known != stream);
    }

    async fn look(&self, turn: u64) -> Look {
        if !self.is_connected() {
            return Look::Lost("no answer".to_owned());
        }
        match api::ask_within(self, "$JS.API.INFO", &Value::Null, ANSWER_WITHIN).await {
            Ok(info) => {
                let (used, limit) = (info["storage"].as_u64(), info["limits"]["max_storage"].as_i64());
                let limit = limit.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0);
                if let (Some(used), Some(limit)) = (used, limit)
                    && used >= limit
                {
                    let heard = format!("resource limits exceeded: {used} of {limit} octets");
                    return Look::Trouble(words::diagnose(self.trouble.server(), &heard).text);
                }
            }
            Err(ApiFailure::Refused(refusal)) => {
                let text = words::diagnose(self.trouble.server(), &refusal.description).text;
                return Look::Trouble(text);
            }
            Err(ApiFailure::Silent(heard) | ApiFailure::Away(heard)) => return Look::Lost(heard),
            Err(ApiFailure::Closed) => return Look::Works,
        }
        if !turn.is_multiple_of(STREAMS_EVERY) {
            return Look::Works;
        }
        let streams = lock(&self.streams).clone();
        let asked = streams.iter().map(|stream| self.is_gone(stream));
        let gone = futures_util::future::join_all(asked).await;
        for (stream, is_gone) in streams.iter().zip(gone) {
            if is_gone && lock(&self.streams).contains(stream) {
                return Look::Trouble(words::gone(self.trouble.server(), stream));
            }
        }
        Look::Works
    }

    /// The servers say that they have no such stream.
    pub async fn is_gone(&self, stream: &str) -> bool {
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        let asked = api::ask_within(self, &subject, &Value::Null, ANSWER_WITHIN).await;
        matches!(asked, Err(fault) if fault.is(code::STREAM_NOT_FOUND))
    }

    /// What a connection of its own hears; nothing if it is taken.
    async fn what_is_wrong(&self) -> Option<String> {
        let connect = asked_of_client(&self.options, None).await.ok()?;
        match tokio::time::timeout(HEARD_WITHIN, connect.connect(&self.servers[..])).await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(whole(&error)),
            Err(_) => Some(format!("no answer within {} s", HEARD_WITHIN.as_secs_f32())),
        }
    }

    /// How long a connection is waited for, by what was heard last.
    fn patience(&self) -> Duration {
        let is_refused = self.trouble.current().is_some_and(|trouble| trouble.why.contains("refused"));
        if is_refused { AWAY_AFTER } else { SILENT_AFTER }
    }

    /// Somebody met trouble with the servers, told in words for people.
    pub fn meets(&self, text: &str) {
        if self.trouble.note(text, SystemTime::now()) {
            tracing::error!("{text}");
        }
    }

    fn works(&self) {
        if let Some(lasted) = self.trouble.works(SystemTime::now(), QUIET) {
            let servers = self.trouble.server();
            tracing::info!("NATS at {servers} works again, after {} s", lasted.as_secs());
        }
    }
}
