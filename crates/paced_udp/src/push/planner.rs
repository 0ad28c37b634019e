//! Planner chooses what a path sends next: a machine without sockets and without a clock.
//!
//! A path is one site, or a multicast group of them. Sources go out first, block after block. What sites say
//! they lack is answered by repair symbols, before new sources, as many as the site with the greatest need
//! wants. Towards the end, when there is nothing else to fill the pipe with, losses are repaired before they
//! are told of. Who comes late waits for another pass over the file: repairs in place of all that it missed
//! would hold up those there from the start.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use super::code::REPAIRS_MAX;
use super::layout::Layout;
use super::report::LackReport;

/// Standard deviations of loss that are repaired beforehand at the end: a few symbols, where a block that
/// still lacks one costs a round trip.
const FORESIGHT: f64 = 3.5;
/// Of a block that lacks more than this part, sources are sent once more instead of repairs.
const WHOLE_PART: f64 = 0.75;
/// Loss beyond which we do not repair beforehand.
const LOSS_MAX: f64 = 0.5;
/// How long a datagram and the report on it take, before we know better.
const FLIGHT_START: Duration = Duration::from_millis(200);
/// What a report that says nothing of a datagram may be late, beyond its usual time and four times the
/// deviation of that, before the datagram counts as lost (as RFC 6298, section 2, waits): a site tells every
/// 20 ms.
const LATENESS: Duration = Duration::from_millis(20);
/// For a site that is silent for longer than this no repairs are sent until it speaks again: all that goes
/// out would seem lost to it, and hold up the others. Reports come every 20 ms.
const REPAIRS_UNTIL: Duration = Duration::from_millis(150);
/// And no sources for one that is silent for longer than this.
const SOURCES_UNTIL: Duration = Duration::from_millis(700);
/// How often it is noted when which datagram went out.
const MARK_EVERY: Duration = Duration::from_millis(5);
/// Notes that are kept: ten seconds of them.
const MARKS_MAX: usize = 2_048;
/// How fast older losses are forgotten, by report.
const FADE: f64 = 0.95;

/// Symbols of one block that go out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Number of the first datagram.
    pub seq: u32,
    /// The block.
    pub block: u32,
    /// The first symbol.
    pub symbol: u32,
    /// How many, in a row.
    pub count: u32,
}

/// A site as its path sees it.
struct Site {
    lacks: Vec<u16>,
    left: u32,
    seen: u32,
    came: u32,
    lost: f64,
    sent: f64,
    heard: Instant,
    /// How long it takes to hear of a datagram from it, and how much that varies.
    flight: Duration,
    varies: Duration,
    /// Datagrams before this one are no longer under way to it: a report came that should have told of them.
    overdue: u32,
}

impl Site {
    fn new(lacks: Vec<u16>, seen: u32, now: Instant) -> Site {
        let left = lacks.iter().filter(|lacks| **lacks > 0).count() as u32;
        let (flight, varies) = (FLIGHT_START, FLIGHT_START / 2);
        Site { lacks, left, seen, came: 0, lost: 0.0, sent: 0.0, heard: now, flight, varies, overdue: 0 }
    }

    /// It was heard of a datagram so long after it was sent.
    fn flew(&mut self, took: Duration) {
        self.varies = (self.varies * 3 + self.flight.abs_diff(took)) / 4;
        self.flight = (self.flight * 7 + took) / 8;
    }

    fn patience(&self) -> Duration {
        self.flight + self.varies * 4 + LATENESS
    }

    /// Up to where it has, or will not get, what was sent.
    fn settled(&self) -> u32 {
        self.seen.max(self.overdue)
    }

    fn loss(&self) -> f64 {
        if self.sent < 1.0 { 0.0 } else { (self.lost / self.sent).clamp(0.0, LOSS_MAX) }
    }

    fn set(&mut self, block: u32, lacks: u16) {
        let old = std::mem::replace(&mut self.lacks[block as usize], lacks);
        match (old, lacks) {
            (0, 1..) => self.left += 1,
            (1.., 0) => self.left -= 1,
            _ => {}
        }
    }
}

/// What was sent of a block.
#[derive(Default)]
struct SentSymbols {
    repairs: u32,
    bursts: VecDeque<(u32, u32)>,
}

/// The plan of one path.
pub struct Planner {
    layout: Layout,
    sites: Vec<Option<Site>>,
    sent: Vec<SentSymbols>,
    /// Blocks of which something was sent and something is lacking.
    open: BTreeSet<u32>,
    cursor: Option<(u32, u32)>,
    seq: u32,
    sources: u64,
    repairs: u64,
    /// When which datagram went out.
    marks: VecDeque<(u32, Instant)>,
    /// Nothing has changed since there was nothing to send.
    idle: bool,
    /// When we were last asked or told anything.
    now: Instant,
}

impl Planner {
    /// A plan for `sites` sites, none of which is there yet.
    pub fn new(now: Instant, layout: Layout, sites: usize) -> Self {
        Self {
            layout,
            sites: (0..sites).map(|_| None).collect(),
            sent: (0..layout.blocks()).map(|_| SentSymbols::default()).collect(),
            open: BTreeSet::new(),
            cursor: None,
            seq: 0,
            sources: 0,
            repairs: 0,
            marks: VecDeque::new(),
            idle: false,
            now,
        }
    }

    /// A site is there, and has the blocks of which `has` says so.
    pub fn join(&mut self, now: Instant, site: usize, has: impl Fn(u32) -> bool) {
        let lacks: Vec<u16> = (0..self.layout.blocks())
            .map(|block| if has(block) { 0 } else { self.layout.symbols(block) as u16 })
            .collect();
        self.sites[site] = Some(Site::new(lacks, self.seq, now));
        (self.idle, self.now) = (false, now);
    }

    /// A site is gone, or finished.
    pub fn leave(&mut self, site: usize) {
        self.sites[site] = None;
    }

    /// Whether any site is there.
    pub fn anybody(&self) -> bool {
        self.sites.iter().any(Option::is_some)
    }

    /// Blocks that a site lacks. None when it is not there.
    #[cfg(test)]
    pub fn left(&self, site: usize) -> Option<u32> {
        self.sites[site].as_ref().map(|site| site.left)
    }

    /// Datagrams with sources and with repairs so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.sources, self.repairs)
    }

    /// A site told what it lacks. What it claims to have seen that was not sent is not believed.
    pub fn report(&mut self, now: Instant, site: usize, report: &LackReport) {
        let seq = self.seq;
        self.now = now;
        let Some(state) = self.sites[site].as_mut() else { return };
        if report.seen > seq || report.seen != 0 && report.seen < state.seen {
            return;
        }
        state.heard = now;
        let seen = report.seen.max(state.seen);
        if seen > state.seen
            && let Some((_, at)) = self.marks.iter().rev().find(|(seq, _)| *seq < seen)
        {
            state.flew(now.saturating_duration_since(*at));
        }
        let patience = state.patience();
        let is_late = |(_, at): &(u32, Instant)| now.saturating_duration_since(*at) > patience;
        // A mark stands for all that went out from it to the next one.
        let late = self.marks.partition_point(is_late);
        if late > 0 {
            state.overdue = self.marks.get(late).map_or(seq, |(seq, _)| *seq);
        }
        let (sent, came) = (seen - state.seen, report.came.saturating_sub(state.came));
        state.sent = state.sent * FADE + f64::from(sent);
        state.lost = state.lost * FADE + f64::from(sent.saturating_sub(came));
        (state.seen, state.came) = (seen, report.came.max(state.came));
        let mut next = 0;
        for run in &report.runs {
            (next..run.first).for_each(|block| state.set(block, 0));
            for block in run.first..run.first + run.count {
                state.set(block, run.lacks.min(self.layout.symbols(block) as u16));
            }
            next = run.first + run.count;
        }
        (next..report.upto.min(self.layout.blocks())).for_each(|block| state.set(block, 0));
        // A block that was closed because its datagrams seemed lost may turn out to lack only a part.
        for run in &report.runs {
            if !self.wholly(u32::from(run.lacks), run.first) {
                self.open.extend(run.first..run.first + run.count);
            }
        }
        self.idle = false;
        self.trim();
    }

    /// The next burst, of `most` symbols at most. None when all that is known to lack is under way; then ask
    /// again after the next report: a site that is silent may only be late, and what it has not told of is
    /// not sent again before it speaks.
    pub fn next(&mut self, now: Instant, most: u32) -> Option<Burst> {
        self.now = now;
        if self.idle || !self.anybody() {
            return None;
        }
        let ending = self.ending();
        let burst = match self.wanted_repairs(ending) {
            Some((block, wanted)) => Some(self.send_repairs(block, wanted.min(most))),
            None => self.send_sources(most),
        };
        self.idle = burst.is_none();
        if let Some(burst) = burst
            && self.marks.back().is_none_or(|(_, at)| now.saturating_duration_since(*at) >= MARK_EVERY)
        {
            self.marks.push_back((burst.seq, now));
            if self.marks.len() > MARKS_MAX {
                self.marks.pop_front();
            }
        }
        burst
    }

    /// The first open block that wants repairs, and how many.
    fn wanted_repairs(&self, ending: bool) -> Option<(u32, u32)> {
        self.open.iter().find_map(|block| {
            if self.cursor.is_some_and(|(at, _)| at == *block) {
                return None;
            }
            let wanted = self.live().map(|site| self.wants(site, *block, ending)).max().unwrap_or(0);
            (wanted > 0).then_some((*block, wanted))
        })
    }

    /// The sites that are there and spoke not longer ago than this.
    fn heard(&self, within: Duration) -> impl Iterator<Item = &Site> {
        self.sites
            .iter()
            .flatten()
            .filter(move |site| self.now.saturating_duration_since(site.heard) <= within)
    }

    fn live(&self) -> impl Iterator<Item = &Site> {
        self.heard(REPAIRS_UNTIL)
    }

    /// How many more symbols a site wants of a block beyond those under way.
    fn wants(&self, site: &Site, block: u32, ending: bool) -> u32 {
        let lacks = u32::from(site.lacks[block as usize]);
        let under_way = self.under_way(site, block);
        if lacks == 0 || self.wholly(lacks.saturating_sub(under_way), block) {
            return 0;
        }
        if !ending {
            return lacks.saturating_sub(under_way);
        }
        let (loss, under_way) = (site.loss(), f64::from(under_way));
        let arrives = under_way * (1.0 - loss) - FORESIGHT * (under_way * loss * (1.0 - loss)).sqrt();
        ((f64::from(lacks) - arrives) / (1.0 - loss)).ceil().max(0.0) as u32
    }

    /// Whether so much of a block lacks that its sources are sent once more.
    fn wholly(&self, lacks: u32, block: u32) -> bool {
        f64::from(lacks) >= WHOLE_PART * self.layout.symbols(block) as f64
    }

    fn under_way(&self, site: &Site, block: u32) -> u32 {
        let heard = site.settled();
        let bursts = self.sent[block as usize].bursts.iter().rev().map(|(seq, count)| (seq + count, *count));
        bursts.take_while(|(end, _)| *end > heard).map(|(end, count)| (end - heard).min(count)).sum()
    }

    /// Whether what is left of the sources is no more than what is under way: then waiting for reports would
    /// let the pipe run dry.
    fn ending(&self) -> bool {
        let Some((block, symbol)) = self.cursor else { return self.seq > 0 };
        let under_way = self.live().map(|site| self.seq - site.seen).max().unwrap_or(0);
        let left = self.layout.size() - self.layout.offset(block);
        let left = left / self.layout.symbol_size() as u64;
        left.saturating_sub(u64::from(symbol)) <= u64::from(under_way)
    }

    fn send_repairs(&mut self, block: u32, count: u32) -> Burst {
        let first = self.sent[block as usize].repairs;
        let count = count.min(REPAIRS_MAX - first);
        self.sent[block as usize].repairs = (first + count) % REPAIRS_MAX;
        self.repairs += u64::from(count);
        self.note(block, self.layout.symbols(block) as u32 + first, count)
    }

    fn send_sources(&mut self, most: u32) -> Option<Burst> {
        let (block, symbol) = match self.cursor {
            Some(at) => at,
            None => (self.next_whole(0)?, 0),
        };
        let symbols = self.layout.symbols(block) as u32;
        let count = most.min(symbols - symbol);
        let burst = self.note(block, symbol, count);
        self.sources += u64::from(count);
        self.cursor = if symbol + count < symbols {
            Some((block, symbol + count))
        } else {
            self.next_whole(block + 1).map(|block| (block, 0))
        };
        Some(burst)
    }

    /// The next block that a site lacks wholly, beyond what is under way of it.
    fn next_whole(&self, from: u32) -> Option<u32> {
        (from..self.layout.blocks()).find(|block| {
            self.heard(SOURCES_UNTIL).any(|site| {
                let lacks = u32::from(site.lacks[*block as usize]);
                lacks > 0 && self.wholly(lacks.saturating_sub(self.under_way(site, *block)), *block)
            })
        })
    }

    fn note(&mut self, block: u32, symbol: u32, count: u32) -> Burst {
        let burst = Burst { seq: self.seq, block, symbol, count };
        self.seq += count;
        self.open.insert(block);
        let bursts = &mut self.sent[block as usize].bursts;
        match bursts.back_mut() {
            Some((seq, before)) if *seq + *before == burst.seq => *before += count,
            _ => bursts.push_back((burst.seq, count)),
        }
        burst
    }

    /// Forgets bursts that every site has behind it, and blocks that nobody lacks a part of.
    fn trim(&mut self) {
        let Some(seen) = self.live().map(Site::settled).min() else { return };
        let mut closed = Vec::new();
        for &block in &self.open {
            let bursts = &mut self.sent[block as usize].bursts;
            while bursts.front().is_some_and(|(seq, count)| seq + count <= seen) {
                bursts.pop_front();
            }
            let under_way = !self.sent[block as usize].bursts.is_empty();
            let part = |site: &Site| {
                let lacks = u32::from(site.lacks[block as usize]);
                lacks > 0 && (under_way || !self.wholly(lacks, block))
            };
            if !self.sites.iter().flatten().any(part) {
                closed.push(block);
            }
        }
        closed.iter().for_each(|block| {
            self.open.remove(block);
            self.sent[*block as usize].bursts.clear();
        });
    }
}
