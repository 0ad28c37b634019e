//! Session descriptions (RFC 8866), offer and answer of sound (RFC 3264).
//!
//! A description is read tolerantly: lines of unknown types are passed over, order is not insisted upon,
//! lines may end in LF alone. It is written strictly. [`audio`] makes offers and answers of telephone
//! sound; other media, such as T.38's `m=image`, are descriptions of a caller's own.

pub mod audio;
mod crypto;
mod media;
mod parse;
#[cfg(test)]
mod tests;
mod write;

pub use crypto::{SrtpKey, SrtpSuite};
pub use media::{MediaDescription, MediaDirection, MediaProtocol, RtpMap};
pub use parse::SdpParseError;

use crate::error::{SipValueError, check_text};
use crate::uri::HostPort;
use std::net::IpAddr;

const ATTRIBUTE_OCTETS_MAX: usize = 1_024;

/// An attribute: `a=name` or `a=name:value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdpAttribute {
    name: String,
    value: Option<String>,
}

impl SdpAttribute {
    /// An attribute of a caller.
    ///
    /// # Errors
    /// A name that is no token, a value with control characters or of more than 1,024 octets.
    pub fn new(name: &str, value: Option<&str>) -> Result<SdpAttribute, SipValueError> {
        if !crate::text::is_token(name) {
            return Err(SipValueError::Form { part: "name of an SDP attribute", expected: "a token" });
        }
        check_text("value of an SDP attribute", value.unwrap_or_default(), ATTRIBUTE_OCTETS_MAX)?;
        Ok(SdpAttribute { name: name.to_owned(), value: value.map(str::to_owned) })
    }

    /// The name, by case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value behind the colon.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

/// The origin (`o=`): session and version tell a changed description from a repeated one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdpOrigin {
    /// The user, `-` without one.
    pub username: String,
    /// Identifies the session.
    pub session_id: u64,
    /// Rises by one with each change.
    pub version: u64,
    /// The host that made it.
    pub address: HostPort,
}

/// A session description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDescription {
    /// `o=`.
    pub origin: SdpOrigin,
    /// `s=`, `-` without one.
    pub name: String,
    /// `c=` of the session: the address of media that have none of their own.
    pub connection: Option<HostPort>,
    /// `a=` of the session.
    pub attributes: Vec<SdpAttribute>,
    /// `m=`, in the order that an answer keeps.
    pub media: Vec<MediaDescription>,
}

impl SessionDescription {
    /// A description without media, sent from `address`.
    #[must_use]
    pub fn new(session_id: u64, version: u64, address: IpAddr) -> SessionDescription {
        let address = host_of(address);
        let origin = SdpOrigin { username: "-".to_owned(), session_id, version, address: address.clone() };
        SessionDescription {
            origin,
            name: "-".to_owned(),
            connection: Some(address),
            attributes: Vec::new(),
            media: Vec::new(),
        }
    }

    /// The address at which a medium is received: its own, or the session's.
    #[must_use]
    pub fn address_of<'s>(&'s self, medium: &'s MediaDescription) -> Option<&'s HostPort> {
        medium.connection.as_ref().or(self.connection.as_ref())
    }

    /// The direction of a medium: its own, or the session's, or both ways (RFC 8866 section 6.7).
    #[must_use]
    pub fn direction_of(&self, medium: &MediaDescription) -> MediaDirection {
        let find = |attributes: &[SdpAttribute]| {
            attributes.iter().find_map(|attribute| MediaDirection::from_name(&attribute.name))
        };
        find(&medium.attributes).or_else(|| find(&self.attributes)).unwrap_or(MediaDirection::SendRecv)
    }
}

pub(crate) fn host_of(address: IpAddr) -> HostPort {
    HostPort::new(&address.to_string(), None).expect("an address is a host")
}
