//! UDP sockets: many datagrams of one size by one call where the kernel can (UDP_SEGMENT, UDP_GRO), one by
//! one where it cannot.
#![allow(unsafe_code)] // socket options and control messages only

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, Socket, Type};

use super::interface::Interface;

/// Datagrams of one call at most: 64 is the kernel's limit, and all of them have to fit into 65,507 octets.
pub const SEGMENTS_MAX: usize = 40;
/// What we ask the kernel to hold for us, in octets; it may give less.
const BUFFER_LEN: usize = 8 << 20;
/// Octets that one receiving call may bring.
const RECEIVED_LEN_MAX: usize = 1 << 16;
/// Room for one control message of 4 octets, aligned as the kernel wants it.
type Control = [u64; 4];

/// Sends bursts.
pub struct Sender {
    socket: UdpSocket,
    segments: bool,
}

impl Sender {
    /// A socket for sites, or a group, of this kind of address. `interface` is where multicast goes out,
    /// `hops` how far.
    pub fn open(v6: bool, interface: Option<&Interface>, hops: u32) -> io::Result<Self> {
        let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        let _ = socket.set_send_buffer_size(BUFFER_LEN);
        if v6 {
            socket.set_multicast_hops_v6(hops)?;
            socket.set_multicast_if_v6(index_v6(interface)?)?;
        } else {
            socket.set_multicast_ttl_v4(hops)?;
            match interface {
                Some(Interface::Address(address)) => socket.set_multicast_if_v4(address)?,
                Some(Interface::Name(name)) => set_multicast_if_v4(&socket, index(name)?)?,
                None => {}
            }
        }
        // The size zero changes nothing; a kernel without UDP_SEGMENT refuses the option.
        let segments = set_udp_option(&socket, libc::UDP_SEGMENT, 0).is_ok();
        Ok(Self { socket: socket.into(), segments })
    }

    /// Sends `octets` as datagrams of `len` octets each (the last may be shorter).
    pub fn send(&mut self, to: SocketAddr, octets: &[u8], len: usize) -> io::Result<()> {
        if self.segments && octets.len() > len {
            match self.send_segments(to, octets, len) {
                // A path without checksum offload answers EIO, one whose MTU is smaller than a datagram the
                // others; from now on one by one, and where it must be in fragments.
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE)) =>
                {
                    self.segments = false;
                }
                other => return other,
            }
        }
        octets.chunks(len).try_for_each(|datagram| self.socket.send_to(datagram, to).map(|_| ()))
    }

    fn send_segments(&self, to: SocketAddr, octets: &[u8], len: usize) -> io::Result<()> {
        let address = SockAddr::from(to);
        let mut control: Control = [0; 4];
        let mut vector = libc::iovec { iov_base: octets.as_ptr() as *mut _, iov_len: octets.len() };
        // SAFETY: all pointers are to locals or arguments that outlive the call; the control buffer is
        // aligned and holds one message of two octets, whose header and data are written inside it.
        let sent = unsafe {
            let mut message: libc::msghdr = zeroed();
            message.msg_name = address.as_ptr() as *mut _;
            message.msg_namelen = address.len();
            message.msg_iov = &raw mut vector;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_UDP;
            (*header).cmsg_type = libc::UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
            libc::CMSG_DATA(header).cast::<u16>().write_unaligned(len as u16);
            libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Receives bursts.
pub struct Receiver {
    socket: UdpSocket,
    buffer: Vec<u8>,
}

impl Receiver {
    /// A socket for data on a port of its own, or `port`.
    pub fn unicast(address: IpAddr, port: u16) -> io::Result<Self> {
        let socket =
            Socket::new(Domain::for_address((address, port).into()), Type::DGRAM, Some(Protocol::UDP))?;
        Self::ready(socket, (address, port).into())
    }

    /// A socket that joins a group on an interface. Others on this machine may join it too.
    pub fn multicast(group: SocketAddr, interface: Option<&Interface>) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(group), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        match group.ip() {
            IpAddr::V4(address) => {
                let by = match interface {
                    Some(Interface::Name(name)) => InterfaceIndexOrAddress::Index(index(name)?),
                    Some(Interface::Address(address)) => InterfaceIndexOrAddress::Address(*address),
                    None => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
                };
                socket.join_multicast_v4_n(&address, &by)?;
                Self::ready(socket, group)
            }
            IpAddr::V6(address) => {
                let index = index_v6(interface)?;
                socket.join_multicast_v6(&address, index)?;
                // An address of the link alone means something only together with its link.
                Self::ready(socket, SocketAddrV6::new(address, group.port(), 0, index).into())
            }
        }
    }

    fn ready(socket: Socket, address: SocketAddr) -> io::Result<Self> {
        let _ = socket.set_recv_buffer_size(BUFFER_LEN);
        // Beyond the system's limit only the privileged may; without it the limit holds.
        let _ = set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(BUFFER_LEN as i32));
        // Without it each datagram comes by itself: slower, not wrong.
        let _ = set_udp_option(&socket, libc::UDP_GRO, 1);
        socket.bind(&address.into())?;
        Ok(Self { socket: socket.into(), buffer: vec![0; RECEIVED_LEN_MAX] })
    }

    /// The port it listens on.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Waits for datagrams this long, more or less.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(patience))
    }

    /// Whether something that came waits to be received.
    pub fn has_more(&self) -> bool {
        let mut asked = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, a local that outlives the call, which does not wait.
        unsafe { libc::poll(&raw mut asked, 1, 0) > 0 }
    }

    /// What came by one call, and the size of each datagram in it but the last. None when nothing came in
    /// time.
    pub fn receive(&mut self) -> io::Result<Option<(&[u8], usize)>> {
        let mut control: Control = [0; 4];
        let mut vector =
            libc::iovec { iov_base: self.buffer.as_mut_ptr().cast(), iov_len: self.buffer.len() };
        // SAFETY: all pointers are to locals or to our buffer, which outlive the call; control messages are
        // walked as the kernel left them, within the length that it set.
        let (came, segment) = unsafe {
            let mut message: libc::msghdr = zeroed();
            message.msg_iov = &raw mut vector;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of::<Control>() as _;
            let came = libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0);
            let mut segment = 0;
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while came >= 0 && !header.is_null() {
                if (*header).cmsg_level == libc::SOL_UDP && (*header).cmsg_type == libc::UDP_GRO {
                    segment = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
            (came, segment)
        };
        if came < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        }
        let came = &self.buffer[..came as usize];
        let segment = if segment > 0 { segment as usize } else { came.len().max(1) };
        Ok(Some((came, segment)))
    }
}

fn set_udp_option(socket: &Socket, option: i32, value: i32) -> io::Result<()> {
    set_option(socket, libc::SOL_UDP, option, &value)
}

/// By its number: socket2 takes addresses alone.
fn set_multicast_if_v4(socket: &Socket, index: u32) -> io::Result<()> {
    let any = libc::in_addr { s_addr: 0 };
    let imr_ifindex = i32::try_from(index).map_err(io::Error::other)?;
    let by = libc::ip_mreqn { imr_multiaddr: any, imr_address: any, imr_ifindex };
    set_option(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &by)
}

/// The number of the interface of an IPv6 group; 0 is what the routes say.
fn index_v6(interface: Option<&Interface>) -> io::Result<u32> {
    match interface {
        Some(Interface::Name(name)) => index(name),
        Some(Interface::Address(address)) => {
            let words = format!("an IPv6 group needs the interface by name, not as {address}");
            Err(io::Error::new(io::ErrorKind::InvalidInput, words))
        }
        None => Ok(0),
    }
}

/// The number of an interface.
fn index(name: &str) -> io::Result<u32> {
    let text = CString::new(name)?;
    // SAFETY: the text is a local that ends with a zero, and is only read.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    if index == 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("the interface {name}: {error}")));
    }
    Ok(index)
}

/// `T` is plain numbers, as the option has them.
fn set_option<T: Copy>(socket: &Socket, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value lives beyond the call, and its own length is told; the kernel only reads it.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(receiver: &mut Receiver, wanted: usize) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        while datagrams.len() < wanted {
            let (octets, len) = receiver.receive().unwrap().expect("datagrams in time");
            datagrams.extend(octets.chunks(len).map(<[u8]>::to_vec));
        }
        datagrams
    }

    #[test]
    fn a_burst_comes_as_the_datagrams_it_was_made_of() {
        let mut receiver = Receiver::unicast(Ipv4Addr::LOCALHOST.into(), 0).unwrap();
        receiver.set_patience(Duration::from_secs(5)).unwrap();
        let to = (Ipv4Addr::LOCALHOST, receiver.port().unwrap()).into();
        let octets: Vec<u8> = (0..1000).map(|at| (at / 100) as u8).collect();
        let mut sender = Sender::open(false, None, 1).unwrap();
        for segments in [sender.segments, false] {
            sender.segments = segments;
            sender.send(to, &octets, 100).unwrap();
            let datagrams = collect(&mut receiver, 10);
            assert_eq!(datagrams, octets.chunks(100).map(<[u8]>::to_vec).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_member_of_a_group_receives_a_burst() {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let group = SocketAddr::from((Ipv4Addr::new(239, 77, 1, 1), free));
        let interfaces = ["127.0.0.1", "lo"].map(|text| text.parse::<Interface>().unwrap());
        let mut members: Vec<Receiver> =
            (0..4).map(|number| Receiver::multicast(group, Some(&interfaces[number % 2])).unwrap()).collect();
        for (octet, interface) in (5..).zip(&interfaces) {
            let mut sender = Sender::open(false, Some(interface), 0).unwrap();
            sender.send(group, &[octet; 300], 100).unwrap();
            for member in &mut members {
                member.set_patience(Duration::from_secs(5)).unwrap();
                assert_eq!(collect(member, 3), vec![vec![octet; 100]; 3], "{interface}");
            }
        }
    }

    #[test]
    fn an_interface_that_is_not_there_or_cannot_serve_is_told_by_name() {
        let group: SocketAddr = "[ff15::7]:9".parse().unwrap();
        for (interface, expected) in [("no-such-device", "no-such-device"), ("127.0.0.1", "by name")] {
            let interface = interface.parse().unwrap();
            let opened = Sender::open(true, Some(&interface), 1).err().unwrap();
            let joined = Receiver::multicast(group, Some(&interface)).err().unwrap();
            for error in [opened, joined] {
                assert!(error.to_string().contains(expected), "{error}");
            }
        }
    }
}
