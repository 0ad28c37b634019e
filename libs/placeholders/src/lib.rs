//! Texts with placeholders name values of one person: `{{name}}`, `{{ward|default("your ward")|upper}}`.
//!
//! A text is data and never a program: there are no conditions, loops, assignments, calls or calculations.
//! [`Text::parse`] reads a text once; [`Text::fill`] writes it for one person. Both are linear in their
//! input, and a result has at most [`FILLED_OCTETS_MAX`] octets, counted before each piece is written.
//!
//! ```text
//! text        = *( literal / "{{" expression "}}" )
//! expression  = operand *( "|" filter )
//! operand     = name / string                       ; a string is how "{{" itself is written
//! filter      = "default(" string ")" / "truncate(" 1*DIGIT ")" / "upper" / "lower" / "capitalize" / "title" / "trim"
//! string      = DQUOTE *( char / "\" char ) DQUOTE / "'" … "'" / typographic quotes of any language
//! ```

mod error;
mod filter;
mod parse;

pub use error::{Error, TextFault};
pub use filter::Filter;

use std::collections::BTreeSet;

/// Octets of a name in a placeholder.
pub const NAME_OCTETS_MAX: usize = 64;
/// Octets of a string in a placeholder.
pub const STRING_OCTETS_MAX: usize = 1_024;
/// Filters of one placeholder.
pub const FILTERS_MAX: usize = 8;
/// Placeholders of one text, counted as often as they stand there.
pub const PLACEHOLDERS_MAX: usize = 1_000;
/// Octets of a value that are used; the rest is cut off at a character.
pub const VALUE_OCTETS_MAX: usize = 4_096;
/// Octets of a filled text. A text as it is written may be longer.
pub const FILLED_OCTETS_MAX: usize = 256 * 1024;

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(Box<str>),
    Placeholder(Placeholder),
}

/// One `{{…}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Placeholder {
    operand: Operand,
    filters: Box<[Filter]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operand {
    Name(Box<str>),
    String(Box<str>),
}

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// As they are: for plain text.
    Plain,
    /// `& < > " '` as character references: for HTML.
    Html,
}

/// A text that was filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filled {
    /// The text.
    pub text: String,
    /// A placeholder had neither a value nor a default: nothing stands there.
    pub has_gap: bool,
}

impl Text {
    /// Reads a text of any length.
    ///
    /// # Errors
    /// The first thing that is not as the grammar has it, with its place.
    pub fn parse(text: &str) -> Result<Text, Error> {
        parse::text(text)
    }

    /// Whether a text needs to be read: without `{{`, `{%` and `{#` it is the same for everyone.
    pub fn has_marks(text: &str) -> bool {
        text.contains("{{") || text.contains("{%") || text.contains("{#")
    }

    /// Whether values of persons are in it.
    pub fn is_personal(&self) -> bool {
        self.names().next().is_some()
    }

    /// Names of all placeholders, each as often as it stands there.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.placeholders().filter_map(Placeholder::name)
    }

    /// Names that at least one placeholder without a default has: without a value there is a gap in the text.
    pub fn needed(&self) -> BTreeSet<&str> {
        self.placeholders().filter(|one| !one.has_default()).filter_map(Placeholder::name).collect()
    }

    /// Writes the text for one person. `value_of` gives the value of a name; an empty one counts as none.
    ///
    /// # Errors
    /// The result would have over [`FILLED_OCTETS_MAX`] octets.
    pub fn fill<'a>(
        &self,
        escape: Escape,
        value_of: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Filled, TooLong> {
        let mut filled = Filled::default();
        let mut scratch = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => append(&mut filled.text, text)?,
                Piece::Placeholder(one) => {
                    filled.has_gap |= !one.value(&value_of, &mut scratch);
                    match escape {
                        Escape::Plain => append(&mut filled.text, &scratch)?,
                        Escape::Html => append_escaped(&mut filled.text, &scratch)?,
                    }
                }
            }
        }
        Ok(filled)
    }

    /// The text with `…` in place of each placeholder: for lists and subjects of reports, where it stands for
    /// everyone.
    pub fn without_values(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Placeholder(one) => match &one.operand {
                    Operand::Name(_) => text.push('…'),
                    Operand::String(string) => text.push_str(string),
                },
            }
        }
        text
    }

    fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Placeholder(one) => Some(one),
        })
    }
}

/// A text in which nothing is a placeholder, whatever it has: for texts that come from elsewhere, such as CAP
/// messages.
pub fn literal(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_mark = character == '{' && matches!(characters.peek(), Some('{' | '%' | '#'));
        if is_mark {
            written.push_str("{{\"{\"}}");
        } else {
            written.push(character);
        }
    }
    written
}

/// A filled text would be longer than [`FILLED_OCTETS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "with this person's values the text has over {FILLED_OCTETS_MAX} octets; shorten it or the values"
        )
    }
}

impl std::error::Error for TooLong {}

impl Placeholder {
    fn name(&self) -> Option<&str> {
        match &self.operand {
            Operand::Name(name) => Some(name),
            Operand::String(_) => None,
        }
    }

    fn has_default(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter, Filter::Default(text) if !text.is_empty()))
    }

    /// Writes the value into `out`; false where there is none.
    fn value<'a>(&self, value_of: &impl Fn(&str) -> Option<&'a str>, out: &mut String) -> bool {
        out.clear();
        match &self.operand {
            Operand::Name(name) => out.push_str(start_of(value_of(name).unwrap_or(""), VALUE_OCTETS_MAX)),
            Operand::String(string) => out.push_str(string),
        }
        for filter in &self.filters {
            filter.apply(out);
        }
        !out.is_empty() || matches!(self.operand, Operand::String(_))
    }
}

/// The first octets of a text, cut at a character.
fn start_of(text: &str, octets: usize) -> &str {
    if text.len() <= octets {
        return text;
    }
    let end = (0..=octets).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

fn append(out: &mut String, text: &str) -> Result<(), TooLong> {
    if out.len() + text.len() > FILLED_OCTETS_MAX {
        return Err(TooLong);
    }
    out.push_str(text);
    Ok(())
}

fn append_escaped(out: &mut String, text: &str) -> Result<(), TooLong> {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        append(out, &rest[..at])?;
        append(
            out,
            match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            },
        )?;
        rest = &rest[at + 1..];
    }
    append(out, rest)
}

#[cfg(test)]
mod tests;
