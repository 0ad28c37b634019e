//! Synthesis of speech by a subprocess: text on its standard input, a WAV file on its standard output.
//!
//! There is no shell: a text is never part of a command line. A process has only the variables `PATH`,
//! `LANG`, `HOME` and `TMPDIR`, a lower priority than the server, and limits of time and octets. It is the
//! leader of a process group, which is killed as a whole once nobody waits for its sound.

mod error;
mod process;

#[cfg(test)]
mod tests;

pub use error::SynthesisError;

use crate::spoken::{SPOKEN_CHARS_MAX, has_words};
use crate::voices::Voice;
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Characters of a text for one sound: a spoken text between the phrases of a call.
const TEXT_CHARS_MAX: usize = 2 * SPOKEN_CHARS_MAX;
/// Processes at once that a semaphore can count.
const AT_ONCE_MAX: usize = 1_024;

/// Limits of synthesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynthesisLimits {
    /// Time for one sound, from the start of its process.
    pub time: Duration,
    /// Octets of one WAV file.
    pub octets: usize,
    /// Processes at once; the others wait. At most 1,024.
    pub at_once: NonZeroUsize,
}

impl Default for SynthesisLimits {
    /// 30 seconds; 32 MiB, which are six minutes of 44.1 kHz mono; two processes.
    fn default() -> SynthesisLimits {
        let at_once = NonZeroUsize::MIN.saturating_add(1);
        SynthesisLimits { time: Duration::from_secs(30), octets: 32 * 1024 * 1024, at_once }
    }
}

/// Runs the commands of voices.
#[derive(Debug)]
pub struct Synthesizer {
    limits: SynthesisLimits,
    running: Semaphore,
}

impl Synthesizer {
    /// A synthesizer with its limits.
    pub fn new(limits: SynthesisLimits) -> Synthesizer {
        Synthesizer { limits, running: Semaphore::new(limits.at_once.get().min(AT_ONCE_MAX)) }
    }

    /// Its limits.
    pub fn limits(&self) -> SynthesisLimits {
        self.limits
    }

    /// The octets of a WAV file in which the voice reads the text. A future that is dropped kills the
    /// process.
    ///
    /// The sizes in the file's header may be too large, as of any WAV file that was written to a pipe.
    ///
    /// # Errors
    /// The text has no words or is too long; the process did not start, failed, took too long, or wrote
    /// something else.
    pub async fn speak(&self, voice: &Voice, text: &str) -> Result<Vec<u8>, SynthesisError> {
        if !has_words(text) {
            return Err(SynthesisError::Empty);
        }
        let characters = text.chars().count();
        if characters > TEXT_CHARS_MAX {
            return Err(SynthesisError::TooLong { characters, limit: TEXT_CHARS_MAX });
        }
        let arguments = voice.arguments();
        let program = arguments.first().cloned().unwrap_or_default();
        // The semaphore is never closed.
        let Ok(_permit) = self.running.acquire().await else { return Err(SynthesisError::Stopped) };
        let limit = self.limits.time;
        match tokio::time::timeout(limit, process::sound(&arguments, text, self.limits.octets)).await {
            Ok(sound) => sound,
            Err(_) => Err(SynthesisError::TimedOut { program, limit }),
        }
    }
}
