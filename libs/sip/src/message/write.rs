//! Writing of messages. No value can bring a line break into a message: each passes
//! [`MessageWriter::header`].

use super::{HeaderName, Method, SipBody, VERSION, status_phrase};
use crate::error::{SipValueError, check_text};
use crate::limits::HEADER_VALUE_OCTETS_MAX;
use crate::text::is_token;
use std::fmt::Display;

const HEADER_NAME_OCTETS_MAX: usize = 64;

/// A header field that a caller adds to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraHeader {
    name: String,
    value: String,
}

/// Header fields that the machines write themselves.
const OWN: &[HeaderName] = &[
    HeaderName::Via,
    HeaderName::From,
    HeaderName::To,
    HeaderName::CallId,
    HeaderName::CSeq,
    HeaderName::MaxForwards,
    HeaderName::ContentLength,
    HeaderName::ContentType,
    HeaderName::Authorization,
    HeaderName::ProxyAuthorization,
];

impl ExtraHeader {
    /// A header field by name and value.
    ///
    /// # Errors
    /// A name that is no token or that the machines write themselves; a value with control characters or of
    /// more than [`HEADER_VALUE_OCTETS_MAX`] octets.
    pub fn new(name: &str, value: &str) -> Result<ExtraHeader, SipValueError> {
        if !is_token(name) || name.len() > HEADER_NAME_OCTETS_MAX {
            return Err(SipValueError::Form {
                part: "name of a header field",
                expected: "a token of 1 to 64 octets",
            });
        }
        if OWN.contains(&HeaderName::from_text(name)) {
            return Err(SipValueError::Form {
                part: "name of a header field",
                expected: "one that is not written by the machine itself, as Via, From, To, CSeq are",
            });
        }
        check_text("value of a header field", value, HEADER_VALUE_OCTETS_MAX)?;
        Ok(ExtraHeader { name: name.to_owned(), value: value.to_owned() })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// A message being written.
#[derive(Debug)]
pub struct MessageWriter {
    out: Vec<u8>,
}

impl MessageWriter {
    /// Begins a request.
    #[must_use]
    pub fn request(method: &Method, uri: &str) -> MessageWriter {
        let mut writer = MessageWriter { out: Vec::with_capacity(1_024) };
        writer.push_clean(method.as_str());
        writer.out.push(b' ');
        writer.push_clean(&uri.replace(' ', "%20"));
        writer.out.push(b' ');
        writer.out.extend_from_slice(VERSION.as_bytes());
        writer.end_line();
        writer
    }

    /// Begins a response; without a phrase it has that of the RFC. A status outside of 100 to 699 is
    /// written as 500.
    #[must_use]
    pub fn response(status: u16, phrase: Option<&str>) -> MessageWriter {
        let status = if (100..700).contains(&status) { status } else { 500 };
        let mut writer = MessageWriter { out: Vec::with_capacity(1_024) };
        writer.push_clean(&format!("{VERSION} {status} {}", phrase.unwrap_or(status_phrase(status))));
        writer.end_line();
        writer
    }

    /// A header field of a known name.
    pub fn header(&mut self, name: HeaderName, value: impl Display) -> &mut MessageWriter {
        self.named(name.as_str(), &value.to_string())
    }

    /// Header fields of a caller.
    pub fn extra(&mut self, headers: &[ExtraHeader]) -> &mut MessageWriter {
        for header in headers {
            self.named(&header.name, &header.value);
        }
        self
    }

    fn named(&mut self, name: &str, value: &str) -> &mut MessageWriter {
        self.push_clean(name);
        self.out.extend_from_slice(b": ");
        self.push_clean(value);
        self.end_line();
        self
    }

    /// Ends the header fields and adds the body, with its type and Content-Length.
    #[must_use]
    pub fn finish(mut self, body: Option<&SipBody>) -> Vec<u8> {
        if let Some(body) = body {
            self.header(HeaderName::ContentType, body.content_type());
        }
        let octets = body.map_or(&[][..], SipBody::octets);
        self.header(HeaderName::ContentLength, octets.len());
        self.end_line();
        self.out.extend_from_slice(octets);
        self.out
    }

    /// Writes text; a control character becomes a blank.
    fn push_clean(&mut self, text: &str) {
        if !text.chars().any(char::is_control) {
            self.out.extend_from_slice(text.as_bytes());
            return;
        }
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.out.extend_from_slice(clean.as_bytes());
    }

    fn end_line(&mut self) {
        self.out.extend_from_slice(b"\r\n");
    }
}
