//! Any text, with any value for each name: it is read or refused, and its result keeps its limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use placeholders::{Escape, FILLED_OCTETS_MAX, Text};

fuzz_target!(|input: (&str, &str, bool)| {
    let (text, value, is_html) = input;
    let escape = if is_html { Escape::Html } else { Escape::Plain };
    match Text::parse(text) {
        Ok(read) => {
            if let Ok(filled) = read.fill(escape, |name| Some(value).filter(|_| name.len() % 2 == 0)) {
                assert!(filled.text.len() <= FILLED_OCTETS_MAX);
                assert!(!is_html || text.contains('<') || !filled.text.contains('<'), "a value is not escaped");
            }
            assert!(Text::has_marks(text) || read.without_values() == text);
        }
        Err(error) => assert!(Text::has_marks(text) && error.at <= text.chars().count()),
    }
});
