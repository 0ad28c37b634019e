//! The published study's experiments, answered again: each with its own switch, in the server where there is
//! something to switch, and alone.
//!
//! What is compared runs in turns, each in a process of its own, and the middle round counts.

mod allocators;
mod experiments;
mod handling;
mod job;
mod locks;
mod pieces;
mod queues;
mod table;

pub(crate) use job::run as run_job;

use super::{DiameterOptions, run as run_server};
use crate::deployment::{Placement, is_mapped, this_program};
use crate::measured::{Cpu, Measured};
use allocators::Allocator;
use clap::ValueEnum;
use job::{Job, JobResult};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use table::{ExperimentReport, Line};

/// A job that takes longer is given up.
const JOB_MAX: Duration = Duration::from_secs(600);

/// A question of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Experiment {
    /// glibc, TCMalloc, mimalloc, jemalloc: under the server, handling messages alone, allocating alone
    Allocator,
    /// The queue of records: a vector or a list, drained under its lock or without it, with each allocator
    Queue,
    /// False sharing: two locks in one cache line, or in two
    Sharing,
    /// Threads on one processor each, on a set, or free: the server, and handling messages alone
    Affinity,
    /// Copying by block or by octet
    Copy,
    /// TCP or TLS, fifty connections or one hot one with the same requests in flight
    Transport,
}

/// What the experiments are run with.
#[derive(Debug, Clone)]
pub(crate) struct StudyOptions {
    /// The server's runs: 50 connections, events.
    pub(crate) server: DiameterOptions,
    /// Divides the published counts.
    pub(crate) time_scale: f64,
    /// Where allocators are looked for first.
    pub(crate) libraries: Option<PathBuf>,
    pub(crate) rounds: usize,
}

impl StudyOptions {
    /// A published count, divided; at least one.
    fn scaled(&self, published: f64) -> u64 {
        (published / self.time_scale).ceil().max(1.0) as u64
    }

    /// Where our processes run with this allocator, or why not.
    fn with_allocator(&self, allocator: Allocator) -> Result<Placement, String> {
        let preload = allocator.library(self.libraries.as_deref())?;
        Ok(Placement { preload, ..Placement::default() })
    }
}

/// One thing that is measured.
struct Trial {
    /// What it is compared within: rates of different parts are of different things.
    part: String,
    variant: String,
    published: &'static str,
    how: How,
}

enum How {
    /// Work of this size in a process of its own.
    Alone(Job, Placement),
    /// The server, loaded.
    Server(Box<DiameterOptions>),
    /// Not measured, and why.
    Gap(String),
}

/// Runs one experiment.
///
/// # Errors
/// What does not come up or breaks, in words.
pub(crate) async fn run(experiment: Experiment, options: &StudyOptions) -> Result<ExperimentReport, String> {
    let plan = experiments::plan(experiment, options)?;
    let mut rounds: Vec<Vec<Measured>> = plan.trials.iter().map(|_| Vec::new()).collect();
    for round in 1..=options.rounds {
        for (trial, lines) in plan.trials.iter().zip(&mut rounds) {
            let Some(line) = measure(trial, options, round).await? else { continue };
            lines.push(line);
        }
    }
    let lines = plan.trials.iter().zip(rounds).map(|(trial, rounds)| {
        let gap = if let How::Gap(why) = &trial.how { Some(why.clone()) } else { None };
        Line::new(trial.part.clone(), trial.variant.clone(), trial.published, gap, rounds)
    });
    Ok(ExperimentReport { name: plan.name, title: plan.title, notes: plan.notes, lines: lines.collect() })
}

async fn measure(trial: &Trial, options: &StudyOptions, round: usize) -> Result<Option<Measured>, String> {
    if !matches!(trial.how, How::Gap(_)) {
        eprintln!("  round {round} of {}: {}, {} …", options.rounds, trial.part, trial.variant);
    }
    let line = match &trial.how {
        How::Gap(_) => return Ok(None),
        How::Alone(job, placement) => {
            let outcome = alone(job, placement).await?;
            line_of(job, &outcome)
        }
        How::Server(server) => {
            let lines = run_server(server).await?;
            let errors = lines.iter().map(|line| line.errors).sum();
            let mut line = lines.into_iter().next().ok_or("the server's run gave nothing")?;
            line.errors = errors;
            line
        }
    };
    let line = line.with("experiment", trial.part.as_str()).with("variant", trial.variant.as_str());
    Ok(Some(line.with("round", round)))
}

fn line_of(job: &Job, outcome: &JobResult) -> Measured {
    let mut line = Measured::new("diameter-study").with("threads", job.threads).with("turns", job.count);
    line.rate_per_s = outcome.count as f64 / outcome.seconds.max(f64::MIN_POSITIVE);
    let millions = (outcome.count as f64 / 1e6).max(f64::MIN_POSITIVE);
    line.cpu_s_per_million = Cpu { server: None, load: Some(outcome.cpu_s / millions) };
    line.errors = outcome.wrong;
    line.and("seconds", outcome.seconds)
        .and("cores_busy", outcome.cpu_s / outcome.seconds.max(f64::MIN_POSITIVE))
}

/// Runs a job in a process of its own, and looks whether it had the allocator that was asked for.
async fn alone(job: &Job, placement: &Placement) -> Result<JobResult, String> {
    let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    let mut command = tokio::process::Command::new(this_program()?);
    command.args(["part", "study", "--job", &text]).envs(placement.environment());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let child =
        placement.spawn(|| command.spawn()).map_err(|error| format!("cannot start a job: {error}"))?;
    let output = tokio::time::timeout(JOB_MAX, child.wait_with_output()).await;
    let output = output.map_err(|_| format!("a job took more than {} s: {text}", JOB_MAX.as_secs()))?;
    let output = output.map_err(|error| format!("the job {text}: {error}"))?;
    if !output.status.success() {
        return Err(format!("the job {text} failed: {}", output.status));
    }
    let outcome: JobResult = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the job {text} answered what is no outcome: {error}"))?;
    if let Some(library) = placement.preload.as_deref().filter(|library| !is_mapped(&outcome.mapped, library))
    {
        return Err(format!("{} was not loaded: the job would measure another allocator", library.display()));
    }
    Ok(outcome)
}
