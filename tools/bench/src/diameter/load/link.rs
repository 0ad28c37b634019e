//! A connection in the clear, with TLS or by SCTP, read and written alike.

use crate::diameter::transport::{PAYLOAD_PROTOCOL, Transport};
use ::diameter::frame::next_frame;
use ::diameter::header::MESSAGE_OCTETS_MAX;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Whom the server's certificate must name.
const SERVER_NAME: &str = "localhost";

/// One connection.
pub(super) enum Link {
    Clear(TcpStream),
    /// An association's descriptor is read and written like TCP's, but what one write gives is one user
    /// message.
    Association(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// A client that trusts this one certificate.
///
/// # Errors
/// It is none.
pub(in crate::diameter) fn tls_of(certificate: &CertificateDer<'_>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone().into_owned()).map_err(|error| format!("the certificate: {error}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

impl Link {
    /// Connects; the handshake is done with the first octets that are written.
    pub(super) fn open(
        address: &str,
        transport: Transport,
        tls: Option<&Arc<ClientConfig>>,
        patience: Duration,
    ) -> io::Result<Link> {
        if transport == Transport::Sctp {
            let stream = associate(address)?;
            stream.set_read_timeout(Some(patience))?;
            return Ok(Link::Association(stream));
        }
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        let Some(tls) = tls else { return Ok(Link::Clear(stream)) };
        let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(tls), name).map_err(io::Error::other)?;
        Ok(Link::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Link::Clear(stream) | Link::Association(stream) => stream,
            Link::Tls(stream) => &stream.sock,
        }
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        self.socket().set_nonblocking(true)
    }

    /// A read that gave something may have left something behind, though the socket has nothing.
    pub(super) fn may_hold_more(&self) -> bool {
        matches!(self, Link::Tls(_))
    }

    /// True: the system has all that was written. TLS takes more than the system has room for.
    pub(super) fn is_flushed(&mut self) -> io::Result<bool> {
        match self {
            Link::Clear(_) | Link::Association(_) => Ok(true),
            Link::Tls(stream) => match stream.flush() {
                Ok(()) => Ok(!stream.conn.wants_write()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

fn associate(address: &str) -> io::Result<TcpStream> {
    net::probe_sctp().map_err(io::Error::other)?;
    let remote: SocketAddr = address.parse().map_err(io::Error::other)?;
    Ok(net::dial_sctp(&[remote], &[], PAYLOAD_PROTOCOL)?.into())
}

/// What of `output` is one user message: its first Diameter message.
fn one_message(output: &[u8]) -> &[u8] {
    next_frame(output, MESSAGE_OCTETS_MAX).ok().flatten().unwrap_or(output)
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Clear(stream) | Link::Association(stream) => stream.read(into),
            Link::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Link::Clear(stream) => stream.write(octets),
            Link::Association(stream) => stream.write(one_message(octets)),
            Link::Tls(stream) => stream.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Clear(stream) | Link::Association(stream) => stream.flush(),
            Link::Tls(stream) => stream.flush(),
        }
    }
}
