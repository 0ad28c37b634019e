//! Stories of `tools/it` by their groups: each a process of its own, dearest first.

use super::compile::Binary;
use super::full_run::FullRun;
use super::jobs::{self, EndedJob, TestJob};
use super::retry::{self, HeldAgain};
use super::stages::Failure;
use crate::groups::{GROUPS, OF_ALL, StoryGroup};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stories named at the end of a run.
const DEAREST: usize = 10;
/// Seconds that stories took in the last run on this machine, below the target folder.
const SECONDS_FILE: &str = "story-seconds";

/// A story that has ended.
struct ClientEvent {
    name: String,
    seconds: f64,
    cpu_seconds: f64,
}

/// All stories of the binary, by group.
pub struct Stories {
    binary: Binary,
    /// In the order of the table, without empty ones.
    groups: Vec<(&'static StoryGroup, Vec<String>)>,
    /// Below the target folder.
    folder: PathBuf,
    told: Vec<ClientEvent>,
}

impl Stories {
    /// Asks the binary for its tests.
    ///
    /// # Errors
    /// It does not run.
    pub fn list(binary: Binary, folder: &Path) -> Result<Stories, Failure> {
        let list = |more: &[&str]| names(&binary.path, more);
        let ignored = list(&["--ignored"])?;
        let mut groups: Vec<(&StoryGroup, Vec<String>)> =
            GROUPS.iter().map(|group| (group, Vec::new())).collect();
        for name in list(&[])?.into_iter().filter(|name| !ignored.contains(name)) {
            let of = GROUPS.iter().position(|group| is_of(group, &name));
            groups[of.unwrap_or(GROUPS.len() - 1)].1.push(name);
        }
        groups.retain(|(_, stories)| !stories.is_empty());
        Ok(Stories { binary, groups, folder: folder.to_path_buf(), told: Vec::new() })
    }

    /// The groups that have stories, in their order.
    pub fn groups(&self) -> Vec<&'static StoryGroup> {
        self.groups.iter().map(|(group, _)| *group).collect()
    }

    /// Runs a group.
    ///
    /// # Errors
    /// A story failed twice, or too many failed.
    pub fn run(&mut self, group: &StoryGroup, held: &mut HeldAgain) -> Result<(), Failure> {
        let of = |(one, _): &&(&StoryGroup, Vec<String>)| one.name == group.name;
        let mut stories = self.groups.iter().find(of).map(|(_, stories)| stories.clone()).unwrap_or_default();
        let before = read_seconds(&self.folder.join(SECONDS_FILE));
        // What is not known may be long.
        let seconds = |name: &String| before.get(name).copied().unwrap_or(f64::MAX);
        stories.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
        let job = |name: &str| story(&self.binary, group, name);
        let jobs = stories.iter().map(|name| job(name)).collect();
        let ended = jobs::run(jobs, group.width, &self.folder, report).map_err(|error| error.to_string())?;
        let failed: Vec<String> =
            ended.iter().filter(|ended| !ended.succeeded).map(|ended| ended.name.clone()).collect();
        held.retry(&failed, &self.folder, job)?;
        let told =
            |it: EndedJob| ClientEvent { name: it.name, seconds: it.seconds, cpu_seconds: it.cpu_seconds };
        self.told.extend(ended.into_iter().map(told));
        Ok(())
    }

    /// Prints the dearest stories, and keeps the times of all for the order of the next run.
    pub fn print(&mut self) {
        if self.told.is_empty() {
            return;
        }
        self.told.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        println!("\nwall s   cpu s  story");
        for told in self.told.iter().take(DEAREST) {
            println!("{:6.1}  {:6.1}  {}", told.seconds, told.cpu_seconds, told.name);
        }
        let path = self.folder.join(SECONDS_FILE);
        let mut all = read_seconds(&path);
        all.extend(self.told.iter().map(|told| (told.name.clone(), told.seconds)));
        let lines: String = all.iter().map(|(name, seconds)| format!("{seconds:.1} {name}\n")).collect();
        // Without it the next run is a little slower.
        let _ = fs::write(path, lines);
    }
}

/// Names by which `cargo xtask test` knows the groups.
pub fn group_named(name: &str) -> Option<&'static StoryGroup> {
    GROUPS.iter().find(|group| group.name == name)
}

/// The path that has changed since a group last ran in full; nothing if none has, or the group runs always.
pub fn changed(group: &StoryGroup, record: &FullRun, root: &Path) -> Option<&'static str> {
    record.changed(root, group.name, &paths(group))
}

/// What a group depends on.
pub fn paths(group: &StoryGroup) -> Vec<&'static str> {
    group.only_after.iter().chain(OF_ALL).copied().collect()
}

fn is_of(group: &StoryGroup, story: &str) -> bool {
    group.stories.iter().any(|pattern| story.contains(pattern))
}

fn report(ended: &EndedJob) {
    let result = if ended.succeeded { "ok" } else { "FAILED" };
    println!("{result:6} {:6.1} s, {:5.1} s cpu  {}", ended.seconds, ended.cpu_seconds, ended.name);
    if !ended.succeeded {
        retry::print(ended);
    }
}

fn story(binary: &Binary, group: &StoryGroup, name: &str) -> TestJob {
    let mut command = Command::new(&binary.path);
    command.args(["--exact", name, "--test-threads", "1"]).current_dir(&binary.folder);
    command.env("CAMPANILE_FOREIGN", group.foreign.join(","));
    TestJob { name: name.to_owned(), command }
}

/// Names of a binary's tests.
fn names(binary: &Path, more: &[&str]) -> Result<Vec<String>, Failure> {
    let output = Command::new(binary).arg("--list").args(more).output();
    let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn read_seconds(path: &Path) -> HashMap<String, f64> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let pair = |line: &str| {
        let (seconds, name) = line.split_once(' ')?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn a_story_belongs_to_the_first_group_that_knows_it_and_the_last_group_takes_the_rest() {
        let of = |story: &str| GROUPS.iter().find(|group| is_of(group, story)).map(|group| group.name);
        assert_eq!(of("charging::sctp::what_holds_by_tcp_holds_by_sctp"), Some("guest"));
        assert_eq!(of("charging::sctp::a_kernel_without_sctp"), Some("plain"));
        assert_eq!(of("platforms::jsmpps_esme_submits"), Some("java"));
        assert_eq!(of("platforms::npms_esme_submits"), Some("foreign"));
        assert_eq!(of("answers::anything"), Some("plain"));
    }

    #[test]
    fn folders_of_the_table_are_there() {
        for group in GROUPS {
            for path in paths(group) {
                assert!(root().join(path).exists(), "{path} of the group {} is not there", group.name);
            }
        }
    }

    #[test]
    fn sets_of_foreign_software_are_those_of_the_script() {
        let script = fs::read_to_string(root().join("scripts/install-foreign")).unwrap();
        for set in GROUPS.iter().flat_map(|group| group.foreign) {
            assert!(
                script.contains(&format!("\ninstall_{set}()")),
                "scripts/install-foreign has no set {set}"
            );
        }
    }
}
