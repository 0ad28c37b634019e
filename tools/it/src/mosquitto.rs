//! Debian's mosquitto, a broker that nobody here wrote, and devices at it by mosquitto_sub and mosquitto_pub.

use crate::foreign::needs;
use crate::{eventually, free_port, within};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStdout;

/// It listens after so long.
const START_MAX: Duration = Duration::from_secs(20);
/// A message comes within this.
const MESSAGE_MAX: Duration = Duration::from_secs(60);
/// What Debian's package brings.
const PROGRAM: &str = "/usr/sbin/mosquitto";
/// Begins the line of a message; the rest is log.
const MARK: &str = "MSG|";

/// A broker on ports of its own. Dropping it kills it.
pub struct Mosquitto {
    child: Child,
    folder: TempDir,
    port: u16,
    tls_port: Option<u16>,
}

/// A message as a device got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceMessage {
    /// Response Topic.
    pub response_topic: String,
    /// Correlation Data.
    pub correlation: String,
    /// Message Expiry Interval, seconds.
    pub expiry_s: u64,
    /// It was retained.
    pub retained: bool,
    /// The payload.
    pub payload: String,
}

/// A client that listens on a topic and says something. Dropping it kills it.
pub struct MosquittoDevice {
    _child: tokio::process::Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Mosquitto {
    /// Starts one without TLS.
    pub async fn start() -> Mosquitto {
        Mosquitto::start_on(free_port(), None).await
    }

    /// Starts one with a second listener that shows this certificate and its key, both PEM.
    pub async fn with_certificate(certificate: &str, key: &str) -> Mosquitto {
        Mosquitto::start_on(free_port(), Some((certificate, key))).await
    }

    async fn start_on(port: u16, identity: Option<(&str, &str)>) -> Mosquitto {
        needs("mosquitto");
        assert!(Path::new(PROGRAM).exists(), "run scripts/install-foreign mosquitto first: no {PROGRAM}");
        let folder = tempfile::Builder::new().prefix("campanile-it-mosquitto-").tempdir().unwrap();
        let tls_port = identity.map(|_| free_port());
        // As root it would become a user who cannot read the folder.
        let mut configuration =
            format!("user root\nallow_anonymous true\npersistence false\nlistener {port} 127.0.0.1\n");
        if let Some(((certificate, key), tls_port)) = identity.zip(tls_port) {
            let [cert_file, key_file] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
            fs::write(&cert_file, certificate).unwrap();
            fs::write(&key_file, key).unwrap();
            configuration += &format!(
                "listener {tls_port} 127.0.0.1\ncertfile {}\nkeyfile {}\n",
                cert_file.display(),
                key_file.display()
            );
        }
        fs::write(folder.path().join("mosquitto.conf"), configuration).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new(PROGRAM)
            .arg("-c")
            .arg(folder.path().join("mosquitto.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mosquitto = Mosquitto { child, folder, port, tls_port };
        eventually("mosquitto listens", START_MAX, async || {
            let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            connected.map(drop).map_err(|error| format!("{error}\n{}", mosquitto.log()))
        })
        .await;
        mosquitto
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where it listens with TLS.
    pub fn tls_address(&self) -> String {
        format!("127.0.0.1:{}", self.tls_port.unwrap())
    }

    /// What it said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A device that listens on this topic by now.
    pub async fn device(&self, topic: &str) -> MosquittoDevice {
        let port = self.port.to_string();
        let format = format!("{MARK}%R|%D|%E|%r|%p");
        // Into a pipe it writes by the block, unless it is told otherwise.
        let mut child = tokio::process::Command::new("stdbuf")
            .args([
                "-oL",
                "mosquitto_sub",
                "-d",
                "-V",
                "5",
                "-p",
                &port,
                "-q",
                "1",
                "-t",
                topic,
                "-F",
                &format,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut device = MosquittoDevice { _child: child, lines, port: self.port };
        within("the device listens", MESSAGE_MAX, device.line_that(|line| line.starts_with("Subscribed")))
            .await;
        device
    }

    /// What a device that comes now finds on a topic.
    pub async fn retained(&self, topic: &str) -> Option<String> {
        let port = self.port.to_string();
        let output = tokio::process::Command::new("mosquitto_sub")
            .args(["-V", "5", "-p", &port, "-t", topic, "--retained-only", "-W", "1", "-C", "1"])
            .output()
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- mosquitto said:\n{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl MosquittoDevice {
    /// The next message.
    pub async fn next(&mut self) -> DeviceMessage {
        let line = within("a message", MESSAGE_MAX, self.line_that(|line| line.starts_with(MARK))).await;
        let mut parts = line[MARK.len()..].splitn(5, '|').map(str::to_owned);
        let mut part = || parts.next().unwrap();
        DeviceMessage {
            response_topic: part(),
            correlation: part(),
            expiry_s: part().parse().unwrap_or(0),
            retained: part() == "1",
            payload: part(),
        }
    }

    /// Says something of a message, as its properties ask for.
    pub async fn say(&self, message: &DeviceMessage, payload: &str) {
        let port = self.port.to_string();
        let status = tokio::process::Command::new("mosquitto_pub")
            .args(["-V", "5", "-p", &port, "-q", "1", "-t", &message.response_topic])
            .args(["-D", "publish", "correlation-data", &message.correlation, "-m", payload])
            .status()
            .await
            .unwrap();
        assert!(status.success(), "mosquitto_pub: {status}");
    }

    async fn line_that(&mut self, is_it: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("mosquitto_sub has ended");
            if is_it(&line) {
                return line;
            }
        }
    }
}
