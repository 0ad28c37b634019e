//! The demo's picture: a bar that fills, redrawn in place on a terminal, a line a second elsewhere.

use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;

const WIDTH: usize = 60;
/// States in the order they stand in the bar, each with its sign and its colour on a terminal.
const STATES: [(&str, char, &str); 8] = [
    ("answered", '█', "32"),
    ("delivered", '▓', "36"),
    ("accepted", '▒', "34"),
    ("submitted", '░', "34"),
    ("failed", '×', "31"),
    ("unknown", '?', "33"),
    ("excluded", '-', "90"),
    ("held", '~', "35"),
];

/// Draws progress.
pub struct Picture {
    terminal: bool,
    lines: usize,
    last: Option<Duration>,
}

impl Picture {
    /// On a terminal it draws over itself.
    pub fn new(terminal: bool) -> Picture {
        Picture { terminal, lines: 0, last: None }
    }

    /// One more look.
    pub fn draw(&mut self, report: &Value, elapsed: Duration) {
        if !self.terminal {
            if self.last.is_none_or(|last| elapsed >= last + Duration::from_secs(1)) {
                self.last = Some(elapsed);
                println!("  {:>5.1} s  {}", elapsed.as_secs_f64(), line(&report["counts"]));
            }
            return;
        }
        let text = format!(
            "  {}\n  {}\n  {:.1} s   {:.0} a second now   {}\n",
            bar(&report["counts"], true),
            line(&report["counts"]),
            elapsed.as_secs_f64(),
            report["rate_now"].as_f64().unwrap_or(0.0),
            eta(report),
        );
        if self.lines > 0 {
            print!("\x1b[{}A", self.lines);
        }
        self.lines = text.lines().count();
        for drawn in text.lines() {
            println!("\x1b[2K{drawn}");
        }
    }

    /// No more looks.
    pub fn finish(&mut self) {
        println!();
    }
}

fn eta(report: &Value) -> String {
    match (report["state"].as_str(), report["eta"].as_f64()) {
        (Some("done"), _) => "all sent; waiting for people".to_owned(),
        (_, Some(seconds)) => format!("about {seconds:.0} s to go"),
        _ => String::new(),
    }
}

fn bar(counts: &Value, colours: bool) -> String {
    let of = |name: &str| counts[name].as_u64().unwrap_or(0);
    let total = of("endpoints").max(1);
    let (mut out, mut sum, mut drawn) = (String::from("["), 0, 0);
    for (name, sign, colour) in STATES {
        sum += of(name);
        let until = (sum as usize * WIDTH) / total as usize;
        if colours {
            let _ = write!(out, "\x1b[{colour}m");
        }
        out.extend(std::iter::repeat_n(sign, until - drawn));
        drawn = until;
    }
    if colours {
        out.push_str("\x1b[0m");
    }
    out.extend(std::iter::repeat_n(' ', WIDTH - drawn));
    out.push(']');
    out
}

fn line(counts: &Value) -> String {
    let mut out = format!("{} endpoints:", counts["endpoints"]);
    for name in
        ["planned", "submitted", "accepted", "delivered", "answered", "failed", "unknown", "held", "excluded"]
    {
        let count = counts[name].as_u64().unwrap_or(0);
        if count > 0 {
            let _ = write!(out, " {count} {name}");
        }
    }
    out
}

/// The final report, for reading.
pub fn report(report: &Value) -> String {
    let mut out = format!("  {}\n\n", bar(&report["counts"], false));
    let _ = writeln!(out, "  {:<12}{:>8}", "state", "count");
    for name in
        ["answered", "delivered", "accepted", "submitted", "planned", "held", "failed", "unknown", "excluded"]
    {
        let count = report["counts"][name].as_u64().unwrap_or(0);
        if count > 0 {
            let _ = writeln!(out, "  {name:<12}{count:>8}");
        }
    }
    section(&mut out, "by route", &report["routes"], |route| {
        let counts = &route["counts"];
        let simulated = if route["simulated"] == true { "  (simulated)" } else { "" };
        format!("{:>6} endpoints, limit {}/s{simulated}", counts["endpoints"], route["rate"])
    });
    section(&mut out, "failed or left out, and why", &report["reasons"], |count| format!("{count:>6}"));
    section(&mut out, "answers", &report["answers"], |count| format!("{count:>6}"));
    let seconds = |name: &str| report["times"][name].as_f64().map_or("-".to_owned(), |s| format!("{s:.1} s"));
    let _ = writeln!(
        out,
        "\n  with the carriers: 50 % after {}, 95 % after {}, 99 % after {}",
        seconds("p50"),
        seconds("p95"),
        seconds("p99")
    );
    out
}

fn section(out: &mut String, title: &str, members: &Value, words: impl Fn(&Value) -> String) {
    let Some(members) = members.as_object().filter(|members| !members.is_empty()) else { return };
    let _ = writeln!(out, "\n  {title}");
    for (name, value) in members {
        let _ = writeln!(out, "    {name:<62}{}", words(value));
    }
}
