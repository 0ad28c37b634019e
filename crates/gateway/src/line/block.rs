//! From an entry to the block that a session shows: headline, text, choices, without control characters.

use channels::is_invisible;
use records::{Body, Entry, LineBlock, Segment};

/// Lines of a block at most.
const LINES_MAX: usize = 200;
/// Octets of a block at most: a session has room for many.
const OCTETS_MAX: usize = 32 * 1024;
/// Stands for the rest of a text that was cut.
const REST: &str = "\u{2026}";

/// The block of an entry; nothing where there is no text.
pub(super) fn block(segment: &Segment, entry: &Entry) -> Option<LineBlock> {
    let content = segment.body(entry).and_then(Body::content)?;
    let headline = content.subject.as_deref().map(lines).unwrap_or_default();
    let text = lines(&content.text);
    // Many a text repeats its headline.
    let is_repeated = !headline.is_empty() && text.starts_with(&headline);
    let all = if is_repeated { text } else { [headline, text].concat() };
    (!all.is_empty()).then(|| LineBlock {
        route: segment.route.clone(),
        of: (segment.alert, entry.endpoint),
        id: id(segment, entry),
        asks: segment.answer,
        lines: cut(all),
    })
}

/// The id of an entry, the same however often it is tried.
pub(super) fn id(segment: &Segment, entry: &Entry) -> String {
    format!("{}/{}", segment.alert_id, entry.endpoint.0)
}

/// Lines that a terminal shows as they are: what would move its cursor, colour it or hide something is left
/// out. Several empty lines are one, and none is at an end.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split(['\n', '\r', '\u{B}', '\u{C}', '\u{85}', '\u{2028}', '\u{2029}']) {
        let kept: String = line.chars().filter_map(shown).collect();
        let line = kept.trim_end();
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line.to_owned());
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn shown(c: char) -> Option<char> {
    match c {
        '\t' => Some(' '),
        c if c.is_control() || is_invisible(c) => None,
        c => Some(c),
    }
}

fn cut(all: Vec<String>) -> Vec<String> {
    let mut octets = 0;
    let mut kept = Vec::with_capacity(all.len().min(LINES_MAX));
    for line in all {
        octets += line.len() + 2;
        if kept.len() == LINES_MAX || octets > OCTETS_MAX {
            kept.push(REST.to_owned());
            break;
        }
        kept.push(line);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_terminal_is_shown_text_and_nothing_that_steers_it() {
        for (text, expected) in [
            ("one\ntwo", &["one", "two"][..]),
            ("\n\none\r\n\r\n\r\ntwo\n\n", &["one", "", "two"]),
            ("\u{1b}[31mred\u{7}\u{8}\u{7f}", &["[31mred"]),
            ("a\tb \u{202e}c\u{0}", &["a b c"]),
            ("", &[]),
            (" \n\u{200b}\n", &[]),
        ] {
            assert_eq!(lines(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_endless_text_is_cut() {
        let all = cut(vec!["x".repeat(100); 10_000]);
        assert_eq!((all.len(), all.last().map(String::as_str)), (LINES_MAX + 1, Some(REST)));
        let all = cut(vec!["x".repeat(OCTETS_MAX)]);
        assert_eq!(all, [REST]);
    }

    proptest! {
        #[test]
        fn no_line_has_a_control_character(text in any::<String>()) {
            for line in lines(&text) {
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
