//! An SMSC: a real listener that speaks SMPP, for drills, demonstrations, tests and benches.
//!
//! It accepts what it is sent, or does what its [`Options`] say: latency, a rate limit, an error mix, silence, cut
//! connections; receipts late, twice, or before their answers; people who answer. What it accepted is counted, may be
//! captured to a file, and can be asked for in the process or at its page.

mod alphabet;
mod desk;
mod ids;
mod joined;
mod ledger;
mod letter;
mod options;
mod page;
mod post;
mod session;

#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;

pub use ledger::{Message, Stats};
pub use options::{Counting, ErrorShare, IdForm, Options, ReceiptForm, ReceiptOn, Receipts, Throttle};
pub use post::{LETTERS_MAX, LetterStats};

use crate::clock::Clock;
use ids::Ids;
use joined::Unfinished;
use ledger::Ledger;
use post::Post;
use session::Session;
use smpp::status::Status;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A running SMSC. Dropping it ends it and all its sessions.
pub struct Smsc {
    shared: Arc<Shared>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// What all sessions know.
struct Shared {
    scene: RwLock<Arc<Scene>>,
    ledger: Ledger,
    post: Post,
    ids: Ids,
    clock: Clock,
    unfinished: Mutex<Unfinished>,
    /// Submissions, for cutting at every so many-th.
    submits: AtomicU64,
    /// Bound now.
    sessions: AtomicU64,
    /// Raised to cut all connections.
    stop: watch::Sender<u64>,
}

/// The options, with what follows from them.
struct Scene {
    options: Options,
    refusals: Vec<(Status, f64)>,
    /// Most accepted in a second.
    limit: Option<u64>,
    /// Texts are looked at.
    notes: bool,
}

impl Scene {
    fn new(options: Options) -> Result<Self, String> {
        options.check()?;
        let refusals = options.refusals()?;
        let limit =
            (options.rate > 0.0).then(|| (options.rate * (1.0 + options.rate_tolerance)).ceil() as u64);
        let notes = options.count != Counting::Off || options.keep > 0 || options.capture.is_some();
        Ok(Scene { options, refusals, limit, notes })
    }
}

impl Shared {
    fn scene(&self) -> Arc<Scene> {
        Arc::clone(&self.scene.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn unfinished(&self) -> MutexGuard<'_, Unfinished> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stats(&self) -> Stats {
        Stats {
            sessions: self.sessions.load(Ordering::Relaxed),
            letters: self.post.stats(),
            ..self.ledger.stats()
        }
    }
}

impl Smsc {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken, a capture file that cannot be opened.
    pub async fn start(options: Options) -> io::Result<Smsc> {
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let clock = Clock::start();
        let ledger = Ledger::open(&options)?;
        let scene = Scene::new(options).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let shared = Arc::new(Shared {
            scene: RwLock::new(Arc::new(scene)),
            ledger,
            post: Post::new(clock),
            ids: Ids::starting_at(clock.now_us()),
            clock,
            unfinished: Mutex::default(),
            submits: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            stop: watch::Sender::new(0),
        });
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let mut tasks = vec![tokio::spawn(accept(listener, Arc::clone(&shared)))];
        let post = Arc::clone(&shared);
        tasks.push(tokio::spawn(async move { post.post.run().await }));
        if let Some(page) = page {
            tasks.push(tokio::spawn(crate::page::serve(page, Arc::new(page::SmscPage(Arc::clone(&shared))))));
        }
        Ok(Smsc { shared, address, page: page_address, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
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
    pub fn messages(&self, limit: usize) -> Vec<Message> {
        self.shared.ledger.messages(limit)
    }

    /// How often a whole message was accepted for a number (with or without `+`), by what [`Counting`] counts: with
    /// [`Counting::Numbers`] the text does not matter.
    pub fn accepted(&self, to: &str, text: &str) -> u32 {
        let counting = self.shared.scene().options.count;
        ledger::key(counting, to, text).map_or(0, |key| self.shared.ledger.count_of(key))
    }

    /// Does as these options say from the next read on. Addresses, capture file and latency of what is under way stay.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: Options) -> Result<(), String> {
        let scene = Arc::new(Scene::new(options)?);
        *self.shared.scene.write().unwrap_or_else(PoisonError::into_inner) = scene;
        Ok(())
    }

    /// Cuts all connections. New ones are let in.
    pub fn disconnect(&self) {
        self.shared.stop.send_modify(|generation| *generation += 1);
    }
}

impl Drop for Smsc {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    for number in 0.. {
        let stream = accepted(&listener).await;
        let session = Session::new(Arc::clone(&shared), number);
        tokio::spawn(session.serve(stream, shared.stop.subscribe()));
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
pub fn run(options: Options) -> io::Result<()> {
    crate::run_until_told(async move {
        let smsc = Smsc::start(options).await?;
        let addresses = (smsc.address(), smsc.page());
        Ok((smsc, addresses))
    })
}
