//! SCTP in its one-to-one form (RFC 6458, section 4): an association is a descriptor, read and written like a
//! TCP connection.
//!
//! - [`probe`]: whether this kernel has it.
//! - [`Listener::bind_sctp`](crate::Listener::bind_sctp), [`connect_sctp`]: with several addresses on either
//!   side.
//! - [`dial_sctp`]: the same without a runtime, for who blocks.
//!
//! Each protocol message goes out as one user message, in order on a stream that the protocol chooses, so
//! that one that is lost holds up only those of its stream. What comes in is read as a stream of octets: a
//! user message that is delivered in parts is joined by that, and the protocol's own lengths find the bounds.
//! No notifications are asked for, so an association that is aborted reads as a connection that was reset.

mod stream;

pub use stream::SctpStream;

use crate::socket::{
    SCTP_DEFAULT_SNDINFO, SCTP_INITMSG, SCTP_NODELAY, SCTP_SOCKOPT_BINDX_ADD, SCTP_SOCKOPT_CONNECTX, packed,
    registered, set_option,
};
use crate::{ConnectError, Stream};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Local or remote addresses of an association at most.
pub const SCTP_ADDRESSES_MAX: usize = 16;
/// Streams we ask for, and let a peer ask for.
const STREAMS: u16 = 32;
/// What the system is asked to keep for us to be sent: no message can be longer. It gives less where
/// `net.core.wmem_max` says so.
const SEND_OCTETS: usize = 2 << 20;

/// What is said of the user messages of a protocol.
#[derive(Debug, Clone, Copy)]
pub struct MessageFraming {
    /// Payload protocol identifier (RFC 9260, section 3.3.1), such as 46 for Diameter in the clear (RFC 6733,
    /// section 2.1).
    pub payload_protocol: u32,
    /// Octets of the first message of an output that begins with one; 0 where that cannot be told: then all
    /// of it is one.
    pub length: fn(&[u8]) -> usize,
    /// The stream of a message, below the number of streams that the peer takes, which is at least 1.
    pub stream: fn(&[u8], u16) -> u16,
}

/// There is no SCTP here.
#[derive(Debug)]
pub struct NoSctp(io::Error);

impl fmt::Display for NoSctp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::PROTONOSUPPORT | Errno::SOCKTNOSUPPORT | Errno::AFNOSUPPORT) => {
                write!(
                    f,
                    "this kernel has no SCTP ({}): load it with `modprobe sctp`, where its package has it",
                    self.0
                )
            }
            _ => write!(f, "the system refuses an SCTP socket: {}", self.0),
        }
    }
}
impl std::error::Error for NoSctp {}

/// Whether there is SCTP here. Linux loads its module at this, where it may.
///
/// # Errors
/// There is none; the words say what to do.
pub fn probe_sctp() -> Result<(), NoSctp> {
    open(AddressFamily::INET, SocketFlags::empty()).map(drop).map_err(NoSctp)
}

/// Connects from `local` (none: the system chooses) to a peer that has any of `remote`, all within `within`.
///
/// # Errors
/// No SCTP, refused, not in time, addresses of different ports.
pub async fn connect_sctp(
    remote: &[SocketAddr],
    local: &[SocketAddr],
    messages: MessageFraming,
    within: Duration,
) -> Result<Stream, ConnectError> {
    let address = || remote.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let failed = |why: String| ConnectError { address: address(), why };
    let attempt = async {
        let socket = begin(remote, local, messages.payload_protocol, SocketFlags::NONBLOCK)?;
        let socket = registered(socket)?;
        // Ready once the association is there, or is not going to be.
        let _ = socket.writable().await?;
        sockopt::socket_error(socket.get_ref())??;
        Ok::<_, io::Error>(Stream::Sctp(SctpStream::new(socket, messages)))
    };
    match tokio::time::timeout(within, attempt).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no association within {} ms", within.as_millis()))),
    }
}

/// A socket that is connected like [`connect_sctp`]'s, and blocks. Each write to it is one user message, on
/// stream 0.
///
/// # Errors
/// As [`connect_sctp`]; how long it takes is the system's.
pub fn dial_sctp(remote: &[SocketAddr], local: &[SocketAddr], payload_protocol: u32) -> io::Result<OwnedFd> {
    begin(remote, local, payload_protocol, SocketFlags::empty())
}

fn begin(
    remote: &[SocketAddr],
    local: &[SocketAddr],
    payload_protocol: u32,
    flags: SocketFlags,
) -> io::Result<OwnedFd> {
    let socket = prepared(&[remote, local].concat(), payload_protocol, flags)?;
    check(remote)?;
    if !local.is_empty() {
        bind(socket.as_fd(), local)?;
    }
    match set_option(socket.as_fd(), SCTP_SOCKOPT_CONNECTX, &packed(remote)) {
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => Ok(socket),
        other => other.map(|()| socket),
    }
}

/// A socket that listens on all of these.
pub(crate) fn listen(
    addresses: &[SocketAddr],
    payload_protocol: u32,
    backlog: u32,
) -> io::Result<AsyncFd<OwnedFd>> {
    let socket = prepared(addresses, payload_protocol, SocketFlags::NONBLOCK)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(socket.as_fd(), addresses)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    registered(socket)
}

/// Where a socket is bound, or the first of the places.
pub(crate) fn local(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    Ok(SocketAddr::try_from(rustix::net::getsockname(socket)?)?)
}

/// Where its peer is: the first of the places.
pub(crate) fn remote(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let address = rustix::net::getpeername(socket)?.ok_or(io::ErrorKind::NotConnected)?;
    Ok(SocketAddr::try_from(address)?)
}

fn open(family: AddressFamily, flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, flags | SocketFlags::CLOEXEC, Some(ipproto::SCTP))?)
}

/// A socket for these addresses with the options that all have. An accepted one has them of the one that
/// listens.
fn prepared(addresses: &[SocketAddr], payload_protocol: u32, flags: SocketFlags) -> io::Result<OwnedFd> {
    // A socket of IPv6 takes addresses of both.
    let family =
        if addresses.iter().all(SocketAddr::is_ipv4) { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = open(family, flags)?;
    set_option(socket.as_fd(), SCTP_NODELAY, &1_i32.to_ne_bytes())?;
    // struct sctp_initmsg: streams out, streams in, attempts, milliseconds; 0 is the system's own.
    let streams = [STREAMS, STREAMS, 0, 0].map(u16::to_ne_bytes).concat();
    set_option(socket.as_fd(), SCTP_INITMSG, &streams)?;
    // struct sctp_sndinfo: stream, flags, protocol in network order, context, association.
    let mut sending = [0; 16];
    sending[4..8].copy_from_slice(&payload_protocol.to_be_bytes());
    set_option(socket.as_fd(), SCTP_DEFAULT_SNDINFO, &sending)?;
    sockopt::set_socket_send_buffer_size(&socket, SEND_OCTETS)?;
    Ok(socket)
}

fn bind(socket: BorrowedFd<'_>, addresses: &[SocketAddr]) -> io::Result<()> {
    check(addresses)?;
    set_option(socket, SCTP_SOCKOPT_BINDX_ADD, &packed(addresses))
}

/// The addresses of one end: some, not too many, and of one port.
fn check(addresses: &[SocketAddr]) -> io::Result<()> {
    sctp_addresses(addresses).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// What is wrong with addresses that are to be one end of an association.
///
/// # Errors
/// None, more than [`SCTP_ADDRESSES_MAX`], or different ports.
pub fn sctp_addresses(addresses: &[SocketAddr]) -> Result<(), String> {
    match addresses {
        [] => Err("needs at least one address".to_owned()),
        [first, rest @ ..] if rest.iter().any(|address| address.port() != first.port()) => {
            Err("all addresses of one end must have the same port".to_owned())
        }
        _ if addresses.len() > SCTP_ADDRESSES_MAX => {
            Err(format!("{} addresses are over the limit of {SCTP_ADDRESSES_MAX}", addresses.len()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_end_has_some_addresses_of_one_port() {
        let parse =
            |texts: &[&str]| -> Vec<SocketAddr> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        assert!(sctp_addresses(&parse(&["10.0.0.1:3868"])).is_ok());
        assert!(sctp_addresses(&parse(&["10.0.0.1:3868", "[::1]:3868"])).is_ok());
        assert!(sctp_addresses(&[]).unwrap_err().contains("at least one"));
        assert!(sctp_addresses(&parse(&["10.0.0.1:3868", "10.0.0.2:3869"])).unwrap_err().contains("port"));
        let many = vec!["10.0.0.1:1".parse().unwrap(); SCTP_ADDRESSES_MAX + 1];
        assert!(sctp_addresses(&many).unwrap_err().contains("limit of 16"));
    }

    #[test]
    fn a_kernel_without_it_is_told_from_other_reasons() {
        let said = |errno: Errno| NoSctp(errno.into()).to_string();
        assert!(said(Errno::PROTONOSUPPORT).contains("`modprobe sctp`"));
        assert!(said(Errno::MFILE).starts_with("the system refuses an SCTP socket"));
    }
}
