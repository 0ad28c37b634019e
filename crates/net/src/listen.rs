//! Accepting connections, within a limit, spread over the cores.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SocketFlags, acceptfrom_with};
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;

use crate::socket::registered;
use crate::{Cores, MessageFraming, SctpStream, Stream, TlsServer, sctp};

/// A TLS handshake that takes longer is given up.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Connections the system keeps waiting for `accept`.
const BACKLOG: u32 = 1024;
/// After an error of `accept` (no file descriptors left, mostly) wait so long before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listening socket with a limit on its connections.
#[derive(Debug)]
pub struct Listener {
    listener: Listening,
    connections: Arc<Semaphore>,
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
    /// Listens on `host:port` (port 0: any free one) for at most `connections_max` connections at a time;
    /// more wait.
    ///
    /// # Errors
    /// No such host, address in use, no right to the port.
    pub async fn bind(address: &str, connections_max: usize) -> io::Result<Listener> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in lookup_host(address).await? {
            match bind_one(address) {
                Ok(listener) => return Ok(Listener::of(Listening::Tcp(listener), connections_max)),
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
        connections_max: usize,
        messages: MessageFraming,
    ) -> io::Result<Listener> {
        let socket = sctp::listen(addresses, messages.payload_protocol, BACKLOG)?;
        Ok(Listener::of(Listening::Sctp(socket, messages), connections_max))
    }

    fn of(listener: Listening, connections_max: usize) -> Listener {
        let connections = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
        Listener { listener, connections }
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

    /// Accepts for ever, each connection handed to `each` as a task on the next of `cores`. Ends when
    /// dropped; the connections' tasks go on.
    pub async fn serve<F, T>(&self, cores: &Cores, tls: Option<TlsServer>, each: F)
    where
        F: Fn(Stream, SocketAddr) -> T + Clone + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        loop {
            let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else { return };
            let (accepted, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let (tls, each) = (tls.clone(), each.clone());
            cores.spawn_on(cores.next(), async move {
                match accepted.prepare(tls).await {
                    Ok(stream) => each(stream, peer).await,
                    Err(error) => tracing::info!(%error, %peer, "a connection failed during its handshake"),
                }
                drop(permit);
            });
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
    async fn prepare(self, tls: Option<TlsServer>) -> io::Result<Stream> {
        let stream = match self {
            AcceptedStream::Tcp(tcp) => Stream::plain(TcpStream::from_std(tcp)?)?,
            AcceptedStream::Sctp(socket, messages) => {
                Stream::Sctp(SctpStream::new(registered(socket)?, messages.length))
            }
        };
        match tls {
            None => Ok(stream),
            Some(tls) => match tokio::time::timeout(HANDSHAKE_MAX, stream.into_tls_server(&tls)).await {
                Ok(result) => result,
                Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake in time")),
            },
        }
    }
}
