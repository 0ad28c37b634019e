//! Deadlines of a connection.

use super::{ConnectionStage, Core, Leaving};
use crate::peer::event::End;
use std::time::Instant;

impl Core {
    /// The stage's own deadline.
    fn stage_deadline(&self) -> Option<Instant> {
        match self.stage {
            ConnectionStage::AwaitCer { deadline }
            | ConnectionStage::Asked { deadline, .. }
            | ConnectionStage::AwaitCea { deadline, .. }
            | ConnectionStage::Draining { deadline, .. }
            | ConnectionStage::AwaitDpa { deadline, .. }
            | ConnectionStage::AwaitClose { deadline, .. } => Some(deadline),
            ConnectionStage::Open | ConnectionStage::Ended => None,
        }
    }

    /// The watchdog watches what is open.
    fn watchdog_due(&self) -> Option<Instant> {
        self.watchdog
            .due()
            .filter(|_| matches!(self.stage, ConnectionStage::Open | ConnectionStage::Draining { .. }))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let all =
            [self.stage_deadline(), self.watchdog_due(), self.window.first_deadline(), self.write_stall];
        all.into_iter().flatten().min()
    }

    pub(super) fn run_timers(&mut self) {
        if self.write_stall.is_some_and(|at| at <= self.now) {
            self.end(End::NotReading);
        }
        if self.stage_deadline().is_some_and(|at| at <= self.now) {
            self.stage_is_late();
        }
        // Once: a caller that slept through two intervals must not find the peer dead without having asked
        // it.
        if self.watchdog_due().is_some_and(|at| at <= self.now) {
            let actions = self.watchdog.timer_expired(self.now);
            self.watch(actions);
        }
    }

    fn stage_is_late(&mut self) {
        match self.stage {
            ConnectionStage::AwaitCer { .. }
            | ConnectionStage::Asked { .. }
            | ConnectionStage::AwaitCea { .. } => {
                // Wait-I-CEA | Timeout | Error | Closed
                self.end(End::NoCapabilities);
            }
            ConnectionStage::Draining { leaving, .. } => self.leave(leaving),
            // Closing | Timeout | Error | Closed
            ConnectionStage::AwaitDpa { .. } | ConnectionStage::AwaitClose { .. } => {
                self.end(End::DisconnectTimedOut)
            }
            ConnectionStage::Open | ConnectionStage::Ended => {}
        }
    }

    /// What is outstanding is done: says so.
    pub(super) fn finish_draining(&mut self) {
        if let ConnectionStage::Draining { leaving, .. } = self.stage
            && self.owed == 0
            && self.window.used() == 0
        {
            self.leave(leaving);
        }
    }

    fn leave(&mut self, leaving: Leaving) {
        match leaving {
            Leaving::Us { cause } => self.send_dpr(cause),
            Leaving::Peer { dpr, cause } => {
                self.send_dpa(&dpr);
                let deadline = self.now + self.config.disconnect;
                self.stage = ConnectionStage::AwaitClose { cause, deadline };
            }
        }
    }
}
