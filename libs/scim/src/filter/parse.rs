//! FilterReader of filters: recursive descent, as deep as `FILTER_DEPTH_MAX`.

use super::{CompareOp, CompareValue, FilterExpr, FilterFault, FilterReason};
use crate::limits::{FILTER_DEPTH_MAX, FILTER_OCTETS_MAX, FILTER_TERMS_MAX};
use crate::path::{AttrPath, is_path_octet};
use serde_json::Number;

type Parsed<T> = Result<T, FilterFault>;

pub(super) fn filter(text: &str) -> Parsed<FilterExpr> {
    let mut reader = FilterReader::new(text)?;
    let filter = reader.any()?;
    reader.end()?;
    Ok(filter)
}

/// A text, and the place up to which it is read.
pub(crate) struct FilterReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    terms: usize,
    in_brackets: bool,
}

impl<'a> FilterReader<'a> {
    /// A reader at the beginning.
    ///
    /// # Errors
    /// The text is over [`FILTER_OCTETS_MAX`].
    pub(crate) fn new(text: &'a str) -> Parsed<FilterReader<'a>> {
        let reader = FilterReader { text, at: 0, depth: 0, terms: 0, in_brackets: false };
        if text.len() > FILTER_OCTETS_MAX {
            return Err(FilterFault { at: FILTER_OCTETS_MAX, reason: FilterReason::TooLong });
        }
        Ok(reader)
    }

    /// Nothing but blanks follows.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        self.blanks();
        if self.at < self.text.len() { Err(self.fault(FilterReason::Trailing)) } else { Ok(()) }
    }

    /// The longest run of octets that a path has, without a point or anything else read into it.
    pub(crate) fn path_text(&mut self) -> &'a str {
        self.blanks();
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|octet| !is_path_octet(octet)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A filter in brackets, if one follows at once.
    pub(crate) fn brackets(&mut self) -> Parsed<Option<FilterExpr>> {
        if !self.takes('[') {
            return Ok(None);
        }
        if self.in_brackets {
            return Err(self.fault(FilterReason::NestedBrackets));
        }
        self.in_brackets = true;
        let filter = self.enclosed(']')?;
        self.in_brackets = false;
        Ok(Some(filter))
    }

    /// `.name` right here.
    pub(crate) fn dotted(&mut self) -> Option<&'a str> {
        let rest = self.text[self.at..].strip_prefix('.')?;
        let end = rest.bytes().position(|octet| !is_path_octet(octet)).unwrap_or(rest.len());
        self.at += 1 + end;
        Some(&rest[..end])
    }

    fn any(&mut self) -> Parsed<FilterExpr> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.takes_word("or") {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, FilterExpr::Or))
    }

    fn all(&mut self) -> Parsed<FilterExpr> {
        let first = self.factor()?;
        let mut parts = vec![first];
        while self.takes_word("and") {
            parts.push(self.factor()?);
        }
        Ok(one_or(parts, FilterExpr::And))
    }

    fn factor(&mut self) -> Parsed<FilterExpr> {
        self.blanks();
        if self.takes('(') {
            return self.enclosed(')');
        }
        let start = self.at;
        if self.takes_word("not") {
            self.blanks();
            if self.takes('(') {
                return Ok(FilterExpr::Not(Box::new(self.enclosed(')')?)));
            }
            return Err(self.fault(FilterReason::NotWithoutParenthesis));
        }
        let path = self.path(start)?;
        match self.brackets()? {
            Some(filter) => self.values(path, filter),
            None => self.test(path),
        }
    }

    fn path(&mut self, start: usize) -> Parsed<AttrPath> {
        let fault = |reason| FilterFault { at: start, reason };
        let path = AttrPath::parse(self.path_text()).ok_or(fault(FilterReason::NoPath))?;
        if self.in_brackets && (path.urn.is_some() || path.sub.is_some()) {
            return Err(fault(FilterReason::PathInBrackets));
        }
        Ok(path)
    }

    /// The rest after brackets: nothing, or a test of a sub-attribute of the same element.
    fn values(&mut self, path: AttrPath, filter: FilterExpr) -> Parsed<FilterExpr> {
        let start = self.at;
        let Some(name) = self.dotted() else { return Ok(FilterExpr::Values(path, Box::new(filter))) };
        let sub = AttrPath::parse(name).filter(|sub| sub.urn.is_none() && sub.sub.is_none());
        let sub = sub.ok_or(FilterFault { at: start, reason: FilterReason::PathInBrackets })?;
        let test = self.test(sub)?;
        Ok(FilterExpr::Values(path, Box::new(FilterExpr::And(vec![filter, test]))))
    }

    /// `pr`, or an operator and its value.
    fn test(&mut self, path: AttrPath) -> Parsed<FilterExpr> {
        self.terms += 1;
        if self.terms > FILTER_TERMS_MAX {
            return Err(self.fault(FilterReason::TooManyTerms));
        }
        if self.takes_word("pr") {
            return Ok(FilterExpr::Present(path));
        }
        for (op, word) in CompareOp::ALL {
            if self.takes_word(word) {
                return Ok(FilterExpr::Compare(path, op, self.value()?));
            }
        }
        Err(self.fault(FilterReason::NoOperator))
    }

    fn value(&mut self) -> Parsed<CompareValue> {
        self.blanks();
        let rest = &self.text[self.at..];
        if rest.starts_with('"') {
            return self.string();
        }
        let is_part = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-' | b'.');
        let end = rest.bytes().position(|octet| !is_part(octet)).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word.to_ascii_lowercase().as_str() {
            "true" => CompareValue::Bool(true),
            "false" => CompareValue::Bool(false),
            "null" => CompareValue::Null,
            _ => CompareValue::Number(number(word).ok_or_else(|| self.fault(FilterReason::NoValue))?),
        };
        self.at += end;
        Ok(value)
    }

    /// A JSON string: the quote that ends it has an even number of backslashes before it.
    fn string(&mut self) -> Parsed<CompareValue> {
        let rest = &self.text[self.at..];
        let mut is_escaped = false;
        for (at, octet) in rest.bytes().enumerate().skip(1) {
            match octet {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    let text: Result<String, _> = serde_json::from_str(&rest[..=at]);
                    let text = text.map_err(|_| self.fault(FilterReason::BadString))?;
                    self.at += at + 1;
                    return Ok(CompareValue::String(text.into()));
                }
                _ => {}
            }
        }
        Err(self.fault(FilterReason::BadString))
    }

    /// A filter up to `close`; what opens it is read already.
    fn enclosed(&mut self, close: char) -> Parsed<FilterExpr> {
        self.depth += 1;
        if self.depth > FILTER_DEPTH_MAX {
            return Err(self.fault(FilterReason::TooDeep));
        }
        let filter = self.any()?;
        self.blanks();
        if !self.takes(close) {
            let is_end = self.at == self.text.len();
            return Err(self.fault(if is_end { FilterReason::NotClosed } else { FilterReason::Trailing }));
        }
        self.depth -= 1;
        Ok(filter)
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.text[self.at..].starts_with(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    /// A word in any case, with something that is no part of a path after it.
    fn takes_word(&mut self, word: &str) -> bool {
        let before = self.at;
        if self.path_text().eq_ignore_ascii_case(word) {
            return true;
        }
        self.at = before;
        false
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn fault(&self, reason: FilterReason) -> FilterFault {
        FilterFault { at: self.at, reason }
    }
}

/// A JSON number. The standard library rounds to the nearest fraction; serde_json does not, so that a number
/// that is written would be read back as another.
fn number(word: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(word).ok()?;
    if number.is_f64() { Number::from_f64(word.parse().ok()?) } else { Some(number) }
}

fn one_or(mut parts: Vec<FilterExpr>, many: fn(Vec<FilterExpr>) -> FilterExpr) -> FilterExpr {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}
