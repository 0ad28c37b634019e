//! Health of a route, published on the retained topic of routes.

use std::time::{Duration, Instant};

use records::{RouteHealth, Timestamp};

/// The rate is told again when it moved by this part of itself.
const RATE_STEP: f64 = 0.05;
/// Changes of the rate alone are told no more often than this.
const RATE_PAUSE: Duration = Duration::from_secs(1);

/// Sessions, rate and trouble of a route, and what of it was told.
#[derive(Debug)]
pub(super) struct Health {
    sessions: u32,
    /// No session is needed now, and one will be there when it is.
    resting: bool,
    rate: f64,
    note: String,
    since: Timestamp,
    /// When the last session went, or when the route began.
    down_since: Option<Instant>,
    told: Option<(RouteHealth, Instant)>,
}

/// A word of a route for people, which counts in one state of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteRemark<'a> {
    /// Why it is down.
    WhileDown(&'a str),
    /// Trouble with a part of what it does. An empty word takes it back.
    WhileUp(&'a str),
}

impl Health {
    /// `rests`: it connects when there is work, and counts as up until that fails.
    pub(super) fn new(rate: f64, rests: bool, now: Timestamp, instant: Instant) -> Health {
        let note = if rests { "" } else { "not connected yet" };
        Health {
            sessions: 0,
            resting: rests,
            rate,
            note: note.to_owned(),
            since: now,
            down_since: (!rests).then_some(instant),
            told: None,
        }
    }

    /// A session can send.
    pub(super) fn can_send(&self) -> bool {
        self.sessions > 0
    }

    pub(super) fn session_up(&mut self, now: Timestamp) {
        self.sessions += 1;
        if self.sessions == 1 {
            if !self.resting {
                self.since = now;
            }
            self.resting = false;
            self.down_since = None;
            self.note.clear();
        }
    }

    pub(super) fn session_down(&mut self, now: Timestamp, instant: Instant, why: &str) {
        self.sessions = self.sessions.saturating_sub(1);
        if self.sessions == 0 {
            self.down(now, instant, why);
        }
    }

    /// A session ended since there was nothing to send.
    pub(super) fn session_rests(&mut self) {
        self.sessions = self.sessions.saturating_sub(1);
        self.resting = self.sessions == 0;
    }

    /// Why it is not up, while it is not.
    pub(super) fn trouble(&mut self, now: Timestamp, instant: Instant, why: &str) {
        if self.resting {
            self.down(now, instant, why);
        } else {
            self.remark(RouteRemark::WhileDown(why));
        }
    }

    /// A word for people, in the state that it is for.
    pub(super) fn remark(&mut self, remark: RouteRemark<'_>) {
        match remark {
            RouteRemark::WhileDown(why) if self.sessions == 0 && !self.resting => {
                why.clone_into(&mut self.note)
            }
            RouteRemark::WhileUp(why) if self.sessions > 0 => why.clone_into(&mut self.note),
            RouteRemark::WhileDown(_) | RouteRemark::WhileUp(_) => {}
        }
    }

    fn down(&mut self, now: Timestamp, instant: Instant, why: &str) {
        self.resting = false;
        self.since = now;
        self.down_since = Some(instant);
        why.clone_into(&mut self.note);
    }

    pub(super) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Since when nothing can be sent, and should be.
    pub(super) fn down_since(&self) -> Option<Instant> {
        self.down_since
    }

    fn now(&self) -> RouteHealth {
        RouteHealth {
            up: self.sessions > 0 || self.resting,
            since: self.since,
            sessions: self.sessions,
            rate_now: self.rate,
            note: self.note.clone(),
        }
    }

    /// What was told is no longer known.
    pub(super) fn tell_again(&mut self) {
        self.told = None;
    }

    /// What to tell now, if it is news.
    pub(super) fn news(&mut self, instant: Instant) -> Option<RouteHealth> {
        if self.news_at(instant)? > instant {
            return None;
        }
        let health = self.now();
        self.told = Some((health.clone(), instant));
        Some(health)
    }

    /// From when on there is something to tell.
    pub(super) fn news_at(&self, instant: Instant) -> Option<Instant> {
        let Some((told, at)) = &self.told else { return Some(instant) };
        let rate_alone = told.up == (self.sessions > 0 || self.resting)
            && (told.since, told.sessions, told.note.as_str())
                == (self.since, self.sessions, self.note.as_str());
        if !rate_alone {
            return Some(instant);
        }
        let moved = (self.rate - told.rate_now).abs() > RATE_STEP * told.rate_now;
        moved.then(|| *at + RATE_PAUSE)
    }
}
