//! `[diameter]`: the credit-control server, and who may connect to it.

use super::charging::{Charging, ChargingMode};
use super::check::Check;
use super::sections::loopback;
use charging::server::{ConnectTo, FinalUnits, PeerRule, PeerTimers, ServerConfig};
use diameter::check::Strictness;
use net::{AllowedIp, DoorLimits, TlsClient, TlsClientSettings, TlsIdentity, TlsServer, TlsServerSettings};
use settings::section;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

section! {
    /// Credit control over Diameter (RFC 6733, RFC 8506, application 4): the server and its peers. Off
    /// without this section. [Charging](charging.md) describes it.
    Diameter {
        /// Listening address, without TLS.
        listen: SocketAddr = loopback(3868),
        /// Listening address, with TLS from the first octet; needs `tls_cert` and `tls_key`.
        #[manual(example = "127.0.0.1:5868")]
        listen_tls: Option<SocketAddr> = None,
        /// Listening addresses by SCTP, all with one port, without TLS: when one address fails, associations
        /// continue over the others. Excluded by `tls_only`. On a kernel without SCTP the log and `campanile
        /// check` report it, and the server serves TCP and TLS only.
        #[manual(example = ["127.0.0.1:3868"])]
        listen_sctp: Vec<SocketAddr> = Vec::new(),
        /// Nothing is accepted without TLS: `listen` is not opened.
        tls_only: bool = false,
        /// Certificate chain (PEM); set with `tls_key`.
        #[manual(example = "cert.pem")]
        tls_cert: Option<PathBuf> = None,
        /// Private key of the certificate (PEM); set with `tls_cert`.
        #[manual(example = "key.pem")]
        tls_key: Option<PathBuf> = None,
        /// Authorities (PEM) of peers' certificates. With it only peers are taken on `listen_tls` that show a
        /// certificate of one of them, valid now, for their Origin-Host: a dNSName of the certificate, or its
        /// common name where it has none (RFC 6733, section 13.1). Others are refused (3010). `listen` takes
        /// peers without TLS all the same, unless `tls_only` is set.
        #[manual(example = "peers-ca.pem")]
        tls_client_ca: Option<PathBuf> = None,
        /// Origin-Host of this server. Requests for another host are refused (3002).
        #[manual(required, example = "ocs.example")]
        origin_host: String = String::new(),
        /// Origin-Realm of this server. Requests for another realm are refused (3003).
        #[manual(required, example = "example")]
        origin_realm: String = String::new(),
        /// The peers.
        peer: Vec<DiameterPeer> = Vec::new(),
        /// Connections at once; at least 1. One more takes the place of a connection without capabilities; if
        /// there is none, it is closed.
        connections_max: usize = ServerConfig::default().limits.connections_max,
        /// Connections at once of one address (IPv6: of one network of 64 bits); at least 1. One more takes
        /// the place of that address's own oldest connection without capabilities.
        connections_per_address_max: usize = ServerConfig::default().limits.connections_per_address_max,
        /// `false` admits what gateways are known to send against the standard: an AVP with the vendor 0
        /// (else 3009), several Vendor-Ids in Vendor-Specific-Application-Id (5009), and within
        /// Service-Information unknown AVPs with the M bit (5001). Needs a restart.
        #[manual(example = false)]
        strict: bool = true,
        /// Octets of a message; a longer one ends its connection.
        message_octets_max: u32 = ServerConfig::default().message_octets_max,
        /// Unanswered requests of a peer; requests beyond are answered with 3004.
        window: usize = ServerConfig::default().window,
        /// Silence after which the server sends a Device-Watchdog-Request; at least 6s (RFC 3539).
        watchdog: Duration = ServerConfig::default().timers.watchdog,
        /// Time between attempts to connect to a peer, with a jitter of 2s either way; at least 2s.
        reconnect: Duration = ServerConfig::default().timers.reconnect,
    }
}

section! {
    /// A peer that may connect, or that this server connects to. Without any, peers on this machine may
    /// connect, and the server must not listen beyond it. Applied by a reload.
    DiameterPeer {
        /// Its Origin-Host; `*` stands for any part of the name. With `address` it must be the full name.
        #[manual(example = "peer.example")]
        origin_host: String = String::new(),
        /// Its Origin-Realm; empty: any. `*` stands for any part of the name.
        #[manual(example = "example")]
        realm: String = String::new(),
        /// Addresses and networks from which it may connect; none: any.
        #[manual(example = ["10.0.0.0/8"])]
        allowed_ips: Vec<String> = Vec::new(),
        /// `host:port` that this server connects to and stays connected to. The peer is served on that
        /// connection as on any other.
        #[manual(example = "peer.example:3868")]
        address: Option<String> = None,
        /// The peer must use TLS.
        #[manual(example = true)]
        tls: bool = false,
        /// With `address` and `tls`: certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "peer-ca.pem")]
        ca_file: Option<PathBuf> = None,
        /// With `address` and `tls`: the name in the peer's certificate.
        #[manual(default = "the host of `address`", example = "peer.example")]
        server_name: Option<String> = None,
        /// With `address` and `tls`: our certificate chain (PEM) for a peer that asks for one; set with
        /// `tls_key`.
        #[manual(example = "client.pem")]
        tls_cert: Option<PathBuf> = None,
        /// Private key of `tls_cert` (PEM).
        #[manual(example = "client-key.pem")]
        tls_key: Option<PathBuf> = None,
        /// Makes the peer a charging server for `[charging] mode = "diameter"`. Requests go to the lowest
        /// number first, and to the next one while that cannot be reached. `realm` must then be the full
        /// name.
        #[manual(example = 1)]
        charging: Option<u32> = None,
    }
}

impl Diameter {
    /// As the server wants it.
    pub fn server(&self, data: &Path, charging: Option<&Charging>) -> ServerConfig {
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        ServerConfig {
            listen: (!self.tls_only).then_some(self.listen),
            tls_listen: self.listen_tls,
            sctp_listen: self.listen_sctp.clone(),
            tls: tls.map(|(cert, key)| TlsServerSettings {
                cert_file: data.join(cert),
                key_file: data.join(key),
            }),
            tls_client_ca: self.tls_client_ca.as_ref().map(|file| data.join(file)),
            origin_host: self.origin_host.clone(),
            origin_realm: self.origin_realm.clone(),
            // Told by who knows of other processes.
            connects_as: None,
            peers: self.peer.iter().map(|peer| peer.rule(data)).collect(),
            limits: DoorLimits::new(self.connections_max, self.connections_per_address_max),
            strictness: if self.strict { Strictness::Strict } else { Strictness::Lenient },
            message_octets_max: self.message_octets_max,
            window: self.window,
            timers: PeerTimers { watchdog: self.watchdog, reconnect: self.reconnect },
            final_units: charging
                .map_or_else(FinalUnits::default, |charging| charging.final_unit.final_units()),
        }
    }
}

impl DiameterPeer {
    fn rule(&self, data: &Path) -> PeerRule {
        PeerRule {
            origin_host: self.origin_host.clone(),
            realm: self.realm.clone(),
            allowed_ips: self.allowed_ips.iter().filter_map(|ip| ip.parse().ok()).collect(),
            tls: self.tls,
            connect: self.address.as_ref().map(|address| ConnectTo {
                address: address.clone(),
                tls: TlsClientSettings {
                    ca_file: self.ca_file.as_ref().map(|file| data.join(file)),
                    server_name: self.server_name.clone(),
                },
                identity: self
                    .tls_cert
                    .as_ref()
                    .zip(self.tls_key.as_ref())
                    .map(|(cert, key)| TlsIdentity { cert_file: data.join(cert), key_file: data.join(key) }),
                charges: self.charging,
            }),
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
        let clear = diameter.tls_only && !diameter.listen_sctp.is_empty();
        self.check(
            "diameter.listen_sctp",
            clear.then_some("is unencrypted, and tls_only refuses unencrypted connections"),
        );
        for (n, peer) in diameter.peer.iter().enumerate() {
            let path = format!("diameter.peer[{n}]");
            let nobody = peer.origin_host.is_empty() && peer.realm.is_empty();
            self.check(&path, nobody.then_some("needs origin_host or realm, to name the peers it admits"));
            for (m, ip) in peer.allowed_ips.iter().enumerate() {
                self.check(&format!("{path}.allowed_ips[{m}]"), ip.parse::<AllowedIp>().err());
            }
            self.diameter_address(&path, peer);
        }
        self.diameter_twins(&diameter.peer);
        let server = diameter.server(self.data, None);
        let asks = server.tls.as_ref().zip(server.tls_client_ca.as_deref());
        if let Some(Err(error)) = asks.map(|(tls, authorities)| TlsServer::asking(tls, Some(authorities))) {
            self.add(&format!("diameter.{}", error.field), error.why);
        }
        for problem in server.problems() {
            if problem.field == "peer" && !diameter.peer.is_empty() {
                // Said above, of the peer that it is about.
                continue;
            }
            self.add(&format!("diameter.{}", problem.field), problem.why);
        }
    }

    /// Where a peer is connected to, and what is of use only there.
    fn diameter_address(&mut self, path: &str, peer: &DiameterPeer) {
        let Some(address) = &peer.address else {
            for (key, is_there) in [
                ("ca_file", peer.ca_file.is_some()),
                ("server_name", peer.server_name.is_some()),
                ("tls_cert", peer.tls_cert.is_some()),
                ("tls_key", peer.tls_key.is_some()),
                ("charging", peer.charging.is_some()),
            ] {
                let alone = "has no effect without address: it is for a peer that this server connects to";
                self.check(&format!("{path}.{key}"), is_there.then_some(alone));
            }
            return;
        };
        let elsewhere = self.config.charging.as_ref().map(|charging| charging.mode);
        let alone = peer.charging.is_some() && elsewhere != Some(ChargingMode::Diameter);
        self.check(
            &format!("{path}.charging"),
            alone.then_some("has no effect without [charging] mode = \"diameter\""),
        );
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let port = port.and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port > 0);
        self.check(
            &format!("{path}.address"),
            port.is_none().then(|| format!("{address:?} is not host:port")),
        );
        let rule = peer.rule(self.data);
        if let Some((key, why)) = rule.unclear() {
            self.add(&format!("{path}.{key}"), why);
        }
        for (key, is_there) in [
            ("ca_file", peer.ca_file.is_some()),
            ("server_name", peer.server_name.is_some()),
            ("tls_cert", peer.tls_cert.is_some()),
            ("tls_key", peer.tls_key.is_some()),
        ] {
            let alone = is_there && !peer.tls;
            self.check(&format!("{path}.{key}"), alone.then_some("has no effect without tls = true"));
        }
        for (is_alone, key, other) in [
            (peer.tls_cert.is_some() && peer.tls_key.is_none(), "tls_cert", "tls_key"),
            (peer.tls_key.is_some() && peer.tls_cert.is_none(), "tls_key", "tls_cert"),
        ] {
            self.check(&format!("{path}.{key}"), is_alone.then(|| format!("needs {other} beside it")));
        }
        let to = rule.connect.filter(|_| peer.tls);
        if let Some(Err(error)) = to.map(|to| TlsClient::known_by(&to.tls, to.identity.as_ref())) {
            self.add(&format!("{path}.{}", error.field), error.why);
        }
    }

    /// Each peer that we connect to is another one, and each charging server has another place.
    fn diameter_twins(&mut self, peers: &[DiameterPeer]) {
        let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
        for (n, peer) in peers.iter().enumerate().filter(|(_, peer)| peer.address.is_some()) {
            let is_new = peer.origin_host.is_empty() || names.insert(peer.origin_host.to_ascii_lowercase());
            self.check(
                &format!("diameter.peer[{n}].origin_host"),
                (!is_new).then(|| {
                    format!(
                        "{:?} is already the origin_host of another peer with an address",
                        peer.origin_host
                    )
                }),
            );
            let is_new = peer.charging.is_none_or(|place| places.insert(place));
            self.check(
                &format!("diameter.peer[{n}].charging"),
                (!is_new).then_some("is the number of another charging server"),
            );
        }
    }
}
