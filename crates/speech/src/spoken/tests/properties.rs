//! Properties of any text in any language.

use super::*;
use proptest::prelude::*;

const LANGUAGES: [&str; 10] = ["en", "sv", "sv-FI", "de", "ar", "tr", "ru", "so", "tlh", ""];
/// Pieces that rules look at, which random letters rarely hit.
const PIECES: [&str; 68] = [
    "5",
    "18:30",
    "18.30",
    "kl.",
    "km",
    "m/s",
    "%",
    "°C",
    "−",
    "-",
    "–",
    "/",
    "E4",
    "E4:an",
    "St",
    "Rd",
    "Dr",
    "t.ex.",
    "etc.",
    "no.",
    "No.",
    "+46",
    "(0)",
    "070-123",
    "45",
    "67",
    "112",
    "call",
    "ring",
    "https://a.example/b",
    "www.a",
    "a@b.se",
    "b.se",
    "mailto:",
    "tel:",
    "tel:+46701234567",
    "VMA",
    "NOT",
    "MSB",
    "US",
    "İSTANBUL",
    "ǅ",
    "ß",
    "👍",
    "\u{200d}",
    "\u{301}",
    "<",
    ">",
    "[",
    "]",
    "&",
    "&amp;",
    "(",
    ")",
    "'",
    "\"",
    ".",
    ",",
    "!",
    "?",
    ":",
    ";",
    "…",
    "$",
    "€5",
    "2026-11-28",
    "den",
    "28/11",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned),
        2 => "\\PC{0,4}",
        2 => "[0-9]{1,9}",
        1 => any::<char>().prop_map(String::from),
    ];
    let blank = proptest::sample::select(vec!["", " ", " ", "\n", "\u{a0}"]);
    proptest::collection::vec((piece, blank), 0..24)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, blank)| piece + blank).collect())
}

fn rules() -> impl Strategy<Value = Rules<'static>> {
    (proptest::sample::select(&LANGUAGES[..]), any::<bool>(), any::<bool>()).prop_map(
        |(language, links, addresses)| Rules {
            language: Some(language),
            links: if links { LinkRule::Announced } else { LinkRule::LeftOut },
            addresses: if addresses { AddressRule::Spelled } else { AddressRule::LeftOut },
        },
    )
}

/// What holds of each text that is read.
fn holds(text: &str, rules: &Rules<'_>) -> Result<(), TestCaseError> {
    let told = spoken(text, rules);
    let again = spoken(&told.text, rules);
    prop_assert_eq!(&again.text, &told.text, "idempotent: {:?}", text);
    prop_assert_eq!(again.links, 0);
    prop_assert!(told.text.chars().count() <= SPOKEN_CHARS_MAX);
    prop_assert!(!has_words(text) || has_words(&told.text), "{:?} became {:?}", text, told.text);
    let is_markup = |c: char| "<>[]{}|\\^~`*_#=\"".contains(c) || c.is_control();
    prop_assert!(!told.text.contains(is_markup), "{:?}", told.text);
    prop_assert_eq!(told.text.trim(), &told.text);
    prop_assert!(!told.text.contains("  "), "{:?}", told.text);
    prop_assert!(!told.text.contains("://"), "{:?}", told.text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(::cases::times(512)))]

    #[test]
    fn any_text_of_pieces_is_read_the_same_twice_and_keeps_its_words(text in pieces(), rules in rules()) {
        holds(&text, &rules)?;
    }

    #[test]
    fn any_unicode_is_read_the_same_twice_and_keeps_its_words(
        text in proptest::collection::vec(any::<char>(), 0..60), rules in rules()
    ) {
        holds(&text.into_iter().collect::<String>(), &rules)?;
    }

    #[test]
    fn plain_words_stay_as_they_are(words in proptest::collection::vec("[a-zåäö]{4,9}q", 1..30), rules in rules()) {
        let text = words.join(" ");
        prop_assert_eq!(spoken(&text, &rules).text, text);
    }

    #[test]
    fn every_digit_of_a_telephone_number_is_read_in_its_order(digits in "0[1-9][0-9]{6,9}") {
        for language in LANGUAGES {
            let told = spoken(&digits, &Rules::of(language)).text;
            let read: String = told.chars().filter(char::is_ascii_digit).collect();
            prop_assert_eq!(&read, &digits);
            prop_assert!(told.split([' ', ',']).all(|word| word.len() <= 1), "{}", told);
        }
    }
}

#[test]
fn a_text_at_every_limit_is_read_in_bounded_time_and_length() {
    for piece in
        ["5% ", "VMA ", "a@b.se ", "0701234567 ", "& ", "👍", "\u{301}", "((((", "]", "18:30 ", "E4", "no. "]
    {
        let text = piece.repeat(TEXT_OCTETS_READ_MAX / piece.len() + 1);
        for language in ["en", "sv", "tr"] {
            holds(&text, &Rules::of(language)).unwrap();
        }
    }
}
