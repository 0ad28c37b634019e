//! Times, dates, ranges and road names of spoken text.

use super::Speaker;
use super::words::{WordPlace, WordReading};

/// Letters of a road's name: "E" of E4, "BA" of a flight.
const ROAD_LETTERS_MAX: usize = 2;
/// Digits of a road's name.
const ROAD_DIGITS_MAX: usize = 4;
/// Digits of an end of a range.
const RANGE_DIGITS_MAX: usize = 6;

/// Digits alone, as a number.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u16> {
    (digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// "2026-11-28" is "28 November 2026"; in Swedish, "den 28/11" is "den 28 november".
pub(super) fn date(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let months = speaker.vocabulary.months?;
    let core = place.word().core;
    let month = |text: &str| number(text, 1..=2).filter(|month| (1..=12).contains(month)).map(usize::from);
    let day = |text: &str| number(text, 1..=2).filter(|day| (1..=31).contains(day));
    if let [year, in_year, in_month] = core.split('-').collect::<Vec<_>>()[..] {
        let (year, month, day) = (number(year, 4..=4)?, month(in_year)?, day(in_month)?);
        return Some(place.reading(&format!("{day} {} {year}", months[month - 1])));
    }
    let (in_month, in_year) = core.split_once('/')?;
    if !speaker.vocabulary.dates.contains(&place.previous_core().as_str()) {
        return None;
    }
    Some(place.reading(&format!("{} {}", day(in_month)?, months[month(in_year)? - 1])))
}

/// A time of the day, "18:30" or with another sign between; seconds are not read.
fn clock(text: &str, sign: char) -> Option<(u8, u8)> {
    let mut parts = text.split(sign);
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next());
    let (hour, minute) = (number(hour, 1..=2)?, number(minute, 2..=2)?);
    let fits = hour < 24 && minute < 60 && parts.next().is_none();
    let second_fits = second.is_none_or(|second| number(second, 2..=2).is_some_and(|second| second <= 60));
    let small = |number: u16| u8::try_from(number).ok();
    if fits && second_fits { Some((small(hour)?, small(minute)?)) } else { None }
}

/// "18:30" is "18 30"; behind "kl." also "18.30" is a time; "6.30pm" is "6 30 P M".
pub(super) fn time(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let written = speaker.vocabulary.time?;
    let core = place.word().core;
    if let Some(text) = half_of_day(place, core, written) {
        return Some(text);
    }
    let behind_clock = speaker.vocabulary.clocks.contains(&place.previous_core().as_str());
    let one = |text: &str| clock(text, ':').or_else(|| behind_clock.then(|| clock(text, '.')).flatten());
    if let Some((from, to)) = core.split_once(['-', '–']) {
        let (from, to) = (one(from)?, one(to)?);
        let text = format!("{} {} {}", written(from.0, from.1), speaker.vocabulary.to, written(to.0, to.1));
        return Some(place.reading(&text));
    }
    let (hour, minute) = one(core)?;
    Some(place.reading(&written(hour, minute)))
}

/// "6pm", "6:30 pm": the two letters are spelled, and there is no "o'clock".
fn half_of_day(place: WordPlace<'_>, core: &str, written: fn(u8, u8) -> String) -> Option<WordReading> {
    let letters = |text: &str| match text.to_ascii_lowercase().as_str() {
        "am" | "a.m" => Some("A M"),
        "pm" | "p.m" => Some("P M"),
        _ => None,
    };
    let at = core.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(core.len());
    let next = place.next().and_then(|next| letters(next.core));
    let (half, is_next) = match (letters(&core[at..]), next) {
        (Some(half), _) => (half, false),
        (None, Some(half)) if at == core.len() => (half, true),
        _ => return None,
    };
    let (hour, minute) = clock(&core[..at], ':')
        .or_else(|| clock(&core[..at], '.'))
        .or_else(|| Some((number(&core[..at], 1..=2).and_then(|hour| u8::try_from(hour).ok())?, 0)))
        .filter(|(hour, _)| (1..=12).contains(hour))?;
    let time = if minute == 0 { hour.to_string() } else { written(hour, minute) };
    let text = format!("{time} {half}");
    Some(if is_next { place.reading_of_two(&text) } else { place.reading(&text) })
}

/// "5–10" is "5 to 10". A hyphen between numbers may be anything, unless a unit follows.
pub(super) fn range(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let vocabulary = speaker.vocabulary;
    if vocabulary.to.is_empty() {
        return None;
    }
    let core = place.word().core;
    let positive = core.trim_start_matches(['-', '−']);
    let minus = if positive.len() < core.len() { format!("{} ", vocabulary.minus) } else { String::new() };
    let core = positive;
    let at = core.find(['-', '–'])?;
    let (from, rest) = core.split_at(at);
    let (sign, rest) = (rest.chars().next()?, &rest[rest.chars().next()?.len_utf8()..]);
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".,".contains(c)).unwrap_or(rest.len());
    let (to, unit) = rest.split_at(end);
    let is_number = |text: &str| {
        text.len() <= RANGE_DIGITS_MAX
            && text.starts_with(|c: char| c.is_ascii_digit())
            && text.ends_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
    };
    let is_unit = |text: &str| vocabulary.units.iter().any(|(unit, ..)| *unit == text);
    let has_unit =
        if unit.is_empty() { place.next().is_some_and(|next| is_unit(next.core)) } else { is_unit(unit) };
    let is_range =
        is_number(from) && is_number(to) && (has_unit || minus.is_empty() && unit.is_empty() && sign == '–');
    is_range.then(|| place.reading(&format!("{minus}{from} {} {to}{unit}", vocabulary.to)))
}

/// "E4" is "E 4" and "E4:an" is "E 4 an": no voice takes it for a word.
pub(super) fn road(place: WordPlace<'_>, _speaker: &Speaker) -> Option<WordReading> {
    let core = place.word().core;
    let letters = core.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = &core[letters..];
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = rest.split_at(digits);
    let suffix = match suffix.strip_prefix(':') {
        Some(suffix) if !suffix.is_empty() && suffix.chars().all(char::is_lowercase) => format!(" {suffix}"),
        None if suffix.is_empty() => String::new(),
        _ => return None,
    };
    let fits = (1..=ROAD_LETTERS_MAX).contains(&letters) && (1..=ROAD_DIGITS_MAX).contains(&digits);
    let spelled: String = core[..letters].chars().flat_map(|c| [c, ' ']).collect();
    fits.then(|| place.reading(&format!("{spelled}{number}{suffix}")))
}
