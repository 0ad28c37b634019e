//! Vocabulary of spoken text: tables of one language.

use super::{english, swedish};
use crate::language;

/// Words of a language. A language without any has empty tables: their rules do nothing.
pub(super) struct Vocabulary {
    /// Behind a number: the unit, its word for one, its word for others.
    pub units: &'static [(&'static str, &'static str, &'static str)],
    /// Before a number: the sign, its word for one, its word for others; they are read behind the number.
    pub currencies: &'static [(char, &'static str, &'static str)],
    /// Abbreviations.
    pub abbreviations: Abbreviations,
    /// Words before a telephone number.
    pub calls: &'static [&'static str],
    /// Telephone numbers of three to six digits that everybody knows, as they are written.
    pub numbers: &'static [&'static str],
    /// Words before a time that is written with a full stop.
    pub clocks: &'static [&'static str],
    /// Words of capital letters that are spelled though they could be pronounced.
    pub spelled: &'static [&'static str],
    /// Names of months.
    pub months: Option<&'static [&'static str; 12]>,
    /// Words before a date of day and month with a stroke.
    pub dates: &'static [&'static str],
    /// A time of the day by hour and minute.
    pub time: Option<fn(u8, u8) -> String>,
    /// Between the two ends of a range.
    pub to: &'static str,
    /// Before a negative number.
    pub minus: &'static str,
    /// Capital letters have other small ones than in most languages.
    pub has_own_case: bool,
}

/// Abbreviations of a language.
pub(super) struct Abbreviations {
    /// The words for an abbreviation in small letters. One that ends with a full stop here needs it.
    pub anywhere: &'static [(&'static str, &'static str)],
    /// Abbreviations that are read so before a number only.
    pub before_number: &'static [(&'static str, &'static str)],
    /// Abbreviations after which a full stop may end the sentence.
    pub ends: &'static [&'static str],
    /// Abbreviations of names as they are written: before a name, and behind one.
    pub names: &'static [(&'static str, &'static str, &'static str)],
}

/// No words.
pub(super) const NONE: Vocabulary = Vocabulary {
    units: &[],
    currencies: &[],
    abbreviations: Abbreviations { anywhere: &[], before_number: &[], ends: &[], names: &[] },
    calls: &[],
    numbers: &[],
    clocks: &[],
    spelled: &[],
    months: None,
    dates: &[],
    time: None,
    to: "",
    minus: "",
    has_own_case: false,
};

static GENERAL: Vocabulary = NONE;
static OWN_CASE: Vocabulary = Vocabulary { has_own_case: true, ..NONE };

impl Vocabulary {
    /// The vocabulary of a language tag's language.
    pub fn of(language: &str) -> &'static Vocabulary {
        match language::primary(language).as_str() {
            "en" => &english::VOCABULARY,
            "sv" => &swedish::VOCABULARY,
            "tr" | "az" => &OWN_CASE,
            _ => &GENERAL,
        }
    }
}
