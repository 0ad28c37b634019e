//! Telephone numbers in spoken text: digit by digit, in groups.

use super::Speaker;
use super::words::{WordPlace, WordReading};

/// Digits of a telephone number (E.164, section 6).
const DIGITS_MAX: usize = 15;
/// Digits of a number that looks like one of a telephone.
const DIGITS_MIN: usize = 7;
/// Digits of a number behind "call".
const CALLED_DIGITS_MIN: usize = 3;
/// Digits that are read without a pause; a writer's own groups may be one longer.
const GROUP_DIGITS: usize = 3;
/// Groups of American numbers between hyphens.
const HYPHENED: [&[usize]; 2] = [&[3, 3, 4], &[1, 3, 3, 4]];
/// Trunk prefix in brackets: nobody dials it behind the country code.
const TRUNK_PREFIX: &str = "(0)";

/// Digits of Latin, Arabic and Persian texts.
fn is_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '٠'..='٩' | '۰'..='۹')
}

fn is_zero(c: char) -> bool {
    matches!(c, '0' | '٠' | '۰')
}

/// A telephone number of one or several words is read as "0 7 0, 1 2 3, 4 5, 6 7".
pub(super) fn number(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let (written, trail, words) = run(place)?;
    let written = written.replace(TRUNK_PREFIX, " ");
    let groups: Vec<&str> = written.split(|c| !is_digit(c)).filter(|group| !group.is_empty()).collect();
    let called = speaker.vocabulary.calls.contains(&place.previous_core().as_str());
    let is_known = speaker.vocabulary.numbers.contains(&written.as_str());
    if !is_known && !is_number(&written, &groups, called) {
        return None;
    }
    let mut parts: Vec<String> = groups.iter().flat_map(|group| split(group)).collect();
    if written.starts_with('+') {
        let plus = speaker.catalogue.map_or("+", |catalogue| catalogue.plus());
        parts[0].insert_str(0, &format!("{plus} "));
    }
    Some(WordReading { words, text: format!("{}{trail}", parts.join(", ")) })
}

/// Words of nothing but digits and the signs of telephone numbers, the signs behind them, and their count.
fn run(place: WordPlace<'_>) -> Option<(String, &str, usize)> {
    let (mut written, mut trail, mut words, mut digits) = (String::new(), "", 0, 0);
    for word in &place.words[place.at..] {
        let opens = word.lead.chars().all(|c| c == '(');
        let is_open = word.lead.starts_with('(') && !word.core.contains(')');
        let closes = is_open && word.trail.starts_with(')');
        let fits = opens && word.core.chars().all(|c| is_digit(c) || "+-/()".contains(c));
        let count = word.core.chars().filter(|c| is_digit(*c)).count();
        // One digit alone is a number of its own, or part of one that was read already.
        if !fits || count == 0 || words > 0 && count < 2 || digits + count > DIGITS_MAX {
            break;
        }
        if words > 0 {
            written.push(' ');
        }
        written.extend([word.lead, word.core]);
        trail = word.trail;
        if closes {
            written.push(')');
            trail = &trail[1..];
        }
        digits += count;
        words += 1;
        if !trail.is_empty() {
            break;
        }
    }
    (words > 0).then_some((written, trail, words))
}

fn is_number(written: &str, groups: &[&str], called: bool) -> bool {
    let digits: usize = groups.iter().map(|group| group.chars().count()).sum();
    let lengths: Vec<usize> = groups.iter().map(|group| group.chars().count()).collect();
    if lengths.iter().all(|length| *length < 2) || digits > DIGITS_MAX {
        return false;
    }
    if called && digits >= CALLED_DIGITS_MIN && !is_date(written, &lengths) {
        return true;
    }
    let bare = written.trim_start_matches('(');
    let starts = bare.starts_with(|c| c == '+' || is_zero(c)) || written.starts_with('(');
    let signs = written.chars().filter(|c| *c == '+').count();
    let is_hyphened = written.contains('-') && HYPHENED.contains(&&lengths[..]);
    digits >= DIGITS_MIN && signs <= 1 && (starts || is_hyphened) && !is_date(written, &lengths)
}

/// "07/12/2026" and "2026-12-07" are days.
fn is_date(written: &str, lengths: &[usize]) -> bool {
    let is_day = matches!(lengths, [1..=2, 1..=2, 4] | [4, 1..=2, 1..=2]);
    is_day && !written.starts_with(['+', '(']) && !written.contains(' ')
}

/// A group as its digits with blanks between them; a long one as several, the last two of two if they must.
fn split(group: &str) -> Vec<String> {
    let digits: Vec<char> = group.chars().collect();
    let mut parts = Vec::new();
    let mut rest = &digits[..];
    while rest.len() > GROUP_DIGITS + 1 {
        let (part, behind) = rest.split_at(GROUP_DIGITS);
        parts.push(part);
        rest = behind;
    }
    if rest.len() == GROUP_DIGITS + 1 && !parts.is_empty() {
        parts.extend(rest.chunks(2));
    } else {
        parts.push(rest);
    }
    let spaced = |part: &[char]| part.iter().map(char::to_string).collect::<Vec<_>>().join(" ");
    parts.into_iter().map(spaced).collect()
}

/// The digits of any telephone number that is known to be one.
pub(crate) fn digits(number: &str, plus: &str) -> String {
    let groups: Vec<String> =
        number.split(|c| !is_digit(c)).flat_map(split).filter(|part| !part.is_empty()).collect();
    let sign = if number.trim_start().starts_with('+') { format!("{plus} ") } else { String::new() };
    format!("{sign}{}", groups.join(", "))
}
