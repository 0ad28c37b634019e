//! Unit tests: the binaries of all crates but `it`, split by what foreign software their tests need.

use super::compile::Binary;
use super::jobs::{self, EndedJob, TestJob};
use super::retry::{self, HeldAgain, TestSummary};
use super::stages::Failure;
use crate::groups::{FOREIGN_TESTS, SEEDS, Seeds};
use std::path::Path;
use std::process::Command;

/// Binaries side by side.
const WIDTH: usize = 2;
/// Tests of a binary side by side: they wait for most of their time, those over servers above all.
const THREADS: &str = "6";
/// Cases of a property that says no number itself (proptest's own default).
const PROPERTY_CASES: u32 = 256;

/// Which tests of a binary run.
#[derive(Debug, Clone, Copy)]
pub enum TestPart {
    /// Those that need no foreign software.
    Alone,
    /// The others.
    Foreign,
    /// Seeds and properties alone, with more cases.
    Seeds(&'static Seeds),
}

/// Runs a part of each binary.
///
/// # Errors
/// A test failed twice, too many failed, or a binary ended by a signal.
pub fn run(binaries: &[Binary], part: TestPart, folder: &Path, held: &mut HeldAgain) -> Result<(), Failure> {
    let jobs: Vec<TestJob> = binaries.iter().map(|binary| whole(binary, part)).collect();
    let ended = jobs::run(jobs, WIDTH, folder, report).map_err(|error| error.to_string())?;
    let mut failed = Vec::new();
    for ended in ended.iter().filter(|ended| !ended.succeeded) {
        let summary = TestSummary::of(&ended.output);
        if !summary.is_whole || summary.failed.is_empty() {
            return Err(format!("{} ended before its tests", ended.name));
        }
        // A space parts the two: no name has one.
        failed.extend(summary.failed.iter().map(|test| format!("{} {test}", ended.name)));
    }
    held.retry(&failed, folder, |name| alone(binaries, part, name))
}

fn report(ended: &EndedJob) {
    let summary = TestSummary::of(&ended.output);
    if ended.succeeded && summary.passed == 0 {
        return;
    }
    let result = if ended.succeeded { "ok" } else { "FAILED" };
    println!(
        "{result:6} {:6.1} s, {:5.1} s cpu  {}: {} tests",
        ended.seconds, ended.cpu_seconds, ended.name, summary.passed
    );
    if !ended.succeeded {
        retry::print(ended);
    }
}

fn base(binary: &Binary, part: TestPart) -> Command {
    let mut command = Command::new(&binary.path);
    command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
    let foreign: Vec<&str> = FOREIGN_TESTS.iter().flat_map(|(_, sets)| *sets).copied().collect();
    match part {
        // A test that starts foreign software in spite of its name fails by this.
        TestPart::Alone => command.env("CAMPANILE_FOREIGN", ""),
        TestPart::Foreign => command.env("CAMPANILE_FOREIGN", foreign.join(",")),
        TestPart::Seeds(seeds) => {
            command.env("CASES", seeds.times.to_string());
            command.env("PROPTEST_CASES", (PROPERTY_CASES * seeds.times).to_string())
        }
    };
    if let Ok(cases) = std::env::var("CASES").unwrap_or_default().parse::<u32>() {
        command.env("PROPTEST_CASES", PROPERTY_CASES.saturating_mul(cases).to_string());
    }
    command
}

fn whole(binary: &Binary, part: TestPart) -> TestJob {
    let mut command = base(binary, part);
    let modules = FOREIGN_TESTS.iter().map(|(module, _)| *module);
    match part {
        TestPart::Alone => {
            command.args(["--test-threads", THREADS]);
            modules.for_each(|module| {
                command.args(["--skip", module]);
            });
        }
        TestPart::Foreign => {
            command.args(["--test-threads", THREADS]).args(modules);
        }
        // Seeds compute: as many threads as there are processors.
        TestPart::Seeds(seeds) => {
            command.args(seeds.tests);
        }
    }
    TestJob { name: binary.name.clone(), command }
}

/// A test again, named `BINARY TEST`.
fn alone(binaries: &[Binary], part: TestPart, name: &str) -> TestJob {
    let (of, test) = name.split_once(' ').unwrap_or(("", name));
    let mut command = match binaries.iter().find(|binary| binary.name == of) {
        Some(binary) => base(binary, part),
        None => Command::new("false"),
    };
    command.args(["--exact", test, "--test-threads", "1"]);
    TestJob { name: name.to_owned(), command }
}

/// Seeds whose crate's binary is among these.
pub fn seeds_of(binaries: &[Binary]) -> Vec<(&'static Seeds, Binary)> {
    let of = |seeds: &'static Seeds| {
        let binary = binaries.iter().find(|binary| binary.name == seeds.package)?;
        Some((seeds, binary.clone()))
    };
    SEEDS.iter().filter_map(of).collect()
}
