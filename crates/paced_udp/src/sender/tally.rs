//! Counters of one sending thread.

use crate::socket::Rung;
use pace::Lag;
use pace::sender_scaler::SenderReport;
use std::time::{Duration, Instant};

/// What a thread tells of is no older: it tells every 5 ms, and wakes from a wait within 10.
const TOLD_LATE: Duration = Duration::from_millis(15);

/// Counts since the thread began; [`SenderTally::lag`] since it was last taken.
#[derive(Debug, Clone, Default)]
pub struct SenderTally {
    /// Packets that left.
    pub packets: u64,
    /// Packets that fell due and were given up: the thread was too late for them.
    pub written_off: f64,
    /// Calls that sent.
    pub calls: u64,
    /// Calls refused for want of room in the device's queue.
    pub no_buffers: u64,
    /// Calls refused for want of room in the socket.
    pub again: u64,
    /// Calls that told that nobody listens.
    pub refused: u64,
    /// Times a file had nothing ready although a packet was due.
    pub starved: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Time in all turns, waits included.
    pub looped: Duration,
    /// Time in calls that send.
    pub sending: Duration,
    /// Time waited for due times.
    pub waited: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// Time in which it was ready to run and had no processor, where the kernel tells that.
    pub ready: Option<Duration>,
    /// How late bursts left.
    pub lag: Lag,
    /// The rung in use, which may be lower than the one asked for; and the packets of a burst.
    pub rung: Option<Rung>,
    pub burst: u32,
    /// When it was told.
    pub at: Option<Instant>,
}

impl SenderTally {
    /// What was done since `before`, of which this is a later state, as the rule that decides on threads
    /// reads it. `asked_per_s`: packets that were asked of the thread in a second, over a period of `span`.
    /// It told a little before the period's end, and before its beginning: asked for is what belongs to the
    /// time that it told of.
    pub(super) fn since(&self, before: &SenderTally, asked_per_s: f64, span: Duration) -> SenderReport {
        let turns = self.turns.saturating_sub(before.turns).max(1);
        let each = |whole: Duration| Duration::from_secs_f64(whole.as_secs_f64() / turns as f64);
        let waited = self.waited.saturating_sub(before.waited);
        let looped = self.looped.saturating_sub(before.looped);
        let wall = match (before.at, self.at) {
            (Some(before), Some(at)) => at.saturating_duration_since(before),
            _ => looped,
        };
        let errors = |tally: &SenderTally| tally.no_buffers + tally.again;
        let errors = errors(self) - errors(before);
        let cpu = self.cpu.saturating_sub(before.cpu);
        let ready = match self.ready {
            Some(ready) => ready.saturating_sub(before.ready.unwrap_or_default()),
            // No call waits in the kernel, where sockets do not block: but for refused ones, time without a
            // processor is waiting for it.
            None if errors == 0 => wall.saturating_sub(waited + cpu),
            None => Duration::ZERO,
        };
        SenderReport {
            rung: self.rung.unwrap_or(Rung::Send).into(),
            burst: self.burst,
            wall,
            waited: waited.min(wall),
            cpu,
            ready,
            loop_time: each(looped.saturating_sub(waited)),
            send_time: each(self.sending.saturating_sub(before.sending)),
            lag: self.lag,
            asked: asked_per_s * wall.min(span + TOLD_LATE).as_secs_f64(),
            sent: self.packets - before.packets,
            written_off: self.written_off - before.written_off,
            errors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_a_thread_belongs_to_the_time_it_told_of() {
        let begun = Instant::now();
        let told = |ms: u64| SenderTally {
            packets: ms,
            looped: Duration::from_millis(ms),
            at: Some(begun + Duration::from_millis(ms)),
            ..SenderTally::default()
        };
        let span = Duration::from_millis(100);
        // 1,000 packets a second, all sent: told 5 ms early, then just in time, then after having been
        // parked.
        for (before, now, asked) in [(100, 195, 95.0), (195, 300, 105.0), (300, 900, 115.0)] {
            let report = told(now).since(&told(before), 1_000.0, span);
            assert!((report.asked - asked).abs() < 1e-6, "{report:?}");
        }
    }

    #[test]
    fn what_a_thread_waits_for_a_processor_is_what_the_scheduler_tells_or_all_that_nothing_else_explains() {
        let (begun, ms) = (Instant::now(), Duration::from_millis);
        let told = |at, waited, cpu, ready: Option<u64>, again| SenderTally {
            looped: ms(at),
            waited: ms(waited),
            cpu: ms(cpu),
            ready: ready.map(ms),
            again,
            at: Some(begun + ms(at)),
            ..SenderTally::default()
        };
        // Of 100 ms it waited 20 for its due times, and had a processor for 30.
        for (before, now, again, ready) in
            [(Some(5), Some(45), 0, 40), (Some(5), Some(45), 9, 40), (None, None, 0, 50), (None, None, 9, 0)]
        {
            let before = told(100, 10, 10, before, 0);
            let report = told(200, 30, 40, now, again).since(&before, 0.0, ms(100));
            assert_eq!((report.ready, report.errors), (ms(ready), again), "{now:?}");
        }
    }
}
