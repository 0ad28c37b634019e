//! One connection: the peer machine, the desk at which its requests are handled, and who lets it in.

use super::ask::Asking;
use super::connect::{Attached, Told};
use super::desk::Desk;
use super::peers::{Admission, NotAdmitted, Peers, Place, Transport};
use diameter::peer::{Capabilities, Cause, Connection, End, Event, Incoming, Unanswered};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, watch};

/// The machine that is driven.
pub(super) struct Talk {
    pub(super) connection: Connection,
    pub(super) desk: Desk,
    /// Requests of ours, where the peer is asked.
    pub(super) asking: Option<Asking>,
}

impl net::Machine for Talk {
    type Event<'a> = Event;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        let Talk { connection, desk, asking } = self;
        connection.handle_input(input, now, &mut |incoming, answers| match (incoming, &mut *asking) {
            (Incoming::Answer { message, pending }, Some(asking)) if Asking::is_its(pending.command) => {
                asking.answered(pending.token, &message);
            }
            _ => desk.take(incoming, answers),
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
pub(super) struct Usher {
    pub(super) peers: Arc<Peers>,
    pub(super) from: IpAddr,
    pub(super) transport: Transport,
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) inbox: Arc<super::desk::Inbox>,
    pub(super) asked: Option<Result<Place, NotAdmitted>>,
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
    pub(super) place: Option<Place>,
    pub(super) said_goodbye: bool,
}

impl Usher {
    fn asked(&mut self, peer: Box<Capabilities>, now: Instant) {
        match self.peers.admit(&peer, self.from, self.transport) {
            Ok(Admission::Now(place)) => {
                self.tell_let_in(&peer);
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
    fn obey(&mut self, word: Told, talk: &mut Talk, now: Instant) {
        match word {
            Told::Begin => {}
            Told::Accept => self.let_in(talk, now),
            Told::Refuse => {
                let NotAdmitted { result_code, text } = NotAdmitted::TWICE;
                talk.connection.refuse(result_code, text, now);
            }
            Told::Abort => talk.connection.abort(now),
            Told::Disconnect(cause) => talk.connection.disconnect(cause, now),
        }
    }

    /// A connection that the peer began, and that stays.
    fn let_in(&mut self, talk: &mut Talk, now: Instant) {
        let Some(peer) = self.capabilities.take() else { return };
        match self.peers.place(&peer, self.from, self.transport) {
            Ok(place) => {
                self.tell_let_in(&peer);
                self.place = Some(place);
                talk.asking = self.attached.as_ref().and_then(|at| at.remote.asker.as_ref()).map(Asking::new);
                self.asks = talk.asking.as_ref().map(Asking::bell);
                talk.connection.accept(now);
            }
            Err(why) => {
                self.tell_refused(&peer, &why);
                talk.connection.refuse(why.result_code, why.text, now);
            }
        }
    }

    /// A connection that we began has its place, if the peer is whom we mean.
    fn settle_in(&mut self, peer: &Capabilities, talk: &mut Talk, now: Instant) {
        let Some(attached) = &self.attached else { return };
        let is_meant = attached.remote.rule.names(&peer.origin_host, &peer.origin_realm);
        match self.peers.place(peer, self.from, self.transport) {
            Ok(place) if is_meant => {
                tracing::info!(peer = peer.origin_host, realm = peer.origin_realm, at = %self.from, "Connected to a Diameter peer.");
                self.place = Some(place);
                attached.opened(peer, now);
            }
            Ok(_) => {
                tracing::warn!(
                    peer = peer.origin_host,
                    realm = peer.origin_realm,
                    "A Diameter peer is of another realm than [[diameter.peer]] says."
                );
                talk.connection.abort(now);
            }
            Err(_) => talk.connection.abort(now),
        }
    }

    /// What there is to do where we connect to the peer too.
    fn attend(&mut self, talk: &mut Talk, now: Instant) {
        if let Some(peer) = self.opened.take() {
            self.settle_in(&peer, talk, now);
        }
        let words = self.attached.as_ref().map(|attached| attached.line.take()).unwrap_or_default();
        for word in words {
            self.obey(word, talk, now);
        }
        if let Some(asking) = &mut talk.asking {
            self.unanswered.drain(..).for_each(|unanswered| asking.unanswered(&unanswered));
            asking.fill(&mut talk.connection, now);
        }
    }

    /// The connection is over, and so is all that hung on it.
    pub(super) fn leave(mut self, mut talk: Talk, now: Instant) {
        if let Some(asking) = &mut talk.asking {
            self.unanswered.iter().for_each(|unanswered| asking.unanswered(unanswered));
        }
        talk.asking = None;
        self.place = None;
        if let Some(attached) = &self.attached {
            attached.ended(self.ended.unwrap_or(End::Lost), talk.connection.watchdog(), now);
        }
    }
}

impl net::Worker<Talk> for Usher {
    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Asked(peer) => self.asked(peer, now),
            Event::Opened(peer) => self.opened = Some(peer),
            Event::Unanswered(unanswered) if Asking::is_its(unanswered.command) => {
                self.unanswered.push(unanswered);
            }
            Event::Ended(end) => {
                self.place = None;
                self.ended = Some(end);
                tracing::debug!(from = %self.from, %end, "A Diameter connection is over.");
            }
            // What its sessions hold ends with their Tcc: a peer that restarted may have others going on.
            Event::Restarted { .. } | Event::Suspended | Event::Resumed | Event::Unanswered(_) => {}
            Event::Leaving(_) => {
                if let Some(attached) = &self.attached {
                    attached.leaving(now);
                }
            }
        }
    }

    fn fill(&mut self, talk: &mut Talk, now: Instant, _writable: bool) {
        match self.asked.take() {
            Some(Ok(place)) => {
                self.place = Some(place);
                talk.connection.accept(now);
            }
            Some(Err(why)) => talk.connection.refuse(why.result_code, why.text, now),
            None => {}
        }
        if self.attached.is_some() {
            self.attend(talk, now);
        }
        if *self.stopping.borrow() && !self.said_goodbye {
            self.said_goodbye = true;
            talk.connection.disconnect(Cause::REBOOTING, now);
        }
        talk.desk.answer(&mut talk.connection, now);
        talk.desk.submit(&mut talk.connection, now);
    }

    async fn woken(&mut self) {
        if self.said_goodbye && self.attached.is_none() {
            return self.inbox.bell.notified().await;
        }
        let said_goodbye = self.said_goodbye;
        tokio::select! {
            () = self.inbox.bell.notified() => {}
            _ = self.stopping.wait_for(|stopping| *stopping), if !said_goodbye => {}
            () = rung(self.attached.as_ref().map(|attached| &attached.line.bell)) => {}
            () = rung(self.asks.as_deref()) => {}
        }
    }
}

/// Resolves when the bell rings; without one never.
async fn rung(bell: Option<&Notify>) {
    match bell {
        Some(bell) => bell.notified().await,
        None => std::future::pending().await,
    }
}
