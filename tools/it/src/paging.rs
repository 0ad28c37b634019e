//! Paging servers that nobody here wrote: Net::SNPP::Server of Perl, and the pager door of HylaFAX.

use crate::foreign::{ForeignProgram, needs};
use crate::free_port;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `foreign/perl/snpp_server.pl` at work.
pub struct NetSnpp {
    program: ForeignProgram,
    port: u64,
    _folder: tempfile::TempDir,
}

impl NetSnpp {
    /// Starts one.
    pub async fn start() -> NetSnpp {
        needs("pager");
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign/perl/snpp_server.pl");
        let mut command = Command::new("perl");
        command.arg(script).arg(folder.path());
        let program = ForeignProgram::start("Net::SNPP::Server", command);
        let port = program.first(&["listening"]).await["port"].as_u64().unwrap();
        NetSnpp { program, port, _folder: folder }
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Pages that it took, in their order.
    pub fn pages(&self) -> Vec<Value> {
        self.program.events("page")
    }

    /// Questions for two-way pages that it answered.
    pub fn questions(&self) -> Vec<Value> {
        self.program.events("asked")
    }
}

/// HylaFAX's faxq and hfaxd, unpacked and without a modem: a page is queued, and its SEND waits for a modem.
pub struct Hylafax {
    daemons: Vec<Child>,
    port: u16,
    spool: PathBuf,
    _folder: tempfile::TempDir,
}

impl Hylafax {
    /// Starts it; needs root, since both programs become the user `uucp`.
    pub async fn start() -> Hylafax {
        let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign/debian/hylafax");
        assert!(unpacked.join("complete").exists(), "run scripts/install-foreign pager first");
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        let copied =
            Command::new("cp").arg("-a").arg(unpacked.join("var/spool/hylafax")).arg(&spool).status();
        assert!(copied.unwrap().success());
        for (name, text) in [
            ("hosts.hfaxd", ".*\n"),
            ("pagermap", "^5551[0-9]*\t5551212/&\n.*\treject\n"),
            ("config", "LogFacility: daemon\n"),
            ("setup.cache", ""),
        ] {
            fs::write(spool.join("etc").join(name), text).unwrap();
        }
        for (program, path) in [("chmod", "600"), ("chown", "uucp:uucp")] {
            let mut command = Command::new(program);
            match program {
                "chmod" => command.arg(path).arg(spool.join("etc/hosts.hfaxd")),
                _ => command.args(["-R", path]).arg(folder.path()),
            };
            assert!(command.status().unwrap().success(), "HylaFAX runs as uucp, which only root can prepare");
        }
        let open = Command::new("chmod").arg("755").arg(folder.path()).status();
        assert!(open.unwrap().success());
        let port = free_port();
        let start = |name: &str, arguments: &[&str]| {
            Command::new(unpacked.join("usr/sbin").join(name))
                .env("LD_LIBRARY_PATH", unpacked.join("usr/lib/hylafax"))
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .process_group(0)
                .spawn()
                .unwrap_or_else(|error| panic!("cannot start {name}: {error}"))
        };
        let (queue, listen) = (spool.display().to_string(), port.to_string());
        // Without -l it would listen everywhere.
        let daemons = vec![
            start("faxq", &["-D", "-q", &queue]),
            start("hfaxd", &["-d", "-q", &queue, "-l", "127.0.0.1", "-s", &listen]),
        ];
        Hylafax { daemons, port, spool, _folder: folder }
    }

    /// Where its pager door is.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The files of its queued jobs, as text.
    pub fn jobs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.spool.join("sendq")) else { return Vec::new() };
        let jobs = entries.filter_map(Result::ok).map(|entry| entry.path());
        let is_job = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
                name.strip_prefix('q').is_some_and(|number| number.parse::<u32>().is_ok())
            })
        };
        jobs.filter(is_job).filter_map(|path| fs::read_to_string(path).ok()).collect()
    }

    /// Ends both programs, and every session with them.
    pub fn kill(&mut self) {
        for daemon in &mut self.daemons {
            // A session of hfaxd is a process of its own.
            let group = format!("-{}", daemon.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = daemon.wait();
        }
        self.daemons.clear();
    }
}

impl Drop for Hylafax {
    fn drop(&mut self) {
        self.kill();
    }
}
