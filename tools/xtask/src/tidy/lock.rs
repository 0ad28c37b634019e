//! Cargo.lock against deny.toml: banned crates, sources, and skipped duplicates that are no more. The rest of
//! deny.toml is for cargo-deny.

use std::path::Path;

use super::Finding;

const LOCK: &str = "Cargo.lock";
const DENY: &str = "deny.toml";
/// The only source of crates that are not ours.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Reads both files at `root` and compares them.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let read = |name: &str| {
        std::fs::read_to_string(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"))
    };
    Ok(compare(&read(LOCK)?, &read(DENY)?))
}

fn compare(lock: &str, deny: &str) -> Vec<Finding> {
    let packages = packages(lock);
    let mut findings = Vec::new();
    for package in &packages {
        if let Some(source) = package.source.filter(|source| *source != REGISTRY) {
            let message = format!("`{}` comes from {source}: crates.io is the only source", package.name);
            findings.push(finding(LOCK, package.line, message));
        }
    }
    for entry in entries(deny, "deny") {
        if let Some(package) = packages.iter().find(|package| package.name == entry.krate) {
            let message = format!("`{}` is banned by {DENY}: {}", entry.krate, entry.reason);
            findings.push(finding(LOCK, package.line, message));
        }
    }
    for entry in entries(deny, "skip") {
        let is_there =
            |package: &Package<'_>| entry.krate.split_once('@') == Some((package.name, package.version));
        if !packages.iter().any(is_there) {
            let message = format!("`{}` is not in {LOCK} any more: remove it from skip", entry.krate);
            findings.push(finding(DENY, entry.line, message));
        }
    }
    findings
}

fn finding(path: &str, line: usize, message: String) -> Finding {
    Finding { path: path.to_owned(), line, message }
}

/// A `[[package]]` of the lock file.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    /// None for our own.
    source: Option<&'a str>,
    line: usize,
}

fn packages(lock: &str) -> Vec<Package<'_>> {
    let mut packages: Vec<Package<'_>> = Vec::new();
    for (line, text) in (1..).zip(lock.lines()) {
        if let Some(name) = value(text, "name") {
            packages.push(Package { name, version: "", source: None, line });
        } else if let Some(package) = packages.last_mut() {
            if let Some(version) = value(text, "version") {
                package.version = version;
            } else if let Some(source) = value(text, "source") {
                package.source = Some(source);
            }
        }
    }
    packages
}

/// The string behind `key = ` at the begin of a line.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

/// A line `{ crate = "…", reason = "…" },` of a list of deny.toml.
struct LockEntry<'a> {
    krate: &'a str,
    reason: &'a str,
    line: usize,
}

fn entries<'a>(deny: &'a str, list: &str) -> Vec<LockEntry<'a>> {
    let begin = format!("{list} = [");
    let quoted = |line: &'a str, key: &str| line.split_once(&format!("{key} = \""))?.1.split('"').next();
    (1..)
        .zip(deny.lines())
        .skip_while(|(_, line)| *line != begin)
        .take_while(|(_, line)| *line != "]")
        .filter_map(|(line, text)| {
            let krate = quoted(text.trim_start().strip_prefix("{ ")?, "crate")?;
            Some(LockEntry { krate, reason: quoted(text, "reason").unwrap_or_default(), line })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY_TEXT: &str = "[bans]\ndeny = [\n    # why\n    { crate = \"openssl\", reason = \"rustls\" },\n]\n\
        skip = [\n    { crate = \"rand@0.8.5\", reason = \"old\" },\n]\n[sources]\n";

    fn lock(packages: &[(&str, &str, &str)]) -> String {
        let mut text = "version = 4\n".to_owned();
        for (name, version, source) in packages {
            text += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            if !source.is_empty() {
                text += &format!("source = \"{source}\"\n");
            }
            text += "dependencies = [\n \"openssl\",\n]\n";
        }
        text
    }

    #[test]
    fn a_banned_crate_a_foreign_source_and_a_stale_skip_are_found_at_their_lines() {
        let fine = lock(&[("ours", "0.2.0", ""), ("rand", "0.8.5", REGISTRY)]);
        assert_eq!(compare(&fine, DENY_TEXT), []);
        let bad = lock(&[
            ("openssl", "0.10.1", REGISTRY),
            ("rand", "0.9.0", REGISTRY),
            ("forked", "1.0.0", "git+https://example.test/forked"),
        ]);
        let found: Vec<String> = compare(&bad, DENY_TEXT).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "Cargo.lock:20: `forked` comes from git+https://example.test/forked: crates.io is the only source",
                "Cargo.lock:4: `openssl` is banned by deny.toml: rustls",
                "deny.toml:7: `rand@0.8.5` is not in Cargo.lock any more: remove it from skip",
            ]
        );
    }

    #[test]
    fn the_real_files_have_entries_in_both_lists() {
        let deny = include_str!("../../../../deny.toml");
        assert!(entries(deny, "deny").iter().any(|entry| entry.krate == "rsa" && !entry.reason.is_empty()));
        assert!(entries(deny, "skip").iter().all(|entry| entry.krate.contains('@')));
        assert!(!packages(include_str!("../../../../Cargo.lock")).is_empty());
    }
}
