//! Reader of answers: a text is a choice only when it says so, and nothing else.

use super::courtesies::{is_closing, is_greeting, is_plain_greeting, may_greet};
use super::fold::{fold, words};
use records::Choice;

/// Lines of a text that are looked at.
const LINES_MAX: usize = 200;
/// Letters of a word that tells two labels apart: shorter ones are articles and the like.
const TELLING_LETTERS_MIN: usize = 4;

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerReading<'c> {
    /// A choice, and nothing but it, its label and punctuation.
    Choice(&'c Choice),
    /// A choice with words behind it that explain it, as in `2 - we are trapped`.
    Explained(&'c Choice),
    /// Words that are for a person to read.
    Words,
}

impl<'c> AnswerReading<'c> {
    /// The choice that it is.
    pub fn choice(&self) -> Option<&'c Choice> {
        match self {
            AnswerReading::Choice(choice) | AnswerReading::Explained(choice) => Some(choice),
            AnswerReading::Words => None,
        }
    }
}

/// Reads a whole text. `asked`: the text of the alert, which a reply may repeat behind the answer.
///
/// The answer is the first line that greets nobody. It is a choice if it is the key, the label, or both, in
/// the digits of any script, with punctuation around; or the key, a dash or colon, and words that say nothing
/// against it. What follows on later lines must say nothing against it either, up to a signature or a
/// repetition of the alert.
pub fn read_answer<'c>(choices: &'c [Choice], text: &str, asked: &str) -> AnswerReading<'c> {
    let folded = fold(text);
    let lines: Vec<&str> =
        folded.lines().map(str::trim).take(LINES_MAX).filter(|line| !line.is_empty()).collect();
    let Some(place) = lines.iter().position(|line| !is_greeting(line)) else {
        // A choice may be a greeting.
        return exactly(choices, folded.trim()).map_or(AnswerReading::Words, AnswerReading::Choice);
    };
    let (greeted, line, mut behind) = (&lines[..place], lines[place], &lines[place + 1..]);
    let keys: Vec<ChoiceWords<'c>> = choices.iter().map(ChoiceWords::of).collect();
    let (choice, explains) = match (exactly(choices, line), explained(&keys, line)) {
        (Some(choice), _) => (choice, false),
        (None, Some(choice)) => (choice, true),
        (None, None) => {
            let Some((next, rest)) = behind.split_first().filter(|_| may_greet(line)) else {
                return AnswerReading::Words;
            };
            behind = rest;
            match exactly(choices, next) {
                Some(choice) if !contradicts(&keys, choice, line) => (choice, false),
                _ => return AnswerReading::Words,
            }
        }
    };
    // A name in a greeting may be anything, also a cry for help.
    let cries = |line: &&str| !is_plain_greeting(line) && contradicts(&keys, choice, line);
    if greeted.iter().any(cries) || is_taken_back(&keys, choice, behind, asked) {
        return AnswerReading::Words;
    }
    if explains { AnswerReading::Explained(choice) } else { AnswerReading::Choice(choice) }
}

/// Whether the lines behind an answer say something against it, up to a signature or a repetition of the
/// alert.
fn is_taken_back(keys: &[ChoiceWords<'_>], choice: &Choice, behind: &[&str], asked: &str) -> bool {
    let asked = in_words(&fold(asked));
    let ends = |line: &str| is_closing(line) || keys.iter().any(|known| known.is_offered(line));
    let mut own = behind.iter().take_while(|line| !ends(line)).filter(|line| !is_repeated(line, &asked));
    own.any(|line| contradicts(keys, choice, line) || line.contains(['?', '？', '؟']))
}

/// A choice in folded words.
struct ChoiceWords<'c> {
    choice: &'c Choice,
    key: String,
    label: String,
}

impl<'c> ChoiceWords<'c> {
    fn of(choice: &'c Choice) -> ChoiceWords<'c> {
        ChoiceWords { choice, key: in_words(&fold(&choice.key)), label: in_words(&fold(&choice.label)) }
    }

    /// A line of the alert that offers it: `1 = i am safe`.
    fn is_offered(&self, line: &str) -> bool {
        !self.key.is_empty()
            && !self.label.is_empty()
            && in_words(line) == format!("{} {}", self.key, self.label)
    }
}

fn in_words(folded: &str) -> String {
    words(folded).collect::<Vec<_>>().join(" ")
}

/// The choice that a line is, with nothing but punctuation around; nothing if it could be two.
fn exactly<'c>(choices: &'c [Choice], line: &str) -> Option<&'c Choice> {
    let same = |choice: &&Choice| {
        let (key, label) = (fold(&choice.key), fold(&choice.label));
        let (key, label) = (key.trim(), label.trim());
        line == key || !label.is_empty() && line == label
    };
    if let Some(choice) = choices.iter().find(same) {
        return Some(choice);
    }
    if line.chars().any(is_meaning) {
        return None;
    }
    let said = chinese_digit(line).unwrap_or_else(|| in_words(line));
    let is_meant = |choice: &&Choice| {
        let of = ChoiceWords::of(choice);
        let both = |first: &str, second: &str| said == format!("{first} {second}");
        let (key, label) = (&*of.key, &*of.label);
        !said.is_empty() && (said == key || said == label || both(key, label) || both(label, key))
    };
    let mut meant = choices.iter().filter(is_meant);
    let first = meant.next()?;
    meant.next().is_none().then_some(first)
}

/// The choice of a line that explains it behind a dash or a colon.
fn explained<'c>(keys: &[ChoiceWords<'c>], line: &str) -> Option<&'c Choice> {
    let begun = line
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '\'' | '«' | '“'));
    let end = begun.find(|c: char| !c.is_alphanumeric()).filter(|end| *end > 0)?;
    let (key, rest) = begun.split_at(end);
    let of = keys.iter().find(|of| of.key == key)?;
    let words_behind = behind_separator(rest)?;
    let has_digit = words_behind.bytes().any(|octet| octet.is_ascii_digit());
    let is_against =
        has_digit || words_behind.contains(['?', '？', '؟']) || contradicts(keys, of.choice, words_behind);
    (!is_against).then_some(of.choice)
}

/// What stands behind a dash or a colon that is followed by a blank. A point makes a number of the key in
/// many languages, and a comma a list: neither separates.
fn behind_separator(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches([' ', ')', ']', '"', '\'', '»', '”']);
    let behind =
        rest.trim_start_matches(['-', '\u{2010}', '\u{2011}', '\u{2012}', '–', '—', '―', ':', '：', '=']);
    let is_separated = behind.len() < rest.len() && behind.starts_with(char::is_whitespace);
    (is_separated && words(behind).next().is_some()).then_some(behind)
}

/// Words with which people take back or limit what they said, in folded form, of many languages.
const AGAINST: &[&str] = &[
    "not",
    "no",
    "never",
    "but",
    "however",
    "except",
    "wait",
    "wrong",
    "mistake",
    "sorry",
    "isn",
    "aren",
    "don",
    "dont",
    "can",
    "cannot",
    "cant",
    "unless",
    "if",
    "maybe",
    "perhaps",
    "or",
    "help",
    "injured",
    "hurt",
    "trapped",
    "dead",
    "bleeding",
    "missing",
    "fire",
    "inte",
    "ej",
    "icke",
    "men",
    "utom",
    "fel",
    "kanske",
    "eller",
    "ikke",
    "undtagen",
    "maske",
    "mutta",
    "ei",
    "en",
    "ehka",
    "tai",
    "nicht",
    "kein",
    "keine",
    "aber",
    "nein",
    "falsch",
    "vielleicht",
    "oder",
    "pas",
    "mais",
    "non",
    "jamais",
    "sauf",
    "ou",
    "pero",
    "nunca",
    "quizas",
    "salvo",
    "nao",
    "mas",
    "ma",
    "forse",
    "niet",
    "geen",
    "maar",
    "misschien",
    "nie",
    "ale",
    "moze",
    "ne",
    "нет",
    "не",
    "но",
    "или",
    "degil",
    "ama",
    "لا",
    "ليس",
    "לא",
    "אבל",
    "nahi",
];

/// Words of a choice that calls for help, in folded form: what makes it worse is not against it.
const HELP: &[&str] = &[
    "help",
    "hjalp",
    "hilfe",
    "aide",
    "ayuda",
    "ajuda",
    "aiuto",
    "hulp",
    "apua",
    "pomoc",
    "pomoci",
    "помощь",
    "yardim",
    "مساعدة",
    "עזרה",
    "injured",
    "trapped",
];

/// Whether words take a choice back: a word against it, another choice's key, or a word of another choice's
/// label that its own has not.
fn contradicts(keys: &[ChoiceWords<'_>], choice: &Choice, line: &str) -> bool {
    let own = keys.iter().find(|of| std::ptr::eq(of.choice, choice));
    let is_own =
        |word: &str| own.is_some_and(|of| words(&of.label).chain(words(&of.key)).any(|own| own == word));
    let others = || keys.iter().filter(|of| !std::ptr::eq(of.choice, choice));
    let is_others = |word: &str| {
        others().any(|of| {
            let is_telling = word.chars().count() >= TELLING_LETTERS_MIN;
            words(&of.key).any(|key| key == word) || is_telling && words(&of.label).any(|other| other == word)
        })
    };
    // What the choice itself says is not against it: `2 - we are trapped` needs help.
    let needs_help = own.is_some_and(|of| words(&of.label).any(|word| HELP.contains(&word)));
    let is_against = |word: &str| AGAINST.contains(&word) && !needs_help;
    words(line).any(|word| !is_own(word) && (is_others(word) || is_against(word)))
}

/// Whether a line is of the alert.
fn is_repeated(line: &str, asked: &str) -> bool {
    let line = in_words(line);
    line.len() >= TELLING_LETTERS_MIN && asked.contains(&line)
}

/// Whether a character says something though it is no letter: a pictograph, a measure, a currency. Those of
/// assent do not.
fn is_meaning(c: char) -> bool {
    const ASSENT: &str = "👍👌✅✔☑🙏🙂😀😁😃😄😅😊😌😍😘🤗👏💪🤝🫡❤♥💙💚💛🧡💜🏻🏼🏽🏾🏿";
    let is_sign = matches!(c, '%' | '‰' | '$' | '€' | '£' | '¥' | '₹' | '°' | '№' | '×' | '÷');
    let is_picture =
        matches!(u32::from(c), 0x2300..=0x23FF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x1F000..=0x1FAFF);
    is_sign || is_picture && !ASSENT.contains(c)
}

/// A Chinese numeral alone on its line is a digit.
fn chinese_digit(line: &str) -> Option<String> {
    let mut letters = line.chars().filter(|c| c.is_alphanumeric());
    let (only, none) = (letters.next()?, letters.next());
    let place = "〇一二三四五六七八九".chars().position(|digit| digit == only)?;
    none.is_none().then(|| place.to_string())
}
