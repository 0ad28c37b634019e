//! The watchdog of RFC 3539 section 3.4 and appendix A, pure: events and a moment in, actions and a deadline
//! out.
//!
//! It outlives connections: whoever holds a connection holds its watchdog, and keeps it for the next one,
//! since a connection that failed must prove itself by three answers before it is used again (REOPEN).

use super::random::Random;
use std::time::{Duration, Instant};

/// `Twinit`, by default.
pub const TW_DEFAULT: Duration = Duration::from_secs(30);
/// `Twinit` must not be less (RFC 3539 section 3.4.1, item 1).
pub const TW_MIN: Duration = Duration::from_secs(6);
/// What is drawn and added to each interval, either way.
pub const JITTER: Duration = Duration::from_secs(2);
/// Answers that a connection must give before it is used again.
const PROBES: i8 = 3;

/// Where a peer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogState {
    /// Never connected, or disconnected in order.
    Initial,
    /// Connected and alive.
    Okay {
        /// A DWR of ours waits for its answer.
        is_pending: bool,
    },
    /// Connected and silent for two intervals: what was sent is to be sent elsewhere.
    Suspect {
        /// A DWR of ours waits for its answer.
        is_pending: bool,
    },
    /// The connection failed.
    Down,
    /// Connected again, and being probed.
    Reopen {
        /// A DWR of ours waits for its answer.
        is_pending: bool,
        /// Probes answered; -1 after one was missed.
        answers: i8,
    },
}

/// What the holder is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a DWR.
    SendWatchdog,
    /// Send elsewhere what has no answer yet, with the T bit.
    Failover,
    /// Use the connection again.
    Failback,
    /// Close the connection.
    CloseConnection,
    /// Try to connect.
    AttemptOpen,
    /// Throw away what was received.
    ThrowAway,
}

/// One peer's watchdog.
#[derive(Clone, Debug)]
pub struct Watchdog {
    status: WatchdogState,
    tw: Duration,
    tc: Duration,
    due: Option<Instant>,
    random: Random,
}

impl Watchdog {
    /// A peer that was never connected. `tw` is `Twinit`, at least [`TW_MIN`]; `tc` the time between attempts
    /// to connect (RFC 6733 section 2.1), at least as long as the jitter.
    #[must_use]
    pub fn new(tw: Duration, tc: Duration, random: Random) -> Self {
        Watchdog { status: WatchdogState::Initial, tw: tw.max(TW_MIN), tc: tc.max(JITTER), due: None, random }
    }

    /// Where the peer stands.
    #[must_use]
    pub fn status(&self) -> WatchdogState {
        self.status
    }

    /// Whether requests may be sent on the connection.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self.status, WatchdogState::Okay { .. })
    }

    /// When [`Watchdog::timer_expired`] wants to be called.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// No timer runs until the next connection, or [`Watchdog::attempted`].
    pub fn rest(&mut self) {
        self.due = None;
    }

    /// An attempt to connect was made: the next one is due after `Tc`.
    pub fn attempted(&mut self, now: Instant) {
        if matches!(self.status, WatchdogState::Initial | WatchdogState::Down) {
            self.set(now);
        }
    }

    /// The peer disconnected in order, or we did: its next connection needs no proof (section 3.4.1, item 5:
    /// "initially brought up").
    pub fn disconnected_in_order(&mut self) {
        self.status = WatchdogState::Initial;
        self.due = None;
    }

    /// The connection is up: capabilities are exchanged.
    pub fn connection_up(&mut self, now: Instant) -> &'static [Action] {
        match self.status {
            // INITIAL | Connection up | SetWatchdog() | OKAY
            WatchdogState::Initial => {
                self.status = WatchdogState::Okay { is_pending: false };
                self.set(now);
                &[]
            }
            // DOWN | Connection up | NumDWA = 0, SendWatchdog(), SetWatchdog(), Pending = TRUE | REOPEN
            WatchdogState::Down => {
                self.status = WatchdogState::Reopen { is_pending: true, answers: 0 };
                self.set(now);
                &[Action::SendWatchdog]
            }
            WatchdogState::Okay { .. } | WatchdogState::Suspect { .. } | WatchdogState::Reopen { .. } => &[],
        }
    }

    /// The connection went away.
    pub fn connection_down(&mut self, now: Instant) -> &'static [Action] {
        let actions: &[Action] = match self.status {
            // OKAY | Connection down | CloseConnection(), Failover(), SetWatchdog() | DOWN
            WatchdogState::Okay { .. } => &[Action::CloseConnection, Action::Failover],
            // SUSPECT | Connection down | CloseConnection(), SetWatchdog() | DOWN
            // REOPEN | Connection down | CloseConnection(), SetWatchdog() | DOWN
            WatchdogState::Suspect { .. } | WatchdogState::Reopen { .. } => &[Action::CloseConnection],
            WatchdogState::Initial | WatchdogState::Down => return &[],
        };
        self.status = WatchdogState::Down;
        self.set(now);
        actions
    }

    /// Something other than a DWA was received: in OKAY and SUSPECT any message is life.
    #[inline]
    pub fn heard(&mut self, now: Instant) -> &'static [Action] {
        match self.status {
            // OKAY | Receive non-DWA | SetWatchdog() | OKAY
            WatchdogState::Okay { .. } => {
                self.set(now);
                &[]
            }
            // SUSPECT | Receive non-DWA | Failback(), SetWatchdog() | OKAY
            WatchdogState::Suspect { is_pending } => {
                self.status = WatchdogState::Okay { is_pending };
                self.set(now);
                &[Action::Failback]
            }
            // REOPEN | Receive non-DWA | Throwaway() | REOPEN
            // INITIAL | Receive non-DWA | Throwaway() | INITIAL
            // DOWN | Receive non-DWA | Throwaway() | DOWN
            WatchdogState::Reopen { .. } | WatchdogState::Initial | WatchdogState::Down => {
                &[Action::ThrowAway]
            }
        }
    }

    /// A DWA was received.
    pub fn heard_dwa(&mut self, now: Instant) -> &'static [Action] {
        match self.status {
            // OKAY | Receive DWA | Pending = FALSE, SetWatchdog() | OKAY
            WatchdogState::Okay { .. } => {
                self.status = WatchdogState::Okay { is_pending: false };
                self.set(now);
                &[]
            }
            // SUSPECT | Receive DWA | Pending = FALSE, Failback(), SetWatchdog() | OKAY
            WatchdogState::Suspect { .. } => {
                self.status = WatchdogState::Okay { is_pending: false };
                self.set(now);
                &[Action::Failback]
            }
            // REOPEN | Receive DWA & NumDWA == 2 | Pending = FALSE, NumDWA++, Failback() | OKAY
            WatchdogState::Reopen { answers, .. } if answers + 1 >= PROBES => {
                self.status = WatchdogState::Okay { is_pending: false };
                &[Action::Failback]
            }
            // REOPEN | Receive DWA & NumDWA < 2 | Pending = FALSE, NumDWA++ | REOPEN
            WatchdogState::Reopen { answers, .. } => {
                self.status = WatchdogState::Reopen { is_pending: false, answers: answers + 1 };
                &[]
            }
            // INITIAL | Receive DWA | Pending = FALSE, Throwaway() | INITIAL
            // DOWN | Receive DWA | Pending = FALSE, Throwaway() | DOWN
            WatchdogState::Initial | WatchdogState::Down => &[Action::ThrowAway],
        }
    }

    /// The timer `Tw` expired: to be called when [`Watchdog::due`] is past.
    pub fn timer_expired(&mut self, now: Instant) -> &'static [Action] {
        let (next, actions): (WatchdogState, &[Action]) = match self.status {
            // OKAY | Timer expires & !Pending | SendWatchdog(), SetWatchdog(), Pending = TRUE | OKAY
            WatchdogState::Okay { is_pending: false } => {
                (WatchdogState::Okay { is_pending: true }, &[Action::SendWatchdog])
            }
            // OKAY | Timer expires & Pending | Failover(), SetWatchdog() | SUSPECT
            WatchdogState::Okay { is_pending: true } => {
                (WatchdogState::Suspect { is_pending: true }, &[Action::Failover])
            }
            // SUSPECT | Timer expires | CloseConnection(), SetWatchdog() | DOWN
            WatchdogState::Suspect { .. } => (WatchdogState::Down, &[Action::CloseConnection]),
            // INITIAL | Timer expires | AttemptOpen(), SetWatchdog() | INITIAL
            WatchdogState::Initial => (WatchdogState::Initial, &[Action::AttemptOpen]),
            // DOWN | Timer expires | AttemptOpen(), SetWatchdog() | DOWN
            WatchdogState::Down => (WatchdogState::Down, &[Action::AttemptOpen]),
            // REOPEN | Timer expires & !Pending | SendWatchdog(), SetWatchdog(), Pending = TRUE | REOPEN
            WatchdogState::Reopen { is_pending: false, answers } => {
                (WatchdogState::Reopen { is_pending: true, answers }, &[Action::SendWatchdog])
            }
            // REOPEN | Timer expires & Pending & NumDWA < 0 | CloseConnection(), SetWatchdog() | DOWN
            WatchdogState::Reopen { is_pending: true, answers } if answers < 0 => {
                (WatchdogState::Down, &[Action::CloseConnection])
            }
            // REOPEN | Timer expires & Pending & NumDWA >= 0 | NumDWA = -1, SetWatchdog() | REOPEN
            WatchdogState::Reopen { is_pending: true, .. } => {
                (WatchdogState::Reopen { is_pending: true, answers: -1 }, &[])
            }
        };
        self.status = next;
        self.set(now);
        actions
    }

    /// SetWatchdog(): the interval with its jitter from now on.
    fn set(&mut self, now: Instant) {
        let middle = match self.status {
            WatchdogState::Initial | WatchdogState::Down => self.tc,
            WatchdogState::Okay { .. } | WatchdogState::Suspect { .. } | WatchdogState::Reopen { .. } => {
                self.tw
            }
        };
        self.due = Some(now + self.random.around(middle, JITTER));
    }
}
