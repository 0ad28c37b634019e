//! Voices of a configuration: a command for each language, chosen by language tag and never across languages.

use crate::language;
use std::fmt;

/// Voices of one configuration.
pub const VOICES_MAX: usize = 100;
/// Arguments of a command, the program among them.
pub const ARGUMENTS_MAX: usize = 32;
/// Octets of an argument.
pub const ARGUMENT_OCTETS_MAX: usize = 4_096;
/// Octets of a language tag (RFC 5646, section 4.4.1 says 35 are enough).
pub const TAG_OCTETS_MAX: usize = 35;
/// Stands in an argument for the voice's language.
const LANGUAGE: &str = "{language}";

/// A voice: a program that reads text on standard input and writes a WAV file on standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The language that it speaks (BCP 47).
    pub language: String,
    /// The program and its arguments, in which `{language}` is the voice's language. No shell reads them.
    pub command: Vec<String>,
}

impl Voice {
    /// The command with the language filled in.
    pub fn arguments(&self) -> Vec<String> {
        self.command.iter().map(|argument| argument.replace(LANGUAGE, &self.language)).collect()
    }
}

/// The voices of a configuration, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voices(Vec<Voice>);

impl Voices {
    /// Checks the voices of a configuration.
    ///
    /// # Errors
    /// The first voice that cannot be one, and why.
    pub fn new(voices: Vec<Voice>) -> Result<Voices, VoiceFault> {
        if voices.len() > VOICES_MAX {
            return Err(VoiceFault::TooMany { voices: voices.len() });
        }
        for (place, voice) in voices.iter().enumerate() {
            check(voice)?;
            let tag = language::canonical(&voice.language);
            if voices[..place].iter().any(|other| language::canonical(&other.language) == tag) {
                return Err(VoiceFault::Twice { language: voice.language.clone() });
            }
        }
        Ok(Voices(voices))
    }

    /// The voice for a text in a language: of the same tag, else of the longest tag it begins with, else the
    /// first of the same language and script, in the order of the configuration.
    ///
    /// # Errors
    /// No voice speaks the language.
    pub fn voice(&self, language: &str) -> Result<&Voice, NoVoice> {
        let wanted = language::canonical(language);
        let exact = language::ranges(&wanted)
            .find_map(|range| self.0.iter().find(|voice| language::canonical(&voice.language) == range));
        let is_same = |voice: &&Voice| {
            language::primary(&voice.language) == language::primary(&wanted)
                && script_fits(&voice.language, &wanted)
        };
        exact
            .filter(|voice| script_fits(&voice.language, &wanted))
            .or_else(|| self.0.iter().find(is_same))
            .ok_or_else(|| NoVoice { language: language.to_owned() })
    }

    /// Whether no voice can read a text in a language: a forecast counts its recipients as not reachable by
    /// call.
    pub fn unreadable(&self, language: &str) -> bool {
        self.voice(language).is_err()
    }

    /// The languages of all voices, in the order of the configuration.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|voice| voice.language.as_str())
    }
}

/// Two tags that both name a script name the same one.
fn script_fits(one: &str, other: &str) -> bool {
    match (language::script(one), language::script(other)) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => true,
    }
}

fn check(voice: &Voice) -> Result<(), VoiceFault> {
    let language = || voice.language.clone();
    if !is_tag(&voice.language) {
        return Err(VoiceFault::Language { language: language() });
    }
    if voice.command.first().is_none_or(String::is_empty) {
        return Err(VoiceFault::NoProgram { language: language() });
    }
    if voice.command.len() > ARGUMENTS_MAX {
        return Err(VoiceFault::Arguments { language: language(), arguments: voice.command.len() });
    }
    let is_bad = |argument: &String| argument.len() > ARGUMENT_OCTETS_MAX || argument.contains('\0');
    match voice.command.iter().position(is_bad) {
        Some(place) => Err(VoiceFault::Argument { language: language(), place }),
        None => Ok(()),
    }
}

/// Letters and digits in subtags of at most eight, the first of letters alone.
fn is_tag(tag: &str) -> bool {
    let is_part =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let first = tag.split('-').next().unwrap_or_default();
    tag.len() <= TAG_OCTETS_MAX
        && first.len() >= 2
        && first.bytes().all(|b| b.is_ascii_alphabetic())
        && tag.split('-').all(is_part)
}

/// No voice speaks a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVoice {
    /// The language (BCP 47).
    pub language: String,
}

impl fmt::Display for NoVoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no voice speaks the language {:?}: give it a command in the configuration", self.language)
    }
}

impl std::error::Error for NoVoice {}

/// A voice of a configuration that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VoiceFault {
    /// More than [`VOICES_MAX`].
    TooMany {
        /// So many.
        voices: usize,
    },
    /// Two voices have the same language.
    Twice {
        /// The language of both.
        language: String,
    },
    /// The language is no tag.
    Language {
        /// As it is written.
        language: String,
    },
    /// The command is empty.
    NoProgram {
        /// The voice's language.
        language: String,
    },
    /// More than [`ARGUMENTS_MAX`].
    Arguments {
        /// The voice's language.
        language: String,
        /// So many.
        arguments: usize,
    },
    /// An argument is over [`ARGUMENT_OCTETS_MAX`] or has a NUL.
    Argument {
        /// The voice's language.
        language: String,
        /// Its place, the program's being 0.
        place: usize,
    },
}

impl fmt::Display for VoiceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VoiceFault::TooMany { voices } => write!(f, "{voices} voices, at most {VOICES_MAX} are possible"),
            VoiceFault::Twice { language } => {
                write!(f, "the language {language:?} has two voices: remove one")
            }
            VoiceFault::Language { language } => write!(
                f,
                "{language:?} is no language tag of at most {TAG_OCTETS_MAX} octets: write one such as \"en\" or \"pt-BR\""
            ),
            VoiceFault::NoProgram { language } => {
                write!(f, "the voice of {language:?} has no command: name its program first")
            }
            VoiceFault::Arguments { language, arguments } => write!(
                f,
                "the command of {language:?} has {arguments} arguments, at most {ARGUMENTS_MAX} are possible"
            ),
            VoiceFault::Argument { language, place } => write!(
                f,
                "argument {place} of the command of {language:?} has over {ARGUMENT_OCTETS_MAX} octets or a NUL"
            ),
        }
    }
}

impl std::error::Error for VoiceFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(language: &str) -> Voice {
        Voice { language: language.to_owned(), command: vec!["tts".to_owned(), "-v{language}".to_owned()] }
    }

    fn chosen<'a>(voices: &'a Voices, language: &str) -> Option<&'a str> {
        voices.voice(language).ok().map(|voice| voice.language.as_str())
    }

    #[test]
    fn a_voice_is_chosen_by_the_longest_tag_then_by_language_and_never_across_languages() {
        let voices = ["en", "en-GB", "pt-BR", "nb", "sr-Latn", "sv-FI"].map(voice).to_vec();
        let voices = Voices::new(voices).unwrap();
        for (language, expected) in [
            ("en-GB", Some("en-GB")),
            ("EN-gb-oxendict", Some("en-GB")),
            ("en-US", Some("en")),
            ("pt", Some("pt-BR")),
            ("pt-PT", Some("pt-BR")),
            ("no", Some("nb")),
            ("nn", None),
            ("sr-Cyrl", None),
            ("sr-RS", Some("sr-Latn")),
            ("sv", Some("sv-FI")),
            ("da", None),
            ("e", None),
            ("", None),
        ] {
            assert_eq!(chosen(&voices, language), expected, "{language}");
            assert_eq!(voices.unreadable(language), expected.is_none(), "{language}");
        }
        assert_eq!(voices.languages().count(), 6);
    }

    #[test]
    fn a_language_without_a_voice_is_named() {
        let told = Voices::default().voice("so").unwrap_err().to_string();
        assert_eq!(told, "no voice speaks the language \"so\": give it a command in the configuration");
    }

    #[test]
    fn the_language_is_filled_into_each_argument() {
        assert_eq!(voice("sv").arguments(), ["tts", "-vsv"]);
    }

    #[test]
    fn a_voice_that_cannot_be_one_is_refused_with_its_language() {
        let with = |language: &str, command: &[&str]| Voice {
            language: language.to_owned(),
            command: command.iter().map(|one| (*one).to_owned()).collect(),
        };
        let many = vec!["x"; ARGUMENTS_MAX + 1];
        let long = "x".repeat(ARGUMENT_OCTETS_MAX + 1);
        for (voices, told) in [
            (vec![with("sv", &[])], "has no command"),
            (vec![with("sv", &[""])], "has no command"),
            (vec![with("english!", &["x"])], "is no language tag"),
            (vec![with("-sv", &["x"])], "is no language tag"),
            (vec![with("sv", &many)], "33 arguments"),
            (vec![with("sv", &["x", &long])], "argument 1"),
            (vec![with("sv", &["x", "a\0b"])], "argument 1"),
            (vec![voice("no"), voice("nb")], "two voices"),
            (vec![voice("sv"); VOICES_MAX + 1], "101 voices"),
        ] {
            let fault = Voices::new(voices).unwrap_err().to_string();
            assert!(fault.contains(told), "{fault}");
        }
    }
}
