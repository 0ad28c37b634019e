//! Table of parts in flight on a session.

use std::collections::{HashMap, VecDeque};

use super::submit::Sending;
use records::AttemptRef;

/// Attempts that got no answer in time and may still get one: as many as the session machine remembers.
const LATE_MAX: usize = smpp::session::WINDOW_MAX;

/// Parts in flight by token. A token is a place and how often that was used, so that it never names two
/// parts.
#[derive(Default)]
pub(super) struct SubmitsInFlight {
    places: Vec<FlightSlot>,
    free: Vec<u32>,
    late: HashMap<u64, AttemptRef>,
    late_order: VecDeque<u64>,
}

#[derive(Default)]
struct FlightSlot {
    uses: u32,
    sending: Option<Sending>,
}

impl SubmitsInFlight {
    /// The token for the next part.
    pub(super) fn next_token(&self) -> u64 {
        match self.free.last() {
            Some(&place) => token(place, self.places[place as usize].uses),
            None => token(self.places.len() as u32, 0),
        }
    }

    /// Nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }

    /// The part with [`next_token`](SubmitsInFlight::next_token) was submitted.
    pub(super) fn insert(&mut self, sending: Sending) {
        match self.free.pop() {
            Some(place) => self.places[place as usize].sending = Some(sending),
            None => self.places.push(FlightSlot { uses: 0, sending: Some(sending) }),
        }
    }

    /// A part whose fate is known.
    pub(super) fn take(&mut self, token: u64) -> Option<Sending> {
        let place = self.places.get_mut(token as u32 as usize)?;
        if place.uses != (token >> 32) as u32 {
            return None;
        }
        let sending = place.sending.take()?;
        place.uses = place.uses.wrapping_add(1);
        self.free.push(token as u32);
        Some(sending)
    }

    /// Remembers an attempt for a late answer.
    pub(super) fn expect_late(&mut self, token: u64, of: AttemptRef) {
        if self.late_order.len() >= LATE_MAX
            && let Some(oldest) = self.late_order.pop_front()
        {
            self.late.remove(&oldest);
        }
        self.late_order.push_back(token);
        self.late.insert(token, of);
    }

    /// The attempt that a late answer is about.
    pub(super) fn take_late(&mut self, token: u64) -> Option<AttemptRef> {
        self.late.remove(&token)
    }
}

fn token(place: u32, uses: u32) -> u64 {
    u64::from(uses) << 32 | u64::from(place)
}
