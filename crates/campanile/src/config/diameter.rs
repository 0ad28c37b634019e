//! `[diameter]`: the credit-control server, and who may connect to it.

use super::check::Check;
use super::check_servers::{Where, store_kept};
use super::read::section;
use super::sections::loopback;
use charging::server::{PeerRule, ServerConfig};
use net::{AllowedIp, TlsServerSettings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

section! {
    /// `[diameter]`
    Diameter {
        /// Address and port in the clear.
        listen: SocketAddr = loopback(3868),
        /// Address and port with TLS from the first octet.
        listen_tls: Option<SocketAddr> = None,
        /// Nothing is taken in the clear.
        tls_only: bool = false,
        /// Certificate chain, PEM.
        tls_cert: Option<PathBuf> = None,
        /// Its key, PEM.
        tls_key: Option<PathBuf> = None,
        /// Who we are.
        origin_host: String = String::new(),
        /// Where we belong.
        origin_realm: String = String::new(),
        /// Who may connect.
        peer: Vec<DiameterPeer> = Vec::new(),
        /// Connections at once on each address.
        connections_max: usize = ServerConfig::default().connections_max,
        /// Octets of a message.
        message_octets_max: u32 = ServerConfig::default().message_octets_max,
        /// Requests of a peer that may be unanswered.
        window: usize = ServerConfig::default().window,
        /// Silence after which a peer is asked whether it lives.
        watchdog: Duration = ServerConfig::default().watchdog,
    }
}

section! {
    /// `[[diameter.peer]]`
    DiameterPeer {
        /// Who it is; `*` stands for any part.
        origin_host: String = String::new(),
        /// Where it belongs; empty: anywhere.
        realm: String = String::new(),
        /// From where; empty: from anywhere.
        allowed_ips: Vec<String> = Vec::new(),
        /// Where we connect to.
        address: Option<String> = None,
        /// Encrypted.
        tls: bool = false,
    }
}

impl Diameter {
    /// As the server wants it.
    pub fn server(&self, data: &Path) -> ServerConfig {
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        ServerConfig {
            listen: (!self.tls_only).then_some(self.listen),
            tls_listen: self.listen_tls,
            tls: tls.map(|(cert, key)| TlsServerSettings {
                cert_file: data.join(cert),
                key_file: data.join(key),
            }),
            origin_host: self.origin_host.clone(),
            origin_realm: self.origin_realm.clone(),
            peers: self.peer.iter().map(DiameterPeer::rule).collect(),
            connections_max: self.connections_max,
            message_octets_max: self.message_octets_max,
            window: self.window,
            watchdog: self.watchdog,
        }
    }
}

impl DiameterPeer {
    fn rule(&self) -> PeerRule {
        PeerRule {
            origin_host: self.origin_host.clone(),
            realm: self.realm.clone(),
            allowed_ips: self.allowed_ips.iter().filter_map(|ip| ip.parse().ok()).collect(),
            tls: self.tls,
        }
    }
}

impl Check<'_> {
    /// What `[diameter]` means must make sense.
    pub(super) fn diameter(&mut self) {
        let Some(diameter) = &self.config.diameter else { return };
        for (alone, key, other) in [
            (diameter.tls_cert.is_some() && diameter.tls_key.is_none(), "diameter.tls_cert", "tls_key"),
            (diameter.tls_key.is_some() && diameter.tls_cert.is_none(), "diameter.tls_key", "tls_cert"),
        ] {
            self.check(key, alone.then(|| format!("needs {other} beside it")));
        }
        let is_shared = store_kept(self.config.store.url.reveal()) == Some(Where::Shared);
        self.check(
            "diameter",
            is_shared.then_some(
                "is for a process that keeps its store and bus on its own disk: several that share PostgreSQL and NATS would each \
                 have other books",
            ),
        );
        for (n, peer) in diameter.peer.iter().enumerate() {
            let path = format!("diameter.peer[{n}]");
            let nobody = peer.origin_host.is_empty() && peer.realm.is_empty();
            self.check(&path, nobody.then_some("needs origin_host or realm: whom it lets in"));
            for (m, ip) in peer.allowed_ips.iter().enumerate() {
                self.check(&format!("{path}.allowed_ips[{m}]"), ip.parse::<AllowedIp>().err());
            }
            let connects = peer.address.is_some();
            self.check(
                &format!("{path}.address"),
                connects.then_some("connecting to peers is not built yet"),
            );
        }
        for problem in diameter.server(self.data).problems() {
            self.add(&format!("diameter.{}", problem.field), problem.why);
        }
    }
}
