//! Sees to the threads: gives them their share of the rate, hears what the peer gets, looks ten times a
//! second whether they keep up.

use super::peer::{Offer, ReceiverPeer};
use super::tally::SenderTally;
use super::thread::{Beginning, Duty, Orders, Thread, ThreadMailbox};
use super::turn::SenderTurn;
use super::{Scaling, SendOptions, SenderSummary, SupervisorCommand, View};
use crate::error::PacedUdpError;
use crate::host::HostWatch;
use crate::payload::{FileFeed, PayloadSource};
use crate::socket::{Outbox, Rung, connect, probe};
use crate::wire::Counted;
use pace::sender_scaler::{
    Ceiling, ChangeReason, Controller, Decision, Observation as Evidence, SenderReport, SenderScaler,
    burst_for,
};
use pace::{Gaps, Interval, Lag};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender as Channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The manager looks at its threads this often.
const LOOKS: Duration = Duration::from_millis(100);
/// It hears a word this soon.
const HEARS: Duration = Duration::from_millis(5);

/// One thread as its manager knows it.
struct RunningSender {
    mailbox: Arc<ThreadMailbox>,
    handle: JoinHandle<()>,
    sends: bool,
    told: SenderTally,
    /// How late it was since the last look, and since the last decision.
    lag: Lag,
    lag_undecided: Lag,
}

/// How the rate is carried.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RatePlan {
    threads: usize,
    burst: u32,
    rung: Rung,
}

/// What was decided on last, and said to people.
#[derive(Default)]
struct Decided {
    /// When, what was asked for until then, in bits, and what each thread had told.
    at: Duration,
    asked_bits: f64,
    told: Vec<SenderTally>,
    reason: Option<&'static str>,
    ceiling: Option<&'static str>,
}

/// What was counted up to the last look.
#[derive(Default)]
struct CountedSoFar {
    at: Duration,
    /// When threads told what they had sent, in the mean.
    told_at: Duration,
    asked_bits: f64,
    sent: u64,
    counted: Counted,
    cpu: Duration,
}

/// The manager.
pub(super) struct Supervisor {
    options: SendOptions,
    peer: ReceiverPeer,
    stream: u32,
    feeds: Vec<FileFeed>,
    words: Receiver<SupervisorCommand>,
    views: Channel<View>,
    rung: Rung,
    begun: Instant,
    running: Vec<RunningSender>,
    plan: RatePlan,
    /// When a round of the threads' bursts began, how long it lasts, and for how many threads.
    rounds: Option<(Instant, Interval, usize)>,
    /// The rate in force, and since when it is counted.
    rate: f64,
    counted_to: Duration,
    asked_bits: f64,
    /// Decides on the plan; without it the plan stays but for the size of bursts.
    controller: Option<Box<dyn Controller + Send>>,
    host: HostWatch,
    decided: Decided,
    /// Set by a word; the profile does not count any more.
    set: Option<f64>,
    stopped: bool,
    /// Seconds of all threads that were not parked, and the most at once.
    used: (f64, usize),
    lag: Lag,
    seen: CountedSoFar,
}

impl Supervisor {
    /// Greets the peer; nothing is sent if it does not agree.
    pub(super) fn new(
        options: SendOptions,
        feeds: Vec<FileFeed>,
        words: Receiver<SupervisorCommand>,
        views: Channel<View>,
    ) -> Result<Supervisor, PacedUdpError> {
        let stream = rand::random();
        let offer = Offer { stream, rate: options.profile.peak() as u64, mss: options.mss };
        let peer = ReceiverPeer::greet(options.to, &options.key, offer)?;
        let probed = probe(&connect(options.to).map_err(PacedUdpError::io("a socket"))?);
        let rung = options.rung_max.map_or(probed, |most| most.min(probed));
        let plan = RatePlan { threads: options.threads.0, burst: 1, rung };
        let controller: Option<Box<dyn Controller + Send>> = match &options.crewing {
            Scaling::Fixed => None,
            Scaling::Learned => Some(Box::new(SenderScaler::new())),
            Scaling::Published(rule) => Some(Box::new(rule.clone())),
        };
        let host = HostWatch::new(options.threads.1);
        Ok(Supervisor {
            options,
            peer,
            stream,
            feeds,
            words,
            views,
            rung,
            begun: Instant::now(),
            running: Vec::new(),
            plan,
            rate: 0.0,
            counted_to: Duration::ZERO,
            asked_bits: 0.0,
            controller,
            host,
            decided: Decided::default(),
            set: None,
            stopped: false,
            used: (0.0, 0),
            lag: Lag::new(),
            rounds: None,
            seen: CountedSoFar::default(),
        })
    }

    /// Until the time is over, the file has ended, somebody stops it, or the peer is silent.
    pub(super) fn run(mut self) -> Result<SenderSummary, PacedUdpError> {
        self.begun = Instant::now();
        let ended = self.go();
        self.count();
        let seconds = self.begun.elapsed().as_secs_f64();
        let tallies = self.end_all();
        ended?;
        let sent = tallies.iter().map(|tally| tally.packets).sum();
        let asked = (self.asked_bits / self.packet_bits()) as u64;
        let counted = self.peer.part(sent, asked.saturating_sub(sent))?;
        Ok(self.summary(seconds, &tallies, &counted))
    }

    fn go(&mut self) -> Result<(), PacedUdpError> {
        let mut look = LOOKS;
        let mut decides = self.controller.as_ref().map_or(Duration::MAX, |controller| controller.period());
        loop {
            self.hear();
            self.wake_for_the_rest();
            let elapsed = self.begun.elapsed();
            if self.stopped || self.options.lasts.is_some_and(|lasts| elapsed >= lasts) || self.has_sent_all()
            {
                return Ok(());
            }
            let rate = self.set.unwrap_or_else(|| self.options.profile.rate_at(elapsed));
            if rate != self.rate {
                self.count();
                self.rate = rate;
                let plan = self.fitting();
                self.apply(plan)?;
            }
            if elapsed >= decides {
                decides = (decides
                    + self.controller.as_ref().map_or(LOOKS, |controller| controller.period()))
                .max(elapsed);
                self.decide()?;
            }
            if elapsed >= look {
                look = (look + LOOKS).max(elapsed);
                self.look();
            }
            let next = self.options.profile.next_change(elapsed).filter(|_| self.set.is_none());
            let mut until = (elapsed + HEARS).min(look).min(decides).min(next.unwrap_or(Duration::MAX));
            until = until.min(self.options.lasts.unwrap_or(Duration::MAX));
            self.peer.listen(self.begun + until)?;
        }
    }

    fn hear(&mut self) {
        while let Ok(word) = self.words.try_recv() {
            match word {
                SupervisorCommand::Rate(rate) => self.set = Some(rate),
                SupervisorCommand::Stop => self.stopped = true,
            }
        }
    }

    /// A file's senders end by themselves.
    fn has_sent_all(&self) -> bool {
        self.options.file.is_some()
            && !self.running.is_empty()
            && self.running.iter().all(|one| one.handle.is_finished())
    }

    /// One that was parked holds a part of the file that nobody else has: once others have found no more, it
    /// sends that.
    fn wake_for_the_rest(&mut self) {
        if self.options.file.is_some() && self.running.iter().any(|one| one.handle.is_finished()) {
            self.running.iter_mut().filter(|one| !one.sends).for_each(RunningSender::wake);
        }
    }

    fn packet_bits(&self) -> f64 {
        f64::from(self.options.mss) * 8.0
    }

    /// Counts what was asked for until now.
    fn count(&mut self) {
        let now = self.begun.elapsed();
        let span = (now - self.counted_to).as_secs_f64();
        self.asked_bits += self.rate * span;
        self.used.0 += self.running.iter().filter(|one| one.sends).count() as f64 * span;
        self.counted_to = now;
    }

    /// The plan for a rate that has just changed.
    fn fitting(&mut self) -> RatePlan {
        let (now, rate) = (Instant::now(), self.rate);
        let decision = match &mut self.controller {
            Some(_) if self.running.is_empty() => self.judge(&[]),
            Some(controller) => controller.rate_changed(now, rate),
            None => None,
        };
        if let Some(decision) = decision {
            return self.planned(&decision);
        }
        let is_fixed = self.controller.is_none();
        let burst = burst_for(rate, u32::from(self.options.mss), self.burst_max());
        RatePlan { burst: if is_fixed { burst } else { self.plan.burst }, ..self.plan }
    }

    fn burst_max(&self) -> u32 {
        let most = Outbox::burst_max(self.rung, self.options.mss) as u32;
        self.options.burst_max.map_or(most, |bound| bound.clamp(1, most))
    }

    /// Asks who decides, if anybody does.
    fn judge(&mut self, threads: &[SenderReport]) -> Option<Decision> {
        let ours = threads.iter().map(|report| report.cpu).sum();
        let evidence = Evidence {
            now: Instant::now(),
            rate_bits_per_s: self.rate,
            mss_octets: u32::from(self.options.mss),
            burst_max: self.burst_max(),
            best: self.rung.into(),
            threads,
            host: self.host.look(ours),
        };
        self.controller.as_mut().map(|controller| controller.decide(&evidence))
    }

    fn planned(&mut self, decision: &Decision) -> RatePlan {
        let (first, most) = self.options.threads;
        self.decided.ceiling = decision.ceiling.map(in_the_way);
        if let Some(reason) = decision.reason {
            self.decided.reason = Some(changed_for(reason));
        }
        // The first threads are the user's; what is decided later may be fewer.
        let least = if self.running.is_empty() { first } else { 1 };
        let threads = (decision.setting.threads as usize).clamp(least, most);
        RatePlan { threads, burst: decision.setting.burst, rung: decision.setting.rung.into() }
    }

    /// At the end of a period: how it went, and what is to be.
    fn decide(&mut self) -> Result<(), PacedUdpError> {
        self.count();
        let sending = self.running.iter().filter(|one| one.sends).count().max(1) as f64;
        let span = self.counted_to.saturating_sub(self.decided.at);
        let asked = (self.asked_bits - self.decided.asked_bits) / self.packet_bits() / sending;
        let asked_per_s = asked / span.as_secs_f64().max(1e-9);
        let mut tallies = self.hear_threads();
        for (tally, one) in tallies.iter_mut().zip(&mut self.running) {
            // The views may have been told of a part of it.
            tally.lag = std::mem::take(&mut one.lag_undecided);
        }
        self.decided.told.resize_with(tallies.len(), SenderTally::default);
        let reports: Vec<SenderReport> = tallies
            .iter()
            .zip(&self.decided.told)
            .zip(&self.running)
            .filter(|(_, one)| one.sends)
            .map(|((tally, before), _)| tally.since(before, asked_per_s, span))
            .collect();
        (self.decided.told, self.decided.asked_bits) = (tallies, self.asked_bits);
        self.decided.at = self.counted_to;
        let Some(decision) = self.judge(&reports) else { return Ok(()) };
        let plan = self.planned(&decision);
        if plan != self.plan { self.apply(plan) } else { Ok(()) }
    }

    /// What each thread has told; how late they were is added up.
    fn hear_threads(&mut self) -> Vec<SenderTally> {
        let mut tallies = Vec::with_capacity(self.running.len());
        for one in &mut self.running {
            let tally = one.mailbox.take();
            one.lag.merge(&tally.lag);
            one.lag_undecided.merge(&tally.lag);
            one.told = tally.clone();
            tallies.push(tally);
        }
        tallies
    }

    /// Gives every thread its share.
    fn apply(&mut self, plan: RatePlan) -> Result<(), PacedUdpError> {
        self.count();
        self.plan = plan;
        let share = Interval::of(u32::from(self.options.mss), plan.burst, plan.threads as u32, self.rate);
        let Some(interval) = share else {
            // A pause: nothing is due.
            self.running.iter_mut().for_each(RunningSender::park);
            return Ok(());
        };
        let gap_ns = (self.packet_bits() / self.rate * 1e9) as u32;
        let turn = SenderTurn { origin: self.round(interval, plan.threads), at: 0, of: plan.threads as u32 };
        let orders = Orders { interval, rung: plan.rung, gap_ns, turn, duty: Duty::Send };
        while self.running.len() < plan.threads {
            self.begin(&orders)?;
        }
        for (at, one) in self.running.iter_mut().enumerate() {
            let turn = SenderTurn { at: at as u32, ..turn };
            if at < plan.threads { one.order(Orders { turn, ..orders.clone() }) } else { one.park() }
        }
        self.used.1 = self.used.1.max(plan.threads);
        Ok(())
    }

    /// When a round of the threads' bursts began, by which they take turns.
    fn round(&mut self, interval: Interval, threads: usize) -> Instant {
        let now = Instant::now();
        let origin = match &self.rounds {
            Some((origin, before, of)) if *of == threads && before.burst() == interval.burst() => {
                SenderTurn::origin_after(*origin, now, before, &interval)
            }
            _ => now,
        };
        self.rounds = Some((origin, interval, threads));
        origin
    }

    fn begin(&mut self, orders: &Orders) -> Result<(), PacedUdpError> {
        let at = self.running.len();
        let feed = match self.feeds.pop() {
            Some(file) => PayloadSource::File(file),
            None => PayloadSource::Blank,
        };
        let beginning = Beginning {
            thread: at as u16,
            stream: self.stream,
            rule: self.options.rule,
            first: orders.turn.origin + orders.interval.offset(at as u32, self.plan.threads as u32),
            feed,
            gaps: self.options.profile.is_random().then(|| Gaps::new(u64::from(self.stream) + at as u64)),
        };
        let mailbox = Arc::new(ThreadMailbox::new(orders.clone()));
        let socket = connect(self.options.to).map_err(PacedUdpError::io("a socket"))?;
        let outbox = Outbox::new(socket, self.options.mss, orders.interval.burst() as usize)
            .map_err(PacedUdpError::io("a socket"))?;
        let thread = Thread::new(mailbox.clone(), beginning, outbox);
        let handle = std::thread::Builder::new()
            .name(format!("udp-send-{at}"))
            .spawn(move || thread.run())
            .map_err(PacedUdpError::io("a thread"))?;
        self.running.push(RunningSender {
            mailbox,
            handle,
            sends: true,
            told: SenderTally::default(),
            lag: Lag::new(),
            lag_undecided: Lag::new(),
        });
        Ok(())
    }

    /// Ten times a second: what was done, and how it goes.
    fn look(&mut self) {
        self.count();
        let _ = self.hear_threads();
        let mut lag = Lag::new();
        self.running.iter_mut().for_each(|one| lag.merge(&std::mem::take(&mut one.lag)));
        self.lag.merge(&lag);
        let view = self.view(&lag);
        // Nobody has to look.
        let _ = self.views.send(view);
    }

    fn view(&mut self, lag: &Lag) -> View {
        let total = |of: fn(&SenderTally) -> u64| self.running.iter().map(|one| of(&one.told)).sum::<u64>();
        let cpu: Duration = self.running.iter().map(|one| one.told.cpu).sum();
        let now = CountedSoFar {
            at: self.counted_to,
            told_at: self.told_at(),
            asked_bits: self.asked_bits,
            sent: total(|tally| tally.packets),
            counted: self.peer.counted,
            cpu,
        };
        let seen = std::mem::take(&mut self.seen);
        let span = (now.at - seen.at).as_secs_f64().max(1e-9);
        let packet_bits = self.packet_bits();
        let asked = (now.asked_bits / packet_bits) as u64;
        // What is under way is not lost: only numbers behind which others have come.
        let lost = now.counted.missing;
        let lost_socket = now.counted.overflowed.min(lost);
        let view = View {
            at_s: now.at.as_secs_f64(),
            asked: (now.asked_bits - seen.asked_bits) / span,
            sent: (now.sent - seen.sent) as f64 * packet_bits / span,
            received: now.counted.packets.saturating_sub(seen.counted.packets) as f64 * packet_bits / span,
            threads: self.running.iter().filter(|one| one.sends).count(),
            burst: self.plan.burst,
            rung: self.plan.rung,
            lag_us: lag.mean_s() * 1e6,
            lag_sd_us: lag.sd_s() * 1e6,
            cpu: now.cpu.saturating_sub(seen.cpu).as_secs_f64() / span,
            packets_asked: asked,
            packets_sent: now.sent,
            not_sent: asked.saturating_sub(now.sent),
            lost_socket,
            lost_path: lost - lost_socket,
            ceiling: self.decided.ceiling.filter(|_| self.is_short(&seen, &now)),
            reason: self.decided.reason.take(),
        };
        self.seen = now;
        view
    }

    /// When the threads that send told what they had sent, in the mean.
    fn told_at(&self) -> Duration {
        let told = self.running.iter().filter(|one| one.sends).filter_map(|one| one.told.at);
        let told: Vec<Duration> = told.map(|at| at.saturating_duration_since(self.begun)).collect();
        let threads = u32::try_from(told.len()).unwrap_or(u32::MAX);
        told.iter().sum::<Duration>().checked_div(threads).unwrap_or(self.counted_to)
    }

    /// Whether less than asked for was sent between two looks: over 1 percent, and more than is under way at
    /// their ends.
    fn is_short(&self, before: &CountedSoFar, now: &CountedSoFar) -> bool {
        const PART: f64 = 0.01;
        let span_s = now.at.saturating_sub(before.at).as_secs_f64().max(1e-9);
        let told_s = now.told_at.saturating_sub(before.told_at).as_secs_f64();
        let asked = (now.asked_bits - before.asked_bits) / self.packet_bits() / span_s * told_s;
        let under_way = 2.0 * f64::from(self.plan.burst) * self.plan.threads as f64;
        asked - (now.sent - before.sent) as f64 > (asked * PART).max(under_way)
    }

    fn end_all(&mut self) -> Vec<SenderTally> {
        for one in &self.running {
            one.mailbox.order(|orders| orders.duty = Duty::End);
            one.handle.thread().unpark();
        }
        let mut tallies = Vec::new();
        for one in self.running.drain(..) {
            // One that panicked has told what it sent before.
            let _ = one.handle.join();
            let tally = one.mailbox.take();
            self.lag.merge(&one.lag);
            self.lag.merge(&tally.lag);
            tallies.push(tally);
        }
        tallies
    }

    fn summary(&self, seconds: f64, tallies: &[SenderTally], counted: &Counted) -> SenderSummary {
        let total = |of: fn(&SenderTally) -> u64| tallies.iter().map(of).sum::<u64>();
        let sent = total(|tally| tally.packets);
        let asked = ((self.asked_bits / self.packet_bits()) as u64).max(sent);
        let rate = |packets: u64| packets as f64 * self.packet_bits() / seconds.max(1e-9);
        let mut summary = SenderSummary {
            seconds,
            asked,
            sent,
            not_sent: asked - sent,
            written_off: tallies.iter().map(|tally| tally.written_off).sum::<f64>() as u64,
            received: 0,
            lost_socket: 0,
            lost_path: 0,
            duplicates: 0,
            rate_asked: self.asked_bits / seconds.max(1e-9),
            rate_sent: rate(sent),
            rate_received: rate(counted.packets),
            thread_seconds: self.used.0,
            threads_max: self.used.1,
            cpu_s: tallies.iter().map(|tally| tally.cpu.as_secs_f64()).sum(),
            no_buffers: total(|tally| tally.no_buffers),
            again: total(|tally| tally.again),
            refused: total(|tally| tally.refused),
            starved: total(|tally| tally.starved),
            lag_us: self.lag.mean_s() * 1e6,
            lag_sd_us: self.lag.sd_s() * 1e6,
            lag_max_us: self.lag.max().as_secs_f64() * 1e6,
            receiver_buffer: self.peer.buffer,
        };
        summary.lost(counted);
        summary
    }
}

impl RunningSender {
    fn order(&mut self, orders: Orders) {
        self.mailbox.order(|old| *old = orders);
        self.handle.thread().unpark();
        self.sends = true;
    }

    fn wake(&mut self) {
        self.mailbox.order(|orders| orders.duty = Duty::Send);
        self.handle.thread().unpark();
        self.sends = true;
    }

    fn park(&mut self) {
        if self.sends {
            self.mailbox.order(|orders| orders.duty = Duty::Park);
            self.sends = false;
        }
    }
}

/// What keeps the rate from being reached, for people.
fn in_the_way(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Cpu => "CPU",
        Ceiling::Socket => "socket",
        Ceiling::HostsOtherWork => "other work of this machine",
    }
}

/// Why the plan has changed, for people.
fn changed_for(reason: ChangeReason) -> &'static str {
    match reason {
        ChangeReason::Burst => "another rate, another burst",
        ChangeReason::HigherRung => "more packets with one call",
        ChangeReason::LowerRung => "the smoother way is enough",
        ChangeReason::MoreThreads => "one thread more is needed",
        ChangeReason::Parked => "fewer threads do it",
        ChangeReason::TakenBack => "another thread brought too little",
    }
}
