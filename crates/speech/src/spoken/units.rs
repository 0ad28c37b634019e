//! Numbers with units and amounts of money in spoken text.

use super::Speaker;
use super::words::{WordPlace, WordReading};

/// A degree: before it a hyphen is a minus.
const DEGREE: char = '°';

/// "5km" and "5 km" are "5 kilometres", "€5" is "5 euros".
pub(super) fn number_with_unit(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let vocabulary = speaker.vocabulary;
    let core = place.word().core;
    let (currency, rest) = currency(core, speaker);
    let (sign, rest) = sign(rest);
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".,".contains(c)).unwrap_or(rest.len());
    let (number, unit) = rest.split_at(end);
    let is_number =
        number.starts_with(|c: char| c.is_ascii_digit()) && number.ends_with(|c: char| c.is_ascii_digit());
    if !is_number {
        return None;
    }
    let known = |text: &str| vocabulary.units.iter().find(|(unit, ..)| *unit == text);
    let next = if unit.is_empty() { place.next().and_then(|next| known(next.core)) } else { None };
    let (one, many, is_next) = match (currency, known(unit), next) {
        (Some((one, many)), ..) if unit.is_empty() => (one, many, false),
        (None, Some((_, one, many)), _) => (*one, *many, false),
        (None, None, Some((_, one, many))) => (*one, *many, true),
        (None, None, None) if unit.is_empty() && sign == Some('−') && !vocabulary.minus.is_empty() => {
            return Some(place.reading(&format!("{} {number}", vocabulary.minus)));
        }
        _ => return None,
    };
    let is_degree = |text: &str| text.starts_with(DEGREE);
    let of_degrees = is_degree(unit) || place.next().is_some_and(|next| is_degree(next.core));
    let minus = match sign {
        Some('-') if !of_degrees => return None,
        Some('-' | '−') => format!("{} ", vocabulary.minus),
        _ => String::new(),
    };
    let words = if number == "1" { one } else { many };
    let text = format!("{minus}{number} {words}");
    Some(if is_next { place.reading_of_two(&text) } else { place.reading(&text) })
}

fn currency<'a>(core: &'a str, speaker: &Speaker) -> (Option<(&'static str, &'static str)>, &'a str) {
    let first = core.chars().next();
    match speaker.vocabulary.currencies.iter().find(|(sign, ..)| Some(*sign) == first) {
        Some((sign, one, many)) => (Some((*one, *many)), &core[sign.len_utf8()..]),
        None => (None, core),
    }
}

fn sign(core: &str) -> (Option<char>, &str) {
    match core.chars().next() {
        Some(sign @ ('-' | '−')) => (Some(sign), &core[sign.len_utf8()..]),
        _ => (None, core),
    }
}
