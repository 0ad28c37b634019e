//! Almvik, a town that is not there: its outline lies in the middle of Lake Vänern.

use crate::chance::Chance;
use records::Position;

/// The town's outline, (lat, lon) in WGS 84, closed by its first point.
pub const OUTLINE: [(f64, f64); 9] = [
    (58.885, 13.180),
    (58.905, 13.215),
    (58.912, 13.270),
    (58.900, 13.325),
    (58.878, 13.345),
    (58.858, 13.318),
    (58.850, 13.260),
    (58.862, 13.232),
    (58.868, 13.190),
];

/// The middle of the outline's bounding box.
pub const CENTRE: (f64, f64) = (58.881, 13.2625);

/// The wards lie like slices of a cake around the centre, the first from the east on, then northwards.
pub const WARDS: u8 = 6;

/// Tries before a point is put at the centre.
const TRIES_MAX: u32 = 64;
/// Who lives out of town lives within so many sizes of the town's bounding box.
const SURROUNDINGS: f64 = 2.5;

/// Somewhere inside the outline.
pub(super) fn inside(chance: &mut Chance) -> Position {
    for _ in 0..TRIES_MAX {
        let at = within_box(chance, 1.0);
        if is_inside(at) {
            return at;
        }
    }
    Position { lat: CENTRE.0, lon: CENTRE.1 }
}

/// Somewhere around the town, not inside it.
pub(super) fn around(chance: &mut Chance) -> Position {
    for _ in 0..TRIES_MAX {
        let at = within_box(chance, SURROUNDINGS);
        if !is_inside(at) {
            return at;
        }
    }
    Position { lat: CENTRE.0 + 0.1, lon: CENTRE.1 }
}

/// Rounded to what a CSV file carries, so that all forms of the town agree.
fn within_box(chance: &mut Chance, size: f64) -> Position {
    let (lat_half, lon_half) = (0.031 * size, 0.0825 * size);
    let lat = CENTRE.0 + (chance.unit() * 2.0 - 1.0) * lat_half;
    let lon = CENTRE.1 + (chance.unit() * 2.0 - 1.0) * lon_half;
    Position { lat: (lat * 1e5).round() / 1e5, lon: (lon * 1e5).round() / 1e5 }
}

/// Whether a place is inside the outline.
pub fn is_inside(at: Position) -> bool {
    let mut inside = false;
    for (index, &(lat, lon)) in OUTLINE.iter().enumerate() {
        let (next_lat, next_lon) = OUTLINE[(index + 1) % OUTLINE.len()];
        let crosses = (lat > at.lat) != (next_lat > at.lat);
        if crosses && at.lon < (next_lon - lon) * (at.lat - lat) / (next_lat - lat) + lon {
            inside = !inside;
        }
    }
    inside
}

/// From 1 to [`WARDS`].
pub fn ward(at: Position) -> u8 {
    let turn = (at.lat - CENTRE.0).atan2((at.lon - CENTRE.1) * 0.517) / std::f64::consts::TAU;
    let slice = (turn.rem_euclid(1.0) * f64::from(WARDS)) as u8;
    1 + slice.min(WARDS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_drawn_where_they_belong() {
        let mut chance = Chance::new(3, 0);
        let mut wards = [0u32; WARDS as usize];
        for _ in 0..2_000 {
            let home = inside(&mut chance);
            assert!(is_inside(home), "{home:?}");
            wards[usize::from(ward(home)) - 1] += 1;
            assert!(!is_inside(around(&mut chance)));
        }
        assert!(wards.iter().all(|&count| count > 100), "{wards:?}");
    }

    #[test]
    fn the_centre_is_inside_and_the_sea_is_not() {
        assert!(is_inside(Position { lat: CENTRE.0, lon: CENTRE.1 }));
        assert!(!is_inside(Position { lat: 58.80, lon: 13.26 }));
        assert!(!is_inside(Position { lat: 58.851, lon: 13.34 }));
    }
}
