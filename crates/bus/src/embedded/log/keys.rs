//! The keys of a log's newest keyed appends.

use super::Written;
use crate::KEYS_MAX;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Keys with the places of what was appended under them, the oldest forgotten first.
#[derive(Default)]
pub(super) struct Keys {
    places: HashMap<Arc<[u8]>, Written>,
    order: VecDeque<Arc<[u8]>>,
}

impl Keys {
    /// Where what was appended under a key stands.
    pub fn place(&self, key: &[u8]) -> Option<Written> {
        self.places.get(key).copied()
    }

    /// Remembers the newest key.
    pub fn remember(&mut self, key: &[u8], place: Written) {
        let key: Arc<[u8]> = key.into();
        if self.places.insert(key.clone(), place).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > KEYS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.places.remove(&oldest);
        }
    }
}
