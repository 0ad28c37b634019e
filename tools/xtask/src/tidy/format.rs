//! Format of files that `cargo fmt` does not reach: modules that a macro declares.

use super::Finding;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with such modules: files in them, and folders with a `mod.rs`.
const FOLDERS: &[&str] = &["crates/channels/src", "crates/gateway/src"];
const EDITION: &str = "2024";

/// Asks rustfmt which of these files it would write otherwise.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        let entries = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let module = |path: PathBuf| if path.is_dir() { path.join("mod.rs") } else { path };
        let is_source = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "rs") && path.exists();
        let paths: Vec<PathBuf> = entries.map(module).filter(is_source).collect();
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--check", "--files-with-diff", "--edition", EDITION]).args(&paths);
        let output = rustfmt.output().map_err(|error| format!("rustfmt: {error}"))?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line = Path::new(line);
            let path = line.strip_prefix(root).unwrap_or(line).display().to_string();
            let message =
                format!("is not formatted: run `rustfmt --edition {EDITION} {path}` (`make fmt` does)");
            findings.push(Finding { path, line: 1, message });
        }
    }
    Ok(findings)
}
