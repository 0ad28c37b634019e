//! One measurement, as people and programs read it.

use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;

/// One line of output: the fields CONTRACT.md's benches have in common, and those of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Which scenario.
    pub scenario: &'static str,
    /// What it was run with.
    pub params: Map<String, Value>,
    /// The scenario's own unit, a second.
    pub rate_per_s: f64,
    /// CPU seconds for a million of the unit; nothing where the process is not ours to look at.
    pub cpu_s_per_million: Cpu,
    /// Half of them took at most so long, microseconds.
    pub p50_us: Option<u64>,
    /// 99 of 100 took at most so long, microseconds.
    pub p99_us: Option<u64>,
    /// What was not as it should be.
    pub errors: u64,
    /// The most memory the server ever had, MB of 1,000,000 octets.
    pub peak_rss_mb: Option<f64>,
    /// fdatasync in the same folder in the same run, microseconds.
    pub fdatasync_p50_us: Option<u64>,
    /// The scenario's own fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// CPU seconds for a million.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cpu {
    /// The server's.
    pub server: Option<f64>,
    /// The carriers' and the client's.
    pub load: Option<f64>,
}

impl Measured {
    /// A measurement of nothing yet.
    pub fn new(scenario: &'static str) -> Self {
        Measured {
            scenario,
            params: Map::new(),
            rate_per_s: 0.0,
            cpu_s_per_million: Cpu::default(),
            p50_us: None,
            p99_us: None,
            errors: 0,
            peak_rss_mb: None,
            fdatasync_p50_us: None,
            more: Map::new(),
        }
    }

    /// Adds what it was run with.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a field of the scenario's own.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A field of the scenario's own, or what it was run with, as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.more.get(name).or_else(|| self.params.get(name)).and_then(Value::as_f64)
    }
}

/// A table for people: columns as wide as they need, numbers to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for (cell, width) in cells.zip(&widths) {
            let is_number =
                cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '<' || c == '×');
            // Writing to a string does not fail.
            let _ = if is_number { write!(out, "{cell:>width$}  ") } else { write!(out, "{cell:<width$}  ") };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line(&mut head.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    out
}

/// Rows as CSV; none of our fields needs quotes but texts with commas.
pub(crate) fn csv(head: &[&str], rows: &[Vec<String>]) -> String {
    let quoted = |cell: &str| if cell.contains([',', '"']) { format!("{cell:?}") } else { cell.to_owned() };
    let mut out = head.join(",") + "\n";
    for row in rows {
        out += &row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

/// A number with as many digits as it deserves.
pub(crate) fn shown(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        magnitude if magnitude >= 100.0 => format!("{number:.0}"),
        magnitude if magnitude >= 10.0 => format!("{number:.1}"),
        magnitude if magnitude >= 0.1 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

/// The value below which this share of the sorted values lies.
pub(crate) fn percentile(sorted: &[u64], share: f64) -> Option<u64> {
    let place = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1));
    sorted.get(place - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_contract_s_fields_and_the_scenario_s_own_beside_them() {
        let mut measured = Measured::new("alert").with("recipients", 5).and("answered_per_s", 1.5);
        measured.rate_per_s = 2.5;
        let value = serde_json::to_value(&measured).unwrap();
        for field in [
            "scenario",
            "params",
            "rate_per_s",
            "cpu_s_per_million",
            "p50_us",
            "p99_us",
            "errors",
            "peak_rss_mb",
            "fdatasync_p50_us",
        ] {
            assert!(value.get(field).is_some(), "{field}");
        }
        assert_eq!((&value["answered_per_s"], &value["params"]["recipients"]), (&1.5.into(), &5.into()));
        assert_eq!((measured.number("recipients"), measured.number("nothing")), (Some(5.0), None));
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        for (share, expected) in [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)] {
            assert_eq!(percentile(&hundred, share), Some(expected));
        }
        assert_eq!(percentile(&[7], 0.5), Some(7));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn tables_line_up() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "100".to_owned()]];
        assert_eq!(table(&["name", "n"], &rows), "name  n\na       1\nlong  100\n");
        assert_eq!(csv(&["name", "n"], &rows), "name,n\na,1\nlong,100\n");
    }
}
