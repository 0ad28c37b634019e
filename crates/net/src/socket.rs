//! Socket calls without a safe form: SCTP's options and lists of addresses (RFC 6458), and a descriptor that
//! the runtime watches.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use tokio::io::unix::AsyncFd;

/// Level of the options (`SOL_SCTP`).
const LEVEL: libc::c_int = 132;
/// Sets how many streams are asked for (RFC 6458, section 8.1.3).
pub(crate) const SCTP_INITMSG: libc::c_int = 2;
/// Sends small messages at once (section 8.1.5).
pub(crate) const SCTP_NODELAY: libc::c_int = 3;
/// Tells of an association: among others how many streams the peer takes (section 8.2.1).
const SCTP_STATUS: libc::c_int = 14;
/// Says of one message its stream and payload protocol (section 5.3.4).
const SCTP_SNDINFO: libc::c_int = 2;
/// What holds for messages that are sent without saying so (section 8.1.31).
pub(crate) const SCTP_DEFAULT_SNDINFO: libc::c_int = 34;
/// Adds local addresses; how Linux makes `sctp_bindx` (section 9.1).
pub(crate) const SCTP_SOCKOPT_BINDX_ADD: libc::c_int = 100;
/// Connects to any of a peer's addresses; how Linux makes `sctp_connectx` (section 9.9).
pub(crate) const SCTP_SOCKOPT_CONNECTX: libc::c_int = 110;

/// Sets an option to a value as the kernel lays it out.
pub(crate) fn set_option(socket: BorrowedFd<'_>, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let length =
        libc::socklen_t::try_from(value.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: pointer and length are those of one slice, which is borrowed for the whole call; the kernel
    // only reads it, at any alignment, and keeps nothing of it (setsockopt(2)). The descriptor is open, since
    // it is borrowed.
    #[allow(unsafe_code)]
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), LEVEL, option, value.as_ptr().cast(), length) };
    // SCTP_SOCKOPT_CONNECTX gives the number of the association.
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What is said of one message that is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendInfo {
    pub(crate) stream: u16,
    pub(crate) payload_protocol: u32,
}

/// Octets of `struct sctp_sndinfo`: stream, flags, protocol in network order, context, association.
const SNDINFO_OCTETS: usize = 16;
/// Octets of a `cmsghdr` with one, on any machine of 64 bits or fewer.
const CONTROL_OCTETS: usize = 32;

/// Room for a control message, at the alignment of its header.
#[repr(C)]
union ControlBuffer {
    header: libc::cmsghdr,
    octets: [u8; CONTROL_OCTETS],
}

/// Sends one user message on a stream; how many octets of it the system took.
pub(crate) fn send_message(
    socket: BorrowedFd<'_>,
    message: &[u8],
    info: &SendInfo,
    flags: libc::c_int,
) -> io::Result<usize> {
    let mut sndinfo = [0; SNDINFO_OCTETS];
    sndinfo[..2].copy_from_slice(&info.stream.to_ne_bytes());
    sndinfo[4..8].copy_from_slice(&info.payload_protocol.to_be_bytes());
    let mut control = ControlBuffer { octets: [0; CONTROL_OCTETS] };
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
    // SAFETY: `cmsghdr` and `msghdr` are numbers and pointers, for which zeros are values. CMSG_SPACE and
    // CMSG_LEN only count. The header is written into `control`, which is aligned for it and at least as long
    // as header and information together (the assertion below); the information behind it is written octet by
    // octet. sendmsg(2) reads all that `head` points to, which lives until it returns, writes none of it, and
    // keeps nothing. The descriptor is open, since it is borrowed.
    #[allow(unsafe_code)]
    let sent = unsafe {
        let space = libc::CMSG_SPACE(SNDINFO_OCTETS as libc::c_uint) as usize;
        assert!(space <= CONTROL_OCTETS);
        let mut head: libc::msghdr = std::mem::zeroed();
        head.msg_iov = &raw mut part;
        head.msg_iovlen = 1;
        head.msg_control = (&raw mut control).cast();
        head.msg_controllen = space as _;
        let header = libc::CMSG_FIRSTHDR(&raw const head);
        (*header).cmsg_level = LEVEL;
        (*header).cmsg_type = SCTP_SNDINFO;
        (*header).cmsg_len = libc::CMSG_LEN(SNDINFO_OCTETS as libc::c_uint) as _;
        std::ptr::copy_nonoverlapping(sndinfo.as_ptr(), libc::CMSG_DATA(header), SNDINFO_OCTETS);
        libc::sendmsg(socket.as_raw_fd(), &raw const head, flags)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// How many streams the peer of an association takes.
pub(crate) fn outbound_streams(socket: BorrowedFd<'_>) -> io::Result<u16> {
    // struct sctp_status: association, state and window, four octets each; data without acknowledgement, data
    // that waits, streams in, streams out, two each; then what is not looked at.
    const OUT: std::ops::Range<usize> = 18..20;
    let mut status = [0_u8; 512];
    let mut length = status.len() as libc::socklen_t;
    // SAFETY: pointer and length are those of one array, which is borrowed for the whole call; the kernel
    // writes at most `length` octets of it, at any alignment, and keeps nothing (getsockopt(2)). The
    // descriptor is open, since it is borrowed.
    #[allow(unsafe_code)]
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), LEVEL, SCTP_STATUS, status.as_mut_ptr().cast(), &raw mut length)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let [low, high] = [status[OUT.start], status[OUT.end - 1]];
    Ok(u16::from_ne_bytes([low, high]))
}

/// Has the runtime watch a socket, which does not block.
pub(crate) fn registered(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is an open descriptor, always the same one, until it is dropped; it is moved in
    // here, and nobody takes it out or puts another in its place: those that get this only borrow it.
    #[allow(unsafe_code)]
    let watched = unsafe { AsyncFd::register(socket) };
    Ok(watched?)
}

/// Addresses one behind the other, as `struct sockaddr_in` and `sockaddr_in6`.
pub(crate) fn packed(addresses: &[SocketAddr]) -> Vec<u8> {
    let mut octets = Vec::new();
    for address in addresses {
        match address {
            SocketAddr::V4(address) => {
                octets.extend_from_slice(&(libc::AF_INET as libc::sa_family_t).to_ne_bytes());
                octets.extend_from_slice(&address.port().to_be_bytes());
                octets.extend_from_slice(&address.ip().octets());
                octets.extend_from_slice(&[0; 8]);
            }
            SocketAddr::V6(address) => {
                octets.extend_from_slice(&(libc::AF_INET6 as libc::sa_family_t).to_ne_bytes());
                octets.extend_from_slice(&address.port().to_be_bytes());
                octets.extend_from_slice(&address.flowinfo().to_be_bytes());
                octets.extend_from_slice(&address.ip().octets());
                octets.extend_from_slice(&address.scope_id().to_ne_bytes());
            }
        }
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_laid_out_as_the_system_has_them() {
        let octets = packed(&["127.0.0.2:3868".parse().unwrap(), "[::1%7]:3868".parse().unwrap()]);
        let (v4, v6) = octets.split_at(size_of::<libc::sockaddr_in>());
        assert_eq!(v4, [2, 0, 0x0F, 0x1C, 127, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(v6.len(), size_of::<libc::sockaddr_in6>());
        assert_eq!(v6[..8], [10, 0, 0x0F, 0x1C, 0, 0, 0, 0]);
        assert_eq!((v6[23], &v6[24..]), (1, &7_u32.to_ne_bytes()[..]));
    }

    #[test]
    fn what_the_system_refuses_is_an_error() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = set_option(std::os::fd::AsFd::as_fd(&socket), SCTP_NODELAY, &[0; 4]).unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
    }
}
