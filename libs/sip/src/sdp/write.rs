//! Writing of session descriptions, in the order of RFC 8866 section 9.

use super::{SdpAttribute, SessionDescription};
use crate::uri::HostPort;
use std::fmt;

struct SdpAddress<'a>(&'a HostPort);

impl fmt::Display for SdpAddress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.host();
        match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => write!(f, "IN IP6 {address}"),
            None => write!(f, "IN IP4 {host}"),
        }
    }
}

fn write_attributes(f: &mut fmt::Formatter<'_>, attributes: &[SdpAttribute]) -> fmt::Result {
    for attribute in attributes {
        match attribute.value() {
            Some(value) => write!(f, "a={}:{value}\r\n", attribute.name())?,
            None => write!(f, "a={}\r\n", attribute.name())?,
        }
    }
    Ok(())
}

/// A text of a public field: line breaks and blanks in it would begin something of their own.
fn clean(text: &str, also: Option<char>) -> String {
    let is_bad = |c: char| c.is_control() || Some(c) == also;
    let clean: String = text.chars().map(|c| if is_bad(c) { '_' } else { c }).collect();
    if clean.is_empty() { "-".to_owned() } else { clean }
}

impl fmt::Display for SessionDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = &self.origin;
        let user = clean(&origin.username, Some(' '));
        let (session_id, version) = (origin.session_id, origin.version);
        write!(f, "v=0\r\no={user} {session_id} {version} {}\r\n", SdpAddress(&origin.address))?;
        write!(f, "s={}\r\n", clean(&self.name, None))?;
        if let Some(connection) = &self.connection {
            write!(f, "c={}\r\n", SdpAddress(connection))?;
        }
        f.write_str("t=0 0\r\n")?;
        write_attributes(f, &self.attributes)?;
        for medium in &self.media {
            let protocol = clean(&medium.protocol.to_string(), Some(' '));
            write!(f, "m={} {} {protocol}", clean(&medium.kind, Some(' ')), medium.port)?;
            for format in &medium.formats {
                write!(f, " {}", clean(format, Some(' ')))?;
            }
            f.write_str("\r\n")?;
            if let Some(connection) = &medium.connection {
                write!(f, "c={}\r\n", SdpAddress(connection))?;
            }
            write_attributes(f, &medium.attributes)?;
        }
        Ok(())
    }
}
