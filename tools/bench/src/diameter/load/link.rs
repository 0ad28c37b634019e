//! A connection in the clear, with TLS or by SCTP, read and written alike.

use crate::diameter::transport::{PAYLOAD_PROTOCOL, Transport};
use ::diameter::frame::next_frame;
use ::diameter::header::MESSAGE_OCTETS_MAX;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// Whom the server's certificate must name.
const SERVER_NAME: &str = "localhost";

/// One connection.
pub(super) enum CreditConnection {
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

impl CreditConnection {
    /// Connects; the handshake is done with the first octets that are written.
    pub(super) fn open(
        address: &str,
        transport: Transport,
        tls: Option<&Arc<ClientConfig>>,
        patience: Duration,
    ) -> io::Result<CreditConnection> {
        if transport == Transport::Sctp {
            let stream = associate(address)?;
            stream.set_read_timeout(Some(patience))?;
            return Ok(CreditConnection::Association(stream));
        }
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        let Some(tls) = tls else { return Ok(CreditConnection::Clear(stream)) };
        let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(tls), name).map_err(io::Error::other)?;
        Ok(CreditConnection::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            CreditConnection::Clear(stream) | CreditConnection::Association(stream) => stream,
            CreditConnection::Tls(stream) => &stream.sock,
        }
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        self.socket().set_nonblocking(true)
    }

    /// A read that gave something may have left something behind, though the socket has nothing.
    pub(super) fn may_hold_more(&self) -> bool {
        matches!(self, CreditConnection::Tls(_))
    }

    /// True: the system has all that was written. TLS takes more than the system has room for.
    pub(super) fn is_flushed(&mut self) -> io::Result<bool> {
        match self {
            CreditConnection::Clear(_) | CreditConnection::Association(_) => Ok(true),
            CreditConnection::Tls(stream) => match stream.flush() {
                Ok(()) => Ok(!stream.conn.wants_write()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

fn associate(address: &str) -> io::Result<TcpStream> {
    net::probe_sctp().map_err(io::Error::other)?;
    let remote = settings::socket_address(address).map_err(io::Error::other)?;
    Ok(net::dial_sctp(&[remote], &[], PAYLOAD_PROTOCOL)?.into())
}

/// What of `output` is one user message: its first Diameter message.
fn one_message(output: &[u8]) -> &[u8] {
    next_frame(output, MESSAGE_OCTETS_MAX).ok().flatten().unwrap_or(output)
}

impl Read for CreditConnection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            CreditConnection::Clear(stream) | CreditConnection::Association(stream) => stream.read(into),
            CreditConnection::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for CreditConnection {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            CreditConnection::Clear(stream) => stream.write(octets),
            CreditConnection::Association(stream) => stream.write(one_message(octets)),
            CreditConnection::Tls(stream) => stream.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            CreditConnection::Clear(stream) | CreditConnection::Association(stream) => stream.flush(),
            CreditConnection::Tls(stream) => stream.flush(),
        }
    }
}
