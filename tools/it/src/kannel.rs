use crate::foreign::needs;
use crate::{eventually, free_port};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Both programs listen after so long.
const START_MAX: Duration = Duration::from_secs(20);
/// What Debian's package brings.
const BEARERBOX: &str = "/usr/sbin/bearerbox";
const SMSBOX: &str = "/usr/sbin/smsbox";
/// The setup that `record.py` uses too: a platform `tester`, an SMSC that it binds to as `kannel`.
const CONFIG: &str = include_str!("../foreign/kannel/kannel.conf");
/// Runs a program until nobody holds the other end of its standard input any more.
const UNTIL_ALONE: &str = "\"$0\" \"$1\" </dev/null & read _; kill -9 $!";

/// Debian's Kannel: a bearerbox that is bound to an SMSC, and a smsbox in front of it.
pub struct Kannel {
    boxes: Vec<Child>,
    folder: TempDir,
    sendsms: u16,
}

impl Kannel {
    /// Starts it before an SMSC on this port. What people say is fetched from `callback`, with its escapes.
    pub async fn start(smsc_port: u16, callback: &str) -> Kannel {
        needs("kannel");
        assert!(Path::new(BEARERBOX).exists(), "run scripts/install-foreign first: no {BEARERBOX}");
        let folder = tempfile::Builder::new().prefix("campanile-it-kannel-").tempdir().unwrap();
        let (admin, inner, sendsms) = (free_port(), free_port(), free_port());
        let config = CONFIG
            .replace("@ADMIN_PORT@", &admin.to_string())
            .replace("@BOX_PORT@", &inner.to_string())
            .replace("@SENDSMS_PORT@", &sendsms.to_string())
            .replace("@SMSC_PORT@", &smsc_port.to_string())
            .replace("@CALLBACK@", callback);
        fs::write(folder.path().join("kannel.conf"), config).unwrap();
        let mut kannel = Kannel { boxes: Vec::new(), folder, sendsms };
        kannel.spawn(BEARERBOX);
        kannel.listens(inner).await;
        kannel.spawn(SMSBOX);
        kannel.listens(sendsms).await;
        kannel
    }

    /// Where its `/cgi-bin/sendsms` is.
    pub fn sendsms(&self) -> String {
        format!("http://127.0.0.1:{}/cgi-bin/sendsms", self.sendsms)
    }

    /// What both programs logged.
    pub fn log(&self) -> String {
        ["bearerbox.log", "smsbox.log"]
            .map(|name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default())
            .concat()
    }

    fn spawn(&mut self, program: &str) {
        let name = Path::new(program).file_name().unwrap().to_string_lossy();
        let log = File::create(self.folder.path().join(format!("{name}.log"))).unwrap();
        let child = Command::new("sh")
            .args(["-c", UNTIL_ALONE, program])
            .arg(self.folder.path().join("kannel.conf"))
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.boxes.push(child);
    }

    async fn listens(&self, port: u16) {
        eventually("Kannel listens", START_MAX, async || {
            let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            connected.map(|_| ()).map_err(|error| format!("{error}\n{}", self.log()))
        })
        .await;
    }
}

impl Drop for Kannel {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("--- Kannel's log ends with:\n{}", lines[lines.len().saturating_sub(60)..].join("\n"));
        }
        // The smsbox first: it would say that its bearerbox is gone.
        for child in self.boxes.iter_mut().rev() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
