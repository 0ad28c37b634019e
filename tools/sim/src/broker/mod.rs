//! A broker of MQTT 5 with devices: a real listener, for drills, demonstrations, tests and benches.
//!
//! It routes what clients publish to clients that subscribe, retains messages until they expire, and has
//! simulated devices that confirm and answer by their Response Topic, as its [`BrokerOptions`] say.

mod device;
mod ledger;
mod options;
mod page;
mod router;
mod session;
#[cfg(test)]
mod tests;

pub use ledger::{BrokerStats, MessageText, TakenMessage};
pub use options::{BrokerLogin, BrokerOptions};

use crate::agenda::Agenda;
use crate::behaviour::{Behaviour, ClosingListener, Outage};
use crate::clock::Clock;
use device::DeviceAnswer;
use ledger::BrokerLedger;
use mqtt::packet::PublishPacket;
use router::Router;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A running broker. Dropping it ends it and all its connections.
pub struct Broker {
    shared: Arc<BrokerState>,
    address: SocketAddr,
    page: Option<SocketAddr>,
    /// Closes its listener.
    outage: Outage,
    /// As it was started.
    usual: BrokerOptions,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

/// What all connections know.
struct BrokerState {
    scene: RwLock<Arc<BrokerOptions>>,
    router: Mutex<Router>,
    ledger: BrokerLedger,
    /// What devices are about to say.
    agenda: Agenda<DeviceAnswer>,
    clock: Clock,
    /// Raised to cut all connections.
    stop: watch::Sender<u64>,
}

impl BrokerState {
    fn scene(&self) -> Arc<BrokerOptions> {
        Arc::clone(&self.scene.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn router(&self) -> MutexGuard<'_, Router> {
        self.router.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stats(&self) -> BrokerStats {
        let retained = self.router().retained_count(self.clock.now_us());
        BrokerStats { retained, ..self.ledger.stats() }
    }
}

impl Broker {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken.
    pub async fn start(options: BrokerOptions) -> io::Result<Broker> {
        options.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let listener = TcpListener::bind(&options.listen).await?;
        let page = match &options.control {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        let (outage, usual) = (Outage::none(), options.clone());
        let clock = Clock::start();
        let shared = Arc::new(BrokerState {
            scene: RwLock::new(Arc::new(options)),
            router: Mutex::default(),
            ledger: BrokerLedger::default(),
            agenda: Agenda::new(clock),
            clock,
            stop: watch::Sender::new(0),
        });
        let address = listener.local_addr()?;
        let page_address = page.as_ref().map(TcpListener::local_addr).transpose()?;
        let listener = outage.over(listener, shared.stop.clone())?;
        let mut tasks = vec![
            tokio::spawn(accept(listener, Arc::clone(&shared))),
            tokio::spawn(device::run(Arc::clone(&shared))),
        ];
        if let Some(page) = page {
            let shown = Arc::new(page::BrokerPage(Arc::clone(&shared)));
            tasks.push(tokio::spawn(crate::page::serve(page, shown)));
        }
        Ok(Broker { shared, address, page: page_address, outage, usual, tasks })
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
    pub fn stats(&self) -> BrokerStats {
        self.shared.stats()
    }

    /// The last messages that were kept, the newest last.
    pub fn messages(&self, limit: usize) -> Vec<TakenMessage> {
        self.shared.ledger.messages(limit)
    }

    /// The retained message of a topic.
    pub fn retained(&self, topic: &str) -> Option<PublishPacket> {
        self.shared.router().retained(topic, self.shared.clock.now_us())
    }

    /// Does as these options say from now on. Addresses and the limits of open connections stay.
    ///
    /// # Errors
    /// What cannot be, by its field.
    pub fn change(&self, options: BrokerOptions) -> Result<(), String> {
        options.check()?;
        *self.shared.scene.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
        Ok(())
    }

    /// Behaves otherwise from now on, until it is told to work. What [`Broker::change`] said before
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

impl Drop for Broker {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        self.disconnect();
    }
}

async fn accept(mut listener: ClosingListener, shared: Arc<BrokerState>) {
    for number in 0.. {
        let stream = listener.accept().await;
        let stop = shared.stop.subscribe();
        tokio::spawn(session::serve(Arc::clone(&shared), number, stream, stop));
    }
}

/// Runs a broker until the process is told to end (Ctrl-C), saying where it listens on standard output.
///
/// # Errors
/// As [`Broker::start`].
pub fn run(options: BrokerOptions) -> io::Result<()> {
    crate::run_until_told(async move {
        let broker = Broker::start(options).await?;
        let addresses = (broker.address(), broker.page());
        Ok((broker, addresses))
    })
}
