//! Deadlines of a connection.

use super::{Core, Leaving, Stage};
use crate::peer::event::End;
use std::time::Instant;

impl Core {
    /// The stage's own deadline.
    fn stage_deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::AwaitCer { deadline }
            | Stage::Asked { deadline, .. }
            | Stage::AwaitCea { deadline, .. }
            | Stage::Draining { deadline, .. }
            | Stage::AwaitDpa { deadline, .. }
            | Stage::AwaitClose { deadline, .. } => Some(deadline),
            Stage::Open | Stage::Ended => None,
        }
    }

    /// The watchdog watches what is open.
    fn watchdog_due(&self) -> Option<Instant> {
        self.watchdog.due().filter(|_| matches!(self.stage, Stage::Open | Stage::Draining { .. }))
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
            Stage::AwaitCer { .. } | Stage::Asked { .. } | Stage::AwaitCea { .. } => {
                // Wait-I-CEA | Timeout | Error | Closed
                self.end(End::NoCapabilities);
            }
            Stage::Draining { leaving, .. } => self.leave(leaving),
            // Closing | Timeout | Error | Closed
            Stage::AwaitDpa { .. } | Stage::AwaitClose { .. } => self.end(End::DisconnectTimedOut),
            Stage::Open | Stage::Ended => {}
        }
    }

    /// What is outstanding is done: says so.
    pub(super) fn finish_draining(&mut self) {
        if let Stage::Draining { leaving, .. } = self.stage
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
                self.stage = Stage::AwaitClose { cause, deadline };
            }
        }
    }
}
