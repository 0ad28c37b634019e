//! Activity of a connection decides whether its place may be taken from it: while it has no whole request
//! here, or does not read what it is sent.
//!
//! Over HTTP/1.1 a connection has one request at a time, and one activity. Over HTTP/2 each request has an
//! activity of its own, and the connection is busy while one of them is.

use net::ConnectionPlace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Times that a client is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientTimes {
    /// For a whole head.
    pub head: Duration,
    /// A connection that takes none of what it is sent for so long is closed.
    pub write_stall: Duration,
}

/// What a request does at the moment, on its connection.
#[derive(Debug)]
pub(crate) struct Activity {
    connection: Arc<ConnectionActivity>,
    has_request: AtomicBool,
}

#[derive(Debug)]
struct ConnectionActivity {
    place: ConnectionPlace,
    times: ClientTimes,
    doing: Mutex<Doing>,
}

/// What a connection does at the moment.
#[derive(Debug, Default)]
struct Doing {
    /// Whole requests that are not answered yet.
    requests: usize,
    is_stalled: bool,
}

impl Activity {
    /// Of a new connection: it has sent nothing yet.
    pub(crate) fn new(place: ConnectionPlace, times: ClientTimes) -> Activity {
        let connection = ConnectionActivity { place, times, doing: Mutex::default() };
        Activity { connection: Arc::new(connection), has_request: AtomicBool::new(false) }
    }

    /// Of another request of the same connection, which is not here whole.
    pub(crate) fn of_stream(&self) -> Activity {
        Activity { connection: Arc::clone(&self.connection), has_request: AtomicBool::new(false) }
    }

    /// A request is here, whole, and not answered yet.
    pub(crate) fn begin_request(&self) {
        if !self.has_request.swap(true, Ordering::Relaxed) {
            self.connection.change(|doing| doing.requests += 1);
        }
    }

    /// It is answered.
    pub(crate) fn end_request(&self) {
        if self.has_request.swap(false, Ordering::Relaxed) {
            self.connection.change(|doing| doing.requests -= 1);
        }
    }

    /// The connection does not take what it is sent, or takes it again.
    pub(crate) fn set_stalled(&self, is_stalled: bool) {
        self.connection.change(|doing| doing.is_stalled = is_stalled);
    }

    /// While this lives, the request that is here gives the connection no place of its own: it waits for its
    /// turn to be judged, and may not be anybody's.
    pub(crate) fn suspend(self: &Arc<Activity>) -> SuspendedRequest {
        self.end_request();
        SuspendedRequest(Arc::clone(self))
    }

    /// Times that the client is given.
    pub(crate) fn times(&self) -> ClientTimes {
        self.connection.times
    }

    /// The connection's place.
    pub(crate) fn place(&self) -> &ConnectionPlace {
        &self.connection.place
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.end_request();
    }
}

impl ConnectionActivity {
    /// Requests of one connection end on several threads: the place follows each change in its turn.
    fn change(&self, change: impl FnOnce(&mut Doing)) {
        let mut doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut doing);
        if doing.requests > 0 && !doing.is_stalled {
            self.place.set_busy();
        } else {
            self.place.set_waiting();
        }
    }
}

/// A request that waits for its turn; it goes on when this is dropped.
pub(crate) struct SuspendedRequest(Arc<Activity>);

impl Drop for SuspendedRequest {
    fn drop(&mut self) {
        self.0.begin_request();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::{DescriptorBudget, Places};
    use std::time::Instant;

    #[test]
    fn a_connection_keeps_its_place_as_long_as_one_of_its_requests_is_being_answered() {
        let places = Places::new(1, 1, DescriptorBudget::unlimited());
        let enter = || places.enter([127, 0, 0, 1].into(), Instant::now());
        let times = ClientTimes { head: Duration::from_secs(1), write_stall: Duration::from_secs(1) };
        let connection = Activity::new(enter().unwrap(), times);
        let (stream, other) = (connection.of_stream(), connection.of_stream());
        stream.begin_request();
        other.begin_request();
        other.begin_request();
        other.end_request();
        other.end_request();
        assert!(!connection.place().is_sent_out());
        assert!(enter().is_err(), "one request is still being answered");
        drop(stream);
        // A crowd of busy ones is not looked through again at once.
        let later = Instant::now() + Duration::from_secs(1);
        assert!(places.enter([127, 0, 0, 1].into(), later).is_ok(), "nothing is: it makes room");
        assert!(connection.place().is_sent_out());
    }
}
