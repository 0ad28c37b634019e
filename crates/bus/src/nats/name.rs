//! Names of topics and groups as NATS can have them: no `.`, `*`, `>`, `/`, `\` or space in a stream's name
//! or a subject's token.

use crate::{BusError, TOPIC_NAME_OCTETS_MAX};

/// A prefix is at most so many octets.
pub const PREFIX_OCTETS_MAX: usize = 64;
/// A group's name is at most so many octets.
const GROUP_NAME_OCTETS_MAX: usize = 128;
/// A key of a retained topic is at most so many octets: escaped it must fit into a server's line of control
/// (4,096 octets).
pub const RETAINED_KEY_OCTETS_MAX: usize = 1_024;
/// A token that would be longer stands there by its beginning and a hash, since a server makes a folder of a
/// stream's name.
const TOKEN_OCTETS_MAX: usize = 160;
/// What is kept of such a one's beginning.
const TOKEN_OCTETS_KEPT: usize = 96;
/// Stands between the two. It cannot come of escaping.
const HASHED: &str = "==";

/// A stream and the subject it listens to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamName {
    /// Its name.
    pub stream: String,
    /// The subject of all its messages, or what theirs begin with.
    pub subject: String,
}

/// # Errors
/// [`BusError::BadName`], [`BusError::TooLarge`].
pub fn check_prefix(prefix: &str) -> Result<(), BusError> {
    if prefix.len() > PREFIX_OCTETS_MAX {
        return Err(BusError::TooLarge {
            what: "the prefix of a bus",
            size: prefix.len(),
            limit: PREFIX_OCTETS_MAX,
        });
    }
    if prefix.is_empty() || !prefix.bytes().all(is_plain) {
        return Err(BusError::BadName { name: prefix.to_owned() });
    }
    Ok(())
}

/// A topic's stream.
pub fn topic(prefix: &str, name: &str) -> Result<StreamName, BusError> {
    stream_of(prefix, 't', name)
}

/// A retained topic's stream. Its subjects go on with a `.` and a key.
pub fn retained(prefix: &str, name: &str) -> Result<StreamName, BusError> {
    stream_of(prefix, 'r', name)
}

/// What the names of all topics' streams begin with.
pub fn topics(prefix: &str) -> StreamName {
    StreamName { stream: format!("{prefix}-t-"), subject: format!("{prefix}.t.>") }
}

/// A group's consumer.
pub fn group(name: &str) -> Result<String, BusError> {
    if name.len() > GROUP_NAME_OCTETS_MAX {
        let limit = GROUP_NAME_OCTETS_MAX;
        return Err(BusError::TooLarge { what: "a group's name", size: name.len(), limit });
    }
    check_parts(name)?;
    Ok(shortened(&escaped(name)))
}

/// A retained topic's key as a token of its subject.
pub fn key(key: &str) -> Result<String, BusError> {
    if key.len() > RETAINED_KEY_OCTETS_MAX {
        let limit = RETAINED_KEY_OCTETS_MAX;
        return Err(BusError::TooLarge { what: "a key of a retained topic", size: key.len(), limit });
    }
    // A token has at least one octet.
    Ok(if key.is_empty() { "=".to_owned() } else { escaped(key) })
}

/// The way back from a token; nothing if it was shortened or is no token of ours.
pub fn unescaped(token: &str) -> Option<String> {
    if token == "=" {
        return Some(String::new());
    }
    let mut octets = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&octet, after)) = rest.split_first() {
        rest = after;
        if octet != b'=' {
            octets.push(octet);
            continue;
        }
        let (digits, after) = rest.split_first_chunk::<2>()?;
        octets.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(octets).ok()
}

fn stream_of(prefix: &str, kind: char, name: &str) -> Result<StreamName, BusError> {
    if name.len() > TOPIC_NAME_OCTETS_MAX {
        let limit = TOPIC_NAME_OCTETS_MAX;
        return Err(BusError::TooLarge { what: "a topic's name", size: name.len(), limit });
    }
    check_parts(name)?;
    let token = shortened(&escaped(name));
    Ok(StreamName { stream: format!("{prefix}-{kind}-{token}"), subject: format!("{prefix}.{kind}.{token}") })
}

/// The same names as on a disk: parts of `[A-Za-z0-9._-]` and percent-escaped others, joined by `/`.
fn check_parts(name: &str) -> Result<(), BusError> {
    if name.split('/').all(is_part) { Ok(()) } else { Err(BusError::BadName { name: name.to_owned() }) }
}

fn is_part(part: &str) -> bool {
    let mut octets = part.bytes();
    while let Some(octet) = octets.next() {
        let mut is_digit = || octets.next().is_some_and(|digit| digit.is_ascii_hexdigit());
        let is_allowed = is_plain(octet) || octet == b'.' || (octet == b'%' && is_digit() && is_digit());
        if !is_allowed {
            return false;
        }
    }
    !matches!(part, "" | "." | "..")
}

fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-')
}

/// `=` and two digits for what is not plain.
fn escaped(name: &str) -> String {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    let mut token = String::with_capacity(name.len());
    for octet in name.bytes() {
        if is_plain(octet) {
            token.push(char::from(octet));
        } else {
            token.push('=');
            token.push(char::from(DIGITS[usize::from(octet >> 4)]));
            token.push(char::from(DIGITS[usize::from(octet & 15)]));
        }
    }
    token
}

fn shortened(token: &str) -> String {
    if token.len() <= TOKEN_OCTETS_MAX {
        return token.to_owned();
    }
    // Who reads a stream's configuration compares the whole name besides.
    let hash = hash(token);
    // A token is ASCII: every place is a boundary of characters.
    let kept = token.get(..TOKEN_OCTETS_KEPT).unwrap_or_default().trim_end_matches('=');
    format!("{kept}{HASHED}{hash:032x}")
}

/// FNV-1a with 128 bits.
pub fn hash(text: &str) -> u128 {
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, octet| {
        (hash ^ u128::from(octet)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_topic_has_a_stream_and_a_subject_without_what_nats_forbids() {
        let found = topic("campanile", "segments/carrier-1.x/emergency").expect("a name");
        assert_eq!(found.stream, "campanile-t-segments=2Fcarrier-1=2Ex=2Femergency");
        assert_eq!(found.subject, "campanile.t.segments=2Fcarrier-1=2Ex=2Femergency");
        assert_eq!(
            unescaped("segments=2Fcarrier-1=2Ex=2Femergency").as_deref(),
            Some("segments/carrier-1.x/emergency")
        );
    }

    #[test]
    fn a_long_name_is_shortened_and_no_two_alike() {
        let one = topic("p", &format!("text/{}", "%41".repeat(80))).expect("a name");
        let other = topic("p", &format!("text/{}%42", "%41".repeat(79))).expect("a name");
        assert!(one.stream.len() < 200, "{}", one.stream);
        assert_ne!(one, other);
        assert_eq!(unescaped(one.stream.trim_start_matches("p-t-")), None);
    }

    #[test]
    fn names_that_no_bus_takes_are_refused() {
        for bad in ["", "a//b", ".", "a/..", "a b", "a*", "%4", "%4g", "ä"] {
            assert!(matches!(topic("p", bad), Err(BusError::BadName { .. })), "{bad:?}");
        }
        assert!(matches!(topic("p", &"a".repeat(256)), Err(BusError::TooLarge { .. })));
        assert!(check_prefix("a.b").is_err() && check_prefix("").is_err() && check_prefix("a-b_1").is_ok());
    }

    proptest! {
        #[test]
        fn a_key_comes_back_from_its_token(text in ".{0,40}") {
            let token = key(&text).expect("short");
            prop_assert!(!token.is_empty() && token.bytes().all(|octet| is_plain(octet) || octet == b'='));
            prop_assert_eq!(unescaped(&token), Some(text));
        }
    }
}
