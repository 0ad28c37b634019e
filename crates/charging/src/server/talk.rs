//! One connection: the peer machine, the desk at which its requests are handled, and who lets it in.

use super::desk::Desk;
use super::peers::{NotAdmitted, Peers, Place};
use diameter::peer::{Capabilities, Cause, Connection, Event};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// The machine that is driven.
pub(super) struct Talk {
    pub(super) connection: Connection,
    pub(super) desk: Desk,
}

impl net::Machine for Talk {
    type Event<'a> = Event;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        let Talk { connection, desk } = self;
        connection.handle_input(input, now, &mut |incoming, answers| desk.take(incoming, answers));
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
    pub(super) by_tls: bool,
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) inbox: Arc<super::desk::Inbox>,
    pub(super) asked: Option<Result<Place, NotAdmitted>>,
    pub(super) place: Option<Place>,
    pub(super) said_goodbye: bool,
}

impl Usher {
    fn asked(&mut self, peer: &Capabilities) {
        let admitted = self.peers.admit(peer, self.from, self.by_tls);
        match &admitted {
            Ok(_) => {
                tracing::info!(peer = peer.origin_host, realm = peer.origin_realm, from = %self.from, "A Diameter peer is let in.")
            }
            Err(why) => {
                tracing::warn!(peer = peer.origin_host, realm = peer.origin_realm, from = %self.from, why = why.text, "A Diameter peer is not let in.")
            }
        }
        self.asked = Some(admitted);
    }
}

impl net::Worker<Talk> for Usher {
    fn handle(&mut self, event: Event, _now: Instant) {
        match event {
            Event::Asked(peer) => self.asked(&peer),
            Event::Ended(end) => {
                self.place = None;
                tracing::debug!(from = %self.from, %end, "A Diameter connection is over.");
            }
            // What its sessions hold ends with their Tcc: a peer that restarted may have others going on.
            Event::Restarted { .. } | Event::Leaving(_) | Event::Suspended | Event::Resumed => {}
            // We connect to nobody, and ask nothing, here.
            Event::Opened(_) | Event::Unanswered(_) => {}
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
        if *self.stopping.borrow() && !self.said_goodbye {
            self.said_goodbye = true;
            talk.connection.disconnect(Cause::REBOOTING, now);
        }
        talk.desk.answer(&mut talk.connection, now);
        talk.desk.submit(&mut talk.connection, now);
    }

    async fn woken(&mut self) {
        if self.said_goodbye {
            return self.inbox.bell.notified().await;
        }
        tokio::select! {
            () = self.inbox.bell.notified() => {}
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
        }
    }
}
