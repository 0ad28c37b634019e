//! MonotonicClock that a test moves.

use super::clock::MonotonicClock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A clock that a test moves.
pub(crate) struct Moved {
    begin: Instant,
    since: Mutex<Duration>,
}

impl Moved {
    pub fn new() -> Arc<Moved> {
        Arc::new(Moved { begin: Instant::now(), since: Mutex::default() })
    }
    pub fn forward(&self, by: Duration) {
        *self.since.lock().unwrap() += by;
    }
}

impl MonotonicClock for Moved {
    fn now(&self) -> Instant {
        self.begin + *self.since.lock().unwrap()
    }
}
