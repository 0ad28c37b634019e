//! Pool runs test processes side by side, with the output of each in a file and its processor time from
//! `/proc`.

use super::usage;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often running processes are looked at.
const POLL_EVERY: Duration = Duration::from_millis(20);
/// A process that runs longer hangs, and is killed.
const JOB_MAX: Duration = Duration::from_secs(1_200);

/// A process to run.
pub struct TestJob {
    /// A story's test, or a crate's test binary.
    pub name: String,
    pub command: Command,
}

/// A process that has ended.
pub struct EndedJob {
    pub name: String,
    /// It ended with exit code 0, in time.
    pub succeeded: bool,
    pub seconds: f64,
    /// User and system time of the process and of all children that it waited for.
    pub cpu_seconds: f64,
    /// Standard output and error, in the order written.
    pub output: String,
}

struct RunningJob {
    name: String,
    child: Child,
    since: Instant,
    log: PathBuf,
}

/// Runs all jobs in their order, at most `width` at a time; `ended` is called as each ends.
///
/// # Errors
/// A process cannot be started, or its output not be kept in `folder`.
pub fn run(
    jobs: Vec<TestJob>,
    width: usize,
    folder: &Path,
    mut ended: impl FnMut(&EndedJob),
) -> io::Result<Vec<EndedJob>> {
    fs::create_dir_all(folder)?;
    let mut waiting: VecDeque<(usize, TestJob)> = jobs.into_iter().enumerate().collect();
    let (mut running, mut all): (Vec<RunningJob>, Vec<EndedJob>) = (Vec::new(), Vec::new());
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < width.max(1) {
            let Some((number, job)) = waiting.pop_front() else { break };
            running.push(start(job, folder.join(format!("{number}.log")))?);
        }
        let mut at = 0;
        while at < running.len() {
            match poll(&mut running[at])? {
                Some(outcome) => {
                    running.swap_remove(at);
                    ended(&outcome);
                    all.push(outcome);
                }
                None => at += 1,
            }
        }
        std::thread::sleep(POLL_EVERY);
    }
    Ok(all)
}

fn start(mut job: TestJob, log: PathBuf) -> io::Result<RunningJob> {
    let file = File::create(&log)?;
    job.command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let child = job.command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start {}: {error}", job.command.get_program().display()))
    })?;
    Ok(RunningJob { name: job.name, child, since: Instant::now(), log })
}

/// The outcome of a process that has ended; it is reaped only once its times were read.
fn poll(running: &mut RunningJob) -> io::Result<Option<EndedJob>> {
    let is_late = running.since.elapsed() > JOB_MAX;
    if is_late {
        running.child.kill()?;
    } else if !usage::is_over(running.child.id()) {
        return Ok(None);
    }
    let cpu_seconds = usage::of_process(running.child.id());
    let seconds = running.since.elapsed().as_secs_f64();
    let status = running.child.wait()?;
    let mut output = String::from_utf8_lossy(&fs::read(&running.log)?).into_owned();
    fs::remove_file(&running.log)?;
    if is_late {
        output += &format!("\nkilled after {} s\n", JOB_MAX.as_secs());
    } else if !status.success() {
        output += &format!("\nended with {status}\n");
    }
    let (name, succeeded) = (std::mem::take(&mut running.name), status.success() && !is_late);
    Ok(Some(EndedJob { name, succeeded, seconds, cpu_seconds, output }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> TestJob {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        TestJob { name: name.to_owned(), command }
    }

    #[test]
    fn each_process_has_its_own_output_result_and_times() {
        let folder = std::env::temp_dir().join(format!("xtask-jobs-{}", std::process::id()));
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done";
        let jobs = vec![shell("fails", "echo one; echo two >&2; exit 3"), shell("works", busy)];
        let mut told = Vec::new();
        let mut ended = run(jobs, 2, &folder, |ended| told.push(ended.name.clone())).unwrap();
        ended.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(told.len(), 2);
        assert!(!ended[0].succeeded && ended[0].output.starts_with("one\ntwo\n\nended with exit status: 3"));
        assert!(ended[1].succeeded && ended[1].output == "done\n");
        assert!(ended[1].cpu_seconds > 0.05 && ended[1].seconds > 0.05, "{}", ended[1].cpu_seconds);
        fs::remove_dir_all(folder).unwrap();
    }
}
