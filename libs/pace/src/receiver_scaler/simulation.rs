//! Receiving threads on a machine, in steps of a millisecond: what arrives, what a socket's buffer holds,
//! what its thread takes out.

use std::time::{Duration, Instant};

use super::{ReceiverDecision, ReceiverLimits, ReceiverScaler, ReceiverSeen, SocketReport};
use crate::Gaps;
use crate::sender_scaler::Host;

const TICK_S: f64 = 1e-3;
/// Octets of the buffer that a packet takes.
const PACKET_OCTETS: f64 = 2_304.0;
/// Seconds of a message, and of a packet in it.
const MESSAGE_S: f64 = 1.5e-6;
const PACKET_S: f64 = 0.3e-6;

/// The machine, and what comes from outside.
pub(super) struct SimulatedMachine<'a> {
    pub(super) seed: u64,
    pub(super) cpus: u32,
    /// Packets that arrive in a second, at a second; they come by chance around it.
    pub(super) rate: &'a dyn Fn(f64) -> f64,
    /// Packets that could be joined into one message.
    pub(super) joinable: f64,
    /// Before this second nothing could be joined.
    pub(super) joinable_from_s: f64,
    /// Processors that others use, at a second.
    pub(super) others: &'a dyn Fn(f64) -> f64,
    /// Octets of a buffer that the system gives at most.
    pub(super) system_octets: usize,
    /// Milliseconds in a second in which no thread runs.
    pub(super) stalled_ms: u64,
    /// Packets in a second that all threads together can take, whatever their number.
    pub(super) shared_max: f64,
}

impl Default for SimulatedMachine<'_> {
    fn default() -> Self {
        SimulatedMachine {
            seed: 1,
            cpus: 4,
            rate: &|_| 1e4,
            joinable: 1.0,
            joinable_from_s: 0.0,
            others: &|_| 0.0,
            system_octets: usize::MAX,
            stalled_ms: 0,
            shared_max: f64::INFINITY,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Socket {
    waiting: f64,
    cpu_s: f64,
    packets: f64,
    messages: f64,
    dropped: f64,
}

/// A decision, when it was made, and what was dropped in the period before it.
pub(super) struct Moment {
    pub(super) at_s: f64,
    pub(super) decision: ReceiverDecision,
    pub(super) dropped: f64,
}

/// Runs it for `seconds`.
pub(super) fn run(world: &SimulatedMachine<'_>, limits: ReceiverLimits, seconds: f64) -> Vec<Moment> {
    let (mut intake, begun) = (ReceiverScaler::new(limits), Instant::now());
    let mut sockets = vec![Socket::default(); limits.sockets.1 as usize];
    let (mut gaps, mut moments) = (Gaps::new(world.seed), Vec::new());
    for tick in 1..=(seconds / TICK_S) as u64 {
        let at_s = tick as f64 * TICK_S;
        step(world, &intake, &mut sockets, at_s, tick % 1_000 < world.stalled_ms, &mut gaps);
        if tick % 100 != 0 {
            continue;
        }
        let active = intake.setting().sockets as usize;
        let reports: Vec<SocketReport> = sockets[..active].iter().map(report).collect();
        let dropped = sockets.iter().map(|socket| socket.dropped).sum();
        let seen = ReceiverSeen {
            now: begun + Duration::from_millis(tick),
            sockets: &reports,
            buffer_octets: intake.setting().buffer_octets.min(world.system_octets),
            host: Host { cpus: world.cpus, steal: 0.0, others: (world.others)(at_s) },
        };
        let decision = intake.decide(&seen);
        moments.push(Moment { at_s, decision, dropped });
        for socket in &mut sockets {
            *socket = Socket { waiting: socket.waiting, ..Socket::default() };
        }
    }
    moments
}

fn step(
    world: &SimulatedMachine<'_>,
    intake: &ReceiverScaler,
    all: &mut [Socket],
    at_s: f64,
    is_stalled: bool,
    gaps: &mut Gaps,
) {
    let setting = intake.setting();
    let active = setting.sockets as usize;
    let room = setting.buffer_octets.min(world.system_octets) as f64 / PACKET_OCTETS;
    let left_cpus = (f64::from(world.cpus) - (world.others)(at_s)).max(0.1);
    let each_s = if is_stalled { 0.0 } else { TICK_S * (left_cpus / active as f64).min(1.0) };
    let joined = if setting.joins && at_s >= world.joinable_from_s { world.joinable } else { 1.0 };
    let packet_s = PACKET_S + MESSAGE_S / joined;
    for (at, socket) in all.iter_mut().enumerate() {
        if at < active {
            // Half of it steady, half of it by chance.
            let arrives = (world.rate)(at_s) * TICK_S / active as f64 * (0.5 + 0.5 * gaps.gap().min(4.0));
            let dropped = (socket.waiting + arrives - room).max(0.0);
            socket.waiting += arrives - dropped;
            socket.dropped += dropped;
        }
        let taken = socket.waiting.min(each_s / packet_s).min(world.shared_max * TICK_S / active as f64);
        socket.waiting -= taken;
        socket.packets += taken;
        socket.messages += taken / joined;
        // Who waits for the others is busy as well.
        let is_held_up = taken < socket.waiting && !is_stalled;
        socket.cpu_s += if is_held_up { each_s } else { taken * packet_s };
    }
}

fn report(socket: &Socket) -> SocketReport {
    SocketReport {
        wall: Duration::from_millis(100),
        cpu: Duration::from_secs_f64(socket.cpu_s),
        packets: socket.packets as u64,
        messages: socket.messages as u64,
        dropped: socket.dropped as u64,
    }
}
