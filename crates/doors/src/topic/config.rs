//! `[topics]`.

use super::machine::{ConversationLimits, LengthLimits};
use bus::{Durability, RECORD_OCTETS_MAX, Retention, TopicSettings};
use engine::Problem;
use net::{DoorLimits, TlsServerSettings};
use std::net::SocketAddr;
use std::time::Duration;

/// A topic must have room for its `@` and any one character.
const TOPIC_OCTETS_MIN: usize = 5;
/// A message must have room for any one character.
const MESSAGE_OCTETS_MIN: usize = 4;
/// A message can be at most so long.
const MESSAGE_OCTETS_MAX: usize = 64 * 1024;
const _: () = assert!(MESSAGE_OCTETS_MAX <= RECORD_OCTETS_MAX);
/// Topics at most, whatever is configured.
const TOPICS_MAX: usize = 1_000_000;
/// Connections at a time, by default.
pub const CONNECTIONS_MAX: usize = 20_000;
/// Connections at a time of one address, by default.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 12_000;
/// Octets of one topic's messages in memory, by default.
const MEMORY_OCTETS: u64 = 64 << 20;

/// The effect of EXIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exit {
    /// The connection.
    #[default]
    Close,
    /// The server.
    Stop,
}

/// Who uses the topics and the connections beside the door's clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TopicUsers {
    /// Others make topics on the same bus, and append to them: other processes, or routes that publish
    /// alerts.
    pub is_shared: bool,
    /// The first route that writes into people's sessions; nothing: nobody can log in.
    pub line_route: Option<String>,
}

/// `[topics]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicsConfig {
    /// Address in the clear; port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// Where it listens by TLS.
    pub tls_listen: Option<SocketAddr>,
    /// Its certificate and key.
    pub tls: Option<TlsServerSettings>,
    /// Durability of a message when it is answered.
    pub durability: Durability,
    /// Retention of each topic.
    pub retention: Retention,
    /// Octets of a topic with its `@`; a longer one is cut.
    pub topic_octets_max: usize,
    /// Octets of a message; a longer one is cut.
    pub message_octets_max: usize,
    /// Topics at most.
    pub topics_max: usize,
    /// The effect of EXIT.
    pub exit: Exit,
    /// Connections at a time.
    pub limits: DoorLimits,
    /// Silence after which a connection ends; nothing: never.
    pub idle: Option<Duration>,
    /// From a request's first octet to its last.
    pub request: Duration,
    /// From connection to a good token, where one is needed.
    pub auth: Duration,
    /// Time that a client may leave our octets unread.
    pub write_stall: Duration,
    /// Who else uses the bus and the connections.
    pub others: TopicUsers,
}

impl Default for TopicsConfig {
    fn default() -> TopicsConfig {
        TopicsConfig {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 12345))),
            tls_listen: None,
            tls: None,
            durability: Durability::Os,
            retention: Retention::default(),
            topic_octets_max: 140,
            message_octets_max: 140,
            topics_max: 10_000,
            exit: Exit::Close,
            limits: DoorLimits::new(CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX),
            idle: None,
            request: Duration::from_secs(60),
            auth: Duration::from_secs(10),
            write_stall: Duration::from_secs(30),
            others: TopicUsers::default(),
        }
    }
}

impl TopicsConfig {
    /// All problems. Files of certificates are read.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut check = |field: &str, wrong: Option<String>| {
            problems.extend(wrong.map(|reason| Problem { field: format!("topics.{field}"), reason }));
        };
        let deaf = self.listen.is_none() && self.tls_listen.is_none();
        check("listen", deaf.then(|| "listen or listen_tls is needed".to_owned()));
        let bare = self.tls_listen.is_some() && self.tls.is_none();
        check("listen_tls", bare.then(|| "tls_cert and tls_key are needed".to_owned()));
        if let Some(error) = self.tls.as_ref().and_then(|tls| net::TlsServer::new(tls).err()) {
            check(error.field, Some(error.why));
        }
        let bounds = [
            ("max_topic", self.topic_octets_max, TOPIC_OCTETS_MIN, records::TEXT_TOPIC_OCTETS_MAX),
            ("max_message", self.message_octets_max, MESSAGE_OCTETS_MIN, MESSAGE_OCTETS_MAX),
            ("max_topics", self.topics_max, 1, TOPICS_MAX),
        ];
        for (field, value, least, most) in bounds {
            let outside = !(least..=most).contains(&value);
            check(field, outside.then(|| format!("{value} is outside {least} to {most}")));
        }
        if let Some((field, why)) = self.limits.problem() {
            check(field, Some(why.to_owned()));
        }
        let times = [
            ("idle", self.idle.unwrap_or(Duration::MAX)),
            ("request_timeout", self.request),
            ("auth_timeout", self.auth),
            ("write_stall", self.write_stall),
        ];
        for (field, time) in times {
            check(field, (time < Duration::from_secs(1)).then(|| "must be at least 1s".to_owned()));
        }
        problems
    }

    pub(super) fn limits(&self, needs_auth: bool) -> ConversationLimits {
        ConversationLimits {
            cut: LengthLimits {
                topic_octets_max: self.topic_octets_max,
                message_octets_max: self.message_octets_max,
            },
            idle: self.idle,
            request: self.request,
            auth: needs_auth.then_some(self.auth),
        }
    }

    /// Settings of each text topic on the bus.
    pub fn settings(&self) -> TopicSettings {
        let mut retention = self.retention;
        if self.durability == Durability::Memory {
            retention.octets = retention.octets.or(Some(MEMORY_OCTETS));
        }
        TopicSettings { durability: Some(self.durability), retention, emergency: false }
    }
}
