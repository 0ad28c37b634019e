//! Places of a connection: among those of its door, and among those that are not bound.

use super::unbound::UnboundPlace;
use net::ConnectionPlace;
use std::time::{Duration, Instant};

/// A client that takes nothing for so long does not read.
const NOT_READING_AFTER: Duration = Duration::from_secs(1);

/// A connection keeps its place in the door once it is bound, as long as its client reads.
pub(super) struct ConnectionPlaces {
    of_door: ConnectionPlace,
    unbound: Option<UnboundPlace>,
    /// Since when the client takes nothing; and whether it counts as not reading.
    stalled: Option<(Instant, bool)>,
}

impl ConnectionPlaces {
    pub(super) fn new(of_door: ConnectionPlace, unbound: UnboundPlace) -> ConnectionPlaces {
        ConnectionPlaces { of_door, unbound: Some(unbound), stalled: None }
    }

    /// The session is bound.
    pub(super) fn bind(&mut self) {
        self.unbound = None;
        self.of_door.set_busy();
    }

    /// Whether the client took all that was written before.
    pub(super) fn note_writable(&mut self, writable: bool, now: Instant) {
        if writable {
            let was_stalled = self.stalled.take();
            if was_stalled.is_some_and(|(_, is_noted)| is_noted) && self.unbound.is_none() {
                self.of_door.set_busy();
            }
            return;
        }
        let (since, is_noted) = self.stalled.get_or_insert((now, false));
        if !*is_noted && now.saturating_duration_since(*since) >= NOT_READING_AFTER {
            *is_noted = true;
            self.of_door.set_waiting();
        }
    }

    /// When to look whether the client reads.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.stalled.filter(|(_, is_noted)| !is_noted).map(|(since, _)| since + NOT_READING_AFTER)
    }

    /// Resolves when the connection has to make room.
    pub(super) async fn sent_out(&self) {
        match &self.unbound {
            None => self.of_door.sent_out().await,
            Some(unbound) => tokio::select! {
                () = unbound.sent_out() => {}
                () = self.of_door.sent_out() => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unbound::UnboundConnections;
    use super::*;
    use futures_util::FutureExt;
    use net::{DescriptorBudget, Places};
    use std::sync::Arc;

    #[test]
    fn a_bound_session_keeps_its_place_as_long_as_its_client_reads() {
        let (ip, now) = ([10, 0, 0, 1].into(), Instant::now());
        let door = Places::new(1, 1, DescriptorBudget::unlimited());
        let lobby = Arc::new(UnboundConnections::new(100));
        let mut places = ConnectionPlaces::new(door.enter(ip, now).unwrap(), lobby.enter(ip));
        places.bind();
        // A look that found nobody waiting holds for a moment.
        let mut at = now;
        let mut next_one = |places: &mut ConnectionPlaces, writable: bool, after: Duration| {
            at += after;
            places.note_writable(writable, at);
            door.enter(ip, at).is_ok()
        };
        let moment = NOT_READING_AFTER / 2;
        assert!(!next_one(&mut places, true, moment));
        assert!(!next_one(&mut places, false, moment), "it may only be slow");
        assert!(places.deadline().is_some());
        assert!(!next_one(&mut places, true, NOT_READING_AFTER));
        assert!(places.deadline().is_none());
        assert!(!next_one(&mut places, false, moment));
        assert!(next_one(&mut places, false, NOT_READING_AFTER));
        assert!(places.sent_out().now_or_never().is_some());
    }
}
