//! Metrics of the topic door.

use metrics::{Counter, Gauge, counter, gauge};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The door's counters, found once.
pub(super) struct TopicMeter {
    pub(super) posts: Counter,
    pub(super) reads: Counter,
    /// COUNT, LIST, AUTH, EXIT.
    pub(super) others: Counter,
    pub(super) garbage: Counter,
    pub(super) denied: Counter,
    pub(super) failed: Counter,
    pub(super) threads: Gauge,
    pub(super) connections: Gauge,
    begin: Instant,
    /// The last time an error was logged, in seconds from the start; 0: never.
    told_s: AtomicU64,
}

impl TopicMeter {
    pub(super) fn new() -> TopicMeter {
        let requests = |what: &'static str| counter!("campanile_topic_requests_total", "request" => what);
        TopicMeter {
            posts: requests("post"),
            reads: requests("read"),
            others: requests("other"),
            garbage: requests("garbage"),
            denied: requests("denied"),
            failed: requests("failed"),
            threads: gauge!("campanile_topic_connections", "served_by" => "thread"),
            connections: gauge!("campanile_topic_connections", "served_by" => "any"),
            begin: Instant::now(),
            told_s: AtomicU64::new(0),
        }
    }

    /// Counts requests that the bus could not carry out; logged once a second at most.
    pub(super) fn trouble(&self, requests: u64, error: &dyn std::fmt::Display) {
        self.failed.increment(requests);
        let now_s = self.begin.elapsed().as_secs() + 1;
        if self.told_s.swap(now_s, Ordering::Relaxed) != now_s {
            tracing::error!(%error, "requests of the topic door failed: their replies are empty");
        }
    }
}
