use serde::{Deserialize, Serialize};

/// A moment: microseconds since 1970-01-01T00:00:00 UTC. Always passed in, never read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The moment `seconds` later, saturating.
    pub fn plus_s(self, seconds: i64) -> Timestamp {
        self.plus_us(seconds.saturating_mul(1_000_000))
    }
    /// The moment `micros` later, saturating.
    pub fn plus_us(self, micros: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(micros))
    }
    /// Microseconds from `earlier` to here; negative when `earlier` is later.
    pub fn us_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
