//! Monotonic clock of the bus. Leases and delays only: nothing on disk knows an hour.

use std::time::Instant;

/// A monotonic clock.
pub trait MonotonicClock: Send + Sync {
    /// Now.
    fn now(&self) -> Instant;
}

/// The system's.
pub struct Monotonic;

impl MonotonicClock for Monotonic {
    fn now(&self) -> Instant {
        Instant::now()
    }
}
