//! A running sender steered from outside: a socket in the file system that takes one line and answers one.
//!
//! `rate 5G` sets the rate, `stop` ends it, `view` tells how it is doing as JSON. The answer is `ok`, the
//! view, or `error: …`.

use crate::error::PacedUdpError;
use crate::sender::{SenderControl, View};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// No line is longer.
const LINE_MAX: u64 = 256;
/// Whoever connects has so long to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The socket, as long as it is held.
pub struct Control {
    path: PathBuf,
    newest: Arc<Mutex<Option<View>>>,
}

impl Control {
    /// Opens it for its owner alone. A socket that nobody answers on any more is replaced.
    pub fn open(path: &Path, helm: SenderControl) -> Result<Control, PacedUdpError> {
        let failed = || PacedUdpError::io(format!("the control socket {}", path.display()));
        if UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            std::fs::remove_file(path).map_err(failed())?;
        }
        let listener = UnixListener::bind(path).map_err(failed())?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed())?;
        let newest: Arc<Mutex<Option<View>>> = Arc::default();
        let shown = newest.clone();
        std::thread::Builder::new()
            .name("udp-control".to_owned())
            .spawn(move || {
                // The thread lives as long as the process: it owns nothing that anybody waits for.
                for asked in listener.incoming().flatten() {
                    let _ = answer(&asked, &helm, &shown);
                }
            })
            .map_err(failed())?;
        Ok(Control { path: path.to_owned(), newest })
    }

    /// What `view` answers from now on.
    pub fn show(&self, view: &View) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(view.clone());
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // It may have been taken away already.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn answer(asked: &UnixStream, helm: &SenderControl, newest: &Mutex<Option<View>>) -> io::Result<()> {
    asked.set_read_timeout(Some(PATIENCE))?;
    asked.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(asked.take(LINE_MAX)).read_line(&mut line)?;
    let reply = match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
        ("rate", text) => match pace::parse_bit_rate(text.trim()) {
            Ok(rate) => helm.set_rate(rate).map(|()| "ok".to_owned()),
            Err(error) => Err(format!("rate: {error}")),
        },
        ("stop", "") => {
            helm.stop();
            Ok("ok".to_owned())
        }
        ("view", "") => {
            let view = newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
            serde_json::to_string(&view).map_err(|error| error.to_string())
        }
        _ => Err("rate RATE, view and stop are possible".to_owned()),
    };
    let reply = reply.unwrap_or_else(|why| format!("error: {why}"));
    let mut asked = asked;
    asked.write_all(format!("{reply}\n").as_bytes())
}

/// Asks a running sender; its answer. Errors: nobody is there, or it refused, in words.
pub fn ask(path: &Path, line: &str) -> Result<String, String> {
    let said = |error: io::Error| {
        format!("{}: {error}; is a `campanile udp send --control` running with this path?", path.display())
    };
    let mut socket = UnixStream::connect(path).map_err(said)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(said)?;
    socket.write_all(format!("{line}\n").as_bytes()).map_err(said)?;
    let mut answer = String::new();
    BufReader::new(socket).read_line(&mut answer).map_err(said)?;
    match answer.trim().strip_prefix("error: ") {
        Some(why) => Err(why.to_owned()),
        None => Ok(answer.trim().to_owned()),
    }
}
