//! `cargo xtask check`, `test`, `story` and `console`: the stages that decide about a change, cheapest first.

mod compile;
mod console;
mod full_run;
mod fuzz;
mod jobs;
mod retry;
mod stages;
mod stories;
mod units;
mod usage;

use crate::groups::{FOREIGN_TESTS, GROUPS, StoryGroup};
use crate::{root, tidy};
use compile::{Binary, cargo, succeeds};
pub use console::console;
use full_run::FullRun;
pub use fuzz::fuzz;
use retry::HeldAgain;
use stages::{Failure, Stages};
use std::path::{Path, PathBuf};
use std::process::Command;
use stories::Stories;
use units::TestPart;

/// The package of the stories, and its test target.
const STORIES: &str = "it";
/// Building all tests takes about so much; with less, rustc ends in the middle of a file.
const DISK_GIB_MIN: u64 = 5;

/// Which tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What needs no foreign software.
    Check,
    /// All but the groups that nothing has changed for.
    Test,
    /// All, which is put on record.
    Full,
}

/// A run with all it carries from stage to stage.
struct Run {
    root: PathBuf,
    stages: Stages,
    held: HeldAgain,
    /// Groups and seeds that did not run, with the reason.
    left_out: Vec<String>,
}

/// All that needs no foreign software: `make check`. False: something failed, and was printed.
pub fn check() -> bool {
    Run::new().ends(|run| run.everything(Extent::Check))
}

/// All tests, `make test` or with `is_full` `make test-all`.
pub fn test(is_full: bool) -> bool {
    let extent = if is_full { Extent::Full } else { Extent::Test };
    Run::new().ends(|run| run.everything(extent))
}

/// Groups of stories by their names, whatever has changed.
pub fn groups(names: &[&str]) -> bool {
    let found: Option<Vec<&StoryGroup>> = names.iter().map(|name| stories::group_named(name)).collect();
    let Some(found) = found else {
        let all: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        eprintln!("the groups are: {}", all.join(", "));
        return false;
    };
    Run::new().ends(|run| {
        let binary = run.stages.run("build", build_stories)?;
        run.stories(binary, |group| found.iter().any(|one| one.name == group.name).then_some(()).ok_or(None))
    })
}

/// Stories whose path contains a text, with all they print.
pub fn story(pattern: &str) -> bool {
    let run = || {
        let binary = build_stories()?;
        let mut command = Command::new(&binary.path);
        command.args([pattern, "--nocapture", "--test-threads", "1"]).current_dir(&binary.folder);
        succeeds(command)
    };
    run().inspect_err(|failure: &Failure| eprintln!("{failure}")).is_ok()
}

fn build_stories() -> Result<Binary, Failure> {
    build_program()?;
    let binaries = compile::tests(&["--workspace", "--test", STORIES])?;
    binaries.into_iter().find(is_of_stories).ok_or_else(|| format!("cargo built no test of {STORIES}"))
}

fn is_of_stories(binary: &Binary) -> bool {
    binary.folder.ends_with("tools/it")
}

/// The programs that stories start, with what tests have of tokio: so all that was compiled for those serves.
fn build_program() -> Result<(), Failure> {
    succeeds(cargo("build", &["-p", "campanile", "-p", "bench", "--features", "tokio/test-util"]))
}

impl Run {
    fn new() -> Run {
        Run { root: root(), stages: Stages::new(), held: HeldAgain::default(), left_out: Vec::new() }
    }

    /// Runs the stages, then prints times and all that somebody should look at. The tests that held only when
    /// run again come last.
    fn ends(mut self, stages: impl FnOnce(&mut Run) -> Result<(), Failure>) -> bool {
        let result = stages(&mut self);
        self.stages.print();
        self.left_out.iter().for_each(|line| println!("not run: {line}"));
        if let Err(failure) = &result {
            println!("\nFAILED: {failure}");
        }
        self.held.print() && result.is_ok()
    }

    fn everything(&mut self, extent: Extent) -> Result<(), Failure> {
        warn_of_disk(&self.root);
        self.stages.run("format", format)?;
        let root = self.root.clone();
        self.stages.run("tidy", || is_tidy(&root))?;
        self.console_build()?;
        self.stages.run("clippy", clippy)?;
        let mut binaries = self.stages.run("build", || {
            let binaries = compile::tests(&["--workspace"])?;
            build_program()?;
            Ok(binaries)
        })?;
        self.console_types()?;
        let it = binaries.iter().position(is_of_stories).ok_or("cargo built no stories")?;
        let it = binaries.remove(it);
        self.units("unit tests", &binaries, TestPart::Alone)?;
        if extent == Extent::Check {
            return self.stories(it, |group| if group.name == "plain" { Ok(()) } else { Err(None) });
        }
        let sets: Vec<&str> = FOREIGN_TESTS.iter().flat_map(|(_, sets)| *sets).copied().collect();
        self.install("unit tests", &sets)?;
        self.units("unit tests over foreign software", &binaries, TestPart::Foreign)?;
        let mut record = FullRun::read(&self.root, full_run::STORIES);
        self.seeds(&binaries, extent, &record)?;
        let root = self.root.clone();
        self.stories(it, |group| match stories::changed(group, &record, &root) {
            None if extent == Extent::Test && !group.only_after.is_empty() => {
                Err(Some("nothing it depends on has changed since tools/it/full-run"))
            }
            _ => Ok(()),
        })?;
        self.console_after(extent)?;
        if extent == Extent::Test {
            return Ok(());
        }
        let proof = Command::new(self.root.join("scripts/prove-exim4"));
        self.stages.run("mail beside exim4", || succeeds(proof))?;
        self.record(&mut record)
    }

    fn units(&mut self, name: &str, binaries: &[Binary], part: TestPart) -> Result<(), Failure> {
        let (folder, held) = (output_folder(&self.root), &mut self.held);
        self.stages.run(name, || units::run(binaries, part, &folder, held))
    }

    fn seeds(&mut self, binaries: &[Binary], extent: Extent, record: &FullRun) -> Result<(), Failure> {
        for (seeds, binary) in units::seeds_of(binaries) {
            let name = format!("seeds of {}", seeds.package);
            if extent == Extent::Test && record.is_empty() {
                // Where nothing is known every group of stories runs; all seeds beside them would take too
                // long.
                self.left_out.push(format!("{name}: there is no tools/it/full-run, make test-all writes it"));
            } else if extent == Extent::Full || record.changed(&self.root, &name, seeds.only_after).is_some()
            {
                self.units(&name, &[binary], TestPart::Seeds(seeds))?;
            } else {
                self.left_out.push(format!("{name}: nothing has changed since tools/it/full-run"));
            }
        }
        Ok(())
    }

    /// Runs each group that `wanted` says yes to; what it refuses with a reason is printed at the end.
    fn stories(
        &mut self,
        binary: Binary,
        wanted: impl Fn(&StoryGroup) -> Result<(), Option<&'static str>>,
    ) -> Result<(), Failure> {
        let mut stories = Stories::list(binary, &output_folder(&self.root))?;
        let mut result = Ok(());
        for group in stories.groups() {
            match wanted(group) {
                Ok(()) => result = self.group(group, &mut stories),
                Err(Some(reason)) => self.left_out.push(format!("{}: {reason}", group.name)),
                Err(None) => {}
            }
            if result.is_err() {
                break;
            }
        }
        stories.print();
        result
    }

    fn group(&mut self, group: &'static StoryGroup, stories: &mut Stories) -> Result<(), Failure> {
        let name = format!("stories: {}", group.name);
        self.install(&name, group.foreign)?;
        let held = &mut self.held;
        self.stages.run(&name, || stories.run(group, held))
    }

    fn install(&mut self, of: &str, sets: &[&str]) -> Result<(), Failure> {
        if sets.is_empty() {
            return Ok(());
        }
        let mut command = Command::new(self.root.join("scripts/install-foreign"));
        command.args(sets);
        self.stages.run(&format!("foreign software of {of}"), || succeeds(command))
    }

    fn record(&mut self, record: &mut FullRun) -> Result<(), Failure> {
        let groups = GROUPS.iter().filter(|group| !group.only_after.is_empty());
        let groups = groups.map(|group| (group.name.to_owned(), stories::paths(group)));
        let seeds = crate::groups::SEEDS.iter();
        let seeds = seeds.map(|seeds| (format!("seeds of {}", seeds.package), seeds.only_after.to_vec()));
        for (name, paths) in groups.chain(seeds) {
            if let Err(why) = record.note(&self.root, &name, &paths) {
                self.left_out.push(format!("record of {name}: {why}"));
            }
        }
        record.write(&self.root).map_err(|error| format!("{}: {error}", full_run::STORIES.path))?;
        println!("\n{} is written: commit it", full_run::STORIES.path);
        Ok(())
    }
}

fn format() -> Result<(), Failure> {
    let mut command = Command::new("cargo");
    command.args(["fmt", "--all", "--check"]);
    succeeds(command)
}

fn is_tidy(root: &Path) -> Result<(), Failure> {
    let findings = tidy::run(root)?;
    findings.iter().for_each(|finding| println!("{finding}"));
    if findings.is_empty() { Ok(()) } else { Err(format!("{} findings", findings.len())) }
}

fn clippy() -> Result<(), Failure> {
    succeeds(cargo("clippy", &["--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Output of tests, and times of stories.
fn output_folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("xtask")
}

/// Says so before a cold build ends in the middle for want of space.
fn warn_of_disk(root: &Path) {
    let output = Command::new("df").args(["--output=avail", "-k"]).arg(root).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let free_kib: u64 = text.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(u64::MAX);
    if !root.join("target/ci").exists() && free_kib >> 20 < DISK_GIB_MIN {
        eprintln!(
            "The disk below {} has {} GiB free; building all tests takes about {DISK_GIB_MIN}: make room first if it \
             ends for want of space.",
            root.display(),
            free_kib >> 20
        );
    }
}
