//! A topic in memory. All that is on disk of it is a ceiling: an index that it may have reached, so that none
//! is given out twice.

use super::frame::RECORD_HEADER;
use super::lock::lock;
use super::log::{DurabilityRule, check_sizes};
use super::notify::CountedNotify;
use super::recent_batches::{Budget, RecentBatches};
use super::retained::LogRetained;
use super::shared::SharedLogs;
use super::sync::Chore;
use super::timer::TimerClient;
use super::topic::GroupSource;
use crate::{BusError, KEYS_MAX, Keyed, Record, Retention, Topic};
use bytes::{BufMut, BytesMut};
use futures_util::future::BoxFuture;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

/// Records are written into pieces of so many octets.
const PIECE_OCTETS: usize = 64 * 1024;
/// The ceiling is raised by as many indexes as were given out since it was opened, but at least by so many
const RAISE_MIN: u64 = 1024;
/// and at most by so many.
const RAISE_MAX: u64 = 16 * 1024 * 1024;

/// A topic in memory.
pub(super) struct Memory {
    name: String,
    shared: Arc<SharedLogs>,
    ceilings: Arc<LogRetained>,
    inner: Mutex<MemoryTopicInner>,
    tail: RecentBatches,
    low: AtomicU64,
    head: AtomicU64,
    stopped: AtomicBool,
    notify: CountedNotify,
    me: Weak<Memory>,
}

struct MemoryTopicInner {
    /// Index of the next record.
    next: u64,
    /// The index it began with in this process.
    begin: u64,
    /// It is on disk that indexes below may be in use.
    ceiling: u64,
    /// Another is on its way there.
    is_raising: bool,
    /// Why the last one did not come there.
    failed: Option<BusError>,
    buffer: BytesMut,
    /// Octets in memory.
    octets: usize,
    keys: HashMap<Box<[u8]>, u64>,
    key_order: VecDeque<Box<[u8]>>,
    retention: Retention,
    /// When batches came, as long as there is a limit of age: the index behind, and the moment.
    ages: VecDeque<(u64, Instant)>,
    /// The timer wakes it to look for what is too old.
    has_alarm: bool,
}

/// What an append came to.
enum MemoryAppendResult {
    At(Keyed),
    /// The ceiling must be raised to so much first.
    Raise(u64),
}

impl Memory {
    /// A topic that goes on at its ceiling.
    pub fn open(
        shared: &Arc<SharedLogs>,
        ceilings: &Arc<LogRetained>,
        name: &str,
        ceiling: u64,
    ) -> Arc<Memory> {
        Arc::new_cyclic(|me| Memory {
            name: name.to_owned(),
            shared: shared.clone(),
            ceilings: ceilings.clone(),
            inner: Mutex::new(MemoryTopicInner {
                next: ceiling,
                begin: ceiling,
                ceiling,
                is_raising: false,
                failed: None,
                buffer: BytesMut::new(),
                octets: 0,
                keys: HashMap::new(),
                key_order: VecDeque::new(),
                retention: Retention::default(),
                ages: VecDeque::new(),
                has_alarm: false,
            }),
            tail: RecentBatches::default(),
            low: AtomicU64::new(ceiling),
            head: AtomicU64::new(ceiling),
            stopped: AtomicBool::new(false),
            notify: CountedNotify::default(),
            me: me.clone(),
        })
    }

    /// Keeps no more than this from now on.
    pub fn set_retention(&self, retention: Retention) {
        let mut inner = lock(&self.inner);
        inner.retention = retention;
        self.keep(&mut inner);
    }

    /// Stops it: whoever waits is told.
    pub fn close(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.notify.ring();
    }

    /// Puts on disk where it ended, so that the next process goes on there.
    pub fn settle(&self) -> Result<(), BusError> {
        let inner = lock(&self.inner);
        if inner.ceiling > inner.next {
            self.ceilings.write(&self.name, &inner.next.to_le_bytes())?;
        }
        Ok(())
    }

    fn try_append(
        &self,
        rule: DurabilityRule<'_>,
        records: &[&[u8]],
    ) -> Result<MemoryAppendResult, BusError> {
        check_sizes(rule.key(), records)?;
        let mut inner = lock(&self.inner);
        if self.stopped.load(Ordering::SeqCst) {
            return Err(BusError::Closed);
        }
        match rule {
            DurabilityRule::Head(head) if head != inner.next => {
                return Err(BusError::Moved { topic: self.name.clone(), head: inner.next });
            }
            DurabilityRule::Key(key) => {
                if let Some(first) = inner.keys.get(key) {
                    return Ok(MemoryAppendResult::At(Keyed { first: *first, repeated: true }));
                }
            }
            DurabilityRule::Any | DurabilityRule::Head(_) => {}
        }
        let first = inner.next;
        let end = first + records.len() as u64;
        if end > first {
            if end > inner.ceiling {
                return match inner.failed.take() {
                    Some(error) => Err(error),
                    None => Ok(MemoryAppendResult::Raise(end)),
                };
            }
            self.put(&mut inner, records)?;
            if let Some(key) = rule.key() {
                inner.remember(key, first);
            }
            self.head.store(end, Ordering::SeqCst);
            let is_near = inner.ceiling - end < raise_by(&inner) / 2;
            if is_near && !std::mem::replace(&mut inner.is_raising, true) {
                self.raise_soon();
            }
        }
        drop(inner);
        self.notify.ring();
        Ok(MemoryAppendResult::At(Keyed { first, repeated: false }))
    }

    /// Writes records into the piece at hand.
    fn put(&self, inner: &mut MemoryTopicInner, records: &[&[u8]]) -> Result<(), BusError> {
        let octets: usize = records.iter().map(|record| RECORD_HEADER + record.len()).sum();
        let held = self.shared.memory_octets.fetch_add(octets, Ordering::Relaxed) + octets;
        if held > self.shared.memory_octets_max {
            self.shared.memory_octets.fetch_sub(octets, Ordering::Relaxed);
            let limit = self.shared.memory_octets_max;
            return Err(BusError::TooLarge {
                what: "what topics in memory hold together",
                size: held,
                limit,
            });
        }
        if inner.buffer.capacity() < octets {
            inner.buffer = BytesMut::with_capacity(PIECE_OCTETS.max(octets));
        }
        for record in records {
            inner.buffer.put_u32_le(record.len() as u32);
            inner.buffer.put_u32_le(0);
            inner.buffer.put_slice(record);
        }
        self.tail.push(inner.next, inner.buffer.split().freeze(), 0, records);
        inner.next += records.len() as u64;
        inner.octets += octets;
        if inner.retention.age.is_some() {
            inner.ages.push_back((inner.next, self.shared.clock.now()));
        }
        self.keep(inner);
        Ok(())
    }

    /// Lets go of what is over a limit.
    fn keep(&self, inner: &mut MemoryTopicInner) {
        let Retention { age, octets, records } = inner.retention;
        if let Some(age) = age {
            let now = self.shared.clock.now();
            while let Some(&(end, since)) = inner.ages.front()
                && now.saturating_duration_since(since) >= age
            {
                self.drop_below(inner, end);
                inner.ages.pop_front();
            }
            if let Some(&(_, since)) = inner.ages.front()
                && !std::mem::replace(&mut inner.has_alarm, true)
            {
                self.shared.timer.set(since + age, self.me.clone());
            }
        }
        if let Some(records) = records {
            self.drop_below(inner, inner.next.saturating_sub(records));
        }
        while octets.is_some_and(|limit| inner.octets as u64 > limit) && self.drop_oldest(inner) {}
    }

    /// Lets go of batches that end at or below an index.
    fn drop_below(&self, inner: &mut MemoryTopicInner, below: u64) {
        while self.tail.oldest_end().is_some_and(|end| end <= below) && self.drop_oldest(inner) {}
    }

    fn drop_oldest(&self, inner: &mut MemoryTopicInner) -> bool {
        let Some((end, octets)) = self.tail.drop_oldest() else {
            return false;
        };
        inner.octets -= octets;
        self.shared.memory_octets.fetch_sub(octets, Ordering::Relaxed);
        self.low.store(end, Ordering::SeqCst);
        true
    }

    fn raise_soon(&self) {
        if let Some(me) = self.me.upgrade() {
            self.shared.pool.chore(me);
        }
    }

    /// Puts a higher ceiling on disk.
    fn raise(&self) -> Result<u64, BusError> {
        let ceiling = {
            let inner = lock(&self.inner);
            inner.ceiling.max(inner.next) + raise_by(&inner)
        };
        self.ceilings.write(&self.name, &ceiling.to_le_bytes())?;
        self.ceilings.log().sync()?;
        Ok(ceiling)
    }

    async fn append_by(&self, rule: DurabilityRule<'_>, records: &[&[u8]]) -> Result<Keyed, BusError> {
        loop {
            let end = match self.try_append(rule, records)? {
                MemoryAppendResult::At(keyed) => return Ok(keyed),
                MemoryAppendResult::Raise(end) => end,
            };
            let begins = {
                let mut inner = lock(&self.inner);
                end > inner.ceiling && !std::mem::replace(&mut inner.is_raising, true)
            };
            if begins {
                self.raise_soon();
            }
            let is_raised = || {
                let inner = lock(&self.inner);
                !inner.is_raising || self.stopped.load(Ordering::SeqCst)
            };
            self.notify.wait_until(is_raised).await;
        }
    }
}

fn raise_by(inner: &MemoryTopicInner) -> u64 {
    (inner.next - inner.begin).clamp(RAISE_MIN, RAISE_MAX)
}

impl MemoryTopicInner {
    fn remember(&mut self, key: &[u8], first: u64) {
        self.keys.insert(key.into(), first);
        self.key_order.push_back(key.into());
        while self.key_order.len() > KEYS_MAX
            && let Some(oldest) = self.key_order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }
}

impl Chore for Memory {
    fn run(&self) {
        let raised = self.raise();
        let mut inner = lock(&self.inner);
        inner.is_raising = false;
        match raised {
            Ok(ceiling) => (inner.ceiling, inner.failed) = (ceiling.max(inner.ceiling), None),
            Err(error) => inner.failed = Some(error),
        }
        drop(inner);
        self.notify.ring();
    }
}

impl TimerClient for Memory {
    fn woken(self: Arc<Self>, _now: Instant) {
        let mut inner = lock(&self.inner);
        inner.has_alarm = false;
        self.keep(&mut inner);
    }
}

impl GroupSource for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn append_now(&self, rule: DurabilityRule<'_>, records: &[&[u8]]) -> Result<u64, BusError> {
        loop {
            if let MemoryAppendResult::At(keyed) = self.try_append(rule, records)? {
                return Ok(keyed.first);
            }
            self.run();
        }
    }
}

impl Topic for Memory {
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move { Ok(self.append_by(DurabilityRule::Any, records).await?.first) })
    }

    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>> {
        Box::pin(self.append_by(DurabilityRule::Key(key), records))
    }

    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move { Ok(self.append_by(DurabilityRule::Head(head), records).await?.first) })
    }

    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError> {
        if self.is_stopped() {
            return Err(BusError::Closed);
        }
        let end = self.head();
        loop {
            let low = self.low();
            let from = from.max(low);
            if from >= end || records_max == 0 {
                return Ok(Vec::new());
            }
            let budget = Budget { records: records_max, octets: octets_max, end };
            match self.tail.read(from, budget) {
                Some(records) => return Ok(records),
                // It was let go of in between.
                None if self.low() > low => {}
                None => return Ok(Vec::new()),
            }
        }
    }

    fn fetch(
        &self,
        from: u64,
        records_max: usize,
        octets_max: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, BusError>> {
        Box::pin(async move { self.read(from, records_max, octets_max) })
    }

    fn glance(&self, index: u64, show: &mut dyn FnMut(Option<&[u8]>)) -> bool {
        if self.is_stopped() {
            return false;
        }
        if index < self.low() || index >= self.head() {
            show(None);
            return true;
        }
        self.tail.show(index, show)
    }

    fn readable(&self, index: u64) -> BoxFuture<'static, ()> {
        let Some(me) = self.me.upgrade() else {
            return Box::pin(std::future::ready(()));
        };
        Box::pin(async move {
            me.notify.wait_until(|| me.head() > index || me.is_stopped()).await;
        })
    }

    fn low(&self) -> u64 {
        self.low.load(Ordering::SeqCst)
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::SeqCst)
    }

    fn latest(&self) -> BoxFuture<'_, Result<u64, BusError>> {
        Box::pin(async move { if self.is_stopped() { Err(BusError::Closed) } else { Ok(self.head()) } })
    }

    fn trim(&self, below: u64) -> Result<(), BusError> {
        self.drop_below(&mut lock(&self.inner), below);
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.shared.memory_octets.fetch_sub(lock(&self.inner).octets, Ordering::Relaxed);
    }
}
