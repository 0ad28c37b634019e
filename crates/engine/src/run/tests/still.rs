//! A bus whose process stands still, or cannot reach it, when the test says so.

use bus::{Bus, BusError, Group, GroupSettings, Keyed, Record, Retained, Topic, TopicSettings};
use futures_util::future::BoxFuture;
use std::sync::{Arc, Condvar, Mutex};
use tokio::sync::watch;

/// What is shared of it.
#[derive(Clone)]
pub struct Still {
    standing: Arc<(Mutex<bool>, Condvar)>,
    /// Appends of segments wait for this.
    holding: watch::Sender<bool>,
    cut_off: Arc<Mutex<bool>>,
    appends: Arc<Mutex<Appends>>,
}

#[derive(Default)]
struct Appends {
    held: usize,
    told: Vec<Result<u64, BusError>>,
}

impl Default for Still {
    fn default() -> Still {
        Still {
            standing: Arc::default(),
            holding: watch::channel(false).0,
            cut_off: Arc::default(),
            appends: Arc::default(),
        }
    }
}

impl Still {
    pub fn over(&self, bus: Arc<dyn Bus>) -> Arc<dyn Bus> {
        Arc::new(StillBus { bus, still: self.clone() })
    }

    /// Appends of segments are on their way from now on, until [`Still::go_on`].
    pub fn hold_appends(&self) {
        self.holding.send_replace(true);
    }

    /// Whoever of it looks at the clock, or whether the bus is there, stands still.
    pub fn stand(&self) {
        *self.standing.0.lock().unwrap() = true;
    }

    pub fn go_on(&self) {
        *self.standing.0.lock().unwrap() = false;
        self.standing.1.notify_all();
        self.holding.send_replace(false);
    }

    pub fn cut_off(&self, is_cut_off: bool) {
        *self.cut_off.lock().unwrap() = is_cut_off;
    }

    /// Stands still while it is to.
    pub fn wait(&self) {
        let standing = self.standing.0.lock().unwrap();
        drop(self.standing.1.wait_while(standing, |standing| *standing).unwrap());
    }

    /// Appends on their way.
    pub fn held(&self) -> usize {
        self.appends.lock().unwrap().held
    }

    /// What became of those that were held.
    pub fn told(&self) -> Vec<Result<u64, BusError>> {
        self.appends.lock().unwrap().told.clone()
    }
}

struct StillBus {
    bus: Arc<dyn Bus>,
    still: Still,
}

impl Bus for StillBus {
    fn topic_with(&self, name: &str, settings: &TopicSettings) -> Result<Arc<dyn Topic>, BusError> {
        let topic = self.bus.topic_with(name, settings)?;
        if !name.starts_with("segments/") {
            return Ok(topic);
        }
        Ok(Arc::new(StillTopic { topic, still: self.still.clone() }))
    }
    fn group_with(
        &self,
        topic: &str,
        group: &str,
        settings: &GroupSettings,
    ) -> Result<Arc<dyn Group>, BusError> {
        self.bus.group_with(topic, group, settings)
    }
    fn retained(&self, name: &str) -> Result<Arc<dyn Retained>, BusError> {
        self.bus.retained(name)
    }
    fn topics(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        self.bus.topics(prefix)
    }
    fn begin(&self, name: &str, at: u64, record: &[u8]) -> Result<(), BusError> {
        self.bus.begin(name, at, record)
    }
    fn remove(&self, name: &str) -> Result<(), BusError> {
        self.bus.remove(name)
    }
    fn sync_us_p50(&self) -> u64 {
        self.bus.sync_us_p50()
    }
    fn is_reachable(&self) -> bool {
        self.still.wait();
        !*self.still.cut_off.lock().unwrap() && self.bus.is_reachable()
    }
}

struct StillTopic {
    topic: Arc<dyn Topic>,
    still: Still,
}

impl Topic for StillTopic {
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        self.topic.append(records)
    }
    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>> {
        self.topic.append_keyed(key, records)
    }
    /// What is held is on its way, whether or not anybody still waits for it.
    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        let mut holding = self.still.holding.subscribe();
        if !*holding.borrow() {
            return self.topic.append_at(head, records);
        }
        let (topic, appends) = (self.topic.clone(), self.still.appends.clone());
        let records: Vec<Vec<u8>> = records.iter().map(|record| record.to_vec()).collect();
        appends.lock().unwrap().held += 1;
        let (told, tells) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            super::super::starting::wait_for(async move {
                holding.wait_for(|holding| !holding).await.unwrap();
                let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
                let result = topic.append_at(head, &slices).await;
                let mut appends = appends.lock().unwrap();
                appends.held -= 1;
                appends.told.push(result.clone());
                let _ = told.send(result);
            });
        });
        Box::pin(async move { tells.await.unwrap_or(Err(BusError::Closed)) })
    }
    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError> {
        self.topic.read(from, records_max, octets_max)
    }
    fn fetch(
        &self,
        from: u64,
        records_max: usize,
        octets_max: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, BusError>> {
        self.topic.fetch(from, records_max, octets_max)
    }
    fn readable(&self, index: u64) -> BoxFuture<'static, ()> {
        self.topic.readable(index)
    }
    fn low(&self) -> u64 {
        self.topic.low()
    }
    fn head(&self) -> u64 {
        self.topic.head()
    }
    fn latest(&self) -> BoxFuture<'_, Result<u64, BusError>> {
        self.topic.latest()
    }
    fn trim(&self, below: u64) -> Result<(), BusError> {
        self.topic.trim(below)
    }
}
