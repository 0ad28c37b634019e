//! A connection: TCP, TLS over it, or SCTP.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::{SctpStream, TlsClient, TlsServer, certificate_names};

/// A TCP connection with `TCP_NODELAY`, TLS over one, or an SCTP association.
#[derive(Debug)]
pub enum Stream {
    /// Octets as they are.
    Plain(TcpStream),
    /// We are the client of a TLS connection.
    TlsClient(Box<tokio_rustls::client::TlsStream<TcpStream>>),
    /// We are its server.
    TlsServer(Box<tokio_rustls::server::TlsStream<TcpStream>>),
    /// Octets as they are, a message at a time.
    Sctp(SctpStream),
}

/// Why there is no connection.
#[derive(Debug)]
pub struct ConnectError {
    /// To where, as configured.
    pub address: String,
    /// In words.
    pub why: String,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}: {}", self.address, self.why)
    }
}
impl std::error::Error for ConnectError {}

/// Connects to `host:port`, each address of the host in turn, by TLS if `tls` is there; all within `within`.
///
/// # Errors
/// No such host, refused, not in time, a certificate that is not trusted.
pub async fn connect(
    address: &str,
    tls: Option<&TlsClient>,
    within: Duration,
) -> Result<Stream, ConnectError> {
    let failed = |why: String| ConnectError { address: address.to_owned(), why };
    let attempt = async {
        let plain = connect_tcp(address).await.map_err(|error| failed(error.to_string()))?;
        match tls {
            None => Ok(plain),
            Some(tls) => {
                plain.into_tls_client(tls, host_of(address)).await.map_err(|e| failed(e.to_string()))
            }
        }
    };
    match timeout(within, attempt).await {
        Ok(result) => result,
        Err(_) => Err(failed(format!("no connection within {} ms", within.as_millis()))),
    }
}

impl Stream {
    /// Takes a connection over; sets `TCP_NODELAY`.
    ///
    /// # Errors
    /// When the peer is gone already.
    pub fn plain(tcp: TcpStream) -> io::Result<Stream> {
        tcp.set_nodelay(true)?;
        Ok(Stream::Plain(tcp))
    }

    /// Starts TLS as the client of a connection that is still plain (STARTTLS). `host` is asked for, unless
    /// the settings name another.
    ///
    /// # Errors
    /// When it is TLS already, or the handshake fails.
    pub async fn into_tls_client(self, tls: &TlsClient, host: &str) -> io::Result<Stream> {
        let Stream::Plain(tcp) = self else {
            return Err(io::Error::other("the connection is not TCP in the clear"));
        };
        let name = tls.name_for(host).map_err(io::Error::other)?;
        Ok(Stream::TlsClient(Box::new(tls.connector.connect(name, tcp).await?)))
    }

    /// Starts TLS as the server of a connection that is still plain.
    ///
    /// # Errors
    /// When it is TLS already, or the handshake fails.
    pub async fn into_tls_server(self, tls: &TlsServer) -> io::Result<Stream> {
        let Stream::Plain(tcp) = self else {
            return Err(io::Error::other("the connection is not TCP in the clear"));
        };
        Ok(Stream::TlsServer(Box::new(tls.acceptor.accept(tcp).await?)))
    }

    /// The socket beneath, if it is TCP's.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Stream::Plain(tcp) => Some(tcp),
            Stream::TlsClient(tls) => Some(tls.get_ref().0),
            Stream::TlsServer(tls) => Some(tls.get_ref().0),
            Stream::Sctp(_) => None,
        }
    }

    /// The names in the certificate that the client of a TLS connection showed; nothing if it showed none, or
    /// was not asked for one.
    pub fn client_names(&self) -> Option<Vec<String>> {
        let Stream::TlsServer(tls) = self else { return None };
        let chain = tls.get_ref().1.peer_certificates()?;
        chain.first().map(|own| certificate_names::names(own))
    }

    /// Our own end.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn local(&self) -> io::Result<SocketAddr> {
        match self {
            Stream::Plain(tcp) => tcp.local_addr(),
            Stream::TlsClient(tls) => tls.get_ref().0.local_addr(),
            Stream::TlsServer(tls) => tls.get_ref().0.local_addr(),
            Stream::Sctp(sctp) => sctp.local(),
        }
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        match self {
            Stream::Plain(tcp) => tcp.peer_addr(),
            Stream::TlsClient(tls) => tls.get_ref().0.peer_addr(),
            Stream::TlsServer(tls) => tls.get_ref().0.peer_addr(),
            Stream::Sctp(sctp) => sctp.peer(),
        }
    }
}

async fn connect_tcp(address: &str) -> io::Result<Stream> {
    let mut last = None;
    for address in lookup_host(address).await? {
        match TcpStream::connect(address).await {
            Ok(tcp) => return Stream::plain(tcp),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host has no address")))
}

/// `host` of `host:port`, without the brackets of an IPv6 address.
fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Stream::TlsClient(tls) => Pin::new(tls).poll_read(cx, buf),
            Stream::TlsServer(tls) => Pin::new(tls).poll_read(cx, buf),
            Stream::Sctp(sctp) => Pin::new(sctp).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Stream::TlsClient(tls) => Pin::new(tls).poll_write(cx, buf),
            Stream::TlsServer(tls) => Pin::new(tls).poll_write(cx, buf),
            Stream::Sctp(sctp) => Pin::new(sctp).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Stream::TlsClient(tls) => Pin::new(tls).poll_flush(cx),
            Stream::TlsServer(tls) => Pin::new(tls).poll_flush(cx),
            Stream::Sctp(sctp) => Pin::new(sctp).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Stream::TlsClient(tls) => Pin::new(tls).poll_shutdown(cx),
            Stream::TlsServer(tls) => Pin::new(tls).poll_shutdown(cx),
            Stream::Sctp(sctp) => Pin::new(sctp).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn the_host_is_what_stands_before_the_port() {
        for (address, host) in [
            ("smsc.example:2775", "smsc.example"),
            ("[::1]:25", "::1"),
            ("10.0.0.1:1", "10.0.0.1"),
            ("bare", "bare"),
        ] {
            assert_eq!(host_of(address), host);
        }
    }
}
