//! Report of the measurement, for people.

use crate::measured::{Measured, shown};
use plot::Curve;
use serde_json::Value;

/// For people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "sender",
        "asked",
        "mss",
        "threads",
        "rule",
        "burst",
        "call",
        "packets/s",
        "Gbit/s",
        "lost",
        "not sent",
        "gaps near %",
        "worst ms x",
        "gap p50 us",
        "p99 us",
        "delay p50 us",
        "p99 us",
        "CPU s/M sender",
        "CPU s/M receiver",
        "peak MB",
        "errors",
    ];
    (head, measured.iter().map(row).collect())
}

fn row(line: &Measured) -> Vec<String> {
    let whole = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    vec![
        text(line, "sender"),
        text(line, "rate"),
        text(line, "mss"),
        text(line, "threads"),
        text(line, "rule"),
        text(line, "burst"),
        text(line, "call"),
        shown(line.rate_per_s),
        gbit(line.number("gbit_per_s")),
        maybe(line.number("lost")),
        maybe(line.number("not_sent")),
        maybe(line.number("gaps_near").map(|share| share * 100.0)),
        maybe(line.number("worst_ms")),
        maybe(line.number("gap_p50_us")),
        maybe(line.number("gap_p99_us")),
        whole(line.p50_us),
        whole(line.p99_us),
        maybe(line.cpu_s_per_million.server),
        maybe(line.cpu_s_per_million.load),
        maybe(line.peak_rss_mb),
        line.errors.to_string(),
    ]
}

/// A field in a cell.
pub(super) fn text(line: &Measured, name: &str) -> String {
    match line.more.get(name).or_else(|| line.params.get(name)) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// A number in a cell, if there is one.
pub(super) fn maybe(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), shown)
}

/// Gbit/s in a cell, with the digits that tell half a percent.
pub(super) fn gbit(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), |gbit| format!("{gbit:.*}", if gbit < 1.0 { 5 } else { 3 }))
}

/// Gbit/s by threads, a curve for each sender, rate asked for and MSS.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in measured {
        let name =
            format!("{}, {} asked, MSS {}", text(line, "sender"), text(line, "rate"), text(line, "mss"));
        let threads = text(line, "threads").parse().ok().or_else(|| line.number("threads_most"));
        let Some(point) = threads.zip(line.number("gbit_per_s")) else { continue };
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point] }),
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_its_head_and_each_sender_its_curve() {
        let line = |threads: &str, gbit: f64| {
            let line = Measured::new("udp").with("sender", "campanile").with("rate", "10G");
            line.with("mss", 1472).with("threads", threads).and("gbit_per_s", gbit).and("gaps_near", 0.985)
        };
        let lines = [line("1", 9.9), line("2", 9.8), line("1 to 2", 9.7).and("threads_most", 2)];
        let (head, rows) = rows(&lines);
        assert!(rows.iter().all(|row| row.len() == head.len()));
        assert_eq!((rows[0][8].as_str(), rows[0][11].as_str(), rows[0][9].as_str()), ("9.900", "98.5", "-"));
        assert_eq!((gbit(Some(0.0995)), gbit(None)), ("0.09950".to_owned(), "-".to_owned()));
        let curves = curves(&lines);
        assert_eq!(curves.len(), 1);
        assert_eq!(curves[0].points, [(1.0, 9.9), (2.0, 9.8), (2.0, 9.7)]);
    }
}
