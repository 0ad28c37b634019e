//! Redaction: URLs and addresses of people as logs may show them.
//!
//! A log is read by more people than the data are for, and kept elsewhere. So it shows where something went,
//! as far as an operator needs it to find the fault, and no password, token, number or text.

use std::fmt::{self, Display, Formatter, Write};

/// Characters of a name or a number's front that are shown.
const FRONT_CHARS: usize = 5;
/// Digits of a number's end that are shown.
const END_CHARS: usize = 2;
/// A number of fewer characters shows nothing: the rest of it would be easy to guess.
const NUMBER_CHARS_MIN: usize = 9;
/// Characters of a longer part of a path are a token more often than a name.
const SEGMENT_CHARS_MAX: usize = 24;
/// A part of a path with so many digits holds a number of somebody.
const SEGMENT_DIGITS_MAX: usize = 4;

/// What stands in a log for something that must not.
#[derive(Clone, Copy)]
pub enum Redacted<'a> {
    /// A URL: scheme, host, port and path are shown; user, password, query and fragment are not, nor parts of
    /// the path that look like a token or a number.
    Url(&'a str),
    /// Somebody's address: `+4670…01` of a number, `a…@city.example` of a mailbox, front and end of another.
    Address(&'a str),
}

impl Display for Redacted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Redacted::Url(url) => write_url(url, f),
            Redacted::Address(address) => write_address(address, f),
        }
    }
}

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

fn write_url(url: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let Some((scheme, rest)) = url.split_once("://") else { return f.write_str("(no URL)") };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.chars().all(is_scheme) {
        return f.write_str("(no URL)");
    }
    let (authority, rest) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    write!(f, "{scheme}://")?;
    host.chars().filter(|c| !c.is_control()).try_for_each(|c| f.write_char(c))?;
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    for (place, segment) in path.split(['/', '\\']).enumerate() {
        if place > 0 {
            f.write_char('/')?;
        }
        f.write_str(if is_shown(segment) { segment } else { "…" })?;
    }
    f.write_str(if query.is_empty() { "" } else { "?…" })
}

/// Whether a part of a path is a name. What is encoded may be a text.
fn is_shown(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.' | b'~');
    segment.len() <= SEGMENT_CHARS_MAX && digits <= SEGMENT_DIGITS_MAX && segment.bytes().all(is_plain)
}

fn write_address(address: &str, f: &mut Formatter<'_>) -> fmt::Result {
    if address.contains("://") {
        return write_url(address, f);
    }
    if let Some((name, domain)) = address.rsplit_once('@') {
        name.chars().take(1).try_for_each(|c| f.write_char(c))?;
        f.write_str("…@")?;
        return domain.chars().filter(|c| !c.is_control()).try_for_each(|c| f.write_char(c));
    }
    let chars = address.chars().count();
    if chars < NUMBER_CHARS_MIN {
        return f.write_str("…");
    }
    let shown = |c: &char| !c.is_control();
    address.chars().take(FRONT_CHARS).filter(shown).try_for_each(|c| f.write_char(c))?;
    f.write_char('…')?;
    address.chars().skip(chars - END_CHARS).filter(shown).try_for_each(|c| f.write_char(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_shows_where_it_goes_and_none_of_its_secrets() {
        let cases = [
            ("https://hooks.example/alerts", "https://hooks.example/alerts"),
            ("https://hooks.example:8443/", "https://hooks.example:8443/"),
            ("http://hook:s3cretpw@127.0.0.1:9000/?key=t0psecret", "http://127.0.0.1:9000/?…"),
            ("http://a@b:c@hooks.example/x#frag", "http://hooks.example/x?…"),
            ("http://hooks.example?to=46701740602", "http://hooks.example?…"),
            (
                "https://hooks.example/services/T0001/B002/XXXXXXXXXXXXXXXXXXXXXXXXX",
                "https://hooks.example/services/T0001/B002/…",
            ),
            ("http://hooks.example/dlr/46701740602/1", "http://hooks.example/dlr/…/1"),
            ("http://hooks.example/say/hello%20ann", "http://hooks.example/say/…"),
            ("http:\\\\hook:pw@x/", "(no URL)"),
            ("http://x\\user:pw@y/", "http://x/…/"),
            ("not a url +46701740602", "(no URL)"),
            ("+46701740602 ://x", "(no URL)"),
            ("", "(no URL)"),
        ];
        for (url, expected) in cases {
            assert_eq!(Redacted::Url(url).to_string(), expected);
        }
    }

    #[test]
    fn an_address_shows_whose_it_may_be_and_not_whose_it_is() {
        let cases = [
            ("+46701740601", "+4670…01"),
            ("46701740601", "46701…01"),
            ("71700", "…"),
            ("ann.svensson@city.example", "a…@city.example"),
            ("\"a@b\"@city.example", "\"…@city.example"),
            ("https://u:p@hooks.example/x?y", "https://hooks.example/x?…"),
            ("site-of-the-city", "site-…ty"),
            ("\u{1b}[31m46701740", "[31m…40"),
            ("", "…"),
        ];
        for (address, expected) in cases {
            assert_eq!(format!("{:?}", Redacted::Address(address)), expected);
        }
    }
}
