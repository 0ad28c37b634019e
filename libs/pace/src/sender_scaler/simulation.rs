//! Sender threads on a machine, in steps of a millisecond: what each asks for, what its share of the CPUs
//! lets it send, what it owes and gives up by the bounded rule. Costs as measured: send 3.5 us a packet,
//! segmentation by the kernel 0.15 us at 44 packets.

use std::time::{Duration, Instant};

use super::{Ceiling, Controller, Decision, Host, Observation, Rung, SenderReport, Setting};
use crate::{DEBT, Gaps, Lag};

pub(super) const MSS: u32 = 1_472;
const TICK_S: f64 = 1e-3;
/// Until a thread that is started sends.
const START_TICKS: u32 = 2;
/// Of the ticks of a thread, so many begin a stall of one to three.
const STALL_PART: f64 = 0.000_5;
/// For each runnable thread more than there are CPUs, so much of the machine goes to changing from one to the
/// next.
const SWITCHING_PART: f64 = 0.05;

/// The machine, and what comes from outside.
pub(super) struct SimulatedMachine<'a> {
    pub(super) seed: u64,
    pub(super) cpus: u32,
    pub(super) best: Rung,
    pub(super) burst_max: u32,
    /// How much slower than the measured one.
    pub(super) slower: f64,
    /// Packets per second that the socket takes of all threads.
    pub(super) socket_max: f64,
    /// Asked for at a second, bits per second.
    pub(super) rate: &'a dyn Fn(f64) -> f64,
    /// Whether the controller hears of a rate between its periods.
    pub(super) tells: bool,
    /// Other runnable threads at a second.
    pub(super) stress: &'a dyn Fn(f64) -> u32,
    /// CPUs stolen at a second.
    pub(super) steal: &'a dyn Fn(f64) -> f64,
}

impl Default for SimulatedMachine<'_> {
    fn default() -> Self {
        SimulatedMachine {
            seed: 1,
            cpus: 4,
            best: Rung::Gso,
            burst_max: 64,
            slower: 1.0,
            socket_max: f64::INFINITY,
            rate: &|_| 1e9,
            tells: false,
            stress: &|_| 0,
            steal: &|_| 0.0,
        }
    }
}

/// A run, told every ten milliseconds.
#[derive(Default)]
pub(super) struct Run {
    pub(super) asked: f64,
    pub(super) sent: f64,
    pub(super) thread_seconds: f64,
    pub(super) threads_most: u32,
    pub(super) moments: Vec<Moment>,
    pub(super) decisions: Vec<(f64, Decision)>,
}

pub(super) struct Moment {
    pub(super) at_s: f64,
    /// Of the last ten milliseconds, bits per second.
    pub(super) sent: f64,
    pub(super) setting: Setting,
    pub(super) ceiling: Option<Ceiling>,
}

impl Run {
    /// Of what was asked for.
    pub(super) fn not_sent(&self) -> f64 {
        1.0 - self.sent / self.asked
    }

    /// Bits per second from one second to another.
    pub(super) fn mean(&self, from_s: f64, to_s: f64) -> f64 {
        let sent = self.between(from_s, to_s).map(|moment| moment.sent);
        sent.sum::<f64>() / self.between(from_s, to_s).count() as f64
    }

    pub(super) fn between(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &Moment> {
        self.moments.iter().filter(move |moment| (from_s..to_s).contains(&moment.at_s))
    }

    /// When, after `from_s`, it first was so.
    pub(super) fn first(&self, from_s: f64, is: impl Fn(&Moment) -> bool) -> Option<f64> {
        self.between(from_s, f64::INFINITY).find(|moment| is(moment)).map(|moment| moment.at_s)
    }
}

#[derive(Clone)]
struct SimulatedThread {
    starts_in: u32,
    stalled: u32,
    owed: f64,
    /// Ticks, CPU and busy seconds, packets since the last decision.
    ticks: u32,
    cpu_s: f64,
    busy_s: f64,
    asked: f64,
    sent: f64,
    written_off: f64,
    errors: f64,
    lag: Lag,
}

impl SimulatedThread {
    fn new(starts_in: u32) -> SimulatedThread {
        SimulatedThread {
            starts_in,
            stalled: 0,
            owed: 0.0,
            ticks: 0,
            cpu_s: 0.0,
            busy_s: 0.0,
            asked: 0.0,
            sent: 0.0,
            written_off: 0.0,
            errors: 0.0,
            lag: Lag::new(),
        }
    }

    fn report(&mut self, setting: &Setting, cost_s: f64) -> SenderReport {
        let wall_s = f64::from(self.ticks) * TICK_S;
        let report = SenderReport {
            rung: setting.rung,
            burst: setting.burst,
            wall: Duration::from_secs_f64(wall_s),
            waited: Duration::from_secs_f64((wall_s - self.busy_s).max(0.0)),
            cpu: Duration::from_secs_f64(self.cpu_s),
            ready: Duration::from_secs_f64((self.busy_s - self.cpu_s).max(0.0)),
            loop_time: Duration::from_secs_f64(cost_s * f64::from(setting.burst)),
            send_time: Duration::from_secs_f64(cost_s * f64::from(setting.burst)),
            lag: self.lag,
            asked: self.asked,
            sent: self.sent as u64,
            written_off: self.written_off,
            errors: self.errors as u64,
        };
        *self = SimulatedThread {
            starts_in: self.starts_in,
            stalled: self.stalled,
            owed: self.owed,
            ..SimulatedThread::new(0)
        };
        report
    }
}

/// The machine while it runs.
struct MachineRun<'a> {
    world: &'a SimulatedMachine<'a>,
    random: Gaps,
    setting: Setting,
    threads: Vec<SimulatedThread>,
    /// CPU seconds of others since the last decision.
    stolen_s: f64,
    others_s: f64,
}

/// Runs `controller` for `seconds`.
pub(super) fn run(world: &SimulatedMachine<'_>, controller: &mut dyn Controller, seconds: f64) -> Run {
    let start = Instant::now();
    let mut told = Run::default();
    let none = Setting { threads: 0, rung: Rung::Send, burst: 1 };
    let mut machine = MachineRun {
        world,
        random: Gaps::new(world.seed),
        setting: none,
        threads: Vec::new(),
        stolen_s: 0.0,
        others_s: 0.0,
    };
    let period = (controller.period().as_secs_f64() / TICK_S).round() as u64;
    let (mut rate, mut ceiling, mut sent) = (f64::NAN, None, 0.0);
    for tick in 0..(seconds / TICK_S) as u64 {
        let at_s = tick as f64 * TICK_S;
        let now = start + Duration::from_secs_f64(at_s);
        let changed = (world.rate)(at_s) != rate;
        rate = (world.rate)(at_s);
        let decision = if tick % period == 0 {
            Some(machine.decide(controller, now, rate, period))
        } else if changed && world.tells {
            controller.rate_changed(now, rate)
        } else {
            None
        };
        if let Some(decision) = decision {
            machine.set(decision.setting);
            ceiling = decision.ceiling;
            told.decisions.push((at_s, decision));
        }
        told.asked += rate * TICK_S;
        sent += machine.tick(at_s, rate) * f64::from(MSS) * 8.0;
        told.thread_seconds += f64::from(machine.setting.threads) * TICK_S;
        told.threads_most = told.threads_most.max(machine.setting.threads);
        if tick % 10 == 9 {
            told.moments.push(Moment {
                at_s,
                sent: sent / (10.0 * TICK_S),
                setting: machine.setting,
                ceiling,
            });
            told.sent += sent;
            sent = 0.0;
        }
    }
    told
}

impl MachineRun<'_> {
    /// Seconds of a packet.
    fn cost_s(&self) -> f64 {
        let burst = f64::from(self.setting.burst);
        let measured = match self.setting.rung {
            Rung::Send => 3.3e-6 + 0.2e-6 / burst,
            Rung::SendMmsg => 3.2e-6 + 0.2e-6 / burst,
            Rung::Gso => 0.08e-6 + 3.1e-6 / burst,
        };
        measured * self.world.slower
    }

    fn decide(&mut self, controller: &mut dyn Controller, now: Instant, rate: f64, period: u64) -> Decision {
        let (setting, cost_s) = (self.setting, self.cost_s());
        let threads: Vec<SenderReport> =
            self.threads.iter_mut().map(|thread| thread.report(&setting, cost_s)).collect();
        let period_s = period as f64 * TICK_S;
        let host =
            Host { cpus: self.world.cpus, steal: self.stolen_s / period_s, others: self.others_s / period_s };
        (self.stolen_s, self.others_s) = (0.0, 0.0);
        controller.decide(&Observation {
            now,
            rate_bits_per_s: rate,
            mss_octets: MSS,
            burst_max: self.world.burst_max,
            best: self.world.best,
            threads: &threads,
            host,
        })
    }

    fn set(&mut self, setting: Setting) {
        self.threads.truncate(setting.threads as usize);
        self.threads.resize(setting.threads as usize, SimulatedThread::new(START_TICKS));
        self.setting = setting;
    }

    /// One millisecond; returns the packets sent.
    fn tick(&mut self, at_s: f64, rate: f64) -> f64 {
        let cost_s = self.cost_s();
        let each = rate / f64::from(self.setting.threads) / (f64::from(MSS) * 8.0) * TICK_S;
        let (stress, steal) = ((self.world.stress)(at_s), (self.world.steal)(at_s));
        let wants: Vec<f64> = self
            .threads
            .iter_mut()
            .map(|thread| thread.want(each, &mut self.random) * cost_s / TICK_S)
            .collect();
        let cpus = f64::from(self.world.cpus) - steal;
        let (share, working) = share(&wants, stress, cpus);
        self.stolen_s += steal * TICK_S;
        self.others_s += f64::from(stress) * share * TICK_S;
        let given = Given { share, working, each };
        let mut room = self.world.socket_max * TICK_S;
        let mut sent = 0.0;
        for (thread, want) in self.threads.iter_mut().zip(wants) {
            sent += thread.send(want, given, cost_s, &mut room, &mut self.random);
        }
        sent
    }
}

/// What a thread gets in a tick: CPU at most, of that for its work, and packets asked for.
#[derive(Clone, Copy)]
struct Given {
    share: f64,
    working: f64,
    each: f64,
}

impl SimulatedThread {
    /// Packets to send in this tick: what is owed, at no more than twice the rate.
    fn want(&mut self, each: f64, random: &mut Gaps) -> f64 {
        self.owed += each;
        self.asked += each;
        self.ticks += 1;
        self.starts_in = self.starts_in.saturating_sub(1);
        self.stalled = self.stalled.saturating_sub(1);
        if random.unit() < STALL_PART {
            self.stalled = 1 + (random.unit() * 3.0) as u32;
        }
        if self.stalled > 0 || self.starts_in > 0 { 0.0 } else { self.owed.min(2.0 * each) }
    }

    /// `want` of a CPU, of which it gets `share` at most, and works `working` of that.
    fn send(&mut self, want: f64, given: Given, cost_s: f64, room: &mut f64, random: &mut Gaps) -> f64 {
        let Given { share, working, each } = given;
        let cpu = (want / working).min(share);
        let tried = cpu * working * TICK_S / cost_s;
        let sent = tried.min(*room);
        *room -= sent;
        self.errors += tried - sent;
        self.sent += sent;
        self.busy_s += (cpu / share.max(1e-9)).min(1.0) * TICK_S;
        // Some of the wait is spun away.
        let spun = (share.min(1.0) - cpu).max(0.0) * 0.2;
        self.cpu_s += (cpu + spun) * TICK_S;
        self.owed -= tried;
        let loop_s = 3.5e-6 + 1.4e-6 * (random.unit() + random.unit() + random.unit() - 1.5) * 2.0;
        // Who waits wakes up late, mostly by 15 us and by 68 us at most.
        let woken_s = if cpu < share { 15e-6 + 53e-6 * random.unit().powi(4) } else { 0.0 };
        self.lag.record_seconds(self.owed / each.max(1e-9) * TICK_S + loop_s + woken_s);
        let most = each * DEBT.as_secs_f64() / TICK_S;
        self.written_off += (self.owed - most).max(0.0);
        self.owed = self.owed.min(most);
        sent
    }
}

/// What each runnable thread gets of a CPU at most (all alike, who wants less leaves it to the others), and
/// how much of that is not lost to changing from one to another.
fn share(wants: &[f64], stress: u32, cpus: f64) -> (f64, f64) {
    let runnable = wants.iter().filter(|want| **want > 0.5).count() as f64 + f64::from(stress);
    let working = 1.0 - ((runnable - cpus).max(0.0) * SWITCHING_PART).min(0.9);
    if wants.iter().sum::<f64>() / working + f64::from(stress) <= cpus {
        return (1.0, working);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..30 {
        let share = f64::midpoint(low, high);
        let used: f64 = wants.iter().map(|want| (want / working).min(share)).sum();
        if used + f64::from(stress) * share > cpus { high = share } else { low = share }
    }
    (high, working)
}
