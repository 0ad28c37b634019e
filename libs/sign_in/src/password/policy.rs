//! Policy for new passwords: length, and no password that somebody would guess among the first.
//!
//! A password is divided into as few pieces as it can be: a well-known word, a name, a run along the
//! alphabet, digits or keyboard, one character again and again, a year, or a single character; spaces, full
//! stops and hyphens between them count for nothing. One of fewer than [`PIECES_MIN`] pieces is refused,
//! however long: "Summer2026!!" is three, "correct horse battery" many.
//! Digits and signs that stand for letters ("p4$$w0rd") are read as those.

use super::prepared;
use std::fmt;

/// Characters that a password has at least (NIST SP 800-63B §5.1.1.2 asks for 8, for 15 where it is alone).
pub const CHARACTERS_MIN: usize = 12;
/// Characters that a password has at most.
pub const CHARACTERS_MAX: usize = 1_024;
/// Pieces that a password has at least.
pub const PIECES_MIN: usize = 5;
/// Names of the site or the user that are looked for; further ones are left out.
pub const NAMES_MAX: usize = 32;
/// Characters of a name; shorter ones are in too many passwords, longer ones are cut off.
const NAME_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=64;
/// Characters of a run, at least.
const RUN_MIN: usize = 3;
/// Characters between words, which make no password harder to guess.
const SEPARATORS: [char; 4] = [' ', '.', '-', '_'];
/// Well-known passwords and the words that they are made of, in lower case.
const COMMON: &str = include_str!("common_words");
/// Rows of keyboards, from left to right: QWERTY, QWERTZ, AZERTY, and columns of QWERTY.
const KEYBOARDS: [&str; 9] = [
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "yxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    "wxcvbn",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
];

/// Names that no password may be made of.
#[derive(Debug, Clone, Copy, Default)]
pub struct PolicyNames<'a> {
    /// Names of the site and the organisation.
    pub site: &'a [&'a str],
    /// Names of the user: what they sign in by, mail address, given and family name.
    pub user: &'a [&'a str],
}

/// A new password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakPassword {
    /// Under [`CHARACTERS_MIN`].
    TooShort {
        /// Characters that it has.
        characters: usize,
    },
    /// Over [`CHARACTERS_MAX`].
    TooLong,
    /// A control character, as a tab or the end of a line.
    Control,
    /// One or a few characters again and again.
    Repeated,
    /// Runs along the alphabet, digits or a keyboard.
    Sequential,
    /// A well-known password, with little beside it.
    Common,
    /// The site's or organisation's name, with little beside it.
    NameOfSite,
    /// The user's own name or mail address, with little beside it.
    NameOfUser,
}

impl WeakPassword {
    /// A name for programs.
    pub fn code(self) -> &'static str {
        match self {
            WeakPassword::TooShort { .. } => "password_too_short",
            WeakPassword::TooLong => "password_too_long",
            WeakPassword::Control => "password_control_character",
            WeakPassword::Repeated => "password_repeated",
            WeakPassword::Sequential => "password_sequential",
            WeakPassword::Common => "password_common",
            WeakPassword::NameOfSite => "password_name_of_site",
            WeakPassword::NameOfUser => "password_name_of_user",
        }
    }
}

impl fmt::Display for WeakPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeakPassword::TooShort { characters } => write!(
                f,
                "the password has {characters} characters: use {CHARACTERS_MIN} or more; a few words that do not belong \
                 together are easy to remember"
            ),
            WeakPassword::TooLong => {
                write!(f, "the password has more than {CHARACTERS_MAX} characters: use a shorter one")
            }
            WeakPassword::Control => {
                f.write_str("the password has a tab, an end of line or another control character: leave it out")
            }
            WeakPassword::Repeated => {
                f.write_str("the password repeats the same characters: use a few words that do not belong together")
            }
            WeakPassword::Sequential => f.write_str(
                "the password follows the alphabet, digits or the keyboard: use a few words that do not belong together",
            ),
            WeakPassword::Common => {
                f.write_str("the password is among those guessed first: use a few words that do not belong together")
            }
            WeakPassword::NameOfSite => f.write_str(
                "the password is little more than the name of this site or organisation: add words that do not belong to it",
            ),
            WeakPassword::NameOfUser => f.write_str(
                "the password is little more than your own name or address: add words that do not belong to you",
            ),
        }
    }
}

impl std::error::Error for WeakPassword {}

/// Kinds of pieces, the ones that tell most last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PasswordPiece {
    Character,
    Repeat,
    Sequence,
    Word,
    Site,
    User,
}

/// Checks a new password.
///
/// # Errors
/// The password is refused; the error says why, and names nothing of the password.
pub fn check(password: &str, names: PolicyNames<'_>) -> Result<(), WeakPassword> {
    if password.len() > super::PASSWORD_OCTETS_MAX {
        return Err(WeakPassword::TooLong);
    }
    let password = prepared(password);
    let characters = password.chars().count();
    if characters > CHARACTERS_MAX {
        return Err(WeakPassword::TooLong);
    }
    if characters < CHARACTERS_MIN {
        return Err(WeakPassword::TooShort { characters });
    }
    if password.chars().any(char::is_control) {
        return Err(WeakPassword::Control);
    }
    let letters: Vec<char> = password.to_lowercase().chars().collect();
    let words = words(names);
    let (mut pieces, mut kind) = divide(&letters, &words);
    if let Some(period) = period(&letters) {
        let (of_one, kind_of_one) = divide(&letters[..period], &words);
        if of_one + 1 < pieces {
            (pieces, kind) = (of_one + 1, kind_of_one.max(PasswordPiece::Repeat));
        }
    }
    if pieces >= PIECES_MIN {
        return Ok(());
    }
    Err(match kind {
        PasswordPiece::User => WeakPassword::NameOfUser,
        PasswordPiece::Site => WeakPassword::NameOfSite,
        PasswordPiece::Word => WeakPassword::Common,
        PasswordPiece::Sequence => WeakPassword::Sequential,
        PasswordPiece::Repeat | PasswordPiece::Character => WeakPassword::Repeated,
    })
}

/// Words by which a password is divided.
fn words(names: PolicyNames<'_>) -> Vec<(Vec<char>, PasswordPiece)> {
    let common = COMMON.split_whitespace().map(|word| (word.chars().collect(), PasswordPiece::Word));
    let of = |names: &[&str], piece| parts(names).into_iter().map(move |name| (name, piece));
    common.chain(of(names.site, PasswordPiece::Site)).chain(of(names.user, PasswordPiece::User)).collect()
}

/// Names as a whole and their parts: "anna.oberg@example.org" is also "anna", "oberg" and "example".
fn parts(names: &[&str]) -> Vec<Vec<char>> {
    let mut parts = Vec::new();
    for name in names.iter().take(NAMES_MAX) {
        let name = prepared(name).to_lowercase();
        let of_name = name.split(|c: char| !c.is_alphanumeric()).take(NAMES_MAX);
        for part in of_name.chain([name.as_str()]) {
            let part: Vec<char> = part.chars().take(*NAME_CHARACTERS.end()).collect();
            if NAME_CHARACTERS.contains(&part.len()) {
                parts.push(part);
            }
        }
    }
    parts
}

/// Fewest pieces of a text, and the most telling kind among them.
fn divide(letters: &[char], words: &[(Vec<char>, PasswordPiece)]) -> (usize, PasswordPiece) {
    let mut best: Vec<Option<(usize, PasswordPiece)>> = vec![None; letters.len() + 1];
    best[0] = Some((0, PasswordPiece::Character));
    for at in 0..letters.len() {
        let Some((count, kind)) = best[at] else { continue };
        let rest = &letters[at..];
        let mut offer = |length: usize, piece: PasswordPiece| {
            let is_separator = piece == PasswordPiece::Character && SEPARATORS.contains(&letters[at]);
            let offered = (count + usize::from(!is_separator), kind.max(piece));
            let slot = &mut best[at + length];
            if slot.is_none_or(|(fewest, known)| {
                offered.0 < fewest || (offered.0 == fewest && offered.1 > known)
            }) {
                *slot = Some(offered);
            }
        };
        offer(1, PasswordPiece::Character);
        if is_year(rest) {
            offer(4, PasswordPiece::Sequence);
        }
        for (length, piece) in
            [(repeat(rest), PasswordPiece::Repeat), (sequence(rest), PasswordPiece::Sequence)]
        {
            if length >= RUN_MIN {
                offer(length, piece);
            }
        }
        for (word, piece) in words.iter().filter(|(word, _)| reads_as(rest, word)) {
            offer(word.len(), *piece);
        }
    }
    best[letters.len()].unwrap_or((0, PasswordPiece::Character))
}

/// Whether a text begins with a word, signs read as the letters that they stand for.
fn reads_as(text: &[char], word: &[char]) -> bool {
    text.len() >= word.len() && word.iter().zip(text).all(|(letter, typed)| stands_for(*typed, *letter))
}

fn stands_for(typed: char, letter: char) -> bool {
    let for_it = match letter {
        'a' => "4@",
        'b' => "8",
        'e' => "3",
        'g' => "9",
        'i' | 'l' => "1!|",
        'o' => "0",
        's' => "5$",
        't' => "7+",
        'z' => "2",
        _ => "",
    };
    typed == letter || for_it.contains(typed)
}

/// A year of a life, or of now.
fn is_year(text: &[char]) -> bool {
    matches!(text, ['1', '9', a, b, ..] | ['2', '0', a, b, ..] if a.is_ascii_digit() && b.is_ascii_digit())
}

/// Characters that are the same as the first.
fn repeat(text: &[char]) -> usize {
    text.iter().take_while(|c| Some(*c) == text.first()).count()
}

/// Characters that follow the alphabet, digits or a keyboard, forwards or backwards.
fn sequence(text: &[char]) -> usize {
    let by_code = |step: i64| 1 + text.windows(2).take_while(|pair| distance(pair) == Some(step)).count();
    let by_keys = KEYBOARDS.iter().flat_map(|row| {
        let reversed: Vec<char> = row.chars().rev().collect();
        [along(text, &row.chars().collect::<Vec<_>>()), along(text, &reversed)]
    });
    let digits_to_0 = along(text, &['7', '8', '9', '0']);
    by_keys.chain([by_code(1), by_code(-1), digits_to_0]).max().unwrap_or_default().min(text.len())
}

/// Steps between two letters or digits; punctuation has no order that people know.
fn distance(pair: &[char]) -> Option<i64> {
    let [one, other] = pair else { return None };
    let both = one.is_alphanumeric() && other.is_alphanumeric();
    both.then(|| i64::from(u32::from(*other)) - i64::from(u32::from(*one)))
}

/// Characters that follow a row from where the first stands.
fn along(text: &[char], row: &[char]) -> usize {
    let Some(at) = row.iter().position(|key| Some(key) == text.first()) else { return 0 };
    row[at..].iter().zip(text).take_while(|(key, typed)| key == typed).count()
}

/// Length of the piece that a text consists of, if it stands there twice or more, the last time maybe cut.
fn period(letters: &[char]) -> Option<usize> {
    (1..=letters.len() / 2)
        .find(|period| letters[*period..].iter().zip(letters).all(|(one, other)| one == other))
}
