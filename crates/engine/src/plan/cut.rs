//! Limits of a segment's size, and of what may be under way on a route at once.

use records::{Route, SEGMENT_OCTETS_MAX, SEGMENT_SECONDS_MAX};

/// Units of an unlimited route in one segment.
const UNLIMITED_SEGMENT_UNITS: u64 = 4_096;
/// Segments under way on a route and lane: one being sent, one ready behind it.
const SEGMENTS_AHEAD: u64 = 2;
/// Units under way on an unlimited route and lane.
const UNLIMITED_AHEAD_UNITS: u64 = 49_152;

/// Units of the route's rate that one segment may hold.
pub fn segment_units_max(route: &Route) -> u64 {
    if route.rate <= 0.0 {
        UNLIMITED_SEGMENT_UNITS
    } else {
        ((route.rate * SEGMENT_SECONDS_MAX) as u64).clamp(1, UNLIMITED_SEGMENT_UNITS)
    }
}

/// Units that may be under way on one lane of the route, so that pause, cancel and failover bite at once.
pub fn ahead_units_max(route: &Route) -> u64 {
    if route.rate <= 0.0 {
        return UNLIMITED_AHEAD_UNITS;
    }
    let seconds = (route.rate * SEGMENT_SECONDS_MAX) as u64;
    (seconds * SEGMENTS_AHEAD).clamp(SEGMENTS_AHEAD, UNLIMITED_AHEAD_UNITS)
}

/// Counts what goes into a segment and says when it is full.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    units_left: u64,
    octets_left: usize,
    entries: usize,
}

impl Cut {
    /// For a route with room for so many units.
    pub fn new(route: &Route, room: u64) -> Cut {
        Cut {
            units_left: segment_units_max(route).min(room.max(1)),
            octets_left: SEGMENT_OCTETS_MAX,
            entries: 0,
        }
    }

    /// Is there room for one more of this size? The first always fits: a message of more parts than two
    /// seconds allow still has to go.
    pub fn takes(&mut self, units: u64, octets: usize) -> bool {
        let fits = self.entries == 0 || (units <= self.units_left && octets <= self.octets_left);
        if fits {
            self.entries += 1;
            self.units_left = self.units_left.saturating_sub(units);
            self.octets_left = self.octets_left.saturating_sub(octets);
        }
        fits
    }

    /// Nothing more goes in.
    pub fn is_full(&self) -> bool {
        self.entries > 0 && (self.units_left == 0 || self.octets_left == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    #[test]
    fn a_segment_holds_two_seconds_of_its_routes_rate() {
        for (rate, units, ahead) in
            [(50.0, 100, 200), (0.1, 1, 2), (5.0, 10, 20), (0.0, 4_096, 49_152), (1e9, 4_096, 49_152)]
        {
            let route = route("r", channels::SMS, |r| r.rate = rate);
            assert_eq!((segment_units_max(&route), ahead_units_max(&route)), (units, ahead), "{rate}");
        }
    }

    #[test]
    fn a_message_of_many_parts_fits_alone() {
        let route = route("r", channels::SMS, |r| r.rate = 1.0);
        let mut cut = Cut::new(&route, 100);
        assert!(cut.takes(6, 100));
        assert!(cut.is_full());
        assert!(!cut.takes(1, 100));
    }

    #[test]
    fn octets_end_a_segment_too() {
        let route = route("r", channels::SMS, |_| {});
        let mut cut = Cut::new(&route, 1_000);
        assert!(cut.takes(1, SEGMENT_OCTETS_MAX - 10));
        assert!(!cut.takes(1, 11));
        assert!(cut.takes(1, 10));
        assert!(cut.is_full());
    }
}
