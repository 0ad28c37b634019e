//! A mailbox for everyone: a real SMTP listener that keeps what it gets, for drills, demonstrations, tests
//! and benches.
//!
//! It accepts mail, or does as its [`MailboxOptions`] say: latency, refusals, grey lists, full mailboxes, cut
//! connections; people who answer by mail, mail that comes back. Accepted mail is counted, kept in memory or
//! in a folder, and can be read in the process or at its page.

mod dialogue;
mod door;
mod ledger;
mod options;
mod page;
mod reply_mail;
mod session;

#[cfg(test)]
mod tests;

pub use door::{LetterStats, PARCELS_MAX};
pub use ledger::{MailText, ReceivedMail, Stats};
pub use options::{Counting, ErrorShare, Login, MailboxOptions, Stage};

use crate::behaviour::{Behaviour, ClosingListener, Outage};
use crate::clock::Clock;
use door::MailboxDoor;
use ledger::MailboxLedger;
use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// Recipients a grey list remembers; then it forgets all of them.
const GREYLIST_MAX: usize = 1_000_000;

/// A running mailbox. Dropping it ends it and all its connections.
pub struct Mailbox {
    shared: Arc<Shared>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    certificate: Option<String>,
    /// Closes its listener.
    outage: Outage,
    /// As it was started.
    usual: MailboxOptions,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// What all sessions know.
struct Shared {
    scene: RwLock<Arc<Scene>>,
    ledger: MailboxLedger,
    door: Arc<MailboxDoor>,
    clock: Clock,
    tls: Option<TlsAcceptor>,
    /// Recipients that were told to come again.
    greylist: Mutex<HashSet<u64>>,
    /// Open now.
    sessions: AtomicU64,
    /// Raised to cut all connections.
    stop: watch::Sender<u64>,
}

/// The options, checked.
struct Scene {
    options: MailboxOptions,
}

impl Shared {
    fn scene(&self) -> Arc<Scene> {
        Arc::clone(&self.scene.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn stats(&self) -> Stats {
        Stats {
            sessions: self.sessions.load(Ordering::Relaxed),
            letters: self.door.stats(),
            ..self.ledger.stats()
        }
    }

    /// Whether a grey list sees this for the first time.
    fn is_new(&self, key: u64) -> bool {
        let mut greylist = self.greylist.lock().unwrap_or_else(PoisonError::into_inner);
        if greylist.len() >= GREYLIST_MAX {
            greylist.clear();
        }
        greylist.insert(key)
    }
}

impl Mailbox {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken, a folder that cannot be made.
    pub async fn start(options: MailboxOptions) -> io::Result<Mailbox> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        options.check().map_err(invalid)?;
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let (tls, certificate) = match options.starttls {
            true => certified(&options.hostname).map(|(tls, pem)| (Some(tls), Some(pem))).map_err(invalid)?,
            false => (None, None),
        };
        let (outage, usual) = (Outage::none(), options.clone());
        let clock = Clock::start();
        let shared = Arc::new(Shared {
            ledger: MailboxLedger::open(&options)?,
            scene: RwLock::new(Arc::new(Scene { options })),
            door: Arc::new(MailboxDoor::new(clock)),
            clock,
            tls,
            greylist: Mutex::default(),
            sessions: AtomicU64::new(0),
            stop: watch::Sender::new(0),
        });
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let listener = outage.over(listener, shared.stop.clone())?;
        let mut tasks = vec![tokio::spawn(accept(listener, Arc::clone(&shared)))];
        let scenes = Arc::clone(&shared);
        tasks.push(tokio::spawn(Arc::clone(&shared.door).run(move || scenes.scene().options.door.clone())));
        if let Some(page) = page {
            tasks.push(tokio::spawn(crate::page::serve(
                page,
                Arc::new(page::MailboxPage(Arc::clone(&shared))),
            )));
        }
        Ok(Mailbox { shared, address, page: page_address, certificate, outage, usual, tasks })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its page is.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page
    }

    /// The certificate behind STARTTLS, PEM: for the hostname, `localhost` and 127.0.0.1, signed by itself.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// What was counted so far.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// The last mails that were kept, the newest last.
    pub fn mails(&self, limit: usize) -> Vec<ReceivedMail> {
        self.shared.ledger.mails(limit)
    }

    /// How many copies a recipient got, by what [`Counting`] counts: with [`Counting::Recipients`] the
    /// Message-ID (with its brackets) does not matter.
    pub fn accepted(&self, to: &str, message_id: &str) -> u32 {
        let counting = self.shared.scene().options.count;
        ledger::key(counting, to, message_id).map_or(0, |key| self.shared.ledger.count_of(key))
    }

    /// Does as these options say from the next read on. Addresses, folder and TLS stay.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: MailboxOptions) -> Result<(), String> {
        options.check()?;
        *self.shared.scene.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Scene { options });
        Ok(())
    }

    /// Behaves otherwise from now on, until it is told to work. What [`Mailbox::change`] said before
    /// counts no more.
    ///
    /// # Errors
    /// What cannot be.
    pub fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        self.change(self.usual.behaving(behaviour)?)?;
        self.outage.set(behaviour == Behaviour::Down);
        Ok(())
    }

    /// Cuts all connections. New ones are let in.
    pub fn disconnect(&self) {
        self.shared.stop.send_modify(|generation| *generation += 1);
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

async fn accept(mut listener: ClosingListener, shared: Arc<Shared>) {
    for number in 0.. {
        let stream = listener.accept().await;
        tokio::spawn(session::serve(Arc::clone(&shared), number, stream, shared.stop.subscribe()));
    }
}

/// A certificate of its own, and what accepts TLS with it.
fn certified(hostname: &str) -> Result<(TlsAcceptor, String), String> {
    let names = vec![hostname.to_owned(), "localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| format!("hostname: {error}"))?;
    let pem = made.cert.pem();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key))
        .map_err(|error| format!("starttls: {error}"))?;
    Ok((TlsAcceptor::from(Arc::new(config)), pem))
}

/// Runs a mailbox until the process is told to end (Ctrl-C), saying where it listens on standard output.
///
/// # Errors
/// As [`Mailbox::start`].
pub fn run(options: MailboxOptions) -> io::Result<()> {
    crate::run_until_told(async move {
        let mailbox = Mailbox::start(options).await?;
        let addresses = (mailbox.address(), mailbox.page());
        Ok((mailbox, addresses))
    })
}
