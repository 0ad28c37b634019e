//! IntakeMeter and EventMeter count messages by the kind of their client and by result, the lag of intake,
//! and published status events.

use crate::record::{KINDS, RESULTS, kind};
use metrics::{Counter, Gauge, counter, gauge};
use records::MessageClient;

const KIND_NAMES: [&str; KINDS] = ["smpp", "platform", "house"];
/// In the order of the bits of [`records::DlrRequest`].
const RESULT_NAMES: [&str; RESULTS] = ["delivered", "failed", "buffered", "accepted", "refused"];

/// Counters of messages, looked up once.
pub struct IntakeMeter {
    taken: [Counter; KINDS],
    results: [[Counter; RESULTS]; KINDS],
    lag: Gauge,
}

/// Counters of status events, looked up once.
pub struct EventMeter {
    published: [Counter; RESULTS],
}

impl IntakeMeter {
    pub fn new() -> IntakeMeter {
        let messages = |kind: &'static str, result: &'static str| counter!("campanile_messages_total", "party" => kind, "result" => result);
        IntakeMeter {
            taken: KIND_NAMES.map(|kind| messages(kind, "taken")),
            results: KIND_NAMES.map(|kind| RESULT_NAMES.map(|result| messages(kind, result))),
            lag: gauge!("campanile_intake_lag_records"),
        }
    }

    /// A message was taken from intake.
    pub fn note_taken(&self, client: &MessageClient) {
        self.taken[usize::from(kind(client))].increment(1);
    }

    /// Results of messages.
    pub fn note_results(&self, results: &[[u32; RESULTS]; KINDS]) {
        for (counters, counts) in self.results.iter().zip(results) {
            for (counter, count) in counters.iter().zip(counts).filter(|(_, count)| **count > 0) {
                counter.increment(u64::from(*count));
            }
        }
    }

    /// Records of intake that wait.
    pub fn note_lag(&self, records: u64) {
        self.lag.set(records as f64);
    }
}

impl EventMeter {
    pub fn new() -> EventMeter {
        EventMeter { published: RESULT_NAMES.map(|event| counter!("campanile_told_total", "event" => event)) }
    }

    /// A status event is published: a bit of [`records::DlrRequest`].
    pub fn note_published(&self, event: u8) {
        if let Some(counter) = self.published.get(event.trailing_zeros() as usize) {
            counter.increment(1);
        }
    }
}
