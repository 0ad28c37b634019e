//! Evenness of packets, by each rule, and beside iperf3 in turns.

use super::super::{Late, UdpOptions, report, run as run_one};
use super::{MSS, Paper, PaperOptions, Section};
use crate::measured::Measured;
use pace::parse_bit_rate;
use plot::Curve;

/// What is asked for.
const RATES: [&str; 3] = ["100M", "1G", "10G"];
/// The lag of one thread fluctuates by one loop: mean and standard deviation, microseconds.
const PUBLISHED_LAG_US: [f64; 2] = [3.5, 1.4];

/// Which rule, and how many packets of a burst at most; the first is what a sender does unless it is told
/// otherwise.
const WAYS: [(Late, Option<u32>); 4] =
    [(Late::Bounded, None), (Late::Bounded, Some(1)), (Late::CatchUp, Some(1)), (Late::Capped, Some(1))];

pub(super) async fn run(options: &PaperOptions, has_iperf: bool, paper: &mut Paper) -> Result<(), String> {
    let mut lines = Vec::new();
    for rate in RATES {
        for (place, (late, burst)) in WAYS.into_iter().enumerate() {
            let one = UdpOptions {
                rate: rate.to_owned(),
                late,
                burst,
                rounds: options.rounds,
                iperf: has_iperf && place == 0,
                ..options.one()
            };
            for line in run_one(&one).await? {
                lines.push(line.and("experiment", "udp-paper-pacing"));
            }
        }
    }
    paper.sections.push(section(&lines, options.rounds));
    paper.measured.append(&mut lines);
    Ok(())
}

fn section(lines: &[Measured], rounds: usize) -> Section {
    let curve = |name: &str, of: fn(&Measured) -> Option<f64>, is_theirs: bool| Curve {
        name: name.to_owned(),
        points: lines
            .iter()
            .filter(|line| report::text(line, "sender").starts_with("iperf3") == is_theirs)
            .filter(|line| is_theirs || line.number("burst_max").is_none())
            .filter_map(|line| Some((parse_bit_rate(&report::text(line, "rate")).ok()? / 1e9, of(line)?)))
            .collect(),
    };
    let rate = |line: &Measured| line.number("gbit_per_s");
    Section {
        name: "udp-paper-pacing",
        title: format!(
            "How evenly packets come, MSS {MSS}, one thread, the middle of {rounds} (published lag: mean {} us, deviation {} us)",
            PUBLISHED_LAG_US[0], PUBLISHED_LAG_US[1]
        ),
        head: vec![
            "sender",
            "asked",
            "rule",
            "burst",
            "Gbit/s",
            "of asked %",
            "least",
            "most",
            "lost",
            "gaps near %",
            "worst ms x",
            "gap p50 us",
            "p99 us",
            "lag us",
            "deviation us",
            "CPU s/M sender",
            "errors",
        ],
        rows: lines.iter().map(row).collect(),
        axes: ["Gbit/s asked", "Gbit/s received"],
        curves: vec![curve("ours", rate, false), curve("iperf3", rate, true)],
    }
}

fn row(line: &Measured) -> Vec<String> {
    let number = |name: &str| report::maybe(line.number(name));
    let asked = parse_bit_rate(&report::text(line, "rate")).ok();
    let gbit = |name: &str| report::gbit(line.number(name));
    let share = line.number("gbit_per_s").zip(asked).map(|(gbit, asked)| 100.0 * gbit * 1e9 / asked);
    vec![
        report::text(line, "sender"),
        report::text(line, "rate"),
        report::text(line, "rule"),
        report::text(line, "burst"),
        gbit("gbit_per_s"),
        share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
        gbit("gbit_per_s_least"),
        gbit("gbit_per_s_most"),
        number("lost"),
        report::maybe(line.number("gaps_near").map(|share| share * 100.0)),
        number("worst_ms"),
        number("gap_p50_us"),
        number("gap_p99_us"),
        number("lag_us"),
        number("lag_sd_us"),
        report::maybe(line.cpu_s_per_million.server),
        line.errors.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_theirs_stand_beside_each_other() {
        let line = |sender: &str, rate: &str, gbit: f64| {
            let line = Measured::new("udp").with("sender", sender).with("rate", rate);
            line.and("gbit_per_s", gbit)
        };
        let lines = [
            line("campanile", "1G", 0.999),
            line("iperf3 3.12", "1G", 0.9),
            line("campanile", "1G", 0.8).with("burst_max", 1),
        ];
        let section = section(&lines, 5);
        assert!(section.rows.iter().all(|row| row.len() == section.head.len()));
        assert_eq!(section.rows[0][4..6], ["0.99900", "99.90"].map(str::to_owned));
        assert_eq!(section.curves[0].points, [(1.0, 0.999)], "the usual burst alone");
        assert_eq!(section.curves[1].points, [(1.0, 0.9)]);
    }
}
