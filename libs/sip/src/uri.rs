//! URIs of SIP (RFC 3261 section 19.1) and of telephone numbers (RFC 3966); other schemes are kept as text.

use crate::error::{SipParseError, SipValueError, check_text};
use crate::limits::{PARAMETERS_MAX, URI_OCTETS_MAX};
use crate::text::{is_token_octet, percent_decode, percent_encode};
use std::fmt;
use std::net::IpAddr;

/// Octets of a user part that need no escape: `mark` and `user-unreserved`.
const USER_UNESCAPED: &[u8] = b"-_.!~*'()&=+$,;?/";

/// Host and port as SIP writes them: a name, an IPv4 address, or an IPv6 address in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    host: String,
    /// The port, where one is written.
    pub port: Option<u16>,
}

impl HostPort {
    /// Host and port; an IPv6 address may stand without its brackets.
    ///
    /// # Errors
    /// The host is neither a name nor an address.
    pub fn new(host: &str, port: Option<u16>) -> Result<HostPort, SipValueError> {
        let host = match host.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => host.to_owned(),
        };
        match is_host(&host) {
            true => Ok(HostPort { host, port }),
            false => Err(SipValueError::Form { part: "host", expected: "a host name or an IP address" }),
        }
    }

    /// Reads `host` or `host:port`; blanks around the colon are allowed, as Via has them.
    ///
    /// # Errors
    /// No host, or a port that is no number from 0 to 65,535.
    pub fn parse(text: &str) -> Result<HostPort, SipParseError> {
        let text = text.trim_matches([' ', '\t']);
        let split = match text.strip_prefix('[').and_then(|rest| rest.find(']')) {
            Some(end) => text.split_at(end + 2),
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let host = split.0.trim_end_matches([' ', '\t']);
        if !is_host(host) {
            return Err(SipParseError::malformed("host", "no host name and no IP address"));
        }
        let port = match split.1.trim_start_matches([' ', '\t']) {
            "" => None,
            port => {
                let digits = port.strip_prefix(':').map(|digits| digits.trim_matches([' ', '\t']));
                let digits = digits.filter(|digits| digits.bytes().all(|octet| octet.is_ascii_digit()));
                let port = digits.and_then(|digits| digits.parse().ok());
                Some(port.ok_or(SipParseError::malformed("port", "no number from 0 to 65535"))?)
            }
        };
        Ok(HostPort { host: host.to_owned(), port })
    }

    /// The host as it is written, an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host as an address, unless it is a name.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        // Names with an underscore are no host names, but trunks have them.
        None => {
            !host.is_empty()
                && host.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-._".contains(&octet))
        }
    }
}

/// A URI parameter: name, and value as it is written.
pub type UriParameter = (String, Option<String>);

/// A `sip:` or `sips:` URI.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SipUri {
    /// `sips:`: every hop by TLS.
    pub secure: bool,
    user: Option<String>,
    /// The host that the URI names, with its port.
    pub host: HostPort,
    parameters: Vec<UriParameter>,
    headers: Option<String>,
}

/// A URI that a request may go to or that names a party.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Uri {
    /// `sip:` or `sips:`.
    Sip(SipUri),
    /// `tel:` (RFC 3966): the number with its parameters, as written.
    Tel(String),
    /// Any other scheme: the whole URI.
    Other(String),
}

impl Uri {
    /// Reads a URI: at most [`URI_OCTETS_MAX`] octets, no blanks, no angle brackets.
    ///
    /// # Errors
    /// The part that does not have its form.
    pub fn parse(text: &str) -> Result<Uri, SipParseError> {
        if text.len() > URI_OCTETS_MAX {
            return Err(SipParseError::TooLong { part: "URI", max: URI_OCTETS_MAX });
        }
        let is_bad = |c: char| c.is_control() || matches!(c, ' ' | '<' | '>' | '"');
        if text.contains(is_bad) {
            return Err(SipParseError::malformed(
                "URI",
                "blanks, quotes, brackets and controls must be escaped",
            ));
        }
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(SipParseError::malformed("URI", "no scheme"));
        };
        let is_scheme = scheme.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"+-.".contains(&octet));
        if rest.is_empty() || !is_scheme || !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(SipParseError::malformed("URI", "no scheme, or nothing behind it"));
        }
        match scheme.to_ascii_lowercase().as_str() {
            "sip" => SipUri::parse(false, rest).map(Uri::Sip),
            "sips" => SipUri::parse(true, rest).map(Uri::Sip),
            "tel" => Ok(Uri::Tel(rest.to_owned())),
            _ => Ok(Uri::Other(text.to_owned())),
        }
    }

    /// `sip:user@host`; the user part is escaped as needed, and left out when it is empty.
    ///
    /// # Errors
    /// Control characters, or more than [`URI_OCTETS_MAX`] octets.
    pub fn sip(user: &str, host: HostPort) -> Result<Uri, SipValueError> {
        check_text("user part of a SIP URI", user, URI_OCTETS_MAX / 4)?;
        let user = (!user.is_empty()).then(|| percent_encode(user, USER_UNESCAPED));
        Ok(Uri::Sip(SipUri { secure: false, user, host, parameters: Vec::new(), headers: None }))
    }

    /// The SIP URI, if it is one.
    #[must_use]
    pub fn as_sip(&self) -> Option<&SipUri> {
        match self {
            Uri::Sip(uri) => Some(uri),
            Uri::Tel(_) | Uri::Other(_) => None,
        }
    }

    /// The user part or the telephone number, without escapes, visual separators and parameters.
    #[must_use]
    pub fn user(&self) -> Option<String> {
        match self {
            Uri::Sip(uri) => uri.user.as_deref().map(percent_decode),
            Uri::Tel(number) => {
                let number = number.split(';').next().unwrap_or_default();
                Some(number.replace(['-', '.', '(', ')'], ""))
            }
            Uri::Other(_) => None,
        }
    }
}

impl SipUri {
    fn parse(secure: bool, rest: &str) -> Result<SipUri, SipParseError> {
        // A question mark may stand in the user part: it is looked for behind the last `@`.
        let (user, after) = match rest.rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        if user.is_some_and(|user| user.is_empty() || user.contains('@')) {
            return Err(SipParseError::malformed(
                "URI",
                "an empty user part, or an @ in it without its escape",
            ));
        }
        let (after, headers) = match after.split_once('?') {
            Some((after, headers)) => (after, Some(headers.to_owned())),
            None => (after, None),
        };
        let mut pieces = after.split(';');
        let host = HostPort::parse(pieces.next().unwrap_or_default())?;
        let mut parameters = Vec::new();
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            if parameters.len() == PARAMETERS_MAX {
                return Err(SipParseError::TooLong { part: "parameters of a URI", max: PARAMETERS_MAX });
            }
            let (name, value) = match piece.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (piece, None),
            };
            let is_name_octet = |octet| is_token_octet(octet) || b"[]/:&$".contains(&octet);
            if name.is_empty() || !name.bytes().all(is_name_octet) {
                return Err(SipParseError::malformed("URI", "a parameter's name does not have its form"));
            }
            parameters.push((name.to_owned(), value));
        }
        Ok(SipUri { secure, user: user.map(str::to_owned), host, parameters, headers })
    }

    /// Whether the parameter is there, with a value or without, in any case.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    }

    /// The value of a parameter, in any case of its name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        found.1.as_deref()
    }

    /// Adds a parameter or replaces its value.
    ///
    /// # Errors
    /// Name or value has an octet that no URI parameter may have.
    pub fn set_parameter(&mut self, name: &str, value: Option<&str>) -> Result<(), SipValueError> {
        let is_fine = |text: &str| {
            !text.is_empty() && text.bytes().all(|octet| is_token_octet(octet) || b"[]/:&$".contains(&octet))
        };
        if !is_fine(name) || !value.is_none_or(is_fine) {
            return Err(SipValueError::Form {
                part: "URI parameter",
                expected: "letters, digits, -_.!~*'()[]/:&+$%",
            });
        }
        self.parameters.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.parameters.push((name.to_owned(), value.map(str::to_owned)));
        Ok(())
    }

    /// The header fields behind `?`, escaped as they came. Never put into a request without a look.
    #[must_use]
    pub fn headers(&self) -> Option<&str> {
        self.headers.as_deref()
    }

    /// The URI as a Request-URI: no `?` part (RFC 3261 section 19.1.1) and no `method` parameter.
    #[must_use]
    pub fn for_request(&self) -> SipUri {
        let mut uri = self.clone();
        uri.headers = None;
        uri.parameters.retain(|(name, _)| !name.eq_ignore_ascii_case("method"));
        uri
    }
}

impl fmt::Display for SipUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.secure { "sips:" } else { "sip:" })?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        self.host.fmt(f)?;
        for (name, value) in &self.parameters {
            match value {
                Some(value) => write!(f, ";{name}={value}")?,
                None => write!(f, ";{name}")?,
            }
        }
        match &self.headers {
            Some(headers) => write!(f, "?{headers}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uri::Sip(uri) => uri.fmt(f),
            Uri::Tel(number) => write!(f, "tel:{number}"),
            Uri::Other(text) => f.write_str(text),
        }
    }
}

impl std::str::FromStr for Uri {
    type Err = SipParseError;

    fn from_str(text: &str) -> Result<Uri, SipParseError> {
        Uri::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_and_written_alike() {
        for text in [
            "sip:alice@example.com",
            "sips:alice:pw@example.com:5061;transport=tls;lr",
            "sip:[2001:db8::1]:5060",
            "sip:+15551234;phone-context=x@192.0.2.1;user=phone?Subject=a%20b",
            "sip:a?b@host_name",
            "tel:+1-201-555-0123;ext=5",
            "urn:service:sos",
            "sip:sip%3Auser%40example.com@company.com;other-param=summit",
        ] {
            assert_eq!(Uri::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_uris_are_refused() {
        for text in [
            "",
            "alice",
            "sip:",
            "sip:@example.com",
            "sip:a@",
            "sip:a@b@c",
            "sip:a b@c",
            "sip:a@b:x",
            "sip:a@b:70000",
            "sip:a@[::1",
            "<sip:a@b>",
            "sip:a@b\r\n",
            "1sip:a@b",
            "sip:a@b;=x",
        ] {
            assert!(Uri::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn users_are_escaped_and_numbers_lose_their_separators() {
        let uri = Uri::sip("a b@c", HostPort::new("::1", Some(5060)).unwrap()).unwrap();
        assert_eq!(uri.to_string(), "sip:a%20b%40c@[::1]:5060");
        assert_eq!(uri.user().as_deref(), Some("a b@c"));
        assert_eq!(Uri::parse("tel:+1-(201).5;x=y").unwrap().user().as_deref(), Some("+12015"));
        assert!(Uri::sip("a\r\nVia: x", HostPort::new("h", None).unwrap()).is_err());
    }
}
