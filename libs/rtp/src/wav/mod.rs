//! WAV files (RIFF): read into samples, converted to the rate and level of a telephone, written.

mod level;
mod read;
mod resample;
#[cfg(test)]
mod tests;

pub use level::{SPEECH_LEVEL, normalise};
pub use read::WavError;

use crate::SAMPLE_RATE;
use std::time::Duration;

/// Longest sound that is read.
pub const WAV_SECONDS_MAX: u32 = 300;
/// Lowest and highest rate that is read, in samples a second.
pub const WAV_RATE_MIN: u32 = 8_000;
/// See [`WAV_RATE_MIN`].
pub const WAV_RATE_MAX: u32 = 48_000;

/// Sound of one channel at any rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WavSound {
    rate: u32,
    samples: Vec<i16>,
}

impl WavSound {
    /// Reads a file: PCM of 8 or 16 bits, A-law or mu-law, one or two channels (their mean is taken),
    /// [`WAV_RATE_MIN`] to [`WAV_RATE_MAX`], at most [`WAV_SECONDS_MAX`]. A `data` chunk that names more
    /// octets than there are, as programs write that stream into a pipe, has those that are there.
    ///
    /// # Errors
    /// The field of the file that cannot be read or is not supported, with its value and what is.
    pub fn read(file: &[u8]) -> Result<WavSound, WavError> {
        read::read(file)
    }

    /// Sound from samples. `None` for a rate outside [`WAV_RATE_MIN`] to [`WAV_RATE_MAX`], or for more than
    /// [`WAV_SECONDS_MAX`].
    pub fn new(rate: u32, samples: Vec<i16>) -> Option<WavSound> {
        let is_right = (WAV_RATE_MIN..=WAV_RATE_MAX).contains(&rate);
        (is_right && samples.len() <= samples_max(rate)).then_some(WavSound { rate, samples })
    }

    /// Samples a second.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// The samples.
    pub fn samples(&self) -> &[i16] {
        &self.samples
    }

    /// Its time.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.samples.len() as f64 / f64::from(self.rate))
    }

    /// The sound at [`SAMPLE_RATE`], limited to the band below 4 kHz, at [`SPEECH_LEVEL`]: what a call plays.
    pub fn for_telephone(&self) -> Vec<i16> {
        let mut samples = match self.rate {
            SAMPLE_RATE => self.samples.clone(),
            rate => resample::resample(&self.samples, rate),
        };
        normalise(&mut samples);
        samples
    }

    /// Appends a file with PCM of 16 bits and one channel.
    pub fn write(&self, out: &mut Vec<u8>) {
        // At most WAV_SECONDS_MAX at WAV_RATE_MAX: 28.8 MB fit 32 bits.
        let octets = 2 * self.samples.len() as u32;
        out.extend_from_slice(b"RIFF");
        out.extend_from_slice(&(36 + octets).to_le_bytes());
        out.extend_from_slice(b"WAVEfmt ");
        out.extend_from_slice(&16_u32.to_le_bytes());
        for field in [read::FORMAT_PCM, 1] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.rate.to_le_bytes());
        out.extend_from_slice(&(2 * self.rate).to_le_bytes());
        for field in [2_u16, 16] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(b"data");
        out.extend_from_slice(&octets.to_le_bytes());
        out.extend(self.samples.iter().flat_map(|sample| sample.to_le_bytes()));
    }
}

/// Most samples at a rate.
fn samples_max(rate: u32) -> usize {
    WAV_SECONDS_MAX as usize * rate as usize
}
