//! Methods and names of header fields, with their compact forms (RFC 3261 section 7.3.3).

use std::fmt;

/// A request's method. Methods are written in capitals and are compared by case (RFC 3261 section 7.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Method {
    Invite,
    Ack,
    Bye,
    Cancel,
    Register,
    Options,
    Info,
    Update,
    Prack,
    Subscribe,
    Notify,
    Refer,
    Message,
    Publish,
    /// Any other token.
    Other(String),
}

const METHODS: &[(&str, Method)] = &[
    ("INVITE", Method::Invite),
    ("ACK", Method::Ack),
    ("BYE", Method::Bye),
    ("CANCEL", Method::Cancel),
    ("REGISTER", Method::Register),
    ("OPTIONS", Method::Options),
    ("INFO", Method::Info),
    ("UPDATE", Method::Update),
    ("PRACK", Method::Prack),
    ("SUBSCRIBE", Method::Subscribe),
    ("NOTIFY", Method::Notify),
    ("REFER", Method::Refer),
    ("MESSAGE", Method::Message),
    ("PUBLISH", Method::Publish),
];

impl Method {
    /// The method of a token.
    #[must_use]
    pub fn from_token(token: &str) -> Method {
        let known = METHODS.iter().find(|(name, _)| *name == token);
        known.map_or_else(|| Method::Other(token.to_owned()), |(_, method)| method.clone())
    }

    /// The method as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if let Method::Other(token) = self {
            return token;
        }
        METHODS.iter().find(|(_, method)| method == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! header_names {
    ($($variant:ident = $name:literal $(, $compact:literal)?;)*) => {
        /// Name of a header field that this crate reads or writes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum HeaderName {
            $($variant,)*
            /// A name that this crate does not know: it is found by its text.
            Other,
        }

        /// Every name with its compact form; one without has an empty text.
        const NAMES: &[(HeaderName, &str, &str)] =
            &[$((HeaderName::$variant, $name, concat!($($compact)?)),)*];
    };
}

header_names! {
    Accept = "Accept";
    Alert = "Alert-Info";
    Allow = "Allow";
    AllowEvents = "Allow-Events", "u";
    Authorization = "Authorization";
    CallId = "Call-ID", "i";
    CallInfo = "Call-Info";
    Contact = "Contact", "m";
    ContentEncoding = "Content-Encoding", "e";
    ContentLength = "Content-Length", "l";
    ContentType = "Content-Type", "c";
    CSeq = "CSeq";
    Date = "Date";
    Diversion = "Diversion";
    Event = "Event", "o";
    Expires = "Expires";
    From = "From", "f";
    MaxForwards = "Max-Forwards";
    MinExpires = "Min-Expires";
    MinSe = "Min-SE";
    PAssertedIdentity = "P-Asserted-Identity";
    PPreferredIdentity = "P-Preferred-Identity";
    Path = "Path";
    Privacy = "Privacy";
    ProxyAuthenticate = "Proxy-Authenticate";
    ProxyAuthorization = "Proxy-Authorization";
    ProxyRequire = "Proxy-Require";
    Reason = "Reason";
    RecordRoute = "Record-Route";
    ReferTo = "Refer-To", "r";
    Replaces = "Replaces";
    Require = "Require";
    RetryAfter = "Retry-After";
    Route = "Route";
    Server = "Server";
    ServiceRoute = "Service-Route";
    SessionExpires = "Session-Expires", "x";
    Subject = "Subject", "s";
    Supported = "Supported", "k";
    Timestamp = "Timestamp";
    To = "To", "t";
    Unsupported = "Unsupported";
    UserAgent = "User-Agent";
    Via = "Via", "v";
    Warning = "Warning";
    WwwAuthenticate = "WWW-Authenticate";
}

impl HeaderName {
    /// The name of a text in any case, long or compact.
    #[must_use]
    pub fn from_text(text: &str) -> HeaderName {
        let known = NAMES.iter().find(|(_, name, compact)| {
            name.eq_ignore_ascii_case(text) || (text.len() == 1 && compact.eq_ignore_ascii_case(text))
        });
        known.map_or(HeaderName::Other, |(header, ..)| *header)
    }

    /// The long name as it is written; of `Other` the words "header field".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        NAMES.iter().find(|(header, ..)| *header == self).map_or("header field", |(_, name, _)| name)
    }
}

/// Status codes with their phrases.
const PHRASES: &[(u16, &str)] = &[
    (100, "Trying"),
    (180, "Ringing"),
    (181, "Call Is Being Forwarded"),
    (182, "Queued"),
    (183, "Session Progress"),
    (200, "OK"),
    (202, "Accepted"),
    (300, "Multiple Choices"),
    (301, "Moved Permanently"),
    (302, "Moved Temporarily"),
    (305, "Use Proxy"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (407, "Proxy Authentication Required"),
    (408, "Request Timeout"),
    (410, "Gone"),
    (413, "Request Entity Too Large"),
    (414, "Request-URI Too Long"),
    (415, "Unsupported Media Type"),
    (416, "Unsupported URI Scheme"),
    (420, "Bad Extension"),
    (421, "Extension Required"),
    (422, "Session Interval Too Small"),
    (423, "Interval Too Brief"),
    (480, "Temporarily Unavailable"),
    (481, "Call/Transaction Does Not Exist"),
    (482, "Loop Detected"),
    (483, "Too Many Hops"),
    (484, "Address Incomplete"),
    (485, "Ambiguous"),
    (486, "Busy Here"),
    (487, "Request Terminated"),
    (488, "Not Acceptable Here"),
    (491, "Request Pending"),
    (493, "Undecipherable"),
    (500, "Server Internal Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Server Time-out"),
    (505, "Version Not Supported"),
    (513, "Message Too Large"),
    (600, "Busy Everywhere"),
    (603, "Decline"),
    (604, "Does Not Exist Anywhere"),
    (606, "Not Acceptable"),
    (607, "Unwanted"),
    (608, "Rejected"),
];

/// The reason phrase that RFC 3261 section 21, or the RFC of the code, gives a status code; of an unknown
/// code that of its class.
#[must_use]
pub fn status_phrase(status: u16) -> &'static str {
    if let Some((_, phrase)) = PHRASES.iter().find(|(code, _)| *code == status) {
        return phrase;
    }
    match status {
        100..=199 => "Progress",
        200..=299 => "OK",
        300..=399 => "Redirection",
        400..=499 => "Client Error",
        500..=599 => "Server Error",
        _ => "Global Failure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case_and_by_their_compact_form() {
        let cases = [
            ("VIA", HeaderName::Via),
            ("v", HeaderName::Via),
            ("cSeQ", HeaderName::CSeq),
            ("L", HeaderName::ContentLength),
            ("x", HeaderName::SessionExpires),
            ("X-Unknown", HeaderName::Other),
            ("", HeaderName::Other),
        ];
        for (text, name) in cases {
            assert_eq!(HeaderName::from_text(text), name, "{text}");
        }
    }

    #[test]
    fn methods_are_compared_by_case() {
        assert_eq!(Method::from_token("INVITE"), Method::Invite);
        assert_eq!(Method::from_token("invite"), Method::Other("invite".to_owned()));
        for (name, method) in METHODS {
            assert_eq!(method.as_str(), *name);
        }
    }
}
