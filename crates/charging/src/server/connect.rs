//! Peers that we connect to: kept connected, each by the peer machine (RFC 6733, section 5.6), which also
//! judges the connections that such a peer begins.

use super::Server;
use super::ask::Asker;
use super::config::{ConnectTo, PeerRule};
use super::connection::{Alive, serve_begun};
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

/// Command of a peer's machine to one of its connections.
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

/// Commands of a peer's machine that wait for one of its connections. At most a handful: each is the last of
/// its kind.
pub(super) struct CommandQueue {
    waiting: Mutex<Vec<PeerCommand>>,
    /// The connection's.
    pub(super) notify: Arc<Notify>,
}

impl CommandQueue {
    fn push(&self, command: PeerCommand) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(command);
        self.notify.notify_one();
    }

    /// Takes those that came since the last time.
    pub(super) fn take(&self) -> Vec<PeerCommand> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
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
    connections: HashMap<Link, Arc<CommandQueue>>,
    next: u64,
    /// An attempt to connect is wanted.
    connects: bool,
}

/// One connection of a peer that we connect to, as its own task knows it.
pub(super) struct RemoteLink {
    pub(super) remote: Arc<Remote>,
    link: Link,
    pub(super) commands: Arc<CommandQueue>,
}

impl Remote {
    /// Not connected yet.
    ///
    /// # Errors
    /// The TLS settings are wrong.
    pub(super) fn new(
        rule: &PeerRule,
        to: &ConnectTo,
        config: &Arc<ConnectionConfig>,
        seed: u64,
    ) -> Result<Arc<Remote>, String> {
        let known_by = || TlsClient::known_by(&to.tls, to.identity.as_ref());
        let tls = rule.tls.then(known_by).transpose().map_err(|error| error.to_string())?;
        let peer = Peer::new(Arc::clone(config), &rule.origin_host, seed);
        Ok(Arc::new(Remote {
            asker: to.charges.map(|place| Arc::new(Asker::new(&rule.origin_host, &rule.realm, place))),
            rule: rule.clone(),
            to: to.clone(),
            tls,
            state: Mutex::new(RemoteState { peer, connections: HashMap::new(), next: 0, connects: false }),
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

    fn lock(&self) -> MutexGuard<'_, RemoteState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the machine, and carries out its orders.
    fn change<T>(&self, change: impl FnOnce(&mut RemoteState) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        while let Some(order) = state.peer.poll_order() {
            self.carry_out(&mut state, order);
        }
        drop(state);
        // Deadlines may have changed.
        self.notify.notify_one();
        result
    }

    fn carry_out(&self, state: &mut RemoteState, order: Order) {
        let (link, command) = match order {
            Order::Connect => {
                state.connects = true;
                return;
            }
            // The connection that the attempt brings is not wanted any more.
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
        if let Some(connection) = state.connections.get(&link) {
            connection.push(command);
        }
    }

    fn attach(state: &mut RemoteState, notify: Arc<Notify>) -> (Link, Arc<CommandQueue>) {
        state.next += 1;
        let (link, commands) =
            (Link(state.next), Arc::new(CommandQueue { waiting: Mutex::default(), notify }));
        state.connections.insert(link, Arc::clone(&commands));
        (link, commands)
    }

    /// A connection that the peer began has asked to be let in: a command decides whether it is.
    pub(super) fn asked(
        self: &Arc<Self>,
        capabilities: &Capabilities,
        notify: Arc<Notify>,
        now: Instant,
    ) -> RemoteLink {
        let (link, commands) = self.change(|state| {
            let (link, commands) = Remote::attach(state, notify);
            state.peer.asked(link, capabilities, now);
            (link, commands)
        });
        RemoteLink { remote: Arc::clone(self), link, commands }
    }

    /// The connection that was wanted is there; nothing if it is not wanted any more.
    fn connected(self: &Arc<Self>, now: Instant) -> Option<RemoteLink> {
        let (link, commands) = self.change(|state| {
            let (link, commands) = Remote::attach(state, Arc::default());
            state.peer.connected(link, now);
            (link, commands)
        });
        // An election that we won ends it before it began.
        if commands.take() == [PeerCommand::Begin] {
            return Some(RemoteLink { remote: Arc::clone(self), link, commands });
        }
        self.lock().connections.remove(&link);
        None
    }

    /// Keeps the peer connected until the server stops or the peer is removed.
    pub(super) async fn keep(self: Arc<Self>, server: Arc<Server>, cores: Arc<Cores>) {
        let (mut stopping, mut removed) = (server.stop.subscribe(), self.removed.subscribe());
        self.change(|state| state.peer.start(Instant::now()));
        loop {
            if std::mem::take(&mut self.lock().connects) {
                let attempt = Arc::clone(&self).attempt(Arc::clone(&server));
                cores.spawn_on(cores.next(), attempt);
            }
            let due = self.lock().peer.poll_timeout().unwrap_or_else(|| Instant::now() + IDLE);
            tokio::select! {
                () = self.notify.notified() => {}
                () = tokio::time::sleep_until(due.into()) => {
                    self.change(|state| state.peer.handle_timeout(Instant::now()));
                }
                _ = stopping.wait_for(|stopping| *stopping) => {
                    // Each connection says goodbye by itself.
                    return self.change(|state| state.peer.stop(Cause::REBOOTING, Instant::now()));
                }
                _ = removed.wait_for(|removed| *removed) => {
                    return self.change(|state| {
                        if !matches!(state.peer.state(), PeerState::ROpen(_)) {
                            state.peer.stop(Cause::DO_NOT_WANT_TO_TALK_TO_YOU, Instant::now());
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
                if let Some(link) = self.connected(Instant::now()) {
                    serve_begun(&server, stream, link).await;
                }
            }
            Err(why) => {
                tracing::warn!(peer, why, "A Diameter peer cannot be connected to; it is tried again.");
                self.change(|state| state.peer.not_connected(Instant::now()));
            }
        }
        drop(alive);
    }
}

impl RemoteLink {
    /// The watchdog of the peer's last connection.
    pub(super) fn watchdog(&self) -> Watchdog {
        self.remote.lock().peer.watchdog().clone()
    }

    /// Capabilities were exchanged on a connection that we began.
    pub(super) fn opened(&self, capabilities: &Capabilities, now: Instant) {
        self.remote.change(|state| state.peer.opened(self.link, capabilities, now));
    }

    /// The peer says goodbye.
    pub(super) fn leaving(&self, now: Instant) {
        self.remote.change(|state| state.peer.leaving(self.link, now));
    }

    /// The connection is over.
    pub(super) fn ended(&self, end: End, watchdog: &Watchdog, now: Instant) {
        self.remote.change(|state| {
            state.peer.ended(self.link, end, watchdog, now);
            state.connections.remove(&self.link);
        });
    }
}
