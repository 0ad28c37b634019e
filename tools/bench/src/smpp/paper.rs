//! The published bridge's two tables beside ours: the generation time of 500 messages, and five carriers at
//! five a second.

use super::Amount;
use super::fleet::{Fleet, FleetPlan, total};
use super::session::{self, Load};
use super::windows::{Stamp, Windows, seconds};
use crate::deployment::Carrier;
use crate::measured::{Measured, shown};
use crate::published::{self, FiveCarriers, GenerationTime};
use crate::statistics::SampleStatistics;
use plot::Bars;
use serde_json::{Value, json};
use sim::smsc;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Messages of a run of table 3.
const GENERATED: u64 = 500;
/// The next message when the last one is answered, and as many at a time as fit.
const WINDOWS: [usize; 2] = [1, 500];
/// Carriers of table 7, and messages a second that each allows.
const CARRIERS: usize = 5;
const RATE: f64 = 5.0;
/// Messages of a run of table 7.
const QUEUED: u64 = 250;
/// The median takes these seconds, from the first.
const MEDIAN_OF: usize = 8;
/// Seconds of the table.
const SHOWN_SECONDS: usize = 11;
/// A run is over after so long.
const RUN_MAX: Duration = Duration::from_secs(60);
/// Cycle times are drawn in so many bars, up to this share of them.
const CYCLE_BARS: usize = 40;
const CYCLE_SHARE: f64 = 0.99;

/// Everything that came of it.
pub(crate) struct Paper {
    generation: Vec<Measured>,
    carriers: Vec<Measured>,
    /// Our cycle times with a window of 1, microseconds.
    cycles_us: Vec<f64>,
}

/// Runs both tables.
///
/// # Errors
/// What did not work, in words.
pub(crate) async fn run(program: PathBuf, folder: Option<PathBuf>, fsync: &str) -> Result<Paper, String> {
    let (generation, cycles_us) = generation(&program, folder.as_ref()).await?;
    let carriers = five_carriers(program, folder, fsync).await?;
    Ok(Paper { generation, carriers, cycles_us })
}

/// Table 3, against the simulator, which answers at once.
async fn generation(
    program: &std::path::Path,
    folder: Option<&PathBuf>,
) -> Result<(Vec<Measured>, Vec<f64>), String> {
    let folder = super::new_folder(folder)?;
    let simulator = Carrier::start(program, folder.path(), "smsc", &smsc::SmscOptions::sink()).await?;
    let (mut rows, mut cycles_us) = (Vec::new(), Vec::new());
    for published in published::generation_times() {
        let mut row = Measured::new("smpp-paper").with("table", 3).with("run", published.run);
        for window in WINDOWS {
            let (own, rate, errors) = generate(simulator.address(), window).await?;
            let summary = SampleStatistics::of(&own).ok_or("no submissions were stamped")?;
            for (name, us) in [("mean", summary.mean), ("median", summary.median), ("sd", summary.deviation)]
            {
                row = row.and(&format!("window_{window}_{name}_ms"), us / 1e3);
            }
            row.errors += errors;
            if window == 1 {
                row.rate_per_s = rate;
                row.p50_us = Some(summary.median.round() as u64);
                cycles_us.extend(own);
            }
        }
        rows.push(with_published(row, &published));
    }
    let accepted = simulator.stats().await?.accepted;
    let expected = rows.len() as u64 * WINDOWS.len() as u64 * GENERATED;
    if let Some(last) = rows.last_mut() {
        last.errors += accepted.abs_diff(expected);
    }
    Ok((rows, cycles_us))
}

/// One run: times between neighbouring stamps in microseconds, messages a second, what was not right.
async fn generate(address: &str, window: usize) -> Result<(Vec<f64>, f64, u64), String> {
    let load = Load {
        address: address.to_owned(),
        system_id: "bench".to_owned(),
        password: "bench".to_owned(),
        connections: 1,
        window,
        amount: Amount::Of(GENERATED),
        echoes: false,
        stamps: true,
    };
    let run = session::run(&load, || ()).await?;
    let seen = run.seen;
    let rate = seen.sums.count as f64 / seen.took.as_secs_f64().max(1e-6);
    let errors = seen.refused + seen.mismatches + seen.sums.count.abs_diff(GENERATED);
    Ok((cycles_us(run.stamps.first().map_or(&[], Vec::as_slice)), rate, errors))
}

/// The differences of neighbouring stamps.
fn cycles_us(stamps: &[Instant]) -> Vec<f64> {
    stamps.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos() as f64 / 1e3).collect()
}

fn with_published(row: Measured, published: &GenerationTime) -> Measured {
    row.and("published_mean_ms", published.mean_ms)
        .and("published_median_ms", published.median_ms)
        .and("published_sd_ms", published.deviation_ms)
}

/// Table 7, by the whole server: an alert to 250 people, five routes that each may take any of them.
async fn five_carriers(
    program: PathBuf,
    folder: Option<PathBuf>,
    fsync: &str,
) -> Result<Vec<Measured>, String> {
    let plan = FleetPlan {
        program,
        folder,
        fsync: fsync.to_owned(),
        routes: CARRIERS,
        rate: RATE,
        own_numbers: false,
        keep: 0,
    };
    let fleet = Fleet::open(&plan).await?;
    let api = fleet.api()?;
    let mut rows = Vec::new();
    for (place, published) in (0..).zip(published::five_carriers()) {
        let before: Vec<usize> = fleet.writes()?.iter().map(Vec::len).collect();
        api.submit(alert(place)).await?;
        let expected = (place + 1) * QUEUED;
        fleet.until("the whole list", RUN_MAX, |counts| counts.iter().sum::<u64>() >= expected).await?;
        let writes = fleet.writes()?;
        let own = writes.iter().zip(before).map(|(stamps, before)| stamps[before..].to_vec()).collect();
        let worst = writes.iter().map(|stamps| Windows::of(stamps, RATE as u64).worst).max().unwrap_or(0);
        let mut row = run_of(own, &published).with("fsync", fsync).and("worst_window", worst);
        row.errors += writes.iter().map(|stamps| total(stamps)).sum::<u64>().abs_diff(expected)
            + u64::from(worst > RATE as u64);
        rows.push(row);
    }
    Ok(rows)
}

fn alert(run: u64) -> String {
    let audience: Vec<String> =
        (0..QUEUED).map(|n| format!("sms:{}", super::fleet::phone_number(run as usize, n))).collect();
    json!({"headline": "Sirens test", "text": "Sirens test at noon. Nothing to do.", "audience": audience,
        "channels": ["sms"]})
    .to_string()
}

/// One run of table 7: messages of all carriers in each second from the first on.
fn run_of(of_carriers: Vec<Vec<Stamp>>, published: &FiveCarriers) -> Measured {
    let mut all: Vec<Stamp> = of_carriers.into_iter().flatten().collect();
    all.sort_by_key(|stamp| stamp.at_ns);
    let per_second = seconds(&all);
    let median = median_of(&per_second.iter().map(|count| *count as f64).collect::<Vec<_>>());
    let mut row = Measured::new("smpp-paper")
        .with("table", 7)
        .with("run", published.run.as_str())
        .and("seconds", per_second.clone())
        .and("median_of_1_to_8", median)
        .and("published_seconds", published.seconds.clone())
        .and("published_median_of_1_to_8", published.median);
    row.rate_per_s = median.unwrap_or(0.0);
    row
}

fn median_of(seconds: &[f64]) -> Option<f64> {
    SampleStatistics::of(&seconds[..seconds.len().min(MEDIAN_OF)]).map(|summary| summary.median)
}

impl Paper {
    /// All rows, for programs.
    pub(crate) fn measured(&self) -> Vec<Measured> {
        self.generation.iter().chain(&self.carriers).cloned().collect()
    }

    /// Table 3 for people.
    pub(crate) fn generation_rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let head = vec![
            "run",
            "published mean ms",
            "median",
            "sd",
            "window 1 mean ms",
            "median",
            "sd",
            "window 500 mean ms",
            "median",
            "sd",
        ];
        let fields = [
            "published_mean_ms",
            "published_median_ms",
            "published_sd_ms",
            "window_1_mean_ms",
            "window_1_median_ms",
            "window_1_sd_ms",
            "window_500_mean_ms",
            "window_500_median_ms",
            "window_500_sd_ms",
        ];
        let row = |m: &Measured| {
            let cells = fields.iter().map(|field| m.number(field).map_or("-".to_owned(), fine));
            [m.params["run"].to_string()].into_iter().chain(cells).collect()
        };
        let mut rows: Vec<Vec<String>> = self.generation.iter().map(row).collect();
        let average = |field: &&str| {
            let values: Vec<f64> = self.generation.iter().filter_map(|m| m.number(field)).collect();
            SampleStatistics::of(&values).map_or("-".to_owned(), |summary| fine(summary.mean))
        };
        rows.push(["average".to_owned()].into_iter().chain(fields.iter().map(average)).collect());
        (head, rows)
    }

    /// Table 7 for people: the published row of a run, and ours below.
    pub(crate) fn carriers_rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let head = vec![
            "run",
            "by",
            "s1",
            "s2",
            "s3",
            "s4",
            "s5",
            "s6",
            "s7",
            "s8",
            "s9",
            "s10",
            "s11",
            "median 1-8",
            "worst second of a carrier",
        ];
        let mut rows = Vec::new();
        for m in &self.carriers {
            let run = m.params["run"].as_str().unwrap_or_default();
            for (by, counts, median, worst) in [
                ("published", "published_seconds", "published_median_of_1_to_8", None),
                ("ours", "seconds", "median_of_1_to_8", m.number("worst_window")),
            ] {
                let counts = numbers(m, counts);
                let cell =
                    |second: usize| counts.get(second).map_or(String::new(), |count| format!("{count:.0}"));
                let mut row = vec![run.to_owned(), by.to_owned()];
                row.extend((0..SHOWN_SECONDS).map(cell));
                row.push(m.number(median).map_or("-".to_owned(), shown));
                row.push(worst.map_or(String::new(), |worst| format!("{worst:.0}")));
                rows.push(row);
            }
        }
        for (by, field) in [("published", "published_median_of_1_to_8"), ("ours", "median_of_1_to_8")] {
            let medians: Vec<f64> = self.carriers.iter().filter_map(|m| m.number(field)).collect();
            let mean = SampleStatistics::of(&medians).map_or("-".to_owned(), |summary| shown(summary.mean));
            let mut row = vec!["mean".to_owned(), by.to_owned()];
            row.resize(2 + SHOWN_SECONDS, String::new());
            row.extend([mean, String::new()]);
            rows.push(row);
        }
        (head, rows)
    }

    /// Figure 6: in how many seconds so many messages were sent. The seconds are those that the medians take.
    pub(crate) fn per_second_bars(&self) -> Vec<Bars> {
        let bars = |name: &str, field: &str| {
            let mut counts = std::collections::BTreeMap::<u64, f64>::new();
            for m in &self.carriers {
                for count in numbers(m, field).into_iter().take(MEDIAN_OF) {
                    *counts.entry(count as u64).or_default() += 1.0;
                }
            }
            let bars = counts.into_iter().map(|(count, seconds)| (count as f64, seconds)).collect();
            Bars { name: name.to_owned(), bars, deviations: Vec::new() }
        };
        vec![bars("published", "published_seconds"), bars("ours", "seconds")]
    }

    /// Our cycle times with a window of 1, microseconds: how many of them fell into each bar.
    pub(crate) fn cycle_bars(&self) -> Vec<Bars> {
        let name = "window 1, all runs".to_owned();
        vec![Bars { name, bars: bars_of(&self.cycles_us), deviations: Vec::new() }]
    }
}

/// Bars of equal width over all values but the greatest few, each at its middle.
fn bars_of(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * CYCLE_SHARE) as usize;
    let Some(greatest) = sorted.get(place.min(sorted.len().saturating_sub(1))) else { return Vec::new() };
    let width = (greatest / CYCLE_BARS as f64).ceil().max(1.0);
    let mut bars: Vec<(f64, f64)> = (0..CYCLE_BARS).map(|bar| ((bar as f64 + 0.5) * width, 0.0)).collect();
    for value in sorted {
        if let Some(bar) = bars.get_mut((value / width) as usize) {
            bar.1 += 1.0;
        }
    }
    bars
}

fn numbers(measured: &Measured, field: &str) -> Vec<f64> {
    let values = measured.more.get(field).and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Milliseconds with the digits that microseconds need.
fn fine(ms: f64) -> String {
    if ms >= 1.0 { format!("{ms:.1}") } else { format!("{ms:.5}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smpp::windows::SECOND_NS;

    fn published() -> FiveCarriers {
        FiveCarriers { run: "1".to_owned(), seconds: vec![32.0, 30.0], median: 31.0 }
    }

    #[test]
    fn the_cycle_time_is_the_difference_of_neighbours() {
        let begin = Instant::now();
        let stamps = [0, 10, 15].map(|us| begin + Duration::from_micros(us));
        assert_eq!(cycles_us(&stamps), [10.0, 5.0]);
        assert!(cycles_us(&stamps[..1]).is_empty());
    }

    #[test]
    fn a_run_s_median_takes_the_first_eight_seconds_of_all_carriers() {
        let second = |second: u64, count: u64| Stamp { at_ns: second * SECOND_NS, messages: count };
        let one = (0..10).map(|n| second(n, if n < 8 { 20 } else { 1 })).collect();
        let other = (0..8).map(|n| second(n, 5)).collect();
        let row = run_of(vec![one, other], &published());
        assert_eq!((row.number("median_of_1_to_8"), row.rate_per_s), (Some(25.0), 25.0));
        assert_eq!(row.more["seconds"], json!([25, 25, 25, 25, 25, 25, 25, 25, 1, 1]));
        assert_eq!(run_of(Vec::new(), &published()).number("median_of_1_to_8"), None);
    }

    #[test]
    fn both_tables_have_a_row_for_each_run_and_one_for_all() {
        let stamps = vec![(0..8).map(|n| Stamp { at_ns: n * SECOND_NS, messages: 25 }).collect()];
        let times = GenerationTime { run: 1, mean_ms: 10.4, median_ms: 10.0, deviation_ms: 6.9 };
        let generation = with_published(Measured::new("smpp-paper").with("run", 1), &times);
        let paper = Paper {
            generation: vec![generation.and("window_1_mean_ms", 0.03)],
            carriers: vec![run_of(stamps, &published())],
            cycles_us: vec![10.0, 11.0, 30.0],
        };
        let (head, rows) = paper.generation_rows();
        assert!(rows.len() == 2 && rows.iter().all(|row| row.len() == head.len()));
        assert_eq!((rows[0][1].as_str(), rows[1][4].as_str()), ("10.4", "0.03000"));
        let (head, rows) = paper.carriers_rows();
        assert!(rows.len() == 4 && rows.iter().all(|row| row.len() == head.len()));
        assert_eq!((rows[0][2].as_str(), rows[1][2].as_str()), ("32", "25"));
        assert_eq!(paper.per_second_bars()[1].bars, [(25.0, 8.0)]);
        assert_eq!(paper.measured().len(), 2);
    }

    #[test]
    fn bars_hold_every_value_but_the_greatest_few() {
        let values: Vec<f64> = (0..1_000).map(|n| f64::from(n) / 10.0).chain([5_000.0]).collect();
        let bars = bars_of(&values);
        assert_eq!(bars.len(), CYCLE_BARS);
        assert_eq!(bars.iter().map(|(_, count)| count).sum::<f64>(), 1_000.0);
        assert!(bars_of(&[]).is_empty());
    }
}
