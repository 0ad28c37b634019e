//! Trouble with a server that others run (PostgreSQL, NATS): since when it cannot be used, and why; and when
//! to say so.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The same trouble is said again after so long.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// A server that cannot be used, or not fully.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTrouble {
    /// Which: `host:port`, without who we are to it.
    pub server: String,
    /// Since when.
    pub since: SystemTime,
    /// What is wrong, and what to do.
    pub why: String,
}

/// The trouble that there is now with a server, told by whoever meets it.
#[derive(Debug)]
pub struct TroubleTracker {
    server: String,
    now: Mutex<Option<Noted>>,
}

#[derive(Debug)]
struct Noted {
    since: SystemTime,
    seen: SystemTime,
    said: SystemTime,
    why: String,
}

impl TroubleTracker {
    /// Of a server with this name; there is no trouble yet.
    pub fn new(server: String) -> TroubleTracker {
        TroubleTracker { server, now: Mutex::default() }
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// There is trouble. True: it is to be said, since it is new, other than before, or said long ago.
    pub fn note(&self, why: &str, at: SystemTime) -> bool {
        let mut now = self.lock();
        let since = now.as_ref().map_or(at, |noted| noted.since);
        let said = now.as_ref().filter(|noted| noted.why == why && passed(noted.said, at) < SAID_EVERY);
        let (is_said, said) = (said.is_none(), said.map_or(at, |noted| noted.said));
        *now = Some(Noted { since, seen: at, said, why: why.to_owned() });
        is_said
    }

    /// It works, as far as who asks can see. If nobody met trouble for so long, there is none any more: for
    /// how long there was.
    pub fn works(&self, at: SystemTime, quiet: Duration) -> Option<Duration> {
        let mut now = self.lock();
        let lasted =
            now.as_ref().filter(|noted| passed(noted.seen, at) >= quiet).map(|noted| passed(noted.since, at));
        if lasted.is_some() {
            *now = None;
        }
        lasted
    }

    /// The trouble there is.
    pub fn current(&self) -> Option<ServerTrouble> {
        let now = self.lock();
        let (server, noted) = (self.server.clone(), now.as_ref()?);
        Some(ServerTrouble { server, since: noted.since, why: noted.why.clone() })
    }

    /// For how long there has been trouble.
    pub fn lasts(&self, at: SystemTime) -> Option<Duration> {
        self.lock().as_ref().map(|noted| passed(noted.since, at))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Noted>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Zero where the clock was set back.
fn passed(from: SystemTime, to: SystemTime) -> Duration {
    to.duration_since(from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + seconds)
    }

    #[test]
    fn trouble_is_said_when_it_begins_when_it_changes_and_once_a_minute() {
        let tracker = TroubleTracker::new("db:5432".to_owned());
        let noted = [
            ("away", 0, true),
            ("away", 1, false),
            ("full", 2, true),
            ("full", 61, false),
            ("full", 62, true),
        ];
        for (why, second, is_said) in noted {
            assert_eq!(tracker.note(why, at(second)), is_said, "{why} {second}");
        }
        let trouble = tracker.current().unwrap();
        assert_eq!(
            (trouble.server.as_str(), trouble.since, trouble.why.as_str()),
            ("db:5432", at(0), "full")
        );
        assert_eq!(tracker.lasts(at(70)), Some(Duration::from_secs(70)));
    }

    #[test]
    fn trouble_is_over_once_nobody_has_met_it_for_a_while() {
        let tracker = TroubleTracker::new("db:5432".to_owned());
        let quiet = Duration::from_secs(3);
        assert_eq!(tracker.works(at(0), quiet), None);
        tracker.note("away", at(1));
        tracker.note("away", at(5));
        assert_eq!(tracker.works(at(7), quiet), None);
        assert!(tracker.current().is_some());
        assert_eq!(tracker.works(at(8), quiet), Some(Duration::from_secs(7)));
        assert_eq!(tracker.current(), None);
        assert!(tracker.note("away", at(9)), "it is new again");
    }
}
