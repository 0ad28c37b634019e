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
