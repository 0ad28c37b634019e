//! A route's rate limit: exact in every window, even in between.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::due::Due;
use crate::window::Stamps;

/// Added to the window before a write leaves it: what the reading of a clock and another's counting may
/// differ by. What a network adds to it is the reader's to bear, but most of a busy machine's jitter fits in.
pub const WINDOW_MARGIN: Duration = Duration::from_millis(4);
/// The lowest rate, one message a day; a rate below it (zero excepted) counts as this.
pub const RATE_MIN: f64 = 1.0 / 86_400.0;
/// The highest rate in messages per second; a rate above it counts as this.
pub const RATE_MAX: f64 = 10_000_000.0;

/// The even schedule runs at this part of the rate: below what the window with its margin and a timer of 1 ms
/// lets through (99.5 %), so that the schedule and not the window decides when a message goes, and a stall's
/// clump dissolves within some laps instead of coming back every second for ever.
const EVEN_PART: f64 = 0.993;
/// Lateness up to here is caught up; more is given up.
const CATCH_UP: Duration = Duration::from_millis(100);
/// While catching up, never faster than this multiple of the rate …
const BURST_PART: f64 = 2.0;
/// … beyond what one late wake-up makes due.
const BURST_HORIZON: Duration = Duration::from_millis(25);
/// Larger shares that may be awaited at a time, each with its own end; of more the last but one is awaited
/// with the last.
const PENDING_MAX: usize = 8;

/// A rate limit that is never above `R` messages in any one-second window by the writer's stamps, and reaches
/// 99 % of it when there is work.
///
/// The caller's part: ask [`grant`](Self::grant) with an instant taken *before* the write, write, then report
/// with [`wrote`](Self::wrote) and an instant taken *after* it (several writes may be under way at the same
/// time). So what is past counts late and what is new is tested early: any two messages `R` apart were really
/// written at least a second apart. What was granted and not written goes back by [`unused`](Self::unused).
///
/// Exactness: for a whole `R` at most `R` messages in any second, the second's both ends included. For a rate
/// below one, one message in `1/R` seconds. For any other fractional rate at most `R` rounded up in a window
/// of (`R` rounded up)/`R` seconds, since a message cannot be cut. Rates above 10,000/s merge stamps within
/// 100 us under the latest of them, which lowers the rate by at most 0.01 %.
///
/// Between the window's limits messages are spread evenly; lateness up to 100 ms is caught up at no more than
/// twice the rate. Memory: at most `min(R, 10,000)` entries of 40 octets per second of window. Cost of a
/// call: constant on average, whatever the rate.
#[derive(Debug, Clone)]
pub struct Limiter {
    configured: f64,
    share: f64,
    /// `None`: unlimited, and nothing is remembered.
    limit: Option<Limit>,
    /// Larger shares, each larger than the one before, and when they may be used: their last owner's writes
    /// must have left the window.
    pending_shares: VecDeque<(Instant, f64)>,
    stamps: Stamps,
    /// Granted and not yet reported.
    under_way: u64,
    /// Nothing is granted before this instant.
    held_until: Instant,
}

/// What a rate means in messages and time.
#[derive(Debug, Clone)]
struct Limit {
    /// At most so many messages …
    messages: u64,
    /// … within this time, the margin included.
    span: Duration,
    even: Due,
    burst: Due,
}

impl Limiter {
    /// A limiter of `rate` messages per second (0 = unlimited; see [`RATE_MIN`], [`RATE_MAX`]; what is not a
    /// number counts as [`RATE_MIN`]) with credit from `now` on. After a start of the process call
    /// [`start`](Self::start).
    pub fn new(rate: f64, now: Instant) -> Self {
        Limiter {
            configured: rate,
            share: 1.0,
            limit: Limit::new(rate, 1.0, now),
            pending_shares: VecDeque::new(),
            stamps: Stamps::default(),
            under_way: 0,
            held_until: now,
        }
    }

    /// The rate in force, messages per second, the share applied; 0 = unlimited. A share of zero also reads
    /// 0: see [`share`](Self::share).
    pub fn rate(&self) -> f64 {
        self.configured * self.share
    }

    /// The whole route's rate, messages per second, of which [`share`](Self::share) is ours; 0 = unlimited.
    pub fn whole_rate(&self) -> f64 {
        self.configured
    }

    /// The part of the route's rate that is ours, 0 to 1.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// What [`share`](Self::share) will be when all that is awaited has come.
    pub fn coming_share(&self) -> f64 {
        self.pending_shares.back().map_or(self.share, |(_, share)| *share)
    }

    /// Granted and neither reported as written nor as unused.
    pub fn under_way(&self) -> u64 {
        self.under_way
    }

    /// No credit for one window (a second, `1/R` s for a rate below one): the process before us may have
    /// written until a moment ago.
    pub fn start(&mut self, now: Instant) {
        if let Some(limit) = &self.limit {
            self.held_until = self.held_until.max(now + limit.span);
        }
    }

    /// How many of `want` messages may be written now. They count as under way until reported by
    /// [`wrote`](Self::wrote) or [`unused`](Self::unused).
    pub fn grant(&mut self, now: Instant, want: usize) -> usize {
        self.take_pending_share(now);
        let Some(limit) = &mut self.limit else {
            return if self.share > 0.0 { want } else { 0 };
        };
        if self.share <= 0.0 || now < self.held_until {
            return 0;
        }
        self.stamps.expire(now, limit.span);
        let room = limit.messages.saturating_sub(self.stamps.messages() + self.under_way);
        let due = limit.even.count(now).min(limit.burst.count(now));
        let granted = room.min(due).min(want as u64);
        if granted > 0 {
            limit.even.advance(now, granted);
            limit.burst.advance(now, granted);
            self.under_way += granted;
        }
        granted as usize // at most `want`
    }

    /// Records `messages` as written, not after `stamp`: an instant taken after the write.
    pub fn wrote(&mut self, stamp: Instant, messages: usize) {
        if self.limit.is_none() {
            return;
        }
        self.under_way = self.under_way.saturating_sub(messages as u64);
        self.stamps.push(stamp, messages as u64);
    }

    /// Gives back `messages` that were granted and surely not written (no octet of them left).
    pub fn unused(&mut self, messages: usize) {
        let Some(limit) = &mut self.limit else { return };
        let back = self.under_way.min(messages as u64);
        self.under_way -= back;
        limit.even.retreat(back);
        limit.burst.retreat(back);
    }

    /// When the next grant is possible: `now` if it is already. `None` if only a report of what is under way,
    /// or a share above zero, can make one possible. The answer may change with any other call.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let pending = self.pending_shares.front().map(|(at, _)| *at);
        if self.share <= 0.0 {
            return pending.map(|at| at.max(now));
        }
        let Some(limit) = &self.limit else { return Some(now) };
        let needed = (self.stamps.messages() + self.under_way + 1).saturating_sub(limit.messages);
        let room_at = match needed {
            0 => Some(now),
            _ => self.stamps.stamp_of(needed).map(|stamp| stamp + limit.span),
        };
        let at = room_at.map(|room| room.max(self.held_until).max(limit.even.at()).max(limit.burst.at()));
        let at = match (at, pending) {
            (Some(at), Some(pending)) => Some(at.min(pending)),
            (at, pending) => at.or(pending),
        };
        at.map(|at| at.max(now))
    }

    /// Another rate from `now` on. A lower one holds at once, over what was written before as well. From
    /// unlimited to limited nothing is granted for one window, since nothing was remembered.
    pub fn set_rate(&mut self, rate: f64, now: Instant) {
        if rate == self.configured {
            return;
        }
        self.configured = rate;
        self.apply(now);
    }

    /// A rate that was learned, not agreed: as [`set_rate`](Self::set_rate), but from unlimited to limited it
    /// grants at once, since nobody was promised that seconds already begun would keep it.
    pub fn learn(&mut self, rate: f64, now: Instant) {
        let (unlimited, held_until) = (self.limit.is_none(), self.held_until);
        self.set_rate(rate, now);
        if unlimited {
            self.held_until = held_until;
        }
    }

    /// Another share (0 to 1) of the route's rate. A smaller one holds at once; a larger one after one window
    /// without the added credit, while what its last owner wrote leaves the window: the owner must have given
    /// it up before `now`. Several limiters stay below the route's rate together if each rate x share is a
    /// whole number: [`split`] makes such parts.
    pub fn set_share(&mut self, share: f64, now: Instant) {
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.take_pending_share(now);
        let mut cut = None;
        while let Some((at, _)) = self.pending_shares.pop_back_if(|(_, pending)| *pending > share) {
            cut = Some(at);
        }
        let awaited = self.coming_share();
        if share > awaited {
            // What was awaited already need not be awaited again.
            let wait = Limit::new(self.configured, share, now).map_or(Duration::ZERO, |limit| limit.span);
            if cut.is_none() && self.pending_shares.len() >= PENDING_MAX {
                self.pending_shares.pop_back();
            }
            self.pending_shares.push_back((cut.unwrap_or(now + wait), share));
        } else if share < self.share {
            self.share = share;
            self.apply(now);
        }
    }

    fn take_pending_share(&mut self, now: Instant) {
        while let Some((_, share)) = self.pending_shares.pop_front_if(|(at, _)| *at <= now) {
            self.share = share;
            self.apply(now);
        }
    }

    fn apply(&mut self, now: Instant) {
        if self.share <= 0.0 {
            return; // grants nothing; what is in the window stays
        }
        let fresh = Limit::new(self.configured, self.share, now);
        match (&mut self.limit, fresh) {
            (Some(limit), Some(fresh)) => limit.change(fresh, now),
            (none, Some(fresh)) => {
                self.held_until = now + fresh.span;
                *none = Some(fresh);
            }
            (limit, None) => {
                *limit = None;
                self.stamps = Stamps::default();
                self.under_way = 0;
            }
        }
    }
}

impl Limit {
    fn new(configured: f64, share: f64, now: Instant) -> Option<Limit> {
        if configured == 0.0 {
            return None;
        }
        let rate = configured * share;
        let rate = if rate.is_nan() { RATE_MIN } else { rate.clamp(RATE_MIN, RATE_MAX) };
        // A share of a rate comes back as 23.999999999999996: it is meant as 24.
        let rate = if (rate - rate.round()).abs() < 1e-9 * rate { rate.round() } else { rate };
        let messages = rate.ceil();
        Some(Limit {
            messages: messages as u64,
            span: Duration::from_secs_f64(messages / rate) + WINDOW_MARGIN,
            even: Due::new(now, 1.0 / (rate * EVEN_PART), CATCH_UP),
            burst: Due::new(now, 1.0 / (rate * BURST_PART), BURST_HORIZON),
        })
    }

    /// Takes over another rate, keeping what is due.
    fn change(&mut self, fresh: Limit, now: Instant) {
        self.messages = fresh.messages;
        self.span = fresh.span;
        self.even.set_interval(now, fresh.even.interval_s());
        self.burst.set_interval(now, fresh.burst.interval_s());
    }
}

/// Splits a rate into `parts` whole numbers of messages per second whose sum is the rate (rounded down), as
/// even as can be; with fewer messages than parts the last ones get none. Given as shares for
/// [`Limiter::set_share`]. An unlimited rate (0) is everyone's whole: each share is 1. A rate below one
/// cannot be split: the first part has it all.
pub fn split(rate: f64, parts: usize) -> Vec<f64> {
    if rate == 0.0 {
        return vec![1.0; parts];
    }
    let whole = rate.floor() as u64;
    if whole == 0 {
        return (0..parts).map(|part| if part == 0 { 1.0 } else { 0.0 }).collect();
    }
    let count = parts as u64;
    (0..count).map(|part| (whole / count + u64::from(part < whole % count)) as f64 / rate).collect()
}
