//! Counts for those who watch: messages by who handed them in and what came of them, and how far behind intake is.

use metrics::{Counter, Gauge, counter, gauge};
use records::{Party, Tell};

/// The counters, looked up once.
pub struct Meter {
    taken: [Counter; 3],
    told: [Counter; 5],
    lag: Gauge,
}

impl Meter {
    pub fn new() -> Meter {
        let taken =
            |kind: &'static str| counter!("campanile_messages_total", "party" => kind, "result" => "taken");
        let told = |event: &'static str| counter!("campanile_told_total", "event" => event);
        Meter {
            taken: ["smpp", "platform", "house"].map(taken),
            told: ["delivered", "failed", "buffered", "accepted", "refused"].map(told),
            lag: gauge!("campanile_intake_lag_records"),
        }
    }

    /// A message was taken from intake.
    pub fn note_taken(&self, party: &Party) {
        let kind = match party {
            Party::Smpp(_) => 0,
            Party::Platform(_) => 1,
            Party::House => 2,
        };
        self.taken[kind].increment(1);
    }

    /// A party is told something.
    pub fn note_told(&self, event: u8) {
        debug_assert!(event & Tell::DELIVERED != 0 || event > 1);
        if let Some(counter) = self.told.get(event.trailing_zeros() as usize) {
            counter.increment(1);
        }
    }

    /// Records of intake that wait.
    pub fn note_lag(&self, records: u64) {
        self.lag.set(records as f64);
    }
}
