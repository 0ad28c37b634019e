//! Lint of an alert's texts: no instruction, no place, all capitals, long words. In languages that it does
//! not know it looks for capitals alone.

use super::AlertWarning;
use super::words::{LanguageWords, candidates, words};
use records::{AlertRequest, ChannelTexts};
use serde_json::json;

/// Characters of a text that are looked at.
const CHARS_MAX: usize = 5_000;
/// A text with fewer letters may be in capitals: `SOS`.
const LETTERS_MIN: usize = 12;
/// Of a hundred letters more than so many are capitals.
const CAPITALS_PERCENT: usize = 70;
/// Long words that are listed.
const LONG_WORDS_LISTED: usize = 5;
/// Languages whose texts are looked at.
const LANGUAGES_MAX: usize = 20;

/// A text with its field, and its language where that is given.
struct LintedText<'a> {
    field: String,
    tag: Option<&'a str>,
    text: String,
}

/// What is odd about the texts.
pub(super) fn lint(request: &AlertRequest) -> Vec<AlertWarning> {
    let default = default_text(request).map(|text| LintedText { field: "text".to_owned(), tag: None, text });
    let of_language = |(tag, texts): (&'_ String, &'_ ChannelTexts)| {
        let text = said(texts.headline.as_deref().or(request.headline.as_deref()), texts)?;
        Some((tag.clone(), text))
    };
    let of_languages: Vec<(String, String)> =
        request.texts.languages.iter().take(LANGUAGES_MAX).filter_map(of_language).collect();
    let of_languages = of_languages.iter().map(|(tag, text)| LintedText {
        field: format!("texts.{tag}"),
        tag: Some(tag.as_str()),
        text: text.clone(),
    });
    let has_area = request.area.as_ref().is_some_and(|area| !area.description.is_empty());
    default.into_iter().chain(of_languages).flat_map(|text| lint_text(&text, has_area)).collect()
}

/// Headline and text for all, with nothing in place of placeholders; nothing where there is no text for all.
pub(super) fn default_text(request: &AlertRequest) -> Option<String> {
    let default = &request.texts.default;
    let headline = request.headline.as_deref().or(default.headline.as_deref());
    match &request.text {
        Some(text) => Some(joined(headline, text)),
        None => said(headline, default),
    }
}

/// A language's text, or the first text of a channel.
fn said(headline: Option<&str>, texts: &ChannelTexts) -> Option<String> {
    let of_channel = || texts.own.values().find_map(|own| own.text.as_deref().or(own.spoken.as_deref()));
    texts.text.as_deref().or_else(of_channel).map(|text| joined(headline, text))
}

fn joined(headline: Option<&str>, text: &str) -> String {
    let whole = match headline {
        Some(headline) => format!("{headline}. {text}"),
        None => text.to_owned(),
    };
    whole.chars().take(CHARS_MAX).collect()
}

fn lint_text(linted: &LintedText<'_>, has_area: bool) -> Vec<AlertWarning> {
    let plain = engine::without_values(&linted.text);
    if words(&plain).next().is_none() {
        return Vec::new();
    }
    let languages = match linted.tag {
        Some(tag) => LanguageWords::of_tag(tag).into_iter().collect(),
        None => candidates(&plain),
    };
    let tags: Vec<&str> = languages.iter().map(|language| language.tag).collect();
    let warn = |code, message: &str, args| AlertWarning {
        code,
        field: linted.field.clone(),
        args,
        message: message.to_owned(),
    };
    let mut warnings = Vec::new();
    if !languages.is_empty() && !instructs(&plain, &languages) {
        let message =
            "it does not say what people are to do: begin a sentence with a verb, such as Leave or Stay";
        warnings.push(warn("no_instruction", message, json!({"languages": tags})));
    }
    // A placeholder may stand for a place: a person's building.
    let has_placeholder = *plain != *linted.text;
    if !languages.is_empty() && !has_area && !has_placeholder && !has_place(&plain, &languages) {
        let message = "it names no place: say where it is, and where people are to go";
        warnings.push(warn("no_place", message, json!({"languages": tags})));
    }
    if let Some(percent) = capitals(&plain) {
        let message = "it is in capitals, which are slower to read";
        warnings.push(warn("all_capitals", message, json!({"percent": percent})));
    }
    let long = long_words(&plain, &languages);
    if !long.is_empty() {
        let message = format!("it has long words: {}", long.join(", "));
        warnings.push(warn("long_words", &message, json!({"words": long})));
    }
    warnings
}

fn instructs(text: &str, languages: &[&LanguageWords]) -> bool {
    words(text).any(|word| {
        let word = word.to_lowercase().replace('’', "'");
        languages.iter().any(|language| language.instructs(&word))
    })
}

/// A noun of a place, or a name or number behind a preposition.
fn has_place(text: &str, languages: &[&LanguageWords]) -> bool {
    let words: Vec<&str> = words(text).collect();
    let is_noun = words.iter().any(|word| {
        let word = word.to_lowercase();
        languages.iter().any(|language| language.is_place(&word))
    });
    let is_name =
        |word: &str| word.chars().next().is_some_and(|first| first.is_uppercase() || first.is_numeric());
    let names = |pair: &[&str]| {
        let before = pair[0].to_lowercase();
        is_name(pair[1]) && languages.iter().any(|language| language.is_preposition(&before))
    };
    // Where every word is in capitals, none is a name by that.
    is_noun || (capitals(text).is_none() && words.windows(2).any(names))
}

/// How many of a hundred letters are capitals, if they are too many.
fn capitals(text: &str) -> Option<usize> {
    let (capital, small) = text.chars().fold((0, 0), |(capital, small), c| match c {
        c if c.is_uppercase() => (capital + 1, small),
        c if c.is_lowercase() => (capital, small + 1),
        _ => (capital, small),
    });
    let letters: usize = capital + small;
    let percent = capital * 100 / letters.max(1);
    (letters >= LETTERS_MIN && percent > CAPITALS_PERCENT).then_some(percent)
}

/// Words that are long in each of the languages; links and addresses are none.
fn long_words(text: &str, languages: &[&LanguageWords]) -> Vec<String> {
    let Some(longest) = languages.iter().map(|language| language.long).max() else { return Vec::new() };
    let is_link = |piece: &&str| piece.contains("://") || piece.contains('@') || piece.contains("www.");
    let pieces = text.split_whitespace().filter(|piece| !is_link(piece));
    let mut found: Vec<String> = Vec::new();
    for word in pieces.flat_map(words).flat_map(|word| word.split('-')) {
        let is_long = word.chars().count() > longest && word.chars().all(char::is_alphabetic);
        if is_long && found.len() < LONG_WORDS_LISTED && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::alerts::body;
    use crate::http::request::json::parse;

    fn codes(body: &str) -> Vec<String> {
        let node = parse(body.as_bytes()).unwrap();
        let defaults = channels::Defaults::default();
        let request = body::parse_part(node, records::Timestamp(0), &defaults).0.unwrap();
        lint(&request).iter().map(|warning| format!("{} {}", warning.field, warning.code)).collect()
    }

    #[test]
    fn a_text_without_an_instruction_or_a_place_is_told_in_each_language() {
        for (text, expected) in [
            ("Fire in hall 2. Leave the building by the north stairs.", &[][..]),
            ("Fire in hall 2. The alarm is on.", &["text no_instruction"]),
            ("There is a fire. Leave and wait for us.", &["text no_place"]),
            ("There is a fire", &["text no_instruction", "text no_place"]),
            ("Brand i hall 2. Lämna huset.", &[]),
            ("Det är en brand och larmet har gått.", &["text no_instruction", "text no_place"]),
            ("Vattnet är inte rent. Koka det.", &["text no_place"]),
            ("Feuer in Halle 2. Verlassen Sie das Gebäude.", &[]),
            ("Das wasser ist nicht sauber.", &["text no_instruction", "text no_place"]),
            ("Incendie dans la salle 2. Quittez le bâtiment.", &[]),
            ("Une alerte est en cours.", &["text no_instruction", "text no_place"]),
            ("Fire", &["text no_instruction", "text no_place"]),
            ("Tulipalo salissa kaksi, poistukaa heti rakennuksesta pohjoiseen.", &[]),
            ("Leave {{building}} and wait for the wardens.", &[]),
            ("Do not drink water from Ätran.", &[]),
            ("…", &[]),
        ] {
            let body = json!({"text": text}).to_string();
            assert_eq!(codes(&body), expected, "{text}");
        }
    }

    #[test]
    fn capitals_and_long_words_are_told_and_abbreviations_and_links_are_not() {
        for (text, expected) in [
            ("LEAVE THE BUILDING AT ONCE", &["text all_capitals"][..]),
            ("SOS: Leave the building", &[]),
            ("Leave the building. https://alerts.example/internationalisation-of-everything", &[]),
            ("Leave the building: electroencephalography is off", &["text long_words"]),
            ("Lämna huset och gå till utrymningssamlingsplatsen", &["text long_words"]),
            ("Lämna huset och gå till återsamlingsplatsen", &[]),
            ("Bleiben Sie im Haus: Donaudampfschifffahrtsgesellschaft", &["text long_words"]),
        ] {
            let body = json!({"text": text}).to_string();
            assert_eq!(codes(&body), expected, "{text}");
        }
    }

    #[test]
    fn each_language_of_an_alert_is_looked_at_by_itself() {
        let body = r#"{"headline": "Hall 2", "text": "Leave the building.",
            "texts": {"sv": "Det brinner.", "fi": "TULIPALO HALLISSA KAKSI", "de": {"sms": "Bitte das Haus verlassen"}}}"#;
        assert_eq!(codes(body), ["texts.fi all_capitals", "texts.sv no_instruction"]);
    }
}
