//! National language tables of GSM 7-bit (TS 23.038 §6.2.1.2): a header before the text says which alphabet
//! (locking shift) and which extension table (single shift) its septets are of.

mod locking;
mod single;

#[cfg(test)]
mod tests;

use super::gsm7::{self, ESCAPE};
use super::split::{Concat, parts_shifted};
use super::udh::Udh;
use super::{Charset, NotEncodable};

/// Stands for a code without a character in the tables.
const NONE: char = char::MAX;
/// Octets of one shift element in a user data header: id, length, language.
const ELEMENT_OCTETS: usize = 3;

/// A language with a table of its own, by its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Language {
    /// Both tables.
    Turkish = 1,
    /// A single shift table only.
    Spanish = 2,
    /// Both tables, as all that follow.
    Portuguese = 3,
    /// Both tables.
    Bengali = 4,
    /// Both tables.
    Gujarati = 5,
    /// Both tables.
    Hindi = 6,
    /// Both tables.
    Kannada = 7,
    /// Both tables.
    Malayalam = 8,
    /// Both tables.
    Oriya = 9,
    /// Both tables.
    Punjabi = 10,
    /// Both tables.
    Tamil = 11,
    /// Both tables.
    Telugu = 12,
    /// Both tables.
    Urdu = 13,
}

impl Language {
    /// Every language, in order of their identifiers.
    pub const ALL: [Language; 13] = [
        Language::Turkish,
        Language::Spanish,
        Language::Portuguese,
        Language::Bengali,
        Language::Gujarati,
        Language::Hindi,
        Language::Kannada,
        Language::Malayalam,
        Language::Oriya,
        Language::Punjabi,
        Language::Tamil,
        Language::Telugu,
        Language::Urdu,
    ];

    /// The language of an identifier; `None` for 0 (the default tables) and reserved ones.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Language> {
        Language::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Its identifier.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    fn locking(self) -> Option<&'static [char; 128]> {
        locking::LOCKING[self as usize - 1]
    }

    /// The single shift table's codes and characters, in rising order of code.
    fn single(self) -> impl Iterator<Item = (u8, char)> {
        single::SINGLE[self as usize - 1].iter().flat_map(|(start, run)| (*start..).zip(run.chars()))
    }
}

/// The tables that a text's septets are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shift {
    /// In place of the default alphabet.
    pub locking: Option<Language>,
    /// In place of the extension table.
    pub single: Option<Language>,
}

impl Shift {
    /// The default alphabet and its extension.
    pub const NONE: Shift = Shift { locking: None, single: None };

    /// What a received header says; languages we do not know count as the default (TS 23.040 §9.2.3.24.15).
    #[must_use]
    pub fn of(udh: Udh<'_>) -> Shift {
        Shift {
            locking: udh.locking_shift().and_then(Language::from_code),
            single: udh.single_shift().and_then(Language::from_code),
        }
    }

    /// Octets that its elements take in a header: 0, 3 or 6.
    #[must_use]
    pub fn octets(self) -> usize {
        ELEMENT_OCTETS * (usize::from(self.locking.is_some()) + usize::from(self.single.is_some()))
    }

    fn basic(self) -> &'static [char; 128] {
        self.locking.and_then(Language::locking).unwrap_or(&gsm7::BASIC)
    }

    fn extension_code(self, character: char) -> Option<u8> {
        let is_it = |(_, other): &(u8, char)| *other == character;
        let row = match self.single {
            Some(language) => language.single().find(is_it),
            None => gsm7::EXTENSION.into_iter().find(is_it),
        };
        row.map(|(code, _)| code)
    }

    fn extension_character(self, code: u8) -> Option<char> {
        let is_it = |(other, _): &(u8, char)| *other == code;
        let row = match self.single {
            Some(language) => language.single().find(is_it),
            None => gsm7::EXTENSION.into_iter().find(is_it),
        };
        row.map(|(_, character)| character)
    }

    /// A character's code, and whether it comes behind an escape.
    fn code(self, character: char) -> Option<(u8, bool)> {
        if self == Shift::NONE {
            return gsm7::code(character);
        }
        let basic = self.basic();
        let own_place = character as usize;
        if basic.get(own_place) == Some(&character) && own_place != usize::from(ESCAPE) {
            return Some((own_place as u8, false));
        }
        let is_coded = character != NONE && character != char::from(ESCAPE);
        if let Some(code) = basic.iter().position(|&other| other == character).filter(|_| is_coded) {
            return Some((code as u8, false));
        }
        self.extension_code(character).map(|code| (code, true))
    }

    /// Septets of a character: 1, 2 behind an escape; `None` when it has no code.
    #[must_use]
    pub fn septets(self, character: char) -> Option<usize> {
        self.code(character).map(|(_, extended)| if extended { 2 } else { 1 })
    }

    /// Whether every character has a code.
    #[must_use]
    pub fn can_encode(self, text: &str) -> bool {
        text.chars().all(|character| self.code(character).is_some())
    }

    /// Appends the septets of `text`, one per octet.
    ///
    /// # Errors
    /// The first character without a code; `out` is then as it was.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), NotEncodable> {
        let start = out.len();
        for (at, character) in text.char_indices() {
            let Some((septet, extended)) = self.code(character) else {
                out.truncate(start);
                return Err(NotEncodable { character, at });
            };
            if extended {
                out.push(ESCAPE);
            }
            out.push(septet);
        }
        Ok(())
    }

    /// The text of `septets`. An escape before a code that the extension lacks shows the alphabet's
    /// character; codes without a character show a space.
    #[must_use]
    pub fn decode(self, septets: &[u8]) -> String {
        let shown = |character: char| if character == NONE { ' ' } else { character };
        let mut text = String::with_capacity(septets.len() * 3);
        let mut septets = septets.iter().map(|octet| octet & 0x7F);
        while let Some(septet) = septets.next() {
            if septet != ESCAPE {
                text.push(shown(self.basic()[usize::from(septet)]));
                continue;
            }
            let character = match septets.next() {
                None | Some(ESCAPE) => ' ',
                Some(code) => {
                    self.extension_character(code).unwrap_or(shown(self.basic()[usize::from(code)]))
                }
            };
            text.push(character);
        }
        text
    }
}

/// The tables of one of `languages` with which `text` makes the fewest parts, and of those the fewest
/// septets; `None` when none of them has every character. The default tables are tried first. `concat` is how
/// a long text would be cut.
///
/// Few networks and phones know these tables: ask for a language only where the route says so.
#[must_use]
pub fn choose_shift(text: &str, languages: &[Language], concat: Concat) -> Option<Shift> {
    let of_language = languages.iter().flat_map(|&language| {
        let (one, none) = (Some(language), None);
        let locks = language.locking().is_some();
        [(none, one), (one, none), (one, one)]
            .into_iter()
            .filter(move |(locking, _)| locks || locking.is_none())
    });
    std::iter::once((None, None))
        .chain(of_language)
        .map(|(locking, single)| Shift { locking, single })
        .filter_map(|shift| {
            let septets: usize =
                text.chars().map(|character| shift.septets(character)).sum::<Option<usize>>()?;
            Some((parts_shifted(text, Charset::Gsm7, shift, concat), shift.octets() + septets, shift))
        })
        .min_by_key(|(parts, septets, _)| (*parts, *septets))
        .map(|(.., shift)| shift)
}
