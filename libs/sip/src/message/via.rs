//! Via (RFC 3261 section 20.42; `rport` by RFC 3581).

use crate::error::SipParseError;
use crate::text::{Parameters, cut_outside, is_token, trim};
use crate::uri::HostPort;
use std::borrow::Cow;

/// The beginning of a branch that is unique by itself (section 8.1.1.7).
pub(crate) const MAGIC_COOKIE: &str = "z9hG4bK";

/// One value of Via.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via<'a> {
    /// UDP, TCP, TLS or another token, as it is written.
    pub transport: &'a str,
    /// The host and port that the sender wants its responses at.
    pub sent_by: HostPort,
    /// branch, received, rport, maddr, ttl and others.
    pub parameters: Parameters<'a>,
}

impl<'a> Via<'a> {
    /// Reads one value; blanks around slashes, colon and semicolons are allowed.
    ///
    /// # Errors
    /// The protocol is not SIP/2.0, or a part does not have its form.
    pub fn parse(value: &'a str) -> Result<Via<'a>, SipParseError> {
        let malformed = |problem| SipParseError::malformed("Via", problem);
        let (before, parameters) = cut_outside(value, b';').map_err(malformed)?;
        let parameters = &value[value.len() - parameters.map_or(0, |rest| rest.len() + 1)..];
        let mut protocol = before.splitn(3, '/');
        let (Some(name), Some(version), Some(rest)) = (protocol.next(), protocol.next(), protocol.next())
        else {
            return Err(malformed("no protocol, version and transport"));
        };
        if !trim(name).eq_ignore_ascii_case("SIP") || trim(version) != "2.0" {
            return Err(malformed("the protocol is not SIP/2.0"));
        }
        let rest = trim(rest);
        let (transport, sent_by) = rest.split_once([' ', '\t']).ok_or(malformed("no host"))?;
        if !is_token(transport) {
            return Err(malformed("the transport is no token"));
        }
        let sent_by =
            HostPort::parse(sent_by).map_err(|_| malformed("the host or its port does not have its form"))?;
        Ok(Via { transport, sent_by, parameters: Parameters::parse("Via", parameters)? })
    }

    /// The branch, if it is there.
    #[must_use]
    pub fn branch(&self) -> Option<Cow<'a, str>> {
        self.parameters.value("branch").filter(|branch| !branch.is_empty())
    }

    /// Whether the branch names a transaction by itself: it begins with the magic cookie and goes on.
    #[must_use]
    pub fn has_unique_branch(&self) -> bool {
        self.branch().is_some_and(|branch| {
            branch.len() > MAGIC_COOKIE.len()
                && branch
                    .get(..MAGIC_COOKIE.len())
                    .is_some_and(|begin| begin.eq_ignore_ascii_case(MAGIC_COOKIE))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_via_is_read_with_blanks_everywhere() {
        let via = Via::parse("SIP  / 2.0 / UDP   [2001:db8::9:1] : 5070 ; branch = z9hG4bKx;rport").unwrap();
        assert_eq!((via.transport, via.sent_by.to_string().as_str()), ("UDP", "[2001:db8::9:1]:5070"));
        assert_eq!(via.branch().as_deref(), Some("z9hG4bKx"));
        assert!(via.has_unique_branch() && via.parameters.has("rport"));
        assert!(!Via::parse("SIP/2.0/UDP a;branch=z9hG4bK").unwrap().has_unique_branch());
    }

    #[test]
    fn malformed_vias_are_refused() {
        for value in
            ["", "SIP/2.0/UDP", "SIP/7.0/UDP a", "HTTP/2.0/UDP a", "SIP/2.0/U;DP a", "SIP/2.0/UDP a:b"]
        {
            assert!(Via::parse(value).is_err(), "{value}");
        }
    }
}
