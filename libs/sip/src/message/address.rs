//! Addresses of From, To, Contact, Route and P-Asserted-Identity (RFC 3261 section 20.10).

use crate::error::{SipParseError, SipValueError, check_text};
use crate::text::{Parameters, cut_outside, quote, trim, unquote};
use crate::uri::Uri;
use std::borrow::Cow;
use std::fmt;

/// Octets of a display name that a caller gives.
const DISPLAY_NAME_OCTETS_MAX: usize = 256;

/// An address read in place: `"Name" <uri>;parameters`, or a bare `uri;parameters`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameAddr<'a> {
    /// The display name without its quotes; empty if there is none.
    pub display_name: Cow<'a, str>,
    /// The URI as it is written, without its brackets.
    pub uri: &'a str,
    /// The header field's parameters: of a bare URI all that stand behind it (section 20).
    pub parameters: Parameters<'a>,
}

impl<'a> NameAddr<'a> {
    /// Reads one address of the header field `part`.
    ///
    /// # Errors
    /// A display name, URI or parameter that does not have its form.
    pub fn parse(part: &'static str, value: &'a str) -> Result<NameAddr<'a>, SipParseError> {
        let malformed = |problem| SipParseError::malformed(part, problem);
        let value = trim(value);
        let (before, bracket) = cut_at_bracket(value).map_err(malformed)?;
        let Some(inner) = bracket else {
            let (uri, parameters) = cut_outside(value, b';').map_err(malformed)?;
            // Section 20: with a comma or question mark it must be enclosed in brackets.
            if uri.contains([',', '?']) && uri != "*" {
                return Err(malformed("a bare URI with a comma or question mark needs angle brackets"));
            }
            let parameters = &value[value.len() - parameters.map_or(0, |rest| rest.len() + 1)..];
            return NameAddr::checked(part, Cow::Borrowed(""), trim(uri), parameters);
        };
        let display_name = trim(before);
        let is_quoted = display_name.starts_with('"');
        // A display name without quotes is of tokens; other characters than these are let be.
        let is_separated = !is_quoted && display_name.contains(['"', ',', ';', '@', ':']);
        if is_separated || (is_quoted && (display_name.len() < 2 || !display_name.ends_with('"'))) {
            return Err(malformed("the display name needs quotes"));
        }
        let (uri, parameters) = inner.split_once('>').ok_or(malformed("an angle bracket is not closed"))?;
        NameAddr::checked(part, unquote(display_name), trim(uri), parameters)
    }

    fn checked(
        part: &'static str,
        display_name: Cow<'a, str>,
        uri: &'a str,
        parameters: &'a str,
    ) -> Result<NameAddr<'a>, SipParseError> {
        let parameters = Parameters::parse(part, parameters)?;
        if uri != "*" {
            Uri::parse(uri).map_err(|_| SipParseError::malformed(part, "the URI does not have its form"))?;
        }
        Ok(NameAddr { display_name, uri, parameters })
    }

    /// The `tag` parameter.
    #[must_use]
    pub fn tag(&self) -> Option<Cow<'a, str>> {
        self.parameters.value("tag").filter(|tag| !tag.is_empty())
    }

    /// The address for use beyond the message: without its parameters.
    ///
    /// # Errors
    /// The URI is `*`.
    pub fn to_party(&self) -> Result<PartyAddress, SipParseError> {
        let display_name = self.display_name.chars().filter(|c| !c.is_control()).collect();
        Ok(PartyAddress { display_name, uri: Uri::parse(self.uri)? })
    }
}

/// Cuts before the first angle bracket outside a quoted string.
fn cut_at_bracket(value: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, octet) in value.bytes().enumerate() {
        match octet {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'<' if !quoted => return Ok((&value[..at], Some(&value[at + 1..]))),
            _ => {}
        }
    }
    match quoted {
        true => Err("a quoted string is not closed"),
        false => Ok((value, None)),
    }
}

/// A party that a caller names, or one that was read: display name and URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartyAddress {
    display_name: String,
    /// The party's URI.
    pub uri: Uri,
}

impl PartyAddress {
    /// A party without a display name.
    #[must_use]
    pub fn new(uri: Uri) -> PartyAddress {
        PartyAddress { display_name: String::new(), uri }
    }

    /// The party with a display name.
    ///
    /// # Errors
    /// Control characters, or more than 256 octets.
    pub fn named(display_name: &str, uri: Uri) -> Result<PartyAddress, SipValueError> {
        check_text("display name", display_name, DISPLAY_NAME_OCTETS_MAX)?;
        Ok(PartyAddress { display_name: display_name.to_owned(), uri })
    }

    /// The display name; empty if there is none.
    #[must_use]
    pub fn display_name(&self) -> &str {
        &self.display_name
    }
}

impl fmt::Display for PartyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.display_name.is_empty() {
            true => write!(f, "<{}>", self.uri),
            false => write!(f, "{} <{}>", quote(&self.display_name), self.uri),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_all_their_forms() {
        let cases = [
            ("\"A \\\"B\\\"\" <sip:a@b;lr>;tag=1", "A \"B\"", "sip:a@b;lr", Some("1")),
            ("Bob Smith<sip:a@b>;TAG=x", "Bob Smith", "sip:a@b", Some("x")),
            ("sip:a@b;tag=y", "", "sip:a@b", Some("y")),
            ("<sip:a@b> ; tag = z ", "", "sip:a@b", Some("z")),
            ("\"<x>\" <tel:+1>", "<x>", "tel:+1", None),
        ];
        for (value, display_name, uri, tag) in cases {
            let address = NameAddr::parse("From", value).unwrap();
            assert_eq!(
                (&*address.display_name, address.uri, address.tag().as_deref()),
                (display_name, uri, tag)
            );
        }
    }

    #[test]
    fn malformed_addresses_are_refused() {
        for value in [
            "",
            "\"a <sip:a@b>",
            "<sip:a@b",
            "a, b <sip:a@b>",
            "<>",
            "<sip:a@b>x",
            "Bell, Alexander <sip:a@b>",
        ] {
            assert!(NameAddr::parse("From", value).is_err(), "{value}");
        }
    }

    #[test]
    fn parties_are_written_as_they_are_read() {
        let party = PartyAddress::named("A \"\\ B", Uri::parse("sip:a@b;x=y").unwrap()).unwrap();
        let text = party.to_string();
        assert_eq!(NameAddr::parse("From", &text).unwrap().to_party().unwrap(), party);
        assert!(PartyAddress::named("a\r\nb", Uri::parse("sip:a@b").unwrap()).is_err());
    }
}
