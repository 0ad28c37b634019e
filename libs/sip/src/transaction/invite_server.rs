//! Server transaction of INVITE (RFC 3261 section 17.2.1, figure 7; RFC 6026 section 8.5).

use super::{Repetition, ServerStep, TransactionTimers, earliest};
use std::time::Instant;

/// The states of RFC 6026 figure 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InviteServerState {
    Proceeding,
    Accepted,
    Completed,
    Confirmed,
    Terminated,
}

/// The machine: made when INVITE came. Its user sends 100 at once, so that the client repeats nothing.
#[derive(Debug)]
pub struct InviteServerTransaction {
    state: InviteServerState,
    timers: TransactionTimers,
    is_reliable: bool,
    /// Timer G.
    repetition: Option<Repetition>,
    /// Timer H, I or L.
    end: Option<Instant>,
}

impl InviteServerTransaction {
    /// Begins in Proceeding. `is_reliable`: by TCP or TLS.
    #[must_use]
    pub fn new(timers: TransactionTimers, is_reliable: bool) -> InviteServerTransaction {
        let state = InviteServerState::Proceeding;
        InviteServerTransaction { state, timers, is_reliable, repetition: None, end: None }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> InviteServerState {
        self.state
    }

    /// The user responds, and sends the response itself: whether it may.
    pub fn respond(&mut self, status: u16, now: Instant) -> bool {
        match (self.state, status) {
            (InviteServerState::Proceeding, 100..=199) => true,
            // 2xx in Proceeding: Accepted, timer L.
            (InviteServerState::Proceeding, 200..=299) => {
                (self.state, self.end) = (InviteServerState::Accepted, Some(now + self.timers.give_up()));
                true
            }
            // 300 to 699 in Proceeding: Completed, timers G and H.
            (InviteServerState::Proceeding, _) => {
                (self.state, self.end) = (InviteServerState::Completed, Some(now + self.timers.give_up()));
                let (t1, t2) = (self.timers.t1, self.timers.t2);
                self.repetition = (!self.is_reliable).then(|| Repetition::begin(now, t1, t2));
                true
            }
            // 2xx in Accepted: the user repeats it until ACK comes.
            (InviteServerState::Accepted, 200..=299) => true,
            _ => false,
        }
    }

    /// INVITE came again.
    pub fn receive_invite(&mut self) -> ServerStep {
        let transmits = matches!(self.state, InviteServerState::Proceeding | InviteServerState::Completed);
        ServerStep { transmits, ..ServerStep::default() }
    }

    /// ACK came.
    pub fn receive_ack(&mut self, now: Instant) -> ServerStep {
        match self.state {
            // ACK in Completed: Confirmed, timer I.
            InviteServerState::Completed => {
                (self.state, self.repetition) = (InviteServerState::Confirmed, None);
                self.end = Some(now + self.timers.t4);
                if self.is_reliable {
                    (self.state, self.end) = (InviteServerState::Terminated, None);
                }
                ServerStep::default()
            }
            // ACK in Accepted: to the user.
            InviteServerState::Accepted => ServerStep { delivers: true, ..ServerStep::default() },
            _ => ServerStep::default(),
        }
    }

    /// Acts on what is due.
    pub fn handle_timeout(&mut self, now: Instant) -> ServerStep {
        // Timer H in Completed: the user is told. Timers I, L: Terminated.
        if self.end.is_some_and(|end| end <= now) {
            let timed_out = self.state == InviteServerState::Completed;
            (self.state, self.repetition, self.end) = (InviteServerState::Terminated, None, None);
            return ServerStep { timed_out, ..ServerStep::default() };
        }
        // Timer G in Completed: the response again, after twice the time up to T2.
        let transmits = self.repetition.as_mut().is_some_and(|repetition| repetition.take_due(now));
        ServerStep { transmits, ..ServerStep::default() }
    }

    /// When [`InviteServerTransaction::handle_timeout`] is to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.repetition.map(|repetition| repetition.at), self.end)
    }
}
