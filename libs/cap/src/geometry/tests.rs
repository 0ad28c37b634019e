use proptest::prelude::*;

use super::*;

fn area(polygon: &[Point]) -> Area {
    Area { polygons: vec![polygon.to_vec()], ..Area::default() }
}

fn disc(lat: f64, lon: f64, km: f64) -> Area {
    Area { circles: vec![Circle { center: (lat, lon), km }], ..Area::default() }
}

const SQUARE: &[Point] = &[(0.0, 0.0), (0.0, 10.0), (10.0, 10.0), (10.0, 0.0), (0.0, 0.0)];

#[test]
fn edges_and_corners_are_inside() {
    let square = area(SQUARE);
    for (lat, lon, expected) in [
        (5.0, 5.0, true),
        (0.0, 0.0, true),
        (10.0, 10.0, true),
        (0.0, 5.0, true),
        (5.0, 0.0, true),
        (5.0, 10.0, true),
        (10.0, 3.0, true),
        (10.000_001, 3.0, false),
        (-0.000_001, 3.0, false),
        (5.0, 10.000_001, false),
        (5.0, -0.000_001, false),
        (0.0, -1.0, false),
        (10.0, 11.0, false),
        (f64::NAN, 5.0, false),
        (5.0, f64::INFINITY, false),
    ] {
        assert_eq!(square.contains(lat, lon), expected, "{lat}, {lon}");
    }
}

#[test]
fn the_direction_of_a_ring_and_its_closing_do_not_matter() {
    let backwards: Vec<Point> = SQUARE.iter().rev().copied().collect();
    let open = &SQUARE[..4];
    for ring in [SQUARE, &backwards, open] {
        assert!(area(ring).contains(5.0, 5.0));
        assert!(!area(ring).contains(15.0, 5.0));
    }
}

#[test]
fn a_dent_is_outside_and_an_overlap_inside() {
    let u_shape = area(&[
        (0.0, 0.0),
        (0.0, 9.0),
        (9.0, 9.0),
        (9.0, 6.0),
        (3.0, 6.0),
        (3.0, 3.0),
        (9.0, 3.0),
        (9.0, 0.0),
    ]);
    assert!(!u_shape.contains(6.0, 4.5));
    assert!(u_shape.contains(6.0, 1.0) && u_shape.contains(6.0, 8.0) && u_shape.contains(1.0, 4.5));
    let twice = area(&[SQUARE, SQUARE].concat());
    assert!(twice.contains(5.0, 5.0));
}

#[test]
fn polygons_cross_the_date_line_the_shorter_way() {
    let fiji = area(&[(-20.0, 177.0), (-20.0, -178.0), (-15.0, -178.0), (-15.0, 177.0), (-20.0, 177.0)]);
    for (lon, expected) in [
        (179.0, true),
        (-179.0, true),
        (180.0, true),
        (-180.0, true),
        (176.0, false),
        (-177.0, false),
        (0.0, false),
    ] {
        assert_eq!(fiji.contains(-17.0, lon), expected, "{lon}");
    }
    let from_the_west = area(&[(-20.0, -178.0), (-20.0, 177.0), (-15.0, 177.0), (-15.0, -178.0)]);
    assert!(from_the_west.contains(-17.0, 179.0) && from_the_west.contains(-17.0, -179.0));
}

#[test]
fn the_whole_earth_holds_everybody() {
    let earth = area(&[(-90.0, -180.0), (-90.0, 180.0), (90.0, 180.0), (90.0, -180.0), (-90.0, -180.0)]);
    for point in [(0.0, 0.0), (90.0, 0.0), (-90.0, 12.0), (45.0, 180.0), (45.0, -180.0), (59.3, 18.1)] {
        assert!(earth.contains(point.0, point.1), "{point:?}");
    }
}

#[test]
fn a_ring_around_a_pole_holds_the_pole() {
    let arctic = area(&[(70.0, 0.0), (70.0, 90.0), (70.0, 180.0), (70.0, -90.0), (70.0, 0.0)]);
    for (lat, lon, expected) in
        [(89.0, 45.0, true), (75.0, -135.0, true), (71.0, 179.0, true), (69.0, 45.0, false)]
    {
        assert_eq!(arctic.contains(lat, lon), expected, "{lat}, {lon}");
    }
    let antarctic = area(&[(-70.0, -120.0), (-70.0, 0.0), (-70.0, 120.0), (-70.0, -120.0)]);
    assert!(antarctic.contains(-89.0, 170.0) && !antarctic.contains(0.0, 170.0));
}

#[test]
fn distances_are_those_of_the_earth() {
    for (a, b, km) in [
        ((0.0, 0.0), (0.0, 1.0), 111.195),
        ((59.3293, 18.0686), (57.7089, 11.9746), 398.0),
        ((0.0, 179.5), (0.0, -179.5), 111.195),
        ((90.0, 0.0), (-90.0, 0.0), 20_015.1),
    ] {
        assert!((distance_km(a, b) - km).abs() < km / 100.0, "{a:?} {b:?}: {}", distance_km(a, b));
    }
}

#[test]
fn discs_hold_who_is_within_their_radius_also_across_the_date_line() {
    assert!(disc(0.0, 0.0, 111.2).contains(0.0, 1.0));
    assert!(!disc(0.0, 0.0, 111.1).contains(0.0, 1.0));
    assert!(disc(0.0, 179.9, 50.0).contains(0.0, -179.9));
    assert!(disc(59.0, 18.0, 0.0).contains(59.0, 18.0));
    let index = AreaIndex::new(&[disc(0.0, 179.9, 50.0), disc(89.9, 0.0, 50.0)]);
    assert_eq!(index.areas_at(0.0, -179.9), [0]);
    assert_eq!(index.areas_at(89.9, 180.0), [1]);
}

#[test]
fn an_index_names_every_area_that_holds_a_point() {
    let areas = [area(SQUARE), disc(5.0, 5.0, 100.0), area(&[(4.0, 4.0), (4.0, 20.0), (20.0, 20.0)])];
    let index = AreaIndex::new(&areas);
    assert_eq!(index.areas_at(5.0, 5.0), [0, 1, 2]);
    assert_eq!(index.areas_at(1.0, 9.0), [0]);
    assert!(index.areas_at(50.0, 50.0).is_empty());
    let at_the_line =
        AreaIndex::new(&[area(&[(0.0, -180.0), (0.0, -170.0), (9.0, -170.0), (9.0, -180.0)]), area(SQUARE)]);
    assert_eq!((at_the_line.areas_at(5.0, 180.0), at_the_line.areas_at(5.0, 185.0)), (vec![0], vec![0]));
    assert_eq!(at_the_line.areas_at(5.0, 365.0), [1]);
    assert!(AreaIndex::new(&[]).is_empty() && !AreaIndex::new(&[]).contains(0.0, 0.0));
}

#[test]
fn a_zigzag_does_not_blow_up_the_index() {
    let zigzag: Vec<Point> =
        (0..50_000).map(|i| (if i % 2 == 0 { -80.0 } else { 80.0 }, f64::from(i) / 50_000.0)).collect();
    let ring = Ring::new(&zigzag).unwrap();
    assert!(ring.contains(0.0, 0.5));
    let index = AreaIndex::new(&vec![disc(0.0, 0.0, 9_000.0); 20_000]);
    assert!(index.contains(0.0, 0.0));
}

#[test]
fn degenerate_rings_hold_nobody_and_break_nothing() {
    for ring in
        [&[][..], &[(1.0, 1.0)], &[(1.0, 1.0), (2.0, 2.0)], &[(1.0, 1.0), (f64::NAN, 2.0), (3.0, 3.0)]]
    {
        assert!(!area(ring).contains(1.5, 1.5), "{ring:?}");
    }
    let flat = area(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 1.0)]);
    assert!(flat.contains(1.0, 2.5) && !flat.contains(1.1, 2.5));
}

/// Slow and simple: even-odd over all edges, without bands, for rings that do not cross themselves.
fn is_inside_star(vertices: &[Point], lat: f64, lon: f64) -> bool {
    let mut inside = false;
    for (i, &(lat1, lon1)) in vertices.iter().enumerate() {
        let (lat2, lon2) = vertices[(i + 1) % vertices.len()];
        if (lat1 > lat) != (lat2 > lat) && lon < (lon2 - lon1) * (lat - lat1) / (lat2 - lat1) + lon1 {
            inside = !inside;
        }
    }
    inside
}

#[test]
fn a_real_coast_agrees_with_the_plain_way() {
    let reading = crate::read(include_bytes!("../../testdata/kde-noaa-bde6.xml")).unwrap();
    let area = &reading.alert.infos[0].areas[0];
    let index = AreaIndex::new([area]);
    let mut inside = 0;
    for step in 0..2_500 {
        // Beside the four decimals of the coast, whose edges are inside.
        let (lat, lon) =
            (38.100_03 + 0.65 * f64::from(step / 50) / 50.0, -76.349_97 + 0.70 * f64::from(step % 50) / 50.0);
        let plain = area.polygons.iter().any(|polygon| is_inside_star(polygon, lat, lon));
        assert_eq!(index.contains(lat, lon), plain, "{lat}, {lon}");
        inside += usize::from(plain);
    }
    assert!((500..2_000).contains(&inside), "{inside}");
}

prop_compose! {
    /// A star around a middle: it never crosses itself.
    fn star()(lat in -60.0..60.0, lon in -150.0..150.0, radii in prop::collection::vec(0.5..20.0, 3..80)) -> Vec<Point> {
        let count = radii.len() as f64;
        radii.iter().enumerate().map(|(i, radius): (usize, &f64)| {
            let angle = std::f64::consts::TAU * i as f64 / count;
            (lat + radius * angle.sin(), lon + radius * angle.cos())
        }).collect()
    }
}

proptest! {
    #[test]
    fn bands_and_grid_agree_with_the_plain_way(
        stars in prop::collection::vec(star(), 1..12),
        discs in prop::collection::vec((-80.0..80.0, -180.0..180.0, 0.0..3_000.0), 0..6),
        points in prop::collection::vec((-85.0..85.0, -180.0..180.0), 60),
    ) {
        let mut areas: Vec<Area> = stars.iter().map(|star| area(star)).collect();
        areas.extend(discs.iter().map(|&(lat, lon, km)| disc(lat, lon, km)));
        let index = AreaIndex::new(&areas);
        for (lat, lon) in points {
            let plain: Vec<usize> = areas.iter().enumerate()
                .filter(|(_, area)| match area.polygons.first() {
                    Some(star) => is_inside_star(star, lat, lon),
                    None => area.circles[0].contains(lat, lon),
                })
                .map(|(number, _)| number)
                .collect();
            prop_assert_eq!(index.areas_at(lat, lon), plain.clone());
            prop_assert_eq!(index.contains(lat, lon), !plain.is_empty());
            for (number, area) in areas.iter().enumerate() {
                prop_assert_eq!(area.contains(lat, lon), plain.contains(&number));
            }
        }
    }
}
