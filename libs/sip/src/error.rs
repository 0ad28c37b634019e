//! Errors by blame: a peer's octets that cannot be read, and a caller's values that have no form on the wire.

use std::fmt;

/// A message, or a part of one, that cannot be read. The peer is to blame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SipParseError {
    /// The start line is neither a request line nor a status line.
    StartLine(&'static str),
    /// A protocol version other than SIP/2.0 (505).
    Version,
    /// There is no empty line behind the header fields.
    HeadUnfinished,
    /// A limit of [`crate::limits`]: its name in words, and the number.
    TooLong {
        /// The part that is too long.
        part: &'static str,
        /// The most that is allowed.
        max: usize,
    },
    /// A mandatory header field is not there.
    Missing(&'static str),
    /// A header field that may stand once stands twice or more.
    Repeated(&'static str),
    /// A header field does not have its form.
    Malformed {
        /// The header field's name, or the part's.
        part: &'static str,
        /// What is wrong there.
        problem: &'static str,
    },
    /// Content-Length is more than came in the datagram.
    BodyShort {
        /// Octets that Content-Length says.
        declared: usize,
        /// Octets that are there.
        present: usize,
    },
}

impl SipParseError {
    pub(crate) fn malformed(part: &'static str, problem: &'static str) -> SipParseError {
        SipParseError::Malformed { part, problem }
    }

    /// The status code of a response to a request with this error (RFC 3261 section 21).
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            SipParseError::Version => 505,
            SipParseError::TooLong { part: "Request-URI", .. } => 414,
            SipParseError::TooLong { .. } => 513,
            _ => 400,
        }
    }
}

impl fmt::Display for SipParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SipParseError::StartLine(problem) => write!(f, "start line: {problem}"),
            SipParseError::Version => f.write_str("start line: the protocol version is not SIP/2.0"),
            SipParseError::HeadUnfinished => f.write_str("no empty line behind the header fields"),
            SipParseError::TooLong { part, max } => write!(f, "{part}: more than {max} allowed"),
            SipParseError::Missing(header) => write!(f, "header field {header} is missing"),
            SipParseError::Repeated(header) => write!(f, "header field {header} stands more than once"),
            SipParseError::Malformed { part, problem } => write!(f, "{part}: {problem}"),
            SipParseError::BodyShort { declared, present } => {
                write!(f, "Content-Length says {declared} octets of body, the datagram has {present}")
            }
        }
    }
}

impl std::error::Error for SipParseError {}

/// A value that a caller gave and that has no form on the wire. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SipValueError {
    /// CR, LF, NUL or another control character, which would begin a header field of somebody's own.
    ControlCharacter(&'static str),
    /// It does not have the form of the part.
    Form {
        /// The part.
        part: &'static str,
        /// The form that is expected.
        expected: &'static str,
    },
    /// It is over a limit.
    TooLong {
        /// The part.
        part: &'static str,
        /// The most that is allowed.
        max: usize,
    },
}

impl fmt::Display for SipValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SipValueError::ControlCharacter(part) => {
                write!(
                    f,
                    "{part}: control characters (line breaks among them) have no form in SIP: remove them"
                )
            }
            SipValueError::Form { part, expected } => write!(f, "{part}: expected {expected}"),
            SipValueError::TooLong { part, max } => write!(f, "{part}: at most {max}, make it shorter"),
        }
    }
}

impl std::error::Error for SipValueError {}

/// Checks a caller's text: no control characters, at most `max` octets.
pub(crate) fn check_text(part: &'static str, text: &str, max: usize) -> Result<(), SipValueError> {
    if text.len() > max {
        return Err(SipValueError::TooLong { part, max });
    }
    match text.chars().any(char::is_control) {
        true => Err(SipValueError::ControlCharacter(part)),
        false => Ok(()),
    }
}
