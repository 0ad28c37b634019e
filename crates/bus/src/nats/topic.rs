//! A topic: a stream, what is known here of its ends, and its newest records while somebody waits for them.

use super::append::AppendQueue;
use super::follow::{self, TopicTail};
use super::link::NatsLink;
use super::stream::{self, LimitsPolicy};
use super::{lock, name, read};
use crate::{BusError, Durability, Keyed, Record, Topic, TopicSettings};
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What who waits at a topic's end must know.
#[derive(Debug, Clone, Copy)]
pub struct TopicEnds {
    /// The index the next record will have, as far as this process has heard.
    pub head: u64,
    /// The topic was removed, or the bus is closing.
    pub closed: bool,
}

/// Its lowest record may go by itself, or by another's trim: who asks for it again and again hears of that
/// after so long.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A server that starts again learns the keys of appends from the records that are there. So those that are
/// let go of stay on the servers until their keys may be forgotten.
const TRIMMED_AFTER: Duration = stream::KEYS_REMEMBERED;
/// Trims within this go together.
const TRIMS_TOGETHER: Duration = Duration::from_secs(5);

/// What is let go of here and still there on the servers.
#[derive(Default)]
struct Trims {
    /// From when on what is below an index may go: at most `TRIMMED_AFTER / TRIMS_TOGETHER` and one more.
    due: VecDeque<(Instant, u64)>,
    is_running: bool,
}

/// A topic.
pub struct NatsTopic {
    pub link: Arc<NatsLink>,
    /// Its name on the bus.
    pub name: String,
    /// Its stream and subject.
    pub names: name::StreamName,
    pub queue: AppendQueue,
    /// Each message costs its servers a sync or a word among each other: then what waits together goes as one
    /// batch. A server alone that syncs when it likes stages a batch on its disk first, which costs more than
    /// it saves.
    pub is_joined: bool,
    pub tail: Mutex<TopicTail>,
    /// Who waits at its end now.
    pub waiters: AtomicUsize,
    progress: watch::Sender<TopicEnds>,
    low: AtomicU64,
    /// When its ends were last asked for because somebody wanted to know the low one.
    looked: Mutex<Option<Instant>>,
    trims: Mutex<Trims>,
    me: Weak<NatsTopic>,
}

impl NatsTopic {
    /// Opens a topic or makes it. `before` is its handle, if it was open already: that one goes on.
    pub fn open(
        link: &Arc<NatsLink>,
        name: &str,
        settings: Option<&TopicSettings>,
        before: Option<Arc<NatsTopic>>,
    ) -> Result<Arc<NatsTopic>, BusError> {
        let names = name::topic(&link.options.prefix, name)?;
        let wanted = stream::of_topic(link, &names, name, settings.unwrap_or(&TopicSettings::default()));
        let limits = if settings.is_some() { LimitsPolicy::Change } else { LimitsPolicy::Stay };
        let own = link.clone();
        let state = link.block(async move { stream::open(&own, &wanted, limits).await })?;
        if let Some(before) = before {
            before.heard(state);
            return Ok(before);
        }
        link.has_opened(&names.stream);
        let progress = TopicEnds { head: state.head(), closed: false };
        let durability = settings.and_then(|settings| settings.durability).unwrap_or(link.options.durability);
        Ok(Arc::new_cyclic(|me| NatsTopic {
            link: link.clone(),
            name: name.to_owned(),
            names,
            queue: AppendQueue::default(),
            is_joined: link.options.replicas > 1
                || link.options.durability == Durability::Disk && durability == Durability::Disk,
            tail: Mutex::default(),
            waiters: AtomicUsize::new(0),
            progress: watch::Sender::new(progress),
            low: AtomicU64::new(state.low()),
            looked: Mutex::default(),
            trims: Mutex::default(),
            me: me.clone(),
        }))
    }

    /// Nobody waits for it any more.
    pub fn close(&self) {
        self.progress.send_modify(|progress| progress.closed = true);
    }

    pub fn is_closed(&self) -> bool {
        self.progress.borrow().closed || self.link.is_closed()
    }

    /// There are records below `head`.
    pub fn reached(&self, head: u64) {
        self.progress.send_if_modified(|progress| {
            let is_news = progress.head < head;
            progress.head = progress.head.max(head);
            is_news
        });
    }

    /// There is nothing below `low`.
    pub fn begins_at(&self, low: u64) {
        self.low.fetch_max(low, Ordering::Relaxed);
    }

    /// What the servers say of its ends.
    pub fn heard(&self, state: stream::StreamState) {
        self.begins_at(state.low());
        self.reached(state.head());
    }

    /// Itself, shared. Nothing if it is being dropped.
    pub fn shared(&self) -> Result<Arc<NatsTopic>, BusError> {
        self.me.upgrade().ok_or(BusError::Closed)
    }

    /// Asks where its ends are.
    pub async fn look(&self) -> Result<u64, BusError> {
        let state = stream::state(&self.link, &self.names.stream, &self.name).await?;
        self.heard(state);
        Ok(state.head())
    }

    /// See [`crate::Bus::begin`]. A purge above the end of an empty stream moves its next sequence there.
    pub async fn begin(&self, at: u64, record: &[u8]) -> Result<(), BusError> {
        let moved = |head| BusError::Moved { topic: self.name.clone(), head };
        let mut head = self.look().await?;
        if head == 0 && at > 0 {
            stream::trim(&self.link, &self.names.stream, &self.name, at).await?;
            head = self.look().await?;
        }
        if head < at {
            return Err(moved(head));
        }
        if head > at {
            return Ok(());
        }
        match self.put(None, Some(at), &[record]).await {
            // Another process was first.
            Err(BusError::Moved { head, .. }) if head > at => Ok(()),
            put => put.map(drop),
        }
    }
}

impl Topic for NatsTopic {
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move { Ok(self.put(None, None, records).await?.first) })
    }

    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>> {
        Box::pin(self.put(Some(key), None, records))
    }

    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move { Ok(self.put(None, Some(head), records).await?.first) })
    }

    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError> {
        if let Some(found) = self.at_hand(from, records_max, octets_max) {
            return Ok(found);
        }
        let topic = self.shared()?;
        self.link.block(async move { read::from_servers(&topic, from, records_max, octets_max).await })
    }

    fn fetch(
        &self,
        from: u64,
        records_max: usize,
        octets_max: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, BusError>> {
        Box::pin(async move {
            if let Some(found) = self.at_hand(from, records_max, octets_max) {
                return Ok(found);
            }
            let topic = self.shared()?;
            self.link
                .run(async move { read::from_servers(&topic, from, records_max, octets_max).await })
                .await
        })
    }

    fn readable(&self, index: u64) -> BoxFuture<'static, ()> {
        let Some(topic) = self.me.upgrade() else {
            return Box::pin(std::future::ready(()));
        };
        Box::pin(async move { follow::wait(&topic, index).await })
    }

    fn low(&self) -> u64 {
        let now = Instant::now();
        let mut looked = lock(&self.looked);
        if looked.is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK_EVERY)
            && let Some(topic) = self.me.upgrade()
        {
            *looked = Some(now);
            self.link.spawn(async move {
                // Unanswered it is asked again when somebody wants to know again.
                let _ = topic.look().await;
            });
        }
        self.low_known()
    }

    fn head(&self) -> u64 {
        self.progress.borrow().head
    }

    fn latest(&self) -> BoxFuture<'_, Result<u64, BusError>> {
        Box::pin(async move {
            let topic = self.shared()?;
            self.link.run(async move { topic.look().await }).await
        })
    }

    fn trim(&self, below: u64) -> Result<(), BusError> {
        // What is not there yet cannot be let go of.
        let below = below.min(self.head());
        if below <= self.low_known() {
            return Ok(());
        }
        // Seen here at once, and by the others when the servers have let go of it.
        self.begins_at(below);
        lock(&self.tail).forget_below(below);
        let topic = self.shared()?;
        let now = Instant::now();
        let mut trims = lock(&self.trims);
        match trims.due.back_mut() {
            Some((due, last))
                if *due < now + TRIMMED_AFTER + TRIMS_TOGETHER && *due > now + TRIMMED_AFTER =>
            {
                *last = below;
            }
            _ => trims.due.push_back((now + TRIMMED_AFTER + TRIMS_TOGETHER, below)),
        }
        if !std::mem::replace(&mut trims.is_running, true) {
            self.link.spawn(async move { topic.let_go().await });
        }
        Ok(())
    }
}

impl NatsTopic {
    /// Lets the servers let go of what is due, until nothing is.
    async fn let_go(&self) {
        loop {
            let next = {
                let mut trims = lock(&self.trims);
                let next = trims.due.front().copied();
                trims.is_running = next.is_some() && !self.is_closed();
                next.filter(|_| trims.is_running)
            };
            let Some((due, below)) = next else { return };
            tokio::time::sleep_until(due.into()).await;
            match stream::trim(&self.link, &self.names.stream, &self.name, below).await {
                Ok(()) => drop(lock(&self.trims).due.pop_front()),
                Err(error) => {
                    tracing::warn!(topic = self.name, below, %error, "Records could not be deleted; retrying.");
                    tokio::time::sleep(TRIMS_TOGETHER).await;
                }
            }
        }
    }

    /// The lowest index that is still there, as far as this process has heard.
    pub fn low_known(&self) -> u64 {
        self.low.load(Ordering::Relaxed)
    }

    /// What who waits here watches.
    pub fn progress(&self) -> watch::Receiver<TopicEnds> {
        self.progress.subscribe()
    }

    /// Records from memory; nothing if the servers must be asked.
    fn at_hand(&self, from: u64, records_max: usize, octets_max: usize) -> Option<Vec<Record>> {
        if records_max == 0 {
            return Some(Vec::new());
        }
        lock(&self.tail).read(from.max(self.low_known()), self.head(), records_max, octets_max)
    }
}
