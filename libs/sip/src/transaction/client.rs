//! Client transaction of all requests but INVITE and ACK (RFC 3261 section 17.1.2, figure 6).

use super::{ClientStep, Repetition, TransactionTimers, earliest};
use std::time::Instant;

/// The states of figure 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ClientState {
    Trying,
    Proceeding,
    Completed,
    Terminated,
}

/// The machine: made when the request was handed to the transport.
#[derive(Debug)]
pub struct ClientTransaction {
    state: ClientState,
    timers: TransactionTimers,
    is_reliable: bool,
    /// Timer E.
    repetition: Option<Repetition>,
    /// Timer F or K.
    end: Option<Instant>,
}

impl ClientTransaction {
    /// Begins in Trying. `is_reliable`: by TCP or TLS.
    #[must_use]
    pub fn new(timers: TransactionTimers, is_reliable: bool, now: Instant) -> ClientTransaction {
        let repetition = (!is_reliable).then(|| Repetition::begin(now, timers.t1, timers.t2));
        let end = Some(now + timers.give_up());
        ClientTransaction { state: ClientState::Trying, timers, is_reliable, repetition, end }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> ClientState {
        self.state
    }

    /// A response with this status came.
    pub fn receive(&mut self, status: u16, now: Instant) -> ClientStep {
        let delivers = ClientStep { delivers: true, ..ClientStep::default() };
        match (self.state, status) {
            // 1xx in Trying, Proceeding: to the user; E goes on with T2.
            (ClientState::Trying | ClientState::Proceeding, 100..=199) => {
                self.state = ClientState::Proceeding;
                if let Some(repetition) = &mut self.repetition {
                    repetition.pause = self.timers.t2;
                }
                delivers
            }
            // 200 to 699 in Trying, Proceeding: to the user, Completed, timer K.
            (ClientState::Trying | ClientState::Proceeding, _) => {
                self.state = ClientState::Completed;
                (self.repetition, self.end) = (None, Some(now + self.timers.t4));
                if self.is_reliable {
                    (self.state, self.end) = (ClientState::Terminated, None);
                }
                delivers
            }
            _ => ClientStep::default(),
        }
    }

    /// Acts on what is due.
    pub fn handle_timeout(&mut self, now: Instant) -> ClientStep {
        // Timer F in Trying, Proceeding: the user is told. Timer K: Terminated.
        if self.end.is_some_and(|end| end <= now) {
            let timed_out = matches!(self.state, ClientState::Trying | ClientState::Proceeding);
            (self.state, self.repetition, self.end) = (ClientState::Terminated, None, None);
            return ClientStep { timed_out, ..ClientStep::default() };
        }
        // Timer E: the request again, after twice the time up to T2.
        let transmits = self.repetition.as_mut().is_some_and(|repetition| repetition.take_due(now));
        ClientStep { transmits, ..ClientStep::default() }
    }

    /// When [`ClientTransaction::handle_timeout`] is to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.repetition.map(|repetition| repetition.at), self.end)
    }
}
