//! Simulation of the goodput of the worst of many sites, by the plan alone: virtual time, symbols counted
//! instead of made, no processor in the way. What a real push gets is this, less what the machine takes.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use super::layout::Layout;
use super::packet::HEADER_LEN;
use super::planner::{Burst, Planner};
use super::report::{LackReport, LackRun};

const REPORT_EVERY: Duration = Duration::from_millis(20);
/// Each way.
const DELAY: Duration = Duration::from_millis(50);
/// As long as twenty receivers that solve at once keep two processors from each other.
const STALL: Duration = Duration::from_millis(80);
/// A path that had nothing to send is asked again.
const IDLE: Duration = Duration::from_millis(1);

struct Rng(u64);

impl Rng {
    fn lost(&mut self, part: f64) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 / (1u64 << 53) as f64) < part
    }
}

/// What one site has: symbols of each block, and which of the sources.
#[derive(Clone)]
struct Site {
    came: Vec<u32>,
    seen: u32,
    datagrams: u32,
    left: u32,
    sources: HashSet<(u32, u32)>,
    /// What came while it had no processor: it takes it up then.
    inbox: VecDeque<(Burst, Vec<u32>)>,
    busy_until: Duration,
    told: Duration,
    /// From when it is there.
    here_from: Duration,
    joined: bool,
    /// When its receipt was back at the sender.
    receipt: Option<Duration>,
}

impl Site {
    fn take(&mut self, layout: &Layout, burst: &Burst, index: u32) {
        (self.seen, self.datagrams) = (self.seen.max(burst.seq + index + 1), self.datagrams + 1);
        let (block, symbol) = (burst.block as usize, burst.symbol + index);
        let symbols = layout.symbols(burst.block) as u32;
        let is_new = symbol >= symbols || self.sources.insert((burst.block, symbol));
        if is_new && self.came[block] < symbols {
            self.came[block] += 1;
            self.left -= u32::from(self.came[block] == symbols);
        }
    }

    fn report(&self, layout: &Layout) -> LackReport {
        let lacks = |block: u32| (layout.symbols(block) as u32 - self.came[block as usize]) as u16;
        let mut report =
            LackReport { seen: self.seen, came: self.datagrams, upto: layout.blocks(), runs: Vec::new() };
        for block in (0..layout.blocks()).filter(|block| lacks(*block) > 0) {
            let full = report.runs.len() == LackReport::RUNS_MAX;
            match report.runs.last_mut() {
                Some(run) if run.first + run.count == block && run.lacks == lacks(block) => run.count += 1,
                _ if full => {
                    report.upto = block;
                    break;
                }
                _ => report.runs.push(LackRun { first: block, count: 1, lacks: lacks(block) }),
            }
        }
        report
    }
}

/// A group on a wire.
struct Wire {
    layout: Layout,
    loss: f64,
    /// Of a site's moments of [`REPORT_EVERY`], those in which it stands still for [`STALL`].
    stalls: f64,
    delay: Duration,
    rng: Rng,
    sites: Vec<Site>,
    start: Instant,
    planner: Planner,
    bursts: BTreeMap<(Duration, u32), Burst>,
    reports: BTreeMap<(Duration, usize), LackReport>,
}

impl Wire {
    fn new(layout: Layout, sites: usize, loss: f64, stalls: f64, seed: u64) -> Wire {
        let start = Instant::now();
        let planner = Planner::new(start, layout, sites);
        let blocks = layout.blocks() as usize;
        let site = Site {
            came: vec![0; blocks],
            seen: 0,
            datagrams: 0,
            left: layout.blocks(),
            sources: HashSet::new(),
            inbox: VecDeque::new(),
            busy_until: Duration::ZERO,
            told: Duration::ZERO,
            here_from: Duration::ZERO,
            joined: false,
            receipt: None,
        };
        Wire {
            layout,
            loss,
            stalls,
            delay: DELAY,
            rng: Rng(seed * 2 + 1),
            sites: vec![site; sites],
            start,
            planner,
            bursts: BTreeMap::new(),
            reports: BTreeMap::new(),
        }
    }

    /// Pushes with so much time for a datagram, so many of them in a burst. When the last receipt was back.
    fn push(&mut self, datagram: Duration, burst_max: u32) -> Duration {
        let (mut now, mut due) = (Duration::ZERO, Duration::ZERO);
        while self.sites.iter().any(|site| site.receipt.is_none()) {
            assert!(now < Duration::from_secs(60), "no end");
            self.join(now);
            self.arrive(now);
            self.take_in(now);
            if now >= due {
                due = match self.planner.next(self.start + now, burst_max) {
                    Some(burst) => {
                        self.bursts.insert((now + self.delay, burst.seq), burst);
                        due.max(now) + datagram * burst.count
                    }
                    None => now + IDLE,
                };
            }
            now = due.min(now + IDLE);
        }
        self.sites.iter().filter_map(|site| site.receipt).max().unwrap_or_default()
    }

    fn join(&mut self, now: Duration) {
        for (number, site) in self.sites.iter_mut().enumerate() {
            if !site.joined && site.here_from <= now {
                site.joined = true;
                self.planner.join(self.start + now, number, |_| false);
            }
        }
    }

    fn arrive(&mut self, now: Duration) {
        while let Some(entry) = self.bursts.first_entry()
            && entry.key().0 <= now
        {
            let burst = entry.remove();
            for site in self.sites.iter_mut().filter(|site| site.joined) {
                let came = (0..burst.count).filter(|_| !self.rng.lost(self.loss)).collect();
                site.inbox.push_back((burst, came));
            }
        }
        while let Some(entry) = self.reports.first_entry()
            && entry.key().0 <= now
        {
            let ((_, site), report) = entry.remove_entry();
            self.planner.report(self.start + now, site, &report);
        }
    }

    /// Each site that has a processor now takes up what has come, and tells.
    fn take_in(&mut self, now: Duration) {
        for (number, site) in self.sites.iter_mut().enumerate() {
            if now < site.busy_until || !site.joined {
                continue;
            }
            while let Some((burst, came)) = site.inbox.pop_front() {
                came.iter().for_each(|index| site.take(&self.layout, &burst, *index));
            }
            if site.left == 0 && site.receipt.is_none() {
                site.receipt = Some(now + self.delay);
            }
            if now >= site.told + REPORT_EVERY {
                site.told = now;
                if !self.rng.lost(self.loss) {
                    self.reports.insert((now + self.delay, number), site.report(&self.layout));
                }
                if self.rng.lost(self.stalls) {
                    site.busy_until = now + STALL;
                }
            }
        }
    }
}

/// Of the rate asked, what the worst site gets of 100 MB.
fn goodput(sites: usize, rate: f64, loss: f64, stalls: f64, seed: u64) -> (f64, u64) {
    let (part, _, repairs) = goodput_beside(sites, rate, loss, stalls, seed, Duration::ZERO);
    (part, repairs)
}

/// What the worst of those gets that are there from the start, where the last one comes late; and when that
/// one has all.
fn goodput_beside(
    sites: usize,
    rate: f64,
    loss: f64,
    stalls: f64,
    seed: u64,
    late: Duration,
) -> (f64, Duration, u64) {
    let layout = Layout::usual(100_000_000).unwrap();
    let octets = (HEADER_LEN + layout.symbol_size()) as f64;
    let datagram = Duration::from_secs_f64(octets * 8.0 / rate);
    let burst = (0.002 / datagram.as_secs_f64()).max(1.0) as u32;
    let mut wire = Wire::new(layout, sites, loss, stalls, seed);
    wire.sites[sites - 1].here_from = late;
    let all = wire.push(datagram, burst);
    let there = wire.sites.iter().filter(|site| site.here_from.is_zero());
    let took = there.filter_map(|site| site.receipt).max().unwrap_or_default();
    (layout.size() as f64 * 8.0 / rate / took.as_secs_f64(), all, wire.planner.counts().1)
}

#[test]
fn who_comes_late_to_a_group_costs_the_others_no_round_trip() {
    for late in [500, 2_000, 4_000].map(Duration::from_millis) {
        for seed in 1..=3 {
            let (part, all, repairs) = goodput_beside(20, 200e6, 0.05, 0.0, seed, late);
            assert!(part >= 0.89, "late by {late:?}, {seed}: {part}, {repairs} repairs");
            assert!(all < late + Duration::from_secs(8), "late by {late:?}, {seed}: all after {all:?}");
        }
    }
}

#[test]
fn the_worst_of_twenty_sites_gets_its_part_of_the_rate() {
    for (sites, rate, loss, stalls, least) in [
        (20, 200e6, 0.01, 0.0, 0.935),
        (20, 200e6, 0.05, 0.0, 0.89),
        (20, 200e6, 0.05, 0.1, 0.87),
        (1, 20e6, 0.01, 0.0, 0.97),
        (1, 20e6, 0.05, 0.0, 0.93),
    ] {
        for seed in 1..=2 {
            let (part, repairs) = goodput(sites, rate, loss, stalls, seed);
            assert!(
                part >= least,
                "{sites} sites at {rate}, {loss} lost, {stalls} still: {part}, {repairs} repairs"
            );
        }
    }
}
