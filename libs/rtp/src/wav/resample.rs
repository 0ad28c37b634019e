//! Conversion to 8 kHz: a windowed sinc with a table for each phase, so that a frequency above the
//! telephone's band is not heard as another below it.

use crate::SAMPLE_RATE;
use std::f64::consts::PI;

/// Middle of the filter's edge in Hz. With [`HALF_SECONDS`] it passes 3.4 kHz whole and stops 4 kHz.
const CUTOFF_HERTZ: f64 = 3_700.0;
/// Half of the filter's length.
const HALF_SECONDS: f64 = 0.005;
/// Kaiser's window with this β stops by 80 dB.
const KAISER_BETA: f64 = 7.86;

/// The sound at [`SAMPLE_RATE`] from one at `rate`, which is above it.
pub(super) fn resample(samples: &[i16], rate: u32) -> Vec<i16> {
    let divisor = greatest_divisor(rate, SAMPLE_RATE);
    // Output n is at input n × step / phases.
    let (phases, step) = ((SAMPLE_RATE / divisor) as usize, (rate / divisor) as usize);
    let count = samples.len() * phases / step;
    let half = (HALF_SECONDS * f64::from(rate)).ceil() as usize;
    let filters: Vec<Box<[f32]>> = (0..phases.min(count))
        .map(|output| filter((output * step % phases) as f64 / phases as f64, half, rate))
        .collect();
    let mut out = Vec::with_capacity(count);
    for output in 0..count {
        // Outputs have their phases in turn.
        let filter = &filters[output % phases];
        let (behind, before) = (output * step / phases + 1, half);
        let (first, skipped) = (behind.saturating_sub(before), before.saturating_sub(behind));
        let pairs = filter[skipped..].iter().zip(&samples[first..]);
        let sum: f32 = pairs.map(|(weight, sample)| weight * f32::from(*sample)).sum();
        out.push(sum.round() as i16);
    }
    out
}

/// Weights of the inputs from `1 - half` to `half` around an output that is `offset` behind input 0. Their
/// sum is 1.
fn filter(offset: f64, half: usize, rate: u32) -> Box<[f32]> {
    let cutoff = 2.0 * CUTOFF_HERTZ / f64::from(rate);
    let weight = |at: usize| {
        let x = at as f64 + 1.0 - half as f64 - offset;
        let part = (x / half as f64).clamp(-1.0, 1.0);
        sinc(cutoff * x) * bessel(KAISER_BETA * (1.0 - part * part).sqrt())
    };
    let weights: Vec<f64> = (0..2 * half).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// Modified Bessel function of the first kind and order 0, by its series; x up to 10.
fn bessel(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..40 {
        let factor = x / (2.0 * f64::from(n));
        term *= factor * factor;
        sum += term;
    }
    sum
}

fn greatest_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
