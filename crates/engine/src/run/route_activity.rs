//! RouteActivity is what a route did in the last quarter of an hour: messages sent and refused, what waited,
//! confirmation times, last errors. It is kept in memory, in a bounded number, and filled from the topic of
//! outcomes, whichever process sent.

use records::Timestamp;
use std::collections::{BTreeMap, VecDeque};

/// The span of one point.
const POINT_US: i64 = 10_000_000;
/// Points kept: 15 minutes of them, and the one that is being filled.
const POINTS_MAX: usize = 91;
/// Confirmation times kept.
const CONFIRMATIONS_MAX: usize = 1_024;
/// Errors kept, each with its own code and text.
const ERRORS_MAX: usize = 16;
/// Characters of the text of one.
const ERROR_CHARS_MAX: usize = 300;

/// See the module.
#[derive(Debug, Default)]
pub struct RouteActivity {
    /// By the number of their span.
    points: BTreeMap<i64, PointCounts>,
    /// When a message was confirmed, and how long after it was accepted, in milliseconds.
    confirmations: VecDeque<(Timestamp, u32)>,
    /// The latest is the last.
    errors: VecDeque<RouteError>,
}

#[derive(Debug, Default, Clone, Copy)]
struct PointCounts {
    sent: u64,
    refused: u64,
    waiting: Option<u64>,
}

/// One span of a route's history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoutePoint {
    /// When it began.
    pub at: Timestamp,
    /// Messages (SMS: parts) a second that the carrier took.
    pub sent_per_s: f64,
    /// Messages that it refused.
    pub refused: u64,
    /// Messages that were given to the route and not sent, at the end of the span; nothing: not measured.
    pub waiting: Option<u64>,
}

/// What went wrong with a route, each code and text once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteError {
    /// The last time.
    pub at: Timestamp,
    /// Stable, such as `smpp:0000000B`; `down` where the route could not be used.
    pub code: String,
    /// In the carrier's words, or in ours.
    pub text: String,
    /// How often, since the first time that is still known.
    pub count: u64,
}

/// How long it took until messages were confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmationTimes {
    /// Half of them took no longer, milliseconds.
    pub p50_ms: u32,
    /// 95 of 100 took no longer.
    pub p95_ms: u32,
    /// How many there were.
    pub count: usize,
}

impl RouteActivity {
    /// The carrier took a message.
    pub fn note_sent(&mut self, at: Timestamp) {
        self.at(at, |point| point.sent += 1);
    }

    /// The carrier refused one.
    pub fn note_refused(&mut self, at: Timestamp, code: &str, text: &str) {
        self.at(at, |point| point.refused += 1);
        self.note_error(at, code, text);
    }

    /// The network confirmed one, so long after the carrier took it.
    pub fn note_confirmed(&mut self, at: Timestamp, after_ms: u32) {
        if self.confirmations.len() == CONFIRMATIONS_MAX {
            self.confirmations.pop_front();
        }
        self.confirmations.push_back((at, after_ms));
    }

    /// Something went wrong.
    pub fn note_error(&mut self, at: Timestamp, code: &str, text: &str) {
        let text: String = text.chars().take(ERROR_CHARS_MAX).collect();
        let known = self.errors.iter().position(|error| error.code == code && error.text == text);
        let before = known.and_then(|place| self.errors.remove(place));
        let count = before.as_ref().map_or(0, |error| error.count) + 1;
        let at = before.map_or(at, |error| error.at.max(at));
        if self.errors.len() == ERRORS_MAX {
            self.errors.pop_front();
        }
        self.errors.push_back(RouteError { at, code: code.to_owned(), text, count });
    }

    /// So much waits now.
    pub fn measure(&mut self, now: Timestamp, waiting: u64) {
        self.at(now, |point| point.waiting = Some(waiting));
    }

    fn at(&mut self, at: Timestamp, change: impl FnOnce(&mut PointCounts)) {
        let span = at.0.div_euclid(POINT_US);
        if self.points.len() >= POINTS_MAX && !self.points.contains_key(&span) {
            // What is older than all that is kept is not kept either.
            if self.points.keys().next().is_some_and(|oldest| span < *oldest) {
                return;
            }
            self.points.pop_first();
        }
        change(self.points.entry(span).or_default());
    }

    /// The points of the last 15 minutes, oldest first; the last is still being filled.
    pub fn history(&self, now: Timestamp) -> Vec<RoutePoint> {
        let last = now.0.div_euclid(POINT_US);
        let recent = self.points.range(last - (POINTS_MAX as i64 - 1)..=last);
        let point = |(span, counts): (&i64, &PointCounts)| RoutePoint {
            at: Timestamp(span * POINT_US),
            sent_per_s: counts.sent as f64 / seconds_of(*span, now),
            refused: counts.refused,
            waiting: counts.waiting,
        };
        recent.map(point).collect()
    }

    /// Messages a second that the carrier took, over the span that is being filled and the one before;
    /// nothing while that one was not measured.
    pub fn rate(&self, now: Timestamp) -> Option<f64> {
        let span = now.0.div_euclid(POINT_US);
        let before = self.points.get(&(span - 1)).filter(|point| point.waiting.is_some())?;
        let sent = before.sent + self.points.get(&span).map_or(0, |point| point.sent);
        let filled = (now.0 - span * POINT_US) as f64 / 1e6;
        Some(sent as f64 / (POINT_US as f64 / 1e6 + filled))
    }

    /// Of the last 15 minutes; nothing where none was confirmed.
    pub fn confirmations(&self, now: Timestamp) -> Option<ConfirmationTimes> {
        let since = now.0 - POINT_US * (POINTS_MAX as i64 - 1);
        let recent = self.confirmations.iter().filter(|(at, _)| at.0 >= since);
        let mut times: Vec<u32> = recent.map(|(_, after_ms)| *after_ms).collect();
        times.sort_unstable();
        let of = |hundredths: usize| times.get((times.len() * hundredths).div_ceil(100).max(1) - 1).copied();
        Some(ConfirmationTimes { p50_ms: of(50)?, p95_ms: of(95)?, count: times.len() })
    }

    /// The last errors, the latest first.
    pub fn errors(&self) -> Vec<RouteError> {
        self.errors.iter().rev().cloned().collect()
    }
}

/// Seconds of a span that have passed, at least one.
fn seconds_of(span: i64, now: Timestamp) -> f64 {
    ((now.0 - span * POINT_US).clamp(1_000_000, POINT_US)) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(seconds: i64) -> Timestamp {
        Timestamp(1_800_000_000_000_000).plus_s(seconds)
    }

    #[test]
    fn a_history_has_a_point_each_ten_seconds_and_no_more_than_a_quarter_of_an_hour() {
        let mut activity = RouteActivity::default();
        for second in 0..2_000 {
            activity.note_sent(at_s(second));
            activity.note_sent(at_s(second));
            activity.measure(at_s(second), second as u64);
        }
        activity.note_refused(at_s(1_999), "smpp:0000000B", "no such number");
        let history = activity.history(at_s(1_999));
        assert_eq!(history.len(), POINTS_MAX);
        assert_eq!(history[0].at, at_s(1_090));
        let whole = RoutePoint { at: at_s(1_980), sent_per_s: 2.0, refused: 0, waiting: Some(1_989) };
        assert_eq!(history[89], whole);
        assert_eq!((history[90].refused, history[90].waiting), (1, Some(1_999)));
        assert!(activity.history(at_s(90_000)).is_empty());
        // What comes late and is older than all of them is passed over.
        activity.note_sent(at_s(0));
        assert_eq!(activity.history(at_s(1_999)).len(), POINTS_MAX);
    }

    #[test]
    fn a_rate_is_known_once_a_whole_span_was_measured() {
        let mut activity = RouteActivity::default();
        activity.measure(at_s(5), 0);
        assert_eq!(activity.rate(at_s(5)), None);
        (0..30).for_each(|_| activity.note_sent(at_s(6)));
        activity.measure(at_s(12), 0);
        assert_eq!(activity.rate(at_s(15)), Some(2.0));
        assert_eq!(activity.rate(at_s(25)), Some(0.0));
        assert_eq!(activity.rate(at_s(95)), None, "nothing was measured since");
    }

    #[test]
    fn confirmation_times_are_those_of_the_last_while_and_unknown_without_any() {
        let mut activity = RouteActivity::default();
        assert_eq!(activity.confirmations(at_s(0)), None);
        (1..=100).for_each(|n| activity.note_confirmed(at_s(n), n as u32 * 10));
        let expected = ConfirmationTimes { p50_ms: 500, p95_ms: 950, count: 100 };
        assert_eq!(activity.confirmations(at_s(100)), Some(expected));
        let expected = ConfirmationTimes { p50_ms: 1_000, p95_ms: 1_000, count: 1 };
        assert_eq!(activity.confirmations(at_s(1_000)), Some(expected));
        assert_eq!(activity.confirmations(at_s(1_001)), None);
        (0..2_000).for_each(|_| activity.note_confirmed(at_s(2_000), 7));
        assert_eq!(activity.confirmations(at_s(2_000)).unwrap().count, CONFIRMATIONS_MAX);
    }

    #[test]
    fn an_error_is_kept_once_with_its_last_time_and_the_oldest_makes_room() {
        let mut activity = RouteActivity::default();
        activity.note_error(at_s(1), "down", "the password is wrong");
        activity.note_refused(at_s(2), "smpp:0000000B", "no such number");
        activity.note_error(at_s(3), "down", "the password is wrong");
        let errors = activity.errors();
        assert_eq!(errors.len(), 2);
        assert_eq!((errors[0].code.as_str(), errors[0].count, errors[0].at), ("down", 2, at_s(3)));
        for n in 0..100 {
            activity.note_error(at_s(n), "smtp:550", &format!("{n}{}", "x".repeat(1_000)));
        }
        let errors = activity.errors();
        assert_eq!((errors.len(), errors[0].text.len()), (ERRORS_MAX, ERROR_CHARS_MAX));
        assert!(errors[0].text.starts_with("99"));
    }
}
