//! Parser reads a text into literals and placeholders.

use crate::error::TextLimit;
use crate::{
    Error, FILTERS_MAX, Filter, NAME_OCTETS_MAX, Operand, PLACEHOLDERS_MAX, Piece, Placeholder,
    STRING_OCTETS_MAX, Text, TextFault,
};

/// Characters of a placeholder that an error shows.
const SHOWN_CHARS: usize = 40;

pub(crate) fn text(text: &str) -> Result<Text, Error> {
    let mut pieces = Vec::new();
    let (mut rest, mut placeholders) = (text, 0);
    let mut literal = String::new();
    // Looked for once: a text of nothing but `{#` is read in one pass.
    let comments_end = text.rfind("#}").unwrap_or(0);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        literal.push_str(before);
        let fail = |reason| error(text, from, reason);
        if let Some(inside) = from.strip_prefix("{{") {
            placeholders += 1;
            if placeholders > PLACEHOLDERS_MAX {
                return Err(fail(TextFault::OverLimit(TextLimit::Placeholders)));
            }
            let mut scanner = Scanner { rest: inside };
            let placeholder = scanner.placeholder().map_err(fail)?;
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal).into()));
            }
            pieces.push(Piece::Placeholder(placeholder));
            rest = scanner.rest;
        } else if from.starts_with("{%") {
            return Err(fail(TextFault::Statement));
        } else if from.starts_with("{#") && text.len() - from.len() < comments_end {
            return Err(fail(TextFault::Comment));
        } else {
            literal.push('{');
            rest = &from[1..];
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into()));
    }
    Ok(Text { pieces })
}

fn error(text: &str, from: &str, reason: TextFault) -> Error {
    let at = text[..text.len() - from.len()].chars().count() + 1;
    let end = from.find("}}").map_or(from.len(), |at| at + 2);
    let mut written: String = from[..end].chars().take(SHOWN_CHARS).collect();
    if written.len() < end {
        written.push('…');
    }
    Error { at, written, reason }
}

/// What is left of a placeholder, from behind its `{{`.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn placeholder(&mut self) -> Result<Placeholder, TextFault> {
        self.skip_blanks();
        if self.rest.starts_with("}}") {
            return Err(TextFault::Empty);
        }
        let operand = match self.string()? {
            Some(string) => Operand::String(string.into()),
            None => Operand::Name(self.name()?.into()),
        };
        let mut filters = Vec::new();
        loop {
            self.skip_blanks();
            if self.take("}}") {
                return Ok(Placeholder { operand, filters: filters.into() });
            }
            if !self.take("|") {
                let open = self.rest.is_empty() || !self.rest.contains("}}");
                return Err(if open { TextFault::NotClosed } else { TextFault::NotAName });
            }
            if filters.len() == FILTERS_MAX {
                return Err(TextFault::OverLimit(TextLimit::Filters));
            }
            filters.push(self.filter()?);
        }
    }

    /// Letters, digits, `_ - . ` and single blanks inside: the headings of a table of people.
    fn name(&mut self) -> Result<&'a str, TextFault> {
        let end = self.rest.find(['|', '}', '{', '"']).unwrap_or(self.rest.len());
        let name = self.rest[..end].trim_end_matches(is_blank);
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ') || is_mark(c);
        if name.is_empty()
            || !name.chars().all(is_of_name)
            || !name.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            return Err(if self.rest.contains("}}") { TextFault::NotAName } else { TextFault::NotClosed });
        }
        if name.len() > NAME_OCTETS_MAX {
            return Err(TextFault::OverLimit(TextLimit::NameOctets));
        }
        self.rest = &self.rest[end..];
        Ok(name)
    }

    fn filter(&mut self) -> Result<Filter, TextFault> {
        self.skip_blanks();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        self.rest = &self.rest[end..];
        let filter = match name {
            "default" => {
                let usage = "default(\"…\")";
                self.open(usage)?;
                let text = self.string()?.ok_or(TextFault::FilterValue(usage))?;
                self.close(usage)?;
                return Ok(Filter::Default(text.into()));
            }
            "truncate" => {
                let usage = "truncate(n), with a number of characters";
                self.open(usage)?;
                let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let characters = self.rest[..digits].parse().map_err(|_| TextFault::FilterValue(usage))?;
                self.rest = &self.rest[digits..];
                self.close(usage)?;
                return Ok(Filter::Truncate(characters));
            }
            "upper" => Filter::Upper,
            "lower" => Filter::Lower,
            "capitalize" => Filter::Capitalize,
            "title" => Filter::Title,
            "trim" => Filter::Trim,
            other => return Err(TextFault::UnknownFilter(other.chars().take(SHOWN_CHARS).collect())),
        };
        if self.rest.trim_start().starts_with('(') {
            return Err(TextFault::FilterValue("by its name alone"));
        }
        Ok(filter)
    }

    fn open(&mut self, usage: &'static str) -> Result<(), TextFault> {
        self.skip_blanks();
        let is_open = self.take("(");
        self.skip_blanks();
        is_open.then_some(()).ok_or(TextFault::FilterValue(usage))
    }

    fn close(&mut self, usage: &'static str) -> Result<(), TextFault> {
        self.skip_blanks();
        self.take(")").then_some(()).ok_or(TextFault::FilterValue(usage))
    }

    /// A text in quotes, if one stands here; a quote or backslash in it stands behind a backslash.
    fn string(&mut self) -> Result<Option<String>, TextFault> {
        let Some(quote) = self.rest.chars().next().filter(|c| !closing(*c).is_empty()) else {
            return Ok(None);
        };
        let mut text = String::new();
        let inside = &self.rest[quote.len_utf8()..];
        let mut characters = inside.char_indices();
        while let Some((at, character)) = characters.next() {
            let character = match character {
                '\\' => match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, escaped)) => escaped,
                    None => break,
                },
                end if closing(quote).contains(&end) => {
                    self.rest = &inside[at + end.len_utf8()..];
                    return Ok(Some(text));
                }
                other => other,
            };
            if text.len() + character.len_utf8() > STRING_OCTETS_MAX {
                return Err(TextFault::OverLimit(TextLimit::StringOctets));
            }
            text.push(character);
        }
        Err(TextFault::StringNotClosed)
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }
}

/// A blank, or a mark without a shape that copying left there.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The quotes that end a text which begins with this one; none if it is no quote. Word processors put a
/// language's own quotes in place of those that were typed.
fn closing(quote: char) -> &'static [char] {
    match quote {
        '"' => &['"'],
        '\'' => &['\''],
        '\u{201c}'..='\u{201f}' => &['\u{201c}', '\u{201d}', '\u{201f}'],
        '\u{2018}'..='\u{201b}' => &['\u{2018}', '\u{2019}', '\u{201b}'],
        '\u{ab}' => &['\u{bb}'],
        '\u{bb}' => &['\u{ab}', '\u{bb}'],
        _ => &[],
    }
}

/// Combining marks and joiners of scripts in which a letter has several characters.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{e30}'..='\u{eff}' | '\u{200c}' | '\u{200d}')
}
