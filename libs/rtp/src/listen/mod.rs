//! Listening to the person, or the machine, at the other end: voice, the end of the first words, a beep, long
//! speech. Functions of frames alone, one each 20 ms; a frame that did not come is silence.

mod beep;
#[cfg(test)]
mod tests;
mod voice;

pub use beep::{BEEP_FREQUENCY_MAX, BEEP_FREQUENCY_MIN, BEEP_MAX, BEEP_MIN, Beep, BeepDetector};
pub use voice::{FirstWords, FirstWordsEnd, LongSpeech, VoiceActivity};

use crate::SoundFrame;
use crate::dtmf::FULL_SCALE_DBM0;

/// Level of silence, as [`level`] gives it: below any sound.
pub const SILENCE_DBM0: f32 = -90.0;

/// Level of a frame in dBm0 (a full-scale sine has +3.14), at least [`SILENCE_DBM0`]. Its mean does not
/// count.
pub fn level(frame: &SoundFrame) -> f32 {
    let count = frame.len() as f32;
    let (mut sum, mut squares) = (0_i64, 0_i64);
    for sample in frame {
        let sample = i64::from(*sample);
        sum += sample;
        squares += sample * sample;
    }
    let power = (squares as f32 - (sum * sum) as f32 / count) / count;
    let full_scale = f32::from(i16::MAX).powi(2) / 2.0;
    // The logarithm of 0 is below the least.
    (10.0 * (power.max(0.0) / full_scale).log10() + FULL_SCALE_DBM0).max(SILENCE_DBM0)
}
