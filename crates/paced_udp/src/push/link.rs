//! The QUIC endpoints of the control channel. Certificates are made for the day and prove nothing; `proof`
//! does.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::{DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

use super::proof::{EXPORTER_LABEL, KEY_LEN};

/// The protocol's name in the TLS handshake (RFC 7301).
const ALPN: &[u8] = b"campanile-push/1";
/// A connection on which nothing comes for this long is over.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// The round trip before it is measured: a lost first datagram is sent again after three of it.
const RTT_START: Duration = Duration::from_millis(100);
/// So that a connection on which nothing is said stays.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// The name that certificates are made out to; nobody looks at it.
pub const CERTIFICATE_NAME: &str = "push.campanile";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_MAX.as_millis() as u32))));
    transport.initial_rtt(RTT_START);
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
    transport.max_concurrent_uni_streams(VarInt::from_u32(0));
    Arc::new(transport)
}

/// The receiver's endpoint.
pub fn listen(address: SocketAddr) -> io::Result<Endpoint> {
    let made = rcgen::generate_simple_self_signed([CERTIFICATE_NAME.to_owned()]).map_err(io::Error::other)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .map_err(io::Error::other)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport());
    Endpoint::server(config, address)
}

/// The sender's endpoint for sites of this kind of address.
pub fn reach(v6: bool) -> io::Result<Endpoint> {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())))
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(transport());
    let any: SocketAddr = if v6 { ([0u16; 8], 0).into() } else { ([0u8; 4], 0).into() };
    let mut endpoint = Endpoint::client(any)?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// What TLS exports for this connection alone.
pub fn exported(connection: &Connection) -> io::Result<[u8; KEY_LEN]> {
    let mut octets = [0; KEY_LEN];
    match connection.export_keying_material(&mut octets, EXPORTER_LABEL, b"") {
        Ok(()) => Ok(octets),
        Err(_) => Err(io::Error::other("TLS exports nothing for this connection")),
    }
}

/// Random octets.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    use ring::rand::SecureRandom;
    let mut octets = [0; N];
    let filled = ring::rand::SystemRandom::new().fill(&mut octets);
    filled.map(|()| octets).map_err(|_| io::Error::other("the system gives no random octets"))
}

/// Takes any certificate whose key signs the handshake.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3 only".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
