//! From an alert's text to messages of a text topic.

use records::{Body, Entry, Segment};

/// The messages that a text becomes: of at most `octets_max` octets each (at least 4), cut between words
/// where that is possible. Line ends and NUL end a reply of the topic protocol, so they become spaces.
pub(super) fn messages(text: &str, octets_max: usize) -> Vec<String> {
    let mut messages = Vec::new();
    let mut message = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty()) {
        if !message.is_empty() && message.len() + 1 + word.len() > octets_max {
            messages.push(std::mem::take(&mut message));
        }
        if !message.is_empty() {
            message.push(' ');
        }
        let mut rest = word;
        while message.len() + rest.len() > octets_max {
            let (now, later) = rest.split_at(rest.floor_char_boundary(octets_max - message.len()));
            message.push_str(now);
            messages.push(std::mem::take(&mut message));
            rest = later;
        }
        message.push_str(rest);
    }
    if !message.is_empty() {
        messages.push(message);
    }
    messages
}

/// What an entry says; nothing where it is made for another channel.
pub(super) fn text<'a>(segment: &'a Segment, entry: &'a Entry) -> Option<&'a str> {
    segment.body(entry).and_then(Body::content).map(|content| content.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_cut_between_words() {
        for (text, expected) in [
            ("", &[][..]),
            (" \n\0 ", &[]),
            ("all clear", &["all clear"]),
            ("leave\nthe\r\nhouse\0now", &["leave the", "house now"]),
            ("one twothree four", &["one", "twothree", "four"]),
            ("abcdefghijklmno pq", &["abcdefghij", "klmno pq"]),
            ("xxxxxxxxx\u{20ac}y", &["xxxxxxxxx", "\u{20ac}y"]),
        ] {
            assert_eq!(messages(text, 10), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_is_lost(text in "[a-z\u{e5}\u{20ac}\u{1f600} \n]{0,200}", max in 4..20usize) {
            let all = messages(&text, max);
            prop_assert!(all.iter().all(|message| (1..=max).contains(&message.len())), "{:?}", all);
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(bare(&all.concat()), bare(&text));
        }
    }
}
