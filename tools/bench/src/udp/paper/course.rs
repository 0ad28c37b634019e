//! Course of the rate over time: from one thread to 10 Gbit/s, a step up and down, and a machine that others
//! take.

use super::super::report::{gbit, maybe};
use super::super::series::{Point, fallen, mean, reached};
use super::super::{Run, Threads, UdpOptions, line, once, over_time};
use super::{ASKED, Paper, PaperOptions, Section, processors};
use plot::Curve;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A rate counts as reached from so much of what was asked for, Gbit/s.
const REACHED: f64 = 0.95 * 10.0;
/// And 10 Mbit/s as come back to from so little.
const BACK: f64 = 1.05 * 0.01;
/// From one sender to 10 Gbit/s, seconds: two analyses of half a second.
const PUBLISHED_S: &str = "1";

pub(super) async fn run(options: &PaperOptions, paper: &mut Paper) -> Result<(), String> {
    starts(options, paper).await?;
    step(options, paper).await?;
    stress(options, paper).await
}

/// With as many threads at first as are named, started and parked as they are needed.
fn managed(options: &PaperOptions, first: usize) -> UdpOptions {
    let most = processors().max(first);
    UdpOptions { threads: Threads::Managed(first, most), ..options.one() }
}

/// How long it takes from the first packet on.
async fn starts(options: &PaperOptions, paper: &mut Paper) -> Result<(), String> {
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    let mut firsts = vec![1, 2, processors()];
    firsts.sort_unstable();
    firsts.dedup();
    for first in firsts {
        let one = managed(options, first);
        let run = once(&one).await?;
        let points = over_time(&run, one.mss);
        let (took, level) = (reached(&points, 0.0, REACHED), mean(&points, one.seconds / 2.0, one.seconds));
        let line = line(&one, &run).and("experiment", "udp-paper-start").and("reached_s", took);
        rows.push(vec![
            first.to_string(),
            maybe(took),
            PUBLISHED_S.to_owned(),
            gbit(level),
            maybe(line.number("threads_most")),
            maybe(line.number("lost")),
            line.errors.to_string(),
        ]);
        paper.measured.push(line);
        curves.push(curve(format!("from {first} threads"), &points));
    }
    paper.sections.push(Section {
        name: "udp-paper-start",
        title: format!("From the first threads to {ASKED} (published: 1 s from one sender)"),
        head: vec!["first", "s to 95 %", "published", "Gbit/s then", "threads, most", "lost", "errors"],
        rows,
        axes: ["seconds", "Gbit/s received"],
        curves,
    });
    Ok(())
}

/// 10 Mbit/s, 10 Gbit/s, and back.
async fn step(options: &PaperOptions, paper: &mut Paper) -> Result<(), String> {
    let each = options.seconds();
    let rate = format!("steps:0s=10M,{each}s={ASKED},{}s=10M", 2.0 * each);
    let one = UdpOptions { rate, seconds: 3.0 * each, ..managed(options, 1) };
    let run = once(&one).await?;
    let points = over_time(&run, one.mss);
    let (up, level) = (reached(&points, each, REACHED), mean(&points, 1.5 * each, 2.0 * each));
    let down = fallen(&points, 2.0 * each, BACK);
    let last = run.sent.views.last().map(|view| view.threads);
    let line = line(&one, &run);
    let line = line.and("experiment", "udp-paper-step").and("reached_s", up).and("back_s", down);
    let row = vec![
        maybe(up),
        PUBLISHED_S.to_owned(),
        gbit(level),
        maybe(down),
        maybe(line.number("threads_most")),
        last.map_or_else(|| "-".to_owned(), |threads| threads.to_string()),
        maybe(line.number("lost")),
        line.errors.to_string(),
    ];
    paper.measured.push(line);
    paper.sections.push(Section {
        name: "udp-paper-step",
        title: format!("A step from 10M to {ASKED} after {each} s, and back after {} s", 2.0 * each),
        head: vec![
            "s to 95 %",
            "published",
            "Gbit/s then",
            "s back to 10 Mbit/s",
            "threads, most",
            "at the end",
            "lost",
            "errors",
        ],
        rows: vec![row],
        axes: ["seconds", "Gbit/s received; threads"],
        curves: vec![curve("Gbit/s".to_owned(), &points), threads_curve(&run)],
    });
    Ok(())
}

/// A third of the time each: alone, beside threads that take all processors, alone again.
async fn stress(options: &PaperOptions, paper: &mut Paper) -> Result<(), String> {
    let each = options.seconds();
    let one = UdpOptions { seconds: 3.0 * each, ..managed(options, 1) };
    let burning = async {
        tokio::time::sleep(Duration::from_secs_f64(each)).await;
        let burners = Burners::start(processors())?;
        tokio::time::sleep(Duration::from_secs_f64(each)).await;
        drop(burners);
        Ok::<_, String>(())
    };
    let (run, burnt) = tokio::join!(once(&one), burning);
    let run = run?;
    burnt?;
    let points = over_time(&run, one.mss);
    let within = |from: f64, to: f64| mean(&points, from * each, to * each);
    let (under, again) = (reached(&points, each, REACHED), reached(&points, 2.0 * each, REACHED));
    let line = line(&one, &run).and("experiment", "udp-paper-stress");
    let line = line.and("reached_under_stress_s", under).and("reached_after_s", again);
    let row = vec![
        processors().to_string(),
        gbit(within(0.0, 1.0)),
        gbit(within(1.0, 2.0)),
        maybe(under),
        "a thread at the next analysis (0.5 s)".to_owned(),
        gbit(within(2.0, 3.0)),
        maybe(again),
        maybe(line.number("threads_most")),
        maybe(line.number("lost")),
        line.errors.to_string(),
    ];
    paper.measured.push(line);
    paper.sections.push(Section {
        name: "udp-paper-stress",
        title: format!(
            "{ASKED} while the bench's own threads burn all processors from {each} s to {} s",
            2.0 * each
        ),
        head: vec![
            "burning threads",
            "Gbit/s before",
            "during",
            "s to 95 % during",
            "published",
            "Gbit/s after",
            "s to 95 % after",
            "threads, most",
            "lost",
            "errors",
        ],
        rows: vec![row],
        axes: ["seconds", "Gbit/s received; threads"],
        curves: vec![curve("Gbit/s".to_owned(), &points), threads_curve(&run)],
    });
    Ok(())
}

fn curve(name: String, points: &[Point]) -> Curve {
    Curve { name, points: points.iter().map(|point| (point.at_s, point.gbit)).collect() }
}

fn threads_curve(run: &Run) -> Curve {
    let points = run.sent.views.iter().map(|view| (view.at_s, view.threads as f64)).collect();
    Curve { name: "threads".to_owned(), points }
}

/// Threads that compute nothing, as `stress --cpu` does.
struct Burners(Arc<AtomicBool>);

impl Burners {
    fn start(count: usize) -> Result<Burners, String> {
        let burners = Burners(Arc::new(AtomicBool::new(false)));
        for number in 0..count {
            let ends = burners.0.clone();
            let burn = move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::black_box((1..1_000_u32).fold(1.0_f64, |sum, at| sum + f64::from(at).sqrt()));
                }
            };
            let spawned = std::thread::Builder::new().name(format!("stress-{number}")).spawn(burn);
            spawned.map_err(|error| format!("no thread to burn processors: {error}"))?;
        }
        Ok(burners)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::Usage;

    #[test]
    fn burning_threads_take_processor_time_until_they_are_dropped() {
        let cpu = || Usage::of(std::process::id()).map(|usage| usage.cpu_s).unwrap();
        let (before, begun) = (cpu(), std::time::Instant::now());
        let burners = Burners::start(1).unwrap();
        let ends = Arc::downgrade(&burners.0);
        while cpu() < before + 0.05 && begun.elapsed() < Duration::from_secs(30) {
            std::thread::yield_now();
        }
        assert!(cpu() >= before + 0.05);
        drop(burners);
        // Its thread lets go of the flag once it has ended.
        while ends.strong_count() > 0 && begun.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        assert_eq!(ends.strong_count(), 0);
    }
}
