//! Receiver scaler sets buffers, joining and sockets from what the sockets report.
//!
//! An [`ReceiverScaler`] is handed every period what each socket did ([`SocketReport`]) and what the host did
//! besides, and answers with the [`ReceiverSetting`] to use from now on. It opens no socket and reads no
//! clock. Packets that find no room ask for a larger buffer; a thread that has no time left asks for the
//! kernel to join packets, then for another socket. What is not needed is parked, and what brought nothing is
//! taken back.

mod joining;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use crate::sender_scaler::Host;
use joining::Joining;

/// An [`ReceiverScaler`] is to be asked this often.
pub const INTAKE_PERIOD: Duration = Duration::from_millis(100);
/// A thread that is busy for this part of the time can take no more.
const FULL: f64 = 0.9;
/// Sockets are added so that each thread is busy up to this part …
const ENOUGH: f64 = 0.75;
/// … and parked while the others would stay under this.
const EASY: f64 = 0.6;
/// What is parked has not been needed for so long.
const HOLD: Duration = Duration::from_secs(2);
/// After this a socket that was added must have brought something …
const TRIAL: Duration = Duration::from_millis(300);
/// … namely this part of what each one took before; else so many are not tried again for [`REMEMBERED`].
const GAIN_PART: f64 = 0.1;
const REMEMBERED: Duration = Duration::from_secs(10);
/// Others use at least this part of the processors, and all together at least that, where they are in the
/// way.
const OTHERS_PART: f64 = 0.1;
const HOST_FULL_PART: f64 = 0.85;
/// Periods with drops and nothing left to do, before something is said to be in the way.
const DROPPING_PERIODS: u32 = 2;

/// What one socket and its thread did since the last decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SocketReport {
    /// The time that is told of.
    pub wall: Duration,
    /// The processor's time that its thread got in it.
    pub cpu: Duration,
    /// Packets that came.
    pub packets: u64,
    /// Messages they came in: fewer where the kernel joins.
    pub messages: u64,
    /// Packets the socket had no room for.
    pub dropped: u64,
}

/// What a receiver may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverLimits {
    /// Sockets at least and at most; 1 to 1 keeps one. Never more than the host's processors but for the
    /// least.
    pub sockets: (u32, u32),
    /// Octets of a socket's buffer to begin with and at most.
    pub buffer_octets: (usize, usize),
    /// Whether the kernel can join packets.
    pub can_join: bool,
}

/// What a decision is made from.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverSeen<'a> {
    /// The end of the period.
    pub now: Instant,
    /// Each socket that is not parked.
    pub sockets: &'a [SocketReport],
    /// Octets of a socket's buffer that the system really gave, of those that were asked for.
    pub buffer_octets: usize,
    /// The rest of the machine; `others` is without these threads.
    pub host: Host,
}

/// What is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverSetting {
    /// Sockets that packets come to.
    pub sockets: u32,
    /// Octets of each one's buffer to ask for.
    pub buffer_octets: usize,
    /// Whether the kernel is to join packets.
    pub joins: bool,
}

/// Why a setting differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReceiverReason {
    /// Packets found no room.
    LargerBuffer,
    /// A thread is short of time, or packets found no room: fewer and larger messages cost less.
    Joins,
    /// Nothing came that could be joined: each packet is to have a stamp of its own.
    NothingToJoin,
    /// A thread has no time left.
    MoreSockets,
    /// Fewer can do it.
    Parked,
    /// What was added brought too little.
    TakenBack,
}

/// What is in the way, where packets find no room and nothing more can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReceiverCeiling {
    /// Our own threads use all the time there is, or another one would bring nothing.
    Cpu,
    /// The system gives no larger buffer than it has given.
    SystemBuffer,
    /// Bursts are larger than the largest buffer that is allowed.
    Buffer,
    /// What else runs on this machine, or beside it, has the processors.
    HostsOtherWork,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverDecision {
    /// What is to be.
    pub setting: ReceiverSetting,
    /// Why it has changed, if so: of several the one that weighs most, sockets before joining before buffers.
    pub reason: Option<ReceiverReason>,
    /// What is in the way.
    pub ceiling: Option<ReceiverCeiling>,
}

/// The rule: larger buffers, then joined packets, then sockets, each when what was seen asks for it.
#[derive(Debug, Clone)]
pub struct ReceiverScaler {
    limits: ReceiverLimits,
    setting: ReceiverSetting,
    joining: Joining,
    /// Sockets were added: when that is judged, how many there were, packets of a second that came then.
    trial: Option<(Instant, u32, f64)>,
    /// No more sockets than so many until then.
    barred: Option<(u32, Instant)>,
    /// Since when fewer sockets would do.
    easy_since: Option<Instant>,
    dropping: u32,
    ceiling: Option<ReceiverCeiling>,
}

/// What the sockets did together.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// Processors' worth.
    busy: f64,
    /// Of the busiest one.
    busiest: f64,
    packets: u64,
    messages: u64,
    dropped: u64,
    packets_per_s: f64,
}

impl Sum {
    fn of(sockets: &[SocketReport]) -> Sum {
        let mut sum = Sum::default();
        for report in sockets {
            let wall_s = report.wall.as_secs_f64().max(1e-3);
            let busy = (report.cpu.as_secs_f64() / wall_s).min(1.0);
            sum.busy += busy;
            sum.busiest = sum.busiest.max(busy);
            sum.packets += report.packets;
            sum.messages += report.messages;
            sum.dropped += report.dropped;
            sum.packets_per_s += report.packets as f64 / wall_s;
        }
        sum
    }

    /// What all that arrived would have cost, in processors: what was dropped costs as much as what came.
    fn demand(&self) -> f64 {
        self.busy * (self.packets + self.dropped) as f64 / self.packets.max(1) as f64
    }
}

impl ReceiverScaler {
    /// Begins with the least of `limits`, and joins packets where the kernel can.
    pub fn new(limits: ReceiverLimits) -> ReceiverScaler {
        let (sockets, buffer_octets) = (limits.sockets.0.max(1), limits.buffer_octets.0);
        ReceiverScaler {
            limits,
            setting: ReceiverSetting { sockets, buffer_octets, joins: limits.can_join },
            joining: Joining::default(),
            trial: None,
            barred: None,
            easy_since: None,
            dropping: 0,
            ceiling: None,
        }
    }

    /// The setting in force.
    pub fn setting(&self) -> ReceiverSetting {
        self.setting
    }

    /// No more than so many sockets can be had from now on.
    pub fn keep_sockets(&mut self, sockets: u32) {
        self.limits.sockets = (self.limits.sockets.0.min(sockets), sockets);
        self.setting.sockets = self.setting.sockets.min(sockets);
    }

    /// The end of a period: what is to be from now on.
    pub fn decide(&mut self, seen: &ReceiverSeen<'_>) -> ReceiverDecision {
        let sum = Sum::of(seen.sockets);
        let before = self.setting;
        let is_taken_back = self.judge(seen.now, &sum);
        if !is_taken_back {
            self.enlarge(seen, &sum);
            self.setting.joins = self.limits.can_join && self.joining.decide(seen.now, &sum, before.joins);
            if self.setting == before {
                self.add(seen, &sum);
            }
            self.park(seen.now, &sum);
        }
        self.look_up(seen, &sum, self.setting == before || is_taken_back);
        let reason = reason(before, self.setting, is_taken_back);
        ReceiverDecision { setting: self.setting, reason, ceiling: self.ceiling }
    }

    /// A buffer twice as large for packets that found no room, unless the system gave less than it was asked
    /// for last.
    fn enlarge(&mut self, seen: &ReceiverSeen<'_>, sum: &Sum) {
        if sum.dropped > 0 && seen.buffer_octets >= self.setting.buffer_octets {
            let twice = self.setting.buffer_octets.saturating_mul(2);
            self.setting.buffer_octets =
                twice.min(self.limits.buffer_octets.1).max(self.setting.buffer_octets);
        }
    }

    /// More sockets where a thread has no time left and somebody else's processor has.
    fn add(&mut self, seen: &ReceiverSeen<'_>, sum: &Sum) {
        if sum.busiest < FULL || is_full(&seen.host, sum) || self.trial.is_some() {
            return;
        }
        let running = self.setting.sockets;
        let most = self.limits.sockets.1.min(seen.host.cpus).min(self.sockets_barred(seen.now));
        let needed = (sum.demand() / ENOUGH).ceil() as u32; // the cast saturates
        let sockets = needed.max(running + 1).min(most);
        if sockets > running {
            self.trial = Some((seen.now + TRIAL, running, sum.packets_per_s));
            self.setting.sockets = sockets;
        }
    }

    /// Whether sockets that were added brought too little, and are taken back.
    fn judge(&mut self, now: Instant, sum: &Sum) -> bool {
        let Some((_, before, packets_per_s)) = self.trial.take_if(|(at, ..)| *at <= now) else {
            return false;
        };
        let added = f64::from(self.setting.sockets.saturating_sub(before));
        let gained = sum.packets_per_s - packets_per_s;
        // Where nothing is lost and nobody is short of time they have done what they were added for.
        if (sum.dropped == 0 && sum.busiest < FULL)
            || gained >= added * packets_per_s / f64::from(before.max(1)) * GAIN_PART
        {
            return false;
        }
        self.setting.sockets = before;
        self.barred = Some((before, now + REMEMBERED));
        true
    }

    fn sockets_barred(&self, now: Instant) -> u32 {
        self.barred.filter(|(_, until)| *until > now).map_or(u32::MAX, |(sockets, _)| sockets)
    }

    /// One socket less, once the others could have done it for some time.
    fn park(&mut self, now: Instant, sum: &Sum) {
        let fewer = self.setting.sockets.saturating_sub(1);
        let is_easy = fewer >= self.limits.sockets.0.max(1)
            && sum.dropped == 0
            && self.trial.is_none()
            && sum.busy < EASY * f64::from(fewer);
        if !is_easy {
            self.easy_since = None;
            return;
        }
        let since = *self.easy_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= HOLD {
            self.setting.sockets = fewer;
            self.easy_since = None;
        }
    }

    /// What is in the way: told while packets are lost and nothing has changed.
    fn look_up(&mut self, seen: &ReceiverSeen<'_>, sum: &Sum, unchanged: bool) {
        self.dropping = if sum.dropped > 0 { self.dropping + 1 } else { 0 };
        if self.dropping == 0 {
            self.ceiling = None;
        } else if self.dropping >= DROPPING_PERIODS && unchanged {
            self.ceiling = Some(match () {
                () if is_full(&seen.host, sum) => ReceiverCeiling::HostsOtherWork,
                () if sum.busiest >= FULL => ReceiverCeiling::Cpu,
                () if seen.buffer_octets < self.setting.buffer_octets => ReceiverCeiling::SystemBuffer,
                () => ReceiverCeiling::Buffer,
            });
        }
    }
}

/// Whether others leave no processor for another thread.
fn is_full(host: &Host, sum: &Sum) -> bool {
    let cpus = f64::from(host.cpus.max(1));
    let others = host.steal.max(0.0) + host.others.max(0.0);
    others > cpus * OTHERS_PART && sum.busy + others > cpus * HOST_FULL_PART
}

fn reason(before: ReceiverSetting, setting: ReceiverSetting, is_taken_back: bool) -> Option<ReceiverReason> {
    Some(match () {
        () if is_taken_back => ReceiverReason::TakenBack,
        () if setting.sockets > before.sockets => ReceiverReason::MoreSockets,
        () if setting.sockets < before.sockets => ReceiverReason::Parked,
        () if setting.joins && !before.joins => ReceiverReason::Joins,
        () if before.joins && !setting.joins => ReceiverReason::NothingToJoin,
        () if setting.buffer_octets != before.buffer_octets => ReceiverReason::LargerBuffer,
        () => return None,
    })
}
