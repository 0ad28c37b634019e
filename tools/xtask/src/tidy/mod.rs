//! Collects the sources, runs every check, returns what was found.

mod bans;
mod comments;
mod docs;
mod edges;
mod format;
mod lock;
mod names;
mod sizes;
mod types;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::dictionary;
use crate::scan::Source;
use crate::walks;

/// Where our Rust code stands.
const ROOMS: &[&str] = &["libs", "crates", "tools"];
/// Folders that hold no code of ours.
const SKIPPED: &[&str] = &["target", "node_modules", "testdata"];

/// One thing to mend, printed as `path:line: message`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A source file with what the checks ask about it.
pub struct SourceFile {
    /// Below the root, with `/`.
    pub path: String,
    pub source: Source,
    /// The whole file is for tests.
    pub is_test: bool,
    /// The parts that are.
    test_ranges: Vec<Range<usize>>,
}

impl SourceFile {
    fn new(path: String, text: &str) -> SourceFile {
        let source = Source::new(text);
        SourceFile { is_test: is_test_path(&path), test_ranges: source.test_ranges(), path, source }
    }

    fn finding(&self, line: usize, message: String) -> Finding {
        Finding { path: self.path.clone(), line, message }
    }

    /// Whether an offset is in code for tests alone.
    fn in_test(&self, offset: usize) -> bool {
        self.is_test || self.test_ranges.iter().any(|range| range.contains(&offset))
    }

    fn is_under(&self, prefix: &str) -> bool {
        self.path.starts_with(prefix)
    }
}

/// Runs every check over the workspace at `root`.
pub fn run(root: &Path) -> Result<Vec<Finding>, String> {
    let files = read_all(root)?;
    let mut findings = edges::check(root)?;
    findings.extend(generated(root)?);
    findings.extend(format::check(root)?);
    findings.extend(lock::check(root)?);
    findings.extend(lost_walks(root)?);
    findings.extend(types::check(root, &files)?);
    for file in &files {
        findings.extend(check(file));
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// What is compiled from data files must be what they say.
fn generated(root: &Path) -> Result<Option<Finding>, String> {
    let message = "stale: run `cargo xtask dictionary`".to_string();
    let finding = Finding { path: dictionary::GENERATED.to_string(), line: 1, message };
    Ok((!dictionary::is_fresh(root)?).then_some(finding))
}

/// Functions that the walks through the code go by.
fn lost_walks(root: &Path) -> Result<Vec<Finding>, String> {
    let (_, lost) = walks::renewed(root)?;
    let finding = |lost: walks::Lost| Finding {
        path: walks::FILE.to_owned(),
        line: lost.line,
        message: format!("{}: lead the way by what is there now", lost.message),
    };
    Ok(lost.into_iter().map(finding).collect())
}

fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = sizes::check(file);
    findings.extend(bans::check(file));
    findings.extend(names::check(file));
    findings.extend(docs::check(file));
    findings.extend(comments::check(file));
    findings
}

fn read_all(root: &Path) -> Result<Vec<SourceFile>, String> {
    let mut paths = Vec::new();
    for room in ROOMS {
        list(&root.join(room), &mut paths)?;
    }
    paths.sort();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let below = path.strip_prefix(root).unwrap_or(&path);
        files.push(SourceFile::new(below.to_string_lossy().replace('\\', "/"), &text));
    }
    mark_test_modules(&mut files);
    Ok(files)
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("cannot list {}: {e}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                list(&path, paths)?;
            }
        } else if name.ends_with(".rs") {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_test_path(path: &str) -> bool {
    path.starts_with("tools/it/")
        || path.ends_with("/tests.rs")
        || path.split('/').any(|part| part == "tests" || part == "benches" || part == "fuzz")
}

/// A file whose module is declared under `#[cfg(test)]` is for tests, whatever its name.
fn mark_test_modules(files: &mut [SourceFile]) {
    let mut stems = BTreeSet::new();
    for file in files.iter() {
        let folder = module_folder(&file.path);
        stems.extend(file.source.test_modules().into_iter().map(|name| format!("{folder}/{name}")));
    }
    for file in files.iter_mut() {
        let path = &file.path;
        file.is_test |=
            stems.iter().any(|stem| *path == format!("{stem}.rs") || path.starts_with(&format!("{stem}/")));
    }
}

/// Where the submodules of a file stand.
fn module_folder(path: &str) -> &str {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder,
        _ => path.strip_suffix(".rs").unwrap_or(path),
    }
}

#[cfg(test)]
fn sample(path: &str, text: &str) -> SourceFile {
    SourceFile::new(path.to_string(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_declared_for_tests_is_test_code_in_its_own_file() {
        let mut files = vec![
            sample("libs/x/src/lib.rs", "#[cfg(test)]\nmod oracle;\nmod real;"),
            sample("libs/x/src/oracle.rs", ""),
            sample("libs/x/src/oracle/deep.rs", ""),
            sample("libs/x/src/real.rs", "#[cfg(test)] mod pair;"),
            sample("libs/x/src/real/pair.rs", ""),
        ];
        mark_test_modules(&mut files);
        let tests: Vec<_> = files.iter().filter(|f| f.is_test).map(|f| f.path.as_str()).collect();
        assert_eq!(tests, ["libs/x/src/oracle.rs", "libs/x/src/oracle/deep.rs", "libs/x/src/real/pair.rs"]);
    }

    #[test]
    fn test_files_are_known_by_their_path() {
        for (path, expected) in [
            ("libs/x/src/a/tests.rs", true),
            ("libs/x/src/a/tests/deep.rs", true),
            ("crates/x/tests/all.rs", true),
            ("tools/it/src/lib.rs", true),
            ("crates/x/src/contests.rs", false),
            ("tools/item/src/lib.rs", false),
        ] {
            assert_eq!(is_test_path(path), expected, "{path}");
        }
    }

    #[test]
    fn a_finding_is_printed_with_its_place() {
        let finding = Finding { path: "a/b.rs".into(), line: 7, message: "too long, split it".into() };
        assert_eq!(finding.to_string(), "a/b.rs:7: too long, split it");
    }
}
