//! Counters and kept messages of the broker.

use crate::tally::{KeyCounts, LastSecond};
use mqtt::packet::PublishPacket;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BrokerStats {
    /// Connections that came.
    pub connections: u64,
    /// Open now.
    pub sessions: u64,
    /// Messages taken from clients, answers of devices included.
    pub accepted: u64,
    /// The same; the name that the simulated SMSC has for it.
    pub messages: u64,
    /// Messages refused, by Reason Code in hexadecimal.
    pub refused: BTreeMap<String, u64>,
    /// Messages that nobody listened to.
    pub unheard: u64,
    /// Topics that have a retained message now.
    pub retained: u64,
    /// Answers of simulated devices.
    pub answers: u64,
    /// Different pairs of topic and id.
    pub distinct: u64,
    /// Messages above the first of their kind.
    pub repeats: u64,
    /// Most messages in any one second, by their arrival.
    pub peak_accepted: u64,
    /// When the last was taken, microseconds since 1970.
    pub last_accepted_us: u64,
}

/// A message as it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenMessage {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// As it came.
    pub packet: PublishPacket,
}

/// A message's parts that people read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MessageText {
    /// When it was taken, microseconds since 1970.
    pub at_us: u64,
    /// Where.
    pub topic: String,
    /// It is to be retained.
    pub retain: bool,
    /// Where answers go.
    pub response_topic: String,
    /// Seconds after which it is of no use.
    pub expiry_s: Option<u32>,
    /// The payload as text.
    pub payload: String,
}

impl TakenMessage {
    /// What people read of it.
    pub fn words(&self) -> MessageText {
        let properties = &self.packet.properties;
        MessageText {
            at_us: self.at_us,
            topic: self.packet.topic.clone(),
            retain: self.packet.retain,
            response_topic: properties.response_topic().unwrap_or_default().to_owned(),
            expiry_s: properties.message_expiry_interval(),
            payload: String::from_utf8_lossy(&self.packet.payload).into_owned(),
        }
    }

    /// The member `id` of its payload; empty if it has none.
    pub fn id(&self) -> String {
        id_of(&self.packet.payload)
    }
}

fn id_of(payload: &[u8]) -> String {
    let payload: serde_json::Value = serde_json::from_slice(payload).unwrap_or_default();
    payload["id"].as_str().unwrap_or_default().to_owned()
}

/// Counts and keeps.
#[derive(Default)]
pub(super) struct BrokerLedger {
    inner: Mutex<LedgerInner>,
}

#[derive(Default)]
struct LedgerInner {
    stats: BrokerStats,
    accepted: LastSecond,
    tally: KeyCounts,
    kept: VecDeque<TakenMessage>,
}

impl BrokerLedger {
    /// A message was taken. Empty messages and answers have no id, and are no repeats of each other.
    pub(super) fn took(&self, packet: &PublishPacket, now_us: u64, (keep, counts): (usize, bool)) {
        let mut inner = self.lock();
        inner.stats.accepted += 1;
        inner.stats.last_accepted_us = inner.stats.last_accepted_us.max(now_us);
        inner.accepted.add(now_us, 1);
        let id = if counts { id_of(&packet.payload) } else { String::new() };
        if !id.is_empty() {
            let topic = crate::chance::hash(0, packet.topic.as_bytes());
            inner.tally.add(crate::chance::hash(topic, id.as_bytes()));
        }
        if keep > 0 {
            inner.kept.push_back(TakenMessage { at_us: now_us, packet: packet.clone() });
            while inner.kept.len() > keep {
                inner.kept.pop_front();
            }
        }
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut BrokerStats)) {
        change(&mut self.lock().stats);
    }

    pub(super) fn refused(&self, reason: u8) {
        *self.lock().stats.refused.entry(format!("{reason:02X}")).or_default() += 1;
    }

    pub(super) fn stats(&self) -> BrokerStats {
        let inner = self.lock();
        BrokerStats {
            messages: inner.stats.accepted,
            distinct: inner.tally.distinct(),
            repeats: inner.tally.repeats,
            peak_accepted: inner.accepted.peak,
            ..inner.stats.clone()
        }
    }

    /// The last messages, the newest last.
    pub(super) fn messages(&self, limit: usize) -> Vec<TakenMessage> {
        let kept = &self.lock().kept;
        kept.iter().skip(kept.len().saturating_sub(limit)).cloned().collect()
    }

    /// Counts stay right even if a task died while it held them.
    fn lock(&self) -> MutexGuard<'_, LedgerInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
