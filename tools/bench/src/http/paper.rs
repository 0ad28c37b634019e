//! The published tables of submission over HTTP beside ours.

use super::{Amount, HttpOptions, open, run_in, sizes};
use crate::measured::{Measured, shown};
use crate::published;
use plot::Curve;
use std::time::Duration;

/// Mean gap before a request.
const GAP: Duration = Duration::from_millis(150);

/// Both tables, a measurement for each row.
pub(crate) struct Paper {
    /// Table 2: submission alone.
    pub(crate) submissions: Vec<Measured>,
    /// Table 1: sizes of submissions.
    pub(crate) sizes: Vec<Measured>,
}

/// Reruns the rows of table 2 on one server and those of table 1 on another. The published gaps are divided
/// by `time_scale`. Of `options` the program, the folder and when an append is done are taken; all else is as
/// published.
///
/// # Errors
/// What did not work, in words.
pub(crate) async fn run(options: &HttpOptions, time_scale: f64) -> Result<Paper, String> {
    let base = HttpOptions { channel: channels::MAIL, gap: GAP.div_f64(time_scale), ..options.clone() };
    let deployment = open(&base).await?;
    let mut submissions = Vec::new();
    let rows = published::submissions();
    let count = rows.len();
    for (round, row) in (0..).zip(rows) {
        let requests = row.threads * row.requests_per_thread;
        eprintln!("row {} of {count}: {requests} alerts to {} endpoints each …", round + 1, row.endpoints);
        let options = HttpOptions {
            endpoints: row.endpoints,
            threads: row.threads,
            amount: Amount::Each(row.requests_per_thread),
            ..base.clone()
        };
        let ours = run_in(&options, &deployment, round).await?;
        let mean_ms = ours.number("mean_ms").unwrap_or(f64::NAN);
        let mut ours = ours
            .with("time_scale", time_scale)
            .and("published_mean_ms", row.mean_response_ms)
            .and("published_per_s", row.requests_per_s)
            .and("times_faster", row.mean_response_ms / mean_ms);
        ours.scenario = "http-paper";
        submissions.push(ours);
    }
    drop(deployment);
    eprintln!("sizes of submissions …");
    let sizes = sizes::run(&base).await?;
    Ok(Paper { submissions, sizes })
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "endpoints",
        "threads",
        "requests/s",
        "published",
        "mean ms",
        "published",
        "times faster",
        "p99 ms",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let number = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        vec![
            m.params["endpoints"].to_string(),
            m.params["threads"].to_string(),
            shown(m.rate_per_s),
            number("published_per_s"),
            number("mean_ms"),
            number("published_mean_ms"),
            number("times_faster"),
            m.p99_us.map_or("-".to_owned(), |us| shown(us as f64 / 1e3)),
            m.errors.to_string(),
        ]
    });
    (head, rows.collect())
}

/// Requests a second against threads, ours and published, a pair for each number of endpoints.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for endpoints in [16, 64, 128] {
        let of = |value: &dyn Fn(&Measured) -> Option<f64>| -> Vec<(f64, f64)> {
            let rows = measured.iter().filter(|m| m.params["endpoints"] == endpoints);
            rows.filter_map(|m| Some((m.number("threads")?, value(m)?))).collect()
        };
        let (ours, theirs) = (of(&|m| Some(m.rate_per_s)), of(&|m| m.number("published_per_s")));
        if !ours.is_empty() {
            curves.push(Curve { name: format!("{endpoints} endpoints"), points: ours });
            curves.push(Curve { name: format!("{endpoints} endpoints, published"), points: theirs });
        }
    }
    curves
}
