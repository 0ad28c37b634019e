//! The crates' dependencies against the allowed edges.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Finding;
use crate::edges::{EDGES, Edge, NOBODY_USES};

/// Asks cargo for the workspace's dependencies and compares them with the table.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cannot run cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cannot read cargo metadata: {e}"))?;
    let root = root.canonicalize().map_err(|e| format!("cannot resolve {}: {e}", root.display()))?;
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    compare(&metadata, &root.to_string_lossy(), EDGES, read)
}

/// `manifest` returns the text of a Cargo.toml, to find the line.
fn compare(
    metadata: &Value,
    root: &str,
    edges: &[Edge],
    manifest: impl Fn(&str) -> String,
) -> Result<Vec<Finding>, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest_path = package["manifest_path"].as_str().unwrap_or_default();
        let text = manifest(manifest_path);
        let path =
            manifest_path.strip_prefix(root).unwrap_or(manifest_path).trim_start_matches('/').to_string();
        let Some((_, allowed)) = edges.iter().find(|(krate, _)| *krate == name) else {
            let message = format!(
                "crate `{name}` has no row: give it one in tools/xtask/src/edges.rs, or its code a room"
            );
            findings.push(Finding { path, line: 1, message });
            continue;
        };
        for dependency in ours(package) {
            if let Some(message) = complaint(name, allowed, &dependency) {
                let line = line_of(&text, &dependency);
                findings.push(Finding { path: path.clone(), line, message });
            }
        }
    }
    Ok(findings)
}

struct Dependency {
    name: String,
    is_dev: bool,
}

/// The package's dependencies inside the workspace: those with a path.
fn ours(package: &Value) -> Vec<Dependency> {
    let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter()
        .filter(|dependency| dependency["path"].is_string())
        .map(|dependency| Dependency {
            name: dependency["name"].as_str().unwrap_or_default().to_string(),
            is_dev: dependency["kind"] == "dev",
        })
        .collect()
}

fn complaint(name: &str, allowed: &[&str], dependency: &Dependency) -> Option<String> {
    let on = &dependency.name;
    if NOBODY_USES.contains(&on.as_str()) {
        return Some(format!("`{name}` uses `{on}`, which stands above everyone: move what you need below"));
    }
    if dependency.is_dev || allowed.contains(&on.as_str()) {
        return None;
    }
    let may = if allowed.is_empty() { "nothing of ours".to_string() } else { allowed.join(", ") };
    Some(format!(
        "`{name}` must not use `{on}` (it may use {may}): declare a trait here that a floor above fills in"
    ))
}

/// The manifest's line that names a dependency, in the section of its kind.
fn line_of(manifest: &str, dependency: &Dependency) -> usize {
    let mut in_dev = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            in_dev = line.contains("dev-dependencies");
        }
        let key: &str = line.split(['.', '=', ' ']).next().unwrap_or_default();
        if key == dependency.name && in_dev == dependency.is_dev {
            return index + 1;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TABLE: &[Edge] = &[("low", &[]), ("mid", &["low"]), ("it", &["low", "mid"])];

    fn metadata(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<Value> = dependencies
            .iter()
            .map(|(name, kind)| json!({"name": name, "kind": kind, "path": format!("/root/{name}")}))
            .chain([json!({"name": "serde", "kind": null})])
            .collect();
        json!({"packages": [{"name": name, "manifest_path": format!("/root/{name}/Cargo.toml"), "dependencies": dependencies}]})
    }

    fn found(name: &str, dependencies: &[(&str, Option<&str>)]) -> Vec<Finding> {
        let manifest = |_: &str| {
            "[dependencies]\nlow.workspace = true\nmid = \"1\"\n[dev-dependencies]\nmid = \"1\"\n".to_string()
        };
        compare(&metadata(name, dependencies), "/root", TABLE, manifest).unwrap()
    }

    #[test]
    fn an_allowed_edge_is_let_be() {
        assert_eq!(found("mid", &[("low", None)]), []);
        assert_eq!(found("it", &[("mid", None)]), []);
    }

    #[test]
    fn an_edge_upwards_is_found_at_its_line() {
        let found = found("low", &[("mid", None)]);
        assert_eq!((found.len(), found[0].path.as_str(), found[0].line), (1, "low/Cargo.toml", 3));
        assert!(found[0].message.starts_with("`low` must not use `mid` (it may use nothing of ours)"));
    }

    #[test]
    fn a_build_dependency_counts_as_a_normal_one() {
        assert_eq!(found("low", &[("mid", Some("build"))]).len(), 1);
    }

    #[test]
    fn a_dev_dependency_may_be_anything_below_the_tests() {
        assert_eq!(found("low", &[("mid", Some("dev"))]), []);
        assert_eq!(found("low", &[("it", Some("dev"))]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_fails() {
        assert_eq!(found("annex", &[]).len(), 1);
    }

    #[test]
    fn the_table_has_no_circles_and_no_unknown_names() {
        let mut done: Vec<&str> = Vec::new();
        while done.len() < EDGES.len() {
            let before = done.len();
            for (name, allowed) in EDGES {
                if !done.contains(name) && allowed.iter().all(|on| done.contains(on)) {
                    done.push(name);
                }
            }
            assert!(done.len() > before, "a circle or an unknown name among all but {done:?}");
        }
    }
}
