//! Peers that are connected, and rules that admit them.

use super::ask::SessionHolder;
use super::config::PeerRule;
use super::connect::Remote;
use arc_swap::ArcSwap;
use diameter::peer::{Capabilities, Peer};
use diameter::result_code;
use ledger::runtime_rules::RuntimeRules;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The peers of a server.
pub(super) struct Peers {
    rules: ArcSwap<Vec<PeerRule>>,
    /// Rules of the API.
    kept: Arc<RuntimeRules>,
    connected: Mutex<HashMap<String, Connected>>,
    /// Those that we connect to, by name.
    remotes: ArcSwap<HashMap<String, Arc<Remote>>>,
    /// Who has sessions at those of them that are charging servers.
    holder: OnceLock<Box<dyn SessionHolder>>,
}

/// How a peer is let in.
pub(super) enum Admittance {
    /// At once.
    Now(PeerSlot),
    /// We connect to it too: which connection stays is decided there.
    Judged(Arc<Remote>),
}

/// A peer that is connected.
#[derive(Debug, Clone)]
pub struct Connected {
    /// Its DiameterIdentity, as it said it.
    pub origin_host: String,
    /// Its realm.
    pub realm: String,
    /// Its software.
    pub product: String,
    /// From where it came.
    pub from: IpAddr,
    /// By what.
    pub transport: Transport,
}

/// By what a peer is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP, in the clear.
    Tcp,
    /// TLS over TCP.
    Tls,
    /// SCTP, in the clear.
    Sctp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "TCP",
            Transport::Tls => "TLS",
            Transport::Sctp => "SCTP",
        })
    }
}

/// Why somebody is not let in.
pub(super) struct NotAdmitted {
    pub(super) result_code: u32,
    pub(super) text: &'static str,
}

impl NotAdmitted {
    /// By TLS it has shown a certificate that is for somebody else (RFC 6733, section 13.1).
    pub(super) const ANOTHERS_CERTIFICATE: NotAdmitted = NotAdmitted {
        result_code: result_code::UNKNOWN_PEER,
        text: "the certificate of the connection is not for this Origin-Host",
    };
    /// It has a connection that stays.
    pub(super) const TWICE: NotAdmitted = NotAdmitted {
        result_code: result_code::ELECTION_LOST,
        text: "a peer with this Origin-Host is connected already",
    };
}

impl Peers {
    pub(super) fn new(rules: Vec<PeerRule>, kept: Arc<RuntimeRules>) -> Arc<Peers> {
        Arc::new(Peers {
            rules: ArcSwap::from_pointee(rules),
            kept,
            connected: Mutex::default(),
            remotes: ArcSwap::default(),
            holder: OnceLock::new(),
        })
    }

    /// From now on these may connect. Who is connected stays.
    pub(super) fn replace(&self, rules: Vec<PeerRule>) {
        self.rules.store(Arc::new(rules));
    }

    /// Who has sessions at charging servers.
    pub(super) fn holder(&self) -> Option<&dyn SessionHolder> {
        self.holder.get().map(|holder| &**holder)
    }

    pub(super) fn set_holder(&self, holder: Box<dyn SessionHolder>) {
        // Of one process there is one.
        let _ = self.holder.set(holder);
    }

    /// Those that we connect to.
    pub(super) fn remotes(&self) -> Arc<HashMap<String, Arc<Remote>>> {
        self.remotes.load_full()
    }

    /// From now on we connect to these.
    pub(super) fn set_remotes(&self, remotes: HashMap<String, Arc<Remote>>) {
        self.remotes.store(Arc::new(remotes));
    }

    /// Whether a peer of this name is connected.
    pub(super) fn is_connected(&self, key: &str) -> bool {
        self.lock().contains_key(key)
    }

    /// Lets a peer in, unless no rule does, or it is here already (RFC 6733, section 5.6: R-Reject in
    /// R-Open).
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: &Capabilities,
        from: IpAddr,
        transport: Transport,
    ) -> Result<Admittance, NotAdmitted> {
        let by_tls = transport == Transport::Tls;
        let rules = self.rules.load();
        let is_known = match &rules[..] {
            [] => from.to_canonical().is_loopback(),
            rules => {
                rules.iter().any(|rule| rule.admits(&peer.origin_host, &peer.origin_realm, from, by_tls))
            }
        };
        let by_api = || {
            let kept = self.kept.get().peers;
            let mut rules = kept.iter().filter_map(|spec| PeerRule::of(spec).ok());
            rules.any(|rule| rule.admits(&peer.origin_host, &peer.origin_realm, from, by_tls))
        };
        if !is_known && !by_api() {
            let text = "no [[diameter.peer]] lets this Origin-Host and realm in from this address";
            return Err(NotAdmitted { result_code: result_code::UNKNOWN_PEER, text });
        }
        match self.remotes.load().get(&Peer::key(&peer.origin_host)) {
            Some(remote) => Ok(Admittance::Judged(Arc::clone(remote))),
            None => self.place(peer, from, transport).map(Admittance::Now),
        }
    }

    /// A place for a peer that is let in, if its name has none.
    pub(super) fn place(
        self: &Arc<Self>,
        peer: &Capabilities,
        from: IpAddr,
        transport: Transport,
    ) -> Result<PeerSlot, NotAdmitted> {
        let key = Peer::key(&peer.origin_host);
        let mut connected = self.lock();
        if connected.contains_key(&key) {
            return Err(NotAdmitted::TWICE);
        }
        let one = Connected {
            origin_host: peer.origin_host.clone(),
            realm: peer.origin_realm.clone(),
            product: peer.product_name.clone(),
            from,
            transport,
        };
        connected.insert(key.clone(), one);
        Ok(PeerSlot { peers: Arc::clone(self), key })
    }

    /// Whoever is connected, by name.
    pub(super) fn list(&self) -> Vec<Connected> {
        let mut all: Vec<Connected> = self.lock().values().cloned().collect();
        all.sort_by(|one, other| one.origin_host.cmp(&other.origin_host));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Connected>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A peer's place among those connected; given up when dropped.
pub(super) struct PeerSlot {
    peers: Arc<Peers>,
    key: String,
}

impl PeerSlot {
    /// The peer's name, in lower case.
    pub(super) fn origin_host(&self) -> &str {
        &self.key
    }
}

impl Drop for PeerSlot {
    fn drop(&mut self) {
        self.peers.lock().remove(&self.key);
    }
}
