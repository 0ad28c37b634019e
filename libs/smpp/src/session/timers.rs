//! The session's deadlines (3.4 §7.2). Pure arithmetic: who acts on them is the machine.

use super::config::Config;
use std::time::{Duration, Instant};

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionTimer {
    /// Not bound in time.
    SessionInit,
    /// Our bind was not answered in time.
    Bind,
    /// The peer was silent: ask whether it is there.
    Enquire,
    /// It did not answer that.
    LinkDead,
    /// No message for too long: unbind.
    Inactive,
    /// What is outstanding at an unbind took too long.
    Drain,
    /// Our unbind was not answered in time.
    Unbind,
    /// The peer does not read.
    WriteStall,
}

pub(super) struct Timers {
    enquire_link: Option<Duration>,
    inactivity: Option<Duration>,
    response: Duration,
    init: Duration,
    bound: bool,
    session_init: Option<Instant>,
    bind: Option<Instant>,
    heard: Instant,
    active: Instant,
    enquired: Option<Instant>,
    drain: Option<Instant>,
    unbind: Option<Instant>,
    write_stall: Option<Instant>,
}

impl Timers {
    pub(super) fn new(config: &Config, now: Instant) -> Self {
        Timers {
            enquire_link: config.enquire_link,
            inactivity: config.inactivity,
            response: config.response,
            init: config.session_init,
            bound: false,
            session_init: Some(now + config.session_init),
            bind: None,
            heard: now,
            active: now,
            enquired: None,
            drain: None,
            unbind: None,
            write_stall: None,
        }
    }

    /// A PDU came: any is life.
    #[inline]
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.enquired = None;
    }

    /// A message went or came.
    #[inline]
    pub(super) fn active(&mut self, now: Instant) {
        self.active = now;
    }

    pub(super) fn bind_sent(&mut self, now: Instant) {
        self.session_init = None;
        self.bind = Some(now + self.response);
    }

    /// Our bind was refused: the next one is due.
    pub(super) fn bind_refused(&mut self, now: Instant) {
        self.bind = None;
        self.session_init = Some(now + self.init);
    }

    pub(super) fn bound(&mut self, now: Instant) {
        self.bound = true;
        self.session_init = None;
        self.bind = None;
        self.heard = now;
        self.active = now;
    }

    pub(super) fn enquire_sent(&mut self, now: Instant) {
        self.enquired = Some(now);
    }

    pub(super) fn drain_from(&mut self, now: Instant, limit: Duration) {
        self.drain.get_or_insert(now + limit);
    }

    pub(super) fn unbind_sent(&mut self, now: Instant) {
        self.drain = None;
        self.unbind = Some(now + self.response);
    }

    #[inline]
    pub(super) fn output_waits(&mut self, now: Instant, limit: Duration) {
        self.write_stall.get_or_insert_with(|| now + limit);
    }

    pub(super) fn output_taken(&mut self) {
        self.write_stall = None;
    }

    pub(super) fn stop(&mut self) {
        self.bound = false;
        (self.session_init, self.bind, self.enquired) = (None, None, None);
        (self.drain, self.unbind, self.write_stall) = (None, None, None);
    }

    /// The next deadline, and what is due then. The gravest comes first where several are due.
    pub(super) fn next(&self) -> Option<(Instant, SessionTimer)> {
        let enquire = match (self.bound, self.enquired) {
            (true, Some(sent)) => Some((sent + self.response, SessionTimer::LinkDead)),
            (true, None) => self.enquire_link.map(|silence| (self.heard + silence, SessionTimer::Enquire)),
            (false, _) => None,
        };
        let draining = self.drain.is_some() || self.unbind.is_some();
        let inactive = self.inactivity.filter(|_| self.bound && !draining);
        let due = [
            self.write_stall.map(|at| (at, SessionTimer::WriteStall)),
            self.session_init.map(|at| (at, SessionTimer::SessionInit)),
            self.bind.map(|at| (at, SessionTimer::Bind)),
            self.unbind.map(|at| (at, SessionTimer::Unbind)),
            self.drain.map(|at| (at, SessionTimer::Drain)),
            enquire,
            inactive.map(|idle| (self.active + idle, SessionTimer::Inactive)),
        ];
        due.into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}
