//! People who sign in by name and password at a steady rate, and how long `/healthz` takes meanwhile: each
//! sign-in costs a hash that takes a processor for some hundredths of a second, and must keep nobody waiting.

use crate::deployment::{Api, ServerProcess, fdatasync_p50_us, http_client};
use crate::measured::{Measured, percentile, shown};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const PASSWORD: &str = "seven green umbrellas";
/// Between two looks at `/healthz`.
const HEALTH_EVERY: Duration = Duration::from_millis(10);
/// `/healthz` is meant to take less, microseconds.
const HEALTH_MAX_US: u64 = 100_000;

/// What is run.
#[derive(Debug, Clone)]
pub struct SignInOptions {
    /// The program whose server runs.
    pub program: PathBuf,
    /// Where the server's folder is made; nothing: where the system keeps temporary files.
    pub folder: Option<PathBuf>,
    /// Users who sign in, one after the other.
    pub users: u64,
    /// Sign-ins a second.
    pub rate: f64,
    /// For so long.
    pub time: Duration,
    /// `[bus] fsync`.
    pub fsync: String,
}

/// Runs it, on a server of its own.
///
/// # Errors
/// What did not work, in words; sign-ins that failed are counted in the measurement's errors.
pub async fn run(options: &SignInOptions) -> Result<Measured, String> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("campanile-bench-");
    let folder = match &options.folder {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    let folder = folder.map_err(|error| format!("no folder for the bench: {error}"))?;
    let config = format!("[bus]\nfsync = \"{}\"\n", options.fsync);
    let server = ServerProcess::start(&options.program, folder.path(), &config, None).await?;
    let api = server.api()?;
    for user in 0..options.users {
        make_user(&api, user).await?;
    }
    let fdatasync_us = fdatasync_p50_us(folder.path()).map_err(|error| format!("fdatasync: {error}"))?;
    let base = format!("http://{}", server.address());
    let quiet = HealthTally::watch(&base)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let quiet = quiet.end().await?;
    let before = server.usage();
    let health = HealthTally::watch(&base)?;
    let (mut times, errors, seconds) = load(options, &base).await?;
    let health = health.end().await?;
    let used = server.usage();
    times.sort_unstable();
    let ms = |us: Option<u64>| us.map_or(Value::Null, |us| (us as f64 / 1e3).into());
    let mut measured = Measured::new("sign-in")
        .with("users", options.users)
        .with("rate", options.rate)
        .with("fsync", options.fsync.as_str())
        .and("sign_ins", times.len() as u64)
        .and("seconds", seconds)
        .and("healthz_quiet_p99_ms", ms(percentile(&quiet, 0.99)))
        .and("healthz", health.len() as u64)
        .and("healthz_p50_ms", ms(percentile(&health, 0.5)))
        .and("healthz_p99_ms", ms(percentile(&health, 0.99)))
        .and("healthz_max_ms", ms(percentile(&health, 1.0)))
        .and("healthz_over_100_ms", health.iter().filter(|us| **us > HEALTH_MAX_US).count() as u64);
    measured.rate_per_s = times.len() as f64 / seconds;
    measured.cpu_s_per_million.server = Some((used.cpu_s - before.cpu_s) / (times.len().max(1) as f64 / 1e6));
    measured.p50_us = percentile(&times, 0.5);
    measured.p99_us = percentile(&times, 0.99);
    measured.peak_rss_mb = Some(used.peak_rss as f64 / 1e6);
    measured.fdatasync_p50_us = Some(fdatasync_us);
    measured.errors = errors.len() as u64;
    if let Some(error) = errors.first() {
        measured = measured.and("first_error", error.as_str());
    }
    Ok(measured)
}

fn name(user: u64) -> String {
    format!("user {user}")
}

/// Makes a user who has a password.
async fn make_user(api: &Api, user: u64) -> Result<(), String> {
    let kind = "application/json";
    let body = json!({"name": name(user), "roles": ["viewer"]}).to_string();
    let made = api.post("/api/v1/users", kind, body, 201).await?;
    let id = made["id"].as_str().ok_or_else(|| format!("a user without an id: {made}"))?;
    let invitation = api.post(&format!("/api/v1/users/{id}:invite"), kind, "", 200).await?;
    let body = json!({"token": invitation["token"], "password": PASSWORD}).to_string();
    api.post("/api/v1/invitations:accept", kind, body, 200).await.map(drop)
}

/// Sign-ins, each at its time whether or not those before are answered. Microseconds from when each was due,
/// what failed, and the seconds until the last answer.
async fn load(options: &SignInOptions, base: &str) -> Result<(Vec<u64>, Vec<String>, f64), String> {
    let client = http_client()?;
    let url: Arc<str> = format!("{base}/api/v1/session").into();
    let begin = Instant::now();
    let mut running = JoinSet::new();
    let count = (options.rate * options.time.as_secs_f64()).ceil() as u64;
    for n in 0..count {
        let due = begin + Duration::from_secs_f64(n as f64 / options.rate);
        tokio::time::sleep_until(due.into()).await;
        let body = json!({"name": name(n % options.users), "password": PASSWORD});
        let request = client.post(&*url).json(&body);
        running.spawn(async move {
            let answer = request.send().await.map_err(|error| format!("{error:?}"))?;
            let status = answer.status();
            let text = answer.text().await.map_err(|error| format!("{error:?}"))?;
            match status {
                StatusCode::OK => Ok(due.elapsed().as_micros() as u64),
                other => Err(format!("{other}: {text}")),
            }
        });
    }
    let (mut times, mut errors) = (Vec::new(), Vec::new());
    while let Some(done) = running.join_next().await {
        match done.map_err(|error| error.to_string())? {
            Ok(us) => times.push(us),
            Err(error) => errors.push(error),
        }
    }
    Ok((times, errors, begin.elapsed().as_secs_f64()))
}

/// Somebody who looks at `/healthz` again and again, over one connection.
struct HealthTally {
    is_over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Result<Vec<u64>, String>>,
}

impl HealthTally {
    fn watch(base: &str) -> Result<HealthTally, String> {
        let is_over = Arc::<AtomicBool>::default();
        let task = tokio::spawn(looks(http_client()?, format!("{base}/healthz"), Arc::clone(&is_over)));
        Ok(HealthTally { is_over, task })
    }

    /// Microseconds of each answer, sorted.
    async fn end(self) -> Result<Vec<u64>, String> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut times = self.task.await.map_err(|error| error.to_string())??;
        times.sort_unstable();
        Ok(times)
    }
}

async fn looks(client: Client, url: String, is_over: Arc<AtomicBool>) -> Result<Vec<u64>, String> {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = client.get(&url).send().await.and_then(reqwest::Response::error_for_status);
        answer.map_err(|error| format!("/healthz: {error:?}"))?;
        times.push(asked.elapsed().as_micros() as u64);
        tokio::time::sleep(HEALTH_EVERY).await;
    }
    Ok(times)
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "asked/s",
        "sign-ins/s",
        "p50 ms",
        "p99 ms",
        "healthz p50 ms",
        "p99 ms, idle",
        "p99 ms",
        "max ms",
        "over 100 ms",
        "CPU ms each",
        "RSS MB",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let number = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        let optional = |number: Option<f64>| number.map_or("-".to_owned(), shown);
        vec![
            number("rate"),
            shown(m.rate_per_s),
            optional(m.p50_us.map(|us| us as f64 / 1e3)),
            optional(m.p99_us.map(|us| us as f64 / 1e3)),
            number("healthz_p50_ms"),
            number("healthz_quiet_p99_ms"),
            number("healthz_p99_ms"),
            number("healthz_max_ms"),
            number("healthz_over_100_ms"),
            optional(m.cpu_s_per_million.server.map(|seconds| seconds / 1e3)),
            optional(m.peak_rss_mb),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}
