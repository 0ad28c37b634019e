//! Subject of the measurement: our server with a folder of its own, a bare one, or one that runs already.

use super::load::tls_of;
use super::{BALANCE, DiameterOptions, Transport};
use crate::deployment::{PartProcess, ServerProcess, Usage, free_port};
use rustls::ClientConfig;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// The door opens so long after the HTTP door.
const DOOR_MAX: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What is measured.
pub(super) enum Subject {
    Ours { server: Box<ServerProcess>, address: String, folder: TempDir, tls: Option<Arc<ClientConfig>> },
    Floor(Box<PartProcess>),
    Foreign(String),
}

impl Subject {
    pub(super) async fn open(options: &DiameterOptions) -> Result<Subject, String> {
        if let Some(address) = &options.server {
            return Ok(Subject::Foreign(address.clone()));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix("campanile-bench-");
        let folder = match &options.folder {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        let folder = folder.map_err(|error| format!("no folder for the bench: {error}"))?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let (listen, tls) = match options.transport {
            Transport::Tcp => (format!("listen = \"{address}\"\n"), None),
            // By TCP too, on the same port: that shows when the door is open.
            Transport::Sctp => (format!("listen = \"{address}\"\nlisten_sctp = [\"{address}\"]\n"), None),
            Transport::Tls => {
                let (keys, tls) = certificate(folder.path())?;
                // The door in the clear has a port that nobody asks for.
                let clear = free_port()?;
                (format!("listen = \"127.0.0.1:{clear}\"\nlisten_tls = \"{address}\"\n{keys}"), Some(tls))
            }
        };
        let config = format!(
            "[diameter]\n{listen}origin_host = \"ocs.bench.example\"\norigin_realm = \"bench.example\"\n\
             [charging]\nmode = \"off\"\nfsync = \"{}\"\ndefault_account = {{balance = {BALANCE}}}\n",
            options.fsync
        );
        let placement = &options.placement;
        let server =
            ServerProcess::start_at(&options.program, folder.path(), &config, None, placement).await?;
        let begin = Instant::now();
        while let Err(error) = TcpStream::connect(&address).await {
            if begin.elapsed() > DOOR_MAX {
                return Err(format!("the Diameter door at {address} does not open: {error}"));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        server.settle(placement)?;
        Ok(Subject::Ours { server: Box::new(server), address, folder, tls })
    }

    pub(super) async fn floor() -> Result<Subject, String> {
        Ok(Subject::Floor(Box::new(PartProcess::start(&["credit-floor"]).await?)))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Subject::Ours { .. } => "campanile",
            Subject::Floor(_) => "floor",
            Subject::Foreign(_) => "server",
        }
    }

    pub(super) fn address(&self) -> String {
        match self {
            Subject::Ours { address, .. } | Subject::Foreign(address) => address.clone(),
            Subject::Floor(part) => part.address().to_owned(),
        }
    }

    /// How it is spoken to with TLS, where it is.
    pub(super) fn tls(&self) -> Option<Arc<ClientConfig>> {
        match self {
            Subject::Ours { tls, .. } => tls.clone(),
            Subject::Floor(_) | Subject::Foreign(_) => None,
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        match self {
            Subject::Ours { server, .. } => Some(server.usage()),
            Subject::Floor(part) => Some(part.usage()),
            Subject::Foreign(_) => None,
        }
    }
}

/// A certificate for this run: the configuration's lines, and a client that trusts it.
fn certificate(folder: &Path) -> Result<(String, Arc<ClientConfig>), String> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.map_err(|error| format!("no certificate: {error}"))?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("cert.pem", made.cert.pem())?;
    write("key.pem", made.signing_key.serialize_pem())?;
    let lines =
        format!("tls_cert = {0:?}\ntls_key = {1:?}\n", folder.join("cert.pem"), folder.join("key.pem"));
    Ok((lines, tls_of(made.cert.der())?))
}
