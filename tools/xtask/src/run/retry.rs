//! Tests that failed run once more, alone, at the end of their stage.
//!
//! The machines that check a change are shared and stand still for seconds at a time. A test that fails there
//! and holds when it runs again by itself is named in the last lines of the run, so that somebody mends it.
//! More than [`HELD_AGAIN_MAX`] of them fail the run, as does a test that fails twice, a binary that ends by
//! a signal, and a stage in which more than [`FAILED_MAX`] tests failed.

use super::jobs::{self, EndedJob, TestJob};
use super::stages::Failure;
use std::path::Path;

/// More failures in one stage than this are nobody's bad moment.
const FAILED_MAX: usize = 5;
/// A run in which more tests than this held only at the second attempt has failed.
pub const HELD_AGAIN_MAX: usize = 2;

/// Tests of a run that held only when they ran again.
#[derive(Debug, Default)]
pub struct HeldAgain {
    tests: Vec<String>,
}

impl HeldAgain {
    /// Runs again what failed: each test of `failed` by the job that `alone` makes of it.
    ///
    /// # Errors
    /// There are too many of them, or one failed again: with its name. Its output was printed.
    pub fn retry(
        &mut self,
        failed: &[String],
        folder: &Path,
        alone: impl Fn(&str) -> TestJob,
    ) -> Result<(), Failure> {
        if failed.len() > FAILED_MAX {
            return Err(format!("{} tests failed: {}", failed.len(), failed.join(", ")));
        }
        for name in failed {
            println!("once more, alone: {name}");
            let ended = jobs::run(vec![alone(name)], 1, folder, |_| ()).map_err(|error| error.to_string())?;
            let held = ended.iter().all(|ended| ended.succeeded && TestSummary::of(&ended.output).passed > 0);
            if !held {
                ended.iter().for_each(print);
                return Err(format!("failed twice: {name}"));
            }
            self.tests.push(name.clone());
        }
        Ok(())
    }

    /// The run's last lines; false if there are too many.
    pub fn print(&self) -> bool {
        let too_many = self.tests.len() > HELD_AGAIN_MAX;
        if !self.tests.is_empty() {
            println!("\nheld only when run again, alone (mend the cause; over {HELD_AGAIN_MAX} fail a run):");
            self.tests.iter().for_each(|name| println!("  {name}"));
        }
        if too_many {
            println!("FAILED: {} tests held only when run again", self.tests.len());
        }
        !too_many
    }
}

/// Prints all that a process wrote.
pub fn print(ended: &EndedJob) {
    println!("---- {}\n{}", ended.name, ended.output.trim_end());
}

/// Results that a test binary printed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TestSummary {
    /// Names of tests that failed, each once.
    pub failed: Vec<String>,
    /// Tests that held.
    pub passed: usize,
    /// It came to its own end: no signal, no `exit`.
    pub is_whole: bool,
}

impl TestSummary {
    /// Reads the output of a binary of libtest.
    pub fn of(output: &str) -> TestSummary {
        let mut summary = TestSummary::default();
        for line in output.lines() {
            if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
                let name = name.split(" - should panic").next().unwrap_or(name).to_owned();
                if !summary.failed.contains(&name) {
                    summary.failed.push(name);
                }
            } else if let Some(result) = line.strip_prefix("test result: ") {
                summary.is_whole = true;
                let passed = result.split(' ').skip_while(|word| !word.ends_with('.')).nth(1);
                summary.passed += passed.and_then(|passed| passed.parse().ok()).unwrap_or(0);
            }
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const ONE: &str = "test embedded::tests::a_full_disk_is_told ... FAILED";
    const RESULT: &str = "test result: FAILED. 170 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";

    #[test]
    fn results_of_a_binary_are_read_from_its_lines() {
        let summary = TestSummary::of(&["test a ... ok", ONE, ONE, RESULT].join("\n"));
        assert_eq!(summary.failed, ["embedded::tests::a_full_disk_is_told"]);
        assert_eq!((summary.passed, summary.is_whole), (170, true));
        assert!(!TestSummary::of(ONE).is_whole, "a binary that ends by a signal prints no result");
        let panics = TestSummary::of("test a - should panic ... FAILED");
        assert_eq!(panics.failed, ["a"], "the name is what --exact takes");
    }

    fn says(line: &'static str) -> impl Fn(&str) -> TestJob {
        move |name| {
            let mut command = Command::new("echo");
            command.arg(line);
            TestJob { name: name.to_owned(), command }
        }
    }

    #[test]
    fn what_holds_again_is_kept_and_over_two_of_them_fail_the_run() {
        let folder = std::env::temp_dir().join(format!("xtask-retry-{}", std::process::id()));
        let mut held = HeldAgain::default();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        held.retry(&names(&["a", "b"]), &folder, says("test result: ok. 1 passed; 0 failed")).unwrap();
        assert!(held.print());
        held.retry(&names(&["c"]), &folder, says("test result: ok. 1 passed; 0 failed")).unwrap();
        assert!(!held.print());
        let none = held.retry(&names(&["d"]), &folder, says("test result: ok. 0 passed; 0 failed"));
        assert_eq!(none, Err("failed twice: d".to_owned()), "a test that is not found has not held");
        let many = names(&["1", "2", "3", "4", "5", "6"]);
        assert!(held.retry(&many, &folder, says("")).unwrap_err().starts_with("6 tests failed"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
