use super::{Api, Placement, Usage};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A server is ready after so long.
const READY_MAX: Duration = Duration::from_secs(60);
/// And asked this often.
const READY_EVERY: Duration = Duration::from_millis(20);
/// Names the file of write stamps to the server.
const STAMPS: &str = "CAMPANILE_WRITE_STAMPS";
/// So much of its log is shown when it does not come up.
const LOG_SHOWN: u64 = 4 * 1024;

/// `campanile serve` as a child process. Dropping it kills it.
pub(crate) struct ServerProcess {
    child: Child,
    address: String,
    token: String,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts the program with this configuration (`[http]` is added) and its data below `folder`, and waits
    /// until it takes alerts. It writes down each write of its gateways in `stamps`, where that is named.
    ///
    /// # Errors
    /// It does not come up, with the end of its log.
    pub(crate) async fn start(
        program: &Path,
        folder: &Path,
        config: &str,
        stamps: Option<&Path>,
    ) -> Result<ServerProcess, String> {
        ServerProcess::start_at(program, folder, config, stamps, &Placement::default()).await
    }

    /// The same, on these processors and with this allocator.
    ///
    /// # Errors
    /// As [`ServerProcess::start`]; it cannot be placed so.
    pub(crate) async fn start_at(
        program: &Path,
        folder: &Path,
        config: &str,
        stamps: Option<&Path>,
        placement: &Placement,
    ) -> Result<ServerProcess, String> {
        let describe = |error: io::Error| format!("cannot start {}: {error}", program.display());
        let address = format!("127.0.0.1:{}", free_port()?);
        let path = folder.join("campanile.toml");
        // Callbacks and reports go to this machine.
        let config = format!(
            "[http]\nlisten = \"{address}\"\npublic_url = \"http://{address}\"\n{config}\n\
             [outbound]\nallow = [\"127.0.0.0/8\"]\n"
        );
        std::fs::write(&path, config).map_err(describe)?;
        let log = folder.join("server.log");
        let mut command = Command::new(program);
        command
            .arg("serve")
            .arg("--config")
            .arg(&path)
            .arg("--data")
            .arg(folder.join("data"))
            .envs(stamps.map(|stamps| (STAMPS, stamps)))
            .envs(placement.environment())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).map_err(describe)?)
            .kill_on_drop(true);
        let mut child = placement.spawn(|| command.spawn()).map_err(describe)?;
        let output = child.stdout.take().ok_or("the server has no standard output")?;
        let mut server = ServerProcess { child, address, token: String::new(), log };
        let mut lines = BufReader::new(output).lines();
        let line = tokio::time::timeout(READY_MAX, lines.next_line()).await;
        let line = line.ok().and_then(Result::ok).flatten().unwrap_or_default();
        let token = line.strip_prefix("admin token: ").ok_or_else(|| server.failed("gave no admin token"))?;
        server.token = token.trim().to_owned();
        // What else it says must not stop it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        server.ready().await?;
        server.settle(placement)?;
        Ok(server)
    }

    /// Binds the threads it has by now, and looks whether it has the allocator that was asked for.
    ///
    /// # Errors
    /// It is not so.
    pub(crate) fn settle(&self, placement: &Placement) -> Result<(), String> {
        placement.settle(self.child.id().ok_or("the server ended")?)
    }

    async fn ready(&mut self) -> Result<(), String> {
        let api = self.api()?;
        let begin = Instant::now();
        while !api.is_ready().await {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return Err(self.failed("ended"));
            }
            if begin.elapsed() > READY_MAX {
                return Err(self.failed("did not become ready"));
            }
            tokio::time::sleep(READY_EVERY).await;
        }
        Ok(())
    }

    fn failed(&self, what: &str) -> String {
        format!("the server {what}; its log ends with:\n{}", tail(&self.log))
    }

    /// A client with the administrator's token.
    pub(crate) fn api(&self) -> Result<Api, String> {
        Api::new(&format!("http://{}", self.address), &self.token)
    }

    /// `host:port` of its HTTP door.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.child.id().and_then(Usage::of).unwrap_or_default()
    }
}

/// A port of 127.0.0.1 that nobody listens on.
///
/// # Errors
/// There is none.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("no free port: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("no free port: {error}"))?;
    Ok(address.port())
}

fn tail(path: &Path) -> String {
    let Ok(mut file) = File::open(path) else { return String::new() };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut octets = Vec::new();
    let from = SeekFrom::Start(length.saturating_sub(LOG_SHOWN));
    let _ = file.seek(from).and_then(|_| file.read_to_end(&mut octets));
    String::from_utf8_lossy(&octets).into_owned()
}
