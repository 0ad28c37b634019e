use super::{Usage, http_client};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A simulator listens after so long.
const READY_MAX: Duration = Duration::from_secs(30);

/// `campanile sim smsc`, `mail`, `pager` and the like as a child process. Dropping it kills it.
pub(crate) struct Carrier {
    child: Child,
    client: reqwest::Client,
    address: String,
    page: String,
}

/// What a simulator counted, as far as a bench asks. The names are those of all simulators' `/stats`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct CarrierStats {
    /// Parts or copies taken.
    pub(crate) accepted: u64,
    /// Whole messages, for SMS.
    pub(crate) messages: u64,
    /// Above the first of each.
    pub(crate) repeats: u64,
    /// When the last was taken, microseconds since 1970.
    pub(crate) last_accepted_us: u64,
}

impl Carrier {
    /// Starts `sim KIND` of the program with a scenario.
    ///
    /// # Errors
    /// It does not come up.
    pub(crate) async fn start(
        program: &Path,
        folder: &Path,
        kind: &str,
        scenario: &impl Serialize,
    ) -> Result<Carrier, String> {
        let describe = |error: std::io::Error| format!("cannot start sim {kind}: {error}");
        let path = folder.join(format!("{kind}.toml"));
        let text = toml::to_string(scenario).map_err(|error| format!("sim {kind}: {error}"))?;
        std::fs::write(&path, text).map_err(describe)?;
        let mut child = Command::new(program)
            .args(["sim", kind, "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0", "--scenario"])
            .arg(&path)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(describe)?;
        let output = child.stdout.take().ok_or("a simulator has no standard output")?;
        let mut lines = BufReader::new(output).lines();
        let told = async {
            let address = said_behind(&mut lines, "listening on ").await?;
            let page = said_behind(&mut lines, "page on ").await?;
            Some((address, page))
        };
        let told = tokio::time::timeout(READY_MAX, told).await.ok().flatten();
        let (address, page) = told.ok_or_else(|| format!("sim {kind} did not say where it listens"))?;
        Ok(Carrier { child, client: http_client()?, address, page })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What it counted so far.
    ///
    /// # Errors
    /// Its page does not answer.
    pub(crate) async fn stats(&self) -> Result<CarrierStats, String> {
        let describe = |error: reqwest::Error| format!("the simulator's page: {error:?}");
        let reply = self.client.get(format!("{}stats", self.page)).send().await.map_err(describe)?;
        reply.json().await.map_err(describe)
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.child.id().and_then(Usage::of).unwrap_or_default()
    }
}

pub(super) async fn said_behind(lines: &mut Lines<BufReader<ChildStdout>>, words: &str) -> Option<String> {
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(rest) = line.strip_prefix(words) {
            return Some(rest.trim().to_owned());
        }
    }
    None
}
