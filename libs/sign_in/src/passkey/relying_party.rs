//! Relying party: the id that passkeys belong to, and the origins whose pages may use them.

use ring::digest;
use std::fmt;

/// Octets of an id, which is a domain name.
pub const ID_OCTETS_MAX: usize = 253;
/// Origins of one relying party.
pub const ORIGINS_MAX: usize = 16;

/// The site that passkeys are for. Its id never changes: passkeys of another id are useless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    id: String,
    name: String,
    origins: Vec<String>,
}

/// An id or origin of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelyingPartyError {
    /// The id is no domain name in lower case.
    Id(String),
    /// There is no origin, or there are over [`ORIGINS_MAX`].
    Origins(usize),
    /// No origin of the form `https://host[:port]` whose host is the id or below it.
    Origin(String),
}

impl fmt::Display for RelyingPartyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RelyingPartyError::Id(id) => {
                write!(
                    f,
                    "{id:?} is no id of a relying party: write a domain name in lower case, without port and path"
                )
            }
            RelyingPartyError::Origins(count) => {
                write!(f, "there are {count} origins for passkeys: name 1 to {ORIGINS_MAX}")
            }
            RelyingPartyError::Origin(origin) => write!(
                f,
                "{origin:?} is no origin for passkeys: write https://HOST or https://HOST:PORT, where HOST is the id of the \
                 relying party or ends with it (http:// works for localhost alone)"
            ),
        }
    }
}

impl std::error::Error for RelyingPartyError {}

impl RelyingParty {
    /// Checks an id, a name for dialogs, and origins (§5.1.2 and §13.4.9).
    ///
    /// # Errors
    /// The id or an origin has another form, or browsers would refuse the id at an origin.
    pub fn new(id: &str, name: &str, origins: &[&str]) -> Result<RelyingParty, RelyingPartyError> {
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        // A browser takes no address as an id.
        let is_address = id.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
        if id.len() > ID_OCTETS_MAX || !id.split('.').all(is_label) || is_address {
            return Err(RelyingPartyError::Id(id.to_owned()));
        }
        if origins.is_empty() || origins.len() > ORIGINS_MAX {
            return Err(RelyingPartyError::Origins(origins.len()));
        }
        if let Some(wrong) = origins.iter().find(|origin| !is_origin(origin, id)) {
            return Err(RelyingPartyError::Origin((*wrong).to_owned()));
        }
        let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
        Ok(RelyingParty { id: id.to_owned(), name: name.to_owned(), origins })
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name, for dialogs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether pages of this origin may use the passkeys: it is one of the list, octet by octet.
    pub fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// Whether this is the SHA-256 of the id.
    pub(super) fn is_id_hash(&self, hash: &[u8]) -> bool {
        digest::digest(&digest::SHA256, self.id.as_bytes()).as_ref() == hash
    }
}

fn is_origin(origin: &str, id: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_below =
        host == id || host.strip_suffix(id).is_some_and(|labels| labels.len() > 1 && labels.ends_with('.'));
    let is_local = host == "localhost" || host.ends_with(".localhost");
    let is_host = host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|number| number.to_string() == port));
    is_below && is_host && is_port && (scheme == "https" || (scheme == "http" && is_local))
}
