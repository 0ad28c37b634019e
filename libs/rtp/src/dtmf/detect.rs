//! Keys found in sound: the Goertzel algorithm over blocks of 102 samples, guarded against speech and music.
//!
//! A block of 12.75 ms resolves the eight frequencies and lies twice within any 40 ms. A block shows a key if
//! one row and one column stand out, hold most of the energy and are about as strong as each other. Two such
//! blocks in a row, as strong as each other, tell the key if over both together these two frequencies, each
//! near its own, are nearly all there is; three blocks without it release it. Speech and music fail by their
//! harmonics and by their changes: over 25 ms two pure tones are not in them.

use super::generate::amplitude;
use super::{COLUMNS, DtmfKey, ROWS};
use crate::SAMPLE_RATE;
use std::f32::consts::TAU;

/// Samples of a block: 12.75 ms.
const BLOCK_SAMPLES: usize = 102;
/// Blocks without the key that release it: a pause of 38 ms (Q.24 names 40).
pub const DTMF_PAUSE_BLOCKS: u8 = 3;
/// Frames in a row that did not come and are passed over; from then on they count as silence.
pub const DTMF_GAP_FRAMES_MAX: u8 = 3;
/// Weakest frequency in dBm0.
const LEVEL_MIN: f32 = -34.0;
/// A row or column stands out of its others by so many times their energy: 7 dB.
const PEAK_RATIO_MIN: f32 = 5.0;
/// Column over row, and row over column, at most: 6 and 10 dB (Q.24: 4 and 8 by the administrations).
const COLUMN_OVER_ROW_MAX: f32 = 4.0;
const ROW_OVER_COLUMN_MAX: f32 = 10.0;
/// Part of a block's energy that the two frequencies have. An offset of 1.5 % leaves 0.75 of it.
const PURITY_MIN: f32 = 0.70;
/// The same over two blocks, where each frequency is looked for within [`OFFSETS`]: so much is a key at once,
const PAIR_PURITY_SURE: f32 = 0.96;
/// and so much if the block behind them has it too: a key in noise.
const PAIR_PURITY_MIN: f32 = 0.93;
/// Frequencies of a key that are looked for, from 1.5 % below its own to 1.5 % above (Q.24).
const OFFSETS: usize = 13;
/// Energy of the second block to that of the first, and the first to the second, at most: 5 dB.
const STEADINESS_MAX: f32 = 3.2;

/// Keys in the sound of one stream. An instance takes all samples of the stream in their order.
#[derive(Debug, Clone)]
pub struct DtmfDetector {
    /// The block before, and the one that is being filled.
    blocks: [i16; 2 * BLOCK_SAMPLES],
    /// Samples of the latter.
    filled: usize,
    /// The key that the last block showed, with its energy.
    last: Option<(DtmfKey, f32)>,
    /// The key that was told and is still held.
    held: Option<DtmfKey>,
    misses: u8,
    /// The last two blocks had [`PAIR_PURITY_MIN`], and told no key.
    is_likely: bool,
    gap_frames: u8,
}

impl Default for DtmfDetector {
    fn default() -> DtmfDetector {
        let blocks = [0; 2 * BLOCK_SAMPLES];
        DtmfDetector { blocks, filled: 0, last: None, held: None, misses: 0, is_likely: false, gap_frames: 0 }
    }
}

impl DtmfDetector {
    /// Nothing was heard.
    pub fn new() -> DtmfDetector {
        DtmfDetector::default()
    }

    /// Hears samples: at most one key is told for 160 of them. A key is told once, when it has sounded for
    /// about 40 ms; `None` for any other sound.
    pub fn handle_frame(&mut self, samples: &[i16]) -> Option<DtmfKey> {
        self.gap_frames = 0;
        self.hear(samples)
    }

    /// A frame did not come. It neither holds nor releases a key, for [`DTMF_GAP_FRAMES_MAX`] frames; more
    /// are silence.
    pub fn handle_gap(&mut self) -> Option<DtmfKey> {
        if self.gap_frames < DTMF_GAP_FRAMES_MAX {
            self.gap_frames += 1;
            (self.filled, self.last) = (0, None);
            return None;
        }
        self.hear(&[0; crate::FRAME_SAMPLES])
    }

    fn hear(&mut self, samples: &[i16]) -> Option<DtmfKey> {
        let mut rest = samples;
        let mut told = None;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK_SAMPLES - self.filled));
            let at = BLOCK_SAMPLES + self.filled;
            self.blocks[at..at + now.len()].copy_from_slice(now);
            self.filled += now.len();
            rest = later;
            if self.filled == BLOCK_SAMPLES {
                self.filled = 0;
                let shown = key_in(&self.blocks[BLOCK_SAMPLES..]);
                told = told.or(self.handle_block(shown));
                self.blocks.copy_within(BLOCK_SAMPLES.., 0);
            }
        }
        told
    }

    fn handle_block(&mut self, shown: Option<(DtmfKey, f32)>) -> Option<DtmfKey> {
        let last = std::mem::replace(&mut self.last, shown);
        match (shown, self.held) {
            (Some((key, _)), Some(held)) if key == held => {
                self.misses = 0;
                return None;
            }
            (_, Some(_)) => {
                self.misses += 1;
                if self.misses >= DTMF_PAUSE_BLOCKS {
                    self.held = None;
                }
            }
            (_, None) => {}
        }
        let was_likely = std::mem::take(&mut self.is_likely);
        let ((key, energy), (before, energy_before)) = (shown?, last?);
        let is_steady = energy <= energy_before * STEADINESS_MAX && energy_before <= energy * STEADINESS_MAX;
        if key != before || !is_steady {
            return None;
        }
        let purity = purity(&self.blocks, key);
        self.is_likely = purity >= PAIR_PURITY_MIN;
        if purity < PAIR_PURITY_SURE && !(was_likely && self.is_likely) {
            return None;
        }
        (self.held, self.misses, self.is_likely) = (Some(key), 0, false);
        Some(key)
    }
}

/// The key that a block shows, and the energy of its frequencies.
fn key_in(block: &[i16]) -> Option<(DtmfKey, f32)> {
    let total = energy(block);
    // Of a sine with this peak, summed over the block.
    let weakest = amplitude(LEVEL_MIN).powi(2) * BLOCK_SAMPLES as f32 / 2.0;
    if total < 2.0 * weakest {
        return None;
    }
    let energies = goertzel(block, COEFFICIENTS);
    let (row, row_energy) = peak(&energies[..4])?;
    let (column, column_energy) = peak(&energies[4..])?;
    let sum = row_energy + column_energy;
    let is_twisted =
        column_energy > row_energy * COLUMN_OVER_ROW_MAX || row_energy > column_energy * ROW_OVER_COLUMN_MAX;
    if row_energy.min(column_energy) < weakest * PURITY_MIN || is_twisted || sum < total * PURITY_MIN {
        return None;
    }
    Some((DtmfKey::at(row, column), sum))
}

/// Part of the energy that the frequencies of a key have, each where it is strongest.
fn purity(samples: &[i16], key: DtmfKey) -> f32 {
    let offsets: [f32; OFFSETS] = std::array::from_fn(|at| 0.985 + 0.0025 * at as f32);
    let best = |hertz: f32| {
        let energies = goertzel(samples, offsets.map(|offset| coefficient(hertz * offset)));
        energies.into_iter().fold(0.0, f32::max)
    };
    let (row, column) = key.frequencies();
    (best(row) + best(column)) / energy(samples).max(1.0)
}

/// Energy of a block without its mean.
fn energy(block: &[i16]) -> f32 {
    let (mut sum, mut squares) = (0_i64, 0_i64);
    for sample in block {
        let sample = i64::from(*sample);
        sum += sample;
        squares += sample * sample;
    }
    squares as f32 - (sum * sum) as f32 / block.len() as f32
}

/// The largest of four and its place, if it stands out.
fn peak(energies: &[f32]) -> Option<(usize, f32)> {
    let (place, most) = energies.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let mut others = energies.iter().enumerate().filter(|(at, _)| *at != place);
    others.all(|(_, energy)| energy * PEAK_RATIO_MIN <= *most).then_some((place, *most))
}

/// 2 cos ω of the rows, then of the columns; Goertzel's only constant. `cos` is not const: by its series.
const COEFFICIENTS: [f32; 8] = {
    let mut coefficients = [0.0; 8];
    let mut at = 0;
    while at < 8 {
        let hertz = if at < 4 { ROWS[at] } else { COLUMNS[at - 4] };
        coefficients[at] = series(std::f64::consts::TAU * hertz as f64 / SAMPLE_RATE as f64);
        at += 1;
    }
    coefficients
};

/// 2 cos x for x from 0 to 1.3, to the accuracy of `f32`.
const fn series(x: f64) -> f32 {
    let (mut term, mut sum, mut n) = (2.0, 2.0, 0.0);
    while n < 20.0 {
        term *= -x * x / ((n + 1.0) * (n + 2.0));
        sum += term;
        n += 2.0;
    }
    sum as f32
}

pub(crate) fn coefficient(hertz: f32) -> f32 {
    2.0 * (TAU * hertz / SAMPLE_RATE as f32).cos()
}

/// Energy of a sine at each frequency, summed over the samples: for a sine at the frequency itself that of
/// the samples.
pub(crate) fn goertzel<const N: usize>(samples: &[i16], coefficients: [f32; N]) -> [f32; N] {
    let (mut before, mut last) = ([0.0_f32; N], [0.0_f32; N]);
    for sample in samples {
        let sample = f32::from(*sample);
        for ((before, last), coefficient) in before.iter_mut().zip(&mut last).zip(&coefficients) {
            let next = sample + coefficient * *last - *before;
            (*before, *last) = (*last, next);
        }
    }
    let scale = 2.0 / samples.len() as f32;
    std::array::from_fn(|at| {
        let (before, last) = (before[at], last[at]);
        scale * (last * last + before * before - coefficients[at] * last * before)
    })
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::tests::sine;

    #[test]
    fn coefficients_by_the_series_are_those_of_the_cosine() {
        for (at, hertz) in ROWS.into_iter().chain(COLUMNS).enumerate() {
            assert!((COEFFICIENTS[at] - coefficient(hertz)).abs() < 1e-6);
        }
    }

    #[test]
    fn the_energy_of_a_sine_at_its_frequency_is_that_of_its_samples() {
        let samples = sine(1_000.0, -10.0, 160);
        let block: f32 = samples.iter().map(|sample| f32::from(*sample).powi(2)).sum();
        let [at, beside] = goertzel(&samples, [coefficient(1_000.0), coefficient(1_100.0)]);
        assert!((at / block - 1.0).abs() < 0.01 && beside < block / 100.0, "{at} {beside} {block}");
    }
}
