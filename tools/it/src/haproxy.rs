use crate::eventually;
use crate::foreign::needs;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// It listens after so long.
const START_MAX: Duration = Duration::from_secs(20);
/// What Debian's package brings.
const PROGRAM: &str = "/usr/sbin/haproxy";
/// Connections at a time.
const CONNECTIONS_MAX: u32 = 1_000;

/// How a balancer names its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// In a PROXY header of version 2, before anything else.
    ProxyHeader,
    /// In `X-Forwarded-For` of each request of HTTP.
    ForwardedFor,
}

/// A port of the balancer, the port behind it, and the loopback address that it connects from.
#[derive(Debug, Clone, Copy)]
pub struct Balanced {
    /// Where it listens.
    pub port: u16,
    /// The port of the server.
    pub to: u16,
    /// Its own address, as the server sees it.
    pub from: Ipv4Addr,
    /// How it names its clients.
    pub naming: Naming,
}

/// Debian's haproxy before ports of this machine.
pub struct Haproxy {
    child: Child,
    folder: TempDir,
}

impl Haproxy {
    /// Starts it, and waits until it listens.
    pub async fn start(balanced: &[Balanced]) -> Haproxy {
        needs("haproxy");
        assert!(Path::new(PROGRAM).exists(), "run scripts/install-foreign haproxy first: no {PROGRAM}");
        let folder = tempfile::Builder::new().prefix("campanile-it-haproxy-").tempdir().unwrap();
        fs::write(folder.path().join("haproxy.cfg"), configuration(balanced)).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        // Without -D and -W it stays a single process, which ends with us.
        let child = Command::new(PROGRAM)
            .args(["-db", "-f"])
            .arg(folder.path().join("haproxy.cfg"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let haproxy = Haproxy { child, folder };
        for Balanced { port, .. } in balanced {
            eventually("haproxy listens", START_MAX, async || {
                let connected = tokio::net::TcpStream::connect(("127.0.0.1", *port)).await;
                connected.map(drop).map_err(|error| format!("{error}\n{}", haproxy.log()))
            })
            .await;
        }
        haproxy
    }

    /// What it said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- haproxy said:\n{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(balanced: &[Balanced]) -> String {
    let mut text = format!(
        "global\n  maxconn {CONNECTIONS_MAX}\ndefaults\n  timeout connect 5s\n  timeout client 300s\n  timeout server 300s\n"
    );
    for Balanced { port, to, from, naming } in balanced {
        let (mode, more, header) = match naming {
            Naming::ProxyHeader => ("tcp", "", " send-proxy-v2"),
            Naming::ForwardedFor => ("http", "  option forwardfor\n", ""),
        };
        let _ = write!(
            text,
            "listen p{port}\n  mode {mode}\n{more}  bind 127.0.0.1:{port}\n  server s 127.0.0.1:{to} source {from}{header}\n"
        );
    }
    text
}
