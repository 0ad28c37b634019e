//! One connection, in the order of its events: accepted or begun, the peer admitted, requests in, answers
//! out, requests of ours out, the end.

use super::Server;
use super::admission::{Admission, AdmissionVerdict};
use super::ask::AskerConnection;
use super::connect::{PeerCommand, RemoteLink};
use super::outgoing_requests::OutgoingRequests;
use super::peers::{NotAdmitted, Transport};
use super::request_dispatcher::RequestDispatcher;
use crate::session_notifier::Mailbox;
use diameter::peer::{Cause, Connection, ConnectionConfig, Event, Incoming, Start, Unanswered};
use net::{ConnectionPlace, Link, Stream, drive};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::{Notify, watch};

/// Counts a connection for as long as it is.
pub(super) struct Alive(Arc<Server>);

impl Alive {
    pub(super) fn new(server: &Arc<Server>) -> Alive {
        server.live.fetch_add(1, Ordering::AcqRel);
        Alive(Arc::clone(server))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Serves a connection that a peer began; `config` is of the address where it came in.
pub(super) async fn serve_accepted(
    server: Arc<Server>,
    config: Arc<ConnectionConfig>,
    stream: Stream,
    (peer, transport): (SocketAddr, Transport),
    place: ConnectionPlace,
) {
    let machine = Connection::listening(config, start(&server, &stream, transport), Instant::now());
    let place = Arc::new(place);
    tokio::select! {
        () = serve(&server, machine, stream, (peer.ip(), transport), ConnectionOrigin::Accepted(Arc::clone(&place))) => {}
        () = place.sent_out() => tracing::debug!(%peer, "a Diameter connection without capabilities made room"),
    }
}

/// Serves a connection that we began.
pub(super) async fn serve_begun(server: &Arc<Server>, stream: Stream, link: RemoteLink) {
    let transport = if matches!(stream, Stream::Plain(_)) { Transport::Tcp } else { Transport::Tls };
    let start = Start { watchdog: Some(link.watchdog()), ..start(server, &stream, transport) };
    let (config, host) = (Arc::clone(&server.connecting), &link.remote.rule.origin_host);
    let machine = Connection::connecting(config, start, Some(host), Instant::now());
    let from = stream.peer().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip());
    serve(server, machine, stream, (from, transport), ConnectionOrigin::Begun(link)).await;
}

fn start(server: &Server, stream: &Stream, transport: Transport) -> Start {
    let local = stream.local().map_or(IpAddr::from([127, 0, 0, 1]), |local| local.ip());
    Start { local, is_secured: transport == Transport::Tls, watchdog: None, seed: server.next_seed() }
}

async fn serve(
    server: &Arc<Server>,
    machine: Connection,
    stream: Stream,
    from: (IpAddr, Transport),
    origin: ConnectionOrigin,
) {
    let alive = Alive::new(server);
    let (link, place) = match origin {
        ConnectionOrigin::Accepted(place) => (None, Some(place)),
        ConnectionOrigin::Begun(link) => (Some(link), None),
    };
    let notify = link.as_ref().map_or_else(Arc::default, |link| Arc::clone(&link.commands.notify));
    let mut signals =
        Signals { notify: Arc::clone(&notify), stopping: server.stop.subscribe(), is_stopped: false };
    let mut connection = DiameterConnection::new(server, machine, notify, from, link);
    connection.place = place;
    connection.admission.certify(stream.client_names());
    let end = drive(&mut Link::new(stream), &mut connection, &mut signals).await;
    tracing::debug!(from = %from.0, ?end, "a Diameter connection ended");
    connection.end(Instant::now());
    drop(alive);
}

/// The side that began a connection.
enum ConnectionOrigin {
    /// The peer: it waits for its capabilities in this place.
    Accepted(Arc<ConnectionPlace>),
    Begun(RemoteLink),
}

/// The connection, with a part for each step of its way.
struct DiameterConnection {
    /// The peer machine: capabilities, watchdog, windows, the end.
    machine: Connection,
    admission: Admission,
    /// Requests of the peer, and our answers.
    requests: RequestDispatcher,
    /// Requests of ours about its sessions: RAR and ASR.
    outgoing: OutgoingRequests,
    /// Requests of credit control of ours, where the peer is a charging server.
    credit: Option<AskerConnection>,
    mailbox: Arc<Mailbox>,
    /// Of a connection that the peer began: its own once the peer is admitted.
    place: Option<Arc<ConnectionPlace>>,
    /// Wakes this connection, whatever for.
    notify: Arc<Notify>,
    server: Arc<Server>,
}

impl DiameterConnection {
    fn new(
        server: &Arc<Server>,
        machine: Connection,
        notify: Arc<Notify>,
        from: (IpAddr, Transport),
        link: Option<RemoteLink>,
    ) -> DiameterConnection {
        let (ledger, identity) = (server.ledger.clone(), Arc::clone(&server.identity));
        let strictness = server.config.strictness;
        let mailbox = Arc::new(Mailbox::new(Arc::clone(&notify)));
        let asker = link.as_ref().and_then(|link| link.remote.asker.as_ref());
        DiameterConnection {
            machine,
            requests: RequestDispatcher::new(ledger, identity, strictness, Arc::clone(&notify)),
            outgoing: OutgoingRequests::new(server, Arc::clone(&mailbox)),
            credit: asker.map(|asker| AskerConnection::new(asker, Arc::clone(&notify))),
            admission: Admission::new(server, from, Arc::clone(&mailbox), link),
            mailbox,
            place: None,
            notify,
            server: Arc::clone(server),
        }
    }

    /// One turn, after what came in was read: events and decisions first, then all there is to send.
    fn turn(&mut self, stops: bool, now: Instant) {
        while let Some(event) = self.machine.poll_event() {
            self.handle(event, now);
        }
        for command in self.admission.commands() {
            self.obey(command, now);
        }
        if let Some(credit) = &mut self.credit {
            credit.fill(&mut self.machine, now);
        }
        if stops {
            self.machine.disconnect(Cause::REBOOTING, now);
        }
        self.outgoing.send(&mut self.machine, now);
        self.requests.answer(&mut self.machine, now);
        self.requests.submit(&mut self.machine, now);
        self.mailbox.note(&self.machine);
    }

    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Asked(peer) => {
                let verdict = self.admission.asked(peer, &self.notify, now);
                self.carry_out(verdict, now);
            }
            Event::Opened(peer) => {
                let verdict = self.admission.opened(peer, now);
                self.carry_out(verdict, now);
            }
            Event::Unanswered(unanswered) => self.unanswered(&unanswered),
            Event::Restarted { origin_state_id } => {
                if let Some(host) = self.admission.restarted(origin_state_id) {
                    self.requests.meet(host, Some(origin_state_id));
                }
            }
            Event::Suspended | Event::Resumed => {}
            Event::Leaving(_) => self.admission.leaving(now),
            Event::Ended(end) => self.admission.ended(end),
        }
    }

    /// Does what the machine of a peer that we connect to has decided.
    fn obey(&mut self, command: PeerCommand, now: Instant) {
        match command {
            PeerCommand::Begin => {}
            PeerCommand::Accept => {
                let verdict = self.admission.accepted();
                if matches!(verdict, AdmissionVerdict::Accept(_)) {
                    let asker = self.admission.asker();
                    self.credit = asker.map(|asker| AskerConnection::new(asker, Arc::clone(&self.notify)));
                }
                self.carry_out(verdict, now);
            }
            PeerCommand::Refuse => self.carry_out(AdmissionVerdict::Refuse(NotAdmitted::TWICE), now),
            PeerCommand::Abort => self.carry_out(AdmissionVerdict::Abort, now),
            PeerCommand::Disconnect(cause) => self.machine.disconnect(cause, now),
        }
    }

    fn carry_out(&mut self, verdict: AdmissionVerdict, now: Instant) {
        match verdict {
            AdmissionVerdict::Wait => {}
            AdmissionVerdict::Accept(peer) => {
                self.place.iter().for_each(|place| place.set_busy());
                self.requests.meet(&peer.origin_host, peer.origin_state_id);
                self.machine.accept(now);
            }
            AdmissionVerdict::Open(peer) => self.requests.meet(&peer.origin_host, peer.origin_state_id),
            AdmissionVerdict::Refuse(why) => self.machine.refuse(why.result_code, why.text, now),
            AdmissionVerdict::Abort => self.machine.abort(now),
        }
    }

    /// A request of ours has no answer.
    fn unanswered(&mut self, unanswered: &Unanswered) {
        match &mut self.credit {
            Some(credit) if AskerConnection::is_its(unanswered.command) => credit.unanswered(unanswered),
            _ => self.outgoing.unanswered(unanswered.token),
        }
    }

    /// The connection is over, and so is all that hung on it.
    fn end(mut self, now: Instant) {
        while let Some(event) = self.machine.poll_event() {
            self.handle(event, now);
        }
        self.credit = None;
        self.admission.leave(self.machine.watchdog(), now);
    }
}

impl net::Machine for DiameterConnection {
    /// Events are handled by `turn`, which has the whole connection at hand.
    type Event<'a> = Infallible;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        let DiameterConnection { machine, requests, credit, outgoing, server, .. } = self;
        machine.handle_input(input, now, &mut |incoming, answers| match (incoming, &mut *credit) {
            (Incoming::Answer { message, pending }, Some(credit))
                if AskerConnection::is_its(pending.command) =>
            {
                credit.answered(pending.token, &message);
            }
            (Incoming::Answer { message, pending }, _) => outgoing.answered(pending.token, &message),
            (Incoming::Request(request), credit) => {
                // A request of a charging server is for the holder of the sessions there.
                let holder = credit.as_ref().zip(server.peers.holder());
                if !holder
                    .is_some_and(|(credit, holder)| holder.asked(credit.host(), &request, credit.back()))
                {
                    requests.take(Incoming::Request(request), answers);
                }
            }
        });
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
    }
    fn handle_eof(&mut self, now: Instant) {
        self.machine.handle_eof(now);
    }
    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        self.machine.poll_transmit(output);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }
    fn wants_input(&self) -> bool {
        self.machine.wants_input()
    }
    fn is_finished(&self) -> bool {
        self.machine.is_over()
    }
}

/// Signals that begin a turn of a connection without input.
struct Signals {
    /// Batches came back, a request of ours waits, or the peer's machine has decided.
    notify: Arc<Notify>,
    stopping: watch::Receiver<bool>,
    /// The connection took note that the server stops.
    is_stopped: bool,
}

impl net::Worker<DiameterConnection> for Signals {
    fn handle(&mut self, event: Infallible, _now: Instant) {
        match event {}
    }

    fn fill(&mut self, connection: &mut DiameterConnection, now: Instant, _writable: bool) {
        let stops = !self.is_stopped && *self.stopping.borrow();
        self.is_stopped |= stops;
        connection.turn(stops, now);
    }

    async fn woken(&mut self) {
        if self.is_stopped {
            return self.notify.notified().await;
        }
        tokio::select! {
            () = self.notify.notified() => {}
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
        }
    }
}
