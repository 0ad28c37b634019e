//! A rate over time: what a step or a disturbance did to it.

use super::part::CameView;

/// So many tenths of a second in a row have to be there before a level counts as reached.
const STAYS: usize = 3;

/// The rate in the time before `at_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Since the first packet.
    pub(super) at_s: f64,
    /// Gbit/s of payload.
    pub(super) gbit: f64,
}

/// Between one view and the next, by the kernel's stamps. Where no packet came nothing was stamped: such a
/// time shows in the next point.
pub(super) fn points(views: &[CameView], mss: u16) -> Vec<Point> {
    let mut points = Vec::new();
    let mut before: Option<CameView> = None;
    for view in views {
        if let Some(last) = before.filter(|last| view.at_s <= last.at_s) {
            before = Some(last);
            continue;
        }
        if let Some(last) = before {
            let packets = view.packets.saturating_sub(last.packets);
            let gbit = gbit(packets as f64 / (view.at_s - last.at_s), mss);
            points.push(Point { at_s: view.at_s, gbit });
        }
        before = Some(*view);
    }
    points
}

/// Packets a second as Gbit/s of payload.
pub(super) fn gbit(packets_per_s: f64, mss: u16) -> f64 {
    packets_per_s * f64::from(mss) * 8.0 / 1e9
}

/// Seconds after `from_s` until the rate is at least `level` and stays so; nothing if it never is.
pub(super) fn reached(points: &[Point], from_s: f64, level: f64) -> Option<f64> {
    until(points, from_s, |point| point.gbit >= level)
}

/// Seconds after `from_s` until the rate is at most `level` and stays so.
pub(super) fn fallen(points: &[Point], from_s: f64, level: f64) -> Option<f64> {
    until(points, from_s, |point| point.gbit <= level)
}

fn until(points: &[Point], from_s: f64, is_there: impl Fn(&Point) -> bool) -> Option<f64> {
    let later: Vec<&Point> = points.iter().filter(|point| point.at_s > from_s).collect();
    let place = later.windows(STAYS).position(|window| window.iter().all(|point| is_there(point)))?;
    Some(later[place].at_s - from_s)
}

/// The mean of the points from one time to another.
pub(super) fn mean(points: &[Point], from_s: f64, to_s: f64) -> Option<f64> {
    let within = points.iter().filter(|point| point.at_s > from_s && point.at_s <= to_s);
    let (sum, count) = within.fold((0.0, 0), |(sum, count), point| (sum + point.gbit, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(gbits: &[f64]) -> Vec<Point> {
        gbits
            .iter()
            .enumerate()
            .map(|(at, gbit)| Point { at_s: (at + 1) as f64 / 10.0, gbit: *gbit })
            .collect()
    }

    #[test]
    fn a_rate_is_what_came_between_two_stamps() {
        let view = |at_s, packets| CameView { at_s, packets };
        let views = [view(0.0, 1), view(0.5, 501), view(0.5, 501), view(1.5, 10_501)];
        let points = points(&views, 1_250);
        assert_eq!(points.iter().map(|point| point.at_s).collect::<Vec<_>>(), [0.5, 1.5]);
        assert!((points[0].gbit - 0.01).abs() < 1e-12 && (points[1].gbit - 0.1).abs() < 1e-12, "{points:?}");
        assert!((gbit(1e6, 1_250) - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_level_counts_once_it_stays() {
        let points = series(&[0.0, 9.9, 0.1, 9.9, 9.8, 9.7, 9.9, 0.0, 0.0, 0.0]);
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(near(reached(&points, 0.0, 9.5), 0.4), "not at 0.2 s, where it fell back");
        assert!(near(reached(&points, 0.3, 9.5), 0.1));
        assert!(near(fallen(&points, 0.7, 0.5), 0.1));
        assert_eq!((reached(&points, 0.0, 9.95), reached(&[], 0.0, 1.0)), (None, None));
    }

    #[test]
    fn a_mean_is_of_the_points_between() {
        let points = series(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mean(&points, 0.1, 0.35), Some(2.5));
        assert_eq!(mean(&points, 5.0, 6.0), None);
    }
}
