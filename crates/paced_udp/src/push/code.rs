//! RaptorQ (RFC 6330) for blocks that lack little: repair symbols from coefficients, and recovery of only
//! what is missing.
//!
//! Every repair symbol is a sum over GF(256) of the block's source symbols, with coefficients that depend on
//! the number of symbols alone. The crate `raptorq` gives them: it is asked to encode the unit matrix once.
//! What is sent is octet for octet what that crate would send, and it can read what we send. But its own
//! decoder solves for all intermediate symbols of a block even when one symbol is missing; solving for the
//! missing ones alone is many times cheaper at a loss of some per cent, and twenty receivers on one machine
//! need that.

use std::cell::OnceCell;

use raptorq::{ObjectTransmissionInformation, Octet, SourceBlockEncoder, SymbolSlab};

/// Repair symbols of a block that have numbers of their own; after them the sender begins anew.
pub const REPAIRS_MAX: u32 = 1 << 14;

/// The code of blocks with one number of source symbols.
pub struct Code {
    symbols: usize,
    /// The unit matrix encoded, once it is needed: that takes milliseconds, and a push without loss needs
    /// none.
    unit: OnceCell<SourceBlockEncoder>,
    rows: Vec<Box<[u8]>>,
}

impl Code {
    /// The code for blocks of `symbols` source symbols, 1 to [`super::layout::BLOCK_SYMBOLS_MAX`].
    pub fn new(symbols: usize) -> Self {
        Self { symbols, unit: OnceCell::new(), rows: Vec::new() }
    }

    /// Number of source symbols.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// The coefficients of a repair symbol, one for each source symbol. `repair` counts from 0, below
    /// [`REPAIRS_MAX`].
    fn row(&mut self, repair: u32) -> &[u8] {
        let wanted = repair as usize + 1;
        if self.rows.len() < wanted {
            let more = (wanted - self.rows.len()).next_multiple_of(16);
            let unit = self.unit.get_or_init(|| encode_unit_matrix(self.symbols));
            let packets = unit.repair_packets(self.rows.len() as u32, more as u32);
            self.rows.extend(packets.iter().map(|packet| Box::from(&packet.data()[..self.symbols])));
        }
        &self.rows[repair as usize]
    }

    /// Puts the repair symbol `repair` of the block in the first places of `slab` at the place `into` behind
    /// them.
    pub fn repair(&mut self, slab: &mut SymbolSlab, repair: u32, into: usize) {
        slab.get_mut(into).fill(0);
        let row = self.row(repair);
        for (source, coefficient) in row.iter().enumerate() {
            add_times(slab, into, source, *coefficient);
        }
    }

    /// Finds the missing source symbols: `have` says which places of `slab` are filled, `repairs` which
    /// repair symbols stand in the places behind the sources, in that order. False when they do not say
    /// enough, and then nothing has changed.
    pub fn recover(&mut self, slab: &mut SymbolSlab, have: &[bool], repairs: &[u32]) -> bool {
        let missing: Vec<usize> = (0..self.symbols).filter(|place| !have[*place]).collect();
        if missing.len() > repairs.len() {
            return false;
        }
        let mut equations = self.equations(repairs);
        let Some(pivots) = solve(&mut equations, repairs.len(), &missing) else { return false };
        for (place, equation) in missing.iter().zip(pivots) {
            slab.get_mut(*place).fill(0);
            let row = equations.get(equation);
            for (source, coefficient) in row[..self.symbols].iter().enumerate() {
                if have[source] {
                    add_times(slab, *place, source, *coefficient);
                }
            }
            for (index, coefficient) in row[self.symbols..self.symbols + repairs.len()].iter().enumerate() {
                add_times(slab, *place, self.symbols + index, *coefficient);
            }
        }
        true
    }

    /// An equation for each repair symbol: coefficients of the source symbols, then of the repair symbols.
    fn equations(&mut self, repairs: &[u32]) -> SymbolSlab {
        let symbols = self.symbols;
        let mut equations = SymbolSlab::with_zeros(repairs.len(), symbols + repairs.len());
        for (index, repair) in repairs.iter().enumerate() {
            let line = equations.get_mut(index);
            line[..symbols].copy_from_slice(self.row(*repair));
            line[symbols + index] = 1;
        }
        equations
    }
}

fn encode_unit_matrix(symbols: usize) -> SourceBlockEncoder {
    let width = symbols.next_multiple_of(8);
    let mut matrix = vec![0; symbols * width];
    for place in 0..symbols {
        matrix[place * width + place] = 1;
    }
    let info = ObjectTransmissionInformation::new(matrix.len() as u64, width as u16, 1, 1, 8);
    SourceBlockEncoder::new(0, &info, &matrix)
}

/// Gauss and Jordan on the columns of what is missing; which equation then tells which of them.
fn solve(equations: &mut SymbolSlab, count: usize, missing: &[usize]) -> Option<Vec<usize>> {
    let mut used = vec![false; count];
    let mut pivots = Vec::with_capacity(missing.len());
    for &column in missing {
        let pivot = (0..count).find(|line| !used[*line] && equations.get(*line)[column] != 0)?;
        used[pivot] = true;
        pivots.push(pivot);
        let scale = inverse(equations.get(pivot)[column]);
        if scale != 1 {
            equations.mulassign_scalar(pivot, &Octet::new(scale));
        }
        for line in (0..count).filter(|line| *line != pivot) {
            let factor = equations.get(line)[column];
            add_times(equations, line, pivot, factor);
        }
    }
    Some(pivots)
}

fn add_times(slab: &mut SymbolSlab, into: usize, from: usize, coefficient: u8) {
    match coefficient {
        0 => {}
        1 => slab.add_assign(into, from),
        other => slab.fma(into, from, &Octet::new(other)),
    }
}

/// The inverse in the field of RFC 6330, section 5.7.2 (polynomial 0x11D): the power 254.
fn inverse(octet: u8) -> u8 {
    let mut power = octet;
    for _ in 0..6 {
        power = times(times(power, power), octet);
    }
    times(power, power)
}

fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1D } else { 0 };
        b >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raptorq::{EncodingPacket, PayloadId, SourceBlockDecoder};

    const SIZE: usize = 24;

    fn filled(symbols: usize, repairs: usize, seed: u64) -> SymbolSlab {
        let mut slab = SymbolSlab::with_zeros(symbols + repairs, SIZE);
        let mut state = seed | 1;
        for place in 0..symbols {
            for octet in slab.get_mut(place) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *octet = (state >> 33) as u8;
            }
        }
        slab
    }

    fn info(symbols: usize) -> ObjectTransmissionInformation {
        ObjectTransmissionInformation::new((symbols * SIZE) as u64, SIZE as u16, 1, 1, 8)
    }

    #[test]
    fn every_octet_but_zero_has_an_inverse() {
        for octet in 1..=255 {
            assert_eq!(times(octet, inverse(octet)), 1);
        }
    }

    #[test]
    fn repair_symbols_are_those_of_the_crate() {
        for symbols in [1, 2, 10, 11, 75, 187] {
            let mut slab = filled(symbols, 1, 7);
            let data: Vec<u8> = (0..symbols).flat_map(|place| slab.get(place).to_vec()).collect();
            let theirs = SourceBlockEncoder::new(0, &info(symbols), &data).repair_packets(0, 40);
            let mut code = Code::new(symbols);
            for (repair, packet) in theirs.iter().enumerate() {
                code.repair(&mut slab, repair as u32, symbols);
                assert_eq!(slab.get(symbols), packet.data(), "{symbols} symbols, repair {repair}");
            }
        }
    }

    #[test]
    fn the_decoder_of_the_crate_reads_what_we_send() {
        let symbols = 60;
        let mut slab = filled(symbols, 1, 3);
        let data: Vec<u8> = (0..symbols).flat_map(|place| slab.get(place).to_vec()).collect();
        let mut code = Code::new(symbols);
        let mut packets = Vec::new();
        for place in 10..symbols {
            packets.push(EncodingPacket::new(PayloadId::new(0, place as u32), slab.get(place).to_vec()));
        }
        for repair in 5..17 {
            code.repair(&mut slab, repair, symbols);
            packets.push(EncodingPacket::new(
                PayloadId::new(0, symbols as u32 + repair),
                slab.get(symbols).to_vec(),
            ));
        }
        let mut decoder = SourceBlockDecoder::new(0, &info(symbols), data.len() as u64);
        assert_eq!(decoder.decode(packets).unwrap(), data);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases::times(64)))]

        #[test]
        fn any_missing_symbols_come_back_from_a_few_repairs_more(
            symbols in 1usize..90, lost in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
            first in 0u32..300, seed: u64,
        ) {
            let whole = filled(symbols, 0, seed);
            let mut have = vec![true; symbols];
            for index in &lost {
                have[index.index(symbols)] = false;
            }
            let missing = have.iter().filter(|have| !**have).count();
            // Four more than are missing: RFC 6330 expects less than one failure in 10^8.
            let repairs: Vec<u32> = (first..first + missing as u32 + 4).collect();
            let mut code = Code::new(symbols);
            let mut slab = filled(symbols, repairs.len(), seed);
            for (index, repair) in repairs.iter().enumerate() {
                code.repair(&mut slab, *repair, symbols + index);
            }
            for place in (0..symbols).filter(|place| !have[*place]) {
                slab.get_mut(place).fill(0xEE);
            }
            prop_assert!(code.recover(&mut slab, &have, &repairs));
            for place in 0..symbols {
                prop_assert_eq!(slab.get(place), whole.get(place));
            }
        }

        #[test]
        fn too_few_repairs_change_nothing(symbols in 3usize..40, seed: u64) {
            let mut slab = filled(symbols, 1, seed);
            let mut code = Code::new(symbols);
            code.repair(&mut slab, 0, symbols);
            let mut have = vec![true; symbols];
            have[0] = false;
            have[2] = false;
            prop_assert!(!code.recover(&mut slab, &have, &[0]));
        }
    }
}
