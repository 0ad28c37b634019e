//! Listener accepts connections within the places that there are, and spreads them over the cores.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::Counter;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};

use crate::places::{ConnectionPlace, DescriptorBudget, NoPlace, Places};
use crate::proxied::{Balancers, read_client};
use crate::socket::registered;
use crate::{Cores, MessageFraming, SctpStream, Stream, TlsServer, sctp};

/// A TLS handshake that takes longer is given up.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Connections the system keeps waiting for `accept`.
const BACKLOG: u32 = 4096;
/// After an error of `accept` (no file descriptors left, mostly) wait so long before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections of a door, as its configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoorLimits {
    /// At once; at least 1. One more takes the place of a waiting one, or is closed.
    pub connections_max: usize,
    /// At once of one address (in IPv6: of its first 64 bits); at least 1.
    pub connections_per_address_max: usize,
    /// Balancers whose connections begin with a PROXY header.
    pub balancers: Balancers,
}

impl DoorLimits {
    /// So many connections, a part of them from one address, and no balancer.
    pub fn new(connections_max: usize, connections_per_address_max: usize) -> DoorLimits {
        DoorLimits { connections_max, connections_per_address_max, balancers: Balancers::default() }
    }

    /// The key of a limit that admits nobody.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let limits = [
            ("connections_max", self.connections_max),
            ("connections_per_address_max", self.connections_per_address_max),
        ];
        limits
            .into_iter()
            .find(|(_, max)| *max == 0)
            .map(|(key, _)| (key, "0 admits no connection; at least 1"))
    }
}

/// Who may connect, and how often at a time.
#[derive(Debug, Clone)]
pub struct ListenerLimits {
    /// Places of the door; its listeners may share them.
    pub places: Arc<Places>,
    /// Balancers whose connections begin with a PROXY header.
    pub balancers: Balancers,
    /// Counts connections without a place.
    refused: Counter,
}

impl ListenerLimits {
    /// So many connections, from wherever they are.
    pub fn of(connections_max: usize) -> ListenerLimits {
        let places = Places::new(connections_max, connections_max, DescriptorBudget::unlimited());
        ListenerLimits { places, balancers: Balancers::default(), refused: Counter::noop() }
    }

    /// Those of a door, within the descriptors of all doors. `door` is its name in the metric.
    pub fn of_door(
        door: &'static str,
        limits: DoorLimits,
        descriptors: Arc<DescriptorBudget>,
    ) -> ListenerLimits {
        ListenerLimits {
            places: Places::new(limits.connections_max, limits.connections_per_address_max, descriptors),
            balancers: limits.balancers,
            refused: metrics::counter!("campanile_connections_refused_total", "door" => door),
        }
    }
}

/// A listening socket with places for its connections.
#[derive(Debug)]
pub struct Listener {
    listener: Listening,
    admission: ListenerLimits,
}

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    Sctp(AsyncFd<OwnedFd>, MessageFraming),
}

/// Accepted, and of no runtime yet.
enum AcceptedStream {
    Tcp(std::net::TcpStream),
    Sctp(OwnedFd, MessageFraming),
}

impl Listener {
    /// Listens on `host:port` (port 0: any free one). A connection without a place is closed.
    ///
    /// # Errors
    /// No such host, address in use, no right to the port.
    pub async fn bind(address: &str, admission: ListenerLimits) -> io::Result<Listener> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in lookup_host(address).await? {
            match bind_one(address) {
                Ok(listener) => return Ok(Listener { listener: Listening::Tcp(listener), admission }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Listens by SCTP on all of these addresses, of one port; otherwise as [`bind`](Listener::bind).
    ///
    /// # Errors
    /// No SCTP in this kernel ([`probe_sctp`](crate::probe_sctp) says it in words), address in use, no right
    /// to the port.
    pub fn bind_sctp(
        addresses: &[SocketAddr],
        admission: ListenerLimits,
        messages: MessageFraming,
    ) -> io::Result<Listener> {
        let socket = sctp::listen(addresses, messages.payload_protocol, BACKLOG)?;
        Ok(Listener { listener: Listening::Sctp(socket, messages), admission })
    }

    /// Where it listens; the first of several addresses.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match &self.listener {
            Listening::Tcp(listener) => listener.local_addr(),
            Listening::Sctp(socket, _) => sctp::local(socket.as_fd()),
        }
    }

    /// Accepts for ever, each connection handed to `each` as a task on the next of `cores`, with the address
    /// of its client and its place: `each` says when it waits, and ends it when it is sent out. Ends when
    /// dropped; the connections' tasks go on.
    pub async fn serve<F, T>(&self, cores: &Cores, tls: Option<TlsServer>, each: F)
    where
        F: Fn(Stream, SocketAddr, ConnectionPlace) -> T + Clone + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        loop {
            let (accepted, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let place = match self.place(peer) {
                Ok(place) => place,
                Err(why) => {
                    self.admission.refused.increment(1);
                    tracing::debug!(%peer, %why, "a connection is closed");
                    continue;
                }
            };
            let has_header = self.admission.balancers.holds(peer);
            let (tls, each) = (tls.clone(), each.clone());
            cores.spawn_on(cores.next(), async move {
                let prepared = tokio::select! {
                    prepared = accepted.prepare(tls, peer, has_header.then_some(&place)) => prepared,
                    () = place.sent_out() => {
                        return tracing::debug!(%peer, "a connection made room for another one of its network");
                    }
                };
                match prepared {
                    Ok((stream, client)) => each(stream, client, place).await,
                    Err(error) => tracing::info!(%error, %peer, "a connection failed during its handshake"),
                }
            });
        }
    }

    fn place(&self, peer: SocketAddr) -> Result<ConnectionPlace, NoPlace> {
        let ListenerLimits { places, balancers, .. } = &self.admission;
        let now = Instant::now();
        if balancers.holds(peer) {
            places.enter_balancer(peer.ip(), now)
        } else {
            places.enter(peer.ip(), now)
        }
    }
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listening {
    async fn accept(&self) -> io::Result<(AcceptedStream, SocketAddr)> {
        match self {
            Listening::Tcp(listener) => {
                let (tcp, peer) = listener.accept().await?;
                Ok((AcceptedStream::Tcp(tcp.into_std()?), peer))
            }
            Listening::Sctp(socket, messages) => loop {
                let mut ready = socket.readable().await?;
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                if let Ok(accepted) = ready.try_io(|socket| Ok(acceptfrom_with(socket, flags)?)) {
                    let (socket, peer) = accepted?;
                    let peer = peer.ok_or(io::ErrorKind::NotConnected)?.try_into()?;
                    return Ok((AcceptedStream::Sctp(socket, *messages), peer));
                }
            },
        }
    }
}

impl AcceptedStream {
    /// Reads the PROXY header of a balancer's connection, which moves to the client's place, and shakes
    /// hands.
    async fn prepare(
        self,
        tls: Option<TlsServer>,
        peer: SocketAddr,
        balancer: Option<&ConnectionPlace>,
    ) -> io::Result<(Stream, SocketAddr)> {
        let mut client = peer;
        let stream = match self {
            AcceptedStream::Tcp(tcp) => {
                let mut tcp = TcpStream::from_std(tcp)?;
                if let Some(place) = balancer {
                    client = read_client(&mut tcp, peer).await?;
                    place.move_to(client.ip(), Instant::now()).map_err(io::Error::other)?;
                }
                Stream::plain(tcp)?
            }
            AcceptedStream::Sctp(socket, messages) => {
                Stream::Sctp(SctpStream::new(registered(socket)?, messages))
            }
        };
        match tls {
            None => Ok((stream, client)),
            Some(tls) => match tokio::time::timeout(HANDSHAKE_MAX, stream.into_tls_server(&tls)).await {
                Ok(result) => Ok((result?, client)),
                Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake in time")),
            },
        }
    }
}
