use crate::eventually;
use crate::foreign::needs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// `submit_sm` (SMPP 3.4, section 5.1.2.1).
const SUBMIT_SM: u32 = 4;
const HEADER_OCTETS: usize = 16;
/// It watches after so long.
const ATTACHED_MAX: Duration = Duration::from_secs(20);

/// `strace` beside a running program: it sees every write to a socket as the program makes it, with the
/// moment before it. The program stands still from that moment until the system has been told, so a stamp is
/// never after its write, and never before the program decided to write.
pub struct SyscallTrace {
    child: Child,
    folder: TempDir,
}

impl SyscallTrace {
    /// Attaches to all threads of a process, and those to come. Ends with the process.
    pub fn attach(pid: u32) -> SyscallTrace {
        needs("strace");
        let folder = tempfile::Builder::new().prefix("campanile-it-strace-").tempdir().unwrap();
        let child = Command::new("strace")
            .args(["-ff", "-ttt", "-xx", "-s", "65536", "-e", "trace=write,writev,sendto,sendmsg", "-p"])
            .arg(pid.to_string())
            .arg("-o")
            .arg(folder.path().join("thread"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start strace (run scripts/install-foreign): {error}"));
        SyscallTrace { child, folder }
    }

    /// Waits until it watches every thread there is: from then on it sees all.
    pub async fn watches(&self, pid: u32) {
        let entries = |path: &Path| std::fs::read_dir(path).map_or(0, Iterator::count);
        eventually("strace watches", ATTACHED_MAX, async || {
            let threads = entries(&Path::new("/proc").join(pid.to_string()).join("task"));
            let watched = entries(self.folder.path());
            if watched >= threads { Ok(()) } else { Err(format!("{watched} of {threads} threads")) }
        })
        .await;
    }

    /// Waits until the process has ended; microseconds since 1970 of every `submit_sm` it wrote, in order.
    pub fn submits(self) -> Vec<u64> {
        self.submits_by_destination().into_iter().map(|(stamp, _)| stamp).collect()
    }

    /// The same, each with the number it was for.
    pub fn submits_by_destination(mut self) -> Vec<(u64, String)> {
        self.child.wait().unwrap();
        let mut submits = Vec::new();
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            read(&entry.unwrap().path(), &mut submits);
        }
        submits.sort_unstable();
        submits
    }
}

/// Lines look like `1795296737.123456 sendto(12, "\x00\x00…", 57, MSG_NOSIGNAL, NULL, 0) = 57`.
fn read(path: &Path, found: &mut Vec<(u64, String)>) {
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let Some((stamp, call)) = line.split_once(' ') else { continue };
        let Some((_, written)) = call.rsplit_once(" = ") else { continue };
        let octets = octets(call);
        let written = written.split(' ').next().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        let micros = (stamp.parse::<f64>().unwrap() * 1e6).round() as u64;
        let numbers = destinations(&octets[..written.min(octets.len())]);
        found.extend(numbers.into_iter().map(|number| (micros, number)));
    }
}

/// What stands between quotes, all of it hexadecimal; several pieces of one call are one after another.
fn octets(call: &str) -> Vec<u8> {
    let pieces = call.split('"').skip(1).step_by(2);
    pieces
        .flat_map(|piece| piece.split("\\x").skip(1))
        .map(|hex| u8::from_str_radix(&hex[..2], 16).unwrap())
        .collect()
}

/// Whom the submissions among what was written are for. What is no SMPP at all has none.
fn destinations(mut octets: &[u8]) -> Vec<String> {
    let mut numbers = Vec::new();
    while octets.len() >= HEADER_OCTETS {
        let word =
            |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let length = word(0) as usize;
        if !(HEADER_OCTETS..=octets.len()).contains(&length) {
            break;
        }
        if word(4) == SUBMIT_SM {
            numbers.push(destination(&octets[HEADER_OCTETS..length]));
        }
        octets = &octets[length..];
    }
    numbers
}

/// `destination_addr` (SMPP 3.4, section 4.4.1): behind the type of service, and the source with its two
/// octets.
fn destination(body: &[u8]) -> String {
    let mut rest = body;
    let mut word = |skipped: usize| {
        let from = rest.get(skipped..).unwrap_or_default();
        let end = from.iter().position(|octet| *octet == 0).unwrap_or(from.len());
        rest = from.get(end + 1..).unwrap_or_default();
        String::from_utf8_lossy(&from[..end]).into_owned()
    };
    word(0);
    word(2);
    word(2)
}
