//! Curve of an alert: how many people were reached, and answered, by when. A point a second for ten minutes,
//! then each ten seconds; a second in which nothing changed has none.

use serde::{Deserialize, Serialize};

/// Seconds with a point each.
const FINE_S: u32 = 600;
/// Seconds between two points after that, at first.
const COARSE_S: u32 = 10;
/// Points kept: of more, every second one after the fine ones goes, and then of all.
const POINTS_MAX: usize = 900;

/// A point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvePoint {
    /// Seconds after the alert was accepted.
    pub second: u32,
    /// People reached by then.
    pub reached: u32,
    /// People who had answered by then.
    pub answered: u32,
}

/// See the module. It is stored as the differences between its points.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<i64>", into = "Vec<i64>")]
pub struct Curve {
    points: Vec<CurvePoint>,
}

impl Curve {
    /// Its points.
    pub fn points(&self) -> &[CurvePoint] {
        &self.points
    }

    /// Takes a point in, if it is time for one and something changed. True if it was taken.
    pub fn note(&mut self, point: CurvePoint) -> bool {
        let Some(last) = self.points.last() else {
            self.points.push(point);
            return true;
        };
        let step = if point.second <= FINE_S { 1 } else { COARSE_S };
        let is_same = (last.reached, last.answered) == (point.reached, point.answered);
        if is_same || point.second / step <= last.second / step && point.second > FINE_S {
            return false;
        }
        self.put(point)
    }

    /// The last point, as it is at the end.
    pub fn end(&mut self, point: CurvePoint) {
        self.put(point);
    }

    fn put(&mut self, point: CurvePoint) -> bool {
        match self.points.last_mut() {
            // A clock that was set back has no points of its own.
            Some(last) if last.second >= point.second => *last = CurvePoint { second: last.second, ..point },
            _ => self.points.push(point),
        }
        if self.points.len() > POINTS_MAX {
            self.thin();
        }
        true
    }

    fn thin(&mut self) {
        let fine = self.points.partition_point(|point| point.second <= FINE_S);
        // Where nearly all are fine ones, these go too.
        let from = if self.points.len() - fine > POINTS_MAX / 4 { fine } else { 0 };
        let last = self.points.len() - 1;
        let mut place = 0;
        self.points.retain(|_| {
            place += 1;
            place - 1 < from || (place - 1 - from).is_multiple_of(2) || place - 1 == last
        });
    }
}

impl From<Vec<i64>> for Curve {
    fn from(differences: Vec<i64>) -> Curve {
        let mut at = [0_i64; 3];
        let points = differences.chunks_exact(3).map(|step| {
            at.iter_mut().zip(step).for_each(|(value, difference)| *value += difference);
            let [second, reached, answered] = at.map(|value| u32::try_from(value).unwrap_or_default());
            CurvePoint { second, reached, answered }
        });
        Curve { points: points.collect() }
    }
}

impl From<Curve> for Vec<i64> {
    fn from(curve: Curve) -> Vec<i64> {
        let mut before = [0_i64; 3];
        let mut differences = Vec::with_capacity(curve.points.len() * 3);
        for point in curve.points {
            let now = [point.second, point.reached, point.answered].map(i64::from);
            differences.extend(now.iter().zip(before).map(|(now, before)| now - before));
            before = now;
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(second: u32, reached: u32) -> CurvePoint {
        CurvePoint { second, reached, answered: reached / 3 }
    }

    #[test]
    fn a_point_a_second_for_ten_minutes_and_then_each_ten_and_none_where_nothing_changed() {
        let mut curve = Curve::default();
        for second in 0..700 {
            curve.note(point(second, second));
            curve.note(point(second, second));
        }
        let seconds: Vec<u32> = curve.points().iter().map(|point| point.second).collect();
        assert_eq!(seconds[..601], (0..=600).collect::<Vec<u32>>()[..]);
        assert_eq!(seconds[601..], [610, 620, 630, 640, 650, 660, 670, 680, 690]);
        assert!(!curve.note(point(800, 690)), "nothing changed since");
    }

    #[test]
    fn it_is_bounded_however_long_an_alert_lasts_and_read_back_as_it_was() {
        let mut curve = Curve::default();
        for second in 0..200_000 {
            curve.note(point(second, 1_000_000 + second));
        }
        curve.end(point(200_001, 7));
        assert!(curve.points().len() <= POINTS_MAX, "{}", curve.points().len());
        assert_eq!(curve.points()[..=600].len(), 601, "the fine ones stay");
        assert_eq!(curve.points().last(), Some(&point(200_001, 7)));
        assert!(curve.points().is_sorted_by_key(|point| point.second));
        let stored = serde_json::to_string(&curve).unwrap();
        assert!(stored.len() < 12_000, "{} octets", stored.len());
        assert_eq!(serde_json::from_str::<Curve>(&stored).unwrap(), curve);
    }

    #[test]
    fn a_clock_that_is_set_back_adds_no_points() {
        let mut curve = Curve::default();
        curve.note(point(10, 1));
        curve.note(point(5, 2));
        assert_eq!(curve.points(), [point(10, 2)]);
    }
}
