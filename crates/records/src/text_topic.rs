//! Names of text topics (of the topic protocol) on the bus, and back.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Text topics live below this, and nothing else does: none of them can name an internal one.
pub const TEXT_TOPICS: &str = "text/";
/// A name on the bus is at most so many octets: a folder's name and a stream's, with a prefix before it, have
/// 255.
const OCTETS_MAX: usize = 220;
/// A topic in words, with what a bus's name cannot hold escaped.
const PLAIN: &str = "n-";
/// A topic as base64: what is too long when it is escaped.
const CODED: &str = "b-";
/// Octets that a topic can have at most and still be named.
pub const TEXT_TOPIC_OCTETS_MAX: usize = 150;

/// The name on the bus of a topic (with its `@`).
pub fn text_topic_on_bus(topic: &[u8]) -> String {
    let word = topic.strip_prefix(b"@").unwrap_or(topic);
    let mut name = format!("{TEXT_TOPICS}{PLAIN}");
    for octet in word {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => name.push(char::from(*octet)),
            _ => name.push_str(&format!("%{octet:02X}")),
        }
    }
    if name.len() > OCTETS_MAX {
        format!("{TEXT_TOPICS}{CODED}{}", URL_SAFE_NO_PAD.encode(word))
    } else {
        name
    }
}

/// The topic (with its `@`) of a name on the bus; nothing if it is none of ours.
pub fn text_topic_of_bus(name: &str) -> Option<Vec<u8>> {
    let name = name.strip_prefix(TEXT_TOPICS)?;
    let mut topic = b"@".to_vec();
    match (name.strip_prefix(PLAIN), name.strip_prefix(CODED)) {
        (Some(escaped), _) => {
            let mut octets = escaped.bytes();
            while let Some(octet) = octets.next() {
                topic.push(match octet {
                    b'%' => {
                        let digit = |octet: Option<u8>| char::from(octet?).to_digit(16);
                        (digit(octets.next())? * 16 + digit(octets.next())?) as u8
                    }
                    _ => octet,
                });
            }
        }
        (None, Some(coded)) => topic.extend(URL_SAFE_NO_PAD.decode(coded).ok()?),
        (None, None) => return None,
    }
    Some(topic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_say_what_they_can() {
        for (topic, name) in [
            ("@", "text/n-"),
            ("@news", "text/n-news"),
            ("@a/b ~", "text/n-a%2Fb%20%7E"),
            ("@\u{e5}", "text/n-%C3%A5"),
            ("@..", "text/n-.."),
        ] {
            assert_eq!(text_topic_on_bus(topic.as_bytes()), name);
        }
        for name in ["text/news", "outcomes", "text/n-%4", "text/n-%zz", "text/b-!"] {
            assert_eq!(text_topic_of_bus(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_topic_has_a_name_of_its_own(word in prop::collection::vec(any::<u8>(), 0..TEXT_TOPIC_OCTETS_MAX)) {
            let topic = [&b"@"[..], &word].concat();
            let name = text_topic_on_bus(&topic);
            prop_assert!(name.len() <= OCTETS_MAX, "{}", name);
            prop_assert!(name[TEXT_TOPICS.len()..].bytes().all(|o| o.is_ascii_alphanumeric() || b"._-%".contains(&o)));
            prop_assert_eq!(text_topic_of_bus(&name), Some(topic));
        }
    }
}
