//! Grammar that header fields share (RFC 3261 section 25.1): tokens, quoted strings, lists, parameters,
//! escapes.

use crate::error::SipParseError;
use crate::limits::PARAMETERS_MAX;
use std::borrow::Cow;

/// Blanks between parts; folded lines are blanks by the time a value is read.
pub(crate) const BLANKS: [char; 2] = [' ', '\t'];

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(BLANKS)
}

/// A character of `token`.
pub(crate) fn is_token_octet(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&octet)
}

pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_octet)
}

/// Position of the first octet for which `found` holds outside quoted strings and angle brackets; `Err` if a
/// quoted string or bracket is not closed before.
fn find_outside(text: &str, found: impl Fn(u8) -> bool) -> Result<Option<usize>, &'static str> {
    let (mut quoted, mut escaped, mut bracket) = (false, false, false);
    for (at, octet) in text.bytes().enumerate() {
        match octet {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' if !bracket => quoted = !quoted,
            _ if quoted => {}
            b'<' => bracket = true,
            b'>' => bracket = false,
            _ if !bracket && found(octet) => return Ok(Some(at)),
            _ => {}
        }
    }
    match (quoted, bracket) {
        (true, _) => Err("a quoted string is not closed"),
        (_, true) => Err("an angle bracket is not closed"),
        _ => Ok(None),
    }
}

/// Cuts at the first `separator` outside quoted strings and angle brackets.
pub(crate) fn cut_outside(text: &str, separator: u8) -> Result<(&str, Option<&str>), &'static str> {
    Ok(match find_outside(text, |octet| octet == separator)? {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    })
}

/// The values of a comma-separated list, blanks removed; empty values are left out. A value with an unclosed
/// quoted string runs to the end.
pub(crate) fn list(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let (value, after) = cut_outside(rest?, b',').unwrap_or((rest?, None));
        rest = after;
        Some(trim(value))
    })
    .filter(|value| !value.is_empty())
}

/// The text of a quoted string without its quotes and backslashes; other text as it is.
pub(crate) fn unquote(text: &str) -> Cow<'_, str> {
    let text = trim(text);
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Cow::Borrowed(text);
    };
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut plain = String::with_capacity(inner.len());
    let mut escaped = false;
    for c in inner.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            _ => {
                plain.push(c);
                escaped = false;
            }
        }
    }
    Cow::Owned(plain)
}

/// A quoted string of `text`.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

/// Undoes `%HH`; a percent sign without two digits stays. Octets that are no UTF-8 become U+FFFD.
pub(crate) fn percent_decode(text: &str) -> String {
    let octets = text.as_bytes();
    let mut plain = Vec::with_capacity(octets.len());
    let mut at = 0;
    while let Some(&octet) = octets.get(at) {
        let pair = octets.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        let pair = pair.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match pair.filter(|_| octet == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) => {
                plain.push(value);
                at += 3;
            }
            None => {
                plain.push(octet);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Writes as `%HH` what is neither alphanumeric nor in `allowed`.
pub(crate) fn percent_encode(text: &str, allowed: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet.is_ascii_alphanumeric() || allowed.contains(&octet) {
            true => encoded.push(char::from(octet)),
            false => encoded.push_str(&format!("%{octet:02X}")),
        }
    }
    encoded
}

/// The parameters behind a value: `;name=value;flag`, read where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parameters<'a> {
    text: &'a str,
}

impl<'a> Parameters<'a> {
    /// Reads parameters, each begun by a semicolon; blanks around everything are allowed.
    ///
    /// # Errors
    /// A name that is no token, a quoted string that is not closed, more than [`PARAMETERS_MAX`].
    pub(crate) fn parse(part: &'static str, text: &'a str) -> Result<Parameters<'a>, SipParseError> {
        let parameters = Parameters { text };
        if !trim(text).is_empty() && !trim(text).starts_with(';') {
            return Err(SipParseError::malformed(
                part,
                "something stands behind the value that is no parameter",
            ));
        }
        find_outside(text, |_| false).map_err(|problem| SipParseError::malformed(part, problem))?;
        // One at the end is let be; semicolons in a quoted string separate nothing.
        if text.contains(";;") && !text.contains('"') {
            return Err(SipParseError::malformed(part, "an empty parameter"));
        }
        let mut count = 0;
        for (name, _) in parameters.iter() {
            count += 1;
            if !is_token(name) && !name.starts_with('[') {
                return Err(SipParseError::malformed(part, "a parameter's name is no token"));
            }
        }
        match count > PARAMETERS_MAX {
            true => Err(SipParseError::TooLong { part: "parameters of a header field", max: PARAMETERS_MAX }),
            false => Ok(parameters),
        }
    }

    /// All parameters in their order: name, and value as it is written.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let mut rest = Some(self.text);
        std::iter::from_fn(move || {
            let (one, after) = cut_outside(rest?, b';').unwrap_or((rest?, None));
            rest = after;
            Some(trim(one))
        })
        .filter(|one| !one.is_empty())
        .map(|one| match cut_outside(one, b'=') {
            Ok((name, Some(value))) => (trim(name), Some(trim(value))),
            _ => (one, None),
        })
    }

    /// Whether a parameter of this name is there, in any case, with a value or without.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    }

    /// The value of the first parameter of this name, in any case, without quotes.
    #[must_use]
    pub fn value(self, name: &str) -> Option<Cow<'a, str>> {
        self.iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .and_then(|(_, value)| value)
            .map(unquote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_at_commas_outside_quotes_and_brackets() {
        let values: Vec<_> = list(r#" "a, \"b" <sip:x,y@z>;p="1,2" ,, <sip:c> , d"#).collect();
        assert_eq!(values, [r#""a, \"b" <sip:x,y@z>;p="1,2""#, "<sip:c>", "d"]);
    }

    #[test]
    fn parameters_are_read_with_blanks_in_any_case_and_unquoted() {
        let parameters = Parameters::parse("x", r#" ; Tag = a ;lr; q="0.\"5" "#).unwrap();
        assert_eq!(parameters.value("tag").as_deref(), Some("a"));
        assert!(parameters.has("LR"));
        assert_eq!(parameters.value("q").as_deref(), Some("0.\"5"));
        assert_eq!(parameters.value("none"), None);
    }

    #[test]
    fn an_unclosed_quoted_string_is_refused_in_parameters() {
        assert!(Parameters::parse("x", ";a=\"b").is_err());
        assert!(Parameters::parse("x", "junk;a=b").is_err());
    }

    #[test]
    fn percent_escapes_are_undone_and_made() {
        assert_eq!(percent_decode("a%20%3b%4%zz%"), "a ;%4%zz%");
        assert_eq!(percent_encode("a ;ü", b""), "a%20%3B%C3%BC");
    }
}
