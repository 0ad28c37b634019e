//! Letters of a text that force a longer alphabet, with their places as programs count them.

use records::TextEncoding;
use serde_json::{Value, json};

/// Letters at fault that are listed; of more their number is told.
const LISTED_MAX: usize = 100;

/// How a text is written in parts.
pub(super) fn view(text: &str, encoding: &TextEncoding) -> Value {
    let at_fault: Vec<Value> = placed(text, encoding).collect();
    json!({
        "alphabet": encoding.alphabet,
        "left": encoding.left,
        "at_fault": at_fault,
        "more_at_fault": encoding.at_fault.len().saturating_sub(LISTED_MAX),
    })
}

/// The letters at fault, counted in characters and in units of UTF-16.
fn placed<'a>(text: &'a str, encoding: &'a TextEncoding) -> impl Iterator<Item = Value> + 'a {
    let (mut octet, mut characters, mut units) = (0, 0, 0);
    encoding.at_fault.iter().take(LISTED_MAX).map(move |&(at, letter)| {
        let between = text.get(octet..at).unwrap_or_default();
        characters += between.chars().count();
        units += between.encode_utf16().count();
        octet = at;
        let plain = channels::adapt::in_gsm(letter);
        json!({"letter": letter, "at": characters, "at_utf16": units, "plain": plain})
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_placed_in_characters_and_in_units_of_utf_16() {
        let text = "Å🔥 – “Gå”";
        let at_fault = text.char_indices().filter(|(_, c)| "🔥–“”".contains(*c)).collect();
        let encoding = TextEncoding { alphabet: "ucs2", parts: 1, left: 60, at_fault };
        let places: Vec<Value> = placed(text, &encoding).collect();
        assert_eq!(
            places,
            [
                json!({"letter": "🔥", "at": 1, "at_utf16": 1, "plain": null}),
                json!({"letter": "–", "at": 3, "at_utf16": 4, "plain": "-"}),
                json!({"letter": "“", "at": 5, "at_utf16": 6, "plain": "\""}),
                json!({"letter": "”", "at": 8, "at_utf16": 9, "plain": "\""}),
            ]
        );
        let utf16: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(utf16[9], '”' as u16);
        let many = TextEncoding { at_fault: vec![(0, 'Å'); LISTED_MAX + 7], ..encoding };
        let shown = view(text, &many);
        assert_eq!(
            (shown["at_fault"].as_array().unwrap().len(), &shown["more_at_fault"]),
            (LISTED_MAX, &json!(7))
        );
    }
}
