//! Cargo builds test binaries and the program beside them, all in the profile `ci`.

use super::stages::Failure;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The one profile of tests, stories, demo and program.
pub const PROFILE: &str = "ci";

/// A test binary.
#[derive(Debug, Clone)]
pub struct Binary {
    /// The package, and the target where it has another name: `paced_udp`, `paced_udp/stream`.
    pub name: String,
    pub path: PathBuf,
    /// The package's folder, in which cargo would run it.
    pub folder: PathBuf,
}

/// Variables that cargo sets for the program it runs, which is this one. Build scripts look at them (ring's
/// does): left as they are, a build from here and one from a shell would each undo the other.
const OF_THIS_PROGRAM: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_NAME"];

/// A cargo command in the profile `ci`.
pub fn cargo(verb: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if OF_THIS_PROGRAM.iter().any(|of| name.to_string_lossy().starts_with(of)) {
            command.env_remove(name);
        }
    }
    command.arg(verb).args(["--profile", PROFILE]).args(arguments);
    command
}

/// Runs a command whose output is the user's.
///
/// # Errors
/// It cannot be started, or its exit code is not 0.
pub fn succeeds(mut command: Command) -> Result<(), Failure> {
    let shown = format!("{command:?}").replace('"', "");
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// Builds tests, and nothing runs: `--workspace`, and what of it. A package by itself would have its
/// dependencies built once more, with fewer features.
///
/// # Errors
/// Something does not compile: cargo has printed it.
pub fn tests(of: &[&str]) -> Result<Vec<Binary>, Failure> {
    let mut command = cargo("test", of);
    command.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cargo test: {error}"))?;
    let mut binaries = Vec::new();
    for line in
        child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines().map_while(Result::ok))
    {
        binaries.extend(serde_json::from_str(&line).ok().and_then(|message| binary(&message)));
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(binaries),
        Ok(status) => Err(format!("cargo test --no-run: {status}")),
        Err(error) => Err(format!("cargo test: {error}")),
    }
}

/// The test binary that a message of cargo's is about.
fn binary(message: &Value) -> Option<Binary> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let package = folder.file_name()?.to_str()?.to_owned();
    let target = message["target"]["name"].as_str()?;
    let kind = message["target"]["kind"][0].as_str()?;
    let name = if target == package && kind == "lib" { package } else { format!("{package}/{target}") };
    Some(Binary { name, path, folder })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn test_binaries_are_found_among_the_messages_of_cargo() {
        let artifact = |target: &str, kind: &str, test: bool| {
            json!({"reason": "compiler-artifact", "manifest_path": "/w/crates/paced_udp/Cargo.toml",
                "target": {"name": target, "kind": [kind]}, "profile": {"test": test}, "executable": "/t/x-1"})
        };
        let name = |message| binary(&message).map(|binary| binary.name);
        assert_eq!(name(artifact("paced_udp", "lib", true)).as_deref(), Some("paced_udp"));
        assert_eq!(name(artifact("stream", "test", true)).as_deref(), Some("paced_udp/stream"));
        assert_eq!(name(artifact("paced_udp", "lib", false)), None);
        assert_eq!(name(json!({"reason": "build-finished"})), None);
    }
}
