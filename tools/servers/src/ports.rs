//! Loopback ports for servers that must know theirs before they start (a cluster's nodes name each other).
//! They are taken below the range from which the kernel gives ports to outgoing connections, and a lock file
//! keeps two test processes from the same one.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

const PORT_MIN: u16 = 20_000;
const PORT_MAX: u16 = 31_999;

/// A port that no other test has, until this is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Takes a free one.
    ///
    /// # Panics
    /// If none of the 12,000 is free.
    pub fn take() -> Port {
        let folder = lock_folder();
        // Processes begin at different places, so that they seldom try the same.
        let span = u32::from(PORT_MAX - PORT_MIN) + 1;
        let begin = std::process::id().wrapping_mul(97) % span;
        for step in 0..span {
            let number = PORT_MIN + u16::try_from((begin + step) % span).unwrap_or(0);
            let Ok(lock) = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(folder.join(number.to_string()))
            else {
                continue;
            };
            if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Port { number, _lock: lock };
            }
        }
        panic!("no port from {PORT_MIN} to {PORT_MAX} is free on loopback: see what listens there")
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

fn lock_folder() -> PathBuf {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    #[allow(unsafe_code)]
    let user = unsafe { libc::geteuid() };
    let folder = std::env::temp_dir().join(format!("campanile-ports-{user}"));
    fs::create_dir_all(&folder).unwrap_or_else(|error| {
        panic!("{} cannot be made: {error}; set TMPDIR to a folder that can be written", folder.display())
    });
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_to_one_at_a_time() {
        let ports: Vec<Port> = (0..8).map(|_| Port::take()).collect();
        let mut numbers: Vec<u16> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ports.len());
    }
}
