//! Counts for those who watch: messages by who handed them in and what came of them, and how far behind
//! intake is.

use crate::record::{KINDS, RESULTS, kind};
use metrics::{Counter, Gauge, counter, gauge};
use records::MessageClient;

const KIND_NAMES: [&str; KINDS] = ["smpp", "platform", "house"];
/// In the order of the bits of [`records::DlrRequest`].
const RESULT_NAMES: [&str; RESULTS] = ["delivered", "failed", "buffered", "accepted", "refused"];

/// The counters, looked up once.
pub struct EngineMeter {
    taken: [Counter; KINDS],
    results: [[Counter; RESULTS]; KINDS],
    told: [Counter; RESULTS],
    lag: Gauge,
}

impl EngineMeter {
    pub fn new() -> EngineMeter {
        let messages = |kind: &'static str, result: &'static str| counter!("campanile_messages_total", "party" => kind, "result" => result);
        EngineMeter {
            taken: KIND_NAMES.map(|kind| messages(kind, "taken")),
            results: KIND_NAMES.map(|kind| RESULT_NAMES.map(|result| messages(kind, result))),
            told: RESULT_NAMES.map(|event| counter!("campanile_told_total", "event" => event)),
            lag: gauge!("campanile_intake_lag_records"),
        }
    }

    /// A message was taken from intake.
    pub fn note_taken(&self, party: &MessageClient) {
        self.taken[usize::from(kind(party))].increment(1);
    }

    /// What came of messages.
    pub fn note_results(&self, results: &[[u32; RESULTS]; KINDS]) {
        for (counters, counts) in self.results.iter().zip(results) {
            for (counter, count) in counters.iter().zip(counts).filter(|(_, count)| **count > 0) {
                counter.increment(u64::from(*count));
            }
        }
    }

    /// A client is told something: a bit of [`records::DlrRequest`].
    pub fn note_told(&self, event: u8) {
        if let Some(counter) = self.told.get(event.trailing_zeros() as usize) {
            counter.increment(1);
        }
    }

    /// Records of intake that wait.
    pub fn note_lag(&self, records: u64) {
        self.lag.set(records as f64);
    }
}
