//! Figures 2 to 4: data rate against threads, for three sizes of packets, paced and not, by one call a packet
//! as published, and by ours.

use super::super::report::{gbit, maybe};
use super::super::{Call, Late, Threads, UdpOptions, line, once};
use super::{ASKED, Paper, PaperOptions, Section};
use crate::measured::Measured;
use plot::Curve;

/// The published sizes, with the names of their tables.
const SIZES: [(u16, &str); 3] =
    [(1024, "udp-paper-mss-1024"), (1472, "udp-paper-mss-1472"), (8972, "udp-paper-mss-8972")];
/// Threads of the sender.
const THREADS: [usize; 5] = [1, 2, 3, 4, 8];
/// More than any machine of today sends: no due time is ever waited for.
const UNREACHABLE: &str = "400G";
/// One sender at an MTU of 1,500 octets, Gbit/s: on processors of 2.3 GHz, and of the faster machine.
pub(super) const PUBLISHED_ALONE: [f64; 2] = [3.2, 3.9];
/// Beyond so many processors the published rate falls.
const PUBLISHED_CPUS: usize = 12;

/// A way to send.
struct SendMethod {
    name: &'static str,
    rate: &'static str,
    call: Call,
    late: Late,
}

const WAYS: [SendMethod; 4] = [
    SendMethod { name: "paced, send", rate: ASKED, call: Call::Send, late: Late::CatchUp },
    SendMethod { name: "not paced, send", rate: UNREACHABLE, call: Call::Send, late: Late::CatchUp },
    SendMethod { name: "paced, gso", rate: ASKED, call: Call::Gso, late: Late::Bounded },
    SendMethod { name: "not paced, gso", rate: UNREACHABLE, call: Call::Gso, late: Late::Bounded },
];

pub(super) async fn run(options: &PaperOptions, paper: &mut Paper) -> Result<(), String> {
    for (mss, name) in SIZES {
        let mut rows = Vec::new();
        let mut curves: Vec<Curve> = WAYS
            .iter()
            .map(|way| Curve { name: format!("ours, {}", way.name), points: Vec::new() })
            .collect();
        for threads in THREADS {
            for (way, curve) in WAYS.iter().zip(&mut curves) {
                let one = UdpOptions {
                    rate: way.rate.to_owned(),
                    mss,
                    threads: Threads::Fixed(threads),
                    late: way.late,
                    call: Some(way.call),
                    ..options.one()
                };
                let run = match once(&one).await {
                    Ok(run) => run,
                    // Too many threads for the processors may keep a receiver from being heard: that is an
                    // answer too.
                    Err(error) => {
                        let way = way.name;
                        paper.notes.push(format!("MSS {mss}, {threads} threads, {way}: {error}"));
                        continue;
                    }
                };
                let line = line(&one, &run).and("experiment", name).and("way", way.name);
                curve.points.extend(line.number("gbit_per_s").map(|gbit| (threads as f64, gbit)));
                rows.push(row(way.name, threads, mss, &line));
                paper.measured.push(line);
            }
        }
        if mss == super::MSS {
            let points = PUBLISHED_ALONE.map(|gbit| (1.0, gbit)).to_vec();
            curves.push(Curve { name: "published, one thread".to_owned(), points });
        }
        paper.sections.push(Section {
            name,
            title: format!("Data rate against threads, MSS {mss}, {ASKED} asked (published: figures 2 to 4)"),
            head: vec![
                "way",
                "threads",
                "Gbit/s received",
                "sent",
                "lost %",
                "CPU s/M sender",
                "receiver",
                "published",
                "errors",
            ],
            rows,
            axes: ["threads", "Gbit/s received"],
            curves,
        });
    }
    Ok(())
}

fn row(way: &str, threads: usize, mss: u16, line: &Measured) -> Vec<String> {
    let lost = line.number("lost").zip(line.number("packets_sent"));
    vec![
        way.to_owned(),
        threads.to_string(),
        gbit(line.number("gbit_per_s")),
        gbit(line.number("gbit_per_s_sent")),
        maybe(lost.map(|(lost, sent)| 100.0 * lost / sent.max(1.0))),
        maybe(line.cpu_s_per_million.server),
        maybe(line.cpu_s_per_million.load),
        published(threads, mss),
        line.errors.to_string(),
    ]
}

/// The published words for such a run; the curves have no numbers.
fn published(threads: usize, mss: u16) -> String {
    match (mss, threads) {
        (1472, 1) => PUBLISHED_ALONE.map(|gbit| gbit.to_string()).join(" and "),
        (1472, 2..=PUBLISHED_CPUS) => "10 with several".to_owned(),
        (1472, _) => "falls quickly".to_owned(),
        (..1472, _) => "less than at 1472".to_owned(),
        _ => "more than at 1472".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_stands_beside_the_run_that_is_like_it() {
        for (threads, mss, expected) in [
            (1, 1472, "3.2 and 3.9"),
            (8, 1472, "10 with several"),
            (13, 1472, "falls quickly"),
            (1, 1024, "less than at 1472"),
            (2, 8972, "more than at 1472"),
        ] {
            assert_eq!(published(threads, mss), expected);
        }
        assert!(pace::parse_bit_rate(UNREACHABLE).is_ok() && pace::parse_bit_rate(ASKED).is_ok());
    }

    #[test]
    fn a_row_has_the_lost_packets_as_a_share_of_the_sent() {
        let line = Measured::new("udp").and("gbit_per_s", 7.5).and("lost", 25).and("packets_sent", 100);
        assert_eq!(row("paced, send", 2, 1472, &line)[2..5], ["7.500", "-", "25.0"].map(str::to_owned));
    }
}
