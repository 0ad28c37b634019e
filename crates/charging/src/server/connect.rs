//! Peers that we connect to: kept connected, each by the peer machine (RFC 6733, section 5.6), which also
//! judges the connections that such a peer begins.

use super::ask::Asker;
use super::config::{ConnectTo, PeerRule};
use super::{Alive, Server};
use diameter::peer::states::{Link, PeerState};
use diameter::peer::watchdog::Watchdog;
use diameter::peer::{Capabilities, Cause, ConnectionConfig, End, Order, Peer};
use net::{Cores, TlsClient};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// Without a deadline the keeper still looks around this often.
const IDLE: Duration = Duration::from_secs(60);

/// What one connection of the peer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerCommand {
    /// Exchange capabilities as who began.
    Begin,
    /// Let the peer in.
    Accept,
    /// The peer is connected already.
    Refuse,
    /// End at once: the election was lost.
    Abort,
    /// Say goodbye.
    Disconnect(Cause),
}

/// Where a connection hears what its peer's machine has decided. At most a handful of words wait: each is the
/// last of its kind.
#[derive(Default)]
pub(super) struct PeerLine {
    told: Mutex<Vec<PeerCommand>>,
    pub(super) notify: Notify,
}

impl PeerLine {
    fn tell(&self, word: PeerCommand) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(word);
        self.notify.notify_one();
    }

    /// What was told since it was asked last.
    pub(super) fn take(&self) -> Vec<PeerCommand> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A peer that we connect to.
pub(super) struct Remote {
    pub(super) rule: PeerRule,
    pub(super) to: ConnectTo,
    tls: Option<TlsClient>,
    /// Requests of ours go by it, where this is a charging server.
    pub(super) asker: Option<Arc<Asker>>,
    state: Mutex<RemoteState>,
    notify: Notify,
    /// It is not kept any more.
    removed: watch::Sender<bool>,
}

struct RemoteState {
    peer: Peer,
    lines: HashMap<Link, Arc<PeerLine>>,
    next: u64,
    /// An attempt to connect is wanted.
    connects: bool,
}

/// One connection of a peer that we connect to, as its own task knows it.
#[derive(Clone)]
pub(super) struct Attached {
    pub(super) remote: Arc<Remote>,
    pub(super) link: Link,
    pub(super) line: Arc<PeerLine>,
}

impl Remote {
    /// Not connected yet.
    ///
    /// # Errors
    /// What is wrong with the TLS settings.
    pub(super) fn new(
        rule: &PeerRule,
        to: &ConnectTo,
        config: &Arc<ConnectionConfig>,
        seed: u64,
    ) -> Result<Arc<Remote>, String> {
        let tls = rule.tls.then(|| TlsClient::new(&to.tls)).transpose().map_err(|error| error.to_string())?;
        let peer = Peer::new(Arc::clone(config), &rule.origin_host, seed);
        Ok(Arc::new(Remote {
            asker: to.charges.map(|place| Arc::new(Asker::new(&rule.origin_host, &rule.realm, place))),
            rule: rule.clone(),
            to: to.clone(),
            tls,
            state: Mutex::new(RemoteState { peer, lines: HashMap::new(), next: 0, connects: false }),
            notify: Notify::new(),
            removed: watch::Sender::new(false),
        }))
    }

    /// The name under which the peer is kept.
    pub(super) fn key(&self) -> String {
        Peer::key(&self.rule.origin_host)
    }

    /// It is not kept any more: what we began ends, what the peer began stays.
    pub(super) fn remove(&self) {
        self.removed.send_replace(true);
    }

    fn standing(&self) -> MutexGuard<'_, RemoteState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the machine something, and carries out what it orders.
    fn tell<T>(&self, say: impl FnOnce(&mut RemoteState) -> T) -> T {
        let mut standing = self.standing();
        let said = say(&mut standing);
        while let Some(order) = standing.peer.poll_order() {
            self.carry_out(&mut standing, order);
        }
        drop(standing);
        // Deadlines may have changed.
        self.notify.notify_one();
        said
    }

    fn carry_out(&self, standing: &mut RemoteState, order: Order) {
        let (link, word) = match order {
            Order::Connect => {
                standing.connects = true;
                return;
            }
            // What the attempt brings finds nobody who waits for it.
            Order::GiveUpConnecting => return,
            Order::Restarted { origin_state_id } => {
                tracing::info!(peer = self.rule.origin_host, origin_state_id, "A Diameter peer restarted.");
                return;
            }
            Order::Begin(link) => (link, PeerCommand::Begin),
            Order::Accept(link) => (link, PeerCommand::Accept),
            Order::Refuse(link) => (link, PeerCommand::Refuse),
            Order::Abort(link) => (link, PeerCommand::Abort),
            Order::Disconnect(link, cause) => (link, PeerCommand::Disconnect(cause)),
        };
        if let Some(line) = standing.lines.get(&link) {
            line.tell(word);
        }
    }

    fn attach(standing: &mut RemoteState) -> (Link, Arc<PeerLine>) {
        standing.next += 1;
        let (link, line) = (Link(standing.next), Arc::new(PeerLine::default()));
        standing.lines.insert(link, Arc::clone(&line));
        (link, line)
    }

    /// A connection that the peer began has asked to be let in: its line says whether it is.
    pub(super) fn asked(self: &Arc<Self>, capabilities: &Capabilities, now: Instant) -> Attached {
        let (link, line) = self.tell(|standing| {
            let (link, line) = Remote::attach(standing);
            standing.peer.asked(link, capabilities, now);
            (link, line)
        });
        Attached { remote: Arc::clone(self), link, line }
    }

    /// The connection that was wanted is there; nothing if it is not wanted any more.
    fn connected(self: &Arc<Self>, now: Instant) -> Option<Attached> {
        let (link, line) = self.tell(|standing| {
            let (link, line) = Remote::attach(standing);
            standing.peer.connected(link, now);
            (link, line)
        });
        // An election that we won ends it before it began.
        if line.take() == [PeerCommand::Begin] {
            return Some(Attached { remote: Arc::clone(self), link, line });
        }
        self.standing().lines.remove(&link);
        None
    }

    /// Keeps the peer connected until the server stops or the peer is removed.
    pub(super) async fn keep(self: Arc<Self>, server: Arc<Server>, cores: Arc<Cores>) {
        let (mut stopping, mut removed) = (server.stop.subscribe(), self.removed.subscribe());
        self.tell(|standing| standing.peer.start(Instant::now()));
        loop {
            if std::mem::take(&mut self.standing().connects) {
                let attempt = Arc::clone(&self).attempt(Arc::clone(&server));
                cores.spawn_on(cores.next(), attempt);
            }
            let due = self.standing().peer.poll_timeout().unwrap_or_else(|| Instant::now() + IDLE);
            tokio::select! {
                () = self.notify.notified() => {}
                () = tokio::time::sleep_until(due.into()) => {
                    self.tell(|standing| standing.peer.handle_timeout(Instant::now()));
                }
                _ = stopping.wait_for(|stopping| *stopping) => {
                    // Each connection says goodbye by itself.
                    return self.tell(|standing| standing.peer.stop(Cause::REBOOTING, Instant::now()));
                }
                _ = removed.wait_for(|removed| *removed) => {
                    return self.tell(|standing| {
                        if !matches!(standing.peer.state(), PeerState::ROpen(_)) {
                            standing.peer.stop(Cause::DO_NOT_WANT_TO_TALK_TO_YOU, Instant::now());
                        }
                    });
                }
            }
        }
    }

    async fn attempt(self: Arc<Self>, server: Arc<Server>) {
        let alive = Alive::new(&server);
        let peer = &self.rule.origin_host;
        let connected = if server.peers.is_connected(&self.key()) {
            // It was let in before we were told to connect to it.
            Err("it is connected already".to_owned())
        } else {
            let within = server.config.capabilities;
            net::connect(&self.to.address, self.tls.as_ref(), within).await.map_err(|error| error.to_string())
        };
        match connected {
            Ok(stream) => {
                if let Some(attached) = self.connected(Instant::now()) {
                    server.converse_as_initiator(stream, attached).await;
                }
            }
            Err(why) => {
                tracing::warn!(peer, why, "A Diameter peer cannot be connected to; it is tried again.");
                self.tell(|standing| standing.peer.not_connected(Instant::now()));
            }
        }
        drop(alive);
    }
}

impl Attached {
    /// What the machine knows of the peer's last connection.
    pub(super) fn watchdog(&self) -> Watchdog {
        self.remote.standing().peer.watchdog().clone()
    }

    /// Capabilities were exchanged on a connection that we began.
    pub(super) fn opened(&self, capabilities: &Capabilities, now: Instant) {
        self.remote.tell(|standing| standing.peer.opened(self.link, capabilities, now));
    }

    /// The peer says goodbye.
    pub(super) fn leaving(&self, now: Instant) {
        self.remote.tell(|standing| standing.peer.leaving(self.link, now));
    }

    /// The connection is over.
    pub(super) fn ended(&self, end: End, watchdog: &Watchdog, now: Instant) {
        self.remote.tell(|standing| {
            standing.peer.ended(self.link, end, watchdog, now);
            standing.lines.remove(&self.link);
        });
    }
}
