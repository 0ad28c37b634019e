//! Sender scaler sets the number of sender threads and how each sends, from what the threads report.
//!
//! A [`Controller`] is handed every period what each thread did ([`SenderReport`]) and what the host did
//! besides ([`Host`]), and answers with the [`Setting`] to use from now on. It starts no thread and reads no
//! clock.
//!
//! - [`SenderScaler`]: more burst, then a higher rung, then threads, as many at once as the learned capacity
//!   of one says; it parks what is not needed, takes back what brought nothing, and tells what is in the way
//!   of the rate.
//! - [`Published`]: the paper's own rule, to compare with.

mod burst;
mod ceiling;
mod cost;
mod decide;
mod published;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod trial;

use std::time::{Duration, Instant};

use crate::Lag;

pub use burst::{BURST_WORTH, GSO_SEGMENTS_MAX, burst_for};
pub use decide::SenderScaler;
pub use published::{PUBLISHED_PERIOD, Published};

/// How packets are handed to the kernel: each costs less than the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// One call for each packet.
    Send,
    /// One call for a burst.
    SendMmsg,
    /// One buffer for a burst, which the kernel cuts (`UDP_SEGMENT`).
    Gso,
}

/// What one thread did since the last decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderReport {
    /// How it was sending at last.
    pub rung: Rung,
    /// Packets of a burst.
    pub burst: u32,
    /// From the start of the period, or its own, to the end.
    pub wall: Duration,
    /// Of that, waiting for a burst to become due: sleeping or spinning.
    pub waited: Duration,
    /// The CPU's time that it got, spinning included.
    pub cpu: Duration,
    /// In which it was ready to run and had no CPU: the scheduler had given it to others, or to another
    /// thread of ours.
    pub ready: Duration,
    /// The mean time of one round: wait, send, reckon, less the wait.
    pub loop_time: Duration,
    /// The mean time of one burst's calls.
    pub send_time: Duration,
    /// How late the bursts were.
    pub lag: Lag,
    /// Packets that its share of the rate asked for.
    pub asked: f64,
    /// Packets that the socket took.
    pub sent: u64,
    /// Packets given up: [`Pacer::packets_written_off`](crate::Pacer::packets_written_off).
    pub written_off: f64,
    /// Packets that the socket refused: ENOBUFS, EAGAIN.
    pub errors: u64,
}

/// What else goes on, in CPUs' worth: 0.5 is half of one CPU's time in the period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Host {
    /// CPUs that this process may use; below one counts as one.
    pub cpus: u32,
    /// What the hypervisor took of them.
    pub steal: f64,
    /// What other processes, and other threads of this one, used of them.
    pub others: f64,
}

/// What a decision is made from.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The end of the period.
    pub now: Instant,
    /// What all threads together are to send from now on, bits of payload per second; where the rates to come
    /// are known, the highest until the next decision. 0 is a pause.
    pub rate_bits_per_s: f64,
    /// Payload of a packet, octets.
    pub mss_octets: u32,
    /// The most packets of a burst that the user allows.
    pub burst_max: u32,
    /// The highest rung that was probed to work.
    pub best: Rung,
    /// Each thread that runs.
    pub threads: &'a [SenderReport],
    /// The rest of the machine.
    pub host: Host,
}

/// What is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// How many threads run; each sends the rate divided by them.
    pub threads: u32,
    /// How each sends.
    pub rung: Rung,
    /// Packets of a burst.
    pub burst: u32,
}

/// What is in the way of the rate that was asked for, where all was done that can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ceiling {
    /// Our own threads use all the CPU there is, or another one would bring nothing.
    Cpu,
    /// The socket, or the network behind it, takes no more.
    Socket,
    /// What else runs on this machine, or beside it, has the CPU.
    HostsOtherWork,
}

/// Why a setting differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeReason {
    /// More packets are handed over at a time, or fewer, since the rate is another.
    Burst,
    /// A burst is handed over in a cheaper way.
    HigherRung,
    /// The smoother way is enough.
    LowerRung,
    /// One thread cannot do it.
    MoreThreads,
    /// Fewer can do it.
    Parked,
    /// What was started brought too little.
    TakenBack,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// What is to be.
    pub setting: Setting,
    /// Why it has changed, if so: of several the one that weighs most, threads before rungs before bursts.
    pub reason: Option<ChangeReason>,
    /// What is in the way.
    pub ceiling: Option<Ceiling>,
}

/// A rule by which threads are started and parked.
pub trait Controller {
    /// How often it is to be asked.
    fn period(&self) -> Duration;

    /// The end of a period: what is to be from now on.
    fn decide(&mut self, seen: &Observation<'_>) -> Decision;

    /// Another rate is asked for between two decisions; `None` keeps all as it is. The period goes on.
    /// Whoever leaves this out loses up to a period's worth of each rise: of traffic that changes each second
    /// about 1 percent.
    fn rate_changed(&mut self, now: Instant, rate_bits_per_s: f64) -> Option<Decision>;
}

/// Packets of a second.
fn packets_per_s(rate_bits_per_s: f64, mss_octets: u32) -> f64 {
    rate_bits_per_s / (f64::from(mss_octets.max(1)) * 8.0)
}

/// What the threads did together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sum {
    threads: u32,
    /// Seconds, of the longest one.
    wall_s: f64,
    /// Seconds of all threads.
    busy_s: f64,
    cpu_s: f64,
    ready_s: f64,
    asked: f64,
    sent: f64,
    errors: f64,
    burst: f64,
    /// Seconds, the threads' mean.
    lag_s: f64,
    loop_s: f64,
}

impl Sum {
    fn of(threads: &[SenderReport]) -> Sum {
        let mut sum = Sum::default();
        for report in threads {
            sum.threads += 1;
            sum.wall_s = sum.wall_s.max(report.wall.as_secs_f64());
            sum.busy_s += report.wall.saturating_sub(report.waited).as_secs_f64();
            sum.cpu_s += report.cpu.as_secs_f64();
            sum.ready_s += report.ready.as_secs_f64();
            sum.asked += report.asked;
            sum.sent += report.sent as f64;
            sum.errors += report.errors as f64;
            sum.burst = sum.burst.max(f64::from(report.burst));
            sum.lag_s += report.lag.mean_s() / threads.len() as f64;
            sum.loop_s += report.loop_time.as_secs_f64() / threads.len() as f64;
        }
        sum
    }

    /// Packets of a second, all threads together.
    fn sent_per_s(&self) -> f64 {
        if self.wall_s > 0.0 { self.sent / self.wall_s } else { 0.0 }
    }

    /// Whether less was sent than asked for: over 1 percent, and more than what is under way at the period's
    /// ends.
    fn is_short(&self) -> bool {
        const PART: f64 = 0.01;
        let under_way = 2.0 * self.burst * f64::from(self.threads);
        self.asked - self.sent > (self.asked * PART).max(under_way)
    }

    /// Whether the socket refused over 1 percent of the packets.
    fn is_refused(&self) -> bool {
        const PART: f64 = 0.01;
        self.errors > (self.sent + self.errors) * PART
    }
}
