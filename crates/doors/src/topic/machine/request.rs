//! The grammar of a request: whole, without its terminator.

use std::ops::Range;

/// Longest parts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthLimits {
    /// Octets of a topic with its `@`; a longer one is cut.
    pub topic_octets_max: usize,
    /// Octets of a message; a longer one is cut.
    pub message_octets_max: usize,
}

/// A request as it lies in the input: places of its parts, cut where they are too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicRequest {
    /// `POST@topic#message`.
    Post {
        /// With its `@`.
        topic: Range<usize>,
        /// The text to append.
        message: Range<usize>,
    },
    /// `READ@topic#index`.
    Read {
        /// With its `@`.
        topic: Range<usize>,
        /// Nothing: a number too large to be an index.
        index: Option<u64>,
    },
    /// `COUNT@topic`.
    Count {
        /// With its `@`.
        topic: Range<usize>,
    },
    /// `LIST`.
    List,
    /// `EXIT`.
    Exit,
    /// `AUTH@token`.
    Auth {
        /// Without the `@`; may be empty.
        token: Range<usize>,
    },
    /// `LOGIN id` of a person, with a code or a token behind it where they have one.
    Login {
        /// As it was written.
        id: Range<usize>,
        /// A code or a token.
        secret: Option<Range<usize>>,
    },
    /// `CODE digits` of a person who asked to log in.
    Code {
        /// As it was written.
        code: Range<usize>,
    },
    /// `LOGOUT` of a person who is logged in.
    Logout,
    /// Anything else that such a person typed.
    Said {
        /// Without blanks around it.
        text: Range<usize>,
    },
    /// An empty line of such a person.
    Enter,
    /// Anything else.
    Garbage,
}

/// A token is looked at up to so many octets.
pub const TOKEN_OCTETS_MAX: usize = 512;

/// Whether a text has octets that no request has: terminators, and the line end of CRLF.
fn is_broken(text: &[u8]) -> bool {
    memchr::memchr3(0, b'\n', b'\r', text).is_some()
}

/// Reads a request that begins at `base` of its input.
pub fn parse(text: &[u8], base: usize, cut: &LengthLimits) -> TopicRequest {
    if is_broken(text) {
        return TopicRequest::Garbage;
    }
    let found = match text {
        [b'P', b'O', b'S', b'T', rest @ ..] => post(rest, base + 4, cut),
        [b'R', b'E', b'A', b'D', rest @ ..] => read(rest, base + 4, cut),
        [b'C', b'O', b'U', b'N', b'T', rest @ ..] => {
            is_topic(rest).then(|| TopicRequest::Count { topic: topic_at(rest, base + 5, cut) })
        }
        [b'A', b'U', b'T', b'H', b'@', rest @ ..] => {
            Some(TopicRequest::Auth { token: base + 5..base + 5 + rest.len() })
        }
        b"LIST" => Some(TopicRequest::List),
        b"EXIT" => Some(TopicRequest::Exit),
        _ => None,
    };
    found.unwrap_or(TopicRequest::Garbage)
}

/// `(@[^@#]*)#(.+)`
fn post(rest: &[u8], base: usize, cut: &LengthLimits) -> Option<TopicRequest> {
    let hash = memchr::memchr(b'#', rest)?;
    let (topic, message) = (&rest[..hash], &rest[hash + 1..]);
    if !is_topic(topic) || message.is_empty() {
        return None;
    }
    let begin = base + hash + 1;
    Some(TopicRequest::Post {
        topic: topic_at(topic, base, cut),
        message: begin..begin + kept(message, cut.message_octets_max),
    })
}

/// `(@[^@#]*)#([0-9]+)`
fn read(rest: &[u8], base: usize, cut: &LengthLimits) -> Option<TopicRequest> {
    let hash = memchr::memchr(b'#', rest)?;
    let (topic, digits) = (&rest[..hash], &rest[hash + 1..]);
    if !is_topic(topic) || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let index = digits
        .iter()
        .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    Some(TopicRequest::Read { topic: topic_at(topic, base, cut), index })
}

/// `@[^@#]*`
fn is_topic(text: &[u8]) -> bool {
    text.first() == Some(&b'@') && memchr::memchr2(b'@', b'#', &text[1..]).is_none()
}

fn topic_at(topic: &[u8], base: usize, cut: &LengthLimits) -> Range<usize> {
    base..base + kept(topic, cut.topic_octets_max)
}

/// Octets of a text that are kept: at most `max`, without cutting a character of UTF-8 in two. Other text is
/// cut at `max`.
fn kept(text: &[u8], max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    for back in 0..4.min(max + 1) {
        let at = max - back;
        let width = match text[at] {
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        return if width > back { at } else { max };
    }
    max
}

/// A shorter beginning of a request that means the same however it goes on: a request of any length takes
/// bounded room.
pub fn shortened(begun: &[u8], is_line: bool, cut: &LengthLimits) -> Vec<u8> {
    // A last CR may belong to the terminator.
    let (body, end) = match begun.split_last() {
        Some((b'\r', body)) if is_line => (body, &b"\r"[..]),
        _ => (begun, &b""[..]),
    };
    let mut short = essence(body, cut).unwrap_or_else(|| b"!".to_vec());
    short.extend_from_slice(end);
    short
}

/// Nothing: it is garbage, however it goes on.
fn essence(body: &[u8], cut: &LengthLimits) -> Option<Vec<u8>> {
    if is_broken(body) {
        return None;
    }
    // It may be the beginning of anything.
    if body.len() <= b"COUNT@".len() {
        return Some(body.to_vec());
    }
    let (verb, rest) = body.split_at(memchr::memchr(b'@', body)?);
    let (topic, behind) = match memchr::memchr(b'#', rest) {
        Some(hash) => (&rest[..hash], Some(&rest[hash + 1..])),
        None => (rest, None),
    };
    let mut short = verb.to_vec();
    match verb {
        b"AUTH" => short.extend_from_slice(&rest[..rest.len().min(TOKEN_OCTETS_MAX + 2)]),
        b"POST" | b"READ" | b"COUNT" if is_topic(topic) => {
            short.extend_from_slice(&topic[..topic.len().min(cut.topic_octets_max + 1)]);
            let Some(behind) = behind else { return Some(short) };
            short.push(b'#');
            match verb {
                b"POST" => short.extend_from_slice(&behind[..behind.len().min(cut.message_octets_max + 1)]),
                b"READ" => short.extend_from_slice(digits(behind)?),
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(short)
}

/// The same number in few digits; one that is too large stays too large.
fn digits(text: &[u8]) -> Option<&[u8]> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let zeros = text.iter().take_while(|digit| **digit == b'0').count().min(text.len().saturating_sub(1));
    let number = &text[zeros..];
    // One digit more than the largest u64 has.
    Some(&number[..number.len().min(21)])
}
