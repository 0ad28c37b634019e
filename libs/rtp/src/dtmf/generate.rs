//! Sound of keys.

use super::DtmfKey;
use crate::{SAMPLE_RATE, samples_in};
use std::time::Duration;

/// Level of each frequency by default, in dBm0.
pub const DTMF_LEVEL: f32 = -9.0;
/// Level of a full-scale sine in dBm0 (G.711).
#[allow(clippy::approx_constant, reason = "a level, not a circle")]
pub(crate) const FULL_SCALE_DBM0: f32 = 3.14;

/// Levels of both frequencies in dBm0, each at most −3, so that their sum stays within full scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DtmfLevels {
    /// Level of the row: 697 to 941 Hz.
    pub row: f32,
    /// Level of the column: 1,209 to 1,633 Hz.
    pub column: f32,
}

impl Default for DtmfLevels {
    fn default() -> DtmfLevels {
        DtmfLevels { row: DTMF_LEVEL, column: DTMF_LEVEL }
    }
}

/// Sound of a key that is held: two sines without a break from one call to the next.
#[derive(Debug, Clone)]
pub struct DtmfTone {
    oscillators: [Oscillator; 2],
}

#[derive(Debug, Clone)]
struct Oscillator {
    /// Turns, and turns a sample.
    phase: f64,
    step: f64,
    amplitude: f64,
}

impl Oscillator {
    fn next(&mut self) -> f64 {
        self.phase = (self.phase + self.step).fract();
        self.amplitude * (std::f64::consts::TAU * self.phase).sin()
    }
}

impl DtmfTone {
    /// Highest level of one frequency in dBm0.
    pub const LEVEL_MAX: f32 = -3.0;

    /// The tone from its beginning. Levels over [`LEVEL_MAX`](Self::LEVEL_MAX) become that.
    pub fn new(key: DtmfKey, levels: DtmfLevels) -> DtmfTone {
        let (row, column) = key.frequencies();
        DtmfTone::of([(row, levels.row), (column, levels.column)])
    }

    /// Two frequencies in Hz with their levels in dBm0.
    pub(crate) fn of(parts: [(f32, f32); 2]) -> DtmfTone {
        let oscillators = parts.map(|(hertz, level)| Oscillator {
            phase: 0.0,
            step: f64::from(hertz) / f64::from(SAMPLE_RATE),
            amplitude: f64::from(amplitude(level.min(Self::LEVEL_MAX))),
        });
        DtmfTone { oscillators }
    }

    /// The next samples.
    pub fn fill(&mut self, samples: &mut [i16]) {
        for sample in samples {
            let sum: f64 = self.oscillators.iter_mut().map(Oscillator::next).sum();
            *sample = sum as i16;
        }
    }

    /// Appends keys, each as long as `held`, with a pause behind it. Appends at most
    /// `keys.len() × (held + pause)`, 8 samples a millisecond.
    pub fn append_keys(keys: &[DtmfKey], held: Duration, pause: Duration, out: &mut Vec<i16>) {
        for key in keys {
            let start = out.len();
            out.resize(start + samples_in(held) as usize, 0);
            DtmfTone::new(*key, DtmfLevels::default()).fill(&mut out[start..]);
            out.resize(out.len() + samples_in(pause) as usize, 0);
        }
    }
}

/// Peak of a sine of so many dBm0.
pub(crate) fn amplitude(dbm0: f32) -> f32 {
    f32::from(i16::MAX) * 10_f32.powf((dbm0 - FULL_SCALE_DBM0) / 20.0)
}
