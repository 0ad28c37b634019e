//! Format of files that `cargo fmt` does not reach: modules that a macro declares.

use super::Finding;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with such modules.
const FOLDERS: &[&str] = &["crates/channels/src"];
const EDITION: &str = "2024";

/// Asks rustfmt which of these files it would write otherwise.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|ext| ext == "rs")).collect();
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--check", "--files-with-diff", "--edition", EDITION]).args(&paths);
        let output = rustfmt.output().map_err(|error| format!("rustfmt: {error}"))?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let name = Path::new(line).file_name().unwrap_or_default().to_string_lossy();
            let path = format!("{folder}/{name}");
            let message =
                format!("is not formatted: run `rustfmt --edition {EDITION} {path}` (`make fmt` does)");
            findings.push(Finding { path, line: 1, message });
        }
    }
    Ok(findings)
}
