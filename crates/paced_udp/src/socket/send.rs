//! Sending several packets with one call, on the highest rung of the ladder that this kernel carries.
#![allow(unsafe_code)]

use super::calls;
use serde::Serialize;
use socket2::Socket;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;

/// `UDP_SEGMENT` of udp(7): one buffer, cut by the kernel (or the card) into packets of one size.
const UDP_SEGMENT: libc::c_int = 103;
/// The kernel cuts one buffer into no more packets (`UDP_MAX_SEGMENTS`; 64 before Linux 6.9).
pub const SEGMENTS_MAX: usize = 64;
/// Octets that one call can carry: an IPv4 datagram's payload.
const GSO_OCTETS_MAX: usize = 65_507;

/// How packets are handed to the kernel, cheapest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// One call a packet.
    Send,
    /// One call for several packets, each on its own way through the kernel.
    Sendmmsg,
    /// One call and one way through the kernel for several packets.
    Gso,
}

impl From<Rung> for pace::sender_scaler::Rung {
    fn from(rung: Rung) -> Self {
        match rung {
            Rung::Send => pace::sender_scaler::Rung::Send,
            Rung::Sendmmsg => pace::sender_scaler::Rung::SendMmsg,
            Rung::Gso => pace::sender_scaler::Rung::Gso,
        }
    }
}

impl From<pace::sender_scaler::Rung> for Rung {
    fn from(rung: pace::sender_scaler::Rung) -> Self {
        match rung {
            pace::sender_scaler::Rung::Send => Rung::Send,
            pace::sender_scaler::Rung::SendMmsg => Rung::Sendmmsg,
            pace::sender_scaler::Rung::Gso => Rung::Gso,
        }
    }
}

/// The highest rung that this kernel carries to this peer.
pub fn probe(socket: &Socket) -> Rung {
    match calls::set_int(socket, libc::SOL_UDP, UDP_SEGMENT, 0) {
        Ok(()) => Rung::Gso,
        // sendmmsg(2) is there since Linux 3.0.
        Err(_) => Rung::Sendmmsg,
    }
}

/// What kept packets from leaving; they were not sent and may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketSendError {
    /// The device's queue is full (`ENOBUFS`).
    NoBuffers,
    /// The socket's send buffer is full (`EAGAIN`).
    Again,
    /// Nobody listens there, said an ICMP message about an earlier packet (`ECONNREFUSED`). The call told
    /// that instead of sending.
    Refused,
    /// This rung is not carried on the way to this peer (`EIO`, `EINVAL`, `EOPNOTSUPP`).
    Rung,
    /// Something else, by its number.
    Other(i32),
}

impl PacketSendError {
    fn last() -> PacketSendError {
        match io::Error::last_os_error().raw_os_error().unwrap_or(0) {
            libc::ENOBUFS | libc::ENOMEM => PacketSendError::NoBuffers,
            libc::EAGAIN | libc::EINTR => PacketSendError::Again,
            libc::ECONNREFUSED => PacketSendError::Refused,
            libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::EMSGSIZE => PacketSendError::Rung,
            other => PacketSendError::Other(other),
        }
    }
}

/// A connected socket with room for one burst.
pub struct Outbox {
    socket: Socket,
    octets: Vec<u8>,
    mss: usize,
}

impl Outbox {
    /// For packets of `mss` octets, at most `burst` at a time.
    pub fn new(socket: Socket, mss: u16, burst: usize) -> io::Result<Outbox> {
        socket.set_nonblocking(true)?;
        let mss = usize::from(mss);
        Ok(Outbox { socket, octets: vec![0; mss * burst.max(1)], mss })
    }

    /// The most packets that one call takes on this rung.
    pub fn burst_max(rung: Rung, mss: u16) -> usize {
        match rung {
            Rung::Send => 1,
            Rung::Sendmmsg => SEGMENTS_MAX,
            Rung::Gso => (GSO_OCTETS_MAX / usize::from(mss)).clamp(1, SEGMENTS_MAX),
        }
    }

    /// Makes room for a larger burst.
    pub fn grow(&mut self, burst: usize) {
        let octets = self.mss * burst;
        if octets > self.octets.len() {
            self.octets.resize(octets, 0);
        }
    }

    /// The packet at `at` of the burst.
    pub fn packet(&mut self, at: usize) -> &mut [u8] {
        &mut self.octets[at * self.mss..(at + 1) * self.mss]
    }

    /// Sends packets `from..to` of the burst; how many left.
    pub fn send(&mut self, rung: Rung, from: usize, to: usize) -> Result<usize, PacketSendError> {
        match rung {
            Rung::Send => self.send_one(from),
            _ if to - from == 1 => self.send_one(from),
            Rung::Sendmmsg => self.send_many(from, to),
            Rung::Gso => self.send_segments(from, to),
        }
    }

    fn send_one(&mut self, at: usize) -> Result<usize, PacketSendError> {
        let packet = &self.octets[at * self.mss..(at + 1) * self.mss];
        // SAFETY: the kernel reads the slice's octets, which live beyond the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0) };
        if sent < 0 { Err(PacketSendError::last()) } else { Ok(1) }
    }

    fn send_many(&mut self, from: usize, to: usize) -> Result<usize, PacketSendError> {
        let count = (to - from).min(SEGMENTS_MAX);
        let octets = &mut self.octets[from * self.mss..(from + count) * self.mss];
        // SAFETY: both are plain C structs for which zeros are valid.
        let mut parts: [libc::iovec; SEGMENTS_MAX] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; SEGMENTS_MAX] = unsafe { zeroed() };
        for (at, packet) in octets.chunks_exact_mut(self.mss).enumerate() {
            parts[at] = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
            messages[at].msg_hdr.msg_iov = &raw mut parts[at];
            messages[at].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: `count` messages, each of one part of the burst; all live beyond the call.
        let sent = unsafe {
            libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count as libc::c_uint, 0)
        };
        if sent < 0 { Err(PacketSendError::last()) } else { Ok(sent.unsigned_abs() as usize) }
    }

    fn send_segments(&mut self, from: usize, to: usize) -> Result<usize, PacketSendError> {
        let count = (to - from).min(Outbox::burst_max(Rung::Gso, self.mss as u16));
        let octets = &mut self.octets[from * self.mss..(from + count) * self.mss];
        let mut part = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
        let mut control = Control([0; 32]);
        // SAFETY: zeros are a valid msghdr.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE and CMSG_LEN are arithmetic. The control buffer is aligned as a cmsghdr
        // (`Control`), holds the space of one u16, and the first header lies in it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as libc::c_uint) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_UDP;
            (*header).cmsg_type = UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as libc::c_uint) as usize;
            libc::CMSG_DATA(header).cast::<u16>().write_unaligned(self.mss as u16);
        }
        // SAFETY: all that the message points to lives beyond the call.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0) };
        if sent < 0 { Err(PacketSendError::last()) } else { Ok(count) }
    }
}

/// Octets for control messages, aligned as their headers must be.
#[repr(C, align(8))]
pub(super) struct Control(pub(super) [u8; 32]);

#[cfg(test)]
mod tests {
    use super::super::{bind, connect};
    use super::*;

    #[test]
    fn every_rung_sends_the_same_packets() {
        for rung in [Rung::Send, Rung::Sendmmsg, Rung::Gso] {
            let to = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
            let socket = connect(to.local_addr().unwrap().as_socket().unwrap()).unwrap();
            assert_eq!(probe(&socket), Rung::Gso, "Linux since 4.18");
            let mut outbox = Outbox::new(socket, 100, 5).unwrap();
            (0..5).for_each(|at| outbox.packet(at).fill(at as u8));
            let mut sent = 0;
            while sent < 5 {
                sent += outbox.send(rung, sent, 5).unwrap();
            }
            let to: std::net::UdpSocket = to.into();
            for at in 0..5 {
                let mut packet = [0; 200];
                assert_eq!(to.recv(&mut packet).unwrap(), 100, "{rung:?}");
                assert_eq!(packet[..100], [at; 100], "{rung:?}");
            }
        }
    }

    #[test]
    fn a_dead_peer_is_told_and_the_packet_was_not_sent() {
        let gone = bind(([127, 0, 0, 1], 0).into(), false).unwrap();
        let address = gone.local_addr().unwrap().as_socket().unwrap();
        drop(gone);
        let mut outbox = Outbox::new(connect(address).unwrap(), 100, 1).unwrap();
        assert_eq!(outbox.send(Rung::Send, 0, 1), Ok(1));
        assert_eq!(outbox.send(Rung::Send, 0, 1), Err(PacketSendError::Refused));
    }

    #[test]
    fn a_burst_fits_into_one_call() {
        assert_eq!(Outbox::burst_max(Rung::Gso, 1472), 44);
        assert_eq!(Outbox::burst_max(Rung::Gso, 8972), 7);
        assert_eq!(Outbox::burst_max(Rung::Gso, 64), 64);
        assert_eq!(Outbox::burst_max(Rung::Send, 1472), 1);
    }
}
