//! SIP messages (RFC 3261 section 7): read in place, and written.
//!
//! Reading is in two steps. [`SipMessage::parse`] finds the start line, the header fields and the body, and
//! is as tolerant as it can be without guessing: lines may end in LF alone, names may have any case and
//! their compact form, values may be folded. [`SipMessage::essentials`] then holds a message to what RFC
//! 3261 demands of all.

mod address;
mod body;
mod fields;
mod framing;
mod names;
mod via;
mod write;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torture;

pub use address::{NameAddr, PartyAddress};
pub use body::SipBody;
pub(crate) use body::check_encoding;
pub use fields::{CSeq, Essentials, ReasonValue, Refresher, SessionExpires};
pub use framing::{StreamFrame, StreamFramer};
pub use names::{HeaderName, Method, status_phrase};
pub(crate) use via::MAGIC_COOKIE;
pub use via::Via;
pub use write::{ExtraHeader, MessageWriter};

use crate::error::SipParseError;
use crate::limits::{
    BODY_OCTETS_MAX, HEAD_OCTETS_MAX, HEADER_FIELDS_MAX, HEADER_VALUE_OCTETS_MAX, LIST_VALUES_MAX,
    START_LINE_OCTETS_MAX,
};
use crate::text::{BLANKS, is_token, list, trim};
use std::borrow::Cow;
use std::ops::Range;

/// The only version there is.
const VERSION: &str = "SIP/2.0";

#[derive(Debug, Clone)]
enum MessageStart {
    Request { method: Method, uri: Range<usize> },
    Response { status: u16, phrase: Range<usize> },
}

#[derive(Debug, Clone)]
struct Field {
    name: HeaderName,
    text: Range<usize>,
    value: Range<usize>,
}

/// A message as it came, with its parts found. Octets that are no UTF-8 are read as U+FFFD in header fields
/// and kept in the body.
#[derive(Debug, Clone)]
pub struct SipMessage<'a> {
    head: Cow<'a, str>,
    start: MessageStart,
    fields: Vec<Field>,
    body: &'a [u8],
}

impl<'a> SipMessage<'a> {
    /// Reads a datagram, or one message that [`StreamFramer`] cut from a stream. Content-Length cuts the
    /// body; without one it runs to the end, as RFC 3261 section 18.3 has it for datagrams.
    ///
    /// # Errors
    /// What is wrong, and the limit that is exceeded: see [`SipParseError::status`] for the response.
    pub fn parse(octets: &'a [u8]) -> Result<SipMessage<'a>, SipParseError> {
        let end = head_end(octets).ok_or(SipParseError::HeadUnfinished)?;
        if end > HEAD_OCTETS_MAX {
            return Err(SipParseError::TooLong { part: "octets of the head", max: HEAD_OCTETS_MAX });
        }
        let mut message = SipMessage::parse_head(&octets[..end])?;
        let present = &octets[end..];
        message.body = match message.content_length()? {
            Some(declared) if declared > present.len() => {
                return Err(SipParseError::BodyShort { declared, present: present.len() });
            }
            Some(declared) => &present[..declared],
            None => present,
        };
        match message.body.len() > BODY_OCTETS_MAX {
            true => Err(SipParseError::TooLong { part: "octets of the body", max: BODY_OCTETS_MAX }),
            false => Ok(message),
        }
    }

    /// Reads start line and header fields; the body stays empty.
    pub(crate) fn parse_head(octets: &'a [u8]) -> Result<SipMessage<'a>, SipParseError> {
        let head = unfold(String::from_utf8_lossy(octets));
        let skipped = head.len() - head.trim_start_matches(['\r', '\n']).len();
        let mut lines = HeadLines { text: &head, at: skipped };
        let line = lines.next().ok_or(SipParseError::StartLine("it is empty"))?;
        let start = parse_start(&head, line)?;
        let mut fields = Vec::new();
        for line in lines {
            if line.is_empty() {
                break;
            }
            if fields.len() == HEADER_FIELDS_MAX {
                return Err(SipParseError::TooLong { part: "header fields", max: HEADER_FIELDS_MAX });
            }
            fields.push(parse_field(&head, line)?);
        }
        Ok(SipMessage { start, fields, body: &[], head })
    }

    /// The method of a request.
    #[must_use]
    pub fn method(&self) -> Option<&Method> {
        match &self.start {
            MessageStart::Request { method, .. } => Some(method),
            MessageStart::Response { .. } => None,
        }
    }

    /// The Request-URI as it is written.
    #[must_use]
    pub fn request_uri(&self) -> Option<&str> {
        match &self.start {
            MessageStart::Request { uri, .. } => Some(&self.head[uri.clone()]),
            MessageStart::Response { .. } => None,
        }
    }

    /// The status code of a response, 100 to 699.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self.start {
            MessageStart::Request { .. } => None,
            MessageStart::Response { status, .. } => Some(status),
        }
    }

    /// The reason phrase of a response; it may be empty.
    #[must_use]
    pub fn phrase(&self) -> Option<&str> {
        match &self.start {
            MessageStart::Request { .. } => None,
            MessageStart::Response { phrase, .. } => Some(&self.head[phrase.clone()]),
        }
    }

    /// The body: as many octets as Content-Length says.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Every header field in its order: name as it came, and value without the blanks around it.
    pub fn header_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|field| (&self.head[field.text.clone()], &self.head[field.value.clone()]))
    }

    /// The values of all header fields of a name, each as it stands: see [`SipMessage::list`] for lists.
    pub fn values(&self, name: HeaderName) -> impl Iterator<Item = &str> {
        self.fields
            .iter()
            .filter(move |field| field.name == name)
            .map(|field| &self.head[field.value.clone()])
    }

    /// The value of the first header field of a name.
    #[must_use]
    pub fn value(&self, name: HeaderName) -> Option<&str> {
        self.values(name).next()
    }

    /// The value of the first header field of a name that [`HeaderName`] does not know, in any case.
    #[must_use]
    pub fn other_value(&self, name: &str) -> Option<&str> {
        self.header_fields().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The values of a list, over all header fields of the name; at most [`LIST_VALUES_MAX`].
    pub fn list(&self, name: HeaderName) -> impl Iterator<Item = &str> {
        self.values(name).flat_map(list).take(LIST_VALUES_MAX)
    }

    /// Whether a list of tokens (Supported, Require, Allow) has a value, in any case.
    #[must_use]
    pub fn lists(&self, name: HeaderName, token: &str) -> bool {
        self.list(name).any(|value| value.eq_ignore_ascii_case(token))
    }

    /// Content-Length, if it is there: several must agree (RFC 4475 section 3.3.9 has what follows else).
    pub(crate) fn content_length(&self) -> Result<Option<usize>, SipParseError> {
        let name = HeaderName::ContentLength.as_str();
        let mut found = None;
        for value in self.values(HeaderName::ContentLength) {
            let is_number = !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit());
            let length = value.parse().ok().filter(|_| is_number);
            let length: usize = length.ok_or(SipParseError::malformed(name, "no number of octets"))?;
            if found.replace(length).is_some_and(|other| other != length) {
                return Err(SipParseError::Repeated(name));
            }
        }
        Ok(found)
    }
}

/// Position behind the empty line that ends the head. Empty lines before the start line are passed over.
pub(crate) fn head_end(octets: &[u8]) -> Option<usize> {
    let start = octets.iter().position(|octet| !b"\r\n".contains(octet))?;
    let mut at = start;
    loop {
        at += octets.get(at..)?.iter().position(|octet| *octet == b'\n')? + 1;
        match octets.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

/// Makes one line of folded lines, in place: a line break before a blank becomes blanks.
fn unfold(head: Cow<'_, str>) -> Cow<'_, str> {
    let is_folded =
        head.as_bytes().windows(2).any(|pair| pair[0] == b'\n' && BLANKS.contains(&pair[1].into()));
    if !is_folded {
        return head;
    }
    Cow::Owned(
        head.replace("\r\n ", "   ").replace("\r\n\t", "   ").replace("\n ", "  ").replace("\n\t", "  "),
    )
}

/// HeadLines of the head without their ends.
struct HeadLines<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for HeadLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.find('\n').unwrap_or(rest.len());
        let from = self.at;
        self.at += length + 1;
        let line = &rest[..length];
        Some(from..from + line.strip_suffix('\r').unwrap_or(line).len())
    }
}

fn parse_start(head: &str, range: Range<usize>) -> Result<MessageStart, SipParseError> {
    let line = &head[range.clone()];
    if line.len() > START_LINE_OCTETS_MAX {
        return Err(SipParseError::TooLong { part: "Request-URI", max: START_LINE_OCTETS_MAX });
    }
    if line.contains(|c: char| c.is_control() && c != '\t') {
        return Err(SipParseError::StartLine("it has a control character"));
    }
    if line.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("SIP/")) {
        return parse_status_line(line, range);
    }
    let mut parts = line.split(' ');
    let (Some(method), Some(uri), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(SipParseError::StartLine("not three parts with one space between them"));
    };
    if !is_token(method) || uri.is_empty() {
        return Err(SipParseError::StartLine("no method, or no Request-URI"));
    }
    if !version.eq_ignore_ascii_case(VERSION) {
        let is_version = version.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("SIP/"));
        return Err(if is_version { SipParseError::Version } else { SipParseError::StartLine("no version") });
    }
    let from = range.start + method.len() + 1;
    Ok(MessageStart::Request { method: Method::from_token(method), uri: from..from + uri.len() })
}

fn parse_status_line(line: &str, range: Range<usize>) -> Result<MessageStart, SipParseError> {
    let (version, rest) = line.split_once(' ').ok_or(SipParseError::StartLine("no status code"))?;
    if !version.eq_ignore_ascii_case(VERSION) {
        return Err(SipParseError::Version);
    }
    // A status line may end behind its code: some leave out the space before an empty phrase.
    let (code, phrase) = rest.split_once(' ').unwrap_or((rest, ""));
    let status =
        code.parse().ok().filter(|_| code.len() == 3 && code.bytes().all(|octet| octet.is_ascii_digit()));
    match status {
        Some(status @ 100..=699) => {
            Ok(MessageStart::Response { status, phrase: range.end - phrase.len()..range.end })
        }
        _ => Err(SipParseError::StartLine("the status code is no number from 100 to 699")),
    }
}

fn parse_field(head: &str, range: Range<usize>) -> Result<Field, SipParseError> {
    let line = &head[range.clone()];
    let problem = |problem| SipParseError::malformed("header field", problem);
    let (text, value) = line.split_once(':').ok_or(problem("a line without a colon"))?;
    let text = text.trim_end_matches(BLANKS);
    if !is_token(text) {
        return Err(problem("a name that is no token"));
    }
    let name = HeaderName::from_text(text);
    if value.len() > HEADER_VALUE_OCTETS_MAX {
        return Err(SipParseError::TooLong { part: name.as_str(), max: HEADER_VALUE_OCTETS_MAX });
    }
    // Quoted strings may have other control characters (RFC 3261 section 25.1, quoted-pair).
    if value.contains('\r') {
        return Err(SipParseError::malformed(name.as_str(), "CR without LF"));
    }
    let from = range.end - value.len() + (value.len() - value.trim_start_matches(BLANKS).len());
    let trimmed = trim(value);
    Ok(Field { name, text: range.start..range.start + text.len(), value: from..from + trimmed.len() })
}
