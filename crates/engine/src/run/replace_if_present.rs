//! ReplaceIndex finds the message that waits for the same client, sender, receiver and service type as one
//! that is to replace it (SMPP 3.4, 5.2.18). It is made when the first such message comes: until then
//! messages cost nothing.

use super::alerts::Alerts;
use crate::record::delivery_cell::{IN_SEGMENT, STEERED};
use records::{AlertNo, DeliveryState, EndpointNo, RosterEntry, RosterMessage};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Messages in the index; what is over is let go of then, and if too many wait the index is made again at
/// the next message that replaces one.
const ENTRIES_MAX: usize = 1_000_000;

/// See the module.
#[derive(Default)]
pub struct ReplaceIndex {
    /// By the hash of what has to be equal, the last message; nothing: none was to replace another yet.
    last: Option<FxHashMap<u64, (AlertNo, EndpointNo)>>,
}

impl ReplaceIndex {
    /// The message that waits and is replaced by this one, which is not in the index yet.
    pub fn find(&mut self, entry: &RosterEntry, alerts: &mut Alerts) -> Option<(AlertNo, EndpointNo)> {
        let message = entry.message.as_ref()?;
        let last = self.last.get_or_insert_with(|| of_all(alerts));
        let &(no, endpoint) = last.get(&key(&entry.address, message))?;
        if !waits(alerts, no, endpoint) {
            return None;
        }
        let found = alerts.entry(no, endpoint)?;
        let is_same = found.address == entry.address
            && found.message.as_ref().is_some_and(|other| same(other, message));
        is_same.then_some((no, endpoint))
    }

    /// A message came.
    pub fn note(&mut self, key: u64, of: (AlertNo, EndpointNo), alerts: &Alerts) {
        let Some(last) = &mut self.last else { return };
        if last.len() >= ENTRIES_MAX {
            last.retain(|_, (no, endpoint)| waits(alerts, *no, *endpoint));
        }
        if last.len() >= ENTRIES_MAX {
            self.last = None;
            return;
        }
        last.insert(key, of);
    }

    /// Messages are noted.
    pub fn is_made(&self) -> bool {
        self.last.is_some()
    }
}

/// Everything that waits, the later before the earlier.
fn of_all(alerts: &mut Alerts) -> FxHashMap<u64, (AlertNo, EndpointNo)> {
    let mut streams: Vec<AlertNo> =
        alerts.live.iter().filter(|(_, live)| live.metas.is_some()).map(|(no, _)| *no).collect();
    streams.sort_unstable();
    let mut last = FxHashMap::default();
    for no in streams {
        let waiting = alerts.live.get(&no).map_or_else(Vec::new, |live| live.waiting());
        for endpoint in waiting {
            let Some(entry) = alerts.entry(no, endpoint) else { continue };
            if let Some(message) = &entry.message
                && last.len() < ENTRIES_MAX
            {
                last.insert(key(&entry.address, message), (no, endpoint));
            }
        }
    }
    last
}

/// It has not left us, and nothing is about to change it.
fn waits(alerts: &Alerts, no: AlertNo, endpoint: EndpointNo) -> bool {
    alerts.live.get(&no).and_then(|live| live.cell(endpoint)).is_some_and(|cell| {
        matches!(cell.state, DeliveryState::Planned | DeliveryState::Held)
            && cell.flags & (IN_SEGMENT | STEERED) == 0
    })
}

/// The hash of what has to be equal.
pub fn key(address: &str, message: &RosterMessage) -> u64 {
    let mut hasher = FxHasher::default();
    (address, &message.party, &message.short.source.addr, &message.short.service_type).hash(&mut hasher);
    hasher.finish()
}

fn same(one: &RosterMessage, other: &RosterMessage) -> bool {
    one.party == other.party
        && one.short.source.addr == other.short.source.addr
        && one.short.service_type == other.short.service_type
}
