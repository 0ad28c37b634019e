//! Requests of ours to a peer: handed to whichever connection it has, and given back with their answers, or
//! without.

use diameter::dictionary::command;
use diameter::message::Message;
use diameter::peer::{Connection, NoAnswer, Outgoing, SendError, Unanswered};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot, watch};

/// Requests that wait for a place in the window; what is over it is not sent.
pub const WAITING_MAX: usize = 65_536;
/// Octets of a header before the Hop-by-Hop Identifier.
const HOP_BY_HOP_AT: usize = 12;

/// What became of a request.
#[derive(Debug)]
pub enum Reply {
    /// The answer, whole.
    Answer(Vec<u8>),
    /// None came.
    Unanswered(NoAnswer),
}

/// Who has sessions at charging servers, and hears what those ask about them by themselves.
pub trait SessionHolder: Send + Sync {
    /// A request of the server of this Origin-Host, whose answer goes back there. False: it is no request of
    /// that kind, and nothing was done.
    fn asked(&self, server: &str, request: &Message<'_>, back: &Back) -> bool;
}

/// The way back to a server that asked, for as long as its connection lasts: an answer may be given later,
/// and from any thread.
#[derive(Clone)]
pub struct Back {
    answers: Arc<Mutex<Vec<Vec<u8>>>>,
    /// The connection's.
    notify: Arc<Notify>,
}

impl Back {
    /// Answers a request, whole. A connection that is over needs none.
    pub fn answer(&self, octets: Vec<u8>) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(octets);
        self.notify.notify_one();
    }

    fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request of credit control, written but for its Hop-by-Hop Identifier.
struct Ask {
    octets: Vec<u8>,
    end_to_end: u32,
    timeout: Duration,
    reply: oneshot::Sender<Reply>,
}

/// A peer whom we ask. Who asks need not know whether, and by which connection, it can be reached.
pub struct Asker {
    /// Its Origin-Host.
    pub host: String,
    /// Its realm.
    pub realm: String,
    /// Its place among the charging servers: the lowest is asked first.
    pub place: u32,
    waiting: Mutex<PendingAnswer>,
    usable: watch::Sender<bool>,
}

#[derive(Default)]
struct PendingAnswer {
    asks: VecDeque<Ask>,
    /// The open connection's.
    notify: Option<Arc<Notify>>,
}

impl Asker {
    pub(super) fn new(host: &str, realm: &str, place: u32) -> Asker {
        let (host, realm) = (host.to_owned(), realm.to_owned());
        Asker { host, realm, place, waiting: Mutex::default(), usable: watch::Sender::new(false) }
    }

    /// Whether requests can be sent now; a receiver learns of each change.
    pub fn usable(&self) -> watch::Receiver<bool> {
        self.usable.subscribe()
    }

    /// Sends a request, written whole, and waits for what becomes of it; `timeout` is how long its answer is
    /// waited for on the connection. Dropped, its answer is thrown away.
    pub async fn ask(&self, octets: Vec<u8>, end_to_end: u32, timeout: Duration) -> Reply {
        let (reply, replied) = oneshot::channel();
        {
            let mut waiting = self.lock();
            let Some(notify) = waiting.notify.clone().filter(|_| waiting.asks.len() < WAITING_MAX) else {
                return Reply::Unanswered(NoAnswer::NotSent);
            };
            waiting.asks.push_back(Ask { octets, end_to_end, timeout, reply });
            notify.notify_one();
        }
        replied.await.unwrap_or(Reply::Unanswered(NoAnswer::Ended))
    }

    fn lock(&self) -> MutexGuard<'_, PendingAnswer> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's side of an [`Asker`].
pub(super) struct AskerConnection {
    asker: Arc<Asker>,
    notify: Arc<Notify>,
    is_usable: bool,
    sent: HashMap<u64, oneshot::Sender<Reply>>,
    next: u64,
    back: Back,
}

impl AskerConnection {
    /// `notify` wakes the connection.
    pub(super) fn new(asker: &Arc<Asker>, notify: Arc<Notify>) -> AskerConnection {
        let back = Back { answers: Arc::default(), notify: Arc::clone(&notify) };
        let (asker, sent) = (Arc::clone(asker), HashMap::new());
        AskerConnection { asker, notify, is_usable: false, sent, next: 0, back }
    }

    /// Origin-Host of the charging server.
    pub(super) fn host(&self) -> &str {
        &self.asker.host
    }

    /// Where answers to what it asks by itself go.
    pub(super) fn back(&self) -> &Back {
        &self.back
    }

    /// Whether an answer or end of this command is one of ours.
    pub(super) fn is_its(command: u32) -> bool {
        command == command::CREDIT_CONTROL
    }

    /// Puts what waits into the connection, as far as its window goes, and says whether more may come.
    pub(super) fn fill(&mut self, connection: &mut Connection, now: Instant) {
        for answer in self.back.take() {
            // Whoever is gone needs no answer.
            let _ = connection.answer(1, now, |out| out.extend_from_slice(&answer));
        }
        let is_usable = connection.is_usable();
        if is_usable != self.is_usable {
            self.is_usable = is_usable;
            self.asker.lock().notify = is_usable.then(|| Arc::clone(&self.notify));
            self.asker.usable.send_replace(is_usable);
            if !is_usable {
                self.give_back();
            }
        }
        if !is_usable {
            return;
        }
        loop {
            let Some(ask) = self.asker.lock().asks.pop_front() else { return };
            if let Some(ask) = self.send(ask, connection, now) {
                self.asker.lock().asks.push_front(ask);
                return;
            }
        }
    }

    /// Back comes what has no room yet.
    fn send(&mut self, ask: Ask, connection: &mut Connection, now: Instant) -> Option<Ask> {
        // Who asked has gone, and nothing was sent.
        if ask.reply.is_closed() {
            return None;
        }
        let (token, end_to_end, timeout) = (self.next, ask.end_to_end, ask.timeout);
        let outgoing = Outgoing { token, command: command::CREDIT_CONTROL, timeout, end_to_end };
        let sent = connection.request(outgoing, now, |out, hop_by_hop| {
            let at = out.len() + HOP_BY_HOP_AT;
            out.extend_from_slice(&ask.octets);
            out[at..at + 4].copy_from_slice(&hop_by_hop.to_be_bytes());
        });
        match sent {
            Ok(_) => {
                self.next += 1;
                self.sent.insert(token, ask.reply);
                None
            }
            Err(SendError::WindowFull | SendError::OutputFull) => Some(ask),
            Err(SendError::NotOpen | SendError::Suspended) => {
                // Who asked may have gone.
                let _ = ask.reply.send(Reply::Unanswered(NoAnswer::NotSent));
                None
            }
        }
    }

    /// An answer came.
    pub(super) fn answered(&mut self, token: u64, message: &Message<'_>) {
        if let Some(reply) = self.sent.remove(&token) {
            let _ = reply.send(Reply::Answer(message.octets().to_vec()));
        }
    }

    /// A request ended without an answer.
    pub(super) fn unanswered(&mut self, unanswered: &Unanswered) {
        if let Some(reply) = self.sent.remove(&unanswered.token) {
            let _ = reply.send(Reply::Unanswered(unanswered.fate));
        }
    }

    /// What was not sent is handed back: it goes elsewhere.
    fn give_back(&mut self) {
        let asks = std::mem::take(&mut self.asker.lock().asks);
        for ask in asks {
            let _ = ask.reply.send(Reply::Unanswered(NoAnswer::NotSent));
        }
    }
}

impl Drop for AskerConnection {
    /// The connection is over.
    fn drop(&mut self) {
        if self.is_usable {
            self.asker.lock().notify = None;
            self.asker.usable.send_replace(false);
            self.give_back();
        }
    }
}
