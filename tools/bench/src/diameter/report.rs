//! Report of the measurement, for people.

use crate::measured::{Measured, shown};
use plot::Curve;
use serde_json::Value;

/// For people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "server",
        "pattern",
        "fsync",
        "connections",
        "window",
        "accounts",
        "asked/s",
        "requests/s",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "late",
        "CPU s/M server",
        "CPU s/M load",
        "fdatasync us",
        "of N/s",
        "alone us",
        "of N/s alone",
        "peak MB",
        "errors",
    ];
    let row = |line: &Measured| {
        let text = |name: &str| match line.params.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let maybe = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), shown);
        let whole = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        vec![
            text("server"),
            text("pattern"),
            text("fsync"),
            text("connections"),
            text("window"),
            text("accounts"),
            maybe(line.number("asked_per_s")),
            shown(line.rate_per_s),
            whole(line.p50_us),
            whole(line.p99_us),
            maybe(line.number("p999_us")),
            maybe(line.number("late")),
            maybe(line.cpu_s_per_million.server),
            maybe(line.cpu_s_per_million.load),
            whole(line.fdatasync_p50_us),
            maybe(line.number("of_waiting_over_sync")),
            maybe(line.number("fdatasync_alone_us")),
            maybe(line.number("of_waiting_over_sync_alone")),
            maybe(line.peak_rss_mb),
            line.errors.to_string(),
        ]
    };
    (head, measured.iter().map(row).collect())
}

/// Requests a second by connections.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for line in measured {
        let name = ["server", "pattern", "fsync"]
            .map(|name| line.params.get(name).and_then(Value::as_str).unwrap_or_default());
        let name = name.join(" ");
        let connections = line.params.get("connections").and_then(Value::as_f64).unwrap_or(0.0);
        let point = (connections, line.rate_per_s);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point] }),
        }
    }
    curves
}
