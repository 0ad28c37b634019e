//! Receiving several packets with one call: many messages (`recvmmsg`), each perhaps of several packets that
//! the kernel joined (`UDP_GRO`), each with the kernel's stamp and the count of what found no room.
#![allow(unsafe_code)]

use super::calls;
use socket2::Socket;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

/// `UDP_GRO` of udp(7).
const UDP_GRO: libc::c_int = 104;
/// Messages of one call.
const MESSAGES: usize = 16;
/// Octets of one message: no datagram is larger, joined or not.
const OCTETS: usize = 65_536;

/// Room for the control messages of one message: stamp, drops, segment size.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 128]);

/// What one message brought.
#[derive(Debug, Clone, Copy)]
struct Note {
    octets: usize,
    segment: usize,
    stamp_ns: u64,
}

/// A socket with room for what one call brings.
pub struct Inbox {
    socket: Socket,
    octets: Vec<u8>,
    controls: Vec<Control>,
    names: Vec<libc::sockaddr_storage>,
    notes: [Note; MESSAGES],
    came: usize,
    overflowed: u64,
    /// Whether the kernel joins packets for us.
    pub joins: bool,
}

/// One message: where from, when, and its packets.
pub struct Received<'a> {
    /// When the kernel got it, in nanoseconds since 1970.
    pub stamp_ns: u64,
    octets: &'a [u8],
    segment: usize,
    name: &'a libc::sockaddr_storage,
}

/// The packets of a message.
pub type Packets<'a> = std::slice::Chunks<'a, u8>;

impl<'a> Received<'a> {
    /// Its packets, in the order in which they came.
    pub fn packets(&self) -> Packets<'a> {
        self.octets.chunks(self.segment.max(1))
    }

    /// All its octets, where the kernel did not say that they are several packets.
    pub fn whole(&self) -> Option<&'a [u8]> {
        (self.segment == self.octets.len()).then_some(self.octets)
    }

    /// As [`packets`](Self::packets), none of them larger than `most`. Packets that were joined before
    /// joining was switched off come without a word of how large each is.
    pub fn packets_of(&self, most: usize) -> Packets<'a> {
        self.octets.chunks(self.segment.min(most).max(1))
    }

    /// Who sent it.
    pub fn from(&self) -> Option<SocketAddr> {
        let name = std::ptr::from_ref(self.name);
        match libc::c_int::from(self.name.ss_family) {
            libc::AF_INET => {
                // SAFETY: an address of this family is a sockaddr_in; the storage is larger and aligned for
                // all.
                let name = unsafe { &*name.cast::<libc::sockaddr_in>() };
                let address = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
                Some((address, u16::from_be(name.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above, with a sockaddr_in6.
                let name = unsafe { &*name.cast::<libc::sockaddr_in6>() };
                Some((Ipv6Addr::from(name.sin6_addr.s6_addr), u16::from_be(name.sin6_port)).into())
            }
            _ => None,
        }
    }
}

/// Has the kernel join a socket's packets, or not; whether it does as it was told.
pub fn join(socket: &Socket, joins: bool) -> bool {
    calls::set_int(socket, libc::SOL_UDP, UDP_GRO, i32::from(joins)).is_ok()
}

impl Inbox {
    /// Takes a bound socket over: kernel stamps on, joining on where the kernel can and `joins` asks for it.
    /// A call waits at most `patience`.
    pub fn new(socket: Socket, joins: bool, patience: std::time::Duration) -> io::Result<Inbox> {
        socket.set_read_timeout(Some(patience))?;
        calls::set_int(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        calls::set_int(&socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        let joins = joins && join(&socket, true);
        Ok(Inbox {
            socket,
            octets: vec![0; MESSAGES * OCTETS],
            controls: vec![Control([0; 128]); MESSAGES],
            // SAFETY: zeros are a valid address of no family.
            names: vec![unsafe { zeroed() }; MESSAGES],
            notes: [Note { octets: 0, segment: 0, stamp_ns: 0 }; MESSAGES],
            came: 0,
            overflowed: 0,
            joins,
        })
    }

    /// The socket, to answer on.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Packets that found no room since the socket is there, as the kernel said with the last message
    /// (`SO_RXQ_OVFL`).
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Waits for messages and takes all that are there; 0 after the patience was over.
    pub fn receive(&mut self) -> io::Result<usize> {
        // SAFETY: zeros are valid for these plain C structs.
        let mut parts: [libc::iovec; MESSAGES] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; MESSAGES] = unsafe { zeroed() };
        for (at, octets) in self.octets.chunks_exact_mut(OCTETS).enumerate() {
            parts[at] = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: OCTETS };
            let header = &mut messages[at].msg_hdr;
            header.msg_iov = &raw mut parts[at];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut self.names[at]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_control = self.controls[at].0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>();
        }
        self.came = 0;
        // SAFETY: each message has a part, a name and a control buffer of its own, all alive and of the
        // lengths told.
        let came = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                MESSAGES as libc::c_uint,
                libc::MSG_WAITFORONE,
                std::ptr::null_mut(),
            )
        };
        if came < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // What an earlier answer of ours met says nothing about what comes in.
                Some(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED) => Ok(0),
                _ => Err(error),
            };
        }
        self.came = came.unsigned_abs() as usize;
        for (at, message) in messages.iter().enumerate().take(self.came) {
            self.notes[at] = self.note(message);
        }
        Ok(self.came)
    }

    fn note(&mut self, message: &libc::mmsghdr) -> Note {
        let octets = message.msg_len as usize;
        let mut note = Note { octets, segment: octets, stamp_ns: 0 };
        // SAFETY: the kernel filled the control buffer up to msg_controllen; CMSG_FIRSTHDR and CMSG_NXTHDR
        // stay in it, and the data of each kind has the size that the kernel writes for it.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(&raw const message.msg_hdr);
            while !header.is_null() {
                let data = libc::CMSG_DATA(header);
                match ((*header).cmsg_level, (*header).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                        let time = data.cast::<libc::timespec>().read_unaligned();
                        note.stamp_ns =
                            time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
                    }
                    (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                        // The kernel counts in 32 bits, and goes round.
                        let count = data.cast::<u32>().read_unaligned();
                        self.overflowed += u64::from(count.wrapping_sub(self.overflowed as u32));
                    }
                    (libc::SOL_UDP, UDP_GRO) => {
                        let segment = data.cast::<libc::c_int>().read_unaligned();
                        note.segment = usize::try_from(segment).unwrap_or(octets);
                    }
                    _ => {}
                }
                header = libc::CMSG_NXTHDR(&raw const message.msg_hdr, header);
            }
        }
        note
    }

    /// What the last call brought.
    pub fn messages(&self) -> impl Iterator<Item = Received<'_>> {
        self.notes[..self.came].iter().enumerate().map(|(at, note)| Received {
            stamp_ns: note.stamp_ns,
            octets: &self.octets[at * OCTETS..at * OCTETS + note.octets.min(OCTETS)],
            segment: note.segment,
            name: &self.names[at],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outbox, Rung, bind, connect, enlarge, now_ns};
    use super::*;
    use std::time::Duration;

    #[test]
    fn joined_packets_come_apart_again_with_a_stamp_and_an_address() {
        for joins in [false, true] {
            let socket = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
            let address = socket.local_addr().unwrap().as_socket().unwrap();
            let mut inbox = Inbox::new(socket, joins, Duration::from_secs(10)).unwrap();
            assert_eq!(inbox.joins, joins, "Linux since 5.0");
            let ours = connect(address).unwrap();
            let local = ours.local_addr().unwrap().as_socket().unwrap();
            let mut outbox = Outbox::new(ours, 200, 7).unwrap();
            (0..7).for_each(|at| outbox.packet(at).fill(at as u8));
            let before = now_ns();
            assert_eq!(outbox.send(Rung::Gso, 0, 7), Ok(7));
            let mut came = Vec::new();
            while came.len() < 7 {
                assert!(inbox.receive().unwrap() > 0);
                for message in inbox.messages() {
                    assert_eq!(message.from().unwrap().port(), local.port());
                    assert!(message.stamp_ns >= before && message.stamp_ns <= now_ns());
                    came.extend(message.packets().map(|packet| (packet.len(), packet[0])));
                }
            }
            assert_eq!(came, (0..7).map(|at| (200, at)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let socket = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        let mut inbox = Inbox::new(socket, false, Duration::from_secs(10)).unwrap();
        let mut outbox = Outbox::new(connect(address).unwrap(), 1472, 1).unwrap();
        for _ in 0..50 {
            assert_eq!(outbox.send(Rung::Send, 0, 1), Ok(1));
        }
        let mut came = inbox.receive().unwrap();
        // The count comes with a packet: one more tells what those before it met.
        assert_eq!(outbox.send(Rung::Send, 0, 1), Ok(1));
        came += inbox.receive().unwrap();
        assert_eq!(came as u64 + inbox.overflowed(), 51);
    }

    #[test]
    fn a_buffer_is_looked_at_after_it_was_asked_for() {
        let socket = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
        let buffer = enlarge(&socket, 64 << 20).unwrap();
        assert!(buffer.octets > 0);
        assert!(buffer.setting().ends_with("=67108864"));
    }
}
