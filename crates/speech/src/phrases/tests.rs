use super::*;
use crate::spoken::Rules;
use std::collections::BTreeSet;

const NAMES: [&str; 4] = ["{org}", "{key}", "{label}", "{number}"];

fn names(text: &str) -> BTreeSet<&'static str> {
    NAMES.into_iter().filter(|name| text.contains(name)).collect()
}

#[test]
fn each_catalogue_has_each_phrase_once_with_the_same_places_for_values() {
    for (language, _, table) in CATALOGUES {
        assert_eq!(table.len(), germanic::ENGLISH.len(), "{language}");
        for ((phrase, text), (expected, english)) in table.iter().zip(germanic::ENGLISH) {
            assert_eq!(phrase, expected, "{language}");
            assert_eq!(names(text), names(english), "{language} {phrase:?}");
            assert_eq!(text.matches('{').count(), names(text).len(), "{language} {phrase:?}: each once");
            assert_eq!(text.ends_with('.'), english.ends_with('.'), "{language} {phrase:?}: a sentence");
        }
    }
}

#[test]
fn no_catalogue_has_a_sentence_of_another() {
    let mut seen = BTreeSet::new();
    for (language, _, table) in CATALOGUES {
        for (phrase, text) in table.iter().filter(|(_, text)| text.len() > 20 && text.ends_with('.')) {
            // Danish and Norwegian share sentences.
            let is_new = seen.insert(text);
            assert!(is_new || language == "nb", "{language} {phrase:?}");
        }
    }
}

#[test]
fn a_catalogue_is_found_by_language_and_script_and_another_is_never_taken_instead() {
    for (language, found) in [
        ("en-GB", Some("en")),
        ("NO", Some("nb")),
        ("nn", None),
        ("pt-BR", Some("pt")),
        ("uk-Latn", None),
        ("uk-cyrl-UA", Some("uk")),
        ("zh", None),
        ("", None),
    ] {
        assert_eq!(Catalogue::of(language).ok().map(|found| found.language()), found, "{language}");
    }
    let missing = Catalogue::of("tlh").unwrap_err();
    assert!(
        missing.to_string().starts_with("there are no phrases of calls in the language \"tlh\""),
        "{missing}"
    );
}

#[test]
fn the_phrases_of_an_english_call_are_these() {
    let english = Catalogue::of("en").unwrap();
    let choices = [KeyChoice { key: "1", label: "I am safe" }, KeyChoice { key: "*", label: "I need help." }];
    assert_eq!(english.greeting("Brunnby town"), "This is Brunnby town.");
    assert_eq!(english.choices(&choices), "Press 1 for I am safe, star for I need help.");
    assert_eq!(english.choices(&[]), "");
    assert_eq!(english.chosen(choices[1]), "You pressed star: I need help. Thank you.");
    assert_eq!(english.wrong_key("12"), "You pressed 1 2, which is none of the choices.");
    assert_eq!(english.call_back("+46 8 123 456"), "Please call back on plus 4 6, 8, 1 2 3, 4 5 6.");
    assert_eq!(english.our_number("0701234567"), "Our telephone number is 0 7 0, 1 2 3, 4 5, 6 7.");
    for sentence in [
        english.drill(),
        english.repeat(),
        english.ask_pin(),
        english.wrong_pin(),
        english.pin_refused(),
        english.stop_offer(),
        english.stopped(),
        english.answer_by_text(),
        english.other_devices(),
        english.goodbye(),
    ] {
        assert!(sentence.ends_with('.'), "{sentence}");
    }
}

#[test]
fn a_value_is_data_whatever_it_looks_like() {
    let english = Catalogue::of("en").unwrap();
    assert_eq!(english.greeting("{org} <break/> {key}"), "This is org break key.");
    assert_eq!(
        english.greeting(&"word ".repeat(200)).chars().count(),
        "This is .".len() + VALUE_CHARS_MAX - 1
    );
    assert_eq!(english.chosen(KeyChoice { key: "1", label: "Yes 👍!!" }), "You pressed 1: Yes. Thank you.");
    let long_key = english.wrong_key(&"1".repeat(10_000));
    assert!(long_key.len() < 3 * VALUE_CHARS_MAX, "{}", long_key.len());
}

#[test]
fn a_phrase_that_was_filled_is_read_as_it_is() {
    for language in Catalogue::languages() {
        let catalogue = Catalogue::of(language).unwrap();
        let choices =
            catalogue.choices(&[KeyChoice { key: "1", label: "ok" }, KeyChoice { key: "2", label: "no" }]);
        for sentence in [catalogue.drill(), catalogue.repeat(), catalogue.other_devices(), &choices] {
            assert_eq!(spoken(sentence, &Rules::of(language)).text, sentence, "{language}");
        }
    }
}
