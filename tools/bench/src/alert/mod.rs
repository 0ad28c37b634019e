//! One alert to many: endpoints a second from its submission to the last acceptance by a carrier.

mod bare;
mod paper;

pub(crate) use paper::{curves as paper_curves, rows as paper_rows, run as run_paper};

use crate::deployment::{Api, Plan, ServerWithCarriers, fdatasync_p50_us, now_us};
use crate::measured::Measured;
use futures_util::stream;
use records::{ChannelNumber, Device, Recipient};
use serde_json::{Value, json};
use sim::smsc::{Counting, ReceiptOn, Receipts};
use sim::town::{Habits, Town, ndjson_line};
use sim::webhook::WebhookOptions;
use sim::{broker, im, mailbox, pager, smsc};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How often a running alert is asked for its report.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Octets of people sent at a time.
const CHUNK_OCTETS: usize = 256 * 1024;

/// What is run.
#[derive(Debug, Clone)]
pub struct AlertOptions {
    /// The program whose server and simulators run.
    pub program: PathBuf,
    /// Where the server's folder is made; nothing: where the system keeps temporary files.
    pub folder: Option<PathBuf>,
    /// A server that runs already, and its token: it is measured by its reports alone, over the routes it
    /// has.
    pub server: Option<(String, String)>,
    /// People.
    pub recipients: u64,
    /// Each has one address on each of these.
    pub channels: Vec<ChannelNumber>,
    /// Everybody answers, and the run ends with the last answer.
    pub ack: bool,
    /// Share of the people whose text has their name in it.
    pub personal: f64,
    /// Carriers send receipts.
    pub receipts: bool,
    /// `[bus] fsync`.
    pub fsync: String,
    /// Sessions of each route.
    pub sessions: u32,
    /// Window of each session.
    pub window: u32,
    /// The town's seed.
    pub seed: u64,
    /// A run that takes longer has failed.
    pub patience: Duration,
}

impl AlertOptions {
    /// People with a phone each, through two sessions with a window of 500, everything durable.
    pub fn new(program: PathBuf, recipients: u64) -> Self {
        AlertOptions {
            program,
            folder: None,
            server: None,
            recipients,
            channels: vec![channels::SMS],
            ack: false,
            personal: 0.01,
            receipts: true,
            fsync: "always".to_owned(),
            sessions: 2,
            window: 500,
            seed: 1,
            patience: Duration::from_secs(900),
        }
    }

    fn plan(&self) -> Plan {
        let people = self.ack.then(|| answering(self.seed));
        let has = |channel| self.channels.contains(&channel);
        let on = if self.receipts { ReceiptOn::Requested } else { ReceiptOn::Never };
        let sms = smsc::SmscOptions {
            count: Counting::Texts,
            receipts: Receipts { on, ..Receipts::default() },
            people: people.clone(),
            ..smsc::SmscOptions::sink()
        };
        let im = im::ImOptions { people: people.clone(), receipts: self.receipts, ..im::ImOptions::sink() };
        let mail = mailbox::MailboxOptions {
            count: mailbox::Counting::Messages,
            people: people.clone(),
            ..mailbox::MailboxOptions::sink()
        };
        let pagers = pager::PagingOptions { people: people.clone(), ..pager::PagingOptions::sink() };
        let mqtt = broker::BrokerOptions { people, ..broker::BrokerOptions::sink() };
        Plan {
            program: self.program.clone(),
            folder: self.folder.clone(),
            sms: has(channels::SMS).then_some(sms),
            mail: has(channels::MAIL).then_some(mail),
            pager: has(channels::PAGER).then_some(pagers),
            webhook: has(channels::WEBHOOK).then(|| self.receiver()),
            mqtt: has(channels::MQTT).then_some(mqtt),
            im: has(channels::IM).then_some(im),
            has_answers: self.ack,
            fsync: self.fsync.clone(),
            sessions: self.sessions,
            window: self.window,
            rate: 0.0,
        }
    }

    /// Counts ids, and answers at once where answers are wanted.
    fn receiver(&self) -> WebhookOptions {
        let answering = if self.ack { 1.0 } else { 0.0 };
        WebhookOptions { answering, count: true, seed: self.seed, ..WebhookOptions::sink() }
    }

    fn endpoints(&self) -> u64 {
        self.recipients * self.channels.len() as u64
    }

    fn measured(&self) -> Measured {
        let channels: Vec<&str> = self.channels.iter().map(|channel| channels::name(*channel)).collect();
        Measured::new("alert")
            .with("recipients", self.recipients)
            .with("endpoints", self.endpoints())
            .with("channels", channels.join(","))
            .with("ack", self.ack)
            .with("personal", self.personal)
            .with("receipts", self.receipts)
            .with("fsync", self.fsync.as_str())
            .with("sessions", self.sessions)
            .with("window", self.window)
    }
}

/// Everybody answers with the first choice, at once.
fn answering(seed: u64) -> Habits {
    let mut habits = Habits::answering(seed);
    habits.choices.truncate(1);
    habits.free_text = 0.0;
    habits.answer_after = sim::chance::Delay::NONE;
    habits
}

/// Runs it.
///
/// # Errors
/// What did not work, in words; what worked and was not right is counted in the measurement's errors.
pub async fn run(options: &AlertOptions) -> Result<Measured, String> {
    if let Some((address, token)) = &options.server {
        return run_against(options, &Api::new(address, token)?).await;
    }
    let deployment = ServerWithCarriers::open(&options.plan()).await?;
    let fdatasync_us =
        fdatasync_p50_us(deployment.folder()).map_err(|error| format!("fdatasync: {error}"))?;
    let api = deployment.server.api()?;
    let import_s = import(options, &api, deployment.webhook_base()).await?;
    let (server_before, load_before) = deployment.usage();
    let submitted_us = now_us();
    let id = api.submit(body(options).to_string()).await?;
    let accepted_us = now_us() - submitted_us;
    let report = finished(options, &api, &id).await?;
    let (ended_us, (server, load)) = (now_us(), deployment.usage());
    let taken = deployment.taken().await?;
    let mut measured = judged(options, &report);
    let endpoints = options.endpoints();
    measured.errors += taken.endpoints.abs_diff(endpoints) + taken.repeats;
    let seconds = taken.last_us.saturating_sub(submitted_us) as f64 / 1e6;
    let millions = endpoints as f64 / 1e6;
    measured.rate_per_s = endpoints as f64 / seconds.max(1e-6);
    measured.cpu_s_per_million.server = Some((server.cpu_s - server_before.cpu_s) / millions);
    measured.cpu_s_per_million.load = Some((load.cpu_s - load_before.cpu_s) / millions);
    measured.peak_rss_mb = Some(server.peak_rss as f64 / 1e6);
    measured.fdatasync_p50_us = Some(fdatasync_us);
    measured = measured
        .and("seconds", seconds)
        .and("accepted_by_carriers", taken.endpoints)
        .and("repeats", taken.repeats)
        .and("submit_us", accepted_us)
        .and("import_s", import_s);
    if let Some(base) = deployment.webhook_base() {
        let bare = bare::requests_per_s(&base, options.recipients).await?;
        measured = measured.and("bare_webhooks_per_s", bare);
    }
    if options.ack {
        let answered_s = ended_us.saturating_sub(submitted_us) as f64 / 1e6;
        measured =
            measured.and("answered_s", answered_s).and("answered_per_s", endpoints as f64 / answered_s);
    }
    Ok(measured)
}

/// By the reports of a server that runs already.
async fn run_against(options: &AlertOptions, api: &Api) -> Result<Measured, String> {
    let import_s = import(options, api, None).await?;
    let submitted_us = now_us();
    let id = api.submit(body(options).to_string()).await?;
    let accepted_us = now_us() - submitted_us;
    let report = finished(options, api, &id).await?;
    let mut measured = judged(options, &report);
    measured.rate_per_s = measured.number("report_per_s").unwrap_or(0.0);
    Ok(measured.and("submit_us", accepted_us).and("import_s", import_s))
}

/// What the report says of the run, and what is wrong with it.
fn judged(options: &AlertOptions, report: &Value) -> Measured {
    let mut measured = options.measured();
    let endpoints = options.endpoints();
    let count = |name: &str| report["counts"][name].as_u64().unwrap_or(0);
    let got_through = count("accepted") + count("delivered") + count("answered");
    measured.errors += count("endpoints").abs_diff(endpoints) + got_through.abs_diff(endpoints);
    if options.ack {
        measured.errors += count("answered").abs_diff(endpoints);
    }
    let micros = |name: &str| report["times"][name].as_f64().map(|seconds| (seconds * 1e6) as u64);
    (measured.p50_us, measured.p99_us) = (micros("p50"), micros("p99"));
    if let Some(seconds) = report_seconds(report) {
        measured =
            measured.and("report_seconds", seconds).and("report_per_s", endpoints as f64 / seconds.max(1e-6));
    }
    measured.and("accepted_by_report", got_through).and("counts", report["counts"].clone())
}

/// From acceptance to the final state, as the report has it.
fn report_seconds(report: &Value) -> Option<f64> {
    let moment = |name: &str| report[name].as_str()?.parse::<jiff::Timestamp>().ok();
    let (created, finished) = (moment("created")?, moment("finished")?);
    Some(finished.duration_since(created).as_secs_f64())
}

/// Waits until nothing more will happen, and returns the last report.
async fn finished(options: &AlertOptions, api: &Api, id: &str) -> Result<Value, String> {
    let begin = Instant::now();
    loop {
        let report = api.report(id).await?;
        let is_answered = !options.ack || report["counts"]["answered"].as_u64() == Some(options.endpoints());
        match report["state"].as_str() {
            Some("done") if is_answered => return Ok(report),
            Some("cancelled" | "expired") => return Err(format!("the alert came to nothing: {report}")),
            _ if begin.elapsed() > options.patience => {
                return Err(format!("the alert does not end: {report}"));
            }
            _ => tokio::time::sleep(ASK_EVERY).await,
        }
    }
}

/// The alert: one text for all, but for the share that is addressed by name.
fn body(options: &AlertOptions) -> Value {
    let text = "Almvik: fire at the harbour. Close doors and windows, stay inside, follow the radio.";
    let channels: Vec<&str> = options.channels.iter().map(|channel| channels::name(*channel)).collect();
    let mut body = json!({
        "headline": "Fire at the harbour",
        "text": text,
        "audience": ["all"],
        "channels": channels,
        "priority": "emergency",
    });
    if options.personal > 0.0 {
        body["texts"] = json!({"en": {"text": format!("{{{{name}}}}, {text}")}});
    }
    if options.ack {
        body["require_answer"] = true.into();
        body["choices"] = json!([{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}]);
        body["terminal"] = "answered".into();
    }
    body
}

/// Streams the people to the server as they are made, each with the webhook that they have, if they have one.
/// Returns how long it took, seconds.
pub(crate) async fn import(
    options: &AlertOptions,
    api: &Api,
    webhook_base: Option<String>,
) -> Result<f64, String> {
    let begin = Instant::now();
    let (sender, receiver) = mpsc::channel::<Result<Vec<u8>, std::io::Error>>(4);
    let (town, personal) =
        (Town::plain(options.seed, options.recipients, &options.channels), options.personal);
    let made = tokio::task::spawn_blocking(move || {
        let mut chunk = Vec::with_capacity(CHUNK_OCTETS + 4_096);
        for (index, person) in (0..).zip(town.people()) {
            let mut person = addressed(person, index, personal);
            person.devices.extend(webhook_base.as_ref().map(|base| webhook_device(base, index)));
            ndjson_line(&person, &mut chunk);
            if chunk.len() >= CHUNK_OCTETS && sender.blocking_send(Ok(std::mem::take(&mut chunk))).is_err() {
                return;
            }
        }
        let _ = sender.blocking_send(Ok(chunk));
    });
    let people = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    let body = reqwest::Body::wrap_stream(people);
    let answer = api.post("/api/v1/recipients:import", "application/x-ndjson", body, 200).await?;
    made.await.map_err(|error| error.to_string())?;
    if answer["imported"].as_u64() != Some(options.recipients) {
        return Err(format!("{} people were sent, the import says {answer}", options.recipients));
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// A person's webhook, at a path of their own.
fn webhook_device(base: &str, index: u64) -> Device {
    Device::new(channels::WEBHOOK, format!("{base}/{index}"))
}

/// Whoever is addressed by name speaks English; everybody else Swedish, which has no text of its own.
fn addressed(person: Recipient, index: u64, personal: f64) -> Recipient {
    let is_personal = ((index + 1) as f64 * personal).floor() > (index as f64 * personal).floor();
    let language = if is_personal { "en" } else { "sv" };
    Recipient { language: Some(language.to_owned()), ..person }
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "endpoints",
        "channels",
        "ack",
        "s",
        "endpoints/s",
        "by report",
        "CPU s/M",
        "load",
        "RSS MB",
        "p50 ms",
        "p99 ms",
        "fdatasync us",
        "errors",
    ];
    let shown = |number: Option<f64>| number.map_or("-".to_owned(), crate::measured::shown);
    let rows = measured.iter().map(|m| {
        let word = |name: &str| m.params[name].as_str().unwrap_or_default().to_owned();
        let ack = if m.params["ack"] == true { "yes" } else { "no" };
        let millis = |micros: Option<u64>| shown(micros.map(|micros| micros as f64 / 1e3));
        vec![
            m.params["endpoints"].to_string(),
            word("channels"),
            ack.to_owned(),
            shown(m.number("seconds")),
            shown(Some(m.rate_per_s)),
            shown(m.number("report_per_s")),
            shown(m.cpu_s_per_million.server),
            shown(m.cpu_s_per_million.load),
            shown(m.peak_rss_mb),
            millis(m.p50_us),
            millis(m.p99_us),
            shown(m.fdatasync_p50_us.map(|us| us as f64)),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_addressed_by_name() {
        for (personal, expected) in [(0.01, 100), (0.0, 0), (1.0, 10_000), (0.3333, 3_333)] {
            let named = (0..10_000).filter(|index| {
                addressed(Recipient::default(), *index, personal).language.as_deref() == Some("en")
            });
            assert_eq!(named.count(), expected, "{personal}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_report_is_counted() {
        let options = AlertOptions {
            channels: vec![channels::SMS, channels::MAIL],
            ..AlertOptions::new("x".into(), 100)
        };
        let report = json!({
            "state": "done",
            "counts": {"endpoints": 200, "accepted": 150, "delivered": 48, "answered": 0, "failed": 2},
            "times": {"p50": 0.5, "p99": 1.25},
            "created": "2026-11-18T11:06:40Z", "finished": "2026-11-18T11:06:41.5Z",
        });
        let measured = judged(&options, &report);
        assert_eq!((measured.errors, measured.p50_us, measured.p99_us), (2, Some(500_000), Some(1_250_000)));
        assert_eq!(measured.number("report_seconds"), Some(1.5));
        let asked = AlertOptions { ack: true, ..options };
        assert_eq!(judged(&asked, &report).errors, 202);
    }

    #[test]
    fn the_alert_asks_for_answers_only_where_they_are_wanted() {
        let options = AlertOptions::new("x".into(), 1);
        assert_eq!(body(&options)["require_answer"], Value::Null);
        let body = body(&AlertOptions { ack: true, personal: 0.0, ..options });
        assert_eq!((&body["terminal"], &body["texts"]), (&"answered".into(), &Value::Null));
    }
}
