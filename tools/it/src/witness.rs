use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// `submit_sm` (SMPP 3.4, section 5.1.2.1).
const SUBMIT_SM: u32 = 4;
const HEADER_OCTETS: usize = 16;

/// `strace` beside a running program: it sees every write to a socket as the program makes it, with the moment before it.
/// The program stands still from that moment until the system has been told, so a stamp is never after its write, and
/// never before the program decided to write.
pub struct Witness {
    child: Child,
    folder: TempDir,
}

impl Witness {
    /// Attaches to all threads of a process, and those to come. Ends with the process.
    pub fn attach(pid: u32) -> Witness {
        let folder = tempfile::Builder::new().prefix("campanile-it-strace-").tempdir().unwrap();
        let child = Command::new("strace")
            .args(["-ff", "-ttt", "-xx", "-s", "65536", "-e", "trace=write,writev,sendto,sendmsg", "-p"])
            .arg(pid.to_string())
            .arg("-o")
            .arg(folder.path().join("thread"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start strace (run scripts/install-test-peers): {error}"));
        Witness { child, folder }
    }

    /// Waits until the process has ended; microseconds since 1970 of every `submit_sm` it wrote, in order.
    pub fn submits(mut self) -> Vec<u64> {
        self.child.wait().unwrap();
        let mut stamps = Vec::new();
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            read(&entry.unwrap().path(), &mut stamps);
        }
        stamps.sort_unstable();
        stamps
    }
}

/// Lines look like `1795296737.123456 sendto(12, "\x00\x00…", 57, MSG_NOSIGNAL, NULL, 0) = 57`.
fn read(path: &Path, stamps: &mut Vec<u64>) {
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let Some((stamp, call)) = line.split_once(' ') else { continue };
        let Some((_, written)) = call.rsplit_once(" = ") else { continue };
        let octets = octets(call);
        let written = written.split(' ').next().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        let micros = (stamp.parse::<f64>().unwrap() * 1e6).round() as u64;
        stamps.extend(std::iter::repeat_n(micros, submits(&octets[..written.min(octets.len())])));
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

/// How many PDUs of what was written are submissions. What is no SMPP at all has none.
fn submits(mut octets: &[u8]) -> usize {
    let mut count = 0;
    while octets.len() >= HEADER_OCTETS {
        let word =
            |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let length = word(0) as usize;
        if !(HEADER_OCTETS..=octets.len()).contains(&length) {
            break;
        }
        count += usize::from(word(4) == SUBMIT_SM);
        octets = &octets[length..];
    }
    count
}
