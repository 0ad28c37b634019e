//! The sender's thread for data: asks each path's plan what is next, and sends it when it is due.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use raptorq::SymbolSlab;

use super::code::Code;
use super::layout::Layout;
use super::pacer::{Pacer, lasting};
use super::packet::{HEADER_LEN, SymbolHeader};
use super::planner::{Burst, Planner};
use super::report::LackReport;
use super::udp::{SEGMENTS_MAX, Sender};

/// How long a burst lasts at most at the rate asked.
const BURST: Duration = Duration::from_millis(2);
/// How soon a path that has nothing to send is asked again.
const IDLE: Duration = Duration::from_millis(10);
/// How long a group waits, from when its first site is there, for the others: who comes later costs a second
/// pass.
const GATHER_MAX: Duration = Duration::from_secs(3);
/// Octets of the datagrams of one call at most (the UDP limit of 65,507, rounded down).
const BURST_LEN_MAX: usize = 65_000;

/// What happens to a site.
pub enum PushEvent {
    /// It is there: where its data goes (for unicast), and which blocks it has, a bit each.
    Join {
        /// Which site.
        site: usize,
        /// Where its data goes.
        to: SocketAddr,
        /// What it has.
        has: Vec<u8>,
    },
    /// It told what it lacks.
    Report {
        /// Which site.
        site: usize,
        /// What it told.
        report: LackReport,
    },
    /// It is gone, or finished.
    Leave(usize),
}

/// Datagrams that went out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushCounts {
    /// With source symbols.
    pub sources: u64,
    /// With repair symbols.
    pub repairs: u64,
}

/// What the thread needs.
pub struct PushThread {
    /// The file.
    pub file: File,
    /// How it is cut.
    pub layout: Layout,
    /// The push's token.
    pub token: u64,
    /// Bits per second of each path, all octets of UDP datagrams counted.
    pub rate: u64,
    /// The group, or none for unicast.
    pub group: Option<SocketAddr>,
    /// The socket.
    pub socket: Sender,
    /// Number of sites.
    pub sites: usize,
    /// When the first datagram went out, on each path: one for a group, one for each site by unicast.
    pub began: Arc<[OnceLock<Instant>]>,
}

/// One flow: to a site, or to the group.
struct Path {
    planner: Planner,
    to: Option<SocketAddr>,
    pacer: Pacer,
    /// The blocks last used, the last one first.
    blocks: Vec<(u32, SymbolSlab)>,
    again: Instant,
    /// Nothing was sent because nothing was to be sent.
    resting: bool,
    /// Sites that came, or did not: for a group that gathers.
    settled: Vec<bool>,
    gathered_by: Option<Instant>,
}

impl PushThread {
    /// Runs until nobody can tell it anything any more.
    pub fn run(mut self, events: &Receiver<PushEvent>) -> io::Result<PushCounts> {
        let now = Instant::now();
        let paths = if self.group.is_some() { 1 } else { self.sites };
        let mut paths: Vec<Path> = (0..paths).map(|_| self.path(now)).collect();
        let mut codes = Codes::new(&self.layout);
        let mut octets = Vec::with_capacity(BURST_LEN_MAX);
        loop {
            let now = Instant::now();
            let mut next = now + IDLE;
            for (number, path) in paths.iter_mut().enumerate() {
                if path.to.is_some() && path.planner.anybody() && path.gathered(now) {
                    next = next.min(self.turn(path, &mut codes, &mut octets)?);
                    if path.planner.counts().0 > 0 {
                        self.began[number].get_or_init(|| now);
                    }
                }
            }
            let wait = next.saturating_duration_since(Instant::now());
            match events.recv_timeout(wait) {
                Ok(event) => self.hear(&mut paths, event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Ok(event) = events.try_recv() {
                self.hear(&mut paths, event);
            }
        }
        let counts = paths.iter().map(|path| path.planner.counts());
        let (sources, repairs) = counts.fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        Ok(PushCounts { sources, repairs })
    }

    fn path(&self, now: Instant) -> Path {
        let sites = if self.group.is_some() { self.sites } else { 1 };
        let planner = Planner::new(now, self.layout, sites);
        let settled = vec![false; sites];
        Path {
            planner,
            to: self.group,
            pacer: Pacer::new(now),
            blocks: Vec::new(),
            again: now,
            resting: true,
            settled,
            gathered_by: None,
        }
    }

    fn hear(&self, paths: &mut [Path], event: PushEvent) {
        let place = |site: usize| if self.group.is_some() { (0, site) } else { (site, 0) };
        let now = Instant::now();
        match event {
            PushEvent::Join { site, to, has } => {
                let (path, member) = place(site);
                paths[path].to = self.group.or(Some(to));
                let bit = |block: u32| {
                    has.get(block as usize / 8).is_some_and(|octet| octet >> (block % 8) & 1 == 1)
                };
                paths[path].planner.join(now, member, bit);
                paths[path].again = now;
                paths[path].settled[member] = true;
                paths[path].gathered_by.get_or_insert(now + GATHER_MAX);
            }
            PushEvent::Report { site, report } => {
                let (path, member) = place(site);
                paths[path].planner.report(now, member, &report);
                paths[path].again = now;
            }
            PushEvent::Leave(site) => {
                let (path, member) = place(site);
                paths[path].planner.leave(member);
                paths[path].settled[member] = true;
            }
        }
    }

    /// Sends what is due on a path, a burst at most. When to ask again.
    fn turn(&mut self, path: &mut Path, codes: &mut Codes, octets: &mut Vec<u8>) -> io::Result<Instant> {
        let now = Instant::now();
        let due = path.pacer.due().max(path.again);
        if due > now {
            return Ok(due);
        }
        let Some(burst) = path.planner.next(now, self.burst_max()) else {
            path.again = now + IDLE;
            path.resting = true;
            return Ok(path.again);
        };
        // Lateness may be made up for, rest may not.
        if std::mem::take(&mut path.resting) {
            path.pacer = Pacer::new(now);
        }
        self.fill(path, codes, burst, octets)?;
        if let Some(to) = path.to {
            // What the network does not take is lost like any datagram: reports tell, and a site that hears
            // nothing for long is given up by its own task.
            let _ = self.socket.send(to, octets, HEADER_LEN + self.layout.symbol_size());
        }
        path.pacer.set_interval(lasting(octets.len() as u64, self.rate));
        path.pacer.sent(now);
        Ok(path.pacer.due())
    }

    /// Symbols of a burst at most.
    fn burst_max(&self) -> u32 {
        let one = HEADER_LEN + self.layout.symbol_size();
        let most = SEGMENTS_MAX.min(BURST_LEN_MAX / one).max(1) as u128;
        let at_rate = BURST.as_nanos() / lasting(one as u64, self.rate).as_nanos().max(1);
        at_rate.clamp(1, most) as u32
    }

    fn fill(&self, path: &mut Path, codes: &mut Codes, burst: Burst, octets: &mut Vec<u8>) -> io::Result<()> {
        let symbols = self.layout.symbols(burst.block);
        self.load(path, burst.block, symbols)?;
        let slab = &mut path.blocks[0].1;
        octets.clear();
        for index in 0..burst.count {
            let symbol = burst.symbol + index;
            let place = (symbol as usize).min(symbols);
            if place == symbols {
                codes.of(symbols).repair(slab, symbol - symbols as u32, symbols);
            }
            let mut header = [0; HEADER_LEN];
            let (token, seq, block) = (self.token, burst.seq.wrapping_add(index), burst.block);
            SymbolHeader { token, seq, block, symbol: symbol as u16 }.write(&mut header);
            octets.extend_from_slice(&header);
            octets.extend_from_slice(slab.get(place));
        }
        Ok(())
    }

    /// Makes a block the first of those at hand: sources are sent from one, repairs from another.
    fn load(&self, path: &mut Path, block: u32, symbols: usize) -> io::Result<()> {
        if let Some(place) = path.blocks.iter().position(|(at, _)| *at == block) {
            path.blocks.swap(0, place);
            return Ok(());
        }
        let mut slab = match path.blocks.pop_if(|(_, slab)| slab.len() == symbols + 1) {
            Some((_, slab)) if path.blocks.len() == 1 => slab,
            _ => SymbolSlab::with_zeros(symbols + 1, self.layout.symbol_size()),
        };
        path.blocks.truncate(1);
        let mut octets = vec![0; self.layout.block_len(block)];
        self.file.read_exact_at(&mut octets, self.layout.offset(block))?;
        for (place, part) in octets.chunks(self.layout.symbol_size()).enumerate() {
            let symbol = slab.get_mut(place);
            symbol[..part.len()].copy_from_slice(part);
            symbol[part.len()..].fill(0);
        }
        path.blocks.insert(0, (block, slab));
        Ok(())
    }
}

impl Path {
    /// Whether every site came or did not, or there was time enough to come.
    fn gathered(&self, now: Instant) -> bool {
        self.gathered_by.is_some_and(|by| now >= by) || self.settled.iter().all(|settled| *settled)
    }
}

/// The codes of a file's blocks: of all but the last, and of the last.
struct Codes {
    usual: Code,
    last: Code,
}

impl Codes {
    fn new(layout: &Layout) -> Self {
        let last = layout.blocks().saturating_sub(1);
        Self { usual: Code::new(layout.symbols(0).max(1)), last: Code::new(layout.symbols(last).max(1)) }
    }

    fn of(&mut self, symbols: usize) -> &mut Code {
        if symbols == self.usual.symbols() { &mut self.usual } else { &mut self.last }
    }
}
