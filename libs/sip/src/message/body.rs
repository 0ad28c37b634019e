//! Body of a message with its type, and the session description in it.

use super::{HeaderName, SipMessage};
use crate::error::{SipParseError, SipValueError, check_text};
use crate::limits::BODY_OCTETS_MAX;
use crate::sdp::{SdpParseError, SessionDescription};
use crate::text::{Parameters, cut_outside, trim};

const CONTENT_TYPE_OCTETS_MAX: usize = 256;
const SDP_TYPE: &str = "application/sdp";
/// Parts of a multipart body that are looked at.
const PARTS_MAX: usize = 16;

/// A body: never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SipBody {
    content_type: String,
    octets: Vec<u8>,
}

impl SipBody {
    /// A body of any type.
    ///
    /// # Errors
    /// A type with control characters or without a slash, no octets, more than [`BODY_OCTETS_MAX`].
    pub fn new(content_type: &str, octets: Vec<u8>) -> Result<SipBody, SipValueError> {
        check_text("Content-Type", content_type, CONTENT_TYPE_OCTETS_MAX)?;
        if !content_type.contains('/') || octets.is_empty() {
            return Err(SipValueError::Form {
                part: "body",
                expected: "a type with a slash, and at least one octet",
            });
        }
        match octets.len() > BODY_OCTETS_MAX {
            true => Err(SipValueError::TooLong { part: "octets of the body", max: BODY_OCTETS_MAX }),
            false => Ok(SipBody { content_type: content_type.to_owned(), octets }),
        }
    }

    /// A session description.
    #[must_use]
    pub fn from_sdp(description: &SessionDescription) -> SipBody {
        SipBody { content_type: SDP_TYPE.to_owned(), octets: description.to_string().into_bytes() }
    }

    /// The body of a message that came; nothing if it is empty. Without a Content-Type it counts as SDP.
    #[must_use]
    pub fn of(message: &SipMessage<'_>) -> Option<SipBody> {
        let content_type = message.value(HeaderName::ContentType).unwrap_or(SDP_TYPE).to_owned();
        let octets = message.body().to_vec();
        (!octets.is_empty()).then_some(SipBody { content_type, octets })
    }

    /// The type as it is written, with its parameters.
    #[must_use]
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Whether the type is `kind`, in any case, its parameters left aside.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        is_type(&self.content_type, kind)
    }

    /// The session description: the body, or the first part of that type in a multipart body (RFC 5621), as
    /// trunks send it beside ISUP.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn sdp(&self) -> Result<SessionDescription, SdpParseError> {
        if self.is(SDP_TYPE) {
            return SessionDescription::parse(&self.octets);
        }
        let part = self.part(SDP_TYPE).ok_or(SdpParseError::Missing("a body of type application/sdp"))?;
        SessionDescription::parse(part)
    }

    /// The octets of the first part of a type in a multipart body.
    #[must_use]
    pub fn part(&self, kind: &str) -> Option<&[u8]> {
        let boundary = self.boundary()?;
        let mark = format!("--{boundary}");
        let parts = split_at_marks(&self.octets, mark.as_bytes());
        parts.into_iter().find_map(|part| {
            let end = super::head_end(part).unwrap_or(0);
            let head = String::from_utf8_lossy(&part[..end]);
            let is_kind = head.lines().any(|line| {
                line.split_once(':').is_some_and(|(name, value)| {
                    HeaderName::from_text(trim(name)) == HeaderName::ContentType && is_type(value, kind)
                })
            });
            is_kind.then(|| strip_line_end(&part[end..]))
        })
    }

    fn boundary(&self) -> Option<String> {
        let (kind, parameters) = cut_outside(&self.content_type, b';').ok()?;
        trim(kind).get(..10).filter(|begin| begin.eq_ignore_ascii_case("multipart/"))?;
        let parameters = parameters.map(|rest| format!(";{rest}"))?;
        let parameters = Parameters::parse("Content-Type", &parameters).ok()?;
        parameters.value("boundary").map(std::borrow::Cow::into_owned).filter(|boundary| !boundary.is_empty())
    }
}

fn is_type(content_type: &str, kind: &str) -> bool {
    content_type.split(';').next().is_some_and(|found| trim(found).eq_ignore_ascii_case(kind))
}

/// The parts between marks that stand at the beginning of a line.
fn split_at_marks<'b>(octets: &'b [u8], mark: &[u8]) -> Vec<&'b [u8]> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    while at + mark.len() <= octets.len() && starts.len() <= PARTS_MAX {
        if octets[at..].starts_with(mark) {
            starts.push(at);
        }
        match octets[at..].iter().position(|octet| *octet == b'\n') {
            Some(end) => at += end + 1,
            None => break,
        }
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().collect();
    let part = |(from, to): (usize, usize)| {
        let part = &octets[from..to];
        let line = part.iter().position(|octet| *octet == b'\n').map_or(part.len(), |end| end + 1);
        &part[line..]
    };
    starts.into_iter().zip(ends).map(part).collect()
}

fn strip_line_end(octets: &[u8]) -> &[u8] {
    let octets = octets.strip_suffix(b"\n").unwrap_or(octets);
    octets.strip_suffix(b"\r").unwrap_or(octets)
}

/// Refuses a body whose encoding is not spoken here.
pub(crate) fn check_encoding(message: &SipMessage<'_>) -> Result<(), SipParseError> {
    match message.list(HeaderName::ContentEncoding).all(|encoding| encoding.eq_ignore_ascii_case("identity"))
    {
        true => Ok(()),
        false => Err(SipParseError::malformed("Content-Encoding", "an encoding that is not spoken here")),
    }
}
