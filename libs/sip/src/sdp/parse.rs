//! Reading of session descriptions.

use super::{MediaDescription, MediaProtocol, SdpAttribute, SdpOrigin, SessionDescription};
use crate::limits::{SDP_ATTRIBUTES_MAX, SDP_FORMATS_MAX, SDP_MEDIA_MAX, SDP_OCTETS_MAX};
use crate::uri::HostPort;
use std::fmt;

/// A session description that cannot be read. The peer is to blame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SdpParseError {
    /// A line is not there, or nothing of the kind.
    Missing(&'static str),
    /// A line does not have its form: its type.
    Line(char),
    /// A limit of [`crate::limits`].
    TooMany {
        /// The part.
        part: &'static str,
        /// The most that is allowed.
        max: usize,
    },
}

impl fmt::Display for SdpParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SdpParseError::Missing(part) => write!(f, "session description: {part} is missing"),
            SdpParseError::Line(kind) => {
                write!(f, "session description: a line {kind}= does not have its form")
            }
            SdpParseError::TooMany { part, max } => {
                write!(f, "session description: {part}: more than {max} allowed")
            }
        }
    }
}

impl std::error::Error for SdpParseError {}

impl SessionDescription {
    /// Reads a description. Lines that are not needed here (`i=`, `b=`, `t=`, `k=` and others) are passed
    /// over.
    ///
    /// # Errors
    /// No `v=0` or `o=`, a line without its form, or a limit.
    pub fn parse(octets: &[u8]) -> Result<SessionDescription, SdpParseError> {
        if octets.len() > SDP_OCTETS_MAX {
            return Err(SdpParseError::TooMany { part: "octets", max: SDP_OCTETS_MAX });
        }
        let text = String::from_utf8_lossy(octets);
        let (mut version, mut origin) = (None, None);
        let mut name = "-".to_owned();
        let mut connection = None;
        let mut attributes: Vec<SdpAttribute> = Vec::new();
        let mut media: Vec<MediaDescription> = Vec::new();
        for line in
            text.lines().map(|line| line.trim_end_matches(['\r', ' ', '\0'])).filter(|line| !line.is_empty())
        {
            let Some((kind, value)) = split(line) else {
                return Err(SdpParseError::Line(line.chars().next().unwrap_or(' ')));
            };
            match (kind, media.last_mut()) {
                ('v', _) => version = Some(value == "0"),
                ('o', _) => origin = Some(parse_origin(value)?),
                ('s', None) => name = clean_name(value),
                ('c', None) => connection = Some(parse_connection(value)?),
                ('c', Some(medium)) => medium.connection = Some(parse_connection(value)?),
                ('a', None) => push_attribute(&mut attributes, value)?,
                ('a', Some(medium)) => push_attribute(&mut medium.attributes, value)?,
                ('m', _) => push_medium(&mut media, value)?,
                _ => {}
            }
        }
        if version != Some(true) {
            return Err(SdpParseError::Missing("v=0"));
        }
        let origin = origin.ok_or(SdpParseError::Missing("o="))?;
        let name = if name.is_empty() { "-".to_owned() } else { name };
        Ok(SessionDescription { origin, name, connection, attributes, media })
    }
}

fn clean_name(value: &str) -> String {
    let name: String = value.chars().filter(|c| !c.is_control()).collect();
    name.trim_end().to_owned()
}

fn split(line: &str) -> Option<(char, &str)> {
    let mut chars = line.chars();
    let kind = chars.next()?;
    chars.as_str().strip_prefix('=').map(|value| (kind, value))
}

fn parse_origin(value: &str) -> Result<SdpOrigin, SdpParseError> {
    let error = SdpParseError::Line('o');
    let parts: Vec<&str> = value.split_ascii_whitespace().collect();
    // A user name with blanks is no user name, but exists: the last five parts are counted from the end.
    let [before @ .., session_id, version, _, _, address] = parts.as_slice() else {
        return Err(error);
    };
    let username = if before.is_empty() { "-".to_owned() } else { before.join("_") };
    let username = username.chars().filter(|c| !c.is_control()).collect();
    let address = HostPort::new(address, None).map_err(|_| error)?;
    Ok(SdpOrigin { username, session_id: number(session_id)?, version: number(version)?, address })
}

/// Numbers of more than 64 bits exist: they are folded, as they are compared alone.
fn number(text: &str) -> Result<u64, SdpParseError> {
    if text.is_empty() || !text.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(SdpParseError::Line('o'));
    }
    let digit = |octet: u8| u64::from(octet - b'0');
    Ok(text.bytes().fold(0, |number: u64, octet| number.wrapping_mul(10).wrapping_add(digit(octet))))
}

fn parse_connection(value: &str) -> Result<HostPort, SdpParseError> {
    let mut parts = value.split_ascii_whitespace();
    let (Some(_), Some(_), Some(address)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(SdpParseError::Line('c'));
    };
    // A multicast address has its time to live behind a slash.
    let address = address.split('/').next().unwrap_or_default();
    HostPort::new(address, None).map_err(|_| SdpParseError::Line('c'))
}

fn push_attribute(attributes: &mut Vec<SdpAttribute>, value: &str) -> Result<(), SdpParseError> {
    if attributes.len() == SDP_ATTRIBUTES_MAX {
        return Err(SdpParseError::TooMany { part: "attributes", max: SDP_ATTRIBUTES_MAX });
    }
    let (name, value) = match value.split_once(':') {
        Some((name, value)) => (name, Some(value)),
        None => (value, None),
    };
    // One without its form is of no use and no harm.
    attributes.extend(SdpAttribute::new(name.trim(), value));
    Ok(())
}

fn push_medium(media: &mut Vec<MediaDescription>, value: &str) -> Result<(), SdpParseError> {
    if media.len() == SDP_MEDIA_MAX {
        return Err(SdpParseError::TooMany { part: "media", max: SDP_MEDIA_MAX });
    }
    media.push(parse_medium(value)?);
    Ok(())
}

fn parse_medium(value: &str) -> Result<MediaDescription, SdpParseError> {
    let mut parts = value.split_ascii_whitespace();
    let (Some(kind), Some(port), Some(protocol)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(SdpParseError::Line('m'));
    };
    // A number of ports may stand behind a slash.
    let port = port.split('/').next().unwrap_or_default().parse().map_err(|_| SdpParseError::Line('m'))?;
    let formats: Vec<String> = parts.map(str::to_owned).collect();
    let is_clean = |text: &str| !text.chars().any(char::is_control);
    if !is_clean(value) {
        return Err(SdpParseError::Line('m'));
    }
    if formats.len() > SDP_FORMATS_MAX {
        return Err(SdpParseError::TooMany { part: "formats", max: SDP_FORMATS_MAX });
    }
    Ok(MediaDescription {
        kind: kind.to_owned(),
        port,
        protocol: MediaProtocol::from_text(protocol),
        formats,
        connection: None,
        attributes: Vec::new(),
    })
}
