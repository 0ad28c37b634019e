//! Configuration of the credit-control server: where it listens, who we are, who may connect, limits.

use super::final_unit::FinalUnits;
use diameter::check::Strictness;
use diameter::peer::MESSAGE_OCTETS_MAX_DEFAULT;
use ledger::runtime_rules::PeerSpec;
use net::{AllowedIp, DoorLimits, TlsClientSettings, TlsIdentity, TlsServerSettings};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The shortest watchdog interval (RFC 3539, section 3.4.1).
pub const WATCHDOG_MIN: Duration = Duration::from_secs(6);
/// The shortest time between attempts to connect: as long as its jitter.
pub const RECONNECT_MIN: Duration = Duration::from_secs(2);
/// The longest name of a node, octets.
const IDENTITY_OCTETS_MAX: usize = 255;

/// The server's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// In the clear.
    pub listen: Option<SocketAddr>,
    /// With TLS from the first octet (RFC 6733, section 13.1).
    pub tls_listen: Option<SocketAddr>,
    /// By SCTP: the addresses of one end, all of one port. Empty: not.
    pub sctp_listen: Vec<SocketAddr>,
    /// Needed by `tls_listen`.
    pub tls: Option<TlsServerSettings>,
    /// By TLS only peers come in that show a certificate of an authority in this file (PEM), for their
    /// Origin-Host.
    pub tls_client_ca: Option<PathBuf>,
    /// Our DiameterIdentity.
    pub origin_host: String,
    /// Our DiameterIdentity on connections that we begin; nothing: the same. Of several processes with one
    /// name each has another.
    pub connects_as: Option<String>,
    /// Our realm.
    pub origin_realm: String,
    /// Who may connect. None: whoever connects from this machine.
    pub peers: Vec<PeerRule>,
    /// Connections at once, and of one address.
    pub limits: DoorLimits,
    /// How closely messages are held to the standard.
    pub strictness: Strictness,
    /// The longest message that is taken.
    pub message_octets_max: u32,
    /// Requests of a peer that may be unanswered; what comes beyond them is told 3004.
    pub window: usize,
    /// When connections are probed and tried again.
    pub timers: PeerTimers,
    /// What clients are told about the last units, beside the ledger's Final-Unit-Action.
    pub final_units: FinalUnits,
}

/// Timers of connections to peers (RFC 6733, sections 2.1 and 5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerTimers {
    /// Silence after which a peer is asked whether it lives (Tw).
    pub watchdog: Duration,
    /// Between attempts to connect to a peer, with a jitter of 2 s either way (Tc).
    pub reconnect: Duration,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: None,
            tls_listen: None,
            sctp_listen: Vec::new(),
            tls: None,
            tls_client_ca: None,
            origin_host: String::new(),
            connects_as: None,
            origin_realm: String::new(),
            peers: Vec::new(),
            limits: DoorLimits::new(20_000, 10_000),
            strictness: Strictness::Strict,
            message_octets_max: MESSAGE_OCTETS_MAX_DEFAULT,
            window: 20_000,
            timers: PeerTimers { watchdog: Duration::from_secs(30), reconnect: Duration::from_secs(30) },
            final_units: FinalUnits::default(),
        }
    }
}

/// Who may connect.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PeerRule {
    /// Its DiameterIdentity; `*` stands for any part of it. Empty: any.
    pub origin_host: String,
    /// Its realm, with `*` likewise. Empty: any.
    pub realm: String,
    /// From where; empty: from anywhere.
    pub allowed_ips: Vec<AllowedIp>,
    /// Only by TLS.
    pub tls: bool,
    /// We keep a connection to it; its name then stands in full.
    pub connect: Option<ConnectTo>,
}

/// Where a peer is connected to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConnectTo {
    /// `host:port`.
    pub address: String,
    /// Whom we trust, where the rule says TLS.
    pub tls: TlsClientSettings,
    /// What we show to a peer that asks for a certificate.
    pub identity: Option<TlsIdentity>,
    /// It is a charging server, with this place in the order in which they are asked. Its realm then stands
    /// in full.
    pub charges: Option<u32>,
}

impl PeerRule {
    /// What keeps it from naming one peer to connect to.
    pub fn unclear(&self) -> Option<(&'static str, &'static str)> {
        let to = self.connect.as_ref()?;
        let is_open = |name: &str| name.is_empty() || name.contains('*');
        if is_open(&self.origin_host) {
            return Some((
                "origin_host",
                "is needed in full, without *, where address says to connect: by it it is known who is there",
            ));
        }
        (to.charges.is_some() && is_open(&self.realm)).then_some((
            "realm",
            "is needed in full, without *, of a charging server: requests are addressed to it",
        ))
    }

    /// Whether this is the peer that is meant.
    pub fn names(&self, origin_host: &str, realm: &str) -> bool {
        let named = |pattern: &str, name: &str| pattern.is_empty() || matches(pattern, name);
        named(&self.origin_host, origin_host) && named(&self.realm, realm)
    }

    /// A rule as it is kept.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn of(spec: &PeerSpec) -> Result<PeerRule, (String, String)> {
        if spec.origin_host.is_empty() && spec.realm.is_empty() {
            return Err((
                "origin_host".to_owned(),
                "origin_host or realm is needed: whom it lets in".to_owned(),
            ));
        }
        let parse = |(at, ip): (usize, &String)| {
            ip.parse::<AllowedIp>().map_err(|why| (format!("allowed_ips[{at}]"), why))
        };
        Ok(PeerRule {
            origin_host: spec.origin_host.clone(),
            realm: spec.realm.clone(),
            allowed_ips: spec.allowed_ips.iter().enumerate().map(parse).collect::<Result<_, _>>()?,
            tls: spec.tls,
            connect: None,
        })
    }

    /// Whether it lets this peer in.
    pub fn admits(&self, origin_host: &str, realm: &str, from: IpAddr, by_tls: bool) -> bool {
        self.names(origin_host, realm)
            && (self.allowed_ips.is_empty() || self.allowed_ips.iter().any(|allowed| allowed.holds(from)))
            && (by_tls || !self.tls)
    }
}

/// A name against a pattern in which `*` stands for any part, ASCII letters alike in either case (RFC 6733,
/// section 4.3.1).
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase(), name.to_ascii_lowercase());
    let Some((front, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(front) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// What is wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Its key in `[diameter]`.
    pub field: &'static str,
    /// In words.
    pub why: String,
}

impl ServerConfig {
    /// Everything that cannot be.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut add = |field, why: &str| problems.push(ConfigProblem { field, why: why.to_owned() });
        let names = [("origin_host", Some(&self.origin_host)), ("origin_realm", Some(&self.origin_realm))];
        let names = names.into_iter().chain([("origin_host", self.connects_as.as_ref())]);
        for (field, name) in names.filter_map(|(field, name)| Some((field, name?))) {
            let good = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_');
            if name.is_empty() {
                add(field, "is needed: a name such as ocs.example");
            } else if name.len() > IDENTITY_OCTETS_MAX || !name.bytes().all(good) {
                add(field, "must be a name of letters, digits, hyphens and points, at most 255 octets");
            }
        }
        let listens = self.listen.is_some() || self.tls_listen.is_some() || !self.sctp_listen.is_empty();
        if !listens && self.peers.iter().all(|peer| peer.connect.is_none()) {
            add("listen", "listen, listen_tls, listen_sctp, or a peer with an address is needed");
        }
        if self.tls_listen.is_some() && self.tls.is_none() {
            add("listen_tls", "tls_cert and tls_key are needed");
        }
        if self.tls_client_ca.is_some() && self.tls_listen.is_none() {
            add("tls_client_ca", "has no effect without listen_tls: certificates are shown by TLS alone");
        }
        let beyond = |listen: Option<SocketAddr>| listen.is_some_and(|listen| !listen.ip().is_loopback());
        if !self.sctp_listen.is_empty()
            && let Err(why) = net::sctp_addresses(&self.sctp_listen)
        {
            add("listen_sctp", &why);
        }
        let sctp_beyond = self.sctp_listen.iter().any(|listen| beyond(Some(*listen)));
        if self.peers.is_empty() && (beyond(self.listen) || beyond(self.tls_listen) || sctp_beyond) {
            add(
                "peer",
                "is needed where the server listens beyond this machine: [[diameter.peer]] says who may connect",
            );
        }
        if let Some((key, why)) = self.limits.problem() {
            add(key, why);
        }
        if !(1..=1_000_000).contains(&self.window) {
            add("window", "must be from 1 to 1000000");
        }
        if !(1_024..=diameter::header::MESSAGE_OCTETS_MAX).contains(&self.message_octets_max) {
            add("message_octets_max", "must be from 1024 to 16777212");
        }
        if let Some((field, why)) = self.peers.iter().find_map(PeerRule::unclear) {
            add("peer", &format!("{field} {why}"));
        }
        if self.timers.reconnect < RECONNECT_MIN {
            add("reconnect", "must be at least 2s");
        }
        if self.timers.watchdog < WATCHDOG_MIN {
            add("watchdog", "must be at least 6s (RFC 3539)");
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_the_names_it_describes() {
        for (pattern, name, fits) in [
            ("*", "a.example", true),
            ("smf.*", "SMF.epc.example", true),
            ("*.example", "a.b.example", true),
            ("*.example", "example", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
            ("a*a", "a", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_rule_looks_at_name_realm_place_and_encryption() {
        let rule = PeerRule {
            origin_host: "*.client.test".into(),
            realm: "client.test".into(),
            allowed_ips: vec!["10.0.0.0/8".parse().unwrap()],
            tls: true,
            connect: None,
        };
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(rule.admits("a.client.test", "client.test", ip("10.1.2.3"), true));
        assert!(!rule.admits("a.other.test", "client.test", ip("10.1.2.3"), true));
        assert!(!rule.admits("a.client.test", "other.test", ip("10.1.2.3"), true));
        assert!(!rule.admits("a.client.test", "client.test", ip("11.1.2.3"), true));
        assert!(!rule.admits("a.client.test", "client.test", ip("10.1.2.3"), false));
    }
}
