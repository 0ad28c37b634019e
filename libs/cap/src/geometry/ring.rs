//! A polygon made ready for many questions.

use super::Bounds;
use crate::alert::Point;

/// A point this near an edge, in degrees (0.1 mm), is on it.
const ON_EDGE: f64 = 1e-9;
/// Bands of latitude at most.
const BANDS_MAX: f64 = 1_024.0;
/// Entries in all bands together are at most this many per edge, whatever the shape.
const ENTRIES_PER_EDGE: f64 = 4.0;

#[derive(Debug, Clone, Copy)]
struct Edge {
    from: Point,
    to: Point,
}

/// A ring with its edges in bands of latitude: a point asks only the edges of its own band.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    pub(super) bounds: Bounds,
    bands: Vec<Vec<Edge>>,
    band_height: f64,
}

impl Ring {
    /// `None` without at least three vertices, or where one is not finite.
    pub(super) fn new(polygon: &[Point]) -> Option<Ring> {
        let vertices = unroll(polygon)?;
        let edges: Vec<Edge> = vertices.windows(2).map(|pair| Edge { from: pair[0], to: pair[1] }).collect();
        let bounds = bounds(&vertices).widened();
        let height = bounds.north - bounds.south;
        // Zigzags from end to end get few bands, plain outlines many.
        let travelled: f64 = edges.iter().map(|edge| (edge.to.0 - edge.from.0).abs()).sum();
        let affordable = ENTRIES_PER_EDGE * edges.len() as f64 * height / travelled.max(height);
        let count = affordable.clamp(1.0, BANDS_MAX).floor();
        let mut ring = Ring { bounds, bands: vec![Vec::new(); count as usize], band_height: height / count };
        for edge in edges {
            let low = ring.band(edge.from.0.min(edge.to.0) - ON_EDGE);
            let high = ring.band(edge.from.0.max(edge.to.0) + ON_EDGE);
            ring.bands[low..=high].iter_mut().for_each(|band| band.push(edge));
        }
        Some(ring)
    }

    /// Whether a point is inside or on the edge. Where the ring overlaps itself, the overlap is inside:
    /// nobody is left out because of an untidy drawing.
    pub(super) fn contains(&self, lat: f64, lon: f64) -> bool {
        self.bounds.fitting_lon(lat, lon).is_some_and(|lon| self.holds((lat, lon)))
            // A ring wider than a turn may hold the point at a second longitude.
            || self.bounds.east - self.bounds.west > 360.0
                && [lon - 360.0, lon, lon + 360.0].into_iter().any(|lon| self.holds((lat, lon)))
    }

    fn holds(&self, point: Point) -> bool {
        let mut winding = 0;
        for edge in &self.bands[self.band(point.0)] {
            let side = edge.side(point);
            if side.abs() <= ON_EDGE * edge.length() && edge.spans(point) {
                return true;
            }
            // Half open, so that a vertex between two edges counts once.
            if edge.from.0 <= point.0 && edge.to.0 > point.0 && side > 0.0 {
                winding += 1;
            } else if edge.from.0 > point.0 && edge.to.0 <= point.0 && side < 0.0 {
                winding -= 1;
            }
        }
        winding != 0
    }

    fn band(&self, lat: f64) -> usize {
        // The cast saturates at zero below the ring.
        (((lat - self.bounds.south) / self.band_height) as usize).min(self.bands.len() - 1)
    }
}

impl Edge {
    /// Positive where the point is on the west of an edge that goes north.
    fn side(&self, point: Point) -> f64 {
        (self.to.0 - self.from.0) * (self.from.1 - point.1)
            - (self.to.1 - self.from.1) * (self.from.0 - point.0)
    }

    fn length(&self) -> f64 {
        (self.to.0 - self.from.0).hypot(self.to.1 - self.from.1)
    }

    /// Whether the point is in the edge's box.
    fn spans(&self, point: Point) -> bool {
        let within = |a: f64, b: f64, x: f64| x >= a.min(b) - ON_EDGE && x <= a.max(b) + ON_EDGE;
        within(self.from.0, self.to.0, point.0) && within(self.from.1, self.to.1, point.1)
    }
}

/// The closed ring with longitudes that run on instead of jumping at 180 degrees: each edge goes the shorter
/// way round. An edge along a whole turn (-180 to 180) stays one. A ring around a pole is led over the pole.
fn unroll(polygon: &[Point]) -> Option<Vec<Point>> {
    let first = *polygon.first()?;
    let mut vertices = vec![first];
    let mut lon = first.1;
    for window in polygon.windows(2) {
        lon += step(window[0].1, window[1].1);
        vertices.push((window[1].0, lon));
    }
    let last = *polygon.last()?;
    if last != first {
        lon += step(last.1, first.1);
        vertices.push((first.0, lon));
    }
    if vertices.len() < 4 || vertices.iter().any(|(lat, lon)| !lat.is_finite() || !lon.is_finite()) {
        return None;
    }
    if (lon - first.1).abs() > 180.0 {
        let sum: f64 = vertices.iter().map(|vertex| vertex.0).sum();
        let pole = if sum >= 0.0 { 90.0 } else { -90.0 };
        vertices.extend([(pole, lon), (pole, first.1), first]);
    }
    Some(vertices)
}

fn step(from: f64, to: f64) -> f64 {
    const WHOLE_TURN: f64 = 359.999;
    let step = to - from;
    if step.abs() <= 180.0 || step.abs() >= WHOLE_TURN { step } else { step - 360.0 * step.signum() }
}

fn bounds(vertices: &[Point]) -> Bounds {
    let empty = Bounds {
        south: f64::INFINITY,
        north: f64::NEG_INFINITY,
        west: f64::INFINITY,
        east: f64::NEG_INFINITY,
    };
    vertices.iter().fold(empty, |b, &(lat, lon)| Bounds {
        south: b.south.min(lat),
        north: b.north.max(lat),
        west: b.west.min(lon),
        east: b.east.max(lon),
    })
}
