//! One process's share of one route.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{Grant, Need, ShareRequest};

/// So many asks are remembered: a grant that answers an older one comes too late to be of use.
const ASKS_MAX: usize = 64;

/// What a process holds of a route's rate, and until when.
#[derive(Debug, Clone)]
pub struct Holder {
    lasts: Duration,
    /// Number of each ask, and an instant before it was sent.
    asks: VecDeque<(u64, Instant)>,
    asked: u64,
    grant: Option<Grant>,
    until: Option<Instant>,
    left: bool,
}

impl Holder {
    /// Nothing is held yet. Grants last for `lasts`, in all processes of a house.
    pub fn new(lasts: Duration) -> Holder {
        Holder { lasts, asks: VecDeque::new(), asked: 0, grant: None, until: None, left: false }
    }

    /// What to ask now; `now` is taken before it is sent. `rate` is the whole route's, messages per second.
    pub fn ask(&mut self, rate: f64, need: Need, now: Instant) -> ShareRequest {
        self.asked += 1;
        if self.asks.len() >= ASKS_MAX {
            self.asks.pop_front();
        }
        self.asks.push_back((self.asked, now));
        let holds = self.grant.map_or(0, |grant| grant.number);
        ShareRequest { number: self.asked, rate, need, holds, leaves: self.left }
    }

    /// Gives everything up, for good: what was granted is not used from now on. To be said by the next ask.
    pub fn leave(&mut self) {
        self.left = true;
        self.until = None;
    }

    /// Takes a grant up. True if that changes what is held, or how long. The caller uses no more than
    /// [`rate`](Self::rate) says from now on, before it asks again: the next ask says that this grant is
    /// taken up.
    pub fn handle_grant(&mut self, grant: Grant) -> bool {
        if self.left || self.grant.is_some_and(|held| held.number >= grant.number) {
            return false;
        }
        let Some(&(_, asked)) = self.asks.iter().find(|(number, _)| *number == grant.answers) else {
            return false;
        };
        self.grant = Some(grant);
        self.until = Some(asked + self.lasts);
        true
    }

    /// What may be used now, messages per second. To be asked before every write.
    pub fn rate(&self, now: Instant) -> f64 {
        match (self.grant, self.until) {
            (Some(grant), Some(until)) if now < until => grant.rate,
            _ => 0.0,
        }
    }

    /// When what is held ends, if nothing comes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.until
    }

    /// The number of the grant that was taken up last; 0: none.
    pub fn holds(&self) -> u64 {
        self.grant.map_or(0, |grant| grant.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTS: Duration = Duration::from_secs(10);

    #[test]
    fn a_grant_ends_counted_from_before_its_ask_however_late_it_comes() {
        let t = Instant::now();
        let mut holder = Holder::new(LASTS);
        let ask = holder.ask(10.0, Need::Idle, t);
        assert_eq!(holder.rate(t), 0.0);
        assert!(holder.handle_grant(Grant { answers: ask.number, number: 7, rate: 5.0 }));
        assert_eq!((holder.rate(t + LASTS / 2), holder.rate(t + LASTS)), (5.0, 0.0));
        assert_eq!(holder.ask(10.0, Need::Idle, t).holds, 7);
    }

    #[test]
    fn old_grants_and_answers_to_what_was_not_asked_change_nothing() {
        let t = Instant::now();
        let mut holder = Holder::new(LASTS);
        let ask = holder.ask(10.0, Need::Idle, t);
        assert!(!holder.handle_grant(Grant { answers: 9, number: 1, rate: 5.0 }));
        assert!(holder.handle_grant(Grant { answers: ask.number, number: 7, rate: 5.0 }));
        assert!(!holder.handle_grant(Grant { answers: ask.number, number: 6, rate: 9.0 }));
        assert_eq!(holder.rate(t), 5.0);
        for _ in 0..ASKS_MAX {
            holder.ask(10.0, Need::Idle, t + LASTS);
        }
        assert!(!holder.handle_grant(Grant { answers: ask.number, number: 8, rate: 5.0 }), "long over");
    }

    #[test]
    fn who_leaves_holds_nothing_and_takes_nothing_more() {
        let t = Instant::now();
        let mut holder = Holder::new(LASTS);
        let ask = holder.ask(10.0, Need::Idle, t);
        holder.handle_grant(Grant { answers: ask.number, number: 1, rate: 5.0 });
        holder.leave();
        assert!(!holder.handle_grant(Grant { answers: ask.number, number: 2, rate: 5.0 }));
        assert_eq!(holder.rate(t), 0.0);
        let ask = holder.ask(10.0, Need::Idle, t);
        assert!(ask.leaves && ask.holds == 1);
    }
}
