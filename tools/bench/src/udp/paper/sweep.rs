//! Sweep over what the paper left open: which limit of the lag, how often to look, and how many threads at
//! first. The published rule by each, and ours beside it.

use super::super::part::SendView;
use super::super::report::{gbit, maybe};
use super::super::series::mean;
use super::super::{Late, Threads, UdpOptions, line, once, over_time};
use super::{ASKED, Paper, PaperOptions, Section, processors};
use plot::Curve;

/// Limits of the accumulated lag, microseconds: it fluctuates by 3.5.
const LIMITS_US: [u64; 4] = [5, 50, 500, 5_000];
/// Looked at this often, ms: the published half second, and ours.
const PERIODS_MS: [u64; 2] = [500, 100];

pub(super) async fn run(options: &PaperOptions, paper: &mut Paper) -> Result<(), String> {
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for threads in all(processors()) {
        // The published sender catches up; where a long delay is given up there is no lag left to accumulate.
        let is_published = matches!(threads, Threads::Published { .. });
        let late = if is_published { Late::CatchUp } else { Late::Bounded };
        let one = UdpOptions { threads, late, ..options.one() };
        let run = once(&one).await?;
        let points = over_time(&run, one.mss);
        let level = mean(&points, one.seconds / 2.0, one.seconds);
        let (first, most) = threads.bounds();
        let grew = grew(&run.sent.views, first);
        let (name, limit, period) = match threads {
            Threads::Published { limit_us, period_ms, .. } => ("published", Some(limit_us), Some(period_ms)),
            _ => ("learned", None, None),
        };
        let line = line(&one, &run)
            .with("crew", name)
            .with("limit_us", limit)
            .with("period_ms", period)
            .and("experiment", "udp-paper-sweep")
            .and("first_thread_more_s", grew);
        let whole = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        rows.push(vec![
            name.to_owned(),
            whole(limit),
            whole(period),
            format!("{first} of {most}"),
            gbit(level),
            maybe(grew),
            maybe(line.number("threads_most")),
            maybe(line.number("thread_seconds")),
            maybe(line.number("lag_us")),
            maybe(line.cpu_s_per_million.server),
            line.errors.to_string(),
        ]);
        if let (Some(limit), Some(level)) = (limit, level) {
            let name = format!("looked at each {} ms, {first} at first", period.unwrap_or_default());
            add(&mut curves, name, (limit as f64, level));
        }
        paper.measured.push(line);
    }
    paper.sections.push(Section {
        name: "udp-paper-sweep",
        title: format!("{ASKED} by limit of the lag, time between looks and first threads"),
        head: vec![
            "rule",
            "limit us",
            "looks ms",
            "first",
            "Gbit/s",
            "s to one more",
            "threads, most",
            "thread seconds",
            "lag us",
            "CPU s/M sender",
            "errors",
        ],
        rows,
        axes: ["limit of the lag, us", "Gbit/s received"],
        curves,
    });
    Ok(())
}

/// Each limit, time and first threads; then what the threads report decides.
fn all(processors: usize) -> Vec<Threads> {
    let mut all = Vec::new();
    let firsts = if processors > 1 { vec![1, processors] } else { vec![1] };
    for &first in &firsts {
        for period_ms in PERIODS_MS {
            for limit_us in LIMITS_US {
                all.push(Threads::Published { first, most: processors, limit_us, period_ms });
            }
        }
    }
    all.extend(firsts.iter().map(|first| Threads::Managed(*first, processors)));
    all
}

/// When there were more threads than at first.
fn grew(views: &[SendView], first: usize) -> Option<f64> {
    views.iter().find(|view| view.threads > first).map(|view| view.at_s)
}

fn add(curves: &mut Vec<Curve>, name: String, point: (f64, f64)) {
    match curves.iter_mut().find(|curve| curve.name == name) {
        Some(curve) => curve.points.push(point),
        None => curves.push(Curve { name, points: vec![point] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_combination_is_run_once_and_ours_beside_them() {
        let all = all(2);
        assert_eq!(all.len(), 2 * PERIODS_MS.len() * LIMITS_US.len() + 2);
        assert!((1..all.len()).all(|at| !all[..at].contains(&all[at])));
        assert_eq!(super::all(1).len(), PERIODS_MS.len() * LIMITS_US.len() + 1);
    }

    #[test]
    fn the_first_thread_more_is_found() {
        let view = |at_s, threads| SendView { at_s, asked: 0.0, threads };
        let views = [view(0.1, 1), view(0.6, 2), view(1.1, 3)];
        assert_eq!((grew(&views, 1), grew(&views, 2), grew(&views, 3)), (Some(0.6), Some(1.1), None));
    }
}
