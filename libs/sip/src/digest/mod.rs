//! Digest authentication (RFC 3261 section 22, RFC 7616, RFC 8760): both sides, with MD5 and SHA-256.
//!
//! A client reads [`DigestChallenge`]s and answers by [`DigestChallenge::answer`]; a server writes a
//! challenge and verifies a [`DigestAnswer`]. [`Authenticator`] keeps what a client needs from one request
//! to the next.

mod authenticator;
mod hash;
#[cfg(test)]
mod tests;

pub use authenticator::Authenticator;

use crate::error::{SipParseError, SipValueError, check_text};
use crate::limits::CREDENTIAL_OCTETS_MAX;
use crate::message::Method;
use crate::text::{cut_outside, list, quote, trim, unquote};
use hash::hex_of;
use std::fmt;

/// Hash of a digest (RFC 8760 section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DigestAlgorithm {
    /// MD5, also where none is named.
    Md5,
    /// MD5-sess: the nonces are part of the secret.
    Md5Session,
    /// SHA-256.
    Sha256,
    /// SHA-256-sess.
    Sha256Session,
}

impl DigestAlgorithm {
    /// The name as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DigestAlgorithm::Md5 => "MD5",
            DigestAlgorithm::Md5Session => "MD5-sess",
            DigestAlgorithm::Sha256 => "SHA-256",
            DigestAlgorithm::Sha256Session => "SHA-256-sess",
        }
    }

    fn from_text(text: &str) -> Option<DigestAlgorithm> {
        [
            DigestAlgorithm::Md5,
            DigestAlgorithm::Md5Session,
            DigestAlgorithm::Sha256,
            DigestAlgorithm::Sha256Session,
        ]
        .into_iter()
        .find(|algorithm| algorithm.as_str().eq_ignore_ascii_case(text))
    }

    fn is_session(self) -> bool {
        matches!(self, DigestAlgorithm::Md5Session | DigestAlgorithm::Sha256Session)
    }
}

/// Quality of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestQop {
    /// The form of RFC 2069, without a count of nonces.
    None,
    /// `auth`.
    Auth,
    /// `auth-int`: the body is hashed too.
    AuthInt,
}

impl DigestQop {
    fn as_str(self) -> Option<&'static str> {
        match self {
            DigestQop::None => None,
            DigestQop::Auth => Some("auth"),
            DigestQop::AuthInt => Some("auth-int"),
        }
    }
}

/// User name and password for a realm. `Debug` shows no password.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestCredentials {
    username: String,
    password: String,
    realm: Option<String>,
}

impl DigestCredentials {
    /// Credentials for challenges of one realm, or of any where none is given.
    ///
    /// # Errors
    /// Control characters, an empty user name, more than [`CREDENTIAL_OCTETS_MAX`] octets in one of them.
    pub fn new(
        username: &str,
        password: &str,
        realm: Option<&str>,
    ) -> Result<DigestCredentials, SipValueError> {
        check_text("user name", username, CREDENTIAL_OCTETS_MAX)?;
        check_text("password", password, CREDENTIAL_OCTETS_MAX)?;
        check_text("realm", realm.unwrap_or_default(), CREDENTIAL_OCTETS_MAX)?;
        match username.is_empty() {
            true => Err(SipValueError::Form { part: "user name", expected: "at least one character" }),
            false => Ok(DigestCredentials {
                username: username.to_owned(),
                password: password.to_owned(),
                realm: realm.map(str::to_owned),
            }),
        }
    }

    /// Whether they are for this realm.
    #[must_use]
    pub fn are_for(&self, realm: &str) -> bool {
        self.realm.as_deref().is_none_or(|own| own == realm)
    }
}

impl fmt::Debug for DigestCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DigestCredentials({:?}, ****, realm {:?})", self.username, self.realm)
    }
}

/// The part of a request that a digest covers.
#[derive(Debug, Clone, Copy)]
pub struct DigestRequest<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The Request-URI as it is written.
    pub uri: &'a str,
    /// The body, for `auth-int`.
    pub body: &'a [u8],
}

/// A challenge: WWW-Authenticate or Proxy-Authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestChallenge {
    /// The protected space, which a person may be shown.
    pub realm: String,
    /// The server's nonce.
    pub nonce: String,
    /// Given back as it is.
    pub opaque: Option<String>,
    /// The credentials were right, the nonce was too old.
    pub stale: bool,
    /// The hash.
    pub algorithm: DigestAlgorithm,
    /// The protections offered: `auth`, `auth-int`.
    pub qop: Vec<DigestQop>,
}

/// `name=value` pairs behind the scheme Digest; `None` for another scheme.
fn pairs(value: &str) -> Option<impl Iterator<Item = (&str, String)>> {
    let (scheme, rest) = trim(value).split_once([' ', '\t'])?;
    scheme.eq_ignore_ascii_case("Digest").then(|| {
        list(rest).filter_map(|pair| match cut_outside(pair, b'=') {
            Ok((name, Some(value))) => Some((trim(name), unquote(value).into_owned())),
            _ => None,
        })
    })
}

impl DigestChallenge {
    /// Reads a challenge; `None` if its scheme, algorithm or protection is not spoken here, which a client
    /// passes over (RFC 8760 section 2.3).
    ///
    /// # Errors
    /// It has no realm or no nonce, or one of more than 1,024 octets.
    pub fn parse(value: &str) -> Result<Option<DigestChallenge>, SipParseError> {
        const OCTETS_MAX: usize = 1_024;
        let malformed = |problem| SipParseError::malformed("challenge", problem);
        let Some(pairs) = pairs(value) else { return Ok(None) };
        let (mut realm, mut nonce, mut opaque, mut stale) = (None, None, None, false);
        let (mut algorithm, mut qop) = (Some(DigestAlgorithm::Md5), None);
        for (name, value) in pairs {
            if value.len() > OCTETS_MAX {
                return Err(SipParseError::TooLong {
                    part: "octets of a challenge's value",
                    max: OCTETS_MAX,
                });
            }
            match name.to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value),
                "nonce" => nonce = Some(value),
                "opaque" => opaque = Some(value),
                "stale" => stale = value.eq_ignore_ascii_case("true"),
                "algorithm" => algorithm = DigestAlgorithm::from_text(&value),
                "qop" => qop = Some(qops(&value)),
                _ => {}
            }
        }
        let realm = realm.ok_or(malformed("no realm"))?;
        let nonce = nonce.ok_or(malformed("no nonce"))?;
        let qop = qop.unwrap_or_else(|| vec![DigestQop::None]);
        let Some(algorithm) = algorithm.filter(|_| !qop.is_empty()) else { return Ok(None) };
        Ok(Some(DigestChallenge { realm, nonce, opaque, stale, algorithm, qop }))
    }

    /// The value of Authorization or Proxy-Authorization for a request. `count` is how many requests this
    /// nonce was used for, from 1; `cnonce` is a fresh nonce of ours.
    #[must_use]
    pub fn answer(
        &self,
        credentials: &DigestCredentials,
        request: DigestRequest<'_>,
        cnonce: &str,
        count: u32,
    ) -> DigestAnswer {
        let qop = match self.qop.contains(&DigestQop::Auth) {
            true => DigestQop::Auth,
            false => self.qop.first().copied().unwrap_or(DigestQop::None),
        };
        let mut answer = DigestAnswer {
            username: credentials.username.clone(),
            realm: self.realm.clone(),
            nonce: self.nonce.clone(),
            uri: request.uri.to_owned(),
            response: String::new(),
            algorithm: self.algorithm,
            qop,
            cnonce: cnonce.to_owned(),
            count,
            opaque: self.opaque.clone(),
        };
        answer.response = answer.expected(&credentials.password, request.method, request.body);
        answer
    }
}

impl fmt::Display for DigestChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest realm={}, nonce={}", quote(&self.realm), quote(&self.nonce))?;
        if let Some(opaque) = &self.opaque {
            write!(f, ", opaque={}", quote(opaque))?;
        }
        if self.stale {
            f.write_str(", stale=true")?;
        }
        write!(f, ", algorithm={}", self.algorithm.as_str())?;
        let qops: Vec<_> = self.qop.iter().filter_map(|qop| qop.as_str()).collect();
        match qops.is_empty() {
            true => Ok(()),
            false => write!(f, ", qop=\"{}\"", qops.join(",")),
        }
    }
}

fn qops(value: &str) -> Vec<DigestQop> {
    let known = |name: &str| match name.to_ascii_lowercase().as_str() {
        "auth" => Some(DigestQop::Auth),
        "auth-int" => Some(DigestQop::AuthInt),
        _ => None,
    };
    list(value).filter_map(known).collect()
}

/// An answer to a challenge: Authorization or Proxy-Authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestAnswer {
    /// The user that wants to be believed.
    pub username: String,
    /// The challenge's realm.
    pub realm: String,
    /// The challenge's nonce.
    pub nonce: String,
    /// The Request-URI that the client digested.
    pub uri: String,
    /// The digest, in hexadecimal.
    pub response: String,
    /// The hash.
    pub algorithm: DigestAlgorithm,
    /// The protection.
    pub qop: DigestQop,
    /// The client's nonce; empty without a protection.
    pub cnonce: String,
    /// Requests with this nonce, from 1; 0 without a protection.
    pub count: u32,
    /// The challenge's opaque.
    pub opaque: Option<String>,
}

impl DigestAnswer {
    /// Reads an answer; `None` if its scheme, algorithm or protection is not spoken here.
    #[must_use]
    pub fn parse(value: &str) -> Option<DigestAnswer> {
        let mut answer = DigestAnswer {
            username: String::new(),
            realm: String::new(),
            nonce: String::new(),
            uri: String::new(),
            response: String::new(),
            algorithm: DigestAlgorithm::Md5,
            qop: DigestQop::None,
            cnonce: String::new(),
            count: 0,
            opaque: None,
        };
        for (name, value) in pairs(value)? {
            match name.to_ascii_lowercase().as_str() {
                "username" => answer.username = value,
                "realm" => answer.realm = value,
                "nonce" => answer.nonce = value,
                "uri" => answer.uri = value,
                "response" => answer.response = value.to_ascii_lowercase(),
                "cnonce" => answer.cnonce = value,
                "opaque" => answer.opaque = Some(value),
                "nc" => answer.count = u32::from_str_radix(&value, 16).ok()?,
                "algorithm" => answer.algorithm = DigestAlgorithm::from_text(&value)?,
                "qop" => answer.qop = *qops(&value).first()?,
                _ => {}
            }
        }
        let is_whole = !answer.nonce.is_empty() && !answer.uri.is_empty() && !answer.response.is_empty();
        is_whole.then_some(answer)
    }

    /// Whether the digest is that of this password. The nonce, its count, the realm and the URI are the
    /// caller's to judge.
    #[must_use]
    pub fn verifies(&self, password: &str, method: &Method, body: &[u8]) -> bool {
        let expected = self.expected(password, method, body);
        let differs =
            expected.bytes().zip(self.response.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
        differs == 0 && expected.len() == self.response.len()
    }

    fn expected(&self, password: &str, method: &Method, body: &[u8]) -> String {
        let hash = |text: String| hex_of(self.algorithm, text.as_bytes());
        let mut secret = hash(format!("{}:{}:{password}", self.username, self.realm));
        if self.algorithm.is_session() {
            secret = hash(format!("{secret}:{}:{}", self.nonce, self.cnonce));
        }
        let request = match self.qop {
            DigestQop::AuthInt => hash(format!("{method}:{}:{}", self.uri, hex_of(self.algorithm, body))),
            _ => hash(format!("{method}:{}", self.uri)),
        };
        match self.qop.as_str() {
            None => hash(format!("{secret}:{}:{request}", self.nonce)),
            Some(qop) => {
                hash(format!("{secret}:{}:{:08x}:{}:{qop}:{request}", self.nonce, self.count, self.cnonce))
            }
        }
    }
}

impl fmt::Display for DigestAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest username={}, realm={}", quote(&self.username), quote(&self.realm))?;
        write!(f, ", nonce={}, uri={}", quote(&self.nonce), quote(&self.uri))?;
        write!(f, ", response=\"{}\", algorithm={}", self.response, self.algorithm.as_str())?;
        if let Some(qop) = self.qop.as_str() {
            write!(f, ", qop={qop}, cnonce={}, nc={:08x}", quote(&self.cnonce), self.count)?;
        } else if self.algorithm.is_session() {
            write!(f, ", cnonce={}", quote(&self.cnonce))?;
        }
        match &self.opaque {
            Some(opaque) => write!(f, ", opaque={}", quote(opaque)),
            None => Ok(()),
        }
    }
}
