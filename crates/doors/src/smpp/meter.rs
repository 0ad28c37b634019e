//! Metrics of the SMPP door.

use super::activity::ClientActivity;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use smpp::Status;
use smpp::pdu::BindMode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Different statuses counted one by one between two flushes; rarer ones wait for no flush.
const STATUSES: usize = 8;

/// A client's counters; the busy ones are found once.
pub(super) struct SmppMeter {
    client: String,
    taken: Counter,
    delivered: Counter,
    durable: Histogram,
    activity: Arc<ClientActivity>,
}

impl SmppMeter {
    pub(super) fn new(client: &str, activity: Arc<ClientActivity>) -> SmppMeter {
        let client = client.to_owned();
        let taken = counter!("campanile_smpp_submits_total", "client" => client.clone(), "status" => word(Status::ROK));
        let delivered = counter!("campanile_smpp_delivers_total", "client" => client.clone(), "status" => word(Status::ROK));
        let durable = histogram!("campanile_smpp_accept_seconds", "client" => client.clone());
        SmppMeter { client, taken, delivered, durable, activity }
    }

    /// Messages were answered so.
    pub(super) fn submits(&self, status: Status, count: u64) {
        self.activity.note_submits(status, count, Instant::now());
        match status {
            Status::ROK => self.taken.increment(count),
            _ => counter!("campanile_smpp_submits_total", "client" => self.client.clone(), "status" => word(status))
                .increment(count),
        }
    }

    /// From a batch's hand-over to its durability.
    pub(super) fn accepted_in(&self, time: Duration) {
        self.durable.record(time.as_secs_f64());
    }

    /// A message to the client was answered so.
    pub(super) fn deliver(&self, status: Status) {
        match status {
            Status::ROK => {
                self.activity.note_told();
                self.delivered.increment(1);
            }
            _ => self.deliver_word(word(status)),
        }
    }

    /// An event was not delivered: `timeout`, `old`, `unreadable`, …
    pub(super) fn deliver_word(&self, word: &'static str) {
        counter!("campanile_smpp_delivers_total", "client" => self.client.clone(), "status" => word)
            .increment(1);
    }

    /// Sessions that are bound so.
    pub(super) fn sessions(&self, mode: BindMode) -> Gauge {
        let mode = match mode {
            BindMode::Transmitter => "transmitter",
            BindMode::Receiver => "receiver",
            BindMode::Transceiver => "transceiver",
        };
        gauge!("campanile_smpp_sessions", "client" => self.client.clone(), "mode" => mode)
    }
}

/// Binds and their answers. Without a client's label: a refused bind may name any.
pub(super) fn bind(status: Status) {
    counter!("campanile_smpp_binds_total", "status" => word(status)).increment(1);
}

/// A PDU that the session refused by itself.
pub(super) fn refused(status: Status) {
    counter!("campanile_smpp_refused_pdus_total", "status" => word(status)).increment(1);
}

fn word(status: Status) -> &'static str {
    status.name().unwrap_or("other")
}

/// Answers since the last flush, by status.
#[derive(Default)]
pub(super) struct AnswerTally {
    counts: Vec<(Status, u64)>,
}

impl AnswerTally {
    pub(super) fn add(&mut self, status: Status, count: u64, meter: &SmppMeter) {
        if let Some((_, sum)) = self.counts.iter_mut().find(|(of, _)| *of == status) {
            *sum += count;
        } else if self.counts.len() < STATUSES {
            self.counts.push((status, count));
        } else {
            meter.submits(status, count);
        }
    }

    pub(super) fn flush(&mut self, meter: &SmppMeter) {
        for (status, count) in self.counts.drain(..) {
            meter.submits(status, count);
        }
    }
}
