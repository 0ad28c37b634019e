//! Catalogue of the fixed phrases of a call, by language. A language without a catalogue is refused by name
//! ([`Missing`]): no phrase is read in another language than the alert's text.

mod arabic_script;
mod cyrillic;
mod germanic;
mod latin_script;
mod romance;

#[cfg(test)]
mod tests;

use crate::language;
use crate::spoken::{AddressRule, LinkRule, Rules, spoken};
use std::fmt;

/// Characters of a value in a phrase, such as a choice's label; the rest is cut off at a word.
pub const VALUE_CHARS_MAX: usize = 300;

/// A phrase, or a word that a phrase or a text needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phrase {
    Greeting,
    Drill,
    FirstChoice,
    NextChoice,
    Repeat,
    Chosen,
    AskPin,
    WrongPin,
    PinRefused,
    WrongKey,
    StopOffer,
    Stopped,
    AnswerByText,
    CallBack,
    OurNumber,
    OtherDevices,
    Goodbye,
    At,
    Dot,
    Plus,
    And,
    Star,
    Hash,
}

type Table = &'static [(Phrase, &'static str)];

/// Catalogues: language, script, phrases.
const CATALOGUES: [(&str, &str, Table); 18] = [
    ("ar", "Arab", arabic_script::ARABIC),
    ("da", "Latn", germanic::DANISH),
    ("de", "Latn", germanic::GERMAN),
    ("en", "Latn", germanic::ENGLISH),
    ("es", "Latn", romance::SPANISH),
    ("fa", "Arab", arabic_script::PERSIAN),
    ("fi", "Latn", latin_script::FINNISH),
    ("fr", "Latn", romance::FRENCH),
    ("it", "Latn", romance::ITALIAN),
    ("nb", "Latn", germanic::NORWEGIAN),
    ("nl", "Latn", germanic::DUTCH),
    ("pl", "Latn", latin_script::POLISH),
    ("pt", "Latn", romance::PORTUGUESE),
    ("ru", "Cyrl", cyrillic::RUSSIAN),
    ("so", "Latn", latin_script::SOMALI),
    ("sv", "Latn", germanic::SWEDISH),
    ("tr", "Latn", latin_script::TURKISH),
    ("uk", "Cyrl", cyrillic::UKRAINIAN),
];

/// A choice of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyChoice<'a> {
    /// The key to press: digits, star or hash.
    pub key: &'a str,
    /// Its meaning.
    pub label: &'a str,
}

/// The phrases of one language.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue {
    language: &'static str,
    table: Table,
}

impl Catalogue {
    /// The catalogue of a text's language (BCP 47); regions share that of their language.
    ///
    /// # Errors
    /// There is none in the language, or none in the script that the tag names.
    pub fn of(language: &str) -> Result<Catalogue, Missing> {
        let primary = language::primary(language);
        let named = language::script(language);
        CATALOGUES
            .iter()
            .find(|(tag, script, _)| {
                *tag == primary && named.is_none_or(|named| named.eq_ignore_ascii_case(script))
            })
            .map(|(language, _, table)| Catalogue { language, table })
            .ok_or_else(|| Missing { language: language.to_owned() })
    }

    /// The languages of all catalogues.
    pub fn languages() -> impl Iterator<Item = &'static str> {
        CATALOGUES.iter().map(|(language, ..)| *language)
    }

    /// Its language.
    pub fn language(&self) -> &'static str {
        self.language
    }

    /// "This is {organisation}."
    pub fn greeting(&self, organisation: &str) -> String {
        self.filled(Phrase::Greeting, &[("org", &self.value(organisation))])
    }

    /// "This is a drill.", first and last in the text of a drill.
    pub fn drill(&self) -> &'static str {
        self.text(Phrase::Drill)
    }

    /// "Press 1 for I am safe, 2 for I need help.", empty without choices.
    pub fn choices(&self, choices: &[KeyChoice<'_>]) -> String {
        let one = |(place, choice): (usize, &KeyChoice<'_>)| {
            let phrase = if place == 0 { Phrase::FirstChoice } else { Phrase::NextChoice };
            self.filled(phrase, &[("key", &self.key(choice.key)), ("label", &self.value(choice.label))])
        };
        let list: Vec<String> = choices.iter().enumerate().map(one).collect();
        if list.is_empty() { String::new() } else { format!("{}.", list.join(", ")) }
    }

    /// "Press 9 or star to hear this again."
    pub fn repeat(&self) -> &'static str {
        self.text(Phrase::Repeat)
    }

    /// "You pressed 1: I am safe. Thank you."
    pub fn chosen(&self, choice: KeyChoice<'_>) -> String {
        self.filled(Phrase::Chosen, &[("key", &self.key(choice.key)), ("label", &self.value(choice.label))])
    }

    /// "Enter your code, then press hash."
    pub fn ask_pin(&self) -> &'static str {
        self.text(Phrase::AskPin)
    }

    /// "That code is wrong. Try again."
    pub fn wrong_pin(&self) -> &'static str {
        self.text(Phrase::WrongPin)
    }

    /// "Too many wrong codes.", before the call ends.
    pub fn pin_refused(&self) -> &'static str {
        self.text(Phrase::PinRefused)
    }

    /// "You pressed 5, which is none of the choices.", before the choices are read again.
    pub fn wrong_key(&self, key: &str) -> String {
        self.filled(Phrase::WrongKey, &[("key", &self.key(key))])
    }

    /// "Press 7 twice to get no more calls to this number."
    pub fn stop_offer(&self) -> &'static str {
        self.text(Phrase::StopOffer)
    }

    /// "This number will get no more calls from us."
    pub fn stopped(&self) -> &'static str {
        self.text(Phrase::Stopped)
    }

    /// "Please answer by the text message we sent.", to a machine.
    pub fn answer_by_text(&self) -> &'static str {
        self.text(Phrase::AnswerByText)
    }

    /// "Please call back on {number}.", to a machine.
    pub fn call_back(&self, number: &str) -> String {
        self.filled(Phrase::CallBack, &[("number", &self.number(number))])
    }

    /// "Our telephone number is {number}."
    pub fn our_number(&self, number: &str) -> String {
        self.filled(Phrase::OurNumber, &[("number", &self.number(number))])
    }

    /// "See the message on your other devices.", in place of links.
    pub fn other_devices(&self) -> &'static str {
        self.text(Phrase::OtherDevices)
    }

    /// "Goodbye."
    pub fn goodbye(&self) -> &'static str {
        self.text(Phrase::Goodbye)
    }

    pub(crate) fn at(&self) -> &'static str {
        self.text(Phrase::At)
    }

    pub(crate) fn dot(&self) -> &'static str {
        self.text(Phrase::Dot)
    }

    pub(crate) fn plus(&self) -> &'static str {
        self.text(Phrase::Plus)
    }

    pub(crate) fn and(&self) -> &'static str {
        self.text(Phrase::And)
    }

    /// A test holds that each table has each phrase.
    fn text(&self, phrase: Phrase) -> &'static str {
        self.table.iter().find(|(key, _)| *key == phrase).map_or("", |(_, text)| text)
    }

    /// Values are put into the template's places, and a value's own braces mean nothing.
    fn filled(&self, phrase: Phrase, values: &[(&str, &str)]) -> String {
        let mut out = String::new();
        let mut rest = self.text(phrase);
        while let Some((before, behind)) = rest.split_once('{') {
            out.push_str(before);
            let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
            out.push_str(values.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A value as it is read, without the stop at its end.
    fn value(&self, text: &str) -> String {
        let rules = Rules {
            language: Some(self.language),
            links: LinkRule::LeftOut,
            addresses: AddressRule::Spelled,
        };
        let read = spoken(text, &rules).text;
        let end = read.char_indices().nth(VALUE_CHARS_MAX).map_or(read.len(), |(at, _)| at);
        let end = if end < read.len() { read[..end].rfind(' ').unwrap_or(end) } else { end };
        read[..end].trim_end_matches(|c: char| !c.is_alphanumeric() && c != ')').to_owned()
    }

    fn number(&self, number: &str) -> String {
        crate::spoken::digits(number, self.plus())
    }

    /// A key as it is said: digits one by one, star and hash by their names.
    fn key(&self, key: &str) -> String {
        let name = |c: char| match c {
            '*' => self.text(Phrase::Star).to_owned(),
            '#' => self.text(Phrase::Hash).to_owned(),
            c => c.to_string(),
        };
        let seen = key.chars().filter(|c| c.is_alphanumeric() || "*#".contains(*c));
        seen.take(VALUE_CHARS_MAX).map(name).collect::<Vec<_>>().join(" ")
    }
}

/// There is no catalogue in a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The language (BCP 47).
    pub language: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there are no phrases of calls in the language {:?}: give the alert a text in one of {}",
            self.language,
            Catalogue::languages().collect::<Vec<_>>().join(", ")
        )
    }
}

impl std::error::Error for Missing {}
