//! Credit control: clients with windows of requests, every answer looked at; afterwards every account's books against the answers.

mod floor;
mod load;
mod request;

pub(crate) use floor::start as start_floor;

use crate::measured::{Cpu, Measured, shown};
use crate::plot::Curve;
use crate::world::{Part, Probe, Server, Usage, free_port};
use charging::books::{Books, PAGE_MAX};
use charging::ledger::{Ledger, Options, audit};
pub(crate) use load::Amount;
use load::{Done, Load};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// The door opens so long after the HTTP door.
const DOOR_MAX: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(20);
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
    pub(crate) sessions: bool,
    pub(crate) accounts: u32,
    pub(crate) threads: usize,
    pub(crate) amount: Amount,
    /// A bare server is measured too, in turns.
    pub(crate) floor: bool,
    pub(crate) rounds: usize,
}

/// What is measured.
enum Subject {
    Ours { server: Box<Server>, address: String, folder: TempDir },
    Floor(Box<Part>),
    Foreign(String),
}

impl Subject {
    async fn open(options: &DiameterOptions) -> Result<Subject, String> {
        if let Some(address) = &options.server {
            return Ok(Subject::Foreign(address.clone()));
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
            "[diameter]\nlisten = \"{address}\"\norigin_host = \"ocs.bench.example\"\norigin_realm = \"bench.example\"\n\
             [charging]\nmode = \"off\"\nfsync = \"{}\"\ndefault_account = {{balance = {BALANCE}}}\n",
            options.fsync
        );
        let server = Server::start(&options.program, folder.path(), &config, None).await?;
        let begin = Instant::now();
        while let Err(error) = TcpStream::connect(&address).await {
            if begin.elapsed() > DOOR_MAX {
                return Err(format!("the Diameter door at {address} does not open: {error}"));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        Ok(Subject::Ours { server: Box::new(server), address, folder })
    }

    async fn floor(options: &DiameterOptions) -> Result<Subject, String> {
        Ok(Subject::Floor(Box::new(Part::start(&options.program, &["credit-floor"]).await?)))
    }

    fn name(&self) -> &'static str {
        match self {
            Subject::Ours { .. } => "campanile",
            Subject::Floor(_) => "floor",
            Subject::Foreign(_) => "server",
        }
    }

    fn address(&self) -> String {
        match self {
            Subject::Ours { address, .. } | Subject::Foreign(address) => address.clone(),
            Subject::Floor(part) => part.address().to_owned(),
        }
    }

    fn usage(&self) -> Option<Usage> {
        match self {
            Subject::Ours { server, .. } => Some(server.usage()),
            Subject::Floor(part) => Some(part.usage()),
            Subject::Foreign(_) => None,
        }
    }
}

/// Runs it; a line for each round of what is measured, and of the bare server.
///
/// # Errors
/// What does not come up or breaks, in words; an answer or an account that is not as it should be.
pub(crate) async fn run(options: &DiameterOptions) -> Result<Vec<Measured>, String> {
    let ours = Subject::open(options).await?;
    let floor = if options.floor { Some(Subject::floor(options).await?) } else { None };
    let mut lines = Vec::new();
    let mut charged = vec![0_u64; options.accounts as usize];
    for round in 0..options.rounds {
        // With an empty account file the first requests also open the accounts: that is not what is measured.
        if round == 0 && matches!(ours, Subject::Ours { .. }) {
            let opening = DiameterOptions {
                sessions: false,
                amount: Amount::Of(u64::from(options.accounts) * 3),
                ..options.clone()
            };
            measure(&ours, &opening, &mut charged).await?;
        }
        lines.push(measure(&ours, options, &mut charged).await?);
        if let Some(floor) = &floor
            && !options.sessions
        {
            lines.push(measure(floor, options, &mut vec![0; options.accounts as usize]).await?);
        }
    }
    if let Subject::Ours { server, folder, .. } = ours {
        drop(server);
        let wrong = check_books(folder.path(), &charged).await?;
        if let Some(last) = lines.first_mut() {
            last.errors += wrong;
            last.more.insert("accounts_checked".to_owned(), charged.len().into());
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
        sessions: options.sessions,
        accounts: options.accounts,
        amount: options.amount,
        run: uuid::Uuid::now_v7().as_u64_pair().0 >> 16,
    };
    let (before, own) = (subject.usage(), Usage::of(std::process::id()));
    let done = tokio::task::spawn_blocking(move || load::run(&load)).await;
    let done = done.map_err(|error| format!("the load: {error}"))??;
    let (after, own_after) = (subject.usage(), Usage::of(std::process::id()));
    let sync_us = probe.map(Probe::p50_us).transpose().map_err(|error| format!("the disk: {error}"))?;
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
    line.peak_rss_mb = after.map(|usage| usage.peak_rss as f64 / 1e6);
    line.fdatasync_p50_us = sync_us;
    if let Some(sync_us) = sync_us.filter(|us| *us > 0) {
        let waiting = (options.connections * options.window) as f64;
        line = line.and("of_waiting_over_sync", rate(&done) / (waiting / (sync_us as f64 / 1e6)));
    }
    Ok(line)
}

fn rate(done: &Done) -> f64 {
    done.requests as f64 / done.elapsed.as_secs_f64()
}

fn line(subject: &Subject, options: &DiameterOptions, done: &Done) -> Measured {
    let mut line = Measured::new("diameter")
        .with("server", subject.name())
        .with("pattern", if options.sessions { "session" } else { "event" })
        .with("connections", options.connections)
        .with("window", options.window)
        .with("accounts", options.accounts)
        .with("fsync", options.fsync.as_str())
        .with("request_octets", done.octets)
        .and("requests", done.requests);
    line.rate_per_s = rate(done);
    line.p50_us = done.spread.percentile_us(0.5);
    line.p99_us = done.spread.percentile_us(0.99);
    line.errors = done.errors;
    line
}

/// How many accounts differ from what the verified answers say; the audit of the whole ledger must be exact.
async fn check_books(folder: &Path, charged: &[u64]) -> Result<u64, String> {
    let folder = folder.join("data").join("ledger");
    let (audited, opened) = (folder.clone(), Options::new(&folder));
    let audit = tokio::task::spawn_blocking(move || audit::audit(&audited)).await;
    let audit =
        audit.map_err(|error| error.to_string())?.map_err(|refusal| format!("the audit: {refusal}"))?;
    let mut wrong = audit.discrepancies;
    let ledger = tokio::task::spawn_blocking(move || Ledger::open(&opened)).await;
    let ledger =
        ledger.map_err(|error| error.to_string())?.map_err(|refusal| format!("the ledger: {refusal}"))?;
    let books = Books::new(ledger.clone(), &folder);
    let wanted: HashMap<String, u64> = charged
        .iter()
        .enumerate()
        .map(|(n, charged)| (format!("e164:{}", request::account_number(n as u32)), *charged))
        .collect();
    let (mut seen, mut from) = (0, Some(0));
    while let Some(place) = from {
        let (page, next) = books.page(place, PAGE_MAX).await.map_err(|error| error.to_string())?;
        for account in page {
            let charged = wanted.get(&account.id.to_string()).copied().unwrap_or(0);
            let is_right = i128::from(account.used) == i128::from(charged)
                && account.balance == BALANCE - account.used
                && account.reserved == 0;
            if !is_right && wrong == 0 {
                eprintln!("{}: used {}, and verified answers say {charged}", account.id, account.used);
            }
            wrong += u64::from(!is_right);
            seen += u64::from(charged > 0);
        }
        from = next;
    }
    let missing = charged.iter().filter(|charged| **charged > 0).count() as u64 - seen;
    tokio::task::spawn_blocking(move || ledger.stop()).await.map_err(|error| error.to_string())?;
    Ok(wrong + missing)
}

/// For people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "server",
        "pattern",
        "fsync",
        "connections",
        "window",
        "accounts",
        "requests/s",
        "p50 us",
        "p99 us",
        "CPU s/M server",
        "CPU s/M load",
        "fdatasync us",
        "of N/s",
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
            text("pattern"),
            text("fsync"),
            text("connections"),
            text("window"),
            text("accounts"),
            shown(line.rate_per_s),
            whole(line.p50_us),
            whole(line.p99_us),
            maybe(line.cpu_s_per_million.server),
            maybe(line.cpu_s_per_million.load),
            whole(line.fdatasync_p50_us),
            maybe(line.number("of_waiting_over_sync")),
            maybe(line.peak_rss_mb),
            line.errors.to_string(),
        ]
    };
    (head, measured.iter().map(row).collect())
}

/// Requests a second by connections.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in measured {
        let name = ["server", "pattern", "fsync"]
            .map(|name| line.params.get(name).and_then(Value::as_str).unwrap_or_default());
        let name = name.join(" ");
        let connections = line.params.get("connections").and_then(Value::as_f64).unwrap_or(0.0);
        let point = (connections, line.rate_per_s);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point] }),
        }
    }
    curves
}
