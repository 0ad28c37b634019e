//! A beep: one steady tone of 400 to 2,000 Hz, as answering machines give before they record.

use super::level;
use crate::dtmf::{coefficient, goertzel};
use crate::{FRAME, FRAME_SAMPLES, SoundFrame, frames_in};
use std::time::Duration;

/// Lowest tone in Hz.
pub const BEEP_FREQUENCY_MIN: u32 = 400;
/// Highest tone in Hz.
pub const BEEP_FREQUENCY_MAX: u32 = 2_000;
/// Shortest beep.
pub const BEEP_MIN: Duration = Duration::from_millis(100);
/// Longest beep: a longer tone is a dial tone, a ring-back tone or a fax.
pub const BEEP_MAX: Duration = Duration::from_millis(2_000);
/// Resolution of a frame.
const BIN_HERTZ: u32 = 50;
/// One bin below the lowest to one above the highest.
const BINS: usize = ((BEEP_FREQUENCY_MAX - BEEP_FREQUENCY_MIN) / BIN_HERTZ) as usize + 3;
/// Weakest tone in dBm0.
const LEVEL_MIN: f32 = -36.0;
/// Part of a frame's energy that the tone has.
const PURITY_MIN: f32 = 0.9;
/// Levels of a beep differ by at most so many dB from frame to frame.
const STEADINESS_MAX: f32 = 1.5;
/// Frequencies of a beep differ by at most so many Hz from frame to frame.
const DRIFT_MAX: u32 = 12;

/// A tone that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beep {
    /// Frequency in Hz, to 10 where there is little noise.
    pub frequency: u32,
    /// Time of it in whole frames: [`BEEP_MIN`] to [`BEEP_MAX`].
    pub duration: Duration,
}

/// Beeps of one stream. A beep is told when it has ended: then a machine records.
#[derive(Debug, Clone)]
pub struct BeepDetector {
    tone: Option<HeardTone>,
    coefficients: [f32; BINS],
}

#[derive(Debug, Clone, Copy)]
struct HeardTone {
    frequency: u32,
    level: f32,
    frames: u32,
}

impl Default for BeepDetector {
    fn default() -> BeepDetector {
        let coefficients = std::array::from_fn(|bin| coefficient(hertz(bin) as f32));
        BeepDetector { tone: None, coefficients }
    }
}

impl BeepDetector {
    /// Nothing was heard.
    pub fn new() -> BeepDetector {
        BeepDetector::default()
    }

    /// Hears a frame; tells the beep that ended with the frame before it.
    pub fn handle_frame(&mut self, frame: &SoundFrame) -> Option<Beep> {
        let heard = self.tone_in(frame);
        if let (Some(tone), Some(now)) = (&mut self.tone, heard) {
            let is_same = tone.frequency.abs_diff(now.frequency) <= DRIFT_MAX;
            // The first frame may have caught the tone's beginning alone.
            if is_same && (tone.frames == 1 || (tone.level - now.level).abs() <= STEADINESS_MAX) {
                tone.frames = tone.frames.saturating_add(1);
                (tone.frequency, tone.level) = (now.frequency, now.level);
                return None;
            }
        }
        let ended = std::mem::replace(&mut self.tone, heard)?;
        let is_beep = (frames_in(BEEP_MIN)..=frames_in(BEEP_MAX)).contains(&ended.frames);
        is_beep.then(|| Beep { frequency: ended.frequency, duration: FRAME * ended.frames })
    }

    /// The one tone that a frame has, if it has one.
    fn tone_in(&self, frame: &SoundFrame) -> Option<HeardTone> {
        let level = level(frame);
        if level < LEVEL_MIN {
            return None;
        }
        let energies = goertzel(frame, self.coefficients);
        let (bin, most) = energies.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        let below = bin.checked_sub(1).map_or(0.0, |bin| energies[bin]);
        let above = energies.get(bin + 1).copied().unwrap_or(0.0);
        // Between two bins a tone divides its amplitude by its distances (no window).
        let share = |energy: f32| 1.0 / (1.0 + (most / energy.max(1.0)).sqrt());
        let offset = if above > below { share(above) } else { -share(below) };
        let tone_hertz = hertz(bin) as f32 + BIN_HERTZ as f32 * offset;
        let total: f32 = frame.iter().map(|sample| f32::from(*sample).powi(2)).sum();
        let [energy] = goertzel(frame, [coefficient(tone_hertz)]);
        if energy < total * PURITY_MIN {
            return None;
        }
        // Within the bins, so the cast loses its fraction alone.
        let frequency = tone_hertz.round() as u32;
        let is_within = (BEEP_FREQUENCY_MIN - 5..=BEEP_FREQUENCY_MAX + 5).contains(&frequency);
        is_within.then_some(HeardTone { frequency, level, frames: 1 })
    }
}

fn hertz(bin: usize) -> u32 {
    // At most BINS, so the cast loses nothing.
    BEEP_FREQUENCY_MIN - BIN_HERTZ + BIN_HERTZ * bin as u32
}

const _: () = assert!(FRAME_SAMPLES as u32 * BIN_HERTZ == crate::SAMPLE_RATE);
