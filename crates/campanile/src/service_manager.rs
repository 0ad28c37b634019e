//! The service manager's socket: systemd is told when the server is ready, reloads, stops, and that its
//! engine is alive (sd_notify(3), without a library).

use rustix::time::{ClockId, clock_gettime};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// Asked so often within the watchdog's time.
const PINGS: u32 = 3;

/// Who started the process; says nothing where nobody listens.
#[derive(Debug, Clone, Default)]
pub struct ServiceManager {
    socket: Option<Arc<UnixDatagram>>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The one that the environment names: `NOTIFY_SOCKET`, and `WATCHDOG_USEC` where it wants signs of life.
    pub fn from_environment() -> ServiceManager {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return ServiceManager::default();
        };
        let variable = |name: &str| std::env::var(name).ok();
        let watchdog = watchdog(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"), std::process::id());
        match connect(&name) {
            Ok(socket) => ServiceManager { socket: Some(Arc::new(socket)), watchdog },
            Err(error) => {
                let name: OsString = name;
                tracing::warn!(socket = %name.display(), %error, "the service manager's NOTIFY_SOCKET cannot be used");
                ServiceManager::default()
            }
        }
    }

    /// The doors listen, or a reload is done.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// A reload begins.
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let us = now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000);
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={us}"));
    }

    /// The server stops.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Gives a sign of life, again and again, whenever `is_alive` answers true in time; not at all where none
    /// is wanted. A server that hangs gives none, and is started anew.
    pub async fn keep_watch<F>(self, mut is_alive: impl FnMut() -> F)
    where
        F: Future<Output = bool>,
    {
        let Some(watchdog) = self.watchdog else { return };
        let every = watchdog / PINGS;
        loop {
            match tokio::time::timeout(every, is_alive()).await {
                Ok(true) => self.tell("WATCHDOG=1"),
                Ok(false) => {
                    tracing::error!("the engine has ended: the service manager gets no sign of life")
                }
                Err(_) => tracing::error!(
                    within = ?every,
                    "the engine does not answer: the service manager gets no sign of life"
                ),
            }
            tokio::time::sleep(every).await;
        }
    }

    fn tell(&self, what: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(what.as_bytes()) {
            tracing::warn!(what, %error, "the service manager cannot be told");
        }
    }
}

/// The time within which signs of life are wanted, if from this process.
fn watchdog(us: Option<String>, pid: Option<String>, own: u32) -> Option<Duration> {
    if pid.is_some_and(|pid| pid.parse() != Ok(own)) {
        return None;
    }
    let us: u64 = us?.parse().ok()?;
    (us > 0).then(|| Duration::from_micros(us))
}

/// A path, or behind `@` a name in the abstract namespace.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "is neither a path nor @NAME")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // A manager that does not read must not stop the server.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn manager(socket: UnixDatagram) -> ServiceManager {
        ServiceManager { socket: Some(Arc::new(socket)), watchdog: Some(Duration::from_millis(30)) }
    }

    fn heard(socket: &UnixDatagram) -> String {
        let mut octets = [0; 256];
        let length = socket.recv(&mut octets).unwrap();
        String::from_utf8(octets[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_manager_is_told_by_a_path_and_by_an_abstract_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let name = format!("@campanile-test-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name.as_bytes()[1..]).unwrap();
        for (socket, name) in [
            (UnixDatagram::bind(&path).unwrap(), path.as_os_str()),
            (UnixDatagram::bind_addr(&abstract_address).unwrap(), OsStr::new(&name)),
        ] {
            let manager = manager(connect(name).unwrap());
            manager.ready();
            manager.reloading();
            manager.stopping();
            assert_eq!(heard(&socket), "READY=1");
            let reloading = heard(&socket);
            let us = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
            assert!(us.parse::<u64>().unwrap() > 0);
            assert_eq!(heard(&socket), "STOPPING=1");
        }
        for name in ["", "relative", "/nonexistent/notify", "@"] {
            assert!(connect(OsStr::new(name)).is_err(), "{name:?}");
        }
        // Nobody listens: nothing happens.
        ServiceManager::default().ready();
    }

    #[test]
    fn signs_of_life_are_wanted_of_the_process_that_is_named() {
        let some = |text: &str| Some(text.to_owned());
        let cases = [
            (some("30000000"), None, Some(30)),
            (some("30000000"), some("7"), Some(30)),
            (some("30000000"), some("8"), None),
            (some("30000000"), some("x"), None),
            (some("0"), None, None),
            (some("x"), None, None),
            (None, some("7"), None),
        ];
        for (us, pid, expected) in cases {
            let found = watchdog(us.clone(), pid.clone(), 7);
            assert_eq!(found, expected.map(Duration::from_secs), "{us:?} {pid:?}");
        }
    }

    #[tokio::test]
    async fn a_sign_of_life_is_given_while_the_engine_answers_and_at_no_other_time() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let (asked, enough) = (AtomicU32::new(0), tokio::sync::Notify::new());
        // It answers twice, then that it ended, then not at all.
        let is_alive = || async {
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => true,
                2 => false,
                4 => {
                    enough.notify_one();
                    std::future::pending().await
                }
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = manager(ours).keep_watch(is_alive) => panic!("the watch ended"),
            // It goes on asking whoever does not answer.
            () = enough.notified() => {}
        }
        let pings: Vec<String> = (0..2).map(|_| heard(&theirs)).collect();
        assert_eq!(pings, ["WATCHDOG=1", "WATCHDOG=1"]);
        assert!(theirs.recv(&mut [0; 16]).is_err(), "no third");
    }
}
