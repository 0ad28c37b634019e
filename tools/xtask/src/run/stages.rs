//! Stages of a run, each with its wall time and its processor time.

use super::usage;
use std::time::Instant;

/// A stage that has ended.
struct StageTime {
    name: String,
    seconds: f64,
    cpu_seconds: f64,
}

/// All stages of a run so far.
pub struct Stages {
    since: Instant,
    done: Vec<StageTime>,
}

/// What a stage says when it has failed, for its last line.
pub type Failure = String;

impl Stages {
    pub fn new() -> Stages {
        Stages { since: Instant::now(), done: Vec::new() }
    }

    /// Runs a stage and prints its name before it, its times after it.
    ///
    /// # Errors
    /// What the stage itself returned.
    pub fn run<T>(&mut self, name: &str, stage: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        println!("\n== {name}");
        let (since, cpu_before) = (Instant::now(), usage::of_children());
        let result = stage();
        let seconds = since.elapsed().as_secs_f64();
        let cpu_seconds = usage::of_children() - cpu_before;
        match &result {
            Ok(_) => println!("== {name}: {seconds:.0} s, {cpu_seconds:.0} s of processor time"),
            Err(failure) => println!("== {name}: FAILED after {seconds:.0} s: {failure}"),
        }
        self.done.push(StageTime { name: name.to_owned(), seconds, cpu_seconds });
        result
    }

    /// A table of all stages.
    pub fn print(&self) {
        println!("\nwall s   cpu s  stage");
        for stage in &self.done {
            println!("{:6.0}  {:6.0}  {}", stage.seconds, stage.cpu_seconds, stage.name);
        }
        let cpu: f64 = self.done.iter().map(|stage| stage.cpu_seconds).sum();
        println!("{:6.0}  {cpu:6.0}  all", self.since.elapsed().as_secs_f64());
    }
}
