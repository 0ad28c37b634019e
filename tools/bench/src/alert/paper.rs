//! The published dissemination runs beside ours: table 3 (one mail gateway), table 5 (end to end), figures 2
//! to 5 (size of the segments, with and without acknowledgements).

use super::answering;
use crate::deployment::{Api, Callbacks, Plan, ServerWithCarriers, Taken, fdatasync_p50_us, now_us};
use crate::measured::{Measured, shown};
use crate::published::{self, EndToEnd, MailSequence};
use plot::Curve;
use serde_json::{Value, json};
use sim::mailbox;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Sizes of figures 2 to 5.
const SIZES: [u64; 4] = [1_024, 2_048, 4_096, 8_192];
/// Endpoints of one submission, beside all of them in one.
const SEGMENTS: [u64; 3] = [1_024, 256, 32];
/// The alert of table 5 and the figures.
const LONG_TEXT_OCTETS: usize = 2_048;
/// The mails of table 3 were of 702 octets, headers and all.
const SHORT_TEXT_OCTETS: usize = 240;
/// Nothing of this takes longer.
const PATIENCE: Duration = Duration::from_secs(600);
const ASK_EVERY: Duration = Duration::from_millis(2);
/// How the server splits by itself does not hang on this: its segments hold so much of a route's rate.
const SESSIONS: u32 = 2;

/// What one run was and came to.
struct Run {
    experiment: &'static str,
    /// Endpoints in all.
    endpoints: u64,
    /// Endpoints of one submission.
    segment: u64,
    /// Submissions, or clients that submit one each.
    submissions: u64,
    ack: bool,
    seconds: f64,
    answered_s: Option<f64>,
    errors: u64,
    callbacks: u64,
    published_s: Option<f64>,
    published_per_s: Option<f64>,
}

/// Runs all of it.
///
/// # Errors
/// What did not work, in words.
pub(crate) async fn run(
    program: PathBuf,
    folder: Option<PathBuf>,
    fsync: &str,
) -> Result<Vec<Measured>, String> {
    let mut measured = Vec::new();
    for ack in [false, true] {
        let plan = Plan {
            program: program.clone(),
            folder: folder.clone(),
            sms: None,
            mail: Some(mailbox::MailboxOptions {
                count: mailbox::Counting::Messages,
                people: ack.then(|| answering(1)),
                ..mailbox::MailboxOptions::sink()
            }),
            pager: None,
            webhook: None,
            mqtt: None,
            im: None,
            has_answers: ack,
            fsync: fsync.to_owned(),
            sessions: SESSIONS,
            window: 0,
            rate: 0.0,
        };
        let deployment = ServerWithCarriers::open(&plan).await?;
        let fdatasync_us =
            fdatasync_p50_us(deployment.folder()).map_err(|error| format!("fdatasync: {error}"))?;
        let scene =
            Scene { api: deployment.server.api()?, callbacks: Callbacks::start().await?, deployment, ack };
        let mut runs = Vec::new();
        if !ack {
            for row in published::mail_sequences() {
                runs.push(scene.sequence(row).await?);
            }
            for row in published::end_to_end() {
                runs.push(scene.end_to_end(row).await?);
            }
        }
        for endpoints in SIZES {
            for segment in
                [endpoints].into_iter().chain(SEGMENTS.into_iter().filter(|size| *size < endpoints))
            {
                runs.push(scene.figure(endpoints, segment).await?);
            }
        }
        let (server, load) = scene.deployment.usage();
        let millions = runs.iter().map(|run| run.endpoints).sum::<u64>() as f64 / 1e6;
        for run in runs {
            let mut row = run.measured(fsync);
            // Over all runs of this server: one alone is too short for the system's clock.
            row.cpu_s_per_million.server = Some(server.cpu_s / millions);
            row.cpu_s_per_million.load = Some(load.cpu_s / millions);
            row.peak_rss_mb = Some(server.peak_rss as f64 / 1e6);
            row.fdatasync_p50_us = Some(fdatasync_us);
            measured.push(row);
        }
    }
    Ok(measured)
}

struct Scene {
    deployment: ServerWithCarriers,
    api: Api,
    callbacks: Callbacks,
    ack: bool,
}

impl Scene {
    /// Table 3: alerts one after the other, mails of 702 octets.
    async fn sequence(&self, row: MailSequence) -> Result<Run, String> {
        let bodies = (0..row.requests)
            .map(|request| self.body(request * row.endpoints, row.endpoints, SHORT_TEXT_OCTETS));
        let run = self.disseminate("table 3", bodies.collect(), row.endpoints, false).await?;
        Ok(Run { published_s: Some(row.dissemination_s), published_per_s: Some(row.mails_per_s), ..run })
    }

    /// Table 5: each of several clients submits one alert of 2 KB at the same time.
    async fn end_to_end(&self, row: EndToEnd) -> Result<Run, String> {
        let bodies =
            (0..row.threads).map(|thread| self.body(thread * row.endpoints, row.endpoints, LONG_TEXT_OCTETS));
        let run = self.disseminate("table 5", bodies.collect(), row.endpoints, true).await?;
        let published_s = Some(row.dissemination_ms / 1e3);
        Ok(Run { published_s, published_per_s: Some(row.mails_per_s), ..run })
    }

    /// Figures 2 to 5: one alert of 2 KB, cut by the client into submissions of `segment` endpoints.
    async fn figure(&self, endpoints: u64, segment: u64) -> Result<Run, String> {
        let bodies =
            (0..endpoints / segment).map(|place| self.body(place * segment, segment, LONG_TEXT_OCTETS));
        let run = self.disseminate("figures 2-5", bodies.collect(), segment, false).await?;
        let published_s = match (segment, self.ack) {
            (8_192, false) => Some(published::UNSPLIT_8192_S),
            (8_192, true) => Some(published::UNSPLIT_8192_ACKNOWLEDGED_S),
            _ => None,
        };
        let published_per_s = published_s.map(|seconds| endpoints as f64 / seconds);
        Ok(Run { published_s, published_per_s, ..run })
    }

    /// An alert that lists its endpoints, with reports every 30 s to an observer.
    fn body(&self, first: u64, endpoints: u64, text_octets: usize) -> String {
        let audience: Vec<String> =
            (first..first + endpoints).map(|n| format!("mail:r{n}@town.example")).collect();
        let line = "Water is being turned off in the harbour quarter. ";
        let text: String = line.chars().cycle().take(text_octets).collect();
        let mut body = json!({
            "headline": "Water",
            "text": text,
            "audience": audience,
            "channels": ["mail"],
            "callback": {"url": self.callbacks.url(), "every": "30s"},
        });
        if self.ack {
            body["require_answer"] = true.into();
            body["choices"] = json!([{"key": "1", "label": "Understood"}]);
            body["terminal"] = "answered".into();
        }
        body.to_string()
    }

    /// Submits, waits for the last mailbox (and the last answer), checks every report.
    async fn disseminate(
        &self,
        experiment: &'static str,
        bodies: Vec<String>,
        segment: u64,
        at_once: bool,
    ) -> Result<Run, String> {
        let submissions = bodies.len() as u64;
        let endpoints = submissions * segment;
        let before = self.deployment.taken().await?;
        let callbacks = self.callbacks.count();
        let begin_us = now_us();
        let ids = self.submit(bodies, at_once).await?;
        let taken = self.taken(before.endpoints + endpoints).await?;
        let mut errors =
            taken.endpoints.abs_diff(before.endpoints + endpoints) + (taken.repeats - before.repeats);
        for id in &ids {
            errors += self.checked(id, segment).await?;
        }
        let answered_s = self.ack.then(|| now_us().saturating_sub(begin_us) as f64 / 1e6);
        Ok(Run {
            experiment,
            endpoints,
            segment,
            submissions,
            ack: self.ack,
            seconds: taken.last_us.saturating_sub(begin_us) as f64 / 1e6,
            answered_s,
            errors,
            callbacks: self.callbacks.count() - callbacks,
            published_s: None,
            published_per_s: None,
        })
    }

    async fn submit(&self, bodies: Vec<String>, at_once: bool) -> Result<Vec<String>, String> {
        let mut ids = Vec::with_capacity(bodies.len());
        if at_once {
            let clients = bodies.into_iter().map(|body| {
                let api = self.api.clone();
                tokio::spawn(async move { api.submit(body).await })
            });
            let clients: Vec<_> = clients.collect();
            for client in clients {
                ids.push(client.await.map_err(|error| error.to_string())??);
            }
        } else {
            for body in bodies {
                ids.push(self.api.submit(body).await?);
            }
        }
        Ok(ids)
    }

    async fn taken(&self, endpoints: u64) -> Result<Taken, String> {
        let begin = Instant::now();
        loop {
            let taken = self.deployment.taken().await?;
            if taken.endpoints >= endpoints {
                return Ok(taken);
            }
            if begin.elapsed() > PATIENCE {
                return Err(format!("of {endpoints} mails {} came", taken.endpoints));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    /// How many endpoints the report does not account for once the alert is done.
    async fn checked(&self, id: &str, endpoints: u64) -> Result<u64, String> {
        let begin = Instant::now();
        let state = if self.ack { "answered" } else { "accepted" };
        loop {
            let report: Value = self.api.report(id).await?;
            let counts = &report["counts"];
            let is_done =
                report["state"] == "done" && (!self.ack || counts[state].as_u64() == Some(endpoints));
            if is_done || begin.elapsed() > PATIENCE {
                let listed = counts["endpoints"].as_u64().unwrap_or(0);
                let reached = counts[state].as_u64().unwrap_or(0);
                return Ok(listed.abs_diff(endpoints) + reached.abs_diff(endpoints));
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }
}

impl Run {
    fn measured(self, fsync: &str) -> Measured {
        let mut measured = Measured::new("alert-paper")
            .with("experiment", self.experiment)
            .with("endpoints", self.endpoints)
            .with("segment", self.segment)
            .with("submissions", self.submissions)
            .with("ack", self.ack)
            .with("fsync", fsync)
            .and("seconds", self.seconds)
            .and("callbacks", self.callbacks);
        measured.rate_per_s = self.endpoints as f64 / self.seconds.max(1e-6);
        measured.errors = self.errors;
        for (name, number) in [
            ("answered_s", self.answered_s),
            ("published_seconds", self.published_s),
            ("published_per_s", self.published_per_s),
            ("times_faster", self.published_s.map(|published| published / self.seconds.max(1e-6))),
        ] {
            if let Some(number) = number {
                measured = measured.and(name, number);
            }
        }
        measured
    }
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "experiment",
        "endpoints",
        "submissions",
        "of",
        "ack",
        "s",
        "answered s",
        "mails/s",
        "published s",
        "published mails/s",
        "times faster",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let number = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        let ack = if m.params["ack"] == true { "yes" } else { "no" };
        vec![
            m.params["experiment"].as_str().unwrap_or_default().to_owned(),
            m.params["endpoints"].to_string(),
            m.params["submissions"].to_string(),
            m.params["segment"].to_string(),
            ack.to_owned(),
            number("seconds"),
            number("answered_s"),
            shown(m.rate_per_s),
            number("published_seconds"),
            number("published_per_s"),
            number("times_faster"),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}

/// Time against endpoints, a curve for each size of segment, as the figures have it.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for ack in [false, true] {
        for segment in [0].into_iter().chain(SEGMENTS) {
            let is_of_curve = |m: &&Measured| {
                let size = m.params["segment"].as_u64();
                let is_whole = size == m.params["endpoints"].as_u64();
                let fits = if segment == 0 { is_whole } else { size == Some(segment) };
                m.params["experiment"] == "figures 2-5" && m.params["ack"] == ack && fits
            };
            let point = |m: &Measured| Some((m.number("endpoints")?, m.number("seconds")?));
            let points: Vec<_> = measured.iter().filter(is_of_curve).filter_map(point).collect();
            let cut = if segment == 0 { "not split".to_owned() } else { format!("segments of {segment}") };
            let name = format!("{cut}{}", if ack { ", acknowledged" } else { "" });
            if !points.is_empty() {
                curves.push(Curve { name, points });
            }
        }
    }
    for (name, seconds) in [
        ("published, not split", published::UNSPLIT_8192_S),
        ("published, not split, acknowledged", published::UNSPLIT_8192_ACKNOWLEDGED_S),
    ] {
        curves.push(Curve { name: name.to_owned(), points: vec![(8_192.0, seconds)] });
    }
    curves
}
