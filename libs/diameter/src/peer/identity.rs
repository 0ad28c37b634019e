//! One peer identity: which of two connections stays, when to connect, when not to (RFC 6733 sections 2.1,
//! 5.4 and 5.6).

use super::capabilities::Capabilities;
use super::config::ConnectionConfig;
use super::event::{Cause, End};
use super::random::Random;
use super::states::{Action, Closed, Link, PeerEvent, PeerState, wins_election};
use super::watchdog::{self, Watchdog};
use crate::result_code;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// What the driver of a [`Peer`] is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Connect to the peer; then [`Peer::connected`] or [`Peer::not_connected`].
    Connect,
    /// Give the attempt to connect up.
    GiveUpConnecting,
    /// Make a [`Connection::connecting`](super::Connection::connecting) of the established connection, with
    /// [`Peer::watchdog`].
    Begin(Link),
    /// [`Connection::accept`](super::Connection::accept).
    Accept(Link),
    /// [`Connection::refuse`](super::Connection::refuse) with [`ALREADY_CONNECTED`]: this peer is connected
    /// already.
    Refuse(Link),
    /// [`Connection::abort`](super::Connection::abort), and close.
    Abort(Link),
    /// [`Connection::disconnect`](super::Connection::disconnect).
    Disconnect(Link, Cause),
    /// The peer restarted since its last connection: its sessions are gone.
    Restarted {
        /// Its new Origin-State-Id.
        origin_state_id: u32,
    },
}

/// What a second connection of one Origin-Host is refused with. RFC 6733 only says that it is disconnected:
/// this says why.
pub const ALREADY_CONNECTED: (u32, &str) = (
    result_code::UNABLE_TO_COMPLY,
    "this Origin-Host is connected already: give each connection one of its own",
);

/// One peer identity.
///
/// Its driver tells it what happens to the peer's connections, takes every [`Order`] after each call, and
/// calls [`Peer::handle_timeout`] when [`Peer::poll_timeout`] says so. Connections that the peer begins are
/// led here by the Origin-Host of their CER ([`Peer::key`]) when [`Event::Asked`](super::Event::Asked) comes.
///
/// A connection that the peer began is used at once, whatever the watchdog thought of the peer before: who
/// connects and exchanges capabilities is alive, and would have its first minute of requests thrown away. A
/// connection that we began after a failure is probed first.
pub struct Peer {
    config: Arc<ConnectionConfig>,
    wins: bool,
    state: PeerState,
    watchdog: Watchdog,
    /// We keep a connection to this peer.
    is_wanted: bool,
    /// It was asked for while the last one was closing: whatever that one's end says, the next begins behind
    /// it.
    starts_again: bool,
    cause: Cause,
    /// Until when an intermediate state may last.
    deadline: Option<Instant>,
    origin_state_id: Option<u32>,
    /// Of the peer's connection that waits for its CEA.
    asked_state_id: Option<u32>,
    orders: VecDeque<Order>,
}

impl Peer {
    /// The peer with this Origin-Host, not connected.
    #[must_use]
    pub fn new(config: Arc<ConnectionConfig>, origin_host: &str, seed: u64) -> Self {
        let wins = wins_election(config.identity.origin_host.as_bytes(), origin_host.as_bytes());
        let watchdog = Watchdog::new(config.tw, config.tc, Random::new(seed));
        Peer {
            wins,
            state: Closed.into(),
            watchdog,
            is_wanted: false,
            starts_again: false,
            cause: Cause::REBOOTING,
            deadline: None,
            origin_state_id: None,
            asked_state_id: None,
            orders: VecDeque::new(),
            config,
        }
    }

    /// Under what a peer is kept: Origin-Hosts that differ by case alone are one (section 4.3.1).
    #[must_use]
    pub fn key(origin_host: &str) -> String {
        origin_host.to_ascii_lowercase()
    }

    /// A connection is wanted, and kept: after its end it is tried again every `Tc`.
    pub fn start(&mut self, now: Instant) {
        self.is_wanted = true;
        self.starts_again = matches!(self.state, PeerState::Closing(_));
        self.on(PeerEvent::Start, now);
        self.watchdog.attempted(now);
    }

    /// No connection is wanted any more.
    pub fn stop(&mut self, cause: Cause, now: Instant) {
        (self.is_wanted, self.starts_again) = (false, false);
        self.cause = cause;
        self.watchdog.rest();
        self.on(PeerEvent::Stop, now);
    }

    /// The connection of [`Order::Connect`] is established.
    pub fn connected(&mut self, link: Link, now: Instant) {
        self.on(PeerEvent::IRcvConnAck(link), now);
    }

    /// The connection of [`Order::Connect`] could not be established.
    pub fn not_connected(&mut self, now: Instant) {
        self.on(PeerEvent::IRcvConnNack, now);
        self.retry(now);
    }

    /// A connection of this peer's [`Asked`](super::PeerEvent::Asked), and it may be let in.
    pub fn asked(&mut self, link: Link, capabilities: &Capabilities, now: Instant) {
        let before = self.asked_state_id;
        self.asked_state_id = capabilities.origin_state_id;
        self.on(PeerEvent::RConnCer(link), now);
        if self.state.responder() != Some(link) {
            self.asked_state_id = before;
        }
    }

    /// Our connection is open: [`Opened`](super::PeerEvent::Opened).
    pub fn opened(&mut self, link: Link, capabilities: &Capabilities, now: Instant) {
        if self.state.initiator() == Some(link) {
            self.see_origin_state_id(capabilities.origin_state_id);
            self.on(PeerEvent::IRcvCea, now);
        }
    }

    /// The peer disconnects: [`Leaving`](super::PeerEvent::Leaving).
    pub fn leaving(&mut self, link: Link, now: Instant) {
        if self.state.open() == Some(link) {
            self.on(PeerEvent::RcvDpr, now);
        }
    }

    /// A connection is over: [`Ended`](super::PeerEvent::Ended), with its
    /// [`watchdog`](super::Connection::watchdog).
    pub fn ended(&mut self, link: Link, end: End, watchdog: &Watchdog, now: Instant) {
        let is_closing = matches!(self.state, PeerState::Closing(_));
        let event = match (self.state.initiator() == Some(link), self.state.responder() == Some(link)) {
            (true, _) if is_closing && end == End::Disconnected => PeerEvent::RcvDpa,
            (_, true) if is_closing && end == End::Disconnected => PeerEvent::RcvDpa,
            (true, _) if self.state.open() == Some(link) || is_closing => PeerEvent::IPeerDisc,
            (true, _) => PeerEvent::IRcvNonCea,
            (_, true) => PeerEvent::RPeerDisc,
            // Another connection, refused or given up: not of this peer's state.
            (false, false) => return,
        };
        if self.state.open() == Some(link) || is_closing {
            self.watchdog = watchdog.clone();
        }
        let from = self.orders.len();
        self.on(event, now);
        // What ended need not be ended.
        let ordered = self.orders.split_off(from);
        self.orders.extend(ordered.into_iter().filter(|order| *order != Order::Abort(link)));
        if matches!(self.state, PeerState::Closed(_)) {
            if end.allows_reconnection() || self.starts_again {
                self.retry(now)
            } else {
                self.watchdog.rest()
            }
        }
    }

    /// Acts on what is due at `now`. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.on(PeerEvent::Timeout, now);
            if matches!(self.state, PeerState::Closed(_)) {
                self.retry(now);
            }
        }
        if self.attempt_due().is_some_and(|at| at <= now)
            && self.watchdog.timer_expired(now).contains(&watchdog::Action::AttemptOpen)
        {
            self.on(PeerEvent::Start, now);
        }
    }

    /// When [`Peer::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.deadline, self.attempt_due()].into_iter().flatten().min()
    }

    /// The next thing to do.
    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// For the next connection that we begin.
    #[must_use]
    pub fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Where the peer stands.
    #[must_use]
    pub fn state(&self) -> PeerState {
        self.state
    }

    /// Whether nothing is kept here that a new [`Peer`] would not have: it may be forgotten.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.is_wanted && matches!(self.state, PeerState::Closed(_)) && self.orders.is_empty()
    }

    /// AttemptOpen is due only while nothing is open or under way.
    fn attempt_due(&self) -> Option<Instant> {
        self.watchdog.due().filter(|_| self.is_wanted && matches!(self.state, PeerState::Closed(_)))
    }

    /// The next attempt after `Tc`, from now on; at once where somebody waits for it.
    fn retry(&mut self, now: Instant) {
        if self.is_wanted && matches!(self.state, PeerState::Closed(_)) {
            self.watchdog.attempted(now);
            if std::mem::take(&mut self.starts_again) {
                self.on(PeerEvent::Start, now);
            }
        }
    }

    fn on(&mut self, event: PeerEvent, now: Instant) {
        let mut actions = Vec::new();
        let before = self.state;
        self.state = self.state.on(event, self.wins, &mut actions);
        for action in actions {
            self.order(action);
        }
        if self.state != before {
            let limit = match self.state {
                PeerState::Closing(_) => (self.config.drain + self.config.disconnect) * 2,
                _ => self.config.capabilities,
            };
            self.deadline = self.state.is_intermediate().then(|| now + limit);
        }
    }

    fn order(&mut self, action: Action) {
        let order = match action {
            Action::Connect => Order::Connect,
            Action::GiveUpConnecting => Order::GiveUpConnecting,
            Action::SendCer(link) => Order::Begin(link),
            Action::SendCea(link) => {
                self.see_origin_state_id(self.asked_state_id);
                Order::Accept(link)
            }
            Action::Reject(link) => Order::Refuse(link),
            Action::Disconnect(link) => Order::Abort(link),
            Action::SendDpr(link) => Order::Disconnect(link, self.cause),
            // A connection that asked is held until it is accepted, and answers a DPR by itself.
            Action::Accept(_) | Action::SendDpa(_) => return,
        };
        self.orders.push_back(order);
    }

    fn see_origin_state_id(&mut self, said: Option<u32>) {
        let Some(origin_state_id) = said else {
            return;
        };
        if is_restart(&mut self.origin_state_id, origin_state_id) {
            self.orders.push_back(Order::Restarted { origin_state_id });
        }
    }
}

/// Whether a peer whose greatest Origin-State-Id was this one lost its sessions since, as what it says now
/// tells (RFC 6733, section 8.16): the number grows at each such start. A lower one is an old message or a
/// clock that was set back, and 0 allows no inference; neither ends a session.
pub(super) fn is_restart(greatest: &mut Option<u32>, said: u32) -> bool {
    let before = greatest.filter(|before| *before != 0);
    if before.is_some_and(|before| said <= before) || said == 0 {
        return false;
    }
    *greatest = Some(said);
    before.is_some()
}
