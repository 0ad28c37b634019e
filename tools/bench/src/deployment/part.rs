use super::Usage;
use super::carrier::said_behind;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// It listens, and answers, after so long.
const READY_MAX: Duration = Duration::from_secs(30);

/// `campanile-bench part …` as a child process: the other side of a measurement, with CPU time of its own.
/// For each line of input it prints one line of JSON; it ends with its input. Dropping it kills it.
pub(crate) struct PartProcess {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    addresses: Vec<String>,
}

/// The bench's own executable, whose parts run as processes of their own.
///
/// # Errors
/// The system does not tell its path.
pub(crate) fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("the bench's own path is not known: {error}"))
}

impl PartProcess {
    /// # Errors
    /// It does not come up.
    pub(crate) async fn start(arguments: &[&str]) -> Result<PartProcess, String> {
        let what = arguments.first().copied().unwrap_or_default();
        let mut child = Command::new(this_program()?)
            .arg("part")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start the bench's {what}: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).ok_or("a part of the bench has no pipes")?;
        let mut output = BufReader::new(output).lines();
        let told = tokio::time::timeout(READY_MAX, said_behind(&mut output, "listening on ")).await;
        let told = told.ok().flatten().ok_or_else(|| format!("the bench's {what} does not come up"))?;
        let addresses = told.split(',').map(str::to_owned).collect();
        Ok(PartProcess { child, input, output, addresses })
    }

    /// Where it listens: the first of its addresses.
    pub(crate) fn address(&self) -> &str {
        self.addresses.first().map_or("", String::as_str)
    }

    /// Where it listens: all its addresses.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// What it has to say.
    ///
    /// # Errors
    /// It ended, or says something else.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let answer = async {
            self.input.write_all(b"\n").await?;
            self.input.flush().await?;
            self.output.next_line().await
        };
        let line = tokio::time::timeout(READY_MAX, answer).await;
        let line = line.ok().and_then(Result::ok).flatten().ok_or("a part of the bench does not answer")?;
        serde_json::from_str(&line).map_err(|error| format!("a part of the bench answered {line:?}: {error}"))
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.child.id().and_then(Usage::of).unwrap_or_default()
    }
}
