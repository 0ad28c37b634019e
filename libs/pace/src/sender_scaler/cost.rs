//! Cost of a packet to a thread: assumed at first, learned from then on.

use std::time::{Duration, Instant};

use super::{Rung, SenderReport, Sum};
use crate::Ewma;

/// Seconds of a packet, and of a call or wake-up however many packets it is for. Measured on one machine
/// (send 3.5 us, sendmmsg 5 % less, segmentation by the kernel 0.15 us at 44 packets); elsewhere they are in
/// proportion until they are learned.
const ASSUMED: [(f64, f64); 3] = [(3.2e-6, 0.3e-6), (3.04e-6, 0.3e-6), (0.08e-6, 3.1e-6)];
/// What is learned is of about this time.
const TIME_CONSTANT: Duration = Duration::from_millis(150);
/// A period teaches only if its threads were busy for this part of it: a few wake-ups cost other than a
/// stream.
const BUSY_PART: f64 = 0.1;
/// A thread that runs, or waits for a CPU, for less of its time than this has time to spare.
const SPARE_PART: f64 = 0.75;
/// Less was sent than asked for in so many periods running: no stall that has passed.
const SHORT_PERIODS: u32 = 3;
/// A thread that cannot keep up though it seems to have time costs more than it tells: that is believed for
/// about this long.
const DOUBT_KEEP: Duration = Duration::from_secs(10);
/// The same at a rate below [`LOWER`] of the one at which it arose: what could not be done there says little
/// of this one.
const DOUBT_KEEP_LOWER: Duration = Duration::from_secs(1);
/// A rate below this part of another is another matter.
const LOWER: f64 = 0.5;
/// It never is believed to cost more than so many times what it tells.
const DOUBT_MOST: f64 = 8.0;

/// Learned costs of each rung, as factors of the assumed ones.
#[derive(Debug, Clone)]
pub(super) struct Costs {
    learned: [Ewma; 3],
    /// The last one learned, for the rungs not tried yet.
    last: f64,
    /// Seconds lost per second that no cost explains: a factor that fades.
    doubt: f64,
    doubted: Option<Instant>,
    /// Packets per second asked of all threads in the last period, and when doubt arose last.
    asked_per_s: f64,
    doubted_per_s: f64,
    short: u32,
}

impl Costs {
    pub(super) fn new() -> Costs {
        let learned = [(); 3].map(|()| Ewma::new(TIME_CONSTANT));
        Costs {
            learned,
            last: 1.0,
            doubt: 1.0,
            doubted: None,
            asked_per_s: 0.0,
            doubted_per_s: 0.0,
            short: 0,
        }
    }

    /// Learns from a period; `settled` if neither rate nor setting changed in it.
    ///
    /// What a thread was ready to do and had no CPU for is no cost of its packets: a machine with much else
    /// to do holds up a wake-up for milliseconds, and a thread of few packets would seem to need a second
    /// one. What is lost to that is doubt's to tell, within its bounds.
    pub(super) fn learn(&mut self, now: Instant, threads: &[SenderReport], sum: &Sum, settled: bool) {
        for rung in [Rung::Send, Rung::SendMmsg, Rung::Gso] {
            let (mut wall_s, mut busy_s, mut assumed_s) = (0.0, 0.0, 0.0);
            for report in threads.iter().filter(|report| report.rung == rung) {
                wall_s += report.wall.as_secs_f64();
                busy_s += running(report).as_secs_f64();
                assumed_s += (report.sent + report.errors) as f64 * assumed(rung, report.burst);
            }
            if busy_s > wall_s * BUSY_PART && assumed_s > 0.0 {
                self.last = busy_s / assumed_s;
                self.learned[rung as usize].record(now, self.last);
            }
        }
        self.doubt(now, threads, sum, settled);
    }

    /// What was sent while it was short is what the threads can do, whatever they say of their waits.
    fn doubt(&mut self, now: Instant, threads: &[SenderReport], sum: &Sum, settled: bool) {
        let passed = self.doubted.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        if sum.wall_s > 0.0 {
            self.asked_per_s = sum.asked / sum.wall_s;
        }
        let is_lower = self.asked_per_s < self.doubted_per_s * LOWER;
        let keep = if is_lower { DOUBT_KEEP_LOWER } else { DOUBT_KEEP };
        let kept = (-passed.as_secs_f64() / keep.as_secs_f64()).exp();
        self.doubt = 1.0 + (self.doubt - 1.0) * kept;
        self.doubted = Some(now);
        self.short = if settled && sum.is_short() && !sum.is_refused() { self.short + 1 } else { 0 };
        let running_s: f64 = threads.iter().map(|report| running(report).as_secs_f64()).sum();
        if self.short >= SHORT_PERIODS && running_s > 0.0 {
            let lost = (lost_s(threads, sum, running_s) / running_s).min(DOUBT_MOST - 1.0);
            if 1.0 + lost > self.doubt {
                self.doubt = 1.0 + lost;
                self.doubted_per_s = self.asked_per_s;
            }
        }
    }

    /// Something else tells that a packet costs `factor` times what it seems.
    pub(super) fn doubt_more(&mut self, factor: f64) {
        self.doubt = (self.doubt * factor).min(DOUBT_MOST);
        self.doubted_per_s = self.asked_per_s;
    }

    /// Packets that one thread can send in a second.
    pub(super) fn capacity(&self, rung: Rung, burst: u32) -> f64 {
        let factor = self.learned[rung as usize].mean().unwrap_or(self.last);
        1.0 / (assumed(rung, burst) * factor * self.doubt)
    }
}

/// Seconds in which threads that are short did nothing for it. Where they had no CPU for at least as much of
/// the time as is missing of the packets, that is all there is to explain; otherwise they are not believed
/// that they waited.
///
/// Who was kept from a CPU and yet had time to spare has room for all its packets: it was late, and gave up
/// what came due meanwhile. Another thread would be kept from its CPU as well, so nothing is lost that one
/// could do.
fn lost_s(threads: &[SenderReport], sum: &Sum, running_s: f64) -> f64 {
    let seconds =
        |of: fn(&SenderReport) -> Duration| threads.iter().map(|one| of(one).as_secs_f64()).sum::<f64>();
    let (wall_s, ready_s) = (seconds(|report| report.wall), seconds(|report| report.ready));
    let missing = 1.0 - sum.sent / sum.asked;
    match () {
        () if ready_s < wall_s * missing => wall_s - running_s,
        () if running_s + ready_s < wall_s * SPARE_PART => 0.0,
        () => ready_s,
    }
}

/// Of a thread's time, what it sent in and had a CPU for: it spins while it waits, so it may have had more of
/// that.
fn running(report: &SenderReport) -> Duration {
    report.wall.saturating_sub(report.waited).min(report.cpu)
}

fn assumed(rung: Rung, burst: u32) -> f64 {
    let (packet, call) = ASSUMED[rung as usize];
    packet + call / f64::from(burst.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender_scaler::tests::report;

    const PERIOD: Duration = Duration::from_millis(100);

    #[test]
    fn the_assumed_costs_are_the_measured_ones() {
        let costs = Costs::new();
        for (rung, burst, microseconds) in
            [(Rung::Send, 1, 3.5), (Rung::SendMmsg, 44, 3.05), (Rung::Gso, 44, 0.15)]
        {
            let cost = 1e6 / costs.capacity(rung, burst);
            assert!((cost - microseconds).abs() < 0.01, "{rung:?}: {cost} us");
        }
    }

    #[test]
    fn a_slower_machine_is_learned_within_a_few_periods_and_expected_of_other_rungs() {
        let (mut costs, t) = (Costs::new(), Instant::now());
        for period in 0..10 {
            // 7 us a packet: half of the period busy.
            let threads = [report(Rung::Send, 1, 0.5, 7_143)];
            costs.learn(t + PERIOD * period, &threads, &Sum::of(&threads), true);
        }
        for (rung, burst, microseconds) in [(Rung::Send, 1, 7.0), (Rung::Gso, 44, 0.3)] {
            let cost = 1e6 / costs.capacity(rung, burst);
            assert!((cost - microseconds).abs() < 0.05, "{rung:?}: {cost} us");
        }
    }

    #[test]
    fn what_waits_for_a_cpu_in_the_middle_of_its_work_does_not_seem_to_cost_more() {
        let (mut costs, t) = (Costs::new(), Instant::now());
        for period in 0..100 {
            // 1 Mbit/s of 64 octets, of which it sends a third: it is kept from the CPU for half of the time,
            // and late for most of the rest.
            let cpu = Duration::from_micros(240);
            let late = SenderReport { cpu, asked: 195.0, ..report(Rung::Send, 1, 0.5, 60) };
            costs.learn(t + PERIOD * period, &[late], &Sum::of(&[late]), true);
        }
        let capacity = costs.capacity(Rung::Send, 1);
        assert!(capacity > 1_953.0 * 4.0, "{capacity} packets a second");
    }

    #[test]
    fn each_rung_has_its_own_cost() {
        let (mut costs, t) = (Costs::new(), Instant::now());
        for (period, thread) in
            [report(Rung::Send, 1, 0.5, 7_143), report(Rung::Gso, 44, 0.5, 332_000)].iter().enumerate()
        {
            costs.learn(t + PERIOD * period as u32, &[*thread], &Sum::of(&[*thread]), true);
        }
        for (rung, burst, microseconds) in
            [(Rung::Send, 1, 7.0), (Rung::Gso, 44, 0.15), (Rung::SendMmsg, 44, 3.05)]
        {
            let cost = 1e6 / costs.capacity(rung, burst);
            assert!((cost - microseconds).abs() < 0.05, "{rung:?}: {cost} us");
        }
    }

    #[test]
    fn who_cannot_keep_up_and_seems_to_wait_is_believed_by_what_it_sends() {
        let (mut costs, t) = (Costs::new(), Instant::now());
        // Half of the time it waits, and yet of 20,000 asked for it has sent 14,286.
        let short = [SenderReport { asked: 20_000.0, ..report(Rung::Send, 1, 0.5, 14_286) }];
        for period in 0..3 {
            let trusted = costs.capacity(Rung::Send, 1);
            assert!(trusted > 280_000.0, "{trusted}");
            costs.learn(t + PERIOD * period, &short, &Sum::of(&short), true);
        }
        let doubted = costs.capacity(Rung::Send, 1);
        assert!((doubted - 142_860.0).abs() < 1_000.0, "{doubted}");
        let good = [report(Rung::Send, 1, 0.5, 14_286)];
        for period in 3..=600 {
            costs.learn(t + PERIOD * period, &good, &Sum::of(&good), true);
        }
        let trusted = costs.capacity(Rung::Send, 1);
        assert!((trusted - 285_720.0).abs() < 3_000.0, "{trusted}");
    }

    #[test]
    fn who_is_short_by_what_it_had_no_cpu_for_is_believed_that_it_waited_for_the_rest() {
        let (mut costs, t) = (Costs::new(), Instant::now());
        // A tenth of the time it sends, and of 3,000 asked for 6 percent are missing: it stood still for a
        // tenth.
        let short = SenderReport { asked: 3_000.0, ..report(Rung::Send, 1, 0.1, 2_820) };
        let kept = SenderReport { ready: short.wall / 10, ..short };
        for period in 0..10 {
            costs.learn(t + PERIOD * period, &[kept], &Sum::of(&[kept]), true);
        }
        let capacity = costs.capacity(Rung::Send, 1);
        assert!((260_000.0..300_000.0).contains(&capacity), "it has time to spare: {capacity}");
        for period in 10..13 {
            costs.learn(t + PERIOD * period, &[short], &Sum::of(&[short]), true);
        }
        let doubted = costs.capacity(Rung::Send, 1);
        assert!(doubted < capacity / 3.0, "a thread that nothing kept from its CPU: {doubted}");
    }

    #[test]
    fn who_has_no_time_to_spare_beside_others_is_doubted_by_what_it_had_no_cpu_for() {
        let (mut costs, t) = (Costs::new(), Instant::now());
        // It sends for half of the time and is kept from its CPU for the other half.
        let kept = report(Rung::Send, 1, 0.5, 14_286);
        let kept = SenderReport { asked: 16_000.0, ready: kept.wall / 2, ..kept };
        for period in 0..5 {
            costs.learn(t + PERIOD * period, &[kept], &Sum::of(&[kept]), true);
        }
        let capacity = costs.capacity(Rung::Send, 1);
        assert!((130_000.0..150_000.0).contains(&capacity), "{capacity}");
    }

    #[test]
    fn a_nearly_idle_period_teaches_nothing() {
        let mut costs = Costs::new();
        let idle = [report(Rung::Send, 1, 0.05, 85)];
        costs.learn(Instant::now(), &idle, &Sum::of(&idle), true);
        assert!((costs.capacity(Rung::Send, 1) - 285_714.0).abs() < 1.0);
    }
}
