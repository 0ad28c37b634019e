//! A paging carrier for everyone: a real SNPP listener (RFC 1861, level 3) whose people read and answer, for
//! drills, demonstrations, tests and benches.
//!
//! It takes pages, or does as its [`PagingOptions`] say: latency, refusals, cut connections; pagers that come
//! late or never, people who read, answer by a choice or in words. Pages are counted, kept in memory, and can
//! be read in the process or at its page.

mod options;
mod page;
mod session;
mod tag_book;
#[cfg(test)]
mod tests;

pub use options::{PageError, PageStage, PagingOptions};
pub use tag_book::{PagedMessage, PagingStats};

use crate::behaviour::{Behaviour, ClosingListener, Outage};
use crate::clock::Clock;
use crate::town::Conduct;
use snpp::server::{PagerAnswer, PagingTerminal};
use snpp::tag::{MessageTag, TagStatus};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tag_book::TagBook;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A running paging carrier. Dropping it ends it and all its connections.
pub struct PagingCarrier {
    shared: Arc<PagingShared>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    /// Closes its listener.
    outage: Outage,
    /// As it was started.
    usual: PagingOptions,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// What all sessions know.
struct PagingShared {
    options: RwLock<Arc<PagingOptions>>,
    book: Mutex<TagBook>,
    clock: Clock,
    /// Connections so far, and open now.
    connections: AtomicU64,
    sessions: AtomicU64,
    /// Raised to cut all connections.
    stop: watch::Sender<u64>,
}

impl PagingShared {
    fn options(&self) -> Arc<PagingOptions> {
        Arc::clone(&self.options.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn book(&self) -> MutexGuard<'_, TagBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stats(&self) -> PagingStats {
        PagingStats {
            connections: self.connections.load(Ordering::Relaxed),
            sessions: self.sessions.load(Ordering::Relaxed),
            ..self.book().stats()
        }
    }
}

impl PagingCarrier {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken.
    pub async fn start(options: PagingOptions) -> io::Result<PagingCarrier> {
        options.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let (outage, usual) = (Outage::none(), options.clone());
        let clock = Clock::start();
        let shared = Arc::new(PagingShared {
            book: Mutex::new(TagBook::new(options.seed, clock.now_us(), options.keep)),
            options: RwLock::new(Arc::new(options)),
            clock,
            connections: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            stop: watch::Sender::new(0),
        });
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let listener = outage.over(listener, shared.stop.clone())?;
        let mut tasks = vec![tokio::spawn(accept(listener, Arc::clone(&shared)))];
        if let Some(page) = page {
            let answers = Arc::new(page::PagingPage(Arc::clone(&shared)));
            tasks.push(tokio::spawn(crate::page::serve(page, answers)));
        }
        Ok(PagingCarrier { shared, address, page: page_address, outage, usual, tasks })
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
    pub fn stats(&self) -> PagingStats {
        self.shared.stats()
    }

    /// The last pages that were kept, the newest last.
    pub fn pages(&self, limit: usize) -> Vec<PagedMessage> {
        self.shared.book().pages(limit)
    }

    /// How many pages a pager got.
    pub fn accepted(&self, pager: &str) -> u32 {
        self.shared.book().accepted(pager)
    }

    /// Does as these options say from the next command on. Addresses stay, and pages that were taken go on as
    /// they were meant.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: PagingOptions) -> Result<(), String> {
        options.check()?;
        *self.shared.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
        Ok(())
    }

    /// Behaves otherwise from now on, until it is told to work. What [`PagingCarrier::change`] said before
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

impl Drop for PagingCarrier {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

async fn accept(mut listener: ClosingListener, shared: Arc<PagingShared>) {
    for number in 0.. {
        let stream = listener.accept().await;
        tokio::spawn(session::serve(Arc::clone(&shared), number, stream, shared.stop.subscribe()));
    }
}

/// The carrier behind one session.
struct CarrierTerminal(Arc<PagingShared>);

impl PagingTerminal for CarrierTerminal {
    fn login(&mut self, id: &str, password: Option<&str>) -> bool {
        let options = self.0.options();
        options.login.as_deref().is_none_or(|login| login == id)
            && options.password.as_deref().is_none_or(|word| password == Some(word))
    }

    fn pager(&mut self, pager: &str, _pin: Option<&str>, _two_way: bool) -> PagerAnswer {
        let options = self.0.options();
        if let Some(code) = self.0.book().chance_error(&options, PageStage::Page) {
            return if code == 550 { PagerAnswer::Unknown } else { PagerAnswer::Failed };
        }
        match options.people.as_ref().map(|people| people.pager(pager)) {
            Some(Conduct::Refuses(_)) => PagerAnswer::Unknown,
            Some(Conduct::Unheard | Conduct::Lost) => PagerAnswer::Offline,
            _ => PagerAnswer::Accepted,
        }
    }

    fn status(&mut self, tag: &MessageTag) -> Option<TagStatus> {
        let now = self.0.clock.now_us();
        self.0.book().status(tag, now)
    }

    fn kill(&mut self, tag: &MessageTag) -> bool {
        self.0.book().kill(tag)
    }
}

/// Runs a paging carrier until the process is told to end (Ctrl-C), saying where it listens on standard
/// output.
///
/// # Errors
/// As [`PagingCarrier::start`].
pub fn run(options: PagingOptions) -> io::Result<()> {
    crate::run_until_told(async move {
        let carrier = PagingCarrier::start(options).await?;
        let addresses = (carrier.address(), carrier.page());
        Ok((carrier, addresses))
    })
}
