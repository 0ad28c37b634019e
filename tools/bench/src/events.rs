//! Streams of browsers: many that are open while an alert is sent to many, what they are sent, and what they
//! cost the server. The same alert is sent without a stream before, and the difference is theirs.

use crate::alert::{self, AlertOptions};
use crate::deployment::{Api, Plan, ServerWithCarriers, Usage, fdatasync_p50_us, http_client};
use crate::measured::{Measured, percentile, shown};
use reqwest::Client;
use serde_json::{Value, json};
use sim::smsc::{ReceiptOn, Receipts, SmscOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Every stream has had its first event within this.
const OPEN_MAX: Duration = Duration::from_secs(60);
/// An alert that ended is the last event of each stream within this.
const LAST_MAX: Duration = Duration::from_secs(10);
/// How often a running alert is asked for its report.
const ASK_EVERY: Duration = Duration::from_millis(200);
/// An event of an alert has less.
const ALERT_OCTETS_MAX: u64 = 4_096;
/// Streams that are opened at once.
const OPEN_AT_ONCE: usize = 50;

/// What is run.
#[derive(Debug, Clone)]
pub struct EventsOptions {
    /// The program whose server and simulators run.
    pub program: PathBuf,
    /// Where the server's folder is made; nothing: where the system keeps temporary files.
    pub folder: Option<PathBuf>,
    /// Streams that are open.
    pub streams: usize,
    /// People of the alert.
    pub recipients: u64,
    /// The alert takes about so long: the rate of its route is set so.
    pub time: Duration,
    /// `[bus] fsync`.
    pub fsync: String,
}

/// What one stream was sent.
#[derive(Debug, Default)]
struct StreamTally {
    events: u64,
    octets: u64,
    /// The largest event of an alert.
    alert_octets_max: u64,
    /// The data of the last event of the alert.
    last: Value,
}

/// Runs it, on a server of its own.
///
/// # Errors
/// What did not work, in words; what worked and was not right is counted in the measurement's errors.
pub async fn run(options: &EventsOptions) -> Result<Measured, String> {
    let rate = options.recipients as f64 / options.time.as_secs_f64();
    let deployment = ServerWithCarriers::open(&plan(options, rate)).await?;
    let fdatasync_us =
        fdatasync_p50_us(deployment.folder()).map_err(|error| format!("fdatasync: {error}"))?;
    let api = deployment.server.api()?;
    let people = AlertOptions::new(options.program.clone(), options.recipients);
    alert::import(&people, &api, None).await?;
    let (_, quiet_cpu_s, quiet_s, _) = send(options, &deployment, &api).await?;
    let streams = open(options, deployment.server.address(), api.token()).await?;
    let (report, cpu_s, seconds, last_at) = send(options, &deployment, &api).await?;
    let mut tallies = Vec::with_capacity(streams.len());
    for stream in streams {
        tallies.push(stream.end(&report, last_at).await?);
    }
    let wrong = tallies.iter().filter(|tally| !is_last(&tally.last, &report)).count() as u64;
    let largest = tallies.iter().map(|tally| tally.alert_octets_max).max().unwrap_or(0);
    let mut events: Vec<u64> = tallies.iter().map(|tally| tally.events).collect();
    events.sort_unstable();
    let (all, octets) = (events.iter().sum::<u64>(), tallies.iter().map(|tally| tally.octets).sum::<u64>());
    let share = cpu_s / seconds - quiet_cpu_s / quiet_s;
    let mut measured = Measured::new("events")
        .with("streams", options.streams as u64)
        .with("recipients", options.recipients)
        .with("fsync", options.fsync.as_str())
        .and("seconds", seconds)
        .and("events", all)
        .and("events_least", percentile(&events, 0.0))
        .and("octets", octets)
        .and("alert_octets_max", largest)
        .and("cpu_share_without", quiet_cpu_s / quiet_s)
        .and("cpu_share_with", cpu_s / seconds)
        .and("cpu_share_of_a_core", share);
    measured.rate_per_s = all as f64 / seconds;
    measured.cpu_s_per_million.server = Some(share * seconds / (all.max(1) as f64 / 1e6));
    measured.peak_rss_mb = Some(deployment.server.usage().peak_rss as f64 / 1e6);
    measured.fdatasync_p50_us = Some(fdatasync_us);
    let is_too_large = largest >= ALERT_OCTETS_MAX;
    measured.errors =
        wrong + u64::from(is_too_large) + count(&report, "endpoints").abs_diff(options.recipients);
    Ok(measured)
}

/// A carrier of its own process that takes everything, by a route whose rate makes the alert last.
fn plan(options: &EventsOptions, rate: f64) -> Plan {
    let receipts = Receipts { on: ReceiptOn::Requested, ..Receipts::default() };
    let sms = SmscOptions { receipts, ..SmscOptions::sink() };
    Plan {
        program: options.program.clone(),
        folder: options.folder.clone(),
        sms: Some(sms),
        mail: None,
        pager: None,
        webhook: None,
        mqtt: None,
        im: None,
        has_answers: false,
        fsync: options.fsync.clone(),
        sessions: 2,
        window: 500,
        rate,
    }
}

/// Sends the alert; gives its last report, the server's CPU seconds and the seconds meanwhile, and when it
/// was seen to be over.
async fn send(
    options: &EventsOptions,
    deployment: &ServerWithCarriers,
    api: &Api,
) -> Result<(Value, f64, f64, Instant), String> {
    let Usage { cpu_s: before, .. } = deployment.server.usage();
    let begin = Instant::now();
    let body =
        json!({"text": "Fire at the harbour. Stay inside.", "audience": ["all"], "terminal": "accepted"});
    let id = api.submit(body.to_string()).await?;
    loop {
        let report = api.report(&id).await?;
        match report["state"].as_str() {
            Some("done") => {
                let (used, over) = (deployment.server.usage().cpu_s - before, Instant::now());
                return Ok((report, used, (over - begin).as_secs_f64(), over));
            }
            Some("cancelled" | "expired") => return Err(format!("the alert came to nothing: {report}")),
            _ if begin.elapsed() > options.time * 10 + OPEN_MAX => {
                return Err(format!("the alert does not end: {report}"));
            }
            _ => tokio::time::sleep(ASK_EVERY).await,
        }
    }
}

/// A stream that is read by a task of its own.
struct OpenStream {
    task: JoinHandle<Result<StreamTally, String>>,
    /// The report whose event is the last one, once it is known.
    last: tokio::sync::watch::Sender<Option<Value>>,
}

impl OpenStream {
    /// Waits until the last event is that of the report.
    async fn end(self, report: &Value, since: Instant) -> Result<StreamTally, String> {
        self.last.send_replace(Some(report.clone()));
        let left = LAST_MAX.saturating_sub(since.elapsed()).max(Duration::from_secs(1));
        match tokio::time::timeout(left, self.task).await {
            Ok(tally) => tally.map_err(|error| error.to_string())?,
            // It is judged by what it has: nothing.
            Err(_) => Ok(StreamTally::default()),
        }
    }
}

/// Opens all streams, and waits until each has had its first event.
async fn open(options: &EventsOptions, address: &str, token: &str) -> Result<Vec<OpenStream>, String> {
    let (url, client) = (format!("http://{address}/api/v1/events"), http_client()?);
    let mut streams = Vec::with_capacity(options.streams);
    let begin = Instant::now();
    while streams.len() < options.streams {
        let count = OPEN_AT_ONCE.min(options.streams - streams.len());
        let opening = (0..count).map(|_| follow(&client, &url, token));
        for stream in futures_util::future::join_all(opening).await {
            streams.push(stream?);
        }
        if begin.elapsed() > OPEN_MAX {
            return Err(format!("{} of {} streams could be opened", streams.len(), options.streams));
        }
    }
    Ok(streams)
}

async fn follow(client: &Client, url: &str, token: &str) -> Result<OpenStream, String> {
    let answer = client.get(url).bearer_auth(token).send().await.map_err(|error| format!("{error:?}"))?;
    if !answer.status().is_success() {
        return Err(format!("{url}: {}", answer.status()));
    }
    let mut events = Events { answer, octets: Vec::new() };
    let (name, _) = events.next().await?;
    if name != "hello" {
        return Err(format!("the first event is {name}"));
    }
    let (last, wanted) = tokio::sync::watch::channel(None);
    Ok(OpenStream { task: tokio::spawn(read(events, wanted)), last })
}

/// Reads until the event of the last report has come.
async fn read(
    mut events: Events,
    mut wanted: tokio::sync::watch::Receiver<Option<Value>>,
) -> Result<StreamTally, String> {
    let mut tally = StreamTally::default();
    loop {
        let is_over = wanted.borrow().as_ref().is_some_and(|report| is_last(&tally.last, report));
        if is_over {
            return Ok(tally);
        }
        let event = tokio::select! {
            event = events.next() => event?,
            Ok(()) = wanted.changed() => continue,
        };
        let (name, data) = event;
        tally.events += 1;
        tally.octets += data.len() as u64;
        if name == "alert" {
            tally.alert_octets_max = tally.alert_octets_max.max(data.len() as u64);
            tally.last = serde_json::from_str(&data).map_err(|error| format!("an event: {error}"))?;
        }
    }
}

/// Whether an event says what the report says.
fn is_last(event: &Value, report: &Value) -> bool {
    ["id", "state", "counts", "finished"].iter().all(|name| event[*name] == report[*name])
}

fn count(report: &Value, state: &str) -> u64 {
    report["counts"][state].as_u64().unwrap_or(0)
}

/// Server-sent events, one after the other. Reading on after a cut is safe: what was read is kept.
struct Events {
    answer: reqwest::Response,
    octets: Vec<u8>,
}

impl Events {
    /// Name and data of the next one; comments are passed over.
    async fn next(&mut self) -> Result<(String, String), String> {
        loop {
            if let Some(end) = self.octets.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.octets.split_off(end + 2);
                let event = std::mem::replace(&mut self.octets, rest);
                let text = String::from_utf8_lossy(&event);
                let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Ok((name.to_owned(), data.to_owned()));
                }
                continue;
            }
            let piece =
                self.answer.chunk().await.map_err(|error| format!("a stream broke off: {error:?}"))?;
            self.octets.extend_from_slice(&piece.ok_or("a stream ended")?);
        }
    }
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "streams",
        "recipients",
        "s",
        "events/s",
        "each at least",
        "largest B",
        "core without",
        "core with",
        "of the streams",
        "RSS MB",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let number = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        vec![
            number("streams"),
            number("recipients"),
            number("seconds"),
            shown(m.rate_per_s),
            number("events_least"),
            number("alert_octets_max"),
            number("cpu_share_without"),
            number("cpu_share_with"),
            number("cpu_share_of_a_core"),
            m.peak_rss_mb.map_or("-".to_owned(), shown),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_is_that_of_the_report_in_its_state_and_counts() {
        let report =
            json!({"id": "a", "state": "done", "counts": {"accepted": 7}, "finished": "t", "routes": {}});
        let event = json!({"id": "a", "state": "done", "counts": {"accepted": 7}, "finished": "t"});
        assert!(is_last(&event, &report));
        for (name, other) in
            [("id", json!("b")), ("state", json!("running")), ("counts", json!({"accepted": 6}))]
        {
            let mut event = event.clone();
            event[name] = other;
            assert!(!is_last(&event, &report), "{name}");
        }
        assert!(!is_last(&Value::Null, &report));
    }
}
