//! Speech for telephones: from an alert's text to the octets of a WAV file.
//!
//! The pure part has no IO: [`spoken`](fn@spoken) makes a written text fit for reading out, [`Catalogue`] has
//! the fixed phrases of a call by language, [`Voices`] chooses the voice of a language. Around it stands the
//! shell: a [`Synthesizer`] runs a voice's command, and a [`SoundCache`] keeps its sounds in a folder.
//!
//! Invariants worth naming:
//! - Text is data. Nothing in it reaches a command line, a shell or the markup of a speech engine.
//! - No text is read by the voice of another language, and no phrase in another language: both are refused
//!   by name ([`NoVoice`], [`Missing`]).
//! - Every text, output, wait and number of processes at once has a named limit.

mod cache;
mod language;
mod phrases;
mod spoken;
mod synthesis;
mod voices;

pub use cache::{CACHE_OCTETS_MIN, CacheError, SoundCache};
pub use phrases::{Catalogue, KeyChoice, Missing, VALUE_CHARS_MAX};
pub use spoken::{
    AddressRule, LinkRule, Rules, SPOKEN_CHARS_MAX, Spoken, TEXT_OCTETS_READ_MAX, has_words, spoken,
};
pub use synthesis::{SynthesisError, SynthesisLimits, Synthesizer};
pub use voices::{
    ARGUMENT_OCTETS_MAX, ARGUMENTS_MAX, NoVoice, TAG_OCTETS_MAX, VOICES_MAX, Voice, VoiceFault, Voices,
};
