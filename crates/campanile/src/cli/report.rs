//! A report as people read it: bars by state, pace, routes, answers. Pure: JSON in, lines out.

use super::table::one_line;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// States from the furthest to the nearest, each with its sign in the bar and its colour on a terminal.
const STATES: [(&str, char, u8); 9] = [
    ("answered", '█', 32),
    ("delivered", '▓', 36),
    ("accepted", '▒', 34),
    ("submitted", '░', 94),
    ("planned", '·', 90),
    ("held", '~', 35),
    ("unknown", '?', 33),
    ("failed", '×', 31),
    ("excluded", '-', 90),
];
/// Width of the labels before the bars.
const LABEL: usize = 22;
/// Width of the words behind the bar of everything.
const TOTAL: usize = 22;
/// The widest bar.
const BAR_MAX: usize = 60;
/// Routes, answers or reasons shown; more are counted.
const LISTED_MAX: usize = 12;

/// How it is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// With colours.
    pub colour: bool,
}

impl Style {
    /// For a file or a pipe.
    pub const PLAIN: Style = Style { width: 100, colour: false };

    fn bar(self) -> usize {
        self.width.saturating_sub(LABEL + 14).clamp(10, BAR_MAX)
    }

    fn paint(self, text: &str, colour: u8) -> String {
        if self.colour { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The whole of it.
pub(super) fn picture(report: &Value, style: Style) -> String {
    let mut out = String::new();
    let line = |out: &mut String, text: String| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&mut out, head(report));
    line(&mut out, whole(report, style));
    for (name, sign, colour) in STATES {
        let count = number(&report["counts"], name);
        if count > 0 {
            line(&mut out, state(name, sign, colour, count, number(&report["counts"], "endpoints"), style));
        }
    }
    line(&mut out, pace(report));
    routes(&mut out, report);
    tally(&mut out, "answers", &report["answers"], style);
    tally(&mut out, "failed or left out", &report["reasons"], style);
    tally(&mut out, "people without a value for", &report["missing_values"], style);
    out
}

/// One line, for where nothing can be drawn over.
pub(super) fn line(report: &Value) -> String {
    let counts = &report["counts"];
    let mut out = format!("{}: {} endpoints", text(report, "state"), number(counts, "endpoints"));
    for (name, _, _) in STATES {
        let count = number(counts, name);
        if count > 0 {
            let _ = write!(out, ", {count} {name}");
        }
    }
    let rate = report["rate_now"].as_f64().unwrap_or(0.0);
    if rate > 0.0 {
        let _ = write!(out, "; {rate:.0}/s");
    }
    if let Some(eta) = report["eta"].as_f64().filter(|eta| *eta > 0.0) {
        let _ = write!(out, ", {} to go", span(eta));
    }
    out
}

fn head(report: &Value) -> String {
    let mut words = vec![text(report, "state").to_owned()];
    if text(report, "mode") == "drill" {
        words.push("drill".to_owned());
    }
    if report["simulated"] == true {
        words.push("simulated".to_owned());
    }
    let note = text(report, "note");
    let note = if note.is_empty() { String::new() } else { format!("  ({})", one_line(note)) };
    format!("{}  [{}]{note}", one_line(text(report, "headline")), words.join(", "))
}

/// One bar for everything; each state its share.
fn whole(report: &Value, style: Style) -> String {
    let counts = &report["counts"];
    let total = number(counts, "endpoints").max(1);
    let width = style.width.saturating_sub(TOTAL).clamp(20, BAR_MAX + LABEL);
    let (mut bar, mut sum, mut drawn) = (String::new(), 0, 0);
    for (name, sign, colour) in STATES {
        sum += number(counts, name);
        let until = usize::try_from(sum * width as u64 / total).unwrap_or(width).min(width);
        if until > drawn {
            bar.push_str(&style.paint(&sign.to_string().repeat(until - drawn), colour));
            drawn = until;
        }
    }
    bar.push_str(&" ".repeat(width - drawn));
    format!("[{bar}] {} endpoints", number(counts, "endpoints"))
}

fn state(name: &str, sign: char, colour: u8, count: u64, total: u64, style: Style) -> String {
    let bar = filled(count, total, style.bar());
    let percent = count as f64 * 100.0 / total.max(1) as f64;
    let bar = style.paint(&sign.to_string().repeat(bar), colour);
    format!("  {name:<10}{count:>10} {percent:>5.1} %  {bar}")
}

fn pace(report: &Value) -> String {
    let rate = report["rate_now"].as_f64().unwrap_or(0.0);
    let mut out = format!("  now {rate:.0}/s");
    match (text(report, "state"), report["eta"].as_f64()) {
        ("done" | "cancelled" | "expired", _) | (_, None) => {}
        (_, Some(eta)) if eta < 0.1 => {}
        (_, Some(eta)) => {
            let _ = write!(out, ", about {} to go", span(eta));
        }
    }
    for (key, share) in [("p50", "50"), ("p95", "95"), ("p99", "99")] {
        if let Some(seconds) = report["times"][key].as_f64() {
            let _ = write!(out, ", {share} % after {}", span(seconds));
        }
    }
    out
}

fn routes(out: &mut String, report: &Value) {
    let Some(routes) = object(&report["routes"]) else { return };
    out.push_str("routes\n");
    for (name, route) in routes.iter().take(LISTED_MAX) {
        let counts = &route["counts"];
        let through =
            ["accepted", "delivered", "answered"].iter().map(|name| number(counts, name)).sum::<u64>();
        let limit = match route["rate"].as_f64() {
            Some(rate) if rate > 0.0 => format!("{rate}/s"),
            _ => "no limit".to_owned(),
        };
        let up = if route["up"] == false { "  DOWN" } else { "" };
        let simulated = if route["simulated"] == true { "  simulated" } else { "" };
        let name = one_line(name);
        let failed = number(counts, "failed");
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let _ = writeln!(
            out,
            "  {name:<20}{through:>10} of {} taken{failed}  ({limit}){simulated}{up}",
            number(counts, "endpoints")
        );
    }
    more(out, routes.len());
}

fn tally(out: &mut String, title: &str, members: &Value, style: Style) {
    let Some(members) = object(members) else { return };
    let mut rows: Vec<(&String, u64)> =
        members.iter().map(|(name, count)| (name, count.as_u64().unwrap_or(0))).collect();
    // Answers in words are for a person to read: they come first.
    rows.sort_by_key(|(name, count)| (*name != "other", std::cmp::Reverse(*count)));
    let largest = rows.iter().map(|(_, count)| *count).max().unwrap_or(1);
    let _ = writeln!(out, "{title}");
    for (name, count) in rows.iter().take(LISTED_MAX) {
        let bar = "■".repeat(filled(*count, largest, style.bar() / 3));
        let _ = writeln!(out, "  {count:>8}  {:<40} {bar}", one_line(name));
    }
    more(out, rows.len());
}

fn more(out: &mut String, count: usize) {
    if count > LISTED_MAX {
        let _ = writeln!(out, "  and {} more", count - LISTED_MAX);
    }
}

/// Whole signs of a bar; something is never nothing.
fn filled(count: u64, total: u64, width: usize) -> usize {
    let share = usize::try_from(count * width as u64 / total.max(1)).unwrap_or(width);
    share.clamp(usize::from(count > 0), width)
}

fn object(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|members| !members.is_empty())
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Seconds in words.
pub(super) fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{whole} s"),
        120..7_200 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3_600, whole % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({
            "headline": "Gas at the harbour\u{1b}[2J", "state": "running", "mode": "drill", "simulated": true, "note": "",
            "counts": {"endpoints": 1000, "planned": 400, "accepted": 300, "delivered": 200, "answered": 97, "failed": 3},
            "routes": {"carrier-1": {"counts": {"endpoints": 1000, "accepted": 597, "failed": 3}, "rate": 5.0, "up": false, "simulated": true}},
            "answers": {"I am safe": 90, "I need help": 7}, "reasons": {"the number does not exist": 3},
            "rate_now": 51.3, "eta": 80.2, "times": {"p50": 9.96, "p95": null, "p99": null},
        })
    }

    #[test]
    fn a_picture_says_everything_in_a_report() {
        let drawn = picture(&report(), Style::PLAIN);
        for words in [
            "Gas at the harbour [2J  [running, drill, simulated]",
            "] 1000 endpoints",
            "  answered          97   9.7 %  ████",
            "  failed             3   0.3 %  ×\n",
            "  now 51/s, about 80 s to go, 50 % after 10 s",
            "  carrier-1                  597 of 1000 taken, 3 failed  (5/s)  simulated  DOWN",
            "        90  I am safe",
            "         7  I need help                              ■\n",
            "         3  the number does not exist",
        ] {
            assert!(drawn.contains(words), "{words:?} is not in\n{drawn}");
        }
        assert!(!drawn.contains('\x1b'), "no colours and nothing of others");
    }

    #[test]
    fn a_picture_fits_its_terminal() {
        for width in [40, 80, 200] {
            let drawn = picture(&report(), Style { width, colour: false });
            let bar = drawn.lines().nth(1).unwrap();
            assert!(bar.chars().count() <= width.max(42), "{width}: {bar}");
        }
        assert!(picture(&report(), Style { width: 80, colour: true }).contains("\x1b[32m█"));
    }

    #[test]
    fn a_line_says_where_it_stands() {
        assert_eq!(
            line(&report()),
            "running: 1000 endpoints, 97 answered, 200 delivered, 300 accepted, 400 planned, 3 failed; 51/s, 80 s to go"
        );
        assert_eq!(line(&json!({"state": "done", "counts": {}})), "done: 0 endpoints");
    }

    #[test]
    fn seconds_are_said_as_people_say_them() {
        for (seconds, words) in [
            (0.04, "0.0 s"),
            (9.4, "9.4 s"),
            (9.96, "10 s"),
            (119.0, "119 s"),
            (125.0, "2 min 05 s"),
            (7_260.0, "2 h 01 min"),
        ] {
            assert_eq!(span(seconds), words);
        }
    }
}
