use crate::credit::SERVER_HOST;
use crate::foreign::{folder, needs};
use crate::free_port;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// Lets Kamailio end all its processes once nobody holds the other end of its standard input any more.
const UNTIL_ALONE: &str = "ulimit -c 0; kamailio -f \"$0/kamailio.cfg\" -DD -E -Y \"$0\" -P \"$0/pid\" -m 32 -M 4 </dev/null & read _; kill $!; wait";
/// No call takes so long; whoever waits for its end gives up.
const CALL_SECONDS_MAX: &str = "100";

/// Debian's Kamailio, which asks a credit-control server for the seconds of each call (`ims_charging`), and
/// sipp on both sides of it.
pub struct Kamailio {
    child: Child,
    folder: TempDir,
    sip: u16,
    callee: u16,
}

impl Kamailio {
    /// Starts it; it connects to the credit-control server on this port of loopback.
    pub fn start(server_port: u16) -> Kamailio {
        needs("kamailio");
        let own = tempfile::Builder::new().prefix("campanile-it-kamailio-").tempdir().unwrap();
        let (sip, callee) = (free_port(), free_port());
        for name in ["cdp.xml", "kamailio.cfg"] {
            let config = fs::read_to_string(scenes().join(name)).unwrap();
            let config = config
                .replace("@SERVER_PORT@", &server_port.to_string())
                .replace("@SERVER_HOST@", SERVER_HOST)
                .replace("@DIAMETER_PORT@", &free_port().to_string())
                .replace("@SIP_PORT@", &sip.to_string())
                .replace("@CALLEE_PORT@", &callee.to_string())
                .replace("@FOLDER@", own.path().to_str().unwrap());
            fs::write(own.path().join(name), config).unwrap();
        }
        let log = File::create(own.path().join("log")).unwrap();
        let child = Command::new("sh")
            .args(["-c", UNTIL_ALONE])
            .arg(own.path())
            .env("PATH", path())
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Kamailio { child, folder: own, sip, callee }
    }

    /// A call of `sip:ann@charging.test` as a scene of `foreign/kamailio` says, to somebody who answers at
    /// once. It has gone as the scene says, or this panics.
    pub async fn call(&self, scene: &str, is_answered: bool) {
        let callee = is_answered.then(|| Sipp::start(self.folder.path(), "callee", self.callee, None));
        let caller = Sipp::start(self.folder.path(), scene, free_port(), Some(self.sip));
        let ended =
            tokio::task::spawn_blocking(move || (caller.ended(), callee.map(Sipp::ended))).await.unwrap();
        for (who, ended) in [("the caller", Some(ended.0)), ("who is called", ended.1)] {
            let Some((output, errors)) = ended else { continue };
            assert!(output.status.success(), "{who}, {scene}: {}\n{errors}\n{}", output.status, self.log());
        }
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Kamailio {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- Kamailio's log:\n{}", self.log());
        }
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn scenes() -> PathBuf {
    folder("kamailio", "callee.xml")
}

/// Kamailio stands where only root's path goes.
fn path() -> String {
    format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default())
}

/// One side of one call.
struct Sipp {
    child: Child,
    errors: PathBuf,
}

impl Sipp {
    fn start(folder: &Path, scene: &str, port: u16, to: Option<u16>) -> Sipp {
        let errors = folder.join(format!("{scene}.errors"));
        let to = to.map_or("127.0.0.1".to_owned(), |port| format!("127.0.0.1:{port}"));
        let child = Command::new("sipp")
            .arg(to)
            .arg("-sf")
            .arg(scenes().join(format!("{scene}.xml")))
            .args(["-i", "127.0.0.1", "-p", &port.to_string(), "-m", "1", "-nostdin"])
            .args(["-timeout", CALL_SECONDS_MAX, "-timeout_error", "-trace_err", "-error_file"])
            .arg(&errors)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir(folder)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start sipp (run scripts/install-foreign): {error}"));
        Sipp { child, errors }
    }

    fn ended(self) -> (Output, String) {
        let output = self.child.wait_with_output().unwrap();
        (output, fs::read_to_string(self.errors).unwrap_or_default())
    }
}
