//! The grammar of a person's line: logging in, and what is typed once they are.

use super::TopicRequest;
use std::ops::Range;

/// Octets of what a person types that are looked at.
pub const SAID_OCTETS_MAX: usize = 4_000;

/// How far a person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoginStage {
    /// They never said LOGIN.
    #[default]
    Stranger,
    /// They did.
    Known,
    /// They are logged in.
    LoggedIn,
}

/// Reads a line that begins at `base` of its input. Nothing: it is a request of the topic protocol, if it is
/// anything.
pub fn parse(line: &[u8], base: usize, stage: LoginStage) -> Option<TopicRequest> {
    let mut words = words(line);
    let (verb, words) = (words.next(), [words.next(), words.next(), words.next()]);
    let place = |word: Range<usize>| base + word.start..base + word.end;
    let spelled = verb.map(|verb| &line[verb]).unwrap_or_default();
    let is = |name: &[u8]| spelled.eq_ignore_ascii_case(name);
    match words {
        [Some(id), secret, None] if is(b"LOGIN") => {
            return Some(TopicRequest::Login { id: place(id), secret: secret.map(place) });
        }
        [Some(code), None, None] if is(b"CODE") && stage == LoginStage::Known => {
            return Some(TopicRequest::Code { code: place(code) });
        }
        _ if stage != LoginStage::LoggedIn => return None,
        _ if spelled.is_empty() => return Some(TopicRequest::Enter),
        [None, ..] if is(b"LOGOUT") => return Some(TopicRequest::Logout),
        [None, ..] if is(b"EXIT") => return Some(TopicRequest::Exit),
        _ => {}
    }
    if is_of_topics(line) {
        return None;
    }
    let text = line.trim_ascii();
    let begin = base + line.len() - line.trim_ascii_start().len();
    Some(TopicRequest::Said { text: begin..begin + text.len().min(SAID_OCTETS_MAX) })
}

/// Whether a line logs in: the first one of a connection may end in CR NUL.
pub fn is_login(line: &[u8]) -> bool {
    matches!(parse(line, 0, LoginStage::Stranger), Some(TopicRequest::Login { .. }))
}

/// A request of the topic protocol stays one.
fn is_of_topics(line: &[u8]) -> bool {
    line == b"LIST"
        || [&b"POST@"[..], b"READ@", b"COUNT@", b"AUTH@"].iter().any(|verb| line.starts_with(verb))
}

fn words(line: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].iter().position(|octet| !octet.is_ascii_whitespace())?;
        let end = line[start..].iter().position(u8::is_ascii_whitespace);
        at = end.map_or(line.len(), |length| start + length);
        Some(start..at)
    })
}
