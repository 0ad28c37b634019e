//! A connection's octets, in the plain or through TLS.

use rustls::ServerConnection;
use std::io::{self, Read, Write};
use std::sync::Arc;
use tokio::io::{Interest, Ready};
use tokio::net::TcpStream;

/// Read from TLS in one go.
const PIECE_OCTETS: usize = 16 * 1024;

/// One connection.
pub(super) enum SmscLine {
    Plain(TcpStream),
    Tls(TcpStream, Box<ServerConnection>),
}

impl SmscLine {
    pub(super) fn plain(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        SmscLine::Plain(stream)
    }

    /// # Errors
    /// The configuration cannot be used.
    pub(super) fn tls(stream: TcpStream, config: Arc<rustls::ServerConfig>) -> Result<Self, rustls::Error> {
        let _ = stream.set_nodelay(true);
        Ok(SmscLine::Tls(stream, Box::new(ServerConnection::new(config)?)))
    }

    fn stream(&self) -> &TcpStream {
        match self {
            SmscLine::Plain(stream) | SmscLine::Tls(stream, _) => stream,
        }
    }

    pub(super) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.stream().ready(interest).await
    }

    /// The connection ends with a reset.
    pub(super) fn reset_at_end(&self) {
        let _ = self.stream().set_zero_linger();
    }

    /// Octets wait to be written that were taken already.
    pub(super) fn wants_write(&self) -> bool {
        matches!(self, SmscLine::Tls(_, connection) if connection.wants_write())
    }

    /// All there is, or as much as fits; 0 at the end.
    pub(super) fn try_read_buf(&mut self, input: &mut Vec<u8>) -> io::Result<usize> {
        let (stream, connection) = match self {
            SmscLine::Plain(stream) => return stream.try_read_buf(input),
            SmscLine::Tls(stream, connection) => (stream, connection),
        };
        loop {
            if connection.read_tls(&mut Wire(stream))? == 0 {
                return Ok(0);
            }
            let state = connection.process_new_packets();
            // An alert goes out even where what came is wrong.
            let written = write_tls(stream, connection);
            let state = state.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            written?;
            let mut read = 0;
            while read < state.plaintext_bytes_to_read() {
                let from = input.len();
                input.resize(from + PIECE_OCTETS.min(state.plaintext_bytes_to_read() - read), 0);
                let octets = connection.reader().read(&mut input[from..]).unwrap_or(0);
                input.truncate(from + octets);
                if octets == 0 {
                    break;
                }
                read += octets;
            }
            if read > 0 || state.peer_has_closed() {
                return Ok(read);
            }
        }
    }

    /// Takes as much as there is room for.
    pub(super) fn try_write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let (stream, connection) = match self {
            SmscLine::Plain(stream) => return stream.try_write(octets),
            SmscLine::Tls(stream, connection) => (stream, connection),
        };
        let taken = connection.writer().write(octets)?;
        write_tls(stream, connection)?;
        if taken == 0 && !octets.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(taken)
    }

    /// Writes what was taken already.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            SmscLine::Plain(_) => Ok(()),
            SmscLine::Tls(stream, connection) => write_tls(stream, connection),
        }
    }
}

fn write_tls(stream: &TcpStream, connection: &mut ServerConnection) -> io::Result<()> {
    while connection.wants_write() {
        match connection.write_tls(&mut Wire(stream)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The socket, as blocking readers and writers see it: it says when it would block.
struct Wire<'a>(&'a TcpStream);

impl Read for Wire<'_> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(octets)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.try_write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a listener with TLS shows: the files of the options, or a certificate made for this run. Returns it
/// as PEM too.
///
/// # Errors
/// In words, with the field.
pub(super) fn server(
    tls: &super::faults::TlsListener,
) -> Result<(Arc<rustls::ServerConfig>, String), String> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
    let (chain, key, pem) = match (&tls.cert, &tls.key) {
        (Some(cert), Some(key)) => {
            let pem = std::fs::read_to_string(cert).map_err(|error| format!("tls.cert: {error}"))?;
            let chain = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
            let chain = chain.map_err(|error| format!("tls.cert: {error}"))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| format!("tls.key: {error}"))?;
            (chain, key, pem)
        }
        (None, None) => {
            let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
            let made = rcgen::generate_simple_self_signed(names).map_err(|error| format!("tls: {error}"))?;
            let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
            (vec![made.cert.der().clone()], key, made.cert.pem())
        }
        _ => return Err("tls: cert and key go together".to_owned()),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("tls: {error}"))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("tls: {error}"))?;
    Ok((Arc::new(config), pem))
}
