//! UDP sockets as the sender and the receiver need them: what the kernel can do is probed, never assumed.
//!
//! All `unsafe` of the paced sender and receiver is in this folder: system calls that no safe interface
//! offers.

mod calls;
mod clock;
mod receive;
mod send;

pub use clock::{now_ns, thread_cpu};
pub use receive::{Inbox, Packets, Received, join};
pub use send::{Outbox, PacketSendError, Rung, SEGMENTS_MAX, probe};

pub(crate) use clock::{ReadyClock, sleep_until, tighten_timer};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;

/// A UDP socket bound to `local`.
pub fn bind(local: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&SockAddr::from(local))?;
    Ok(socket)
}

/// A socket on any port that speaks with `peer` alone.
pub fn connect(peer: SocketAddr) -> io::Result<Socket> {
    let local: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = bind(local, false)?;
    socket.connect(&SockAddr::from(peer))?;
    Ok(socket)
}

/// What one packet towards a peer may have at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMtu {
    /// Octets of a packet with its IP header, as the system knows the path by now: of the interface that it
    /// leaves by, or what a router has told.
    pub mtu: u32,
    /// Octets of UDP payload in it.
    pub payload: u16,
}

/// The longest packet that leaves whole towards `peer`. Nothing where the system does not know.
pub fn path_mtu(peer: SocketAddr) -> Option<PathMtu> {
    /// Octets of an IPv4 header, of an IPv6 header, and of a UDP header.
    const HEADS: (u32, u32, u32) = (20, 40, 8);
    let (level, name, head) = match peer {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, HEADS.0),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, HEADS.1),
    };
    let known = calls::get_int(&connect(peer).ok()?, level, name).ok()?;
    let mtu = u32::try_from(known).ok().filter(|mtu| *mtu > head + HEADS.2)?;
    let payload = u16::try_from(mtu - head - HEADS.2).unwrap_or(u16::MAX);
    Some(PathMtu { mtu, payload })
}

/// Another socket on the address of `first`, which from then on shares it. Until then `first` has it alone:
/// who is second by mistake is refused.
pub fn bind_beside(first: &Socket) -> io::Result<Socket> {
    let local = first.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidInput)?;
    first.set_reuse_port(true)?;
    bind(local, true)
}

/// How much a socket's receive buffer holds, and how much was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Octets it has, as the kernel tells (it counts its own bookkeeping as well).
    pub octets: usize,
    /// Octets that were asked for.
    pub asked: usize,
}

impl Buffer {
    /// Whether the kernel gave less than was asked for.
    pub fn is_short(&self) -> bool {
        self.octets < self.asked
    }

    /// What to set so that the kernel gives what was asked for.
    pub fn setting(&self) -> String {
        format!("sysctl -w net.core.rmem_max={}", self.asked)
    }
}

/// Enlarges the receive buffer: with the right to go beyond the system's limit (`SO_RCVBUFFORCE`,
/// CAP_NET_ADMIN) or else up to it; and looks what came of it.
pub fn enlarge(socket: &Socket, asked: usize) -> io::Result<Buffer> {
    if calls::set_int(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, int(asked)).is_err() {
        socket.set_recv_buffer_size(asked)?;
    }
    // The kernel doubles what was asked for and tells the double (socket(7)).
    Ok(Buffer { octets: socket.recv_buffer_size()? / 2, asked })
}

fn int(octets: usize) -> libc::c_int {
    libc::c_int::try_from(octets).unwrap_or(libc::c_int::MAX)
}

/// Spreads what comes to the sockets of one port over all `sockets` of them: by the packet's number, in runs
/// of 64, so that joined packets stay together. The kernel's own choice is by addresses: of a few senders'
/// packets one socket would get all.
pub fn spread(first: &Socket, sockets: u32) -> io::Result<()> {
    // Classic BPF over the payload; a packet of data has its number's low octets at 12..16 (`wire::Head`).
    let step = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 12),
        step(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 6),
        step(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, sockets.max(1)),
        step(libc::BPF_RET | libc::BPF_A, 0),
    ];
    calls::choose_by(first, &program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_on_this_machine_is_as_long_as_its_loopback_carries() {
        let path = path_mtu(([127, 0, 0, 1], 9).into()).unwrap();
        let shown = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        // No packet of IPv4 is longer than its length field can say.
        assert_eq!(path.mtu, shown.trim().parse::<u32>().unwrap().min(65_535));
        assert_eq!(u32::from(path.payload), path.mtu - 28);
    }
}
