//! Values that are more than text: shapes, lists, references.

use super::ReadError;
use crate::alert::{Circle, Point, Reference};
use crate::limits::{SHAPES_MAX, VERTICES_MAX};
use crate::time::Timestamp;

/// What a document may still hold.
#[derive(Debug, Default)]
pub(super) struct Budget {
    vertices: usize,
    shapes: usize,
}

impl Budget {
    pub(super) fn take_shape(&mut self) -> Result<(), ReadError> {
        self.shapes += 1;
        if self.shapes > SHAPES_MAX { Err(ReadError::TooManyShapes) } else { Ok(()) }
    }

    pub(super) fn take_vertices(&mut self, vertices: usize) -> Result<(), ReadError> {
        self.vertices += vertices;
        if self.vertices > VERTICES_MAX { Err(ReadError::TooManyVertices) } else { Ok(()) }
    }
}

/// A polygon or circle as read, and how its text deviates.
#[derive(Debug, PartialEq)]
pub(super) struct Drawn<T> {
    pub(super) shape: T,
    pub(super) deviations: Vec<&'static str>,
    pub(super) was_open: bool,
}

/// `lat,lon lat,lon …`, closed. The error says why it cannot be read.
pub(super) fn polygon(text: &str) -> Result<Drawn<Vec<Point>>, String> {
    let mut deviations = Vec::new();
    let pairs: Option<Vec<Point>> = text.split_whitespace().map(pair).collect();
    let pairs = match pairs {
        Some(pairs) => pairs,
        None => {
            let numbers = loose_numbers(text).ok_or("is not a list of lat,lon pairs, left out")?;
            let (pairs, []) = numbers.as_chunks::<2>() else {
                return Err("has an odd count of numbers, left out".to_string());
            };
            deviations.push("is not written as `lat,lon` pairs with spaces between");
            pairs.iter().map(|&[lat, lon]| (lat, lon)).collect()
        }
    };
    let mut ring = on_earth(pairs, &mut deviations)?;
    let was_open = ring.first() != ring.last();
    if was_open {
        ring.extend(ring.first().copied());
    }
    if ring.len() < 4 {
        return Err(format!("has {} vertices, fewer than a triangle, left out", ring.len()));
    }
    if ring.windows(2).any(|edge| (180.001..359.999).contains(&(edge[1].1 - edge[0].1).abs())) {
        deviations.push("has an edge over more than 180 degrees of longitude, read the shorter way round");
    }
    Ok(Drawn { shape: ring, deviations, was_open })
}

/// `lat,lon km`. The error says why it cannot be read.
pub(super) fn circle(text: &str) -> Result<Drawn<Circle>, String> {
    let mut deviations = Vec::new();
    let strict = text
        .split_once(char::is_whitespace)
        .and_then(|(center, km)| Some((pair(center)?, number(km.trim())?)));
    let (center, km) = match strict {
        Some(circle) => circle,
        None => {
            let numbers = loose_numbers(text);
            let Some([lat, lon, km]) = numbers.as_deref() else {
                return Err("is not `lat,lon km`, left out".to_string());
            };
            deviations.push("is not written as `lat,lon km`");
            ((*lat, *lon), *km)
        }
    };
    if km < 0.0 {
        return Err("has a radius below zero, left out".to_string());
    }
    let center = on_earth(vec![center], &mut deviations)?[0];
    Ok(Drawn { shape: Circle { center, km }, deviations, was_open: false })
}

fn pair(text: &str) -> Option<Point> {
    let (lat, lon) = text.split_once(',')?;
    Some((number(lat)?, number(lon)?))
}

/// A decimal number; not the infinities and hexadecimals that a general parser takes.
pub(super) fn number(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    text.parse().ok().filter(|number: &f64| is_plain && number.is_finite())
}

fn loose_numbers(text: &str) -> Option<Vec<f64>> {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|part| !part.is_empty())
        .map(number)
        .collect()
}

/// Checks latitudes, and turns longitudes up to one turn beyond back.
fn on_earth(mut points: Vec<Point>, deviations: &mut Vec<&'static str>) -> Result<Vec<Point>, String> {
    if let Some((lat, lon)) = points.iter().find(|(lat, _)| lat.abs() > 90.0) {
        let is_swapped = points.iter().all(|(lat, lon)| lon.abs() <= 90.0 && lat.abs() <= 180.0);
        let hint = if is_swapped { "; is it written lon,lat?" } else { "" };
        return Err(format!("has a latitude beyond 90 degrees ({lat},{lon}){hint}, left out"));
    }
    if let Some((lat, lon)) = points.iter().find(|(_, lon)| lon.abs() > 360.0) {
        return Err(format!("has a longitude beyond 360 degrees ({lat},{lon}), left out"));
    }
    for (_, lon) in points.iter_mut().filter(|(_, lon)| lon.abs() > 180.0) {
        *lon -= 360.0 * lon.signum();
        deviations.push("has a longitude beyond 180 degrees, read as its equal on the other side");
    }
    deviations.dedup();
    Ok(points)
}

/// Names separated by white space, in quotes where they hold some (sections 3.2.1, addresses and incidents).
pub(super) fn quoted_list(text: &str) -> Vec<String> {
    let mut list = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (item, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        if !item.is_empty() {
            list.push(item.to_string());
        }
        rest = after.trim_start();
    }
    list
}

/// `sender,identifier,sent` triples separated by white space; and those parts that are none.
pub(super) fn references(text: &str) -> (Vec<Reference>, Vec<&str>) {
    let mut references = Vec::new();
    let mut others = Vec::new();
    for part in text.split_whitespace() {
        match part.split(',').collect::<Vec<_>>()[..] {
            [sender, identifier, sent] if !sender.is_empty() && !identifier.is_empty() => {
                references.push(Reference {
                    sender: sender.to_string(),
                    identifier: identifier.to_string(),
                    sent: Timestamp::parse(sent),
                })
            }
            _ => others.push(part),
        }
    }
    (references, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygons_are_read_and_their_deviations_named() {
        let closed = vec![(1.0, 2.0), (3.0, -4.5), (5.0, 6.0), (1.0, 2.0)];
        for (text, deviations, was_open) in [
            ("1,2 3,-4.5 5,6 1,2", &[][..], false),
            ("  1,2\n\t3,-4.5  5,6 1,2 ", &[], false),
            ("1,2 3,-4.5 5,6", &[], true),
            ("1, 2 3, -4.5 5, 6 1, 2", &["is not written as `lat,lon` pairs with spaces between"], false),
            ("1 2 3 -4.5 5 6 1 2", &["is not written as `lat,lon` pairs with spaces between"], false),
        ] {
            let drawn = polygon(text).unwrap();
            assert_eq!(
                (&drawn.shape, &drawn.deviations[..], drawn.was_open),
                (&closed, deviations, was_open),
                "{text}"
            );
        }
        let wrapped = polygon("0,170 0,190 5,190 0,170").unwrap();
        assert_eq!(wrapped.shape[1], (0.0, -170.0));
        assert_eq!(wrapped.deviations.len(), 2, "{:?}", wrapped.deviations);
    }

    #[test]
    fn polygons_that_cannot_be_read_say_why() {
        for (text, reason) in [
            ("", "has 0 vertices"),
            ("1,2", "has 1 vertices"),
            ("1,2 3,4 1,2", "has 3 vertices"),
            ("1,2 3,4 five,6", "is not a list"),
            ("1,2 3,4 NaN,6 1,2", "is not a list"),
            ("1,2 3,4 inf,6 1,2", "is not a list"),
            ("1,2 3,4 1e999,6 1,2", "is not a list"),
            ("1 2 3 4 5", "odd count"),
            ("113.5,22.0 113.6,22.1 113.7,22.2", "is it written lon,lat?"),
            ("91,200 3,4 5,6", "latitude beyond 90 degrees (91,200), left out"),
            ("1,361 3,4 5,6", "longitude beyond 360"),
        ] {
            let error = polygon(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn circles_have_a_center_and_a_radius() {
        assert_eq!(
            circle("32.9525,-115.5527 0.5").unwrap().shape,
            Circle { center: (32.9525, -115.5527), km: 0.5 }
        );
        assert_eq!(circle("1,2,3").unwrap().deviations, ["is not written as `lat,lon km`"]);
        for text in ["", "1,2", "1,2 -3", "1,2 NaN", "95,2 3", "1,2 3 4"] {
            assert!(circle(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_are_split_at_white_space_outside_quotes() {
        for (text, expected) in [
            ("a b", &["a", "b"][..]),
            ("\"a b\" c", &["a b", "c"]),
            ("  \"a\"\"b c\" ", &["a", "b c"]),
            ("\"never closed", &["never closed"]),
            ("", &[]),
            ("\"\"", &[]),
        ] {
            assert_eq!(quoted_list(text), expected, "{text}");
        }
    }

    #[test]
    fn references_are_triples() {
        let (found, others) = references("a@b,1,2025-01-01T00:00:00-00:00 x,y\n c,2,yesterday ,3,4");
        assert_eq!(
            found.iter().map(|r| (r.sender.as_str(), r.sent.is_some())).collect::<Vec<_>>(),
            [("a@b", true), ("c", false)]
        );
        assert_eq!(others, ["x,y", ",3,4"]);
    }
}
