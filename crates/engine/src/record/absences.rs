//! Absences find the deliveries that wait for somebody to come, by their address.

use crate::solve::address_hash;
use records::{AlertNo, ChannelNumber, EndpointNo};
use rustc_hash::FxHashMap;

/// Deliveries kept at most; the memory begins anew when it is full, and fills again with their next tries.
const DELIVERIES_MAX: usize = 100_000;

/// See the module.
#[derive(Default)]
pub struct Absences {
    by_address: FxHashMap<u64, Vec<(AlertNo, EndpointNo)>>,
    count: usize,
}

impl Absences {
    /// Nobody was there.
    pub fn note(&mut self, channel: ChannelNumber, address: &str, of: (AlertNo, EndpointNo)) {
        if self.count >= DELIVERIES_MAX {
            *self = Absences::default();
        }
        let waiting = self.by_address.entry(address_hash(channel, address)).or_default();
        if !waiting.contains(&of) {
            waiting.push(of);
            self.count += 1;
        }
    }

    /// Somebody is there: takes what waits for them.
    pub fn take(&mut self, channel: ChannelNumber, address: &str) -> Vec<(AlertNo, EndpointNo)> {
        let waiting = self.by_address.remove(&address_hash(channel, address)).unwrap_or_default();
        self.count -= waiting.len();
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_somebody_is_taken_once_and_memory_is_bounded() {
        let mut absences = Absences::default();
        let of = |alert, endpoint| (AlertNo(alert), EndpointNo(endpoint));
        absences.note(channels::LINE, "ann", of(1, 5));
        absences.note(channels::LINE, "ann", of(1, 5));
        absences.note(channels::LINE, "ann", of(2, 0));
        absences.note(channels::LINE, "bo", of(1, 6));
        assert_eq!(absences.take(channels::LINE, "ann"), [of(1, 5), of(2, 0)]);
        assert_eq!(absences.take(channels::LINE, "ann"), []);
        for endpoint in 0..2 * DELIVERIES_MAX as u32 {
            absences.note(channels::LINE, "eve", of(3, endpoint % 50_000));
            absences.note(channels::LINE, &endpoint.to_string(), of(3, endpoint));
        }
        assert!(absences.count <= DELIVERIES_MAX);
    }
}
