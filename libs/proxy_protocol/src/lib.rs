//! PROXY protocol version 2 names the client for which a balancer connects (HAProxy's
//! `doc/proxy-protocol.txt`, sections 2.2 and 3).
//!
//! The header comes before any other octet of a connection, before TLS too. Its first [`FIXED_OCTETS`] say
//! how long it is: a reader takes those, then [`rest_octets`], and never an octet of what follows.
//!
//! ```text
//! signature  12   0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A
//! version     4 bits, 2
//! command     4 bits, 0 LOCAL (the balancer itself), 1 PROXY
//! family      4 bits, 0 UNSPEC, 1 INET, 2 INET6, 3 UNIX
//! transport   4 bits, 0 UNSPEC, 1 STREAM, 2 DGRAM
//! length     16   octets of addresses and TLVs
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Octets that every header begins with.
pub const FIXED_OCTETS: usize = 16;
/// Octets after those. Addresses take at most 36 (216 of a UNIX socket); the rest is TLVs, which are read
/// over.
pub const REST_OCTETS_MAX: usize = 4_096;

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const VERSION: u8 = 2;

/// For whom the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxiedSource {
    /// The balancer itself, as for its health checks, or a client whose address it cannot name: the
    /// connection's own address holds.
    Local,
    /// A client.
    Client(SocketAddr),
}

/// A balancer sends no header that can be read. The connection is closed without an answer (section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The first octets are those of version 1, a line of text.
    Version1,
    /// The first octets are no header.
    NoHeader,
    /// Another version than 2.
    Version(u8),
    /// Neither LOCAL nor PROXY.
    Command(u8),
    /// Over [`REST_OCTETS_MAX`].
    TooLong(usize),
    /// Too short for the addresses of its family.
    TooShort(usize),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Version1 => {
                write!(
                    f,
                    "the balancer sends a PROXY header of version 1; let it send version 2 (haproxy: send-proxy-v2)"
                )
            }
            Error::NoHeader => write!(
                f,
                "no PROXY header of version 2 comes first; let the balancer send one (haproxy: send-proxy-v2), or take its \
                 address out of proxy_from"
            ),
            Error::Version(version) => write!(f, "the PROXY header has version {version}; only 2 is read"),
            Error::Command(command) => write!(f, "the PROXY header has command {command}; 0 and 1 are known"),
            Error::TooLong(octets) => {
                write!(
                    f,
                    "the PROXY header has {octets} octets after its first {FIXED_OCTETS}, over the limit of {REST_OCTETS_MAX}"
                )
            }
            Error::TooShort(octets) => {
                write!(
                    f,
                    "the PROXY header has {octets} octets after its first {FIXED_OCTETS}, too few for its addresses"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

/// Octets of a header behind its first ones: of addresses and TLVs.
///
/// # Errors
/// The octets are no header of version 2, or its length is over the limit.
pub fn rest_octets(fixed: &[u8; FIXED_OCTETS]) -> Result<usize, Error> {
    if fixed.starts_with(b"PROXY ") {
        return Err(Error::Version1);
    }
    if !fixed.starts_with(&SIGNATURE) {
        return Err(Error::NoHeader);
    }
    let (version, command) = (fixed[12] >> 4, fixed[12] & 0xf);
    if version != VERSION {
        return Err(Error::Version(version));
    }
    if command > 1 {
        return Err(Error::Command(command));
    }
    let octets = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if octets > REST_OCTETS_MAX { Err(Error::TooLong(octets)) } else { Ok(octets) }
}

/// Reads a header; `rest` has as many octets as [`rest_octets`] gave. TLVs are read over.
///
/// # Errors
/// As [`rest_octets`]; or `rest` is too short for the addresses that it should have.
pub fn source(fixed: &[u8; FIXED_OCTETS], rest: &[u8]) -> Result<ProxiedSource, Error> {
    rest_octets(fixed)?;
    let is_local = fixed[12] & 0xf == 0;
    // A family or transport that is not known is taken as LOCAL (section 2.2).
    match (fixed[13] >> 4, fixed[13] & 0xf) {
        _ if is_local => Ok(ProxiedSource::Local),
        (1, 1) => {
            let (address, ports) = addresses::<4>(rest)?;
            Ok(ProxiedSource::Client(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(address)), ports)))
        }
        (2, 1) => {
            let (address, port) = addresses::<16>(rest)?;
            // One client has one address, whichever way the balancer writes it.
            Ok(ProxiedSource::Client(SocketAddr::new(Ipv6Addr::from(address).to_canonical(), port)))
        }
        _ => Ok(ProxiedSource::Local),
    }
}

/// ProxiedSource address, destination address, source port, destination port.
fn addresses<const OCTETS: usize>(rest: &[u8]) -> Result<([u8; OCTETS], u16), Error> {
    let too_short = Error::TooShort(rest.len());
    if rest.len() < 2 * OCTETS + 4 {
        return Err(too_short);
    }
    let address = rest[..OCTETS].try_into().map_err(|_| too_short)?;
    Ok((address, u16::from_be_bytes([rest[2 * OCTETS], rest[2 * OCTETS + 1]])))
}

/// Writes a header: of a client and the address that it connected to, both of one family; of the sender
/// itself where they are not.
pub fn write(client: SocketAddr, to: SocketAddr, out: &mut Vec<u8>) {
    out.extend_from_slice(&SIGNATURE);
    match (client.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(at)) => {
            out.extend_from_slice(&[VERSION << 4 | 1, 0x11, 0, 12]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&at.octets());
        }
        (IpAddr::V6(from), IpAddr::V6(at)) => {
            out.extend_from_slice(&[VERSION << 4 | 1, 0x21, 0, 36]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&at.octets());
        }
        _ => return out.extend_from_slice(&[VERSION << 4, 0, 0, 0]),
    }
    out.extend_from_slice(&client.port().to_be_bytes());
    out.extend_from_slice(&to.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(octets: &[u8]) -> Result<ProxiedSource, Error> {
        let (fixed, rest) = octets.split_first_chunk().expect("a header is that long");
        let length = rest_octets(fixed)?;
        source(fixed, &rest[..length])
    }

    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut octets = SIGNATURE.to_vec();
        octets.extend([command, family]);
        octets.extend((rest.len() as u16).to_be_bytes());
        octets.extend(rest);
        octets
    }

    #[test]
    fn a_header_names_the_client() {
        let v4 = [192, 0, 2, 7, 198, 51, 100, 1, 0xc0, 0x01, 0x01, 0xbb];
        let mut v6 = [0; 36];
        v6[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        (v6[15], v6[32], v6[33]) = (1, 0x04, 0xd2);
        let mut mapped = v6;
        mapped[..16].copy_from_slice(&Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped().octets());
        let client = |text: &str| Ok(ProxiedSource::Client(text.parse().unwrap()));
        let with_tlv = [&v4[..], &[4, 0, 1, 0]].concat();
        for (octets, expected) in [
            (header(0x21, 0x11, &v4), client("192.0.2.7:49153")),
            (header(0x21, 0x11, &with_tlv), client("192.0.2.7:49153")),
            (header(0x21, 0x21, &v6), client("[2001:db8::1]:1234")),
            (header(0x21, 0x21, &mapped), client("192.0.2.7:1234")),
            (header(0x20, 0x11, &v4), Ok(ProxiedSource::Local)),
            (header(0x20, 0x00, &[]), Ok(ProxiedSource::Local)),
            (header(0x21, 0x00, &[]), Ok(ProxiedSource::Local)),
            (header(0x21, 0x31, &[0; 216]), Ok(ProxiedSource::Local)),
            (header(0x21, 0x12, &v4), Ok(ProxiedSource::Local)),
            (header(0x21, 0x11, &v4[..11]), Err(Error::TooShort(11))),
            (header(0x21, 0x21, &v6[..35]), Err(Error::TooShort(35))),
            (header(0x11, 0x11, &v4), Err(Error::Version(1))),
            (header(0x22, 0x11, &v4), Err(Error::Command(2))),
            (header(0x21, 0x11, &[0; 4_097]), Err(Error::TooLong(4_097))),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 49153 443\r\n".to_vec(), Err(Error::Version1)),
            (b"GET /healthz HTTP/1.1\r\n".to_vec(), Err(Error::NoHeader)),
            (vec![0x16; 16], Err(Error::NoHeader)),
        ] {
            assert_eq!(read(&octets), expected, "{octets:02x?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases::times(256)))]

        #[test]
        fn what_is_written_is_read(client: SocketAddr, to: SocketAddr) {
            let mut octets = Vec::new();
            write(client, to, &mut octets);
            let same_family = client.is_ipv4() == to.is_ipv4();
            let address = SocketAddr::new(client.ip().to_canonical(), client.port());
            let expected = if same_family { ProxiedSource::Client(address) } else { ProxiedSource::Local };
            prop_assert_eq!(read(&octets), Ok(expected));
        }

        #[test]
        fn any_octets_are_read_or_refused(fixed: [u8; FIXED_OCTETS], rest in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut signed = fixed;
            signed[..12].copy_from_slice(&SIGNATURE);
            for fixed in [fixed, signed] {
                let _ = (rest_octets(&fixed), source(&fixed, &rest));
            }
        }
    }
}
