//! Notices to platforms and observers, by HTTP: each is a POST, signed after Standard Webhooks, repeated
//! until the answer is 2xx or its time runs out. A platform's own old way is a GET of an address, unsigned.
//!
//! POSTs to one address go one after another, in their order. Addresses do not wait for each other: one that
//! is slow or gone holds back its own notices only, of which nothing but their place is kept in memory. GETs
//! are another address each, and their order does not matter: those to one host share some connections.

pub(crate) mod caller;
mod config;
mod host;
pub(crate) mod line;
mod reply;
pub(crate) mod sign;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bus::{BusError, Group, Topic};
use records::{INTAKE, NOTICES, Notice, NoticeVerb, TOLD_TAIL};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use caller::OutboundCaller;
pub use config::NoticeSettings;
use host::Host;
pub use sign::{Signer, account_secret};

use crate::context::{GatewayContext, RouteProblem, RunningGateway, Stop};

/// The consumer group.
const GROUP: &str = records::NOTICE_GROUP;
/// Notices taken at a time.
const TAKE_MAX: usize = 256;
/// Notices whose places are held in memory at most; more stay on the bus until some are gone.
const HELD_MAX: usize = 1_000_000;
/// Where other processes tell notices too, one has at most so many: the others shall have theirs.
const HELD_SHARED_MAX: usize = 10_000;
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
pub fn start(
    settings: NoticeSettings,
    context: &GatewayContext,
) -> Result<RunningGateway, Vec<RouteProblem>> {
    let signer =
        Signer::new(&settings.secrets).map_err(|reason| vec![RouteProblem { field: "secret", reason }])?;
    let client = OutboundCaller::new(&settings.caller(), context.outbound.clone(), caller::system_lookup())?;
    let (core, given) = (context.cores.next(), context.clone());
    Ok(RunningGateway::start("notice", context, core, move |stop| run(settings, signer, client, given, stop)))
}

/// What all lines share.
struct NoticeDispatcher {
    settings: NoticeSettings,
    signer: Signer,
    client: OutboundCaller,
    context: GatewayContext,
    topic: Arc<dyn Topic>,
    group: Arc<dyn Group>,
    /// Where replies of platforms go.
    intake: Arc<dyn Topic>,
    /// Requests under way.
    requests: Semaphore,
    lines: Mutex<AddressQueues>,
    /// A notice is gone: there may be room for another.
    gone: Notify,
}

#[derive(Default)]
struct AddressQueues {
    /// By address: places of its notices on the bus, the first one being told just now.
    waiting: HashMap<String, VecDeque<u64>>,
    /// By host: what is fetched from it.
    hosts: HashMap<String, Host>,
    leased: usize,
    acked: bool,
}

async fn run(
    settings: NoticeSettings,
    signer: Signer,
    client: OutboundCaller,
    context: GatewayContext,
    mut stop: Stop,
) {
    let office = loop {
        match NoticeDispatcher::open(&settings, &signer, &client, &context) {
            Ok(office) => break Arc::new(office),
            Err(error) => {
                tracing::error!(%error, "callbacks cannot be sent yet: the topic of notices cannot be opened; retrying")
            }
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

impl NoticeDispatcher {
    fn open(
        settings: &NoticeSettings,
        signer: &Signer,
        client: &OutboundCaller,
        context: &GatewayContext,
    ) -> Result<NoticeDispatcher, BusError> {
        Ok(NoticeDispatcher {
            settings: settings.clone(),
            signer: signer.clone(),
            client: client.clone(),
            context: context.clone(),
            topic: context.bus.topic(NOTICES)?,
            group: context.bus.group(NOTICES, GROUP)?,
            intake: context.bus.topic(INTAKE)?,
            requests: Semaphore::new(settings.requests_max),
            lines: Mutex::default(),
            gone: Notify::new(),
        })
    }

    /// Takes what is there, and opens a line for each address that has none.
    fn take(self: &Arc<Self>, tasks: &mut JoinSet<()>, stop: &Stop) {
        while self.lines().leased < self.held_max() {
            let leased = match self.group.take(TAKE_MAX, LEASE) {
                Ok(leased) if leased.is_empty() => return,
                Ok(leased) => leased,
                Err(error) => {
                    tracing::error!(%error, "no callbacks can be read from the bus; retrying");
                    return;
                }
            };
            for leased in leased {
                let index = leased.record.index;
                let notice = match Notice::decode(&leased.record.octets) {
                    Ok(notice) => notice,
                    Err(error) => {
                        tracing::error!(index, %error, "a callback cannot be decoded and is not sent");
                        continue;
                    }
                };
                if leased.redelivered > 0 && self.holds(&notice, index) {
                    // Its lease ran out while we had it, as when the machine slept.
                    continue;
                }
                match notice.verb {
                    NoticeVerb::Post | NoticeVerb::PostFor(_) => {
                        if self.enqueue(&notice.url, index) {
                            tasks.spawn(line::run(Arc::clone(self), notice.url, stop.clone()));
                        }
                    }
                    NoticeVerb::Fetch | NoticeVerb::FetchReply(_) => {
                        if let Some((name, came)) = self.enqueue_fetch(notice, index) {
                            tasks.spawn(host::run(Arc::clone(self), name, came, stop.clone()));
                        }
                    }
                }
            }
        }
    }

    /// True: the address had no line.
    fn enqueue(&self, url: &str, index: u64) -> bool {
        let mut lines = self.lines();
        lines.leased += 1;
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

    /// The host's name, if it had no line.
    fn enqueue_fetch(&self, notice: Notice, index: u64) -> Option<(String, Arc<Notify>)> {
        let name = host::host_of(&notice.url);
        let mut lines = self.lines();
        lines.leased += 1;
        if let Some(host) = lines.hosts.get_mut(&name) {
            host.push(index, notice);
            return None;
        }
        let mut host = Host::new();
        host.push(index, notice);
        let came = Arc::clone(&host.came);
        lines.hosts.insert(name.clone(), host);
        Some((name, came))
    }

    fn holds(&self, notice: &Notice, index: u64) -> bool {
        let lines = self.lines();
        match &notice.verb {
            NoticeVerb::Post | NoticeVerb::PostFor(_) => {
                lines.waiting.get(&notice.url).is_some_and(|waiting| waiting.contains(&index))
            }
            NoticeVerb::Fetch | NoticeVerb::FetchReply(_) => {
                let host = lines.hosts.get(&host::host_of(&notice.url));
                host.is_some_and(|host| host.places().any(|place| place == index))
            }
        }
    }

    /// Looks at what waits for a host.
    fn with_host<T>(&self, name: &str, look: impl FnOnce(&mut Host) -> T) -> Option<T> {
        self.lines().hosts.get_mut(name).map(look)
    }

    /// Ends a host's line, if nothing waits for it.
    fn close_host(&self, name: &str) -> bool {
        let mut lines = self.lines();
        let empty = lines.hosts.get(name).is_none_or(Host::is_empty);
        if empty {
            lines.hosts.remove(name);
        }
        empty
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
        if let Some(waiting) = self.lines().waiting.get_mut(url) {
            waiting.pop_front();
        }
        self.acknowledge(index);
    }

    /// A notice that waits nowhere any more.
    fn acknowledge(&self, index: u64) {
        if let Err(error) = self.group.ack(index) {
            tracing::warn!(index, %error, "a callback was not acknowledged on the bus: it will be sent again");
        }
        let mut lines = self.lines();
        let was_full = lines.leased >= self.held_max();
        lines.leased -= 1;
        lines.acked = true;
        drop(lines);
        if was_full {
            self.gone.notify_one();
        }
    }

    fn held_max(&self) -> usize {
        if self.context.shared.is_some() { HELD_SHARED_MAX } else { HELD_MAX }
    }

    /// What stands at a place of the topic; nothing if it was trimmed away. Servers that do not answer are
    /// asked again.
    async fn read(&self, index: u64) -> Option<Notice> {
        let records = loop {
            match self.topic.fetch(index, 1, 1).await {
                Ok(records) => break records,
                Err(BusError::Unreachable { .. }) => tokio::time::sleep(FLUSH_EVERY).await,
                Err(_) => return None,
            }
        };
        let record = records.into_iter().find(|record| record.index == index)?;
        Notice::decode(&record.octets).ok()
    }

    async fn ready(&self) {
        let has_room = self.lines().leased < self.held_max();
        if !has_room {
            std::future::pending::<()>().await;
        }
        self.group.ready().await;
    }

    fn renew(&self) {
        let lines = self.lines();
        let fetched = lines.hosts.values().flat_map(Host::places);
        let leased: Vec<u64> = lines.waiting.values().flatten().copied().chain(fetched).collect();
        drop(lines);
        for index in leased {
            if let Err(error) = self.group.renew(index, LEASE) {
                tracing::warn!(index, %error, "the lease on a callback was not renewed: it may be sent twice");
            }
        }
    }

    async fn flush(&self) {
        let acked = std::mem::take(&mut self.lines().acked);
        if acked && let Err(error) = self.group.flush().await {
            tracing::warn!(%error, "acknowledgements of callbacks are not on disk yet: after a crash some are sent again");
        }
        let below = self.group.low_water().saturating_sub(TOLD_TAIL);
        if acked
            && below > self.topic.low()
            && let Err(error) = self.topic.trim(below)
        {
            tracing::warn!(%error, "callbacks that were sent could not be removed from the bus: they only take room");
        }
    }

    fn let_go(&self) {
        let mut lines = self.lines();
        let (waiting, hosts) = (std::mem::take(&mut lines.waiting), std::mem::take(&mut lines.hosts));
        drop(lines);
        let fetched = hosts.values().flat_map(Host::places);
        for index in waiting.into_values().flatten().chain(fetched) {
            if let Err(error) = self.group.release(index) {
                tracing::warn!(index, %error, "a callback was not returned to the bus: it is sent when its lease expires");
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, AddressQueues> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
