//! Accepting connections, within a limit, spread over the cores.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;

use crate::{Cores, Stream, TlsServer};

/// A TLS handshake that takes longer is given up.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Connections the system keeps waiting for `accept`.
const BACKLOG: u32 = 1024;
/// After an error of `accept` (no file descriptors left, mostly) wait so long before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listening socket with a limit on its connections.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    connections: Arc<Semaphore>,
}

impl Listener {
    /// Listens on `host:port` (port 0: any free one) for at most `connections_max` connections at a time; more wait.
    ///
    /// # Errors
    /// No such host, address in use, no right to the port.
    pub async fn bind(address: &str, connections_max: usize) -> io::Result<Listener> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in lookup_host(address).await? {
            match bind_one(address) {
                Ok(listener) => {
                    let connections = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
                    return Ok(Listener { listener, connections });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts for ever, each connection handed to `each` as a task on the next of `cores`. Ends when dropped; the
    /// connections' tasks go on.
    pub async fn serve<F, T>(&self, cores: &Cores, tls: Option<TlsServer>, each: F)
    where
        F: Fn(Stream, SocketAddr) -> T + Clone + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        loop {
            let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else { return };
            let (tcp, peer) =
                match self.listener.accept().await.and_then(|(tcp, peer)| Ok((tcp.into_std()?, peer))) {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                };
            let (tls, each) = (tls.clone(), each.clone());
            cores.spawn_on(cores.next(), async move {
                match prepare(tcp, tls).await {
                    Ok(stream) => each(stream, peer).await,
                    Err(error) => tracing::info!(%error, %peer, "a connection ended before it began"),
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

async fn prepare(tcp: std::net::TcpStream, tls: Option<TlsServer>) -> io::Result<Stream> {
    let stream = Stream::plain(TcpStream::from_std(tcp)?)?;
    match tls {
        None => Ok(stream),
        Some(tls) => match tokio::time::timeout(HANDSHAKE_MAX, stream.into_tls_server(&tls)).await {
            Ok(result) => result,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake in time")),
        },
    }
}
