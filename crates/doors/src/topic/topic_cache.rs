//! Text topics by their name, in memory: a request looks one up without asking the bus.

use bus::{Bus, BusError, Topic, TopicSettings};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Where the topics stand.
pub(super) struct TopicCache {
    bus: Arc<dyn Bus>,
    settings: TopicSettings,
    topics_max: usize,
    known: RwLock<CachedTopic>,
    /// Held while a topic is opened, so that none is opened twice.
    opening: Mutex<()>,
}

#[derive(Default)]
struct CachedTopic {
    topics: FxHashMap<Box<[u8]>, Arc<dyn Topic>>,
    /// The reply to LIST.
    list: Vec<u8>,
}

/// The error of opening a topic.
#[derive(Debug)]
pub(super) enum NoTopic {
    /// The limit of topics is reached.
    Full(usize),
    /// An error of the bus.
    Bus(BusError),
}

impl std::fmt::Display for NoTopic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoTopic::Full(limit) => write!(f, "the limit of {limit} topics is reached: raise max_topics"),
            NoTopic::Bus(error) => write!(f, "{error}"),
        }
    }
}

impl TopicCache {
    /// With the topics that are on the bus. Blocks.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn open(
        bus: Arc<dyn Bus>,
        settings: TopicSettings,
        topics_max: usize,
    ) -> Result<TopicCache, BusError> {
        let topic_cache =
            TopicCache { bus, settings, topics_max, known: RwLock::default(), opening: Mutex::default() };
        topic_cache.look()?;
        Ok(topic_cache)
    }

    /// Finds topics that other processes have made since. Blocks.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn look(&self) -> Result<(), BusError> {
        for name in self.bus.topics(records::TEXT_TOPICS)? {
            match records::text_topic_of_bus(&name).map(|topic| self.make(&topic)) {
                None | Some(Ok(_)) => {}
                Some(Err(NoTopic::Bus(error))) => return Err(error),
                Some(Err(full @ NoTopic::Full(_))) => {
                    tracing::warn!(topic = name, error = %full, "a topic cannot be read");
                }
            }
        }
        Ok(())
    }

    /// A topic that is there.
    pub(super) fn find(&self, topic: &[u8]) -> Option<Arc<dyn Topic>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).topics.get(topic).cloned()
    }

    /// A topic that is there now. Blocks.
    ///
    /// # Errors
    /// There are too many; the bus's.
    pub(super) fn make(&self, topic: &[u8]) -> Result<Arc<dyn Topic>, NoTopic> {
        // Nothing is changed while it is held but whole.
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.find(topic) {
            return Ok(found);
        }
        let count = self.known.read().unwrap_or_else(PoisonError::into_inner).topics.len();
        if count >= self.topics_max {
            return Err(NoTopic::Full(self.topics_max));
        }
        let made =
            self.bus.topic_with(&records::text_topic_on_bus(topic), &self.settings).map_err(NoTopic::Bus)?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.list.is_empty() {
            known.list.push(b'#');
        }
        known.list.extend_from_slice(topic);
        known.topics.insert(topic.into(), Arc::clone(&made));
        Ok(made)
    }

    /// Shows the reply to LIST: all topics, joined by `#`.
    pub(super) fn list(&self, show: impl FnOnce(&[u8])) {
        show(&self.known.read().unwrap_or_else(PoisonError::into_inner).list);
    }
}
