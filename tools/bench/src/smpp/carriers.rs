//! Many carriers: so many routes in one process, each at its own limit with work queued.

use super::fleet::{Fleet, FleetPlan, MESSAGES_MAX, ROUTES_MAX, phone_number, total};
use super::windows::{SECOND_NS, Stamp, Windows, between};
use crate::measured::{Measured, shown};
use plot::Curve;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// So many seconds' work is queued beyond the time that is measured.
const SPARE_S: f64 = 20.0;
/// An alert lists at most so many.
const AUDIENCE_MAX: u64 = 100_000;
/// All routes have begun after so long.
const BEGIN_MAX: Duration = Duration::from_secs(120);
/// Behind the end, until the last write is noted and taken.
const SETTLE: Duration = Duration::from_millis(300);

/// What is run.
#[derive(Debug, Clone)]
pub struct CarriersOptions {
    /// The program whose server and parts run.
    pub program: PathBuf,
    /// Where folders are made; nothing: where the system keeps temporary files.
    pub folder: Option<PathBuf>,
    /// `[bus] fsync`.
    pub fsync: String,
    /// Routes.
    pub routes: usize,
    /// Messages a second of each.
    pub rate: f64,
    /// How long, from when all have begun.
    pub time: Duration,
}

/// One route's minute.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reached {
    per_s: f64,
    sender: Windows,
    carrier: Windows,
}

/// Runs it.
///
/// # Errors
/// What did not work, in words; a window above a route's limit by the sender's stamps counts as an error of
/// the measurement.
pub(crate) async fn run(options: &CarriersOptions) -> Result<Measured, String> {
    let messages = queued(options)?;
    let mut fleet = Fleet::open(&FleetPlan {
        program: options.program.clone(),
        folder: options.folder.clone(),
        fsync: options.fsync.clone(),
        routes: options.routes,
        rate: options.rate,
        own_numbers: true,
        keep: messages,
    })
    .await?;
    for alert in alerts(options.routes, messages) {
        fleet.api()?.submit(alert).await?;
    }
    fleet
        .until("every route's first message", BEGIN_MAX, |counts| counts.iter().all(|count| *count > 0))
        .await?;
    let before = fleet.usage();
    tokio::time::sleep(options.time).await;
    let after = fleet.usage();
    tokio::time::sleep(SETTLE).await;
    let writes = fleet.writes()?;
    let taken = fleet.taken().await?;
    let reached = judged(options, &writes, &taken)?;
    let mut measured = summed(options, &reached);
    let written: u64 = writes.iter().map(|stamps| total(stamps)).sum();
    let arrived: u64 = taken.iter().map(|stamps| total(stamps)).sum();
    let millions = measured.rate_per_s * options.time.as_secs_f64() / 1e6;
    let (server, load) = (after.0.cpu_s - before.0.cpu_s, after.1.cpu_s - before.1.cpu_s);
    measured.cpu_s_per_million.server = Some(server / millions);
    measured.cpu_s_per_million.load = Some(load / millions);
    measured.peak_rss_mb = Some(after.0.peak_rss as f64 / 1e6);
    Ok(measured.and("cpu_s", server).and("written", written).and("arrived", arrived))
}

/// Messages queued for each route.
fn queued(options: &CarriersOptions) -> Result<u64, String> {
    if !(1..=ROUTES_MAX).contains(&options.routes) {
        return Err(format!("--carriers: {} is not between 1 and {ROUTES_MAX}", options.routes));
    }
    let messages = (options.rate * (options.time.as_secs_f64() + SPARE_S)).ceil();
    if !(options.rate > 0.0 && messages <= MESSAGES_MAX as f64) {
        return Err(format!(
            "--rate and --seconds: a route has at most {MESSAGES_MAX} messages, with {SPARE_S} s to spare"
        ));
    }
    Ok(messages as u64)
}

/// Alerts to all numbers, the routes in turn, so that each has work from the first segment on.
fn alerts(routes: usize, messages: u64) -> impl Iterator<Item = String> {
    let of_each = (AUDIENCE_MAX / routes as u64).max(1);
    (0..messages).step_by(of_each as usize).map(move |first| {
        let numbers = (first..messages.min(first + of_each))
            .flat_map(|message| (0..routes).map(move |route| phone_number(route, message)));
        let audience: Vec<String> = numbers.map(|number| format!("sms:{number}")).collect();
        json!({"headline": "Sirens test", "text": "Sirens test at noon. Nothing to do.", "audience": audience,
            "channels": ["sms"]})
        .to_string()
    })
}

fn judged(
    options: &CarriersOptions,
    writes: &[Vec<Stamp>],
    taken: &[Vec<Stamp>],
) -> Result<Vec<Reached>, String> {
    let firsts = writes.iter().filter_map(|stamps| stamps.first());
    let from = firsts.map(|stamp| stamp.at_ns).max().ok_or("nothing was written")?;
    let until = from + options.time.as_nanos() as u64;
    // A limit of 2.5 lets three pass in no window: whole messages only.
    let limit = options.rate.floor() as u64;
    let routes = writes.iter().zip(taken).map(|(writes, taken)| Reached {
        per_s: between(writes, from, until) as f64 * SECOND_NS as f64 / (until - from) as f64,
        sender: Windows::of(writes, limit),
        carrier: Windows::of(taken, limit),
    });
    Ok(routes.collect())
}

fn summed(options: &CarriersOptions, routes: &[Reached]) -> Measured {
    let (mut sender, mut carrier) = (Windows::default(), Windows::default());
    for route in routes {
        sender.merge(route.sender);
        carrier.merge(route.carrier);
    }
    let least = routes.iter().map(|route| route.per_s).fold(f64::MAX, f64::min);
    let all: f64 = routes.iter().map(|route| route.per_s).sum();
    let above = routes.iter().filter(|route| route.sender.worst > options.rate.floor() as u64).count();
    let mut measured = Measured::new("smpp-carriers")
        .with("carriers", options.routes)
        .with("rate", options.rate)
        .with("seconds", options.time.as_secs_f64())
        .with("fsync", options.fsync.as_str())
        .and("reached", all / (options.rate * routes.len().max(1) as f64))
        .and("least_reached", least / options.rate)
        .and("worst_window", sender.worst)
        .and("routes_above_limit", above)
        .and("carriers_worst_window", carrier.worst)
        .and("carriers_windows_one_over", carrier.one_over as f64 / carrier.count.max(1) as f64)
        .and("carriers_windows_more_over", carrier.more_over as f64 / carrier.count.max(1) as f64)
        .and("rate_of_each", routes.iter().map(|route| route.per_s).collect::<Vec<_>>())
        .and("worst_window_of_each", routes.iter().map(|route| route.sender.worst).collect::<Vec<_>>());
    measured.rate_per_s = all;
    measured.errors = sender.one_over + sender.more_over;
    measured
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "carriers",
        "limit/s",
        "s",
        "messages/s",
        "reached %",
        "least %",
        "worst second",
        "routes above",
        "carriers' worst",
        "one over %",
        "more over %",
        "CPU s",
        "CPU s/M",
        "RSS MB",
    ];
    let rows = measured.iter().map(|m| {
        let number = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        let percent = |name: &str| m.number(name).map_or("-".to_owned(), |share| shown(share * 100.0));
        let whole = |name: &str| m.more.get(name).map_or("-".to_owned(), Value::to_string);
        vec![
            m.params["carriers"].to_string(),
            number("rate"),
            number("seconds"),
            shown(m.rate_per_s),
            percent("reached"),
            percent("least_reached"),
            whole("worst_window"),
            whole("routes_above_limit"),
            whole("carriers_worst_window"),
            percent("carriers_windows_one_over"),
            percent("carriers_windows_more_over"),
            number("cpu_s"),
            m.cpu_s_per_million.server.map_or("-".to_owned(), shown),
            m.peak_rss_mb.map_or("-".to_owned(), shown),
        ]
    });
    (head, rows.collect())
}

/// Each route's rate and worst second, from the slowest route to the fastest.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for one in measured {
        for (field, what) in [("rate_of_each", "messages/s"), ("worst_window_of_each", "worst second")] {
            let values = one.more.get(field).and_then(Value::as_array);
            let mut values: Vec<f64> = values.into_iter().flatten().filter_map(Value::as_f64).collect();
            values.sort_by(f64::total_cmp);
            let points = values.into_iter().enumerate().map(|(place, value)| (place as f64 + 1.0, value));
            let name = format!("{} carriers, {what}", one.params["carriers"]);
            curves.push(Curve { name, points: points.collect() });
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(routes: usize, rate: f64, seconds: u64) -> CarriersOptions {
        CarriersOptions {
            program: "x".into(),
            folder: None,
            fsync: "os".to_owned(),
            routes,
            rate,
            time: Duration::from_secs(seconds),
        }
    }

    fn every(from_ms: u64, gap_ms: u64, count: u64) -> Vec<Stamp> {
        (0..count).map(|n| Stamp { at_ns: (from_ms + n * gap_ms) * 1_000_000, messages: 1 }).collect()
    }

    #[test]
    fn each_route_is_judged_from_the_moment_all_have_begun() {
        let writes = [every(0, 201, 100), every(2_000, 201, 90)];
        let taken = [every(50, 201, 100), every(2_000, 199, 90)];
        let options = options(2, 5.0, 10);
        let reached = judged(&options, &writes, &taken).unwrap();
        // Of 10 s of 201 ms each 50 begin inside, whose first is at the beginning for the second route.
        assert_eq!((reached[0].per_s, reached[1].per_s), (5.0, 5.0));
        assert_eq!((reached[0].sender.worst, reached[1].carrier.worst), (5, 6));
        let measured = summed(&options, &reached);
        assert_eq!((measured.errors, measured.number("routes_above_limit")), (0, Some(0.0)));
        assert_eq!(measured.number("carriers_worst_window"), Some(6.0));
        assert!((measured.number("reached").unwrap() - 1.0).abs() < 1e-9);
        assert!(judged(&options, &[vec![]], &[vec![]]).is_err());
    }

    #[test]
    fn a_window_above_the_limit_is_an_error() {
        let options = options(1, 5.0, 10);
        let reached = judged(&options, &[every(0, 199, 51)], &[vec![]]).unwrap();
        let measured = summed(&options, &reached);
        assert_eq!(measured.number("routes_above_limit"), Some(1.0));
        assert!(measured.errors > 0);
        let (head, rows) = rows(std::slice::from_ref(&measured));
        assert_eq!(head.len(), rows[0].len());
        assert_eq!(curves(&[measured])[1].points, [(1.0, 6.0)]);
    }

    #[test]
    fn work_is_queued_for_longer_than_is_measured_and_within_the_numbers() {
        assert_eq!(queued(&options(500, 5.0, 60)), Ok(400));
        for (routes, rate, seconds) in [(0, 5.0, 60), (1_001, 5.0, 60), (1, 0.0, 60), (1, 5_000.0, 60)] {
            assert!(queued(&options(routes, rate, seconds)).is_err(), "{routes} {rate}");
        }
    }

    #[test]
    fn alerts_list_every_number_once_and_no_more_than_are_taken() {
        let audience = |alert: &String| -> Vec<String> {
            let alert: Value = serde_json::from_str(alert).unwrap();
            alert["audience"].as_array().unwrap().iter().map(ToString::to_string).collect()
        };
        let two: Vec<String> = alerts(2, 2).collect();
        let expected = ["sms:+46700000000", "sms:+46700100000", "sms:+46700000001", "sms:+46700100001"]
            .map(|to| format!("{to:?}"));
        assert_eq!((two.len(), audience(&two[0])), (1, expected.to_vec()));
        let many: Vec<Vec<String>> = alerts(500, 400).map(|alert| audience(&alert)).collect();
        assert!(many.iter().all(|audience| audience.len() as u64 <= AUDIENCE_MAX));
        let all: std::collections::HashSet<&String> = many.iter().flatten().collect();
        assert_eq!(all.len(), 200_000);
    }
}
