//! The published run: 50 clients, 3,000,000 requests in all, on one processor and on more.

use super::{Amount, DiameterOptions, run as run_one};
use crate::deployment::{Placement, own_cpus};
use crate::measured::{Measured, shown};
use crate::statistics::SampleStatistics;
use plot::Curve;

/// Requests of the published run.
const REQUESTS: f64 = 3_000_000.0;
/// Its clients.
const CLIENTS: usize = 50;
/// The processors it was run on.
const PROCESSORS: [usize; 4] = [1, 2, 4, 8];
/// Its parallel efficiency at 2 and at 4; what it was at 8 is not given.
const PUBLISHED_EFFICIENCY: [(usize, f64); 2] = [(2, 0.75), (4, 0.75)];

/// The same number of processors, all rounds.
struct Row {
    processors: usize,
    /// The load had processors of its own.
    is_apart: bool,
    rate: f64,
    server_cpu: f64,
    load_cpu: f64,
    busy: f64,
    middle: Measured,
}

/// All of it.
pub(crate) struct Paper {
    rows: Vec<Row>,
    measured: Vec<Measured>,
}

/// Runs all of it; `time_scale` divides the number of requests.
///
/// # Errors
/// What does not come up or breaks, in words.
pub(crate) async fn run(options: &DiameterOptions, time_scale: f64) -> Result<Paper, String> {
    let cpus = own_cpus().map_err(|error| format!("the processors: {error}"))?;
    let mut paper = Paper { rows: Vec::new(), measured: Vec::new() };
    for processors in PROCESSORS.into_iter().filter(|processors| *processors <= cpus.len()) {
        let (bound, rest) = cpus.split_at(processors);
        let load_cpus = if rest.is_empty() { &cpus[..] } else { rest };
        eprintln!("{processors} of {} processors …", cpus.len());
        let options = DiameterOptions {
            connections: CLIENTS,
            amount: Amount::Of((REQUESTS / time_scale).ceil() as u64),
            floor: false,
            rate: None,
            placement: Placement { cpus: bound.to_vec(), ..Placement::default() },
            load_cpus: load_cpus.to_vec(),
            ..options.clone()
        };
        let lines = run_one(&options).await?;
        let lines = lines
            .into_iter()
            .map(|line| line.with("processors", processors).with("load_processors_apart", !rest.is_empty()));
        let lines: Vec<Measured> = lines.collect();
        paper.rows.extend(Row::of(processors, !rest.is_empty(), &lines));
        paper.measured.extend(lines);
    }
    Ok(paper)
}

impl Row {
    fn of(processors: usize, is_apart: bool, lines: &[Measured]) -> Option<Row> {
        let median = |of: &dyn Fn(&Measured) -> Option<f64>| {
            let values: Vec<f64> = lines.iter().filter_map(of).collect();
            SampleStatistics::of(&values).map_or(0.0, |summary| summary.median)
        };
        let mut sorted: Vec<&Measured> = lines.iter().collect();
        sorted.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
        Some(Row {
            processors,
            is_apart,
            rate: median(&|line| Some(line.rate_per_s)),
            server_cpu: median(&|line| line.cpu_s_per_million.server),
            load_cpu: median(&|line| line.cpu_s_per_million.load),
            busy: median(&|line| line.number("server_cores_busy")),
            middle: (*sorted.get(sorted.len() / 2)?).clone(),
        })
    }

    fn cells(&self, first: &Row) -> Vec<String> {
        let published = PUBLISHED_EFFICIENCY.iter().find(|(processors, _)| *processors == self.processors);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let us = |us: Option<u64>| us.map_or_else(|| "-".to_owned(), |us| us.to_string());
        vec![
            self.processors.to_string(),
            if self.is_apart { "others" } else { "the same" }.to_owned(),
            shown(self.rate),
            us(self.middle.p50_us),
            us(self.middle.p99_us),
            shown(self.server_cpu),
            shown(self.load_cpu),
            shown(self.busy),
            percent(efficiency(self.rate, self.processors, first.rate)),
            percent(first.server_cpu / self.server_cpu),
            published.map_or_else(|| "-".to_owned(), |(_, share)| percent(*share)),
        ]
    }
}

/// Of what so many processors would do if each did what one does alone, the share that they do.
fn efficiency(rate: f64, processors: usize, rate_of_one: f64) -> f64 {
    rate / (processors as f64 * rate_of_one)
}

impl Paper {
    pub(crate) fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// Somewhere the load had no processors of its own.
    pub(crate) fn is_crowded(&self) -> bool {
        self.rows.iter().any(|row| !row.is_apart)
    }

    /// A row for each number of processors.
    pub(crate) fn rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let head = vec![
            "processors",
            "load on",
            "requests/s",
            "p50 us",
            "p99 us",
            "CPU s/M server",
            "CPU s/M load",
            "server's cores busy",
            "efficiency: rate",
            "efficiency: CPU",
            "published: rate",
        ];
        let Some(first) = self.rows.first() else { return (head, Vec::new()) };
        (head, self.rows.iter().map(|row| row.cells(first)).collect())
    }

    /// Efficiency, ours and published, by processors.
    pub(crate) fn curves(&self) -> Vec<Curve> {
        let Some(first) = self.rows.first() else { return Vec::new() };
        let curve = |name: &str, of: &dyn Fn(&Row) -> f64| Curve {
            name: name.to_owned(),
            points: self.rows.iter().map(|row| (row.processors as f64, 100.0 * of(row))).collect(),
        };
        let published = [(1, 1.0)].iter().chain(&PUBLISHED_EFFICIENCY);
        vec![
            curve("ours, of the rate", &|row| efficiency(row.rate, row.processors, first.rate)),
            curve("ours, of the CPU time", &|row| first.server_cpu / row.server_cpu),
            Curve {
                name: "published, of the rate".to_owned(),
                points: published.map(|(processors, share)| (*processors as f64, share * 100.0)).collect(),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Cpu;

    fn line(rate: f64, cpu: f64) -> Measured {
        let mut line = Measured::new("diameter").and("server_cores_busy", 1.0);
        line.rate_per_s = rate;
        line.cpu_s_per_million = Cpu { server: Some(cpu), load: Some(0.5) };
        line
    }

    #[test]
    fn efficiency_is_the_share_of_what_so_many_alone_would_do() {
        for (rate, processors, of_one, expected) in
            [(100.0, 1, 100.0, 1.0), (150.0, 2, 100.0, 0.75), (300.0, 4, 100.0, 0.75), (800.0, 8, 100.0, 1.0)]
        {
            assert_eq!(efficiency(rate, processors, of_one), expected);
        }
    }

    #[test]
    fn the_table_has_the_middle_run_and_the_published_share_beside_it() {
        let one = Row::of(1, true, &[line(90.0, 2.0), line(110.0, 4.0), line(100.0, 3.0)]).unwrap();
        assert_eq!((one.rate, one.server_cpu, one.middle.rate_per_s), (100.0, 3.0, 100.0));
        let two = Row::of(2, false, &[line(150.0, 4.0)]).unwrap();
        let paper = Paper { rows: vec![one, two], measured: Vec::new() };
        let (head, rows) = paper.rows();
        assert!(rows.iter().all(|row| row.len() == head.len()));
        assert_eq!(rows[0][8..], ["100 %", "100 %", "-"]);
        assert_eq!(
            (rows[1][1].as_str(), &rows[1][8..]),
            ("the same", &["75 %", "75 %", "75 %"].map(str::to_owned)[..])
        );
        let curves = paper.curves();
        assert_eq!(curves[0].points, [(1.0, 100.0), (2.0, 75.0)]);
        assert_eq!(curves[2].points, [(1.0, 100.0), (2.0, 75.0), (4.0, 75.0)]);
    }
}
