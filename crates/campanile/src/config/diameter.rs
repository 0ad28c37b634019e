//! `[diameter]`: the credit-control server, and who may connect to it.

use super::charging::{Charging, ChargingMode};
use super::check::Check;
use super::sections::loopback;
use charging::server::{ConnectTo, FinalUnits, PeerRule, ServerConfig};
use net::{AllowedIp, TlsClient, TlsClientSettings, TlsServerSettings};
use settings::section;
use std::collections::BTreeSet;
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
        /// Addresses and one port by SCTP.
        listen_sctp: Vec<SocketAddr> = Vec::new(),
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
        /// Between attempts to connect to a peer.
        reconnect: Duration = ServerConfig::default().reconnect,
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
        /// Certificates trusted beside the world's, where we connect by TLS, PEM.
        ca_file: Option<PathBuf> = None,
        /// The name its certificate must bear, where that is not the host of the address.
        server_name: Option<String> = None,
        /// It is a charging server, with this place among them.
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
            origin_host: self.origin_host.clone(),
            origin_realm: self.origin_realm.clone(),
            // Told by who knows of other processes.
            connects_as: None,
            peers: self.peer.iter().map(|peer| peer.rule(data)).collect(),
            connections_max: self.connections_max,
            message_octets_max: self.message_octets_max,
            window: self.window,
            watchdog: self.watchdog,
            reconnect: self.reconnect,
            final_units: charging.map_or_else(FinalUnits::default, |charging| charging.final_unit.told()),
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
            clear.then_some("is in the clear, and tls_only takes nothing in the clear"),
        );
        for (n, peer) in diameter.peer.iter().enumerate() {
            let path = format!("diameter.peer[{n}]");
            let nobody = peer.origin_host.is_empty() && peer.realm.is_empty();
            self.check(&path, nobody.then_some("needs origin_host or realm: whom it lets in"));
            for (m, ip) in peer.allowed_ips.iter().enumerate() {
                self.check(&format!("{path}.allowed_ips[{m}]"), ip.parse::<AllowedIp>().err());
            }
            self.diameter_address(&path, peer);
        }
        self.diameter_twins(&diameter.peer);
        for problem in diameter.server(self.data, None).problems() {
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
                ("charging", peer.charging.is_some()),
            ] {
                let alone = "is of no use without address: it is about a peer that we connect to";
                self.check(&format!("{path}.{key}"), is_there.then_some(alone));
            }
            return;
        };
        let elsewhere = self.config.charging.as_ref().map(|charging| charging.mode);
        let alone = peer.charging.is_some() && elsewhere != Some(ChargingMode::Diameter);
        self.check(
            &format!("{path}.charging"),
            alone.then_some("is of no use without [charging] mode = \"diameter\""),
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
        for (key, is_there) in
            [("ca_file", peer.ca_file.is_some()), ("server_name", peer.server_name.is_some())]
        {
            let alone = is_there && !peer.tls;
            self.check(&format!("{path}.{key}"), alone.then_some("is of no use without tls = true"));
        }
        let settings = rule.connect.filter(|_| peer.tls).map(|to| to.tls);
        if let Some(Err(error)) = settings.as_ref().map(TlsClient::new) {
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
                (!is_new).then(|| format!("{:?} is connected to already, by another peer", peer.origin_host)),
            );
            let is_new = peer.charging.is_none_or(|place| places.insert(place));
            self.check(
                &format!("diameter.peer[{n}].charging"),
                (!is_new).then_some("is the place of another charging server"),
            );
        }
    }
}
