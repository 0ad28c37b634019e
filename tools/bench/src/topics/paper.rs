//! The published experiments: posters and readers from one to three each, ten attempts of ten seconds,
//! requests a second of one thread.

use super::{Subject, TopicsOptions, measure};
use crate::measured::{Measured, shown};
use crate::published::{self, TopicAttempts, TopicStatistics};
use crate::statistics::SampleStatistics;
use plot::Bars;
use std::time::Duration;

/// An attempt of the published experiments took so long.
const ATTEMPT: Duration = Duration::from_secs(10);

/// One combination, ours and theirs.
struct Row {
    attempts: Vec<f64>,
    published: TopicAttempts,
    statistics: TopicStatistics,
}

/// All nine.
pub(crate) struct Paper {
    rows: Vec<Row>,
    measured: Vec<Measured>,
}

/// Runs all of them; `time_scale` divides the ten seconds.
///
/// # Errors
/// What does not come up or breaks, in words.
pub(crate) async fn run(options: &TopicsOptions, time_scale: f64) -> Result<Paper, String> {
    let mut paper = Paper { rows: Vec::new(), measured: Vec::new() };
    for (published, statistics) in published::topic_attempts().into_iter().zip(published::topic_statistics())
    {
        let options = TopicsOptions {
            posters: published.posters,
            readers: published.readers,
            depth: 1,
            connections: 0,
            time: ATTEMPT.div_f64(time_scale),
            ..options.clone()
        };
        // Each combination begins with nothing.
        let subject = Subject::open(&options).await?;
        let mut attempts = Vec::with_capacity(published.per_thread_per_s.len());
        for attempt in 1..=published.per_thread_per_s.len() {
            let line = measure(&subject, &options).await?.with("attempt", attempt);
            attempts.push(line.number("per_thread_per_s").unwrap_or_default());
            paper.measured.push(line);
        }
        paper.rows.push(Row { attempts, published, statistics });
    }
    Ok(paper)
}

impl Paper {
    pub(crate) fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// Table 3.1: each attempt.
    pub(crate) fn attempts_rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let head = vec!["", "posters", "readers", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
        let line = |who: &str, row: &Row, numbers: &[f64]| {
            let counts = [row.published.posters, row.published.readers].map(|count| count.to_string());
            std::iter::once(who.to_owned())
                .chain(counts)
                .chain(numbers.iter().map(|rate| shown(*rate)))
                .collect()
        };
        let rows = self.rows.iter().flat_map(|row| {
            [line("ours", row, &row.attempts), line("published", row, &row.published.per_thread_per_s)]
        });
        (head, rows.collect())
    }

    /// Table 3.2: mean, variance, standard deviation.
    pub(crate) fn statistics_rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let head = vec!["", "posters", "readers", "mean", "variance", "deviation", "ours / published"];
        let rows = self.rows.iter().flat_map(|row| {
            let counts = [row.published.posters, row.published.readers].map(|count| count.to_string());
            let line = |who: &str, numbers: [f64; 3], ratio: String| {
                let numbers = numbers.into_iter().map(shown).chain([ratio]);
                std::iter::once(who.to_owned()).chain(counts.clone()).chain(numbers).collect()
            };
            let (mean, deviation) = row.summary();
            let theirs = &row.statistics;
            let numbers = [theirs.mean, theirs.variance, theirs.deviation];
            [
                line("ours", [mean, deviation.powi(2), deviation], shown(mean / theirs.mean)),
                line("published", numbers, String::new()),
            ]
        });
        (head, rows.collect())
    }

    /// The bar chart of the means with their standard deviations.
    pub(crate) fn bars(&self) -> Vec<Bars> {
        let place = |number: usize| (number + 1) as f64;
        let bars = |name: &str, of: &dyn Fn(&Row) -> (f64, f64)| Bars {
            name: name.to_owned(),
            bars: self.rows.iter().enumerate().map(|(number, row)| (place(number), of(row).0)).collect(),
            deviations: self.rows.iter().map(|row| of(row).1).collect(),
        };
        vec![
            bars("ours", &Row::summary),
            bars("published", &|row| (row.statistics.mean, row.statistics.deviation)),
        ]
    }
}

impl Row {
    /// Mean and standard deviation of ours.
    fn summary(&self) -> (f64, f64) {
        SampleStatistics::of(&self.attempts).map_or((0.0, 0.0), |summary| (summary.mean, summary.deviation))
    }
}
