//! Level of speech: raised or lowered to that of a telephone, without cutting peaks.

use crate::FRAME_SAMPLES;
use crate::dtmf::FULL_SCALE_DBM0;
use crate::listen::{SILENCE_DBM0, level};

/// Level of speech while there is some, in dBm0.
pub const SPEECH_LEVEL: f32 = -16.0;
/// Highest peak in full scale.
const PEAK_MAX: f32 = 0.95;
/// A sound is raised by at most so many dB: noise of a silent file stays quiet.
const RAISE_MAX: f32 = 24.0;
/// Frames within so many dB of the loudest are speech.
const SPEECH_RANGE: f32 = 25.0;

/// Brings the speech of a sound at 8 kHz to [`SPEECH_LEVEL`], its peaks at most 0.95 of full scale, by one
/// factor of at most 24 dB. Silence stays silence.
pub fn normalise(samples: &mut [i16]) {
    let peak = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
    let Some(speech) = speech_level(samples) else { return };
    let raise = (SPEECH_LEVEL - speech).min(RAISE_MAX);
    let most = PEAK_MAX * f32::from(i16::MAX) / f32::from(peak);
    let factor = 10_f32.powf(raise / 20.0).min(most);
    for sample in samples {
        *sample = (f32::from(*sample) * factor).round() as i16;
    }
}

/// Level of the frames that are speech. `None` for silence.
fn speech_level(samples: &[i16]) -> Option<f32> {
    let levels = || {
        samples.chunks(FRAME_SAMPLES).map(|chunk| {
            let mut frame = [0; FRAME_SAMPLES];
            frame[..chunk.len()].copy_from_slice(chunk);
            level(&frame)
        })
    };
    let loudest = levels().max_by(f32::total_cmp).filter(|loudest| *loudest > SILENCE_DBM0)?;
    let is_speech = |level: &f32| *level >= loudest - SPEECH_RANGE;
    let (power, count) = levels().filter(is_speech).fold((0.0, 0.0), |(power, count), level| {
        (power + 10_f32.powf((level - FULL_SCALE_DBM0) / 10.0), count + 1.0)
    });
    Some(10.0 * (power / count).log10() + FULL_SCALE_DBM0)
}
