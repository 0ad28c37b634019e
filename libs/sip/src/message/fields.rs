//! Header fields with a form of their own, and those that every message must have.

use super::{HeaderName, Method, NameAddr, SipMessage, Via};
use crate::error::SipParseError;
use crate::limits::CSEQ_MAX;
use crate::text::{Parameters, cut_outside, is_token, trim};
use std::time::Duration;

/// CSeq (RFC 3261 section 20.16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CSeq {
    /// The sequence number, below 2^31.
    pub number: u32,
    /// The request's method.
    pub method: Method,
}

impl CSeq {
    /// Reads `number method`.
    ///
    /// # Errors
    /// No number below 2^31, or no method.
    pub fn parse(value: &str) -> Result<CSeq, SipParseError> {
        let malformed = |problem| SipParseError::malformed("CSeq", problem);
        let (number, method) =
            trim(value).split_once([' ', '\t']).ok_or(malformed("no number and method"))?;
        let digits = number.bytes().all(|octet| octet.is_ascii_digit());
        let number: u32 = number.parse().ok().filter(|_| digits).ok_or(malformed("no number below 2^31"))?;
        let method = trim(method);
        if number > CSEQ_MAX {
            return Err(malformed("no number below 2^31"));
        }
        match is_token(method) {
            true => Ok(CSeq { number, method: Method::from_token(method) }),
            false => Err(malformed("the method is no token")),
        }
    }
}

/// The header fields that every message must have, read (RFC 3261 section 8.1.1).
#[derive(Debug, Clone)]
pub struct Essentials<'m> {
    /// The topmost Via.
    pub via: Via<'m>,
    /// From.
    pub from: NameAddr<'m>,
    /// To.
    pub to: NameAddr<'m>,
    /// Call-ID, compared by case.
    pub call_id: &'m str,
    /// CSeq: of a request with the method of its start line.
    pub cseq: CSeq,
}

/// Header fields that may stand once alone, or whose repetition leaves open what the sender meant.
const SINGLE: &[HeaderName] = &[
    HeaderName::From,
    HeaderName::To,
    HeaderName::CallId,
    HeaderName::CSeq,
    HeaderName::MaxForwards,
    HeaderName::ContentType,
    HeaderName::SessionExpires,
];

impl SipMessage<'_> {
    /// Holds the message to what RFC 3261 demands of all: Via, From, To, Call-ID and CSeq once each with
    /// their forms, the start line's method in CSeq, Max-Forwards a number to 255.
    ///
    /// # Errors
    /// The first header field that is missing, repeated or malformed.
    pub fn essentials(&self) -> Result<Essentials<'_>, SipParseError> {
        for name in SINGLE {
            if self.values(*name).nth(1).is_some() {
                return Err(SipParseError::Repeated(name.as_str()));
            }
        }
        let via = Via::parse(self.list(HeaderName::Via).next().ok_or(SipParseError::Missing("Via"))?)?;
        let from = NameAddr::parse("From", self.required(HeaderName::From)?)?;
        let to = NameAddr::parse("To", self.required(HeaderName::To)?)?;
        let call_id = self.required(HeaderName::CallId)?;
        let cseq = CSeq::parse(self.required(HeaderName::CSeq)?)?;
        if call_id.contains([' ', '\t']) {
            return Err(SipParseError::malformed("Call-ID", "a blank in it"));
        }
        if self.method().is_some_and(|method| *method != cseq.method) {
            return Err(SipParseError::malformed("CSeq", "not the method of the request line"));
        }
        self.check_max_forwards()?;
        Ok(Essentials { via, from, to, call_id, cseq })
    }

    fn required(&self, name: HeaderName) -> Result<&str, SipParseError> {
        self.value(name).filter(|value| !value.is_empty()).ok_or(SipParseError::Missing(name.as_str()))
    }

    fn check_max_forwards(&self) -> Result<(), SipParseError> {
        let Some(value) = self.value(HeaderName::MaxForwards) else { return Ok(()) };
        let number = value.parse::<u16>().ok().filter(|number| *number <= 255);
        number.map(drop).ok_or(SipParseError::malformed("Max-Forwards", "no number from 0 to 255"))
    }

    /// A header field that is a number of seconds, such as Expires and Min-Expires. Parameters and comments
    /// behind it are passed over, as Retry-After has them; a number that is too large counts as the largest.
    #[must_use]
    pub fn seconds(&self, name: HeaderName) -> Option<u32> {
        seconds(self.value(name)?)
    }

    /// Session-Expires (RFC 4028 section 4), if it is there and has its form.
    #[must_use]
    pub fn session_expires(&self) -> Option<SessionExpires> {
        SessionExpires::parse(self.value(HeaderName::SessionExpires)?)
    }

    /// The values of Reason (RFC 3326); those without their form are left out.
    pub fn reasons(&self) -> impl Iterator<Item = ReasonValue> {
        self.list(HeaderName::Reason).filter_map(ReasonValue::parse)
    }
}

fn seconds(value: &str) -> Option<u32> {
    let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        0 => None,
        _ => Some(value[..digits].parse().unwrap_or(u32::MAX)),
    }
}

/// The side that refreshes a session (RFC 4028).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresher {
    /// The client of the request that set the timer up.
    Uac,
    /// Its server.
    Uas,
}

/// Session-Expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionExpires {
    /// The session interval.
    pub interval: Duration,
    /// The refresher, where it is said.
    pub refresher: Option<Refresher>,
}

impl SessionExpires {
    /// Reads `seconds;refresher=uac|uas`.
    #[must_use]
    pub fn parse(value: &str) -> Option<SessionExpires> {
        let (number, parameters) = cut_outside(value, b';').ok()?;
        let number = trim(number);
        let interval = seconds(number).filter(|_| number.bytes().all(|octet| octet.is_ascii_digit()))?;
        let parameters = &value[value.len() - parameters.map_or(0, |rest| rest.len() + 1)..];
        let refresher = match Parameters::parse("Session-Expires", parameters).ok()?.value("refresher") {
            Some(side) if side.eq_ignore_ascii_case("uac") => Some(Refresher::Uac),
            Some(side) if side.eq_ignore_ascii_case("uas") => Some(Refresher::Uas),
            _ => None,
        };
        Some(SessionExpires { interval: Duration::from_secs(interval.into()), refresher })
    }
}

impl std::fmt::Display for SessionExpires {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.interval.as_secs())?;
        match self.refresher {
            Some(Refresher::Uac) => f.write_str(";refresher=uac"),
            Some(Refresher::Uas) => f.write_str(";refresher=uas"),
            None => Ok(()),
        }
    }
}

/// One value of Reason (RFC 3326): `Q.850;cause=17;text="User busy"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonValue {
    /// `SIP`, `Q.850` or another token, as written.
    pub protocol: String,
    /// The cause, of Q.850 1 to 127.
    pub cause: Option<u16>,
    /// The words; of a 603+ (47 CFR 64.1200(k)(9)) also the blocker's `v`, `url`, `tel` and `email`.
    pub text: Option<String>,
}

impl ReasonValue {
    /// A value of the protocol SIP, as CANCEL and BYE carry it.
    #[must_use]
    pub fn sip(cause: u16, text: &'static str) -> ReasonValue {
        ReasonValue { protocol: "SIP".to_owned(), cause: Some(cause), text: Some(text.to_owned()) }
    }

    /// Reads one value.
    #[must_use]
    pub fn parse(value: &str) -> Option<ReasonValue> {
        let (protocol, parameters) = cut_outside(value, b';').ok()?;
        let parameters = &value[value.len() - parameters.map_or(0, |rest| rest.len() + 1)..];
        let parameters = Parameters::parse("Reason", parameters).ok()?;
        let protocol = Some(trim(protocol)).filter(|protocol| is_token(protocol))?;
        Some(ReasonValue {
            protocol: protocol.to_owned(),
            cause: parameters.value("cause").and_then(|cause| cause.parse().ok()),
            text: parameters.value("text").map(std::borrow::Cow::into_owned),
        })
    }

    /// Whether the protocol is Q.850, in any case.
    #[must_use]
    pub fn is_q850(&self) -> bool {
        self.protocol.eq_ignore_ascii_case("Q.850")
    }
}

impl std::fmt::Display for ReasonValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.protocol)?;
        if let Some(cause) = self.cause {
            write!(f, ";cause={cause}")?;
        }
        match &self.text {
            Some(text) => write!(f, ";text={}", crate::text::quote(text)),
            None => Ok(()),
        }
    }
}
