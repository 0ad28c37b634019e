//! Submission alone: alerts a second over HTTP, each listing its endpoints.

mod paper;
mod sizes;

pub(crate) use paper::{curves, rows as paper_rows, run as run_paper};
pub(crate) use sizes::{curves as sizes_curves, rows as sizes_rows, run as run_sizes};

use crate::deployment::{Api, Plan, ServerWithCarriers, fdatasync_p50_us};
use crate::measured::{Measured, percentile, shown};
use records::ChannelNumber;
use serde_json::json;
use sim::chance::Chance;
use sim::town::phone_number;
use sim::{mailbox, smsc};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Reports asked for at the same time when all is checked.
const CHECKERS: u64 = 16;
/// An alert is done after so long.
const PATIENCE: Duration = Duration::from_secs(300);
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What is run.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The program whose server and simulators run.
    pub program: PathBuf,
    /// Where the server's folder is made; nothing: where the system keeps temporary files.
    pub folder: Option<PathBuf>,
    /// A server that runs already, and its token.
    pub server: Option<(String, String)>,
    /// Endpoints that each alert lists.
    pub endpoints: u64,
    /// On which channel they are.
    pub channel: ChannelNumber,
    /// Clients, each with one request in flight.
    pub threads: u64,
    /// How much is submitted.
    pub amount: Amount,
    /// Mean of the exponential gaps before the requests of a client; zero: none.
    pub gap: Duration,
    /// `[bus] fsync`.
    pub fsync: String,
    /// Decides the gaps.
    pub seed: u64,
}

/// How much is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many by each client.
    Each(u64),
    /// As many as can be in this time.
    For(Duration),
}

/// What the clients saw.
#[derive(Default)]
struct ClientResults {
    ids: Vec<String>,
    /// Time to the answer, microseconds.
    times: Vec<u64>,
    errors: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// What did not work, in words; what worked and was not right is counted in the measurement's errors.
pub async fn run(options: &HttpOptions) -> Result<Measured, String> {
    if let Some((address, token)) = &options.server {
        return Ok(load(options, &Api::new(address, token)?, 0).await?.0);
    }
    let deployment = open(options).await?;
    run_in(options, &deployment, 0).await
}

async fn open(options: &HttpOptions) -> Result<ServerWithCarriers, String> {
    ServerWithCarriers::open(&Plan {
        program: options.program.clone(),
        folder: options.folder.clone(),
        sms: (options.channel == channels::SMS).then(smsc::SmscOptions::sink),
        mail: (options.channel == channels::MAIL).then(mailbox::MailboxOptions::sink),
        pager: (options.channel == channels::PAGER).then(sim::pager::PagingOptions::sink),
        webhook: None,
        mqtt: None,
        im: None,
        has_answers: false,
        fsync: options.fsync.clone(),
        sessions: 2,
        window: 500,
        rate: 0.0,
    })
    .await
}

/// A run in a house that is open: `round` makes its addresses its own.
async fn run_in(
    options: &HttpOptions,
    deployment: &ServerWithCarriers,
    round: u64,
) -> Result<Measured, String> {
    let fdatasync_us =
        fdatasync_p50_us(deployment.folder()).map_err(|error| format!("fdatasync: {error}"))?;
    let (server_before, load_before) = deployment.usage();
    let (mut measured, requests) = load(options, &deployment.server.api()?, round).await?;
    let (server, load) = deployment.usage();
    let millions = requests as f64 / 1e6;
    measured.cpu_s_per_million.server = Some((server.cpu_s - server_before.cpu_s) / millions);
    measured.cpu_s_per_million.load = Some((load.cpu_s - load_before.cpu_s) / millions);
    measured.peak_rss_mb = Some(server.peak_rss as f64 / 1e6);
    measured.fdatasync_p50_us = Some(fdatasync_us);
    Ok(measured)
}

/// The load itself, and the check of every alert behind it. Returns how many requests there were.
async fn load(options: &HttpOptions, api: &Api, round: u64) -> Result<(Measured, u64), String> {
    let begin = Instant::now();
    let numbers = Arc::new(AtomicU64::new(0));
    let clients = (0..options.threads).map(|thread| {
        let client = HttpClient {
            options: options.clone(),
            api: api.clone(),
            numbers: Arc::clone(&numbers),
            thread,
            round,
        };
        tokio::spawn(client.run(begin))
    });
    let clients: Vec<_> = clients.collect();
    let mut seen = ClientResults::default();
    for client in clients {
        let one = client.await.map_err(|error| error.to_string())?;
        seen.ids.extend(one.ids);
        seen.times.extend(one.times);
        seen.errors.extend(one.errors);
    }
    let seconds = begin.elapsed().as_secs_f64();
    if let (true, Some(error)) = (seen.ids.is_empty(), seen.errors.first()) {
        return Err(error.clone());
    }
    let requests = (seen.ids.len() + seen.errors.len()) as u64;
    let unique: HashSet<&String> = seen.ids.iter().collect();
    let repeated = (seen.ids.len() - unique.len()) as u64;
    let unaccounted = check(api, &seen.ids, options.endpoints).await?;
    seen.times.sort_unstable();
    let mean_us = seen.times.iter().sum::<u64>() as f64 / seen.times.len().max(1) as f64;
    let mut measured = Measured::new("http")
        .with("endpoints", options.endpoints)
        .with("channel", channels::name(options.channel))
        .with("threads", options.threads)
        .with("gap_ms", options.gap.as_secs_f64() * 1e3)
        .with("fsync", options.fsync.as_str())
        .and("requests", requests)
        .and("seconds", seconds)
        .and("mean_ms", mean_us / 1e3);
    measured.rate_per_s = seen.ids.len() as f64 / seconds.max(1e-6);
    measured.p50_us = percentile(&seen.times, 0.5);
    measured.p99_us = percentile(&seen.times, 0.99);
    measured.errors = seen.errors.len() as u64 + repeated + unaccounted;
    if let Some(error) = seen.errors.first() {
        measured = measured.and("first_error", error.as_str());
    }
    Ok((measured, requests))
}

/// One client with one request in flight.
struct HttpClient {
    options: HttpOptions,
    api: Api,
    numbers: Arc<AtomicU64>,
    thread: u64,
    round: u64,
}

impl HttpClient {
    async fn run(self, begin: Instant) -> ClientResults {
        let mut seen = ClientResults::default();
        let mut chance = Chance::new(self.options.seed, self.thread);
        for place in 0.. {
            let is_over = match self.options.amount {
                Amount::Each(count) => place >= count,
                Amount::For(time) => begin.elapsed() >= time,
            };
            if is_over {
                break;
            }
            if !self.options.gap.is_zero() {
                tokio::time::sleep(self.options.gap.mul_f64(-(1.0 - chance.unit()).ln())).await;
            }
            let body = self.body(self.numbers.fetch_add(1, Ordering::Relaxed));
            let asked = Instant::now();
            match self.api.submit(body).await {
                Ok(id) => {
                    seen.times.push(asked.elapsed().as_micros() as u64);
                    seen.ids.push(id);
                }
                Err(error) => seen.errors.push(error),
            }
        }
        seen
    }

    fn body(&self, number: u64) -> String {
        let (round, endpoints, channel) = (self.round, self.options.endpoints, self.options.channel);
        let name = channels::name(channel);
        let domain = if channel == channels::MAIL { "@town.example" } else { "" };
        let address = |place: u64| match channel == channels::SMS {
            true => format!("{name}:{}", phone_number(number * endpoints + place)),
            false => format!("{name}:r{round}.{number}.{place}{domain}"),
        };
        let audience: Vec<String> = (0..endpoints).map(address).collect();
        submission(&audience, channel)
    }
}

/// The body of an alert to this audience.
fn submission(audience: &[String], channel: ChannelNumber) -> String {
    let (text, name) = ("Water is off until noon.", channels::name(channel));
    json!({"headline": "Water", "text": text, "audience": audience, "channels": [name]}).to_string()
}

/// How many endpoints the reports do not account for once the alerts are done.
async fn check(api: &Api, ids: &[String], endpoints: u64) -> Result<u64, String> {
    let ids: Arc<Vec<String>> = Arc::new(ids.to_vec());
    let next = Arc::new(AtomicU64::new(0));
    let checkers = (0..CHECKERS).map(|_| {
        let (api, ids, next) = (api.clone(), Arc::clone(&ids), Arc::clone(&next));
        tokio::spawn(async move {
            let mut unaccounted = 0;
            while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                unaccounted += check_one(&api, id, endpoints).await?;
            }
            Ok::<u64, String>(unaccounted)
        })
    });
    let checkers: Vec<_> = checkers.collect();
    let mut unaccounted = 0;
    for checker in checkers {
        unaccounted += checker.await.map_err(|error| error.to_string())??;
    }
    Ok(unaccounted)
}

async fn check_one(api: &Api, id: &str, endpoints: u64) -> Result<u64, String> {
    let begin = Instant::now();
    loop {
        let report = api.report(id).await?;
        let counts = &report["counts"];
        if report["state"] == "done" || begin.elapsed() > PATIENCE {
            let of = |name: &str| counts[name].as_u64().unwrap_or(0);
            let got_through = of("accepted") + of("delivered");
            return Ok(of("endpoints").abs_diff(endpoints) + got_through.abs_diff(endpoints));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "endpoints",
        "threads",
        "requests",
        "s",
        "requests/s",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "CPU s/M",
        "RSS MB",
        "fdatasync us",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let number = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        let optional = |number: Option<f64>| number.map_or("-".to_owned(), shown);
        vec![
            m.params["endpoints"].to_string(),
            m.params["threads"].to_string(),
            m.more["requests"].to_string(),
            number("seconds"),
            shown(m.rate_per_s),
            number("mean_ms"),
            optional(m.p50_us.map(|us| us as f64 / 1e3)),
            optional(m.p99_us.map(|us| us as f64 / 1e3)),
            optional(m.cpu_s_per_million.server),
            optional(m.peak_rss_mb),
            optional(m.fdatasync_p50_us.map(|us| us as f64)),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}
