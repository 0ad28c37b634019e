//! PostgreSQL: a server of its own, with a database for each who asks.

use crate::child::Child;
use crate::folder::Folder;
use crate::foreign::needs;
use crate::ports::Port;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a server may take until it serves. Machines stall; a server that is not there after this never
/// will be.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// How often it is asked meanwhile.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// The superuser of the server, who needs no password on loopback.
const USER: &str = "campanile";
/// Where Debian puts each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Whom a server runs as when the test is root, who may not: the first that exists.
const ORDINARY_USERS: [&str; 2] = ["postgres", "nobody"];
/// Nothing is synced, since tests do not cut the power. Otherwise as a server is.
const SETTINGS: [&str; 8] = [
    "fsync=off",
    "full_page_writes=off",
    "max_connections=400",
    "shared_buffers=64MB",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "log_destination=stderr",
    "logging_collector=off",
];

/// One server. It ends with its test process, whatever ends that, or when dropped.
#[derive(Debug)]
pub struct PostgresServer {
    child: Mutex<Option<Child>>,
    port: Port,
    databases: AtomicU64,
    settings: Vec<String>,
    folder: Folder,
}

impl PostgresServer {
    /// The one server of this test process, started by whoever asks first. For tests that leave it running.
    pub fn shared() -> &'static PostgresServer {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(PostgresServer::start)
    }

    /// Starts one and waits until it serves.
    ///
    /// # Panics
    /// If it does not start: says what to install.
    pub fn start() -> PostgresServer {
        PostgresServer::start_with(&[])
    }

    /// The same with settings (`name=value`) of its own.
    ///
    /// # Panics
    /// If it does not start: says what to install.
    pub fn start_with(settings: &[&str]) -> PostgresServer {
        needs("postgresql");
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let folder = Folder::new("postgres");
        let server = PostgresServer {
            child: Mutex::default(),
            port: Port::take(),
            databases: AtomicU64::new(0),
            settings,
            folder,
        };
        server.make_data();
        server.restart();
        server
    }

    /// `postgres://campanile@127.0.0.1:PORT/DATABASE`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port.number())
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The folder of its data, for certificates that it is to show.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Makes an empty database and answers with its URL.
    ///
    /// # Panics
    /// If the server refuses: with its words.
    pub fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Runs SQL in a database as the superuser, and answers with what `psql` prints: rows, columns separated
    /// by `|`.
    ///
    /// # Panics
    /// If the server refuses: with its words.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(program("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]).arg(self.url(database));
        run(psql, sql)
    }

    /// Kills it and all its processes (SIGKILL), and waits until it is gone.
    pub fn kill(&self) {
        let Some(child) = self.child().take() else { return };
        // Stopped, it forks no more and waits for none of its children, so their numbers stay theirs.
        child.pause();
        let processes = children(child.id());
        for id in &processes {
            signal(*id, libc::SIGKILL);
        }
        while processes.iter().any(|id| runs(*id)) {
            std::thread::sleep(ASKED_EVERY);
        }
        child.kill();
    }

    /// Stops it where it stands, with all its processes: they keep their connections and say nothing.
    pub fn pause(&self) {
        if let Some(child) = self.child().as_ref() {
            child.pause();
            for id in children(child.id()) {
                signal(id, libc::SIGSTOP);
            }
        }
    }

    /// Lets it go on.
    pub fn resume(&self) {
        if let Some(child) = self.child().as_ref() {
            for id in children(child.id()) {
                signal(id, libc::SIGCONT);
            }
            child.resume();
        }
    }

    /// Ends it if it runs, starts it again on its port and with its data, and waits until it serves.
    ///
    /// # Panics
    /// If it does not start: with the end of its log.
    pub fn restart(&self) {
        let mut running = self.child();
        if let Some(child) = running.take() {
            end(&child);
        }
        let begin = Instant::now();
        let mut child = self.spawn();
        loop {
            let mut ready = Command::new(program("pg_isready"));
            ready.args(["-q", "-h", "127.0.0.1", "-U", USER, "-p", &self.port.number().to_string()]);
            if ready.status().is_ok_and(|status| status.success()) {
                break;
            }
            assert!(begin.elapsed() < READY_WITHIN, "postgres does not serve; its log:\n{}", self.log());
            // A process of the server before it may hold its memory for a moment longer.
            if child.ended().is_some() {
                child = self.spawn();
            }
            std::thread::sleep(ASKED_EVERY);
        }
        *running = Some(child);
    }

    fn make_data(&self) {
        let data = self.data();
        fs::create_dir(&data).expect("the folder was made for this");
        if let Some((user, group)) = ordinary_user() {
            std::os::unix::fs::chown(&data, Some(user), Some(group)).expect("root may");
        }
        let mut initdb = Command::new(program("initdb"));
        initdb.args([
            "-A",
            "trust",
            "-U",
            USER,
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]);
        initdb.arg("-D").arg(&data);
        run(as_ordinary_user(initdb), "initdb");
    }

    fn spawn(&self) -> Child {
        let log = self.folder.path().join("log");
        let log = fs::File::options().create(true).append(true).open(log).expect("in the same folder");
        let mut command = Command::new(program("postgres"));
        command.arg("-D").arg(self.data()).args(["-p", &self.port.number().to_string()]);
        for setting in SETTINGS.into_iter().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // SIGQUIT ends it at once, but not without its shared memory, of which a machine has a bounded number
        // of pieces.
        Child::spawn_to_end_by(as_ordinary_user(command), libc::SIGQUIT)
            .unwrap_or_else(|error| absent("postgres", &error))
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.resume();
        if let Some(child) = self.child().take() {
            end(&child);
        }
    }
}

/// At once: clients are not waited for.
fn end(child: &Child) {
    child.end_by(libc::SIGQUIT);
}

/// In PATH, else of the newest version that Debian has installed.
fn program(name: &str) -> PathBuf {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin").join(name)))
        })
        .filter(|(_, program)| program.is_file())
        .collect();
    versions.sort();
    versions.pop().map_or_else(|| PathBuf::from(name), |(_, program)| program)
}

fn absent(what: &str, error: &std::io::Error) -> ! {
    panic!("{what} cannot be started ({error}): run scripts/install-foreign")
}

fn run(mut command: Command, what: &str) -> String {
    command.current_dir("/").stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| absent(what, &error));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} failed ({}): {words}", output.status);
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// PostgreSQL refuses to run as root.
fn as_ordinary_user(mut command: Command) -> Command {
    if let Some((user, group)) = ordinary_user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/");
    command
}

/// User and group numbers of whom to run as, if we are root.
fn ordinary_user() -> Option<(u32, u32)> {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    #[allow(unsafe_code)]
    let user = unsafe { libc::geteuid() };
    if user != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("every system has its users");
    let number = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    let found = ORDINARY_USERS.into_iter().find_map(number);
    Some(found.expect("a user postgres or nobody is there: PostgreSQL refuses to run as root"))
}

/// The processes whose parent this is (proc(5), `stat`).
fn children(parent: i32) -> Vec<i32> {
    let parent_of = |folder: &Path| -> Option<i32> {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // The name before it may hold anything, also blanks and brackets.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    ids.filter(|(_, folder)| parent_of(folder) == Some(parent)).map(|(id, _)| id).collect()
}

/// It is there, and not only as what its parent has not asked after yet.
fn runs(id: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

fn signal(id: i32, signal: i32) {
    // SAFETY: kill takes two numbers and touches no memory of ours.
    #[allow(unsafe_code)]
    unsafe {
        libc::kill(id, signal)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_server_comes_back_with_what_was_committed() {
        let server = PostgresServer::start();
        let url = server.create_database();
        let (_, database) = url.rsplit_once('/').expect("a path");
        server.sql(database, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)");
        let processes = children(server.child().as_ref().expect("runs").id());
        assert!(processes.len() > 2, "{processes:?}");
        server.kill();
        assert_eq!(processes.iter().find(|id| runs(**id)), None, "one lives on");
        server.restart();
        assert_eq!(server.sql(database, "SELECT n FROM t"), "7");
        server.pause();
        server.resume();
        assert_eq!(server.sql(database, "SELECT n + 1 FROM t"), "8");
    }
}
