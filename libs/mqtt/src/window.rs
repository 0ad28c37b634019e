//! Send window: messages of QoS 1 that were sent and are not acknowledged, by Packet Identifier (sections
//! 2.2.1 and 4.9).

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Messages under way, within the receiver's Receive Maximum.
#[derive(Debug)]
pub(crate) struct SendWindow {
    flights: HashMap<u16, PublishFlight>,
    /// Packet Identifiers of flights in the order in which they began; those that have ended are passed over.
    order: VecDeque<(u16, u64)>,
    /// SUBSCRIBE and UNSUBSCRIBE that are not answered: they have Packet Identifiers too.
    requests: HashMap<u16, Instant>,
    next_id: u16,
    begun: u64,
    /// Flights up to this one were handed to the connection.
    transmitted: u64,
    limit: u16,
}

#[derive(Debug, Clone, Copy)]
struct PublishFlight {
    token: u64,
    number: u64,
    due: Instant,
}

impl SendWindow {
    /// Room for so many messages.
    pub(crate) fn new(limit: u16) -> SendWindow {
        SendWindow {
            flights: HashMap::new(),
            order: VecDeque::new(),
            requests: HashMap::new(),
            next_id: 0,
            begun: 0,
            transmitted: 0,
            limit,
        }
    }

    pub(crate) fn set_limit(&mut self, limit: u16) {
        self.limit = limit;
    }

    /// Messages that may begin now. A few Packet Identifiers are left to requests.
    pub(crate) fn room(&self) -> usize {
        usize::from(self.limit).min(usize::from(u16::MAX) - REQUESTS_MAX).saturating_sub(self.flights.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.flights.len()
    }

    /// A message begins; nothing without room. It must be acknowledged by `due`.
    pub(crate) fn begin(&mut self, token: u64, due: Instant) -> Option<u16> {
        if self.room() == 0 {
            return None;
        }
        let id = self.unused_id();
        self.begun += 1;
        self.flights.insert(id, PublishFlight { token, number: self.begun, due });
        self.order.push_back((id, self.begun));
        Some(id)
    }

    /// A message that was begun last was not written after all.
    pub(crate) fn undo(&mut self, id: u16) {
        self.flights.remove(&id);
        self.order.pop_back();
    }

    /// A request begins; nothing while too many are not answered.
    pub(crate) fn begin_request(&mut self, due: Instant) -> Option<u16> {
        if self.requests.len() >= REQUESTS_MAX {
            return None;
        }
        let id = self.unused_id();
        self.requests.insert(id, due);
        Some(id)
    }

    /// A message was acknowledged: its token; nothing if none has this Packet Identifier.
    pub(crate) fn end(&mut self, id: u16) -> Option<u64> {
        let token = self.flights.remove(&id)?.token;
        while let Some((id, number)) = self.order.front()
            && self.flights.get(id).is_none_or(|flight| flight.number != *number)
        {
            self.order.pop_front();
        }
        Some(token)
    }

    /// A request was answered; false if none has this Packet Identifier.
    pub(crate) fn end_request(&mut self, id: u16) -> bool {
        self.requests.remove(&id).is_some()
    }

    /// All that began so far was handed to the connection.
    pub(crate) fn transmitted(&mut self) {
        self.transmitted = self.begun;
    }

    /// When the oldest message or request must be answered.
    pub(crate) fn due(&self) -> Option<Instant> {
        let oldest = self.order.front().and_then(|(id, _)| self.flights.get(id)).map(|flight| flight.due);
        oldest.into_iter().chain(self.requests.values().copied()).min()
    }

    /// Takes out all messages, in the order in which they began: token, and whether it was handed to the
    /// connection.
    pub(crate) fn drain(&mut self) -> Vec<(u64, bool)> {
        let mut flights: Vec<PublishFlight> = self.flights.drain().map(|(_, flight)| flight).collect();
        flights.sort_unstable_by_key(|flight| flight.number);
        self.order.clear();
        self.requests.clear();
        flights.iter().map(|flight| (flight.token, flight.number <= self.transmitted)).collect()
    }

    /// The next Packet Identifier that nothing has. There is one: flights and requests are bounded.
    fn unused_id(&mut self) -> u16 {
        loop {
            self.next_id = self.next_id.checked_add(1).unwrap_or(1);
            if !self.flights.contains_key(&self.next_id) && !self.requests.contains_key(&self.next_id) {
                return self.next_id;
            }
        }
    }
}

/// Requests that may be unanswered.
const REQUESTS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn packet_identifiers_are_never_0_and_never_used_twice_at_a_time() {
        let now = Instant::now();
        let mut window = SendWindow::new(u16::MAX);
        let most = window.room();
        assert_eq!(most, 65_519);
        let ids: std::collections::HashSet<u16> =
            (0..most as u64).map(|token| window.begin(token, now).unwrap()).collect();
        assert!(ids.len() == most && !ids.contains(&0));
        assert_eq!(window.begin(1, now), None);
        for _ in 0..REQUESTS_MAX {
            assert!(!ids.contains(&window.begin_request(now).unwrap()));
        }
        assert_eq!(window.begin_request(now), None);
        assert_eq!(window.end(7), Some(6));
        assert_eq!(window.end(7), None);
        assert_eq!(window.begin(9, now), Some(7));
    }

    #[test]
    fn the_oldest_of_what_is_left_is_due_first() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let mut window = SendWindow::new(10);
        let ids: Vec<u16> = (0..4).map(|token| window.begin(token, at(token)).unwrap()).collect();
        window.end(ids[1]);
        assert_eq!(window.due(), Some(at(0)));
        window.end(ids[0]);
        assert_eq!(window.due(), Some(at(2)));
        window.transmitted();
        let late = window.begin(9, at(9)).unwrap();
        assert_eq!(late, 5);
        assert_eq!(window.drain(), [(2, true), (3, true), (9, false)]);
        assert_eq!((window.due(), window.len()), (None, 0));
    }
}
