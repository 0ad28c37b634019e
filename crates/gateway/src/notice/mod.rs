//! What we tell platforms and observers, by HTTP: each notice is a POST, signed after Standard Webhooks, repeated until
//! somebody says 2xx or its time runs out.
//!
//! Notices to one address go one after another, in their order. Addresses do not wait for each other: one that is slow
//! or gone holds back its own notices only, of which nothing but their place is kept in memory.

mod config;
mod line;
mod sign;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bus::{BusError, Group, Topic};
use net::{TlsClient, TlsClientSettings};
use records::{NOTICES, Notice};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

pub use config::NoticeSettings;
pub use sign::Signer;

use crate::world::{Problem, Running, Stop, World};

/// The consumer group.
const GROUP: &str = "notice";
/// Notices taken at a time.
const TAKE_MAX: usize = 256;
/// Notices whose places are held in memory at most; more stay on the bus until some are gone.
const HELD_MAX: usize = 1_000_000;
/// A notice is ours for so long without a word: long, since there may be many.
const LEASE: Duration = Duration::from_secs(600);
/// Leases are renewed this often.
const RENEW_EVERY: Duration = Duration::from_secs(240);
/// Acknowledgements are made durable this often.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// The topic is opened again after so long.
const REOPEN: Duration = Duration::from_secs(5);

/// Starts telling.
///
/// # Errors
/// Everything that is wrong with the settings.
pub fn start(settings: NoticeSettings, world: &World) -> Result<Running, Vec<Problem>> {
    let signer =
        Signer::new(&settings.secrets).map_err(|reason| vec![Problem { field: "secret", reason }])?;
    let client = client(&settings)?;
    let (core, given) = (world.cores.next(), world.clone());
    Ok(Running::start("notice", world, core, move |stop| run(settings, signer, client, given, stop)))
}

fn client(settings: &NoticeSettings) -> Result<reqwest::Client, Vec<Problem>> {
    let trust = TlsClientSettings { ca_file: settings.ca_file.clone(), server_name: None };
    let tls = TlsClient::new(&trust)
        .map_err(|error| vec![Problem { field: "ca_file", reason: error.to_string() }])?;
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls.config())
        // Whoever answers is whom the sender named: nobody is sent elsewhere with a signed body.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(settings.connect_timeout)
        .timeout(settings.timeout)
        .tcp_nodelay(true)
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| vec![Problem { field: "notice", reason: error.to_string() }])
}

/// What all lines share.
struct Office {
    settings: NoticeSettings,
    signer: Signer,
    client: reqwest::Client,
    world: World,
    topic: Arc<dyn Topic>,
    group: Arc<dyn Group>,
    /// Requests under way.
    requests: Semaphore,
    lines: Mutex<Lines>,
    /// A notice is gone: there may be room for another.
    gone: Notify,
}

#[derive(Default)]
struct Lines {
    /// By address: places of its notices on the bus, the first one being told just now.
    waiting: HashMap<String, VecDeque<u64>>,
    held: usize,
    acked: bool,
}

async fn run(
    settings: NoticeSettings,
    signer: Signer,
    client: reqwest::Client,
    world: World,
    mut stop: Stop,
) {
    let office = loop {
        match Office::open(&settings, &signer, &client, &world) {
            Ok(office) => break Arc::new(office),
            Err(error) => tracing::error!(%error, "notices cannot be told yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(REOPEN) => {}
            () = stop.wait() => return,
        }
    };
    let mut tasks = JoinSet::new();
    let (mut renewed, mut flushed) = (Instant::now(), Instant::now());
    while !stop.is_set() {
        office.take(&mut tasks, &stop);
        while tasks.try_join_next().is_some() {}
        if renewed.elapsed() >= RENEW_EVERY {
            renewed = Instant::now();
            office.renew();
        }
        if flushed.elapsed() >= FLUSH_EVERY {
            flushed = Instant::now();
            office.flush().await;
        }
        tokio::select! {
            () = office.ready() => {}
            () = office.gone.notified() => {}
            () = tokio::time::sleep(FLUSH_EVERY) => {}
            () = stop.wait() => {}
        }
    }
    // What is under way may end; the rest comes again with the next start.
    let drained =
        tokio::time::timeout(office.settings.drain, async { while tasks.join_next().await.is_some() {} });
    if drained.await.is_err() {
        tasks.shutdown().await;
    }
    office.let_go();
    office.flush().await;
}

impl Office {
    fn open(
        settings: &NoticeSettings,
        signer: &Signer,
        client: &reqwest::Client,
        world: &World,
    ) -> Result<Office, BusError> {
        Ok(Office {
            settings: settings.clone(),
            signer: signer.clone(),
            client: client.clone(),
            world: world.clone(),
            topic: world.bus.topic(NOTICES)?,
            group: world.bus.group(NOTICES, GROUP)?,
            requests: Semaphore::new(settings.requests_max),
            lines: Mutex::default(),
            gone: Notify::new(),
        })
    }

    /// Takes what is there, and opens a line for each address that has none.
    fn take(self: &Arc<Self>, tasks: &mut JoinSet<()>, stop: &Stop) {
        while self.lines().held < HELD_MAX {
            let leased = match self.group.take(TAKE_MAX, LEASE) {
                Ok(leased) if leased.is_empty() => return,
                Ok(leased) => leased,
                Err(error) => {
                    tracing::error!(%error, "no notices can be taken");
                    return;
                }
            };
            for leased in leased {
                let index = leased.record.index;
                let notice = match Notice::decode(&leased.record.octets) {
                    Ok(notice) => notice,
                    Err(error) => {
                        tracing::error!(index, %error, "a notice is left alone");
                        continue;
                    }
                };
                if leased.redelivered > 0 && self.holds(&notice.url, index) {
                    // Its lease ran out while we had it, as when the machine slept.
                    continue;
                }
                if self.enqueue(&notice.url, index) {
                    tasks.spawn(line::run(Arc::clone(self), notice.url, stop.clone()));
                }
            }
        }
    }

    /// True: the address had no line.
    fn enqueue(&self, url: &str, index: u64) -> bool {
        let mut lines = self.lines();
        lines.held += 1;
        match lines.waiting.get_mut(url) {
            Some(waiting) => {
                waiting.push_back(index);
                false
            }
            None => {
                lines.waiting.insert(url.to_owned(), VecDeque::from([index]));
                true
            }
        }
    }

    fn holds(&self, url: &str, index: u64) -> bool {
        self.lines().waiting.get(url).is_some_and(|waiting| waiting.contains(&index))
    }

    /// The first notice of an address; its line ends when there is none.
    fn first(&self, url: &str) -> Option<u64> {
        let mut lines = self.lines();
        let first = lines.waiting.get(url).and_then(|waiting| waiting.front().copied());
        if first.is_none() {
            lines.waiting.remove(url);
        }
        first
    }

    /// The first notice of an address needs no more telling.
    fn done(&self, url: &str, index: u64) {
        if let Err(error) = self.group.ack(index) {
            tracing::warn!(index, %error, "a notice was not acknowledged: it will be told again");
        }
        let mut lines = self.lines();
        lines.held -= 1;
        lines.acked = true;
        if let Some(waiting) = lines.waiting.get_mut(url) {
            waiting.pop_front();
        }
        drop(lines);
        self.gone.notify_one();
    }

    /// What stands at a place of the topic.
    fn read(&self, index: u64) -> Option<Notice> {
        let records = self.topic.read(index, 1, 1).ok()?;
        let record = records.into_iter().find(|record| record.index == index)?;
        Notice::decode(&record.octets).ok()
    }

    async fn ready(&self) {
        let has_room = self.lines().held < HELD_MAX;
        if !has_room {
            std::future::pending::<()>().await;
        }
        self.group.ready().await;
    }

    fn renew(&self) {
        let held: Vec<u64> = self.lines().waiting.values().flatten().copied().collect();
        for index in held {
            if let Err(error) = self.group.renew(index, LEASE) {
                tracing::warn!(index, %error, "a lease was not renewed");
            }
        }
    }

    async fn flush(&self) {
        let acked = std::mem::take(&mut self.lines().acked);
        if acked && let Err(error) = self.group.flush().await {
            tracing::warn!(%error, "acknowledgements were not made durable");
        }
    }

    fn let_go(&self) {
        let waiting = std::mem::take(&mut self.lines().waiting);
        for index in waiting.into_values().flatten() {
            if let Err(error) = self.group.release(index) {
                tracing::warn!(index, %error, "a notice was not given back");
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
