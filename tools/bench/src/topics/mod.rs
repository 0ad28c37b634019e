//! The topic protocol: posters and readers, each reply looked at; beside them, if asked, a bare blocking
//! server in turns.

mod floor;
mod load;
mod paper;
mod request_lists;

pub(crate) use floor::start as start_floor;
pub(crate) use paper::run as run_paper;

use crate::deployment::{PartProcess, Probe, ServerProcess, Usage, free_port};
use crate::measured::{Cpu, Measured, shown};
use crate::statistics::SampleStatistics;
use load::{Done, Load};
use plot::Curve;
use request_lists::{RequestLists, TOPICS};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// The topic door opens so long after the HTTP door.
const DOOR_MAX: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(20);

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct TopicsOptions {
    pub(crate) program: PathBuf,
    pub(crate) folder: Option<PathBuf>,
    /// A server that runs already, and its token.
    pub(crate) server: Option<(String, Option<String>)>,
    pub(crate) fsync: String,
    pub(crate) posters: usize,
    pub(crate) readers: usize,
    /// Topics that requests are spread over.
    pub(crate) topics: usize,
    pub(crate) depth: usize,
    pub(crate) connections: usize,
    pub(crate) durability: String,
    pub(crate) time: Duration,
    /// So many runs, each beside one of the bare server where `floor` is set.
    pub(crate) rounds: usize,
    pub(crate) floor: bool,
}

/// What is measured.
enum Subject {
    Ours { server: Box<ServerProcess>, address: String, folder: TempDir },
    Floor(Box<PartProcess>),
    Foreign { address: String, token: Option<String> },
}

impl Subject {
    async fn open(options: &TopicsOptions) -> Result<Subject, String> {
        if let Some((address, token)) = &options.server {
            return Ok(Subject::Foreign { address: address.clone(), token: token.clone() });
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix("campanile-bench-");
        let folder = match &options.folder {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        let folder = folder.map_err(|error| format!("no folder for the bench: {error}"))?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let config = format!(
            "[bus]\nfsync = \"{}\"\n[topics]\nlisten = \"{address}\"\ndurability = \"{}\"\n",
            options.fsync, options.durability
        );
        let server = ServerProcess::start(&options.program, folder.path(), &config, None).await?;
        let begin = Instant::now();
        while let Err(error) = TcpStream::connect(&address).await {
            if begin.elapsed() > DOOR_MAX {
                return Err(format!("the topic door at {address} does not open: {error}"));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(Subject::Ours { server: Box::new(server), address, folder })
    }

    async fn floor() -> Result<Subject, String> {
        Ok(Subject::Floor(Box::new(PartProcess::start(&["floor"]).await?)))
    }

    fn name(&self) -> &'static str {
        match self {
            Subject::Ours { .. } => "campanile",
            Subject::Floor(_) => "floor",
            Subject::Foreign { .. } => "server",
        }
    }

    fn address(&self) -> (String, Option<String>) {
        match self {
            Subject::Ours { address, .. } => (address.clone(), None),
            Subject::Floor(part) => (part.address().to_owned(), None),
            Subject::Foreign { address, token } => (address.clone(), token.clone()),
        }
    }

    fn usage(&self) -> Option<Usage> {
        match self {
            Subject::Ours { server, .. } => Some(server.usage()),
            Subject::Floor(part) => Some(part.usage()),
            Subject::Foreign { .. } => None,
        }
    }
}

/// Runs it; one line for what is measured, and one for the bare server.
///
/// # Errors
/// What does not come up or breaks, in words.
pub(crate) async fn run(options: &TopicsOptions) -> Result<Vec<Measured>, String> {
    let ours = Subject::open(options).await?;
    let floor = if options.floor { Some(Subject::floor().await?) } else { None };
    let (mut lines, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let one = measure(&ours, options).await?;
        if let Some(floor) = &floor {
            let beside = measure(floor, options).await?;
            ratios.push(one.rate_per_s / beside.rate_per_s);
            floors.push(beside);
        }
        lines.push(one);
    }
    let mut line = middle(lines);
    if let Some(ratio) = SampleStatistics::of(&ratios) {
        line = line.and("of_floor", ratio.median);
    }
    Ok(std::iter::once(line).chain((!floors.is_empty()).then(|| middle(floors))).collect())
}

/// The run in the middle, with the errors of all.
fn middle(mut runs: Vec<Measured>) -> Measured {
    let errors = runs.iter().map(|run| run.errors).sum();
    runs.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
    let mut run = runs.swap_remove(runs.len() / 2);
    run.errors = errors;
    run
}

async fn measure(subject: &Subject, options: &TopicsOptions) -> Result<Measured, String> {
    let probe = match subject {
        Subject::Ours { folder, .. } if options.durability == "disk" => {
            Some(Probe::start(folder.path()).map_err(|error| format!("the disk: {error}"))?)
        }
        _ => None,
    };
    let (address, token) = subject.address();
    // A server that others use has their topics too.
    let mark = match subject {
        Subject::Foreign { .. } => format!("-{}", uuid::Uuid::now_v7().simple()),
        _ => String::new(),
    };
    let load = Load {
        address,
        token,
        posters: options.posters,
        readers: options.readers,
        topics: options.topics.clamp(1, TOPICS) as u64,
        depth: options.depth,
        connections: options.connections,
        time: options.time,
        words: Arc::new(RequestLists::new(&mark)),
    };
    let (before, own) = (subject.usage(), Usage::of(std::process::id()));
    let done = tokio::task::spawn_blocking(move || load::run(&load)).await;
    let done = done.map_err(|error| format!("the load: {error}"))??;
    let (after, own_after) = (subject.usage(), Usage::of(std::process::id()));
    let syncs = probe.map(Probe::syncs).transpose().map_err(|error| format!("the disk: {error}"))?;
    let mut line = line(subject, options, &done);
    let millions = (done.requests as f64 / 1e6).max(f64::MIN_POSITIVE);
    let used = |before: Option<Usage>, after: Option<Usage>| Some((after?.cpu_s - before?.cpu_s) / millions);
    line.cpu_s_per_million = Cpu { server: used(before, after), load: used(own, own_after) };
    line.peak_rss_mb = after.map(|usage| usage.peak_rss as f64 / 1e6);
    if let Some(syncs) = syncs {
        line = syncs.tell(line, options.connections.max(options.posters + options.readers) * options.depth);
    }
    Ok(line)
}

fn line_rate(done: &Done) -> f64 {
    done.requests as f64 / done.elapsed.as_secs_f64()
}

fn line(subject: &Subject, options: &TopicsOptions, done: &Done) -> Measured {
    let threads = (options.posters + options.readers) as f64;
    let mut line = Measured::new("topics")
        .with("server", subject.name())
        .with("posters", options.posters)
        .with("readers", options.readers)
        .with("topics", options.topics)
        .with("depth", options.depth)
        .with("connections", options.connections.max(options.posters + options.readers))
        .with("durability", options.durability.as_str())
        .with("seconds", options.time.as_secs_f64())
        .with("rounds", options.rounds)
        .and("requests", done.requests)
        .and("per_thread_per_s", line_rate(done) / threads);
    line.rate_per_s = line_rate(done);
    line.p50_us = done.spread.percentile_us(0.5);
    line.p99_us = done.spread.percentile_us(0.99);
    line.errors = done.errors;
    line
}

/// For people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "server",
        "durability",
        "posters",
        "readers",
        "topics",
        "depth",
        "connections",
        "requests/s",
        "per thread",
        "of floor",
        "p50 us",
        "p99 us",
        "CPU s/M server",
        "CPU s/M load",
        "fdatasync us",
        "of N/s",
        "alone us",
        "of N/s alone",
        "peak MB",
        "errors",
    ];
    let row = |line: &Measured| {
        let text = |name: &str| match line.params.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let maybe = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), shown);
        let whole = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        vec![
            text("server"),
            text("durability"),
            text("posters"),
            text("readers"),
            text("topics"),
            text("depth"),
            text("connections"),
            shown(line.rate_per_s),
            maybe(line.number("per_thread_per_s")),
            maybe(line.number("of_floor")),
            whole(line.p50_us),
            whole(line.p99_us),
            maybe(line.cpu_s_per_million.server),
            maybe(line.cpu_s_per_million.load),
            whole(line.fdatasync_p50_us),
            maybe(line.number("of_waiting_over_sync")),
            maybe(line.number("fdatasync_alone_us")),
            maybe(line.number("of_waiting_over_sync_alone")),
            maybe(line.peak_rss_mb),
            line.errors.to_string(),
        ]
    };
    (head, measured.iter().map(row).collect())
}

/// Requests a second over the threads, a curve for each server, durability and depth.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in measured {
        let text = |name: &str| line.params.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = format!(
            "{}, {}, depth {}",
            text("server"),
            text("durability"),
            line.number("depth").unwrap_or_default()
        );
        let Some(clients) = line.number("connections") else { continue };
        let point = (clients, line.rate_per_s);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point] }),
        }
    }
    curves
}
