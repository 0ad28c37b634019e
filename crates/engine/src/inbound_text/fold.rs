//! Folded form of a text, in which two that people mean alike are equal.

use channels::{decimal_digit, is_invisible};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The text in small letters without accents, in one width, with ASCII digits for those of other scripts, and
/// without invisible marks. White space and punctuation stay.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.chars().filter(|c| !is_invisible(*c)).map(|c| c.to_ascii_lowercase()).collect();
    }
    let seen = text.chars().filter(|c| !is_invisible(*c)).flat_map(one_digit);
    let plain = seen.nfkc().flat_map(char::to_lowercase).nfkd();
    // The enclosing keycap of `1️⃣` is a mark, too.
    let bare = plain.filter(|c| !is_combining_mark(*c) && !is_invisible(*c));
    bare.map(|c| decimal_digit(c).map_or(c, |digit| char::from(b'0' + digit)))
        .flat_map(base_letters)
        .collect()
}

/// The words of a folded text: letters and digits, whatever stands between them.
pub fn words(folded: &str) -> impl Iterator<Item = &str> + Clone {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Digits in black circles, or in two, which Unicode does not decompose.
fn one_digit(c: char) -> impl Iterator<Item = char> {
    let code = u32::from(c);
    let digit = match code {
        0x2776..=0x277E => Some(code - 0x2775),
        0x2780..=0x2788 => Some(code - 0x277F),
        0x278A..=0x2792 => Some(code - 0x2789),
        0x24F5..=0x24FD => Some(code - 0x24F4),
        _ => None,
    };
    std::iter::once(digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c))
}

/// Letters with a stroke have no decomposition, and people write them without.
fn base_letters(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        'ø' => ('o', None),
        'ł' => ('l', None),
        'đ' | 'ð' => ('d', None),
        'ħ' => ('h', None),
        'ı' => ('i', None),
        'ß' => ('s', Some('s')),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        'þ' => ('t', Some('h')),
        'ς' => ('σ', None),
        'ـ' => return Letters(None, None),
        'أ' | 'إ' | 'آ' | 'ٱ' => ('ا', None),
        'ى' | 'ی' => ('ي', None),
        'ک' => ('ك', None),
        c => (c, None),
    };
    Letters(Some(first), second)
}

struct Letters(Option<char>, Option<char>);

impl Iterator for Letters {
    type Item = char;
    fn next(&mut self) -> Option<char> {
        self.0.take().or_else(|| self.1.take())
    }
}
