//! `[topics]`: the text protocol for displays, scripts and `nc`.

use super::check::Check;
use super::sections::loopback;
use bus::Retention;
use doors::topic::TopicsConfig;
use net::TlsServerSettings;
use settings::{section, words};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

section! {
    /// `[topics]`
    Topics {
        /// Address and port in the clear.
        listen: SocketAddr = loopback(12345),
        /// Address and port with TLS.
        listen_tls: Option<SocketAddr> = None,
        /// Nothing is taken in the clear.
        tls_only: bool = false,
        /// Certificate chain, PEM.
        tls_cert: Option<PathBuf> = None,
        /// Its key, PEM.
        tls_key: Option<PathBuf> = None,
        /// How safe a message is when it is answered.
        durability: Durability = Durability::Os,
        /// Octets of a topic; what is longer is cut.
        max_topic: usize = TopicsConfig::default().topic_octets_max,
        /// Octets of a message; what is longer is cut.
        max_message: usize = TopicsConfig::default().message_octets_max,
        /// What EXIT ends.
        exit: Exit = Exit::Close,
        /// Topics at most.
        max_topics: usize = TopicsConfig::default().topics_max,
        /// Messages of a topic that are kept; nothing: all.
        keep_messages: Option<u64> = None,
        /// Octets of a topic that are kept; nothing: all, in memory 64 MiB.
        keep_octets: Option<u64> = None,
        /// Messages older than this may go; nothing: none.
        keep_age: Option<Duration> = None,
        /// Connections at once on each address.
        connections_max: usize = TopicsConfig::default().connections_max,
        /// Silence after which a connection ends; nothing: never.
        idle: Option<Duration> = None,
        /// From a request's first octet to its last.
        request_timeout: Duration = TopicsConfig::default().request,
        /// From connection to a good token, where one is needed.
        auth_timeout: Duration = TopicsConfig::default().auth,
        /// How long a client may leave unread what we say.
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
    /// As the door wants it. `is_shared`: others make topics on the same bus.
    pub fn door(&self, data: &Path, is_shared: bool) -> TopicsConfig {
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
            connections_max: self.connections_max,
            idle: self.idle,
            request: self.request_timeout,
            auth: self.auth_timeout,
            write_stall: self.write_stall,
            is_shared,
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
        for problem in topics.door(self.data, false).problems() {
            self.add(&problem.field, problem.reason);
        }
    }
}
