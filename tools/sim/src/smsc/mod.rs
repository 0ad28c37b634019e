//! An SMSC: a real listener that speaks SMPP, for drills, demonstrations, tests and benches.
//!
//! It accepts what it is sent, or does what its [`SmscOptions`] say: latency, a rate limit, an error mix,
//! silence, cut connections; receipts late, twice, or before their answers; people who answer; all of it
//! changing over time. What it accepted is counted, what came may be captured, and both can be asked for in
//! the process or at its page.

mod alphabet;
mod book;
mod capture;
mod card;
mod deliver_sm;
mod delivery_queue;
mod faults;
mod ids;
mod joined;
mod ledger;
mod line;
mod options;
mod page;
mod phases;
mod receipts;
mod scenario;
mod scene;
mod session;
mod submit_handler;
mod traffic;

#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;

pub use capture::{Answered, CaptureRecord};
pub use card::SessionInfo;
pub use delivery_queue::{LETTERS_MAX, LetterStats};
pub use faults::{Answers, Disconnects, Login, Mode, Parting, Prefix, TlsListener};
pub use ledger::{Stats, StoredMessage};
pub use options::{Counting, ErrorShare, SmscOptions, Throttle};
pub use phases::Phase;
pub use receipts::{IdForm, OnBind, ReceiptForm, ReceiptOn, ReceiptPdu, ReceiptStage, Receipts, StateShare};
pub use traffic::{Injection, LongForm, PhoneReply, Traffic};

/// What a scenario file says: the options.
pub type Scenario = SmscOptions;

use crate::behaviour::{Behaviour, ClosingListener, Outage};
use crate::clock::Clock;
use card::Card;
use delivery_queue::DeliveryQueue;
use ids::Ids;
use joined::Unfinished;
use ledger::SmscLedger;
use line::SmscLine;
use phases::Timetable;
use scene::Scene;
use session::SmscSession;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// So many broadcasts' areas are known.
const BROADCASTS_MAX: usize = 1_000;
/// An ESME that is to be connected to has so long to take the connection.
const CONNECT_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// A running SMSC. Dropping it ends it and all its sessions.
pub struct Smsc {
    shared: Arc<Shared>,
    address: SocketAddr,
    tls: Option<(SocketAddr, String)>,
    page: Option<SocketAddr>,
    /// Closes its listeners.
    outage: Outage,
    /// As it was started.
    usual: SmscOptions,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// What all sessions know.
struct Shared {
    scene: RwLock<Arc<Scene>>,
    timetable: RwLock<Arc<Timetable>>,
    /// When the timetable began.
    timetable_us: AtomicU64,
    /// A phase was entered by hand.
    is_held: AtomicBool,
    new_timetable: Notify,
    /// What phones write of their own accord may have changed.
    new_traffic: Notify,
    ledger: SmscLedger,
    post: DeliveryQueue,
    ids: Ids,
    clock: Clock,
    unfinished: Mutex<Unfinished>,
    /// Areas of broadcasts, by their ids.
    broadcasts: Mutex<BTreeMap<u64, Vec<Box<[u8]>>>>,
    /// Connections, by their numbers.
    cards: Mutex<BTreeMap<u64, Arc<Card>>>,
    connections: AtomicU64,
    /// Messages of phones that were made by hand.
    injected: AtomicU64,
    /// Submissions, for cutting at every so many-th.
    submits: AtomicU64,
    /// Bound now.
    sessions: AtomicU64,
    /// Raised to cut all connections.
    stop: watch::Sender<u64>,
}

impl Shared {
    fn new(options: SmscOptions) -> io::Result<Self> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        let clock = Clock::start();
        let timetable = Timetable::new(options.clone()).map_err(invalid)?;
        Ok(Shared {
            scene: RwLock::new(Arc::clone(&timetable.scenes[0].1)),
            timetable: RwLock::new(Arc::new(timetable)),
            timetable_us: AtomicU64::new(clock.now_us()),
            is_held: AtomicBool::new(false),
            new_timetable: Notify::new(),
            new_traffic: Notify::new(),
            ledger: SmscLedger::open(&options)?,
            post: DeliveryQueue::new(clock),
            ids: Ids::starting_at(clock.now_us()),
            clock,
            unfinished: Mutex::default(),
            broadcasts: Mutex::default(),
            cards: Mutex::default(),
            connections: AtomicU64::new(0),
            injected: AtomicU64::new(0),
            submits: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            stop: watch::Sender::new(0),
        })
    }

    fn scene(&self) -> Arc<Scene> {
        Arc::clone(&self.scene.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn unfinished(&self) -> MutexGuard<'_, Unfinished> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_areas(&self, id: u64, areas: Vec<Box<[u8]>>) {
        let mut broadcasts = self.broadcasts.lock().unwrap_or_else(PoisonError::into_inner);
        broadcasts.insert(id, areas);
        if broadcasts.len() > BROADCASTS_MAX {
            broadcasts.pop_first();
        }
    }

    fn areas(&self, id: Option<u64>) -> Vec<Box<[u8]>> {
        let broadcasts = self.broadcasts.lock().unwrap_or_else(PoisonError::into_inner);
        id.and_then(|id| broadcasts.get(&id).cloned()).unwrap_or_default()
    }

    fn stats(&self) -> Stats {
        Stats {
            sessions: self.sessions.load(Ordering::Relaxed),
            letters: self.post.stats(),
            ..self.ledger.stats()
        }
    }

    /// A new connection's session, known to all.
    fn session(self: &Arc<Self>, stream: &TcpStream, is_tls: bool) -> SmscSession {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let peer = stream.peer_addr().map_or_else(|_| String::new(), |peer| peer.to_string());
        let card = Arc::new(Card::new(number, peer, is_tls, self.clock.now_us()));
        self.cards().insert(number, Arc::clone(&card));
        SmscSession::new(Arc::clone(self), card)
    }

    /// Connects to an ESME, asks it to bind, and serves it.
    async fn outbind(self: &Arc<Self>, address: &str) -> io::Result<()> {
        let connecting = tokio::time::timeout(CONNECT_PATIENCE, TcpStream::connect(address));
        let stream = connecting.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        let mut session = self.session(&stream, false);
        session.outbind();
        tokio::spawn(session.serve(SmscLine::plain(stream), self.stop.subscribe()));
        Ok(())
    }
}

impl Smsc {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken, a capture file that cannot be
    /// opened.
    pub async fn start(options: SmscOptions) -> io::Result<Smsc> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => {
                Some(TcpListener::bind(format!("127.0.0.1:{port}")).await?)
            }
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let mut tls = None;
        if let Some(wanted) = &options.tls {
            let (config, pem) = line::server(wanted).map_err(invalid)?;
            tls = Some((TcpListener::bind(&wanted.listen).await?, config, pem));
        }
        let usual = options.clone();
        let shared = Arc::new(Shared::new(options)?);
        let outage = Outage::none();
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let listener = outage.over(listener, shared.stop.clone())?;
        let mut tasks = vec![tokio::spawn(accept(listener, None, Arc::clone(&shared)))];
        let mut tls_address = None;
        if let Some((listener, config, pem)) = tls {
            tls_address = Some((listener.local_addr()?, pem));
            let listener = outage.over(listener, shared.stop.clone())?;
            tasks.push(tokio::spawn(accept(listener, Some(config), Arc::clone(&shared))));
        }
        let post = Arc::clone(&shared);
        tasks.push(tokio::spawn(async move { post.post.run().await }));
        tasks.push(tokio::spawn(phases::run(Arc::clone(&shared))));
        tasks.push(tokio::spawn(traffic::run(Arc::clone(&shared))));
        tasks.push(tokio::spawn(outbinds(Arc::clone(&shared))));
        if let Some(page) = page {
            tasks.push(tokio::spawn(crate::page::serve(page, Arc::new(page::SmscPage(Arc::clone(&shared))))));
        }
        Ok(Smsc { shared, address, tls: tls_address, page: page_address, outage, usual, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens with TLS, if it does.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls.as_ref().map(|(address, _)| *address)
    }

    /// The certificates it shows, PEM.
    pub fn certificate(&self) -> Option<&str> {
        self.tls.as_ref().map(|(_, pem)| pem.as_str())
    }

    /// Where its page is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// What was counted so far.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// The last messages that were kept, the newest last.
    pub fn messages(&self, limit: usize) -> Vec<StoredMessage> {
        self.shared.ledger.messages(limit)
    }

    /// How often a whole message was accepted for a number (with or without `+`), by what [`Counting`]
    /// counts: with [`Counting::Numbers`] the text does not matter.
    pub fn accepted(&self, to: &str, text: &str) -> u32 {
        let counting = self.shared.scene().options.count;
        ledger::key(counting, to, text).map_or(0, |key| self.shared.ledger.count_of(key))
    }

    /// Does as these options say from the next read on, their phases from now. Addresses, capture file and
    /// latency of what is under way stay.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: SmscOptions) -> Result<(), String> {
        self.shared.begin(options)
    }

    /// Behaves otherwise from now on, until it is told to work. What it has been told by
    /// [`Smsc::change`] before counts no more.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        self.change(self.usual.behaving(behaviour))?;
        self.outage.set(behaviour == Behaviour::Down);
        Ok(())
    }

    /// Cuts all connections. New ones are let in.
    pub fn disconnect(&self) {
        self.shared.stop.send_modify(|generation| *generation += 1);
    }

    /// Connects to an ESME that listens, and asks it to bind.
    ///
    /// # Errors
    /// It cannot be connected to in 10 s.
    pub async fn outbind(&self, address: &str) -> io::Result<()> {
        self.shared.outbind(address).await
    }
}

impl Drop for Smsc {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

async fn accept(mut listener: ClosingListener, tls: Option<Arc<rustls::ServerConfig>>, shared: Arc<Shared>) {
    loop {
        let stream = listener.accept().await;
        let session = shared.session(&stream, tls.is_some());
        let line = match &tls {
            None => SmscLine::plain(stream),
            Some(config) => match SmscLine::tls(stream, Arc::clone(config)) {
                Ok(line) => line,
                Err(error) => {
                    tracing::warn!(%error, "cannot speak TLS");
                    session.leave();
                    continue;
                }
            },
        };
        tokio::spawn(session.serve(line, shared.stop.subscribe()));
    }
}

/// Connects to the ESMEs of the scenario, once.
async fn outbinds(shared: Arc<Shared>) {
    for address in shared.scene().options.outbind.clone() {
        if let Err(error) = shared.outbind(&address).await {
            tracing::warn!(%address, %error, "cannot outbind");
        }
    }
}

/// The next connection; failures to accept (no more descriptors) pass.
pub(crate) async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}

/// Runs an SMSC until the process is told to end (Ctrl-C), saying where it listens on standard output.
///
/// # Errors
/// As [`Smsc::start`].
pub fn run(options: SmscOptions) -> io::Result<()> {
    crate::run_until_told(async move {
        let smsc = Smsc::start(options).await?;
        let addresses = (smsc.address(), smsc.page());
        Ok((smsc, addresses))
    })
}
