//! Area test: a person by position, or by a geocode they carry as an attribute.

use records::{AreaRequest, NamedArea, PersonFacts, Position};

/// An area made ready for many questions: a box around each ring is asked first.
pub struct Area {
    rings: Vec<Ring>,
    circles: Vec<(f64, f64, f64)>,
    geocodes: Vec<String>,
    /// Geocodes with a `?`, which stands for any one character.
    patterns: Vec<String>,
    attribute: Option<String>,
}

struct Ring {
    south: f64,
    north: f64,
    points: Vec<(f64, f64)>,
}

impl Area {
    /// Makes a named area ready.
    pub fn of_named(named: &NamedArea) -> Area {
        Area {
            rings: rings(&named.polygons),
            circles: named.circles.clone(),
            geocodes: Vec::new(),
            patterns: Vec::new(),
            attribute: None,
        }
    }

    /// Makes an area ready.
    pub fn new(request: &AreaRequest) -> Area {
        let rings = rings(&request.polygons);
        let (patterns, mut geocodes): (Vec<String>, Vec<String>) =
            request.geocodes.iter().cloned().partition(|code| code.contains('?'));
        geocodes.sort_unstable();
        Area {
            rings,
            circles: request.circles.clone(),
            geocodes,
            patterns,
            attribute: request.geocode_attribute.clone(),
        }
    }

    /// Is this person inside?
    pub fn holds(&self, recipient: &impl PersonFacts) -> bool {
        self.holds_geocode(recipient) || recipient.position().is_some_and(|at| self.holds_position(at))
    }

    fn holds_geocode(&self, recipient: &impl PersonFacts) -> bool {
        let Some(name) = &self.attribute else { return false };
        let Some(value) = recipient.attribute(name) else { return false };
        value.split(';').map(str::trim).any(|code| {
            self.geocodes.binary_search_by(|have| have.as_str().cmp(code)).is_ok()
                || self.patterns.iter().any(|pattern| fits(pattern, code))
        })
    }

    fn holds_position(&self, at: Position) -> bool {
        self.rings.iter().any(|ring| ring.holds(at))
            || self.circles.iter().any(|&(lat, lon, km)| distance_km(at, Position { lat, lon }) <= km)
    }
}

fn rings(polygons: &[Vec<(f64, f64)>]) -> Vec<Ring> {
    polygons.iter().filter(|ring| ring.len() >= 3).map(|ring| Ring::new(ring)).collect()
}

/// `?` is any one character; a code of another length fits no pattern.
fn fits(pattern: &str, code: &str) -> bool {
    pattern.len() == code.len() && pattern.bytes().zip(code.bytes()).all(|(p, c)| p == b'?' || p == c)
}

impl Ring {
    /// Longitudes are unrolled from the first point on, so that a ring over the antimeridian stays one piece.
    fn new(points: &[(f64, f64)]) -> Ring {
        let mut unrolled: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        for &(lat, lon) in points {
            let lon = unrolled.last().map_or(lon, |&(_, before): &(f64, f64)| near(lon, before));
            unrolled.push((lat, lon));
        }
        let south = unrolled.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let north = unrolled.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        Ring { south, north, points: unrolled }
    }

    fn holds(&self, at: Position) -> bool {
        if at.lat < self.south || at.lat > self.north {
            return false;
        }
        [at.lon, at.lon + 360.0, at.lon - 360.0].into_iter().any(|lon| self.crossings(at.lat, lon) % 2 == 1)
    }

    /// How many edges a ray to the east crosses.
    fn crossings(&self, lat: f64, lon: f64) -> usize {
        let count = self.points.len();
        let edge = |i: usize| (self.points[i], self.points[(i + 1) % count]);
        (0..count)
            .map(edge)
            .filter(|&((lat1, _), (lat2, _))| (lat1 > lat) != (lat2 > lat))
            .filter(|&((lat1, lon1), (lat2, lon2))| lon < (lon2 - lon1) * (lat - lat1) / (lat2 - lat1) + lon1)
            .count()
    }
}

fn near(lon: f64, before: f64) -> f64 {
    [lon, lon + 360.0, lon - 360.0]
        .into_iter()
        .min_by(|a, b| (a - before).abs().total_cmp(&(b - before).abs()))
        .unwrap_or(lon)
}

/// Great-circle distance on a sphere of the earth's mean radius.
fn distance_km(a: Position, b: Position) -> f64 {
    const EARTH_KM: f64 = 6371.0088;
    let (dlat, dlon) = ((b.lat - a.lat).to_radians(), (b.lon - a.lon).to_radians());
    let h = (dlat / 2.0).sin().powi(2)
        + a.lat.to_radians().cos() * b.lat.to_radians().cos() * (dlon / 2.0).sin().powi(2);
    2.0 * EARTH_KM * h.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Recipient;

    fn person(lat: f64, lon: f64) -> Recipient {
        Recipient { position: Some(Position { lat, lon }), ..Recipient::default() }
    }

    #[test]
    fn a_position_is_inside_a_ring_a_circle_or_neither() {
        let area = Area::new(&AreaRequest {
            polygons: vec![vec![(0.0, 0.0), (0.0, 10.0), (10.0, 10.0), (10.0, 0.0), (0.0, 0.0)]],
            circles: vec![(59.33, 18.06, 5.0)],
            ..AreaRequest::default()
        });
        for (lat, lon, inside) in [
            (5.0, 5.0, true),
            (5.0, 11.0, false),
            (-1.0, 5.0, false),
            (59.35, 18.06, true),
            (59.40, 18.06, false),
        ] {
            assert_eq!(area.holds(&person(lat, lon)), inside, "{lat},{lon}");
        }
    }

    #[test]
    fn a_ring_over_the_antimeridian_holds_both_sides() {
        let area = Area::new(&AreaRequest {
            polygons: vec![vec![(-20.0, 175.0), (-20.0, -175.0), (-10.0, -175.0), (-10.0, 175.0)]],
            ..AreaRequest::default()
        });
        for (lon, inside) in [(179.0, true), (-179.0, true), (170.0, false), (-170.0, false), (0.0, false)] {
            assert_eq!(area.holds(&person(-15.0, lon)), inside, "{lon}");
        }
    }

    /// A ring, a bridge to the ring of the hole, and the bridge back: as named areas keep their holes.
    #[test]
    fn whoever_is_in_a_hole_that_a_bridge_joins_to_its_ring_is_outside() {
        let outer = [(0.0, 0.0), (0.0, 10.0), (10.0, 10.0), (10.0, 0.0), (0.0, 0.0)];
        let hole = [(4.0, 4.0), (6.0, 4.0), (6.0, 6.0), (4.0, 6.0), (4.0, 4.0)];
        let ring = outer.into_iter().chain(hole).chain([(0.0, 0.0)]).collect();
        let named = NamedArea { id: "ring".into(), polygons: vec![ring], circles: Vec::new() };
        let area = Area::of_named(&named);
        for (lat, lon, inside) in
            [(5.0, 5.0, false), (2.0, 5.0, true), (5.0, 2.0, true), (1.0, 3.0, true), (11.0, 5.0, false)]
        {
            assert_eq!(area.holds(&person(lat, lon)), inside, "{lat},{lon}");
        }
    }

    #[test]
    fn a_question_mark_in_a_geocode_stands_for_any_one_character() {
        let area = Area::new(&AreaRequest {
            geocodes: vec!["?26???".into(), "MDZ021".into()],
            geocode_attribute: Some("same".into()),
            ..AreaRequest::default()
        });
        let mut who = Recipient::default();
        for (value, inside) in [
            ("026163", true),
            ("039049", false),
            ("126163", true),
            ("26163", false),
            ("OHZ1;MDZ021", true),
            ("", false),
        ] {
            who.attributes.insert("same".into(), value.into());
            assert_eq!(area.holds(&who), inside, "{value}");
        }
    }

    #[test]
    fn a_geocode_is_found_among_several() {
        let area = Area::new(&AreaRequest {
            geocodes: vec!["MDZ021".into(), "MDZ022".into()],
            geocode_attribute: Some("ugc".into()),
            ..AreaRequest::default()
        });
        let mut who = Recipient::default();
        who.attributes.insert("ugc".into(), "VAZ001; MDZ022".into());
        assert!(area.holds(&who));
        who.attributes.insert("ugc".into(), "VAZ001".into());
        assert!(!area.holds(&who));
    }
}
