//! nats-server with JetStream: one, or a cluster of several.

use crate::child::Child;
use crate::folder::Folder;
use crate::foreign::needs;
use crate::ports::Port;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server or a cluster may take until it serves. Machines stall; a server that is not there after
/// this never will be.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// How often it is asked meanwhile.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// How long one question may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// An answer is at most so many octets.
const ANSWER_OCTETS_MAX: usize = 4 * 1024 * 1024;

/// Where the program is: as `scripts/install-foreign` puts it, else in PATH.
pub fn program() -> PathBuf {
    needs("nats");
    let ours = foreign_folder().join("go/bin/nats-server");
    if ours.is_file() { ours } else { PathBuf::from("nats-server") }
}

/// Debian's nats-server 2.9.10, too old for us: to be refused.
///
/// # Panics
/// If it is not there.
pub fn old_program() -> PathBuf {
    let program = foreign_folder().join("debian/nats-server/usr/sbin/nats-server");
    assert!(program.is_file(), "{} is not there: run scripts/install-foreign", program.display());
    program
}

fn foreign_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../it/foreign")
}

/// One server, on its own.
pub struct NatsServer {
    cluster: Cluster,
}

impl NatsServer {
    /// Starts one and waits until its JetStream answers.
    ///
    /// # Panics
    /// If it does not start: says what to install.
    pub fn start() -> NatsServer {
        NatsServer::start_with(&program(), "")
    }

    /// The same with another program and lines of configuration of its own. With `authorization` or an
    /// `operator` in them, or another client port's rules, only that it listens is waited for.
    ///
    /// # Panics
    /// If it does not start: says what to install.
    pub fn start_with(program: &Path, config: &str) -> NatsServer {
        NatsServer { cluster: Cluster::start_nodes(1, program, config, false) }
    }

    /// `nats://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.cluster.node_url(0)
    }

    /// The port for clients.
    pub fn port(&self) -> u16 {
        self.cluster.nodes[0].client.number()
    }

    /// See [`Cluster::ask`].
    pub fn ask(&self, subject: &str, payload: &str) -> Option<String> {
        self.cluster.ask(0, subject, payload)
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub fn kill(&mut self) {
        self.cluster.kill(0);
    }

    /// Stops it where it stands.
    pub fn pause(&self) {
        self.cluster.pause(0);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.cluster.resume(0);
    }

    /// Starts it again on its port and in its folder, and waits until it serves.
    pub fn restart(&mut self) {
        self.cluster.restart(0);
        self.cluster.wait_until_ready();
    }
}

/// Several servers that are one.
pub struct Cluster {
    nodes: Vec<NatsNode>,
    program: PathBuf,
    extra: String,
    /// Its nodes tell clients of each other.
    advertises: bool,
    folder: Folder,
}

struct NatsNode {
    name: String,
    client: Port,
    route: Port,
    child: Option<Child>,
}

impl Cluster {
    /// Starts `count` nodes and waits until they have a leader and take a stream with a replica on each. A
    /// client knows those of them that it was told of, and no others: so its way to each of them can be cut.
    ///
    /// # Panics
    /// If they do not start: says what to install.
    pub fn start(count: usize) -> Cluster {
        Cluster::start_nodes(count, &program(), "", false)
    }

    /// The same of nodes that tell each client of all of them.
    ///
    /// # Panics
    /// If they do not start: says what to install.
    pub fn start_advertising(count: usize) -> Cluster {
        Cluster::start_nodes(count, &program(), "", true)
    }

    fn start_nodes(count: usize, program: &Path, config: &str, advertises: bool) -> Cluster {
        needs("nats");
        assert!((1..=5).contains(&count), "a cluster of 1 to 5 nodes");
        let nodes = (0..count)
            .map(|i| NatsNode {
                name: format!("n{i}"),
                client: Port::take(),
                route: Port::take(),
                child: None,
            })
            .collect();
        let folder = Folder::new("nats");
        let (program, extra) = (program.to_path_buf(), config.to_string());
        let mut cluster = Cluster { nodes, program, extra, advertises, folder };
        for node in 0..count {
            cluster.restart(node);
        }
        cluster.wait_until_ready();
        cluster
    }

    /// All nodes: `nats://127.0.0.1:A,127.0.0.1:B,127.0.0.1:C`.
    pub fn url(&self) -> String {
        let addresses: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.client.number())).collect();
        format!("nats://{}", addresses.join(","))
    }

    /// One node: `nats://127.0.0.1:PORT`.
    pub fn node_url(&self, node: usize) -> String {
        format!("nats://127.0.0.1:{}", self.nodes[node].client.number())
    }

    /// How many nodes it has.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Kills a node (SIGKILL) and waits until it is gone.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].child = None;
    }

    /// Stops a node where it stands: it keeps its connections and says nothing.
    pub fn pause(&self, node: usize) {
        if let Some(child) = &self.nodes[node].child {
            child.pause();
        }
    }

    /// Lets it go on.
    pub fn resume(&self, node: usize) {
        if let Some(child) = &self.nodes[node].child {
            child.resume();
        }
    }

    /// Starts a node (again) on its port and in its folder. Does not wait: see [`Cluster::wait_until_ready`].
    ///
    /// # Panics
    /// If the program cannot be started: says what to install.
    pub fn restart(&mut self, node: usize) {
        self.nodes[node].child = None;
        let config = self.folder.path().join(format!("{}.conf", self.nodes[node].name));
        std::fs::write(&config, self.config_of(node)).expect("the folder was made for this");
        let log = self.folder.path().join(format!("{}.log", self.nodes[node].name));
        let log = std::fs::File::options().create(true).append(true).open(log).expect("in the same folder");
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = Child::spawn(command).unwrap_or_else(|error| {
            panic!("{} cannot be started ({error}): run scripts/install-foreign", self.program.display())
        });
        self.nodes[node].child = Some(child);
    }

    /// Waits until every node that was not killed serves, and a stream with a replica on each of them can be
    /// made.
    ///
    /// # Panics
    /// If that takes longer than three minutes, or a node ends: with the end of its log.
    pub fn wait_until_ready(&self) {
        let begin = Instant::now();
        for node in 0..self.nodes.len() {
            if self.nodes[node].child.is_some() {
                self.wait_for(begin, node, || {
                    TcpStream::connect((Ipv4Addr::LOCALHOST, self.port(node))).is_ok()
                });
            }
        }
        // With rules about who may connect, nobody without a secret can ask more.
        if ["authorization", "operator", "tls", "disabled"].iter().any(|rule| self.extra.contains(rule)) {
            return;
        }
        let running: Vec<usize> = (0..self.nodes.len()).filter(|&i| self.nodes[i].child.is_some()).collect();
        let Some(&first) = running.first() else { return };
        let probe = format!(
            r#"{{"name":"ready-{0}","subjects":["ready-{0}"],"storage":"memory","num_replicas":{1}}}"#,
            std::process::id(),
            running.len()
        );
        let stream = format!("ready-{}", std::process::id());
        self.wait_for(begin, first, || {
            self.ask(first, &format!("$JS.API.STREAM.CREATE.{stream}"), &probe)
                .is_some_and(|answer| !answer.contains(r#""error""#))
        });
        self.wait_for(begin, first, || {
            self.ask(first, &format!("$JS.API.STREAM.DELETE.{stream}"), "")
                .is_some_and(|answer| answer.contains(r#""success":true"#) || answer.contains("not found"))
        });
    }

    /// The node that leads a stream; nothing while none does.
    pub fn leader_of(&self, stream: &str) -> Option<usize> {
        let running = (0..self.nodes.len()).filter(|&i| self.nodes[i].child.is_some());
        for node in running {
            let Some(answer) = self.ask(node, &format!("$JS.API.STREAM.INFO.{stream}"), "") else { continue };
            let Some((_, rest)) = answer.split_once(r#""leader":""#) else { continue };
            let Some((name, _)) = rest.split_once('"') else { continue };
            return self.nodes.iter().position(|node| node.name == name);
        }
        None
    }

    /// Puts a question to a node by the text protocol of NATS and returns the answer's payload; nothing if
    /// there was none in time.
    pub fn ask(&self, node: usize, subject: &str, payload: &str) -> Option<String> {
        ask(self.port(node), subject, payload).ok()
    }

    fn port(&self, node: usize) -> u16 {
        self.nodes[node].client.number()
    }

    fn wait_for(&self, begin: Instant, node: usize, mut is_so: impl FnMut() -> bool) {
        loop {
            if is_so() {
                return;
            }
            let ended = self.nodes[node].child.as_ref().and_then(Child::ended);
            if ended.is_some() || begin.elapsed() > READY_WITHIN {
                let log = self.folder.path().join(format!("{}.log", self.nodes[node].name));
                let log = std::fs::read_to_string(log).unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(20).collect();
                panic!(
                    "nats-server {} does not serve (ended: {ended:?}, after {:?}); its log, newest first:\n{}",
                    self.nodes[node].name,
                    begin.elapsed(),
                    tail.join("\n")
                );
            }
            std::thread::sleep(ASKED_EVERY);
        }
    }

    fn config_of(&self, node: usize) -> String {
        let me = &self.nodes[node];
        let store = self.folder.path().join(&me.name);
        let mut config = format!(
            "server_name: {}\nlisten: \"127.0.0.1:{}\"\nmax_payload: 8MB\njetstream {{ store_dir: \"{}\", max_memory_store: 1GB, \
             max_file_store: 16GB }}\n",
            me.name,
            me.client.number(),
            store.display()
        );
        if self.nodes.len() > 1 {
            let routes: Vec<String> = self
                .nodes
                .iter()
                .map(|other| format!("\"nats-route://127.0.0.1:{}\"", other.route.number()))
                .collect();
            // Writing to a String cannot fail.
            let _ = writeln!(
                config,
                "cluster {{ name: campanile, listen: \"127.0.0.1:{}\", routes: [{}], no_advertise: {} }}",
                me.route.number(),
                routes.join(", "),
                !self.advertises
            );
        }
        config.push_str(&self.extra);
        config
    }
}

/// One request over the text protocol: CONNECT, SUB, PUB, and the first message that comes.
fn ask(port: u16, subject: &str, payload: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_nodelay(true)?;
    let inbox = "_INBOX.servers";
    write!(
        stream,
        "CONNECT {{\"verbose\":false,\"headers\":true,\"no_responders\":true}}\r\nSUB {inbox} 1\r\nPUB {subject} {inbox} \
         {}\r\n{payload}\r\n",
        payload.len()
    )?;
    let mut reader = BufReader::new(stream);
    let until = Instant::now() + ANSWER_WITHIN;
    let mut line = String::new();
    while Instant::now() < until {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line.starts_with("PING") {
            reader.get_mut().write_all(b"PONG\r\n")?;
        } else if line.starts_with("HMSG ") {
            // Only "no responders" comes with a header here.
            return Err(std::io::ErrorKind::NotConnected.into());
        } else if line.starts_with("MSG ") {
            let octets: usize = line
                .split_whitespace()
                .last()
                .and_then(|octets| octets.parse().ok())
                .filter(|&octets| octets <= ANSWER_OCTETS_MAX)
                .ok_or(std::io::ErrorKind::InvalidData)?;
            let mut answer = vec![0; octets];
            reader.read_exact(&mut answer)?;
            return String::from_utf8(answer).map_err(|_| std::io::ErrorKind::InvalidData.into());
        } else if line.starts_with("-ERR") {
            return Err(std::io::Error::other(line.trim().to_string()));
        }
    }
    Err(std::io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_serves_and_chooses_another_leader_when_its_leader_is_killed() {
        let mut cluster = Cluster::start(3);
        let made = cluster
            .ask(0, "$JS.API.STREAM.CREATE.s", r#"{"name":"s","subjects":["s"],"num_replicas":3}"#)
            .expect("an answer");
        assert!(!made.contains(r#""error""#), "{made}");
        let begin = Instant::now();
        let mut leader = None;
        cluster.wait_for(begin, 0, || {
            leader = cluster.leader_of("s");
            leader.is_some()
        });
        let leader = leader.expect("waited for");
        cluster.kill(leader);
        let other = (leader + 1) % 3;
        cluster.wait_for(begin, other, || cluster.leader_of("s").is_some_and(|now| now != leader));
        cluster.restart(leader);
        cluster.wait_until_ready();
    }
}
