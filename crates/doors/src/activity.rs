//! Activity of a connection decides whether its place may be taken from it: while it has no whole request
//! here, or does not read what it is sent.

use net::ConnectionPlace;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Times that a client is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientTimes {
    /// For a whole head.
    pub head: Duration,
    /// A connection that takes none of what it is sent for so long is closed.
    pub write_stall: Duration,
}

/// What a connection does at the moment.
#[derive(Debug)]
pub(crate) struct Activity {
    place: ConnectionPlace,
    times: ClientTimes,
    has_request: AtomicBool,
    is_stalled: AtomicBool,
}

impl Activity {
    /// Of a new connection: it has sent nothing yet.
    pub(crate) fn new(place: ConnectionPlace, times: ClientTimes) -> Activity {
        Activity { place, times, has_request: AtomicBool::new(false), is_stalled: AtomicBool::new(false) }
    }

    /// A request is here, whole, and not answered yet.
    pub(crate) fn begin_request(&self) {
        self.has_request.store(true, Ordering::Relaxed);
        self.update();
    }

    /// It is answered.
    pub(crate) fn end_request(&self) {
        self.has_request.store(false, Ordering::Relaxed);
        self.update();
    }

    /// The connection does not take what it is sent, or takes it again.
    pub(crate) fn set_stalled(&self, is_stalled: bool) {
        if self.is_stalled.swap(is_stalled, Ordering::Relaxed) != is_stalled {
            self.update();
        }
    }

    /// While this lives, the request that is here gives the connection no place of its own: it waits for its
    /// turn to be judged, and may not be anybody's.
    pub(crate) fn suspend(self: &Arc<Activity>) -> SuspendedRequest {
        self.end_request();
        SuspendedRequest(Arc::clone(self))
    }

    /// Times that the client is given.
    pub(crate) fn times(&self) -> ClientTimes {
        self.times
    }

    /// The connection's place.
    pub(crate) fn place(&self) -> &ConnectionPlace {
        &self.place
    }

    fn update(&self) {
        if self.has_request.load(Ordering::Relaxed) && !self.is_stalled.load(Ordering::Relaxed) {
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
