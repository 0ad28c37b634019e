//! Requests about sessions to their clients (Re-Auth, Abort-Session): each goes to the connection of the peer
//! that the session came from, whichever of its connections is open now. Nothing of this is on a request's
//! way.

use crate::server::Transport;
use diameter::peer::Connection;
use ledger::Ledger;
use ledger::session_clients::{RequestKind, SessionClients, SessionRequest};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Requests that wait for one connection; one more is not sent, and counted.
pub const MAILBOX_MAX: usize = 65_536;
/// Requests that wait for peers that are not connected, all together; one more is dropped.
pub const AWAITED_MAX: usize = 65_536;
/// A client that does not answer is asked so often in all.
pub const TRIES_MAX: u8 = 3;

/// Requests that wait for one connection.
#[derive(Debug, Default)]
pub struct Mailbox {
    session_requests: Mutex<Vec<SessionRequest>>,
    has_some: AtomicBool,
    /// The connection's.
    notify: Arc<Notify>,
    about: OnceLock<PeerIdentity>,
    live: ConnectionCounters,
}

/// The peer at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// Its DiameterIdentity, as it came.
    pub origin_host: String,
    /// Its realm.
    pub realm: String,
    /// Its software.
    pub product: String,
    /// From where it came.
    pub from: IpAddr,
    /// By what.
    pub transport: Transport,
    /// Our requests that may be without an answer.
    pub window: usize,
    /// Its requests that may be without an answer.
    pub owed_max: usize,
}

/// Counters of a connection; written at its wake-ups.
#[derive(Debug, Default)]
struct ConnectionCounters {
    is_suspended: AtomicBool,
    requests: AtomicU64,
    refused: AtomicU64,
    octets_in: AtomicU64,
    octets_out: AtomicU64,
    in_flight: AtomicU64,
    owed: AtomicU64,
}

/// A connected peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerView {
    pub about: PeerIdentity,
    /// It does not answer its watchdog: nothing is asked of it.
    pub is_suspended: bool,
    /// Requests that it sent.
    pub requests: u64,
    /// Those of them that were refused before they were looked at: overload, grammar.
    pub refused: u64,
    pub octets_in: u64,
    pub octets_out: u64,
    /// Requests of ours without an answer.
    pub in_flight: u64,
    /// Requests of its without an answer.
    pub owed: u64,
}

impl Mailbox {
    /// `notify` wakes the connection when something came.
    pub(crate) fn new(notify: Arc<Notify>) -> Mailbox {
        Mailbox { notify, ..Mailbox::default() }
    }

    /// Takes all that came. Looking when there is nothing costs a read.
    pub(crate) fn take(&self) -> Vec<SessionRequest> {
        if !self.has_some.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(&mut *self.lock())
    }

    /// Gives back those that could not be sent yet; they are taken again at the next wake-up.
    pub(crate) fn put_back(&self, mut rest: Vec<SessionRequest>) {
        let mut session_requests = self.lock();
        rest.append(&mut session_requests);
        *session_requests = rest;
        self.has_some.store(!session_requests.is_empty(), Ordering::Release);
    }

    /// Notes how far a connection is.
    pub(crate) fn note(&self, connection: &Connection) {
        let (live, counters) = (&self.live, connection.counters());
        live.is_suspended.store(!connection.is_usable(), Ordering::Relaxed);
        for (counter, value) in [
            (&live.requests, counters.requests_in),
            (&live.refused, counters.refused_requests),
            (&live.octets_in, counters.octets_in),
            (&live.octets_out, counters.octets_out),
            (&live.in_flight, connection.in_flight() as u64),
            (&live.owed, connection.owed() as u64),
        ] {
            counter.store(value, Ordering::Relaxed);
        }
    }

    /// The peer at the other end; set once.
    pub(crate) fn meet(&self, about: PeerIdentity) {
        // A connection has one peer: a second CER is none.
        let _ = self.about.set(about);
    }

    fn view(&self) -> Option<PeerView> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let live = &self.live;
        Some(PeerView {
            about: self.about.get()?.clone(),
            is_suspended: live.is_suspended.load(Ordering::Relaxed),
            requests: read(&live.requests),
            refused: read(&live.refused),
            octets_in: read(&live.octets_in),
            octets_out: read(&live.octets_out),
            in_flight: read(&live.in_flight),
            owed: read(&live.owed),
        })
    }

    #[allow(clippy::result_large_err)]
    fn push(&self, session_request: SessionRequest) -> Result<(), SessionRequest> {
        let mut session_requests = self.lock();
        if session_requests.len() >= MAILBOX_MAX {
            return Err(session_request);
        }
        session_requests.push(session_request);
        self.has_some.store(true, Ordering::Release);
        drop(session_requests);
        self.notify.notify_one();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SessionRequest>> {
        self.session_requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts of requests by their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotifierCounts {
    /// Written to a connection.
    pub asked: u64,
    /// Answered with 2001 or 2002.
    pub agreed: u64,
    /// Answered with 5002: the client does not know the session, so its hold was released.
    pub unknown: u64,
    /// Answered with anything else.
    pub refused: u64,
    /// Not answered in time, or the connection ended before.
    pub unanswered: u64,
    /// Not asked, or not yet: the peer is not connected, or too much waits for it.
    pub unreachable: u64,
}

/// Mailboxes of the connected peers, and requests for those that are not connected.
#[derive(Debug, Default)]
pub struct SessionNotifier {
    mailboxes: Mutex<HashMap<String, Arc<Mailbox>>>,
    /// Requests for peers that are not connected, by the name of the peer.
    awaited: Mutex<Awaited>,
    asked: AtomicU64,
    agreed: AtomicU64,
    unknown: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
    unreachable: AtomicU64,
}

/// Requests for peers that are not connected.
#[derive(Debug, Default)]
struct Awaited {
    by_peer: HashMap<String, Vec<SessionRequest>>,
    count: usize,
}

/// Result of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestResult {
    Asked,
    Agreed,
    Unknown,
    Refused,
    Unanswered,
    Unreachable,
}

impl RequestResult {
    fn word(self) -> &'static str {
        match self {
            RequestResult::Asked => "asked",
            RequestResult::Agreed => "agreed",
            RequestResult::Unknown => "unknown",
            RequestResult::Refused => "refused",
            RequestResult::Unanswered => "unanswered",
            RequestResult::Unreachable => "unreachable",
        }
    }
}

impl SessionNotifier {
    /// Asks again, if there is still something to ask: the session may have ended since, or got what it
    /// wanted. Its shard knows.
    pub(crate) fn ask_again(self: &Arc<Self>, session_request: SessionRequest, ledger: &Ledger) {
        let notifier = Arc::clone(self);
        ledger.ask(session_request.shard, move |shard| {
            let Some(session) = shard.session(&session_request.session) else { return };
            if session_request.ask == RequestKind::Abort || session.is_starved {
                notifier.ask(session_request);
            }
        });
    }

    // What is given back is what came.
    #[allow(clippy::result_large_err)]
    fn hand_over(&self, session_request: SessionRequest) -> Result<(), SessionRequest> {
        let mailbox = {
            let mailboxes = self.lock();
            let of = |host: &str| mailboxes.get(&host.to_ascii_lowercase()).cloned();
            // An agent in between may have gone, and the client come by itself.
            of(&session_request.client.via).or_else(|| of(&session_request.client.host))
        };
        match mailbox {
            Some(mailbox) => mailbox.push(session_request),
            None => Err(session_request),
        }
    }

    /// Keeps a request until its peer is connected.
    pub(crate) fn wait_for(&self, session_request: SessionRequest) {
        let mut awaited = self.awaited();
        if awaited.count < AWAITED_MAX && session_request.tries < TRIES_MAX {
            awaited.count += 1;
            let peer = session_request.client.via.to_ascii_lowercase();
            awaited.by_peer.entry(peer).or_default().push(session_request);
        }
    }

    /// Requests that waited for this peer, each once, however often it was made.
    pub(crate) fn take_awaited(&self, origin_host: &str) -> Vec<SessionRequest> {
        let mut awaited = self.awaited();
        let mut session_requests =
            awaited.by_peer.remove(&origin_host.to_ascii_lowercase()).unwrap_or_default();
        awaited.count -= session_requests.len();
        drop(awaited);
        let key = |session_request: &SessionRequest| {
            (session_request.session, session_request.ask == RequestKind::Abort)
        };
        session_requests.sort_by_key(key);
        session_requests.dedup_by_key(|session_request| key(session_request));
        session_requests
    }

    fn awaited(&self) -> MutexGuard<'_, Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All connected peers, by name.
    pub fn peers(&self) -> Vec<PeerView> {
        let mailboxes: Vec<Arc<Mailbox>> = self.lock().values().cloned().collect();
        let mut peers: Vec<PeerView> = mailboxes.iter().filter_map(|mailbox| mailbox.view()).collect();
        peers.sort_by(|one, other| one.about.origin_host.cmp(&other.about.origin_host));
        peers
    }

    /// A connection of this Origin-Host is open, until what is given back is dropped.
    pub(crate) fn enter(self: &Arc<Self>, origin_host: &str, mailbox: &Arc<Mailbox>) -> Reachable {
        let key = origin_host.to_ascii_lowercase();
        self.lock().insert(key.clone(), Arc::clone(mailbox));
        Reachable { notifier: Arc::clone(self), key, mailbox: Arc::clone(mailbox) }
    }

    pub(crate) fn count(&self, result: RequestResult) {
        metrics::counter!("campanile_diameter_asked_total", "fate" => result.word()).increment(1);
        let counter = match result {
            RequestResult::Asked => &self.asked,
            RequestResult::Agreed => &self.agreed,
            RequestResult::Unknown => &self.unknown,
            RequestResult::Refused => &self.refused,
            RequestResult::Unanswered => &self.unanswered,
            RequestResult::Unreachable => &self.unreachable,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Results since the start.
    pub fn counts(&self) -> NotifierCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NotifierCounts {
            asked: read(&self.asked),
            agreed: read(&self.agreed),
            unknown: read(&self.unknown),
            refused: read(&self.refused),
            unanswered: read(&self.unanswered),
            unreachable: read(&self.unreachable),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Mailbox>>> {
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionClients for SessionNotifier {
    /// Hands a request to the connection of the peer that its session came through. False: that peer is not
    /// connected, and the request waits until it is.
    fn ask(&self, session_request: SessionRequest) -> bool {
        match self.hand_over(session_request) {
            Ok(()) => true,
            Err(session_request) => {
                self.count(RequestResult::Unreachable);
                self.wait_for(session_request);
                false
            }
        }
    }

    fn ask_now(&self, session_request: SessionRequest) -> bool {
        let is_handed_over = self.hand_over(session_request).is_ok();
        if !is_handed_over {
            self.count(RequestResult::Unreachable);
        }
        is_handed_over
    }
}

/// A connection's mailbox among those that can be reached.
#[derive(Debug)]
pub(crate) struct Reachable {
    notifier: Arc<SessionNotifier>,
    key: String,
    mailbox: Arc<Mailbox>,
}

impl Drop for Reachable {
    fn drop(&mut self) {
        {
            let mut mailboxes = self.notifier.lock();
            // The next connection of this peer may be there already.
            if mailboxes.get(&self.key).is_some_and(|there| Arc::ptr_eq(there, &self.mailbox)) {
                mailboxes.remove(&self.key);
            }
        }
        for session_request in self.mailbox.take() {
            self.notifier.count(RequestResult::Unreachable);
            self.notifier.wait_for(session_request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::HashKey;
    use ledger::client::Client;

    fn session_request(via: &str) -> SessionRequest {
        let client = Arc::new(Client::new(HashKey([1, 2]), "smf.example", "example", via, None));
        SessionRequest {
            ask: RequestKind::ReAuth,
            shard: 0,
            session: [1, 2],
            id: (*b"smf;1;2").into(),
            client,
            tries: 0,
        }
    }

    #[test]
    fn a_request_goes_to_the_open_connection_of_its_peer() {
        let (notifier, first, second) =
            (Arc::new(SessionNotifier::default()), Arc::default(), Arc::default());
        assert!(!notifier.ask(session_request("dra.example")));
        let before = notifier.enter("DRA.example", &first);
        assert!(notifier.ask(session_request("dra.example")));
        // It came back before its last connection was found to be dead.
        let now = notifier.enter("dra.example", &second);
        drop(before);
        assert!(notifier.ask(session_request("dra.example")));
        assert_eq!((first.take().len(), second.take().len()), (0, 1));
        drop(now);
        assert!(!notifier.ask(session_request("dra.example")));
        let _direct = notifier.enter("smf.example", &first);
        assert!(notifier.ask(session_request("dra.example")), "the agent is gone, the client itself is here");
        assert_eq!(notifier.counts(), NotifierCounts { unreachable: 3, ..NotifierCounts::default() });
    }

    #[test]
    fn what_nobody_could_be_asked_waits_for_its_peer_and_is_bounded() {
        let (notifier, mailbox) = (Arc::new(SessionNotifier::default()), Arc::default());
        assert!(
            !notifier.ask(session_request("dra.example"))
                && !notifier.ask_now(session_request("dra.example"))
        );
        assert_eq!(notifier.take_awaited("other.example").len(), 0);
        assert_eq!(
            (notifier.take_awaited("DRA.example").len(), notifier.take_awaited("dra.example").len()),
            (1, 0)
        );
        // What a connection had not asked yet when it ended waits too, but not what was asked often enough.
        let here = notifier.enter("dra.example", &mailbox);
        assert!(notifier.ask(session_request("dra.example")));
        assert!(notifier.ask(SessionRequest { tries: TRIES_MAX, ..session_request("dra.example") }));
        drop(here);
        assert_eq!(notifier.take_awaited("dra.example").len(), 1);
        for session in 0..=AWAITED_MAX as u64 {
            assert!(
                !notifier.ask(SessionRequest { session: [session, 0], ..session_request("dra.example") })
            );
        }
        assert_eq!(notifier.take_awaited("dra.example").len(), AWAITED_MAX);
        // Twice about one session is once; to end it is another thing.
        let abort = || SessionRequest { ask: RequestKind::Abort, ..session_request("dra.example") };
        for session_request in
            [session_request("dra.example"), abort(), session_request("dra.example"), abort()]
        {
            assert!(!notifier.ask(session_request));
        }
        assert_eq!(notifier.take_awaited("dra.example").len(), 2);
    }

    #[test]
    fn what_waits_for_a_connection_is_bounded_and_keeps_its_order() {
        let (notifier, mailbox) = (Arc::new(SessionNotifier::default()), Arc::default());
        let _here = notifier.enter("smf.example", &mailbox);
        for _ in 0..MAILBOX_MAX {
            assert!(notifier.ask(session_request("smf.example")));
        }
        assert!(!notifier.ask(session_request("smf.example")));
        let mut all = mailbox.take();
        assert!(mailbox.take().is_empty());
        all.truncate(1);
        all[0].session = [9, 9];
        assert!(notifier.ask(session_request("smf.example")));
        mailbox.put_back(all);
        let again = mailbox.take();
        assert_eq!((again.len(), again[0].session), (2, [9, 9]));
    }
}
