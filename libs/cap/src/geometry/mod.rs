//! Geometry tests points against polygons and discs on the earth.

mod index;
mod ring;

#[cfg(test)]
mod tests;

pub use index::AreaIndex;

use crate::alert::{Area, Circle, Point};
use ring::Ring;

/// The earth's mean radius (IUGG).
const EARTH_RADIUS_KM: f64 = 6_371.008_8;
/// How far beyond its rim a disc still holds a point: rounding of the reckoning, a millimetre.
const RIM_KM: f64 = 1e-6;

impl Area {
    /// Whether a point is in one of the area's polygons or discs, their edges included. Geocodes are not
    /// asked. For many points make an [`AreaIndex`].
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        self.circles.iter().any(|circle| circle.contains(lat, lon))
            || self
                .polygons
                .iter()
                .any(|polygon| Ring::new(polygon).is_some_and(|ring| ring.contains(lat, lon)))
    }
}

impl Circle {
    /// Whether a point is in the disc, its rim included.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        distance_km(self.center, (lat, lon)) <= self.km + RIM_KM
    }

    /// The disc in latitudes and longitudes; longitudes may pass 180 degrees.
    fn bounds(&self) -> Bounds {
        let (lat, lon) = self.center;
        let angle = (self.km + RIM_KM) / EARTH_RADIUS_KM;
        let dlat = angle.to_degrees();
        let reaches_a_pole = lat.abs() + dlat >= 90.0;
        let dlon =
            if reaches_a_pole { 180.0 } else { (angle.sin() / lat.to_radians().cos()).asin().to_degrees() };
        Bounds { south: lat - dlat, north: lat + dlat, west: lon - dlon, east: lon + dlon }.widened()
    }
}

/// The distance of two points along the earth's surface in kilometres (haversine).
pub fn distance_km(a: Point, b: Point) -> f64 {
    let (lat_a, lat_b) = (a.0.to_radians(), b.0.to_radians());
    let half_lat = ((lat_b - lat_a) / 2.0).sin();
    let half_lon = ((b.1 - a.1).to_radians() / 2.0).sin();
    let h = half_lat * half_lat + lat_a.cos() * lat_b.cos() * half_lon * half_lon;
    2.0 * EARTH_RADIUS_KM * h.sqrt().min(1.0).asin()
}

/// A box of latitudes and longitudes. Longitudes are unrolled: `west` may be below -180 or `east` above 180.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    south: f64,
    north: f64,
    west: f64,
    east: f64,
}

impl Bounds {
    /// A little larger than computed, so that rounding never leaves a point out.
    fn widened(self) -> Bounds {
        const MARGIN: f64 = 1e-9;
        Bounds {
            south: self.south - MARGIN,
            north: self.north + MARGIN,
            west: self.west - MARGIN,
            east: self.east + MARGIN,
        }
    }

    /// The longitude among `lon` and its turns around the earth that is inside, if the point is.
    fn fitting_lon(&self, lat: f64, lon: f64) -> Option<f64> {
        if !(self.south..=self.north).contains(&lat) {
            return None;
        }
        [lon, lon - 360.0, lon + 360.0].into_iter().find(|lon| (self.west..=self.east).contains(lon))
    }
}
