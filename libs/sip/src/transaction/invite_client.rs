//! Client transaction of INVITE (RFC 3261 section 17.1.1, figure 5; RFC 6026 section 8.4).

use super::{ClientStep, Repetition, TransactionTimers, earliest};
use std::time::{Duration, Instant};

/// The states of RFC 6026 figure 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InviteClientState {
    Calling,
    Proceeding,
    Accepted,
    Completed,
    Terminated,
}

/// The machine: made when INVITE was handed to the transport.
#[derive(Debug)]
pub struct InviteClientTransaction {
    state: InviteClientState,
    timers: TransactionTimers,
    is_reliable: bool,
    /// Timer A.
    repetition: Option<Repetition>,
    /// Timer B, D or M.
    end: Option<Instant>,
}

impl InviteClientTransaction {
    /// Begins in Calling. `is_reliable`: by TCP or TLS.
    #[must_use]
    pub fn new(timers: TransactionTimers, is_reliable: bool, now: Instant) -> InviteClientTransaction {
        let repetition = (!is_reliable).then(|| Repetition::begin(now, timers.t1, Duration::MAX / 4));
        let end = Some(now + timers.give_up());
        InviteClientTransaction { state: InviteClientState::Calling, timers, is_reliable, repetition, end }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> InviteClientState {
        self.state
    }

    /// A response with this status came.
    pub fn receive(&mut self, status: u16, now: Instant) -> ClientStep {
        let delivers = ClientStep { delivers: true, ..ClientStep::default() };
        match (self.state, status) {
            // 1xx in Calling, Proceeding: to the user; A and B end.
            (InviteClientState::Calling | InviteClientState::Proceeding, 100..=199) => {
                (self.state, self.repetition, self.end) = (InviteClientState::Proceeding, None, None);
                delivers
            }
            // 2xx in Calling, Proceeding: to the user, Accepted, timer M.
            (InviteClientState::Calling | InviteClientState::Proceeding, 200..=299) => {
                self.state = InviteClientState::Accepted;
                (self.repetition, self.end) = (None, Some(now + self.timers.give_up()));
                delivers
            }
            // 300 to 699 in Calling, Proceeding: ACK, to the user, Completed, timer D.
            (InviteClientState::Calling | InviteClientState::Proceeding, _) => {
                self.state = InviteClientState::Completed;
                (self.repetition, self.end) = (None, Some(now + self.timers.d));
                if self.is_reliable {
                    (self.state, self.end) = (InviteClientState::Terminated, None);
                }
                ClientStep { acknowledges: true, ..delivers }
            }
            // 2xx in Accepted: to the user, who acknowledges each fork.
            (InviteClientState::Accepted, 200..=299) => delivers,
            // 300 to 699 in Completed: ACK.
            (InviteClientState::Completed, 300..=699) => {
                ClientStep { acknowledges: true, ..ClientStep::default() }
            }
            _ => ClientStep::default(),
        }
    }

    /// Acts on what is due.
    pub fn handle_timeout(&mut self, now: Instant) -> ClientStep {
        // Timer B in Calling: the user is told. Timers D, M: Terminated.
        if self.end.is_some_and(|end| end <= now) {
            let timed_out = self.state == InviteClientState::Calling;
            (self.state, self.repetition, self.end) = (InviteClientState::Terminated, None, None);
            return ClientStep { timed_out, ..ClientStep::default() };
        }
        // Timer A in Calling: INVITE again, after twice the time.
        let transmits = self.repetition.as_mut().is_some_and(|repetition| repetition.take_due(now));
        ClientStep { transmits, ..ClientStep::default() }
    }

    /// When [`InviteClientTransaction::handle_timeout`] is to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.repetition.map(|repetition| repetition.at), self.end)
    }
}
