use crate::{Api, eventually, free_port};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// A server is ready after so long, replay of its log included.
const READY_MAX: Duration = Duration::from_secs(60);
/// And in the guest, which is emulated: many times as slow.
const READY_IN_GUEST_MAX: Duration = Duration::from_secs(300);
/// A server that was told to stop has ended after so long.
const STOP_MAX: Duration = Duration::from_secs(30);
/// So much of its log is shown when a test fails.
const LOG_SHOWN: u64 = 16 * 1024;

/// How a server is set up.
#[derive(Debug, Default)]
pub struct Setup {
    /// What stands in its configuration behind `[http]` with its port.
    pub config: String,
    /// More keys of `[http]`.
    pub http: String,
    /// Where its data are, if not in the server's own folder.
    pub data: Option<PathBuf>,
    /// More of its environment.
    pub environment: Vec<(String, String)>,
    /// Its HTTP port, if not one of its own.
    pub port: Option<u16>,
}

/// A running `campanile serve`. Dropping it kills it.
pub struct Server {
    folder: TempDir,
    data: PathBuf,
    port: u16,
    token: String,
    environment: Vec<(String, String)>,
    child: Option<Child>,
    /// Lines of its standard output, of all its runs.
    said: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts one with this configuration (`[http]` is added) and waits until it takes alerts.
    pub async fn start(config: &str) -> Server {
        Server::start_with(Setup { config: config.to_owned(), ..Setup::default() }).await
    }

    /// Starts one as it is set up, and waits until it takes alerts.
    pub async fn start_with(setup: Setup) -> Server {
        let mut server = Server::spawned(setup);
        server.token = server.first_token().await;
        server.ready().await;
        server
    }

    /// Starts one as it is set up, and does not wait. It knows no token.
    pub fn spawned(setup: Setup) -> Server {
        let folder = tempfile::Builder::new().prefix("campanile-it-").tempdir().unwrap();
        let data = setup.data.unwrap_or_else(|| folder.path().join("data"));
        let port = setup.port.unwrap_or_else(free_port);
        let base = format!("http://127.0.0.1:{port}");
        let config = format!(
            "[http]\nlisten = \"127.0.0.1:{port}\"\npublic_url = \"{base}\"\n{}\n{}\n{}",
            setup.http,
            setup.config,
            outbound(&setup.config)
        );
        fs::write(folder.path().join("campanile.toml"), config).unwrap();
        let environment = setup.environment;
        let (token, said) = (String::new(), Arc::default());
        let mut server = Server { folder, data, port, token, environment, child: None, said };
        server.spawn();
        server
    }

    /// The token that a first start says.
    async fn first_token(&mut self) -> String {
        let line = eventually("the server says its first token", ready_max(), async || {
            assert!(self.is_alive(), "the server ended:\n{}", self.log());
            self.said().first().cloned().ok_or_else(|| self.log())
        })
        .await;
        let token = line.strip_prefix("admin token: ").unwrap_or_else(|| panic!("no token in {line:?}"));
        assert!(token.starts_with("cmp_"), "{token}");
        token.trim().to_owned()
    }

    /// What it said on its standard output, of all its runs: a line each.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    /// The same server, for a client that has this token.
    pub fn set_token(&mut self, token: &str) {
        token.clone_into(&mut self.token);
    }

    /// A client with the administrator's token.
    pub fn api(&self) -> Api {
        Api::new(&self.url(), &self.token)
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The administrator's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Its configuration, as a file that may be changed.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("campanile.toml")
    }

    /// The process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether the process is still there.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    /// Ends it as a power cut would, as far as a process goes: SIGKILL.
    pub fn kill9(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Tells it to stop (SIGTERM) and waits until it has.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal(libc::SIGTERM);
        let mut child = self.child.take().expect("it runs");
        let log = self.folder.path().join("log");
        eventually("the server stops", STOP_MAX, async || match child.try_wait().unwrap() {
            Some(status) => Ok(status),
            None => Err(tail(&log)),
        })
        .await
    }

    /// Sends a signal.
    pub fn signal(&self, signal: i32) {
        let pid = self.pid().expect("it runs");
        let status = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().unwrap();
        assert!(status.success(), "kill: {status}");
    }

    /// Starts it again on the same data and port, and waits until it takes alerts.
    pub async fn restart(&mut self) {
        self.spawn_again();
        self.ready().await;
    }

    /// The same, when it has ended by itself, in order.
    pub async fn restart_after_its_end(&mut self) {
        let status = self.child.take().expect("it was started").wait().unwrap();
        assert!(status.success(), "it ended with {status}:\n{}", self.log());
        self.restart().await;
    }

    /// Starts it again on the same data and port, and does not wait.
    pub fn spawn_again(&mut self) {
        assert!(self.child.is_none(), "it runs already");
        self.spawn();
    }

    /// Starts it once with more arguments, and does not wait.
    pub fn spawn_again_with(&mut self, arguments: &[&str]) {
        assert!(self.child.is_none(), "it runs already");
        self.spawn_with(arguments);
    }

    /// Waits until it has ended by itself.
    pub async fn ends(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it was started");
        let log = self.folder.path().join("log");
        eventually("the server ends", READY_MAX, async || match child.try_wait().unwrap() {
            Some(status) => Ok(status),
            None => Err(tail(&log)),
        })
        .await
    }

    /// The last of what it logged.
    pub fn log(&self) -> String {
        tail(&self.folder.path().join("log"))
    }

    /// All that it logged.
    pub fn whole_log(&self) -> String {
        let octets = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&octets).into_owned()
    }

    fn spawn(&mut self) {
        self.spawn_with(&[]);
    }

    fn spawn_with(&mut self, arguments: &[&str]) {
        let log = OpenOptions::new().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let mut child = Command::new(program())
            .arg("serve")
            .arg("--config")
            .arg(self.config())
            .arg("--data")
            .arg(&self.data)
            .args(arguments)
            .current_dir(self.folder.path())
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program().display()));
        let output = BufReader::new(child.stdout.take().unwrap());
        self.child = Some(child);
        let said = Arc::clone(&self.said);
        // Ends with the server: whoever holds the pipe's other end is the child.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                said.lock().unwrap().push(line);
            }
        });
    }

    /// Waits until it takes alerts.
    pub async fn ready(&mut self) {
        let api = self.api();
        eventually("the server is ready", ready_max(), async || {
            assert!(self.is_alive(), "the server ended:\n{}", self.log());
            let request = api.request(reqwest::Method::GET, "/readyz");
            match api.try_send(request).await {
                Ok(reply) if reply.status == 200 => Ok(()),
                Ok(reply) => Err(reply.text),
                Err(error) => Err(error),
            }
        })
        .await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the server's log ends with:\n{}", self.log());
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Callbacks of stories listen on this machine; a story about what may be called has a section of its own.
fn outbound(config: &str) -> &'static str {
    if config.contains("[outbound]") { "" } else { "[outbound]\nallow = [\"127.0.0.0/8\", \"::1\"]\n" }
}

fn ready_max() -> Duration {
    if crate::transport::by_sctp() { READY_IN_GUEST_MAX } else { READY_MAX }
}

fn tail(path: &Path) -> String {
    let Ok(mut file) = File::open(path) else { return "no log".to_owned() };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let _ = file.seek(SeekFrom::Start(length.saturating_sub(LOG_SHOWN)));
    let mut octets = Vec::new();
    let _ = file.read_to_end(&mut octets);
    String::from_utf8_lossy(&octets).into_owned()
}

/// The program under test: `CAMPANILE_BIN`, or what was built beside this test in the same profile.
///
/// # Panics
/// It was not built.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("CAMPANILE_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    // target/PROFILE/deps/it-HASH
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("campanile");
    let name = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    assert!(
        path.exists(),
        "{} is not there: build it first with `cargo build --profile {name} -p campanile -p bench`",
        path.display()
    );
    path
}

/// A `[[route]]` of channel sms and mode live, with more keys. It has a number that people can answer to.
pub fn sms_route(name: &str, address: impl std::fmt::Display, more: &str) -> String {
    format!(
        "[[route]]\nname = \"{name}\"\nchannel = \"sms\"\nmode = \"live\"\naddress = \"{address}\"\n\
         system_id = \"{name}\"\npassword = \"secret\"\n\
         source = {{ton = 1, npi = 1, addr = \"46700000001\"}}\n{more}\n"
    )
}

/// A `[[route]]` of channel mail and mode live, with more keys.
pub fn mail_route(name: &str, address: impl std::fmt::Display, more: &str) -> String {
    format!(
        "[[route]]\nname = \"{name}\"\nchannel = \"mail\"\nmode = \"live\"\naddress = \"{address}\"\n\
         from = \"City of X <alerts@city.test>\"\n{more}\n"
    )
}

/// `[smpp]` on a port of its own, which a server that is started again has again.
pub fn smpp_door(port: u16) -> String {
    format!("[smpp]\nlisten = \"127.0.0.1:{port}\"\n")
}

/// A `[[smpp.client]]` with the password `secret` and an account of its own, with more keys.
pub fn smpp_client(system_id: &str, more: &str) -> String {
    format!(
        "[[smpp.client]]\nsystem_id = \"{system_id}\"\npassword = \"secret\"\naccount = \"{system_id}\"\n{more}\n"
    )
}

/// A `[[platform]]` with the password `secret` and an account of its own, with more keys.
pub fn platform(username: &str, more: &str) -> String {
    format!(
        "[[platform]]\nusername = \"{username}\"\npassword = \"secret\"\naccount = \"{username}\"\n{more}\n"
    )
}
