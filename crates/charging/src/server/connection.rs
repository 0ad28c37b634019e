//! One connection: the peer machine, the dispatcher at which its requests are handled, and who lets it in.

use super::ask::Asking;
use super::connect::{Attached, PeerCommand};
use super::outgoing_requests::OutgoingRequests;
use super::peers::{Admission, NotAdmitted, PeerSlot, Peers, Transport};
use super::request_dispatcher::RequestDispatcher;
use crate::session_notifier::{Mailbox, PeerIdentity, Reachable, SessionNotifier};
use diameter::peer::{Capabilities, Cause, Connection, End, Event, Incoming, Unanswered};
use ledger::Ledger;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, watch};

/// The machine that is driven.
pub(super) struct DiameterConnection {
    pub(super) connection: Connection,
    pub(super) dispatcher: RequestDispatcher,
    /// Requests of ours, where the peer is asked.
    pub(super) asking: Option<Asking>,
    pub(super) outgoing: OutgoingRequests,
    pub(super) peers: Arc<Peers>,
}

impl net::Machine for DiameterConnection {
    type Event<'a> = Event;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        let DiameterConnection { connection, dispatcher, asking, outgoing, peers } = self;
        connection.handle_input(input, now, &mut |incoming, answers| match (incoming, &mut *asking) {
            (Incoming::Answer { message, pending }, Some(asking)) if Asking::is_its(pending.command) => {
                asking.answered(pending.token, &message);
            }
            (Incoming::Answer { message, pending }, _) => outgoing.answered(pending.token, &message),
            (Incoming::Request(request), asking) => {
                // What a charging server asks by itself is for who has sessions there.
                let asked = asking.as_ref().zip(peers.holder());
                if !asked.is_some_and(|(asking, holder)| holder.asked(asking.host(), &request, asking.back()))
                {
                    dispatcher.take(Incoming::Request(request), answers);
                }
            }
        });
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
    }
    fn handle_eof(&mut self, now: Instant) {
        self.connection.handle_eof(now);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        self.connection.poll_transmit(output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.connection.poll_event()
    }
    fn wants_input(&self) -> bool {
        self.connection.wants_input()
    }
    fn is_finished(&self) -> bool {
        self.connection.is_over()
    }
}

/// What is done beside the requests.
pub(super) struct PeerAdmission {
    pub(super) peers: Arc<Peers>,
    pub(super) from: IpAddr,
    pub(super) transport: Transport,
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) inbox: Arc<super::request_dispatcher::BatchInbox>,
    pub(super) sessions: (Ledger, Arc<SessionNotifier>),
    pub(super) mailbox: Arc<Mailbox>,
    /// Requests without an answer, ours and the peer's, that may be.
    pub(super) windows: (usize, usize),
    /// Who the peer is, and at which of its starts: to be told to the dispatcher.
    pub(super) met: Option<(String, Option<u32>)>,
    pub(super) reachable: Option<Reachable>,
    pub(super) asked: Option<Result<PeerSlot, NotAdmitted>>,
    /// Rings when there is something to ask.
    pub(super) asks: Option<Arc<Notify>>,
    /// Who wants in, until that is decided.
    pub(super) capabilities: Option<Box<Capabilities>>,
    /// Who let us in, until it has its place.
    pub(super) opened: Option<Box<Capabilities>>,
    /// Where we connect to the peer too.
    pub(super) attached: Option<Attached>,
    /// Requests of ours without an answer.
    pub(super) unanswered: Vec<Unanswered>,
    pub(super) ended: Option<End>,
    pub(super) place: Option<PeerSlot>,
    pub(super) said_goodbye: bool,
}

impl PeerAdmission {
    fn asked(&mut self, peer: Box<Capabilities>, now: Instant) {
        match self.peers.admit(&peer, self.from, self.transport) {
            Ok(Admission::Now(place)) => {
                self.tell_let_in(&peer);
                self.get_to_know(&peer);
                self.asked = Some(Ok(place));
            }
            Ok(Admission::Judged(remote)) => {
                self.attached = Some(remote.asked(&peer, now));
                self.capabilities = Some(peer);
            }
            Err(why) => {
                self.tell_refused(&peer, &why);
                self.asked = Some(Err(why));
            }
        }
    }

    fn tell_let_in(&self, peer: &Capabilities) {
        tracing::info!(peer = peer.origin_host, realm = peer.origin_realm, from = %self.from, by = %self.transport, "A Diameter peer is let in.");
    }

    fn tell_refused(&self, peer: &Capabilities, why: &NotAdmitted) {
        tracing::warn!(peer = peer.origin_host, realm = peer.origin_realm, from = %self.from, why = why.text, "A Diameter peer is not let in.");
    }

    /// Does what the machine of a peer that we connect to has decided.
    fn obey(&mut self, word: PeerCommand, diameter_connection: &mut DiameterConnection, now: Instant) {
        match word {
            PeerCommand::Begin => {}
            PeerCommand::Accept => self.let_in(diameter_connection, now),
            PeerCommand::Refuse => {
                let NotAdmitted { result_code, text } = NotAdmitted::TWICE;
                diameter_connection.connection.refuse(result_code, text, now);
            }
            PeerCommand::Abort => diameter_connection.connection.abort(now),
            PeerCommand::Disconnect(cause) => diameter_connection.connection.disconnect(cause, now),
        }
    }

    /// A connection that the peer began, and that stays.
    fn let_in(&mut self, diameter_connection: &mut DiameterConnection, now: Instant) {
        let Some(peer) = self.capabilities.take() else { return };
        match self.peers.place(&peer, self.from, self.transport) {
            Ok(place) => {
                self.tell_let_in(&peer);
                self.get_to_know(&peer);
                self.settle(place);
                diameter_connection.asking =
                    self.attached.as_ref().and_then(|at| at.remote.asker.as_ref()).map(Asking::new);
                self.asks = diameter_connection.asking.as_ref().map(Asking::notify);
                diameter_connection.connection.accept(now);
            }
            Err(why) => {
                self.tell_refused(&peer, &why);
                diameter_connection.connection.refuse(why.result_code, why.text, now);
            }
        }
    }

    /// A connection that we began has its place, if the peer is whom we mean.
    fn settle_in(&mut self, peer: &Capabilities, diameter_connection: &mut DiameterConnection, now: Instant) {
        let Some(attached) = &self.attached else { return };
        let is_meant = attached.remote.rule.names(&peer.origin_host, &peer.origin_realm);
        match self.peers.place(peer, self.from, self.transport) {
            Ok(place) if is_meant => {
                tracing::info!(peer = peer.origin_host, realm = peer.origin_realm, at = %self.from, "Connected to a Diameter peer.");
                attached.opened(peer, now);
                self.get_to_know(peer);
                self.settle(place);
            }
            Ok(_) => {
                tracing::warn!(
                    peer = peer.origin_host,
                    realm = peer.origin_realm,
                    "A Diameter peer is of another realm than [[diameter.peer]] says."
                );
                diameter_connection.connection.abort(now);
            }
            Err(_) => diameter_connection.connection.abort(now),
        }
    }

    /// What there is to do where we connect to the peer too.
    fn attend(&mut self, diameter_connection: &mut DiameterConnection, now: Instant) {
        if let Some(peer) = self.opened.take() {
            self.settle_in(&peer, diameter_connection, now);
        }
        let words = self.attached.as_ref().map(|attached| attached.line.take()).unwrap_or_default();
        for word in words {
            self.obey(word, diameter_connection, now);
        }
        if let Some(asking) = &mut diameter_connection.asking {
            asking.fill(&mut diameter_connection.connection, now);
        }
    }

    /// Tells those who asked that nobody answered.
    fn give_up(&mut self, diameter_connection: &mut DiameterConnection) {
        for unanswered in self.unanswered.drain(..) {
            match &mut diameter_connection.asking {
                Some(asking) if Asking::is_its(unanswered.command) => asking.unanswered(&unanswered),
                _ => diameter_connection.outgoing.unanswered(unanswered.token),
            }
        }
    }

    /// The connection is over, and so is all that hung on it.
    pub(super) fn leave(mut self, mut diameter_connection: DiameterConnection, now: Instant) {
        self.give_up(&mut diameter_connection);
        diameter_connection.asking = None;
        (self.place, self.reachable) = (None, None);
        if let Some(attached) = &self.attached {
            attached.ended(self.ended.unwrap_or(End::Lost), diameter_connection.connection.watchdog(), now);
        }
    }

    /// The peer has its place: from now on it is found here.
    fn settle(&mut self, place: PeerSlot) {
        let (ledger, notifier) = &self.sessions;
        self.reachable = Some(notifier.enter(place.origin_host(), &self.mailbox));
        notifier
            .take_awaited(place.origin_host())
            .into_iter()
            .for_each(|request_of_ours| notifier.ask_again(request_of_ours, ledger));
        self.place = Some(place);
    }

    /// Who is at the other end.
    fn get_to_know(&mut self, peer: &Capabilities) {
        self.meet(&peer.origin_host, peer.origin_state_id);
        self.mailbox.meet(PeerIdentity {
            origin_host: peer.origin_host.clone(),
            realm: peer.origin_realm.clone(),
            product: peer.product_name.clone(),
            from: self.from,
            transport: self.transport,
            window: self.windows.0,
            owed_max: self.windows.1,
        });
    }

    /// Sessions of an earlier start of this peer are over (RFC 6733, section 8.16): what they hold is
    /// released.
    fn meet(&mut self, origin_host: &str, state_id: Option<u32>) {
        self.met = Some((origin_host.to_owned(), state_id));
        let Some(state_id) = state_id else { return };
        for number in 0..self.sessions.0.shards() {
            let host = origin_host.to_owned();
            self.sessions.0.ask(number, move |shard| {
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

impl net::Worker<DiameterConnection> for PeerAdmission {
    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Asked(peer) => self.asked(peer, now),
            Event::Opened(peer) => self.opened = Some(peer),
            Event::Unanswered(unanswered) => self.unanswered.push(unanswered),
            Event::Ended(end) => {
                (self.place, self.reachable) = (None, None);
                self.ended = Some(end);
                tracing::debug!(from = %self.from, %end, "A Diameter connection is over.");
            }
            Event::Restarted { origin_state_id } => {
                let host = self.place.as_ref().map(|place| place.origin_host().to_owned());
                host.into_iter().for_each(|host| self.meet(&host, Some(origin_state_id)));
            }
            Event::Suspended | Event::Resumed => {}
            Event::Leaving(_) => {
                if let Some(attached) = &self.attached {
                    attached.leaving(now);
                }
            }
        }
    }

    fn fill(&mut self, diameter_connection: &mut DiameterConnection, now: Instant, _writable: bool) {
        match self.asked.take() {
            Some(Ok(place)) => {
                self.settle(place);
                diameter_connection.connection.accept(now);
            }
            Some(Err(why)) => diameter_connection.connection.refuse(why.result_code, why.text, now),
            None => {}
        }
        if self.attached.is_some() {
            self.attend(diameter_connection, now);
        }
        if let Some((host, state_id)) = self.met.take() {
            diameter_connection.dispatcher.meet(&host, state_id);
        }
        if *self.stopping.borrow() && !self.said_goodbye {
            self.said_goodbye = true;
            diameter_connection.connection.disconnect(Cause::REBOOTING, now);
        }
        self.give_up(diameter_connection);
        diameter_connection.outgoing.send(&mut diameter_connection.connection, now);
        diameter_connection.dispatcher.answer(&mut diameter_connection.connection, now);
        diameter_connection.dispatcher.submit(&mut diameter_connection.connection, now);
        self.mailbox.note(&diameter_connection.connection);
    }

    async fn woken(&mut self) {
        if self.said_goodbye && self.attached.is_none() {
            return self.inbox.notify.notified().await;
        }
        let said_goodbye = self.said_goodbye;
        tokio::select! {
            () = self.inbox.notify.notified() => {}
            () = self.mailbox.notify.notified() => {}
            _ = self.stopping.wait_for(|stopping| *stopping), if !said_goodbye => {}
            () = rung(self.attached.as_ref().map(|attached| &attached.line.notify)) => {}
            () = rung(self.asks.as_deref()) => {}
        }
    }
}

/// Resolves when the bell rings; without one never.
async fn rung(notify: Option<&Notify>) {
    match notify {
        Some(notify) => notify.notified().await,
        None => std::future::pending().await,
    }
}
