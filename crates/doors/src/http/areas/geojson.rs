//! Named areas as GeoJSON (RFC 7946): Features with a Polygon, a MultiPolygon, or a Point with a radius.
//!
//! A hole of a polygon is joined to its outer ring by a bridge that is walked both ways, so that an area is
//! rings alone. A ring over the antimeridian may be cut there (section 3.1.9) or not: two longitudes that
//! follow each other are taken the short way round, as in CAP.

use crate::http::alerts::body::RADIUS_KM_MAX;
use crate::http::problem::Fields;
use crate::http::request::fields::{Object, list, noted, number};
use crate::http::request::json::JsonNode;
use crate::http::versioned::check_id;
use records::NamedArea;
use serde_json::{Map, Value, json};

/// Positions of one area.
pub(crate) const POSITIONS_MAX: usize = 10_000;
/// Polygons of one area.
const POLYGONS_MAX: usize = 1_000;
/// Rings of one polygon: the outer one, and holes.
const RINGS_MAX: usize = 100;
/// Positions of a ring at least, with the first one again as the last (section 3.1.6).
const RING_POSITIONS_MIN: usize = 4;
/// Octets of all properties, as JSON.
const PROPERTIES_OCTETS_MAX: usize = 16_384;
/// Characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// Features of one collection.
pub(crate) const FEATURES_MAX: usize = 100;

/// A Feature that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AreaFeature {
    /// What audiences name.
    pub area: NamedArea,
    /// As it is shown: with its id, its geometry as it came, and all of its properties.
    pub feature: Value,
}

/// Features of a body, and whether they came as a collection.
pub(crate) fn read_body(node: JsonNode, fields: &mut Fields) -> (Vec<AreaFeature>, bool) {
    let is_collection = matches!(&node, JsonNode::Object(members)
        if members.iter().any(|(name, value)| name == "type" && *value == JsonNode::Text("FeatureCollection".into())));
    if !is_collection {
        return (read_feature(node, "", None, fields).into_iter().collect(), false);
    }
    let known = ["type", "features", "bbox", "name"];
    let Some(mut object) = Object::open(node, "", &known, fields) else { return (Vec::new(), true) };
    let Some(items) = object.list("features", FEATURES_MAX, fields) else {
        if fields.is_empty() {
            fields.push("features", "is needed");
        }
        return (Vec::new(), true);
    };
    let mut features: Vec<AreaFeature> = Vec::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        let at = format!("features[{index}]");
        let Some(feature) = read_feature(node, &at, None, fields) else { continue };
        if features.iter().any(|other| other.area.id == feature.area.id) {
            fields.push(format!("{at}.id"), format!("{:?} is the id of an earlier one", feature.area.id));
        }
        features.push(feature);
    }
    (features, true)
}

/// Reads a Feature at a place. With `id` given (it is in the path) the body's may be absent.
pub(crate) fn read_feature(
    node: JsonNode,
    at: &str,
    id: Option<&str>,
    fields: &mut Fields,
) -> Option<AreaFeature> {
    let mut object = Object::open(node, at, &["type", "id", "geometry", "properties", "bbox"], fields)?;
    object.word("type", &[("Feature", ())], fields).or_else(|| {
        let path = object.path("type");
        if !fields.listed().iter().any(|problem| problem.field == path) {
            fields.push(path, "is needed: Feature, or FeatureCollection for several");
        }
        None
    })?;
    let id = feature_id(&mut object, id, fields)?;
    let properties = properties(&mut object, fields)?;
    let path = object.path("geometry");
    let Some(geometry) = object.take("geometry") else {
        fields.push(path, "is needed: a Polygon, a MultiPolygon, or a Point with properties.radius");
        return None;
    };
    let radius_path = object.path("properties.radius");
    let shown = geometry.clone().into_value();
    let area = read_geometry(geometry, &path, (&properties, &radius_path), fields)?;
    let feature = json!({"type": "Feature", "id": id, "geometry": shown, "properties": properties});
    Some(AreaFeature { area: NamedArea { id, ..area }, feature })
}

fn feature_id(object: &mut Object, id: Option<&str>, fields: &mut Fields) -> Option<String> {
    let path = object.path("id");
    let own = match object.take("id") {
        None => None,
        Some(JsonNode::Text(text)) => Some(text),
        Some(JsonNode::Number(number)) => Some(number.to_string()),
        Some(other) => {
            fields.push(path, format!("is {}; a string or a number is needed", other.kind()));
            return None;
        }
    };
    let id = match (own, id) {
        (Some(own), Some(id)) if own != id => {
            fields.push(path, "is not the id in the path");
            return None;
        }
        (None, None) => {
            fields.push(path, "is needed: audiences name the area by it, as area:ID");
            return None;
        }
        (own, id) => id.map(str::to_owned).or(own)?,
    };
    noted(check_id(&id), || path, fields).map(|()| id)
}

/// The properties as they came, with a name if there is one, bounded.
fn properties(object: &mut Object, fields: &mut Fields) -> Option<Map<String, Value>> {
    let path = object.path("properties");
    let properties = match object.take("properties") {
        None => Map::new(),
        Some(node @ JsonNode::Object(_)) => match node.into_value() {
            Value::Object(properties) => properties,
            _ => Map::new(),
        },
        Some(other) => {
            fields.push(path, format!("is {}; an object is needed", other.kind()));
            return None;
        }
    };
    let octets = Value::Object(properties.clone()).to_string().len();
    if octets > PROPERTIES_OCTETS_MAX {
        fields.push(path, format!("has {octets} octets; at most {PROPERTIES_OCTETS_MAX} are kept"));
        return None;
    }
    match properties.get("name") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if name.chars().count() <= NAME_CHARS_MAX => {}
        Some(_) => {
            fields.push(
                format!("{path}.name"),
                format!("must be a string of at most {NAME_CHARS_MAX} characters"),
            );
            return None;
        }
    }
    Some(properties)
}

fn read_geometry(
    node: JsonNode,
    at: &str,
    (properties, radius_path): (&Map<String, Value>, &str),
    fields: &mut Fields,
) -> Option<NamedArea> {
    let mut object = Object::open(node, at, &["type", "coordinates", "bbox"], fields)?;
    let kind = object.text("type", 40, fields);
    let path = object.path("coordinates");
    let coordinates = object.take("coordinates");
    let mut left = POSITIONS_MAX;
    let mut area = NamedArea::default();
    let before = fields.listed().len();
    match (kind.as_deref(), coordinates) {
        (Some("Polygon" | "MultiPolygon" | "Point"), None) => fields.push(path, "is needed"),
        (Some("Polygon"), Some(node)) => area.polygons.extend(polygon(node, &path, &mut left, fields)),
        (Some("MultiPolygon"), Some(node)) => {
            let polygons = list(node, &path, POLYGONS_MAX, fields)?;
            for (index, node) in polygons.into_iter().enumerate() {
                area.polygons.extend(polygon(node, &format!("{path}[{index}]"), &mut left, fields));
            }
        }
        (Some("Point"), Some(node)) => {
            let centre = position(node, &path, fields);
            let radius = radius_km(properties, radius_path, fields);
            area.circles.extend(centre.zip(radius).map(|((lat, lon), km)| (lat, lon, km)));
        }
        (Some(other), _) => {
            let other: String = other.chars().take(40).collect();
            let reason = format!(
                "is {other:?}; a Polygon, a MultiPolygon, or a Point with properties.radius (metres) is needed"
            );
            fields.push(format!("{at}.type"), reason);
        }
        (None, _) => fields.push(format!("{at}.type"), "is needed: Polygon, MultiPolygon or Point"),
    }
    let is_empty = area.polygons.is_empty() && area.circles.is_empty();
    if is_empty && fields.listed().len() == before {
        fields.push(format!("{at}.coordinates"), "has no polygon");
    }
    (!is_empty).then_some(area)
}

/// The radius of a Point, which GeoJSON leaves to a property: metres.
fn radius_km(properties: &Map<String, Value>, at: &str, fields: &mut Fields) -> Option<f64> {
    let metres_max = RADIUS_KM_MAX * 1_000.0;
    match properties.get("radius").and_then(Value::as_f64) {
        Some(metres) if metres > 0.0 && metres <= metres_max => Some(metres / 1_000.0),
        _ => {
            fields.push(at, format!("is needed with a Point: metres, above 0 and at most {metres_max}"));
            None
        }
    }
}

/// A polygon as one ring: its holes are joined to it.
fn polygon(node: JsonNode, at: &str, left: &mut usize, fields: &mut Fields) -> Option<Vec<(f64, f64)>> {
    let rings = list(node, at, RINGS_MAX, fields)?;
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (index, node) in rings.into_iter().enumerate() {
        let ring = ring(node, &format!("{at}[{index}]"), left, fields)?;
        joined.extend(ring);
        if index > 0 {
            joined.push(joined[0]);
        }
    }
    if joined.is_empty() {
        fields.push(at, "has no ring");
        return None;
    }
    Some(joined)
}

fn ring(node: JsonNode, at: &str, left: &mut usize, fields: &mut Fields) -> Option<Vec<(f64, f64)>> {
    let JsonNode::List(nodes) = node else {
        fields.push(at, format!("is {}; a list of positions is needed", node.kind()));
        return None;
    };
    if nodes.len() > *left {
        fields.push(at, format!("brings the area over {POSITIONS_MAX} positions: simplify its outline"));
        return None;
    }
    *left -= nodes.len();
    let mut ring = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.into_iter().enumerate() {
        ring.push(position(node, &format!("{at}[{index}]"), fields)?);
    }
    if ring.len() < RING_POSITIONS_MIN || ring.first() != ring.last() {
        let reason = format!("is no ring: at least {RING_POSITIONS_MIN} positions, the last like the first");
        fields.push(at, reason);
        return None;
    }
    Some(ring)
}

/// `[longitude, latitude]`, perhaps with an altitude, as (lat, lon).
fn position(node: JsonNode, at: &str, fields: &mut Fields) -> Option<(f64, f64)> {
    let numbers = list(node, at, 3, fields)?;
    let [lon, lat, ..] = numbers.as_slice() else {
        fields.push(at, "is no position: [longitude, latitude]");
        return None;
    };
    let lon = number(lon, &format!("{at}[0]"), -180.0, 180.0, fields)?;
    let lat = number(lat, &format!("{at}[1]"), -90.0, 90.0, fields)?;
    Some((lat, lon))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::json::parse;

    fn read(body: &str) -> Result<AreaFeature, Vec<(String, String)>> {
        let mut fields = Fields::default();
        let feature = read_feature(parse(body.as_bytes()).unwrap(), "", None, &mut fields);
        if fields.is_empty() {
            return Ok(feature.unwrap());
        }
        Err(fields.listed().iter().map(|p| (p.field.clone(), p.reason.clone())).collect())
    }

    fn feature(geometry: &str, properties: &str) -> String {
        format!(r#"{{"type": "Feature", "id": "a", "geometry": {geometry}, "properties": {properties}}}"#)
    }

    const SQUARE: &str = "[[0, 50], [10, 50], [10, 60], [0, 60], [0, 50]]";
    const HOLE: &str = "[[4, 54], [6, 54], [6, 56], [4, 54]]";

    #[test]
    fn polygons_and_points_become_rings_and_circles() {
        let square = [(50.0, 0.0), (50.0, 10.0), (60.0, 10.0), (60.0, 0.0), (50.0, 0.0)];
        let one =
            read(&feature(&format!(r#"{{"type": "Polygon", "coordinates": [{SQUARE}]}}"#), "null")).unwrap();
        assert_eq!(one.area.polygons, [square.to_vec()]);
        let many = format!(r#"{{"type": "MultiPolygon", "coordinates": [[{SQUARE}], [{HOLE}]]}}"#);
        assert_eq!(read(&feature(&many, "{}")).unwrap().area.polygons.len(), 2);
        let point = r#"{"type": "Point", "coordinates": [18.06, 59.33, 12]}"#;
        let circle = read(&feature(point, r#"{"radius": 2500, "name": "Harbour", "src": [1]}"#)).unwrap();
        assert_eq!(circle.area.circles, [(59.33, 18.06, 2.5)]);
        assert_eq!(circle.feature["properties"], json!({"radius": 2500, "name": "Harbour", "src": [1]}));
        assert_eq!(circle.feature["geometry"]["coordinates"], json!([18.06, 59.33, 12]));
    }

    #[test]
    fn a_hole_is_joined_to_its_ring_there_and_back() {
        let body = feature(&format!(r#"{{"type": "Polygon", "coordinates": [{SQUARE}, {HOLE}]}}"#), "{}");
        let ring = &read(&body).unwrap().area.polygons[0];
        assert_eq!(ring.len(), 5 + 4 + 1);
        assert_eq!((ring[0], ring[4], ring[9]), ((50.0, 0.0), (50.0, 0.0), (50.0, 0.0)));
        assert_eq!((ring[5], ring[8]), ((54.0, 4.0), (54.0, 4.0)));
    }

    #[test]
    fn what_is_no_area_is_refused_at_its_place() {
        let polygon =
            |rings: &str| feature(&format!(r#"{{"type": "Polygon", "coordinates": {rings}}}"#), "{}");
        let point = r#"{"type": "Point", "coordinates": [18, 59]}"#;
        let many = format!("[[{}]]", vec!["[0, 0]"; POSITIONS_MAX + 1].join(","));
        for (body, field, says) in [
            (polygon("[[[0, 0], [1, 1], [0, 0]]]"), "geometry.coordinates[0]", "at least 4 positions"),
            (
                polygon("[[[0, 0], [1, 1], [1, 0], [0, 1]]]"),
                "geometry.coordinates[0]",
                "the last like the first",
            ),
            (
                polygon("[[[181, 0], [1, 1], [1, 0], [181, 0]]]"),
                "geometry.coordinates[0][0][0]",
                "from -180 to 180",
            ),
            (
                polygon("[[[0, 91], [1, 1], [1, 0], [0, 91]]]"),
                "geometry.coordinates[0][0][1]",
                "from -90 to 90",
            ),
            (polygon("[[[0], [1, 1], [1, 0], [0]]]"), "geometry.coordinates[0][0]", "[longitude, latitude]"),
            (polygon("[]"), "geometry.coordinates", "has no ring"),
            (polygon(&many), "geometry.coordinates[0]", "over 10000 positions"),
            (feature(point, "{}"), "properties.radius", "metres"),
            (feature(point, r#"{"radius": 0}"#), "properties.radius", "above 0"),
            (feature(point, r#"{"radius": 1, "name": 5}"#), "properties.name", "a string"),
            (feature(r#"{"type": "LineString", "coordinates": []}"#, "{}"), "geometry.type", "LineString"),
            (feature("null", "{}"), "geometry", "is needed"),
            (r#"{"type": "Polygon"}"#.to_owned(), "type", "must be one of Feature"),
            (r#"{"id": "a"}"#.to_owned(), "type", "is needed"),
            (r#"{"type": "Feature"}"#.to_owned(), "id", "area:ID"),
            (r#"{"type": "Feature", "id": "a b"}"#.to_owned(), "id", "letters, digits"),
        ] {
            let problems = read(&body).unwrap_err();
            let found = problems.iter().find(|(name, _)| name == field);
            assert!(found.is_some_and(|(_, reason)| reason.contains(says)), "{field}: {problems:?}");
        }
    }

    #[test]
    fn a_collection_names_the_feature_that_is_wrong_and_ids_that_come_twice() {
        let good = feature(&format!(r#"{{"type": "Polygon", "coordinates": [{SQUARE}]}}"#), "{}");
        let body = format!(
            r#"{{"type": "FeatureCollection", "features": [{good}, {good}, {{"type": "Feature"}}]}}"#
        );
        let mut fields = Fields::default();
        let (features, is_collection) = read_body(parse(body.as_bytes()).unwrap(), &mut fields);
        assert!(is_collection && features.len() == 2);
        let listed: Vec<&str> = fields.listed().iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(listed, ["features[1].id", "features[2].id"]);
    }
}
