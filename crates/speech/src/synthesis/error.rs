//! Error of synthesis: each with the program and the next step.

use std::fmt;
use std::time::Duration;

/// A text that did not become a sound. Those who wait for the same sound share it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SynthesisError {
    /// The text has no letter and no digit.
    Empty,
    /// The text is too long for one sound.
    TooLong {
        /// Characters of the text.
        characters: usize,
        /// So many are possible.
        limit: usize,
    },
    /// The program did not start.
    NotStarted {
        /// The program.
        program: String,
        /// Reason of the system.
        why: String,
    },
    /// Reading from the program or writing to it failed.
    Pipe {
        /// The program.
        program: String,
        /// Reason of the system.
        why: String,
    },
    /// The program took too long and was killed.
    TimedOut {
        /// The program.
        program: String,
        /// It had so much time.
        limit: Duration,
    },
    /// The program wrote too much and was killed.
    TooLarge {
        /// The program.
        program: String,
        /// So many octets are possible.
        limit: usize,
    },
    /// The program ended with an error.
    Failed {
        /// The program.
        program: String,
        /// Its exit status or signal.
        status: String,
        /// The last line on its standard error, perhaps empty.
        last_line: String,
    },
    /// The program wrote something else than a WAV file.
    NotWav {
        /// The program.
        program: String,
        /// It wrote so many octets.
        octets: usize,
        /// The last line on its standard error, perhaps empty.
        last_line: String,
    },
    /// The synthesizer takes no more texts.
    Stopped,
}

impl fmt::Display for SynthesisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SynthesisError::Empty => f.write_str("the text has no letter and no digit: nothing can be read"),
            SynthesisError::TooLong { characters, limit } => {
                write!(f, "the text has {characters} characters, at most {limit} are read: shorten it")
            }
            SynthesisError::NotStarted { program, why } => {
                write!(f, "the program {program} did not start ({why}): install it, or correct its command")
            }
            SynthesisError::Pipe { program, why } => {
                write!(
                    f,
                    "the program {program} could not be read from or written to ({why}): try it by hand"
                )
            }
            SynthesisError::TimedOut { program, limit } => write!(
                f,
                "the program {program} took more than {} s and was killed: shorten the text, or raise the limit",
                limit.as_secs_f64()
            ),
            SynthesisError::TooLarge { program, limit } => write!(
                f,
                "the program {program} wrote more than {limit} octets and was killed: shorten the text, or let \
                 it write fewer samples a second"
            ),
            SynthesisError::Failed { program, status, last_line } => {
                write!(f, "the program {program} failed, {status}{}: try it by hand", Said(last_line))
            }
            SynthesisError::NotWav { program, octets, last_line } => write!(
                f,
                "the program {program} wrote {octets} octets that are no WAV file{}: let it write one to its \
                 standard output",
                Said(last_line)
            ),
            SynthesisError::Stopped => f.write_str("the synthesizer is stopped"),
        }
    }
}

impl std::error::Error for SynthesisError {}

/// The last line of a program, if it wrote one.
struct Said<'a>(&'a str);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ", and wrote {:?}", self.0) }
    }
}
