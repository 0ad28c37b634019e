//! Server transaction of all requests but INVITE and ACK (RFC 3261 section 17.2.2, figure 8).

use super::{ServerStep, TransactionTimers};
use std::time::Instant;

/// The states of figure 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ServerState {
    Trying,
    Proceeding,
    Completed,
    Terminated,
}

/// The machine: made when the request came.
#[derive(Debug)]
pub struct ServerTransaction {
    state: ServerState,
    timers: TransactionTimers,
    is_reliable: bool,
    /// Timer J.
    end: Option<Instant>,
}

impl ServerTransaction {
    /// Begins in Trying. `is_reliable`: by TCP or TLS.
    #[must_use]
    pub fn new(timers: TransactionTimers, is_reliable: bool) -> ServerTransaction {
        ServerTransaction { state: ServerState::Trying, timers, is_reliable, end: None }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> ServerState {
        self.state
    }

    /// The user responds, and sends the response itself: whether it may.
    pub fn respond(&mut self, status: u16, now: Instant) -> bool {
        match (self.state, status) {
            (ServerState::Trying | ServerState::Proceeding, 100..=199) => {
                self.state = ServerState::Proceeding;
                true
            }
            // 200 to 699 in Trying, Proceeding: Completed, timer J.
            (ServerState::Trying | ServerState::Proceeding, _) => {
                (self.state, self.end) = (ServerState::Completed, Some(now + self.timers.give_up()));
                if self.is_reliable {
                    (self.state, self.end) = (ServerState::Terminated, None);
                }
                true
            }
            _ => false,
        }
    }

    /// The request came again: in Proceeding and Completed the last response goes out again.
    pub fn receive_again(&mut self) -> ServerStep {
        let transmits = matches!(self.state, ServerState::Proceeding | ServerState::Completed);
        ServerStep { transmits, ..ServerStep::default() }
    }

    /// Acts on what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.end.is_some_and(|end| end <= now) {
            (self.state, self.end) = (ServerState::Terminated, None);
        }
    }

    /// When [`ServerTransaction::handle_timeout`] is to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.end
    }
}
