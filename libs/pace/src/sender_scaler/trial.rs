//! Trial measures whether threads that were started have brought something.

use std::time::{Duration, Instant};

/// After this they must have.
const LASTS: Duration = Duration::from_millis(250);
/// Of what each thread sent before, each new one is to bring at least this.
const GAIN_PART: f64 = 0.1;
/// For so long no more threads are started than had brought something.
const REMEMBERED: Duration = Duration::from_secs(10);

/// Watches threads that were started, and remembers how many were too many.
#[derive(Debug, Clone, Default)]
pub(super) struct Trial {
    running: Option<RunningTrial>,
    /// No more than so many until then.
    barred: Option<(u32, Instant)>,
}

#[derive(Debug, Clone)]
struct RunningTrial {
    until: Instant,
    before: u32,
    sent_before: f64,
}

impl Trial {
    /// More threads than `before` were started, which together sent `sent_per_s`. One trial at a time: what
    /// is started while one is under way belongs to it.
    pub(super) fn start(&mut self, now: Instant, before: u32, sent_per_s: f64) {
        if self.running.is_none() {
            self.running = Some(RunningTrial { until: now + LASTS, before, sent_before: sent_per_s });
        }
    }

    /// Threads were parked: nothing to judge.
    pub(super) fn end(&mut self) {
        self.running = None;
    }

    /// The end of a period in which `threads` sent `sent_per_s`, less than asked for or not. Returns how many
    /// threads to go back to.
    pub(super) fn judge(&mut self, now: Instant, threads: u32, sent_per_s: f64, short: bool) -> Option<u32> {
        if self.barred.is_some_and(|(_, until)| until <= now) {
            self.barred = None;
        }
        let running = self.running.take_if(|running| running.until <= now)?;
        let added = f64::from(threads.checked_sub(running.before).filter(|added| *added > 0)?);
        let each_before = running.sent_before / f64::from(running.before.max(1));
        if !short || sent_per_s - running.sent_before >= added * each_before * GAIN_PART {
            return None;
        }
        self.barred = Some((running.before, now + REMEMBERED));
        Some(running.before)
    }

    /// No more threads than this now, by what is remembered.
    pub(super) fn threads_max(&self, now: Instant) -> u32 {
        self.barred.filter(|(_, until)| *until > now).map_or(u32::MAX, |(threads, _)| threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(100);

    #[test]
    fn threads_that_bring_nothing_are_taken_back_and_remembered() {
        let t = Instant::now();
        for (what, added, sent, short, back) in [
            ("each brings its own", 2, 2e5, true, None),
            ("each brings a tenth", 2, 1.11e5, true, None),
            ("each brings less", 2, 1.09e5, true, Some(2)),
            ("all became slower", 1, 0.9e5, true, Some(2)),
            ("nothing is missing", 2, 1.05e5, false, None),
        ] {
            let mut trial = Trial::default();
            trial.start(t, 2, 1e5);
            assert_eq!(trial.judge(t + PERIOD, 2 + added, sent, short), None, "{what}: too early");
            assert_eq!(trial.judge(t + PERIOD * 3, 2 + added, sent, short), back, "{what}");
            assert_eq!(trial.threads_max(t + PERIOD * 4), back.unwrap_or(u32::MAX), "{what}");
            assert_eq!(trial.threads_max(t + PERIOD * 3 + REMEMBERED), u32::MAX, "{what}");
        }
    }

    #[test]
    fn what_was_parked_meanwhile_is_not_judged() {
        let t = Instant::now();
        let mut trial = Trial::default();
        trial.start(t, 2, 1e5);
        assert_eq!(trial.judge(t + PERIOD * 3, 2, 1e5, true), None);
        trial.start(t, 2, 1e5);
        trial.end();
        assert_eq!(trial.judge(t + PERIOD * 3, 4, 1e5, true), None);
    }
}
