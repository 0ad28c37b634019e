//! One thread that sends: waits for its due time, sends a burst, counts. It asks nobody; what it is to do
//! comes as [`Orders`].

use super::tally::SenderTally;
use super::turn::SenderTurn;
use crate::payload::{Filled, PayloadSource};
use crate::socket::{Outbox, PacketSendError, ReadyClock, Rung, now_ns, thread_cpu, tighten_timer};
use crate::wait::Wait;
use crate::wire::{HEAD, Head};
use pace::{Gaps, Interval, Pacer, PacingRule};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A thread tells what it has done this often.
const TELLS: Duration = Duration::from_millis(5);
/// A call that was refused for want of room is tried again after this long.
const RETRY: Duration = Duration::from_micros(20);

/// What a thread is to do.
#[derive(Debug, Clone)]
pub struct Orders {
    /// One burst each; its size with it.
    pub interval: Interval,
    /// How bursts are handed over, at most.
    pub rung: Rung,
    /// The ideal gap between two packets of the whole stream.
    pub gap_ns: u32,
    /// When its bursts are due among those of the other threads.
    pub turn: SenderTurn,
    /// What to do.
    pub duty: Duty,
}

/// Whether a thread sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// It sends.
    Send,
    /// It waits until it is needed again.
    Park,
    /// It ends.
    End,
}

/// What a thread and its manager share. The manager writes orders, the thread its tally; neither waits for
/// the other longer than a copy takes.
pub struct ThreadMailbox {
    version: AtomicU64,
    orders: Mutex<Orders>,
    tally: Mutex<SenderTally>,
}

impl ThreadMailbox {
    /// With its first orders.
    pub fn new(orders: Orders) -> ThreadMailbox {
        ThreadMailbox { version: AtomicU64::new(0), orders: Mutex::new(orders), tally: Mutex::default() }
    }

    /// Other orders, from the thread's next look on. Wake a parked thread after it.
    pub fn order(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut locked(&self.orders));
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The orders in force.
    pub fn orders(&self) -> Orders {
        locked(&self.orders).clone()
    }

    /// What was done so far; the statistics of lateness begin anew.
    pub fn take(&self) -> SenderTally {
        let mut tally = locked(&self.tally);
        let taken = tally.clone();
        tally.lag = pace::Lag::new();
        taken
    }

    fn tell(&self, ours: &mut SenderTally) {
        let mut tally = locked(&self.tally);
        let mut lag = tally.lag;
        lag.merge(&ours.lag);
        ours.lag = pace::Lag::new();
        *tally = SenderTally { lag, ..ours.clone() };
    }
}

/// What is under such a lock is whole after each step, so a panic elsewhere does not spoil it.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread is given for its life.
pub struct Beginning {
    /// Its number among the senders.
    pub thread: u16,
    /// The stream it belongs to.
    pub stream: u32,
    /// How it deals with being late.
    pub rule: PacingRule,
    /// Its first burst is due then.
    pub first: Instant,
    /// What its packets carry.
    pub feed: PayloadSource,
    /// Draws the gaps, where they come by chance.
    pub gaps: Option<Gaps>,
}

/// The thread.
pub struct Thread {
    mailbox: Arc<ThreadMailbox>,
    beginning: Beginning,
    outbox: Outbox,
    orders: Orders,
    seen: u64,
    pacer: Pacer,
    wait: Wait,
    tally: SenderTally,
    number: u64,
    told: Instant,
    turned: Instant,
    written_off_before: f64,
    /// Threads of the round, and bursts given up, when it took its turn last.
    in_turn: (u32, f64),
    ready: ReadyClock,
}

impl Thread {
    /// Ready to run with the desk's orders.
    pub fn new(mailbox: Arc<ThreadMailbox>, beginning: Beginning, outbox: Outbox) -> Thread {
        let seen = mailbox.version.load(Ordering::Acquire);
        let orders = mailbox.orders();
        let now = Instant::now();
        Thread {
            pacer: Pacer::new(beginning.rule, beginning.first, orders.interval),
            wait: Wait::default(),
            tally: SenderTally { rung: Some(orders.rung), ..SenderTally::default() },
            number: 0,
            told: now,
            turned: now,
            written_off_before: 0.0,
            in_turn: (0, 0.0),
            ready: ReadyClock::default(),
            mailbox,
            beginning,
            outbox,
            orders,
            seen,
        }
    }

    /// Sends until it is told to end, or its file has ended.
    pub fn run(mut self) {
        tighten_timer();
        self.ready = ReadyClock::of_this_thread();
        self.turned = Instant::now();
        loop {
            if self.mailbox.version.load(Ordering::Acquire) != self.seen && !self.obey() {
                break;
            }
            if !self.turn() {
                break;
            }
        }
        self.count_turn(Instant::now());
        self.tell();
    }

    /// Takes new orders; `false` at the end.
    fn obey(&mut self) -> bool {
        loop {
            self.seen = self.mailbox.version.load(Ordering::Acquire);
            let orders = self.mailbox.orders();
            let now = Instant::now();
            match orders.duty {
                Duty::End => return false,
                Duty::Park => {
                    self.tell();
                    while self.mailbox.version.load(Ordering::Acquire) == self.seen {
                        std::thread::park();
                    }
                    // It begins anew: nothing was due while it was parked.
                    self.written_off_before += self.pacer.packets_written_off();
                    self.turned = Instant::now();
                    self.in_turn = (0, 0.0);
                    self.pacer = Pacer::new(self.beginning.rule, self.turned, orders.interval);
                }
                Duty::Send => {
                    self.pacer.set_interval(now, orders.interval);
                    self.outbox.grow(orders.interval.burst() as usize);
                    self.orders = orders;
                    return true;
                }
            }
        }
    }

    /// One burst; `false` where there is nothing more to send.
    fn turn(&mut self) -> bool {
        let due = self.pacer.due();
        let (mailbox, seen) = (&self.mailbox, self.seen);
        let (now, waited) = self.wait.until(due, || mailbox.version.load(Ordering::Relaxed) != seen);
        self.tally.waited += waited;
        if now < due {
            self.tell_sometimes(now);
            return true;
        }
        self.tally.lag.record(due, now);
        let turn = self.orders.turn;
        let (filled, goes_on) = self.fill(self.orders.interval.burst() as usize);
        match &mut self.beginning.gaps {
            Some(gaps) => self.pacer.sent_with_gap(now, gaps.gap()),
            None => {
                self.pacer.sent(now);
                self.take_turn(turn);
            }
        }
        self.send(filled);
        let ended = Instant::now();
        self.tally.sending += ended - now;
        self.count_turn(ended);
        self.tell_sometimes(ended);
        goes_on
    }

    /// Back to its turn, once the number of threads was another or it was so late that it gave bursts up:
    /// its next burst is due somewhere else in the round then. What it waits for that is given up too.
    fn take_turn(&mut self, turn: SenderTurn) {
        let written_off = self.pacer.written_off();
        if (turn.of, written_off) == self.in_turn {
            return;
        }
        self.in_turn = (turn.of, written_off);
        let interval = self.pacer.interval();
        let wait = turn.wait(self.pacer.due(), &interval);
        self.pacer.paused(wait);
        self.written_off_before += wait.as_secs_f64() / interval.seconds() * f64::from(interval.burst());
    }

    /// Writes the burst's packets; how many, and whether more can follow.
    fn fill(&mut self, burst: usize) -> (usize, bool) {
        let sent_ns = now_ns();
        for at in 0..burst {
            let packet = self.outbox.packet(at);
            let (offset, filled) = match self.beginning.feed.fill(&mut packet[HEAD..]) {
                Filled::Part { offset, octets } => (offset, octets),
                Filled::Later => {
                    self.tally.starved += 1;
                    return (at, true);
                }
                Filled::End => return (at, false),
            };
            let head = Head {
                thread: self.beginning.thread,
                stream: self.beginning.stream,
                number: self.number + at as u64,
                sent_ns,
                offset,
                gap_ns: self.orders.gap_ns,
                filled,
            };
            head.write(packet);
        }
        (burst, true)
    }

    /// Hands `count` packets over; what was refused is tried again until it left or the thread is to end.
    fn send(&mut self, count: usize) {
        let mut sent = 0;
        while sent < count {
            match self.outbox.send(self.orders.rung, sent, count) {
                Ok(more) => {
                    self.tally.calls += 1;
                    sent += more;
                }
                Err(error) if self.is_over(error) => break,
                Err(_) => {}
            }
        }
        self.number += sent as u64;
        self.tally.packets += sent as u64;
    }

    /// Counts what a call met; whether to give up.
    fn is_over(&mut self, error: PacketSendError) -> bool {
        match error {
            // The call told about an earlier packet; the next one sends.
            PacketSendError::Refused => self.tally.refused += 1,
            PacketSendError::NoBuffers => self.tally.no_buffers += 1,
            PacketSendError::Again => self.tally.again += 1,
            PacketSendError::Rung if self.orders.rung > Rung::Send => {
                self.orders.rung = if self.orders.rung == Rung::Gso { Rung::Sendmmsg } else { Rung::Send };
                self.tally.rung = Some(self.orders.rung);
            }
            PacketSendError::Rung | PacketSendError::Other(_) => {
                self.tally.no_buffers += 1;
                crate::socket::sleep_until(Instant::now() + Duration::from_millis(1));
            }
        }
        if matches!(error, PacketSendError::NoBuffers | PacketSendError::Again) {
            crate::socket::sleep_until(Instant::now() + RETRY);
        }
        self.tell_sometimes(Instant::now());
        // Other orders may be a mere change of the rate, which waits for the end of this burst.
        self.mailbox.version.load(Ordering::Acquire) != self.seen && self.mailbox.orders().duty == Duty::End
    }

    fn count_turn(&mut self, now: Instant) {
        self.tally.turns += 1;
        self.tally.looped += now - self.turned;
        self.turned = now;
    }

    fn tell_sometimes(&mut self, now: Instant) {
        if now.saturating_duration_since(self.told) >= TELLS {
            self.told = now;
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.tally.cpu = thread_cpu();
        self.tally.ready = self.ready.now();
        self.tally.written_off = self.written_off_before + self.pacer.packets_written_off();
        self.tally.rung = Some(self.orders.rung);
        self.tally.burst = self.orders.interval.burst();
        self.tally.at = Some(Instant::now());
        self.mailbox.tell(&mut self.tally);
    }
}
