//! URL of the server: address, credentials, TLS.

use super::error::{Trouble, words};
use super::{CONNECT_WITHIN, PostgresOptions};
use crate::StoreError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is known to be sent and not answered by a dead machine for so long ends the connection.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// A connection that is idle for so long is looked after by the kernel.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVES: u32 = 3;
/// Where a server listens by default.
const PORT: u16 = 5_432;
/// What others see of us in `pg_stat_activity`.
const APPLICATION: &str = "campanile";

/// A server, or several of which one takes writes.
#[derive(Clone)]
pub(super) struct PgServer {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl PgServer {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`.
    ///
    /// `sslmode`: `disable`, `prefer` and `require` as everywhere (the last two do not look whose certificate
    /// it is, but `require` does with `sslrootcert`), `verify-full`: by `sslrootcert`, else by the roots that
    /// browsers trust, and by name.
    pub(super) fn parse(url: &str, options: &PostgresOptions) -> Result<PgServer, StoreError> {
        let (url, own) = take_own(url)?;
        // The library's words may hold the password, so they are not told.
        let mut config = Config::from_str(&url).map_err(|error| conflict(&why_unread(&error)))?;
        config.application_name(APPLICATION).connect_timeout(CONNECT_WITHIN).tcp_user_timeout(SILENCE_MAX);
        config.keepalives(true).keepalives_idle(KEEPALIVE_AFTER).keepalives_interval(KEEPALIVE_EVERY);
        config.keepalives_retries(KEEPALIVES).target_session_attrs(TargetSessionAttrs::ReadWrite);
        if let Some(password) = &options.password {
            config.password(password);
        }
        let roots = own.roots.as_deref().map(roots_of).transpose()?;
        let tls = match own.mode {
            TlsRequirement::Disable => None,
            TlsRequirement::Prefer => Some(ClientTls::Anybody),
            TlsRequirement::Require => Some(roots.map_or(ClientTls::Anybody, ClientTls::Chain)),
            TlsRequirement::VerifyCa => {
                Some(ClientTls::Chain(roots.ok_or_else(|| conflict("sslmode=verify-ca needs sslrootcert"))?))
            }
            TlsRequirement::VerifyFull => Some(ClientTls::Name(
                roots.unwrap_or_else(|| RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }),
            )),
        };
        config.ssl_mode(match own.mode {
            TlsRequirement::Disable => SslMode::Disable,
            TlsRequirement::Prefer => SslMode::Prefer,
            TlsRequirement::Require | TlsRequirement::VerifyCa | TlsRequirement::VerifyFull => {
                SslMode::Require
            }
        });
        let tls = tls.map(ClientTls::config).transpose()?.map(MakeRustlsConnect::new);
        Ok(PgServer { config, tls })
    }

    /// `host:port,host:port/database`: the server without who we are to it.
    pub(super) fn name(&self) -> String {
        let ports = self.config.get_ports();
        let host = |(n, host): (usize, &Host)| {
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(PORT);
            match host {
                Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(folder) => folder.display().to_string(),
            }
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().enumerate().map(host).collect();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        format!("{}/{database}", hosts.join(","))
    }

    /// Connects, and spawns what moves octets.
    pub(super) async fn connect(&self) -> Result<(Client, AbortHandle), Trouble> {
        let Some(tls) = self.tls.clone() else {
            let (client, connection) = self.config.connect(NoTls).await.map_err(refused)?;
            return Ok((client, pump(connection)));
        };
        let (client, connection) = self.config.connect(tls).await.map_err(refused)?;
        Ok((client, pump(connection)))
    }
}

fn pump(connection: impl Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static) -> AbortHandle {
    let pump = async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = words(&error), "a connection to the database ended");
        }
    };
    tokio::spawn(pump).abort_handle()
}

/// Without a connection nothing was changed; what is not the server's own no may be different another time.
fn refused(error: tokio_postgres::Error) -> Trouble {
    match error.code() {
        Some(_) => error.into(),
        None => Trouble::Lost(words(&error)),
    }
}

/// Parts of the URL that the library does not know.
struct Own {
    mode: TlsRequirement,
    roots: Option<String>,
}

#[derive(Clone, Copy)]
enum TlsRequirement {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// Takes them out.
fn take_own(url: &str) -> Result<(String, Own), StoreError> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(conflict("it begins with postgres://"));
    }
    let mut own = Own { mode: TlsRequirement::Prefer, roots: None };
    let Some((front, query)) = url.split_once('?') else { return Ok((url.to_owned(), own)) };
    let mut rest = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => own.mode = mode_named(mode)?,
            Some(("sslrootcert", file)) => own.roots = Some(unescaped(file)?),
            _ => rest.push(pair),
        }
    }
    let rest = rest.join("&");
    Ok((if rest.is_empty() { front.to_owned() } else { format!("{front}?{rest}") }, own))
}

fn mode_named(name: &str) -> Result<TlsRequirement, StoreError> {
    Ok(match name {
        "disable" => TlsRequirement::Disable,
        "prefer" => TlsRequirement::Prefer,
        "require" => TlsRequirement::Require,
        "verify-ca" => TlsRequirement::VerifyCa,
        "verify-full" => TlsRequirement::VerifyFull,
        _ => {
            return Err(conflict("sslmode is one of disable, prefer, require, verify-ca, verify-full"));
        }
    })
}

/// `%2F` and the like (RFC 3986, section 2.1).
fn unescaped(text: &str) -> Result<String, StoreError> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            octets.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let octet = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        octets.push(octet.ok_or_else(|| conflict("a % in it is not followed by two digits"))?);
        rest = &rest[2..];
    }
    String::from_utf8(octets).map_err(|_| conflict("it is not UTF-8"))
}

fn roots_of(file: &str) -> Result<RootCertStore, StoreError> {
    let failed = |why: String| conflict(&format!("sslrootcert {file:?} cannot be read: {why}"));
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(Path::new(file)).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() { Err(failed("it has no certificate".to_owned())) } else { Ok(roots) }
}

fn why_unread(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    // Of these none has more of the URL than the name of a part.
    if source.starts_with("unknown") || source.starts_with("invalid") {
        source
    } else {
        "it cannot be read".to_owned()
    }
}

fn conflict(why: &str) -> StoreError {
    StoreError::Conflict { why: format!("the database's URL: {why}") }
}

/// Whom we believe to be the server.
enum ClientTls {
    Anybody,
    Chain(RootCertStore),
    Name(RootCertStore),
}

impl ClientTls {
    fn config(self) -> Result<ClientConfig, StoreError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let failed = |error: &dyn std::fmt::Display| StoreError::Database { why: format!("TLS: {error}") };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?;
        let verifier = match self {
            ClientTls::Name(roots) => return Ok(builder.with_root_certificates(roots).with_no_client_auth()),
            ClientTls::Anybody => Lenient { provider, chain: None },
            ClientTls::Chain(roots) => {
                let chain = rustls::client::WebPkiServerVerifier::builder_with_provider(
                    Arc::new(roots),
                    Arc::clone(&provider),
                );
                Lenient { provider, chain: Some(chain.build().map_err(|error| failed(&error))?) }
            }
        };
        Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
    }
}

/// Does not ask for the name; with a chain, asks who signed.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<rustls::client::WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        // The name is looked at last, when all else was found good.
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_read_is_refused_in_words_without_its_password() {
        let cases = [
            ("mysql://u:secret@h/d", "begins with postgres://"),
            ("postgres://u:secret@h/d?sslmode=maybe", "sslmode is one of disable, prefer"),
            ("postgres://u:secret@h/d?sslmode=verify-ca", "verify-ca needs sslrootcert"),
            (
                "postgres://u:secret@h/d?sslmode=verify-full&sslrootcert=%2Fno%2Fsuch.pem",
                "\"/no/such.pem\" cannot be read",
            ),
            ("postgres://u:secret@h/d?sslrootcert=%2", "not followed by two digits"),
            ("postgres://u:secret@h/d?colour=red", "unknown option"),
            ("postgres://u:secret@h:port/d", "the database's URL"),
        ];
        for (url, expected) in cases {
            match PgServer::parse(url, &PostgresOptions::default()).err() {
                Some(StoreError::Conflict { why }) => {
                    assert!(why.contains(expected) && !why.contains("secret"), "{url}: {why}");
                }
                other => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_url_may_name_several_servers_and_how_to_speak_to_them() {
        for url in [
            "postgres://u@h/d",
            "postgresql://u:p%40@a:5432,b:5433/d?sslmode=verify-full&connect_timeout=3",
            "postgres://u@[::1]:5432/d?sslmode=disable",
        ] {
            assert!(PgServer::parse(url, &PostgresOptions::default()).is_ok(), "{url}");
        }
        let server = PgServer::parse("postgres://u@a,b/d?sslmode=require", &PostgresOptions::default());
        let config = server.map(|server| server.config);
        let config = config.unwrap();
        assert_eq!((config.get_hosts().len(), config.get_ssl_mode()), (2, SslMode::Require));
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn a_server_is_named_without_who_we_are_to_it() {
        let cases = [
            ("postgres://u:secret@db.example:5433/d?sslmode=disable", "db.example:5433/d"),
            ("postgres://u:secret@a,b:5433/d", "a:5432,b:5433/d"),
            ("postgres://u:secret@[::1]", "[::1]:5432/u"),
        ];
        for (url, name) in cases {
            let Ok(server) = PgServer::parse(url, &PostgresOptions::default()) else { panic!("{url}") };
            assert_eq!(server.name(), name);
        }
    }
}
