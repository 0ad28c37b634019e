//! Letters and signs in ASCII, for devices that have no others: pagers.
//!
//! Marks are taken off Latin letters; Cyrillic and Greek are written as their readers write them where they
//! have Latin letters alone. Other scripts have no such spelling that a person would read.

use crate::{decimal_digit, is_invisible};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Letters that do not come apart into a letter and a mark, and signs of typesetters.
#[rustfmt::skip]
const SPELLED: [(char, &str); 61] = [
    ('Æ', "AE"), ('æ', "ae"), ('Ø', "O"), ('ø', "o"), ('Œ', "OE"), ('œ', "oe"), ('ß', "ss"), ('ẞ', "SS"),
    ('Ł', "L"), ('ł', "l"), ('Đ', "D"), ('đ', "d"), ('Ð', "D"), ('ð', "d"), ('Þ', "TH"), ('þ', "th"),
    ('Ħ', "H"), ('ħ', "h"), ('ı', "i"), ('Ŋ', "N"), ('ŋ', "n"), ('Ŧ', "T"), ('ŧ', "t"), ('ĸ', "k"),
    ('‘', "'"), ('’', "'"), ('‚', "'"), ('‛', "'"), ('′', "'"), ('´', "'"), ('“', "\""), ('”', "\""),
    ('„', "\""), ('‟', "\""), ('″', "\""), ('«', "\""), ('»', "\""), ('‹', "'"), ('›', "'"),
    ('‐', "-"), ('‑', "-"), ('‒', "-"), ('–', "-"), ('—', "-"), ('―', "-"), ('−', "-"),
    ('…', "..."), ('•', "*"), ('·', "."), ('€', "EUR"), ('£', "GBP"), ('°', "deg"), ('×', "x"),
    ('§', "par. "), ('¿', "?"), ('¡', "!"), ('→', "->"), ('←', "<-"),
    ('½', "1/2"), ('¼', "1/4"), ('¾', "3/4"),
];

/// Cyrillic in small letters (Russian, Ukrainian, Bulgarian, Serbian), as people write it.
#[rustfmt::skip]
const CYRILLIC: [(char, &str); 45] = [
    ('а', "a"), ('б', "b"), ('в', "v"), ('г', "g"), ('ґ', "g"), ('д', "d"), ('е', "e"), ('ё', "yo"),
    ('є', "ye"), ('ж', "zh"), ('з', "z"), ('и', "i"), ('і', "i"), ('ї', "yi"), ('й', "y"), ('к', "k"),
    ('л', "l"), ('м', "m"), ('н', "n"), ('о', "o"), ('п', "p"), ('р', "r"), ('с', "s"), ('т', "t"),
    ('у', "u"), ('ў', "u"), ('ф', "f"), ('х', "kh"), ('ц', "ts"), ('ч', "ch"), ('ш', "sh"), ('щ', "shch"),
    ('ъ', ""), ('ы', "y"), ('ь', ""), ('э', "e"), ('ю', "yu"), ('я', "ya"), ('ђ', "dj"), ('ј', "j"),
    ('љ', "lj"), ('њ', "nj"), ('ћ', "c"), ('џ', "dz"), ('ѓ', "gj"),
];

/// Greek in small letters, marks taken off.
#[rustfmt::skip]
const GREEK: [(char, &str); 25] = [
    ('α', "a"), ('β', "v"), ('γ', "g"), ('δ', "d"), ('ε', "e"), ('ζ', "z"), ('η', "i"), ('θ', "th"),
    ('ι', "i"), ('κ', "k"), ('λ', "l"), ('μ', "m"), ('ν', "n"), ('ξ', "x"), ('ο', "o"), ('π', "p"),
    ('ρ', "r"), ('σ', "s"), ('ς', "s"), ('τ', "t"), ('υ', "y"), ('φ', "f"), ('χ', "ch"), ('ψ', "ps"),
    ('ω', "o"),
];

/// A character in ASCII; nothing for one that has no spelling there. Characters of ASCII are their own,
/// invisible ones nothing.
pub fn in_ascii(c: char) -> Option<String> {
    if c.is_ascii() {
        return Some(c.to_string());
    }
    if c.is_whitespace() {
        return Some(" ".to_owned());
    }
    if is_invisible(c) {
        return Some(String::new());
    }
    if let Some(digit) = decimal_digit(c) {
        return Some(digit.to_string());
    }
    if let Some(spelled) = spelling(c) {
        return Some(spelled);
    }
    // Compatibility forms too: wide letters, ligatures, digits in circles.
    let bare: String = c.nfkd().filter(|part| !is_combining_mark(*part)).collect();
    if bare.is_ascii() {
        return Some(bare);
    }
    let mut parts = bare.chars();
    match (parts.next(), parts.next()) {
        (Some(one), None) if one != c => spelling(one),
        _ => None,
    }
}

fn spelling(c: char) -> Option<String> {
    let of = |table: &[(char, &str)], c: char| {
        table.iter().find(|(letter, _)| *letter == c).map(|(_, spelled)| (*spelled).to_owned())
    };
    if let Some(spelled) = of(&SPELLED, c) {
        return Some(spelled);
    }
    let small = c.to_lowercase().next().unwrap_or(c);
    let spelled = of(&CYRILLIC, small).or_else(|| of(&GREEK, small))?;
    if small == c {
        return Some(spelled);
    }
    let mut letters = spelled.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    Some(first.into_iter().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        text.chars().map(|c| in_ascii(c).unwrap_or_else(|| "?".to_owned())).collect()
    }

    #[test]
    fn european_texts_stay_readable() {
        for (written, expected) in [
            ("Plain text, 7-bit!", "Plain text, 7-bit!"),
            ("Gasläcka vid hamnen: gå åt norr", "Gaslacka vid hamnen: ga at norr"),
            ("[ØVELSE] Straße in Łódź", "[OVELSE] Strasse in Lodz"),
            ("“Œuvre” – c’est déjà l’été…", "\"OEuvre\" - c'est deja l'ete..."),
            ("Учебная тревога: Щит", "Uchebnaya trevoga: Shchit"),
            ("Η πόλη Άνδρος", "I poli Andros"),
            ("ｗｉｄｅ ﬁre ½ №5", "wide fire 1/2 No5"),
        ] {
            assert_eq!(text(written), expected, "{written}");
        }
    }

    #[test]
    fn scripts_without_a_latin_spelling_have_none() {
        for c in ['訓', 'ع', '훈', 'ฝ', '👍'] {
            assert_eq!(in_ascii(c), None, "{c}");
        }
    }

    #[test]
    fn no_spelling_has_anything_but_visible_ascii() {
        for c in ('\u{80}'..='\u{ffff}').filter_map(in_ascii) {
            assert!(c.is_ascii() && !c.chars().any(|c| c.is_ascii_control()), "{c:?}");
        }
    }
}
