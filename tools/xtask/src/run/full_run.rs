//! Record of the last full run: the tree hash of each folder that a group depends on.
//!
//! A line is `GROUP PATH HASH`. `make test-all` writes one for the stories when everything has passed,
//! `make fuzz` one for the fuzz targets; both are committed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A record's place below the root, and its first line.
#[derive(Debug, Clone, Copy)]
pub struct RecordFile {
    pub path: &'static str,
    pub headline: &'static str,
}

/// Of the stories.
pub const STORIES: RecordFile = RecordFile {
    path: "tools/it/full-run",
    headline: "# Written by `make test-all`: what each group of stories depended on when all of them passed.",
};
/// Of the fuzz targets.
pub const FUZZ: RecordFile = RecordFile {
    path: "tools/fuzz-run",
    headline: "# Written by `make fuzz`: the library of each target when it ran ten minutes and nothing was found.",
};

/// What ran in full, and when each folder was in which state.
#[derive(Debug)]
pub struct FullRun {
    file: RecordFile,
    lines: BTreeSet<String>,
}

impl FullRun {
    /// Reads the record; without one nothing ever ran.
    pub fn read(root: &Path, file: RecordFile) -> FullRun {
        let text = std::fs::read_to_string(root.join(file.path)).unwrap_or_default();
        FullRun {
            file,
            lines: text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect(),
        }
    }

    /// There is no record: `make test-all` has never run.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The first of these paths that is not as it was when the group last ran in full.
    pub fn changed<'a>(&self, root: &Path, group: &str, paths: &[&'a str]) -> Option<&'a str> {
        let differs = |path: &&&str| {
            hash(root, path).is_none_or(|hash| !self.lines.contains(&line(group, path, &hash)))
        };
        paths.iter().find(differs).copied()
    }

    /// Notes that a group ran, with its paths as they are.
    ///
    /// # Errors
    /// A path has changes that are not committed, or git does not know it.
    pub fn note(&mut self, root: &Path, group: &str, paths: &[&str]) -> Result<(), String> {
        let prefix = format!("{} ", slug(group));
        self.lines.retain(|line| !line.starts_with(&prefix));
        for path in paths {
            let hash =
                hash(root, path).ok_or_else(|| format!("{path} has changes that are not committed"))?;
            self.lines.insert(line(group, path, &hash));
        }
        Ok(())
    }

    /// Writes the record.
    pub fn write(&self, root: &Path) -> std::io::Result<()> {
        let mut text = format!("{}\n", self.file.headline);
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        std::fs::write(root.join(self.file.path), text)
    }
}

fn line(group: &str, path: &str, hash: &str) -> String {
    format!("{} {path} {hash}", slug(group))
}

fn slug(group: &str) -> String {
    group.replace(' ', "-")
}

/// The hash that git has for a committed folder or file without changes; nothing otherwise.
fn hash(root: &Path, path: &str) -> Option<String> {
    let changes = git(root, &["status", "--porcelain", "--", path])?;
    let hash = git(root, &["rev-parse", "--verify", "--quiet", &format!("HEAD:{path}")])?;
    changes.is_empty().then_some(hash)
}

/// Output of git, trimmed; nothing if it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn run(root: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.test"];
        let all: Vec<&str> = identity.iter().chain(arguments).copied().collect();
        git(root, &all).unwrap_or_else(|| panic!("git {arguments:?}"));
    }

    #[test]
    fn a_folder_has_changed_when_its_tree_differs_or_holds_what_is_not_committed() {
        let root = std::env::temp_dir().join(format!("xtask-full-run-{}", std::process::id()));
        fs::create_dir_all(root.join("tools/it")).unwrap();
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(root.join("a/one"), "1").unwrap();
        run(&root, &["init", "--quiet"]);
        run(&root, &["add", "a"]);
        run(&root, &["commit", "--quiet", "-m", "one"]);
        let paths = ["a"];
        assert_eq!(FullRun::read(&root, STORIES).changed(&root, "of two", &paths), Some("a"), "it never ran");

        let mut record = FullRun::read(&root, STORIES);
        record.note(&root, "of two", &paths).unwrap();
        record.write(&root).unwrap();
        assert_eq!(FullRun::read(&root, STORIES).changed(&root, "of two", &paths), None);
        assert_eq!(FullRun::read(&root, STORIES).changed(&root, "another", &paths), Some("a"));
        assert_eq!(FullRun::read(&root, STORIES).changed(&root, "of two", &["a", "gone"]), Some("gone"));

        fs::write(root.join("a/two"), "2").unwrap();
        assert_eq!(
            FullRun::read(&root, STORIES).changed(&root, "of two", &paths),
            Some("a"),
            "not committed"
        );
        assert!(record.note(&root, "of two", &paths).is_err());
        run(&root, &["add", "a"]);
        run(&root, &["commit", "--quiet", "-m", "two"]);
        assert_eq!(FullRun::read(&root, STORIES).changed(&root, "of two", &paths), Some("a"), "another tree");
        fs::remove_dir_all(root).unwrap();
    }
}
