//! `cargo xtask test`: all tests, and the few that failed once more, alone.
//!
//! The machines that check a change are shared and stand still for seconds at a time. A test that fails there and
//! holds when it is run again by itself is named, so that somebody looks at it, and does not fail the change. What
//! fails twice does, and so does what does not compile, ends by a signal, or fails in larger numbers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// More failures than this are nobody's bad moment.
const AGAIN_MAX: usize = 3;
/// Options of a test binary that are followed by what they are set to.
const SET_BY_NEXT: [&str; 7] =
    ["--test-threads", "--skip", "--logfile", "--color", "--format", "--shuffle-seed", "-Z"];
/// Those that a run of one test alone brings by itself, or that say which tests run.
const OF_ALL: [&str; 5] = ["--exact", "--test-threads", "--skip", "--shuffle", "--shuffle-seed"];

/// What one run of `cargo test` said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    /// Names of tests that failed, each once.
    failed: Vec<String>,
    /// Tests that held, by the binaries' own summaries.
    passed: usize,
    /// Binaries whose own summary says that tests failed.
    binaries_failed: usize,
    /// Binaries that cargo says failed.
    targets_failed: usize,
}

impl Heard {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            let name = name.split(" - should panic").next().unwrap_or(name).to_owned();
            if !self.failed.contains(&name) {
                self.failed.push(name);
            }
        } else if let Some(summary) = line.strip_prefix("test result: ") {
            self.binaries_failed += usize::from(summary.starts_with("FAILED"));
            let passed = summary.split(' ').skip_while(|word| !word.ends_with('.')).nth(1);
            self.passed += passed.and_then(|passed| passed.parse().ok()).unwrap_or(0);
        }
    }

    /// A line of cargo's own: `    `-p bus --lib`` below "N targets failed:".
    fn cargo_line(&mut self, line: &str) {
        if line.starts_with("    `-p ") {
            self.targets_failed += 1;
        }
    }

    /// All that went wrong is a few tests that said so themselves: nothing crashed, everything was built.
    fn is_few(&self) -> bool {
        (1..=AGAIN_MAX).contains(&self.failed.len())
            && self.binaries_failed > 0
            && self.targets_failed <= self.binaries_failed
    }
}

/// Runs `cargo test --no-fail-fast ARGUMENTS`. True: everything held, at the latest the second time.
pub fn run(arguments: &[&str]) -> std::io::Result<bool> {
    let (held, heard) = cargo_test(arguments)?;
    if held {
        return Ok(true);
    }
    if !heard.is_few() {
        return Ok(false);
    }
    for name in &heard.failed {
        println!("\nonce more, alone: {name}");
        let (held, heard) = cargo_test(&alone(arguments, name))?;
        // Where none ran it did not hold.
        if !held || heard.passed == 0 {
            return Ok(false);
        }
    }
    for name in &heard.failed {
        println!("held only when run again, alone: {name}");
    }
    Ok(true)
}

/// The same arguments for one test alone: without filters of names, with all else that is said to cargo and to the tests. A filter among
/// cargo's own stays, and finds nothing beside, since names count as a whole then.
fn alone<'a>(arguments: &[&'a str], name: &'a str) -> Vec<&'a str> {
    let at = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
    let (of_cargo, of_tests) = arguments.split_at(at);
    let mut alone = of_cargo.to_vec();
    alone.extend(["--", "--exact", name, "--test-threads", "1"]);
    let mut of_tests = of_tests.iter().copied().skip(1);
    while let Some(argument) = of_tests.next() {
        let option = argument.split('=').next().unwrap_or(argument);
        let set_to = SET_BY_NEXT.contains(&argument).then(|| of_tests.next()).flatten();
        if option.starts_with('-') && !OF_ALL.contains(&option) {
            alone.push(argument);
            alone.extend(set_to);
        }
    }
    alone
}

fn cargo_test(arguments: &[&str]) -> std::io::Result<(bool, Heard)> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg("test").arg("--no-fail-fast").args(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let errors = child.stderr.take();
    let of_cargo = std::thread::spawn(move || {
        let mut heard = Heard::default();
        for line in lines(errors) {
            eprintln!("{line}");
            heard.cargo_line(&line);
        }
        heard.targets_failed
    });
    let mut heard = Heard::default();
    let mut out = std::io::stdout();
    for line in lines(child.stdout.take()) {
        writeln!(out, "{line}")?;
        heard.line(&line);
    }
    heard.targets_failed = of_cargo.join().unwrap_or(usize::MAX);
    Ok((child.wait()?.success(), heard))
}

/// Lines of a pipe, whatever octets they hold.
fn lines(pipe: Option<impl std::io::Read>) -> impl Iterator<Item = String> {
    pipe.into_iter()
        .flat_map(|pipe| BufReader::new(pipe).split(b'\n').map_while(Result::ok))
        .map(|line| String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str], of_cargo: &[&str]) -> Heard {
        let mut heard = Heard::default();
        lines.iter().for_each(|line| heard.line(line));
        of_cargo.iter().for_each(|line| heard.cargo_line(line));
        heard
    }

    const ONE: &str = "test embedded::tests::a_full_disk_is_told ... FAILED";
    const SUMMARY: &str = "test result: FAILED. 170 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
    const TARGET: &str = "    `-p bus --lib`";

    #[test]
    fn a_few_failures_that_said_so_are_tried_again() {
        let heard = heard(&["test a ... ok", ONE, ONE, SUMMARY], &["error: 1 target failed:", TARGET]);
        assert_eq!(heard.failed, ["embedded::tests::a_full_disk_is_told"]);
        assert!(heard.is_few());
    }

    #[test]
    fn a_crash_a_build_that_fails_and_many_failures_are_not() {
        assert!(
            !heard(&["test a ... ok"], &["error: could not compile `bus`"]).is_few(),
            "nothing was built"
        );
        assert!(!heard(&["test a ... ok"], &[TARGET]).is_few(), "ended by a signal");
        assert!(!heard(&[ONE, SUMMARY], &[TARGET, TARGET]).is_few(), "one target crashed beside");
        let many: Vec<String> = (0..=AGAIN_MAX).map(|n| format!("test t{n} ... FAILED")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        many.push(SUMMARY);
        assert!(!heard(&many, &[TARGET]).is_few());
    }

    #[test]
    fn what_failed_runs_again_alone_whatever_filters_it_was_found_by() {
        for (arguments, expected) in [
            ("-p it", "-p it -- --exact a::b --test-threads 1"),
            ("-p it --", "-p it -- --exact a::b --test-threads 1"),
            ("-p it -- a several::", "-p it -- --exact a::b --test-threads 1"),
            ("-- --exact --test-threads 4 a", "-- --exact a::b --test-threads 1"),
            ("-- --test-threads=4 --skip c --nocapture a", "-- --exact a::b --test-threads 1 --nocapture"),
            (
                "-- --color never --include-ignored",
                "-- --exact a::b --test-threads 1 --color never --include-ignored",
            ),
        ] {
            let arguments: Vec<&str> = arguments.split(' ').collect();
            assert_eq!(alone(&arguments, "a::b").join(" "), expected, "{arguments:?}");
        }
    }

    #[test]
    fn tests_that_held_are_counted() {
        const HELD: &str = "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 9 filtered out";
        assert_eq!(heard(&[HELD, SUMMARY], &[]).passed, 172);
        assert_eq!(heard(&["test result: ok. 0 passed; 0 failed; 0 ignored"], &[]).passed, 0);
    }

    #[test]
    fn a_test_that_should_panic_is_known_by_its_name() {
        let heard = heard(&["test it::ends - should panic ... FAILED"], &[]);
        assert_eq!(heard.failed, ["it::ends"]);
    }
}
