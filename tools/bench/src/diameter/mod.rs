//! Credit control: clients with windows of requests, every answer looked at; afterwards every account's books
//! against the answers.

mod books;
mod floor;
mod load;
mod paper;
mod pattern;
mod report;
mod request;
mod study;
mod subject;
mod transport;

pub(crate) use floor::start as start_floor;
pub(crate) use load::Amount;
pub(crate) use paper::run as run_paper;
pub(crate) use pattern::Pattern;
pub(crate) use report::{curves, rows};
pub(crate) use study::{Experiment, StudyOptions, run as run_study, run_job};
pub(crate) use transport::Transport;

use crate::deployment::{Placement, Probe, Usage, touch_memory};
use crate::measured::{Cpu, Measured};
use books::check_books;
use load::{Done, Load};
use std::path::PathBuf;
use subject::Subject;

/// What each account has before the first request: enough for any run.
const BALANCE: i64 = 1_000_000_000;

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct DiameterOptions {
    pub(crate) program: PathBuf,
    pub(crate) folder: Option<PathBuf>,
    /// A server that runs already.
    pub(crate) server: Option<String>,
    pub(crate) fsync: String,
    pub(crate) connections: usize,
    pub(crate) window: usize,
    pub(crate) pattern: Pattern,
    pub(crate) accounts: u32,
    pub(crate) threads: usize,
    pub(crate) amount: Amount,
    pub(crate) transport: Transport,
    /// A bare server is measured too, in turns.
    pub(crate) floor: bool,
    pub(crate) rounds: usize,
    /// Requests a second that fall due, for an open loop.
    pub(crate) rate: Option<f64>,
    /// Where our server runs, and with which allocator.
    pub(crate) placement: Placement,
    /// The processors of the load; none named: all that this process may use.
    pub(crate) load_cpus: Vec<usize>,
}

/// Runs it; a line for each round of what is measured, and of the bare server.
///
/// # Errors
/// What does not come up or breaks, in words; an answer or an account that is not as it should be.
pub(crate) async fn run(options: &DiameterOptions) -> Result<Vec<Measured>, String> {
    if options.server.is_none() {
        touch_memory();
    }
    let ours = Subject::open(options).await?;
    let floor = if options.floor { Some(Subject::floor().await?) } else { None };
    let mut lines = Vec::new();
    let mut charged = vec![0_u64; options.accounts as usize];
    for round in 0..options.rounds {
        // With an empty account file the first requests also open the accounts: that is not what is measured.
        if round == 0 && matches!(ours, Subject::Ours { .. }) {
            let opening = DiameterOptions {
                pattern: Pattern::Event,
                rate: None,
                amount: Amount::Of(u64::from(options.accounts) * 3),
                ..options.clone()
            };
            measure(&ours, &opening, &mut charged).await?;
        }
        lines.push(measure(&ours, options, &mut charged).await?);
        if let Some(floor) = &floor
            && options.pattern == Pattern::Event
        {
            lines.push(measure(floor, options, &mut vec![0; options.accounts as usize]).await?);
        }
    }
    if let Subject::Ours { server, folder, .. } = ours {
        drop(server);
        let wrong = check_books(folder.path(), &charged).await?;
        if let Some(first) = lines.first_mut() {
            first.errors += wrong;
            first.more.insert("accounts_checked".to_owned(), charged.len().into());
        }
    }
    Ok(lines)
}

async fn measure(
    subject: &Subject,
    options: &DiameterOptions,
    charged: &mut [u64],
) -> Result<Measured, String> {
    let probe = match subject {
        Subject::Ours { folder, .. } if options.fsync == "always" => {
            Some(Probe::start(folder.path()).map_err(|error| format!("the disk: {error}"))?)
        }
        _ => None,
    };
    let load = Load {
        address: subject.address(),
        threads: options.threads,
        connections: options.connections,
        window: options.window,
        pattern: options.pattern,
        accounts: options.accounts,
        amount: options.amount,
        rate: options.rate,
        tls: subject.tls(),
        cpus: options.load_cpus.clone(),
        transport: options.transport,
        run: uuid::Uuid::now_v7().as_u64_pair().0 >> 16,
    };
    let (before, own) = (subject.usage(), Usage::of(std::process::id()));
    let done = tokio::task::spawn_blocking(move || load::run(&load)).await;
    let done = done.map_err(|error| format!("the load: {error}"))??;
    let (after, own_after) = (subject.usage(), Usage::of(std::process::id()));
    let syncs = probe.map(Probe::syncs).transpose().map_err(|error| format!("the disk: {error}"))?;
    for (sum, more) in charged.iter_mut().zip(&done.charged) {
        *sum += u64::from(*more);
    }
    if let Some(wrong) = &done.wrong {
        eprintln!("{wrong}");
    }
    let mut line = line(subject, options, &done);
    let millions = (done.requests as f64 / 1e6).max(f64::MIN_POSITIVE);
    let used = |before: Option<Usage>, after: Option<Usage>| Some((after?.cpu_s - before?.cpu_s) / millions);
    line.cpu_s_per_million = Cpu { server: used(before, after), load: used(own, own_after) };
    let busy = |before: Option<Usage>, after: Option<Usage>| {
        Some((after?.cpu_s - before?.cpu_s) / done.elapsed.as_secs_f64())
    };
    line = line.and("server_cores_busy", busy(before, after)).and("load_cores_busy", busy(own, own_after));
    line.peak_rss_mb = after.map(|usage| usage.peak_rss as f64 / 1e6);
    if let Some(syncs) = syncs {
        line = syncs.tell(line, options.connections * options.window);
    }
    Ok(line)
}

fn rate(done: &Done) -> f64 {
    done.requests as f64 / done.elapsed.as_secs_f64()
}

fn line(subject: &Subject, options: &DiameterOptions, done: &Done) -> Measured {
    let mut line = Measured::new("diameter")
        .with("server", subject.name())
        .with("transport", options.transport.name())
        .with("pattern", options.pattern.name())
        .with("connections", options.connections)
        .with("window", options.window)
        .with("accounts", options.accounts)
        .with("fsync", options.fsync.as_str())
        .with("request_octets", done.octets)
        .with("loop", if options.rate.is_some() { "open" } else { "closed" })
        .and("requests", done.requests)
        .and("p999_us", done.spread.percentile_us(0.999));
    if let Some(asked) = options.rate {
        line = line
            .with("asked_per_s", asked)
            .and("late", done.late)
            .and("lag_mean_us", done.lag.mean_s() * 1e6)
            .and("lag_max_us", done.lag.max().as_micros() as u64);
    }
    line.rate_per_s = rate(done);
    line.p50_us = done.spread.percentile_us(0.5);
    line.p99_us = done.spread.percentile_us(0.99);
    line.errors = done.errors;
    line
}
