//! What a route says of itself on the retained topic of routes.

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
    rate: f64,
    note: String,
    since: Timestamp,
    /// When the last session went, or when the route began.
    down_since: Option<Instant>,
    told: Option<(RouteHealth, Instant)>,
}

impl Health {
    pub(super) fn new(rate: f64, now: Timestamp, instant: Instant) -> Health {
        let note = "not connected yet".to_owned();
        Health { sessions: 0, rate, note, since: now, down_since: Some(instant), told: None }
    }

    pub(super) fn is_up(&self) -> bool {
        self.sessions > 0
    }

    pub(super) fn session_up(&mut self, now: Timestamp) {
        self.sessions += 1;
        if self.sessions == 1 {
            self.since = now;
            self.down_since = None;
            self.note.clear();
        }
    }

    pub(super) fn session_down(&mut self, now: Timestamp, instant: Instant, why: &str) {
        self.sessions = self.sessions.saturating_sub(1);
        if self.sessions == 0 {
            self.since = now;
            self.down_since = Some(instant);
            self.note = why.to_owned();
        }
    }

    /// Why it is not up, while it is not.
    pub(super) fn trouble(&mut self, why: &str) {
        if self.sessions == 0 {
            self.note = why.to_owned();
        }
    }

    pub(super) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    pub(super) fn down_for(&self, instant: Instant) -> Duration {
        self.down_since.map_or(Duration::ZERO, |since| instant.saturating_duration_since(since))
    }

    /// What to tell now, if it is news.
    pub(super) fn news(&mut self, instant: Instant) -> Option<RouteHealth> {
        let health = RouteHealth {
            up: self.is_up(),
            since: self.since,
            sessions: self.sessions,
            rate_now: self.rate,
            note: self.note.clone(),
        };
        if let Some((told, at)) = &self.told {
            let rate_alone = RouteHealth { rate_now: told.rate_now, ..health.clone() } == *told;
            let moved = (health.rate_now - told.rate_now).abs() > RATE_STEP * told.rate_now;
            if rate_alone && (!moved || instant.saturating_duration_since(*at) < RATE_PAUSE) {
                return None;
            }
        }
        self.told = Some((health.clone(), instant));
        Some(health)
    }
}
