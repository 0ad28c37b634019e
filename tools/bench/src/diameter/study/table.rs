//! Result of an experiment: a table, and bars.

use crate::measured::{Measured, shown};
use crate::statistics::SampleStatistics;
use plot::Bars;

/// One variant, all its rounds.
pub(super) struct Line {
    part: String,
    variant: String,
    published: &'static str,
    gap: Option<String>,
    /// From the slowest to the fastest.
    rounds: Vec<Measured>,
}

/// One experiment.
pub(crate) struct ExperimentReport {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) notes: Vec<String>,
    pub(super) lines: Vec<Line>,
}

impl Line {
    pub(super) fn new(
        part: String,
        variant: String,
        published: &'static str,
        gap: Option<String>,
        mut rounds: Vec<Measured>,
    ) -> Line {
        rounds.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
        Line { part, variant, published, gap, rounds }
    }

    /// The middle of the rounds.
    fn median(&self, of: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.rounds.iter().filter_map(of).collect();
        SampleStatistics::of(&values).map(|summary| summary.median)
    }

    fn rate(&self) -> Option<f64> {
        self.median(|line| Some(line.rate_per_s))
    }

    /// How far the fastest round is above the slowest, as a share of the slowest.
    fn spread(&self) -> Option<f64> {
        let (slowest, fastest) = (self.rounds.first()?.rate_per_s, self.rounds.last()?.rate_per_s);
        (self.rounds.len() > 1).then(|| fastest / slowest - 1.0)
    }
}

impl ExperimentReport {
    /// What its files are called.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn title(&self) -> &'static str {
        self.title
    }

    /// What must be known to read the table.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Every round.
    pub(crate) fn measured(&self) -> Vec<Measured> {
        self.lines.iter().flat_map(|line| line.rounds.iter().cloned()).collect()
    }

    /// A row for each variant, its rate beside that of the first of its part.
    pub(crate) fn rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let head = vec![
            "part",
            "variant",
            "a second",
            "of the first",
            "spread",
            "CPU s/M",
            "CPU s/M load",
            "p99 us",
            "errors",
            "published",
        ];
        (head, self.lines.iter().map(|line| self.cells(line)).collect())
    }

    fn cells(&self, line: &Line) -> Vec<String> {
        let maybe = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), shown);
        if let Some(gap) = &line.gap {
            let mut cells = vec![line.part.clone(), line.variant.clone()];
            cells.extend(std::iter::repeat_n("-".to_owned(), 6));
            cells.extend([gap.clone(), line.published.to_owned()]);
            return cells;
        }
        let is_server = line.median(|line| line.cpu_s_per_million.server).is_some();
        let load = line.median(|line| line.cpu_s_per_million.load);
        let own = if is_server { line.median(|line| line.cpu_s_per_million.server) } else { load };
        vec![
            line.part.clone(),
            line.variant.clone(),
            maybe(line.rate()),
            maybe(self.of_first(line)),
            line.spread().map_or_else(|| "-".to_owned(), |spread| format!("{:.0} %", spread * 100.0)),
            maybe(own),
            maybe(load.filter(|_| is_server)),
            maybe(line.median(|line| line.p99_us.map(|us| us as f64))),
            line.rounds.iter().map(|line| line.errors).sum::<u64>().to_string(),
            line.published.to_owned(),
        ]
    }

    /// Its rate over that of the first variant of its part.
    fn of_first(&self, line: &Line) -> Option<f64> {
        let first = self.lines.iter().find(|first| first.part == line.part)?;
        Some(line.rate()? / first.rate()?)
    }

    /// The same, side by side: bars of a colour for each part, a place for each variant.
    pub(crate) fn bars(&self) -> Vec<Bars> {
        let variants = self.variants();
        let mut all: Vec<Bars> = Vec::new();
        for line in &self.lines {
            let place = variants.iter().position(|variant| **variant == line.variant);
            let (Some(place), Some(height)) = (place, self.of_first(line)) else { continue };
            let bar = ((place + 1) as f64, height);
            match all.iter_mut().find(|bars| bars.name == line.part) {
                Some(bars) => bars.bars.push(bar),
                None => all.push(Bars { name: line.part.clone(), bars: vec![bar], deviations: Vec::new() }),
            }
        }
        all
    }

    fn variants(&self) -> Vec<&String> {
        let mut variants: Vec<&String> = Vec::new();
        for line in &self.lines {
            if !variants.contains(&&line.variant) {
                variants.push(&line.variant);
            }
        }
        variants
    }

    /// What stands at which place of the bars.
    pub(crate) fn places(&self) -> String {
        let numbered = self.variants().into_iter().enumerate();
        numbered.map(|(place, variant)| format!("{}: {variant}", place + 1)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Cpu, table};

    fn line(part: &str, variant: &str, rates: &[f64]) -> Line {
        let rounds = rates.iter().map(|rate| {
            let mut one = Measured::new("diameter-study");
            one.rate_per_s = *rate;
            one.cpu_s_per_million = Cpu { server: None, load: Some(1e6 / rate) };
            one
        });
        Line::new(part.to_owned(), variant.to_owned(), "said", None, rounds.collect())
    }

    fn report() -> ExperimentReport {
        let missing = Some("not on this system: install libx".to_owned());
        ExperimentReport {
            name: "diameter-x",
            title: "X",
            notes: Vec::new(),
            lines: vec![
                line("alone", "one", &[300.0, 100.0, 200.0]),
                line("alone", "two", &[500.0]),
                Line::new("alone".to_owned(), "three".to_owned(), "", missing, Vec::new()),
                line("server", "two", &[1_000.0]),
            ],
        }
    }

    #[test]
    fn a_row_has_the_middle_round_its_share_of_the_first_and_the_spread() {
        let (head, rows) = report().rows();
        assert!(rows.iter().all(|row| row.len() == head.len()), "{rows:?}");
        assert_eq!(rows[0][2..6], ["200", "1.00", "200 %", "5000"]);
        assert_eq!(rows[1][2..5], ["500", "2.50", "-"]);
        assert_eq!(rows[3][2..4], ["1000", "1.00"], "another part has a first of its own");
        assert!(table(&head, &rows).contains("said"));
    }

    #[test]
    fn what_could_not_be_measured_is_a_gap_with_its_reason() {
        let report = report();
        let (_, rows) = report.rows();
        assert!(rows[2][2..8].iter().all(|cell| cell == "-"), "{:?}", rows[2]);
        assert_eq!(rows[2][8], "not on this system: install libx");
        let bars = report.bars();
        assert_eq!(bars[0].bars, [(1.0, 1.0), (2.0, 2.5)], "no bar for it");
        assert_eq!((bars[1].name.as_str(), &bars[1].bars[..]), ("server", &[(2.0, 1.0)][..]));
        assert_eq!(report.places(), "1: one, 2: two, 3: three");
        assert_eq!(report.measured().len(), 5);
    }
}
