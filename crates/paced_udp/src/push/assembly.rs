//! Assembly of a pushed file: a machine that takes datagrams, gives back whole blocks, and lists missing
//! ones.
//!
//! Blocks are put together in memory and come out whole, to be checked and written at once: a symbol by
//! itself never touches the disk.

use std::collections::BTreeMap;

use raptorq::SymbolSlab;

use super::code::{Code, REPAIRS_MAX};
use super::layout::Layout;
use super::packet::SymbolHeader;
use super::report::{LackReport, LackRun};

/// Blocks in memory at a time. What comes of further ones is dropped, and asked for later.
pub const OPEN_MAX: usize = 128;
/// Room for repair symbols that a block starts with.
const REPAIR_ROOM: usize = 32;
/// Repair symbols that are kept beyond as many as there are sources. So many symbols as sources do not always
/// say enough (one time in 256, RFC 6330 section 1; each one more divides that by 256), and nobody is told
/// which are there: without room for more a block of repairs alone would never end.
const REPAIRS_BEYOND: usize = 16;

/// A block that is not whole yet.
struct OpenBlock {
    slab: SymbolSlab,
    have: Vec<bool>,
    sources: usize,
    repairs: Vec<u32>,
}

impl OpenBlock {
    fn new(symbols: usize, symbol_size: usize) -> Self {
        let slab = SymbolSlab::with_zeros(symbols + REPAIR_ROOM, symbol_size);
        Self { slab, have: vec![false; symbols], sources: 0, repairs: Vec::new() }
    }

    fn clear(&mut self) {
        self.have.fill(false);
        self.sources = 0;
        self.repairs.clear();
    }

    /// Takes a symbol in. False when it is there already.
    fn take(&mut self, symbol: u32, octets: &[u8]) -> bool {
        let place = symbol as usize;
        if let Some(have) = self.have.get_mut(place) {
            let new = !std::mem::replace(have, true);
            if new {
                self.slab.get_mut(place).copy_from_slice(octets);
                self.sources += 1;
            }
            return new;
        }
        let repair = symbol - self.have.len() as u32;
        if self.repairs.len() >= self.have.len() + REPAIRS_BEYOND || self.repairs.contains(&repair) {
            return false;
        }
        let place = self.have.len() + self.repairs.len();
        if place == self.slab.len() {
            self.grow();
        }
        self.slab.get_mut(place).copy_from_slice(octets);
        self.repairs.push(repair);
        true
    }

    fn grow(&mut self) {
        let mut wider = SymbolSlab::with_zeros(self.slab.len() + self.have.len(), self.slab.symbol_size());
        for place in 0..self.slab.len() {
            wider.get_mut(place).copy_from_slice(self.slab.get(place));
        }
        self.slab = wider;
    }

    /// Symbols that are still wanted, at least one.
    fn lacks(&self) -> u16 {
        self.have.len().saturating_sub(self.sources + self.repairs.len()).max(1) as u16
    }
}

/// What a datagram did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramEffect {
    /// It is not of this push, or not of the form agreed.
    Foreign,
    /// It brought nothing new, or there was no room for it.
    Useless,
    /// It was kept.
    Kept,
    /// With it a block is whole: take it with [`Assembly::whole`], then say how it was found.
    Whole(u32),
}

/// What has come of one push.
pub struct Assembly {
    layout: Layout,
    token: u64,
    done: Vec<bool>,
    left: u32,
    open: BTreeMap<u32, OpenBlock>,
    spare: Vec<OpenBlock>,
    code: Code,
    last_code: Code,
    seen: u32,
    came: u32,
    octets: Vec<u8>,
}

impl Assembly {
    /// A push of which the blocks in `done` are there. `done` has an entry for each block.
    pub fn new(layout: Layout, token: u64, done: Vec<bool>) -> Self {
        debug_assert_eq!(done.len(), layout.blocks() as usize);
        let left = done.iter().filter(|done| !**done).count() as u32;
        let last = layout.blocks().saturating_sub(1);
        Self {
            layout,
            token,
            done,
            left,
            open: BTreeMap::new(),
            spare: Vec::new(),
            code: Code::new(layout.symbols(0).max(1)),
            last_code: Code::new(layout.symbols(last).max(1)),
            seen: 0,
            came: 0,
            octets: Vec::new(),
        }
    }

    /// Blocks that lack.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Takes a datagram.
    pub fn take(&mut self, datagram: &[u8]) -> DatagramEffect {
        let Some((header, octets)) = SymbolHeader::read(datagram) else { return DatagramEffect::Foreign };
        let SymbolHeader { token, seq, block, symbol } = header;
        let symbol = u32::from(symbol);
        if token != self.token
            || octets.len() != self.layout.symbol_size()
            || block >= self.layout.blocks()
            || symbol >= self.layout.symbols(block) as u32 + REPAIRS_MAX
        {
            return DatagramEffect::Foreign;
        }
        self.seen = self.seen.max(seq.saturating_add(1));
        self.came = self.came.saturating_add(1);
        if self.done[block as usize] {
            return DatagramEffect::Useless;
        }
        let symbols = self.layout.symbols(block);
        if !self.open.contains_key(&block) && !self.begin(block, symbols) {
            return DatagramEffect::Useless;
        }
        let Some(open) = self.open.get_mut(&block) else { return DatagramEffect::Useless };
        if !open.take(symbol, octets) {
            return DatagramEffect::Useless;
        }
        if open.sources + open.repairs.len() < symbols {
            return DatagramEffect::Kept;
        }
        let code = if symbols == self.code.symbols() { &mut self.code } else { &mut self.last_code };
        if open.sources < symbols && !code.recover(&mut open.slab, &open.have, &open.repairs) {
            return DatagramEffect::Kept;
        }
        DatagramEffect::Whole(block)
    }

    fn begin(&mut self, block: u32, symbols: usize) -> bool {
        if self.open.len() >= OPEN_MAX {
            return false;
        }
        let full = symbols == self.code.symbols();
        let open = match self.spare.pop() {
            Some(open) if full => open,
            _ => OpenBlock::new(symbols, self.layout.symbol_size()),
        };
        self.open.insert(block, open);
        true
    }

    /// The octets of a block that [`Assembly::take`] said is whole. Empty for any other.
    pub fn whole(&mut self, block: u32) -> &[u8] {
        self.octets.clear();
        if let Some(open) = self.open.get(&block) {
            (0..open.have.len()).for_each(|place| self.octets.extend_from_slice(open.slab.get(place)));
            self.octets.truncate(self.layout.block_len(block));
        }
        &self.octets
    }

    /// The whole block is right and kept.
    pub fn finish(&mut self, block: u32) {
        self.drop_open(block);
        if !std::mem::replace(&mut self.done[block as usize], true) {
            self.left -= 1;
        }
    }

    /// The whole block is wrong: all of it is wanted anew.
    pub fn reject(&mut self, block: u32) {
        self.drop_open(block);
    }

    fn drop_open(&mut self, block: u32) {
        if let Some(mut open) = self.open.remove(&block)
            && open.have.len() == self.code.symbols()
        {
            open.clear();
            self.spare.push(open);
        }
    }

    /// What lacks now.
    pub fn report(&self) -> LackReport {
        let blocks = self.layout.blocks();
        let mut report = LackReport { seen: self.seen, came: self.came, upto: blocks, runs: Vec::new() };
        for block in (0..blocks).filter(|block| !self.done[*block as usize]) {
            let lacks = self.open.get(&block).map_or(self.layout.symbols(block) as u16, OpenBlock::lacks);
            let full = report.runs.len() == LackReport::RUNS_MAX;
            match report.runs.last_mut() {
                Some(run) if run.first + run.count == block && run.lacks == lacks => run.count += 1,
                _ if full => {
                    report.upto = block;
                    break;
                }
                _ => report.runs.push(LackRun { first: block, count: 1, lacks }),
            }
        }
        report
    }
}
