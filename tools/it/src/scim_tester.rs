use crate::Server;
use crate::foreign::{folder, needs};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// A run takes a fraction of this on an idle machine.
const RUN_MAX: Duration = Duration::from_secs(300);

/// Runs PyPI's scim2-tester over a server; what it says of each check.
pub async fn scim_checks(server: &Server, token: &str) -> Vec<Value> {
    needs("scim");
    let tools = folder("scim", "venv/installed");
    let mut check = Command::new(tools.join("venv/bin/python"));
    check.arg(tools.join("check.py")).arg(format!("{}/scim/v2", server.url())).arg(token);
    check.stdin(Stdio::null()).kill_on_drop(true);
    let output = crate::within("scim2-tester", RUN_MAX, check.output()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scim2-tester: {}\n{said}\n{wrong}", output.status);
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}
