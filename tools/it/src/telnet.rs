//! Debian's telnet, a client that nobody here wrote, as a person's terminal.

use crate::foreign::needs;
use crate::within;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A line comes within this.
const LINE_MAX: Duration = Duration::from_secs(120);
/// What the package inetutils-telnet brings.
const PROGRAM: &str = "inetutils-telnet";

/// A client at a port of this machine. Dropping it kills it.
pub struct Telnet {
    _child: Child,
    keyboard: ChildStdin,
    screen: Lines<BufReader<ChildStdout>>,
}

impl Telnet {
    /// Connects.
    pub fn connect(port: u16) -> Telnet {
        needs("telnet");
        let mut child = Command::new(PROGRAM)
            .args(["127.0.0.1", &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start {PROGRAM} (run scripts/install-foreign telnet): {error}")
            });
        let keyboard = child.stdin.take().unwrap();
        let screen = BufReader::new(child.stdout.take().unwrap()).lines();
        Telnet { _child: child, keyboard, screen }
    }

    /// Types a line.
    pub async fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        self.keyboard.flush().await.unwrap();
    }

    /// Reads on until a line contains something.
    pub async fn reads_until(&mut self, part: &str) -> String {
        within(&format!("{part:?} is on the screen"), LINE_MAX, async {
            loop {
                let line = self.screen.next_line().await.unwrap().expect("the client is there");
                if line.contains(part) {
                    return line;
                }
            }
        })
        .await
    }
}
