//! Words of a line, one after the other: the first rule that knows a word says how it is read.

use super::{Speaker, capitals, numbers, phone, units};

/// A word between two blanks, with the signs around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineWord<'a> {
    /// Signs before it.
    pub lead: &'a str,
    /// The word.
    pub core: &'a str,
    /// Signs behind it.
    pub trail: &'a str,
}

/// A line at one of its words.
#[derive(Clone, Copy)]
pub(super) struct WordPlace<'a> {
    /// All words of the line.
    pub words: &'a [LineWord<'a>],
    /// The place of this one.
    pub at: usize,
}

/// A reading of some words.
pub(super) struct WordReading {
    /// So many words were read.
    pub words: usize,
    /// In their place, with the signs around them.
    pub text: String,
}

type Rule = fn(WordPlace<'_>, &Speaker) -> Option<WordReading>;

/// In this order: numbers of telephones look like others, and abbreviations like words.
const RULES: [Rule; 9] = [
    phone::number,
    numbers::date,
    numbers::time,
    numbers::range,
    units::number_with_unit,
    numbers::road,
    abbreviation,
    name,
    capitals::word,
];

/// The line with each rule applied to each word once.
pub(super) fn read(line: &str, speaker: &Speaker) -> String {
    let words: Vec<LineWord<'_>> =
        line.split(' ').filter(|word| !word.is_empty()).map(LineWord::of).collect();
    let mut out = String::with_capacity(line.len());
    let mut at = 0;
    while at < words.len() {
        let place = WordPlace { words: &words, at };
        let reading =
            RULES.iter().find_map(|rule| rule(place, speaker)).unwrap_or_else(|| other(place, speaker));
        if !out.is_empty() && !reading.text.is_empty() {
            out.push(' ');
        }
        out.push_str(&reading.text);
        at += reading.words.max(1);
    }
    out
}

impl<'a> LineWord<'a> {
    fn of(word: &'a str) -> LineWord<'a> {
        let start = word.find(|c: char| !is_lead(c)).unwrap_or(word.len());
        let (lead, rest) = word.split_at(start);
        let core = rest.trim_end_matches(is_trail);
        LineWord { lead, core, trail: &rest[core.len()..] }
    }

    /// Nothing stands around it.
    pub fn is_bare(&self) -> bool {
        self.lead.is_empty() && self.trail.is_empty()
    }
}

fn is_lead(c: char) -> bool {
    matches!(c, '(' | '\'' | '¿' | '¡')
}

fn is_trail(c: char) -> bool {
    matches!(c, '.' | ',' | '!' | '?' | ':' | ';' | ')' | '\'' | '؟' | '،' | '؛' | '۔')
}

impl<'a> WordPlace<'a> {
    /// The word here.
    pub fn word(&self) -> LineWord<'a> {
        self.words[self.at]
    }

    /// The next word, unless a sign stands between.
    pub fn next(&self) -> Option<LineWord<'a>> {
        let joined = self.word().trail.is_empty();
        self.words.get(self.at + 1).copied().filter(|next| joined && next.lead.is_empty())
    }

    /// The word before, whatever stands between.
    pub fn previous(&self) -> Option<LineWord<'a>> {
        self.at.checked_sub(1).map(|at| self.words[at])
    }

    /// The core of the word before in small letters, empty without one.
    pub fn previous_core(&self) -> String {
        self.previous().map(|word| word.core.to_lowercase()).unwrap_or_default()
    }

    /// Another text in the word's place.
    pub fn reading(&self, text: &str) -> WordReading {
        let LineWord { lead, trail, .. } = self.word();
        WordReading { words: 1, text: format!("{lead}{text}{trail}") }
    }

    /// Another text in the place of this word and the next.
    pub fn reading_of_two(&self, text: &str) -> WordReading {
        let trail = self.words.get(self.at + 1).map_or("", |next| next.trail);
        WordReading { words: 2, text: format!("{}{text}{trail}", self.word().lead) }
    }

    /// The word's trail without the full stop of an abbreviation. The last word of a line keeps it, and one
    /// that may end a sentence before a capital letter.
    fn trail_of_abbreviation(&self, may_end: bool) -> &'a str {
        let trail = self.word().trail;
        let Some(next) = self.words.get(self.at + 1) else { return trail };
        let ends = may_end && next.core.starts_with(char::is_uppercase);
        if ends { trail } else { trail.strip_prefix('.').unwrap_or(trail) }
    }
}

/// "t.ex." is "till exempel", "No. 5" is "number 5".
fn abbreviation(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let LineWord { lead, core, trail } = place.word();
    let table = &speaker.vocabulary.abbreviations;
    let is_before_number =
        place.words.get(place.at + 1).is_some_and(|next| next.core.starts_with(|c: char| c.is_ascii_digit()));
    let before_number = if is_before_number { table.before_number } else { &[] };
    let has_stop = trail.starts_with('.');
    let words = found(before_number, core, has_stop).or_else(|| found(table.anywhere, core, has_stop))?;
    let may_end = table.ends.contains(&core.to_lowercase().as_str());
    Some(WordReading { words: 1, text: format!("{lead}{words}{}", place.trail_of_abbreviation(may_end)) })
}

/// The words of an abbreviation; with a capital letter first they have one, too.
fn found(table: &[(&str, &str)], core: &str, has_stop: bool) -> Option<String> {
    let look = |core: &str| {
        let is_it = |key: &str| match key.strip_suffix('.') {
            Some(key) => key == core && has_stop,
            None => key == core,
        };
        table.iter().find(|(key, _)| is_it(key)).map(|(_, words)| *words)
    };
    if let Some(words) = look(core) {
        return Some(words.to_owned());
    }
    let first = core.chars().next().filter(|c| c.is_uppercase())?;
    let small: String = first.to_lowercase().chain(core[first.len_utf8()..].chars()).collect();
    let words = look(&small)?;
    let capital = words.chars().next()?;
    Some(capital.to_uppercase().chain(words[capital.len_utf8()..].chars()).collect())
}

/// "St Mary" is a saint, "Main St" a street.
fn name(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let LineWord { lead, core, .. } = place.word();
    let (_, before, behind) =
        speaker.vocabulary.abbreviations.names.iter().find(|(abbreviation, ..)| *abbreviation == core)?;
    let is_name =
        |word: &LineWord<'_>| word.core.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let is_behind = place.previous().is_some_and(|word| is_name(&word) && word.trail.is_empty());
    let is_before = place.words.get(place.at + 1).is_some_and(is_name);
    // The first word of a line has a capital letter though it may be no name.
    let starts_line = place.at == 1;
    let is_title = is_before && (!is_behind || starts_line) && !before.is_empty();
    let words = match is_title {
        true => *before,
        false if is_behind && !behind.is_empty() => *behind,
        false => return None,
    };
    Some(WordReading { words: 1, text: format!("{lead}{words}{}", place.trail_of_abbreviation(!is_title)) })
}

/// Words that no rule knows: signs between words are pauses or words themselves.
fn other(place: WordPlace<'_>, speaker: &Speaker) -> WordReading {
    let word = place.word();
    match word.core {
        "-" | "–" | "/" if word.is_bare() => {
            let is_first = place.at == 0;
            return WordReading { words: 1, text: if is_first { String::new() } else { ",".to_owned() } };
        }
        "&" => {
            let and = speaker.catalogue.map_or("", |catalogue| catalogue.and());
            return place.reading(and);
        }
        _ => {}
    }
    let chars: Vec<char> = word.core.chars().collect();
    let between_digits = |at: usize| {
        at > 0 && chars[at - 1].is_numeric() && chars.get(at + 1).is_some_and(|next| next.is_numeric())
    };
    let mut text = String::with_capacity(word.core.len());
    for (at, c) in chars.iter().enumerate() {
        match c {
            '/' if !between_digits(at) => text.push(' '),
            '&' => text.push_str(" & "),
            '–' if !between_digits(at) => text.push_str(", "),
            '-' if at == 0 && !chars.get(1).is_some_and(|next| next.is_numeric()) => text.push(' '),
            _ => text.push(*c),
        }
    }
    place.reading(text.trim())
}
