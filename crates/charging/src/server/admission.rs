//! Admission of a connection's peer: awaited, judged by the peer's machine, admitted, ended.

use super::Server;
use super::ask::Asker;
use super::connect::{PeerCommand, RemoteLink};
use super::peers::{Admittance, NotAdmitted, PeerSlot, Transport};
use crate::session_notifier::{Mailbox, PeerIdentity, Reachable};
use diameter::peer::watchdog::Watchdog;
use diameter::peer::{Capabilities, End};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// Decision about the peer of a connection.
pub(super) enum AdmissionVerdict {
    /// None yet.
    Wait,
    /// A peer that asked is let in.
    Accept(Box<Capabilities>),
    /// The peer that we connected to is the one that is meant.
    Open(Box<Capabilities>),
    /// It is refused, with a CEA.
    Refuse(NotAdmitted),
    /// The connection ends without a word.
    Abort,
}

/// How far the peer is.
enum AdmissionState {
    /// Its capabilities have not come, or they were refused.
    AwaitingCapabilities,
    /// We connect to it too: its machine decides which connection stays.
    Judged(Box<Capabilities>),
    Admitted(AdmittedPeer),
    /// The connection is over.
    Ended(End),
}

/// A peer that has its place. Given up when dropped.
struct AdmittedPeer {
    slot: PeerSlot,
    _reachable: Reachable,
}

/// Admission of one connection's peer.
pub(super) struct Admission {
    state: AdmissionState,
    server: Arc<Server>,
    from: IpAddr,
    transport: Transport,
    mailbox: Arc<Mailbox>,
    /// Where we connect to the peer too.
    link: Option<RemoteLink>,
    /// Whom the peer's certificate is for, where it was asked for one.
    certified: Option<Vec<String>>,
}

impl Admission {
    pub(super) fn new(
        server: &Arc<Server>,
        (from, transport): (IpAddr, Transport),
        mailbox: Arc<Mailbox>,
        link: Option<RemoteLink>,
    ) -> Admission {
        let state = AdmissionState::AwaitingCapabilities;
        Admission { state, server: Arc::clone(server), from, transport, mailbox, link, certified: None }
    }

    /// The peer's certificate is for these hosts, and for no other.
    pub(super) fn certify(&mut self, names: Option<Vec<String>>) {
        self.certified = names;
    }

    /// A peer asks to be let in (CER).
    pub(super) fn asked(
        &mut self,
        peer: Box<Capabilities>,
        notify: &Arc<Notify>,
        now: Instant,
    ) -> AdmissionVerdict {
        if self.certified.as_ref().is_some_and(|names| !net::is_named(names, &peer.origin_host)) {
            return self.refuse(&peer, NotAdmitted::ANOTHERS_CERTIFICATE);
        }
        match self.server.peers.admit(&peer, self.from, self.transport) {
            Ok(Admittance::Now(slot)) => self.let_in(peer, slot),
            Ok(Admittance::Judged(remote)) => {
                self.link = Some(remote.asked(&peer, Arc::clone(notify), now));
                self.state = AdmissionState::Judged(peer);
                AdmissionVerdict::Wait
            }
            Err(why) => self.refuse(&peer, why),
        }
    }

    /// The peer's machine has decided that this connection, which the peer began, stays.
    pub(super) fn accepted(&mut self) -> AdmissionVerdict {
        let AdmissionState::Judged(peer) = &self.state else { return AdmissionVerdict::Wait };
        let peer = peer.clone();
        match self.server.peers.place(&peer, self.from, self.transport) {
            Ok(slot) => self.let_in(peer, slot),
            Err(why) => self.refuse(&peer, why),
        }
    }

    /// A connection that we began is open: it has its place if the peer is the one that is meant.
    pub(super) fn opened(&mut self, peer: Box<Capabilities>, now: Instant) -> AdmissionVerdict {
        let Some(link) = &self.link else { return AdmissionVerdict::Wait };
        let is_meant = link.remote.rule.names(&peer.origin_host, &peer.origin_realm);
        match self.server.peers.place(&peer, self.from, self.transport) {
            Ok(slot) if is_meant => {
                tracing::info!(peer = peer.origin_host, realm = peer.origin_realm, at = %self.from, "Connected to a Diameter peer.");
                link.opened(&peer, now);
                self.settle(&peer, slot);
                AdmissionVerdict::Open(peer)
            }
            Ok(_) => {
                tracing::warn!(
                    peer = peer.origin_host,
                    realm = peer.origin_realm,
                    "A Diameter peer is of another realm than [[diameter.peer]] says."
                );
                AdmissionVerdict::Abort
            }
            Err(_) => AdmissionVerdict::Abort,
        }
    }

    /// The peer started anew without a new connection. Its name, where it has its place.
    pub(super) fn restarted(&self, origin_state_id: u32) -> Option<&str> {
        let AdmissionState::Admitted(AdmittedPeer { slot, .. }) = &self.state else { return None };
        self.end_sessions_before(slot.origin_host(), origin_state_id);
        Some(slot.origin_host())
    }

    /// The peer says goodbye.
    pub(super) fn leaving(&self, now: Instant) {
        if let Some(link) = &self.link {
            link.leaving(now);
        }
    }

    /// The connection is over: its place is free for the next.
    pub(super) fn ended(&mut self, end: End) {
        self.state = AdmissionState::Ended(end);
        tracing::debug!(from = %self.from, %end, "A Diameter connection is over.");
    }

    /// Reports the end to the peer's machine, which has the watchdog for its next connection.
    pub(super) fn leave(self, watchdog: &Watchdog, now: Instant) {
        let end = match self.state {
            AdmissionState::Ended(end) => end,
            _ => End::Lost,
        };
        if let Some(link) = &self.link {
            link.ended(end, watchdog, now);
        }
    }

    /// Decisions of the peer's machine that were not taken yet.
    pub(super) fn commands(&self) -> Vec<PeerCommand> {
        self.link.as_ref().map(|link| link.commands.take()).unwrap_or_default()
    }

    /// Where the peer is a charging server: the way of our requests to it.
    pub(super) fn asker(&self) -> Option<&Arc<Asker>> {
        self.link.as_ref().and_then(|link| link.remote.asker.as_ref())
    }

    fn let_in(&mut self, peer: Box<Capabilities>, slot: PeerSlot) -> AdmissionVerdict {
        tracing::info!(peer = peer.origin_host, realm = peer.origin_realm, from = %self.from, by = %self.transport, "A Diameter peer is let in.");
        self.settle(&peer, slot);
        AdmissionVerdict::Accept(peer)
    }

    fn refuse(&self, peer: &Capabilities, why: NotAdmitted) -> AdmissionVerdict {
        tracing::warn!(peer = peer.origin_host, realm = peer.origin_realm, from = %self.from, why = why.text, "A Diameter peer is not let in.");
        AdmissionVerdict::Refuse(why)
    }

    /// The peer has its place: from now on requests about its sessions find it here.
    fn settle(&mut self, peer: &Capabilities, slot: PeerSlot) {
        if let Some(state_id) = peer.origin_state_id {
            self.end_sessions_before(&peer.origin_host, state_id);
        }
        let Server { config, notifier, ledger, .. } = &*self.server;
        self.mailbox.meet(PeerIdentity {
            origin_host: peer.origin_host.clone(),
            realm: peer.origin_realm.clone(),
            product: peer.product_name.clone(),
            from: self.from,
            transport: self.transport,
            window: config.window,
            owed_max: config.owed_max,
        });
        let reachable = notifier.enter(slot.origin_host(), &self.mailbox);
        for request in notifier.take_awaited(slot.origin_host()) {
            notifier.ask_again(request, ledger);
        }
        self.state = AdmissionState::Admitted(AdmittedPeer { slot, _reachable: reachable });
    }

    /// Sessions of an earlier start of this peer are over (RFC 6733, section 8.16): what they hold is
    /// released.
    fn end_sessions_before(&self, origin_host: &str, state_id: u32) {
        let ledger = &self.server.ledger;
        for number in 0..ledger.shards() {
            let host = origin_host.to_owned();
            ledger.ask(number, move |shard| {
                let ended = shard.end_sessions_before(&host, state_id);
                if ended > 0 {
                    tracing::info!(
                        peer = host,
                        shard = number,
                        ended,
                        "A Diameter peer started anew: its sessions of before are ended."
                    );
                }
            });
        }
    }
}
