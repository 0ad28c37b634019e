//! `[topics]`: the text protocol for displays, scripts and `nc`.

use super::check::Check;
use super::door_keys::door_limits;
use super::sections::loopback;
use bus::Retention;
use doors::topic::{TopicUsers, TopicsConfig};
use net::TlsServerSettings;
use settings::{section, words};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

section! {
    /// The topic protocol, for displays, scripts and `nc`: POST@topic#text, READ@topic#0, COUNT@topic, LIST,
    /// EXIT. Off without this section. [Topics](topics.md) describes it. Beyond loopback a token is needed
    /// first: AUTH@token.
    Topics {
        /// Listening address, without TLS.
        listen: SocketAddr = loopback(12345),
        /// Listening address, with TLS; needs `tls_cert` and `tls_key`.
        #[manual(example = "127.0.0.1:12346")]
        listen_tls: Option<SocketAddr> = None,
        /// Nothing is accepted without TLS: `listen` is not opened.
        tls_only: bool = false,
        /// Certificate chain (PEM); set with `tls_key`.
        #[manual(example = "cert.pem")]
        tls_cert: Option<PathBuf> = None,
        /// Private key of the certificate (PEM); set with `tls_cert`.
        #[manual(example = "key.pem")]
        tls_key: Option<PathBuf> = None,
        /// Durability of a message when its index is returned: `"memory"` (as long as the process lives),
        /// `"os"` (survives the process), `"disk"` (survives a power cut).
        durability: Durability = Durability::Os,
        /// Octets of a topic with its @, 5 to 150; a longer one is cut, at a character.
        max_topic: usize = TopicsConfig::default().topic_octets_max,
        /// Octets of a message, 4 to 65536; a longer one is cut, at a character.
        max_message: usize = TopicsConfig::default().message_octets_max,
        /// Effect of EXIT: `"close"` ends the connection, `"stop"` stops the server.
        exit: Exit = Exit::Close,
        /// Highest number of topics.
        max_topics: usize = TopicsConfig::default().topics_max,
        /// Messages of a topic, beyond which the oldest are deleted; indexes continue.
        #[manual(example = 100000)]
        keep_messages: Option<u64> = None,
        /// Octets of a topic, beyond which its oldest messages are deleted.
        #[manual(default = "unlimited; 64 MiB with durability memory", example = 67108864)]
        keep_octets: Option<u64> = None,
        /// Age beyond which messages are deleted.
        #[manual(example = "30d")]
        keep_age: Option<Duration> = None,
        /// Connections at once; at least 1. One more takes the place of a connection without a whole request,
        /// or that does not read; if there is none, it is closed.
        connections_max: usize = doors::topic::CONNECTIONS_MAX,
        /// Connections at once of one address (IPv6: of one network of 64 bits); at least 1. One more takes
        /// the place of that address's own oldest connection without a whole request, or that does not read.
        /// A connection that showed a token keeps its place as long as it reads.
        connections_per_address_max: usize = doors::topic::CONNECTIONS_PER_ADDRESS_MAX,
        /// Load balancers, as addresses or networks, whose connections begin with a PROXY header of version 2
        /// (haproxy: `send-proxy-v2`): the client's address is in it, and a client from beyond loopback needs
        /// a token. Without the header they are closed.
        #[manual(example = ["10.0.0.0/24"])]
        proxy_from: Vec<String> = Vec::new(),
        /// Silence after which a connection ends; at least 1s.
        #[manual(default = "never", example = "1h")]
        idle: Option<Duration> = None,
        /// Time from a request's first octet to its last.
        request_timeout: Duration = TopicsConfig::default().request,
        /// Time from connection to a valid token, where one is needed.
        auth_timeout: Duration = TopicsConfig::default().auth,
        /// Time that a client may leave responses unread.
        write_stall: Duration = TopicsConfig::default().write_stall,
    }
}

words! {
    /// How safe a message is.
    Durability {
        /// As long as the process lives.
        Memory = "memory",
        /// As long as the machine lives.
        Os = "os",
        /// Through a power cut.
        Disk = "disk",
    }
}

words! {
    /// What EXIT ends.
    Exit {
        /// The connection.
        Close = "close",
        /// The server.
        Stop = "stop",
    }
}

impl Topics {
    /// As the door wants it. `others`: who uses it beside its clients.
    pub fn door(&self, data: &Path, others: TopicUsers) -> TopicsConfig {
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        TopicsConfig {
            listen: (!self.tls_only).then_some(self.listen),
            tls_listen: self.listen_tls,
            tls: tls.map(|(cert, key)| TlsServerSettings {
                cert_file: data.join(cert),
                key_file: data.join(key),
            }),
            durability: match self.durability {
                Durability::Memory => bus::Durability::Memory,
                Durability::Os => bus::Durability::Os,
                Durability::Disk => bus::Durability::Disk,
            },
            retention: Retention {
                age: self.keep_age,
                octets: self.keep_octets,
                records: self.keep_messages,
            },
            topic_octets_max: self.max_topic,
            message_octets_max: self.max_message,
            topics_max: self.max_topics,
            exit: match self.exit {
                Exit::Close => doors::topic::Exit::Close,
                Exit::Stop => doors::topic::Exit::Stop,
            },
            limits: door_limits(self.connections_max, self.connections_per_address_max, &self.proxy_from),
            idle: self.idle,
            request: self.request_timeout,
            auth: self.auth_timeout,
            write_stall: self.write_stall,
            others,
        }
    }
}

impl Check<'_> {
    /// What `[topics]` means must make sense.
    pub(super) fn topics(&mut self) {
        let Some(topics) = &self.config.topics else { return };
        for (alone, key, other) in [
            (topics.tls_cert.is_some() && topics.tls_key.is_none(), "topics.tls_cert", "tls_key"),
            (topics.tls_key.is_some() && topics.tls_cert.is_none(), "topics.tls_key", "tls_cert"),
        ] {
            self.check(key, alone.then(|| format!("needs {other} beside it")));
        }
        self.networks("topics.proxy_from", &topics.proxy_from);
        for problem in topics.door(self.data, TopicUsers::default()).problems() {
            self.add(&problem.field, problem.reason);
        }
    }
}
