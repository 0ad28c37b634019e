//! Errors of a text say what is wrong with it, and where.

use crate::{FILTERS_MAX, NAME_OCTETS_MAX, PLACEHOLDERS_MAX, STRING_OCTETS_MAX};
use std::fmt;

/// Something in a text that its writer has to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The character at which the placeholder begins, counted from 1.
    pub at: usize,
    /// The placeholder as it was written, at most 40 characters of it.
    pub written: String,
    /// What is wrong with it.
    pub reason: TextFault,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextFault {
    /// `{{` without `}}` after it.
    NotClosed,
    /// `{{ }}`.
    Empty,
    /// `{% … %}`: a statement.
    Statement,
    /// `{# … #}`: a comment.
    Comment,
    /// Something that is neither a name nor a text in quotes.
    NotAName,
    /// A text in quotes without its end.
    StringNotClosed,
    /// A filter that is not known.
    UnknownFilter(String),
    /// A filter without the value in parentheses that it needs, or with one that it does not take.
    FilterValue(&'static str),
    /// A name, string, or number of filters or placeholders over its limit.
    OverLimit(TextLimit),
}

/// A limit of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextLimit {
    /// [`NAME_OCTETS_MAX`].
    NameOctets,
    /// [`STRING_OCTETS_MAX`].
    StringOctets,
    /// [`FILTERS_MAX`].
    Filters,
    /// [`PLACEHOLDERS_MAX`].
    Placeholders,
}

impl fmt::Display for TextLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextLimit::NameOctets => write!(f, "a name has at most {NAME_OCTETS_MAX} octets"),
            TextLimit::StringOctets => write!(f, "a text in quotes has at most {STRING_OCTETS_MAX} octets"),
            TextLimit::Filters => write!(f, "a placeholder has at most {FILTERS_MAX} filters"),
            TextLimit::Placeholders => write!(f, "a text has at most {PLACEHOLDERS_MAX} placeholders"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}: ", self.written, self.at)?;
        match &self.reason {
            TextFault::NotClosed => write!(f, "the placeholder has no }}}} at its end"),
            TextFault::Empty => write!(f, "the placeholder has no name; one looks like {{{{name}}}}"),
            TextFault::Statement => {
                write!(
                    f,
                    "texts are no programs: {{% … %}} is not taken, only placeholders such as {{{{name}}}}"
                )
            }
            TextFault::Comment => write!(f, "comments are not taken: remove {{# … #}}"),
            TextFault::NotAName => write!(
                f,
                "a placeholder is a name or a text in quotes, then filters: {{{{name}}}}, {{{{ward|default(\"your ward\")}}}}. \
                 Calculations and calls are not taken"
            ),
            TextFault::StringNotClosed => write!(f, "a text in quotes has no quote at its end"),
            TextFault::UnknownFilter(name) => {
                write!(f, "there is no filter {name:?}; known are {}", crate::filter::NAMES.join(", "))
            }
            TextFault::FilterValue(usage) => write!(f, "the filter is written {usage}"),
            TextFault::OverLimit(limit) => limit.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
