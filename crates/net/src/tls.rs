//! TLS by rustls with ring: who is trusted, and what we show.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Whom a client trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsClientSettings {
    /// PEM certificates trusted beside the world's roots: for a peer with a certificate of its own making.
    pub ca_file: Option<PathBuf>,
    /// The name the peer's certificate must bear, where it is not the host that is connected to.
    pub server_name: Option<String>,
}

/// What a server shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsServerSettings {
    /// PEM chain, the server's own certificate first.
    pub cert_file: PathBuf,
    /// PEM private key.
    pub key_file: PathBuf,
}

/// Who we say we are: the files of a certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsIdentity {
    /// PEM chain, our own certificate first.
    pub cert_file: PathBuf,
    /// PEM private key.
    pub key_file: PathBuf,
}

/// A client's side of TLS, ready for any number of connections.
#[derive(Clone)]
pub struct TlsClient {
    pub(crate) connector: TlsConnector,
    server_name: Option<ServerName<'static>>,
}

/// A server's side of TLS.
#[derive(Clone)]
pub struct TlsServer {
    pub(crate) acceptor: TlsAcceptor,
}

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError {
    /// Which setting.
    pub field: &'static str,
    /// Why.
    pub why: String,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}
impl std::error::Error for TlsError {}

impl TlsClient {
    /// Reads the settings' files.
    ///
    /// # Errors
    /// A file that cannot be read or holds no certificate, a name that cannot be one.
    pub fn new(settings: &TlsClientSettings) -> Result<TlsClient, TlsError> {
        TlsClient::known_by(settings, None)
    }

    /// The same, with a certificate of our own for a server that asks for one.
    ///
    /// # Errors
    /// As [`TlsClient::new`], and as [`TlsServer::new`] for the certificate and its key.
    pub fn known_by(
        settings: &TlsClientSettings,
        identity: Option<&TlsIdentity>,
    ) -> Result<TlsClient, TlsError> {
        let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        if let Some(file) = &settings.ca_file {
            for cert in certificates("ca_file", file)? {
                roots.add(cert).map_err(|error| wrong("ca_file", file, &error))?;
            }
        }
        let server_name = settings.server_name.as_deref().map(name).transpose()?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError { field: "tls", why: error.to_string() })?
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(TlsIdentity { cert_file, key_file }) => config
                .with_client_auth_cert(certificates("tls_cert", cert_file)?, private_key(key_file)?)
                .map_err(|error| wrong("tls_key", key_file, &error))?,
        };
        Ok(TlsClient { connector: TlsConnector::from(Arc::new(config)), server_name })
    }

    /// The same trust for who brings a connection of its own: an HTTP client.
    pub fn config(&self) -> ClientConfig {
        (**self.connector.config()).clone()
    }

    /// The name to ask for when connecting to `host`.
    pub(crate) fn name_for(&self, host: &str) -> Result<ServerName<'static>, TlsError> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => name(host),
        }
    }
}

impl TlsServer {
    /// Reads the settings' files.
    ///
    /// # Errors
    /// A file that cannot be read or holds no certificate or key, a key that does not fit the certificate.
    pub fn new(settings: &TlsServerSettings) -> Result<TlsServer, TlsError> {
        TlsServer::asking(settings, None)
    }

    /// The same; with `client_ca` it takes a client only with a certificate of an authority in that file.
    ///
    /// # Errors
    /// As [`TlsServer::new`], and a file of authorities that cannot be read or holds none.
    pub fn asking(settings: &TlsServerSettings, client_ca: Option<&Path>) -> Result<TlsServer, TlsError> {
        let certs = certificates("tls_cert", &settings.cert_file)?;
        let key = private_key(&settings.key_file)?;
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError { field: "tls", why: error.to_string() })?;
        let config = match client_ca {
            None => config.with_no_client_auth(),
            Some(file) => config.with_client_cert_verifier(verifier(file)?),
        };
        let config = config
            .with_single_cert(certs, key)
            .map_err(|error| wrong("tls_key", &settings.key_file, &error))?;
        Ok(TlsServer { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

/// Whom a server takes: clients with a certificate of these authorities.
fn verifier(file: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    const FIELD: &str = "tls_client_ca";
    let mut roots = RootCertStore::empty();
    for cert in certificates(FIELD, file)? {
        roots.add(cert).map_err(|error| wrong(FIELD, file, &error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|error| wrong(FIELD, file, &error))
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| wrong("tls_key", file, &error))
}

/// Named here, so that no other provider comes in by accident of another crate's features.
fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(field: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certs: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(|certs| certs.collect())
        .map_err(|error| wrong(field, file, &error))?;
    if certs.is_empty() {
        return Err(wrong(field, file, &"it holds no certificate"));
    }
    Ok(certs)
}

fn name(host: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(host.to_owned()).map_err(|_| TlsError {
        field: "server_name",
        why: format!("{host:?} cannot be the name in a certificate"),
    })
}

fn wrong(field: &'static str, file: &Path, why: &dyn fmt::Display) -> TlsError {
    TlsError { field, why: format!("{}: {why}", file.display()) }
}
