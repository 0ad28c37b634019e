//! Activity of a connection decides whether its place may be taken from it: while it has no whole request
//! here, or does not read what it is sent.

use net::ConnectionPlace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A connection that takes none of what it is sent for so long is closed.
pub(crate) const WRITE_STALL_MAX: Duration = Duration::from_secs(30);

/// What a connection does at the moment.
#[derive(Debug)]
pub(crate) struct Activity {
    place: ConnectionPlace,
    has_request: AtomicBool,
    is_stalled: AtomicBool,
}

impl Activity {
    /// Of a new connection: it has sent nothing yet.
    pub(crate) fn new(place: ConnectionPlace) -> Activity {
        Activity { place, has_request: AtomicBool::new(false), is_stalled: AtomicBool::new(false) }
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
