//! Map of the operators' own: tiles of a file, and outlines over it. Both are the config's; nothing is asked
//! of another server.
//!
//! `GET /api/v1/map` · `GET /api/v1/map/tiles/{z}/{x}/{y}` · `GET /api/v1/map/outlines`

#[cfg(test)]
mod tests;

use crate::http::app::App;
use crate::http::auth::{Caller, hash};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Captured, Query};
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::audit::chain::hex;
use store::tiles::{TileFacts, TileFile};

/// Octets of a file of outlines.
pub const OUTLINES_OCTETS_MAX: u64 = 4 << 20;
/// Octets of a hash that tell one version of the outlines from another.
const VERSION_OCTETS: usize = 8;
/// What a URL leads to that names the version of its file never changes. For the signed-in alone.
const FOR_EVER: &str = "private, max-age=31536000, immutable";
/// Of one that names none, or another.
const FOR_NOW: &str = "private, max-age=60";
/// Types that a GeoJSON document may have (RFC 7946, section 1.4).
const GEOJSON_TYPES: [&str; 9] = [
    "FeatureCollection",
    "Feature",
    "Point",
    "MultiPoint",
    "LineString",
    "MultiLineString",
    "Polygon",
    "MultiPolygon",
    "GeometryCollection",
];

/// Where the files of the map are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapPaths {
    /// Tiles, as MBTiles.
    pub tiles: Option<PathBuf>,
    /// Outlines, as GeoJSON.
    pub outlines: Option<PathBuf>,
}

/// The files of the map, open.
#[derive(Clone, Default)]
pub struct MapFiles {
    tiles: Option<Arc<TileFile>>,
    outlines: Option<Outlines>,
}

/// Outlines as they are sent.
#[derive(Clone)]
pub(crate) struct Outlines {
    octets: Bytes,
    version: String,
}

impl MapFiles {
    /// Opens what is there; what cannot be opened is left out. Gives what is wrong, each with its key.
    pub fn open(paths: &MapPaths) -> (MapFiles, Vec<(&'static str, String)>) {
        let mut problems = Vec::new();
        let tiles = paths.tiles.as_deref().map(TileFile::open);
        let outlines = paths.outlines.as_deref().map(Outlines::read);
        let tiles = tiles.and_then(|opened| opened.map_err(|why| problems.push(("map.file", why))).ok());
        let outlines =
            outlines.and_then(|read| read.map_err(|why| problems.push(("map.outlines", why))).ok());
        (MapFiles { tiles: tiles.map(Arc::new), outlines }, problems)
    }
}

impl Outlines {
    fn read(path: &Path) -> Result<Outlines, String> {
        let shown = path.display();
        let unreadable = |error: std::io::Error| format!("{shown} cannot be read: {error}");
        let octets = std::fs::metadata(path).map_err(unreadable)?.len();
        if octets > OUTLINES_OCTETS_MAX {
            let remedy = "simplify its lines";
            return Err(format!(
                "{shown} has {octets} octets, and {OUTLINES_OCTETS_MAX} are the limit: {remedy}"
            ));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let document: Value =
            serde_json::from_str(&text).map_err(|error| format!("{shown} is no GeoJSON: {error}"))?;
        let kind = document["type"].as_str().unwrap_or_default();
        if !GEOJSON_TYPES.contains(&kind) {
            return Err(format!(
                "{shown} is no GeoJSON: its type is {kind:?}, and FeatureCollection is usual"
            ));
        }
        let version = hex(&hash(&text)[..VERSION_OCTETS]);
        Ok(Outlines { octets: text.into(), version })
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/map", get(show))
        .route("/api/v1/map/tiles/{z}/{x}/{y}", get(tile))
        .route("/api/v1/map/outlines", get(outlines))
}

async fn show(State(app): State<App>, _: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let files = app.operations.server.map.load();
    let outlines = files.outlines.as_ref().map(|one| format!("/api/v1/map/outlines?v={}", one.version));
    Ok(Json(json!({"tiles": files.tiles.as_ref().map(|file| view(file.facts())), "outlines": outlines})))
}

fn view(facts: &TileFacts) -> Value {
    json!({
        "url": format!("/api/v1/map/tiles/{{z}}/{{x}}/{{y}}?v={}", facts.version),
        "min_zoom": facts.min_zoom,
        "max_zoom": facts.max_zoom,
        "bounds": facts.bounds,
        "center": facts.center,
        "format": facts.format,
        "attribution": facts.attribution,
        "name": facts.name,
    })
}

async fn tile(
    State(app): State<App>,
    _: Caller,
    Captured((zoom, column, row)): Captured<(String, String, String)>,
    uri: Uri,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["v"])?;
    let none =
        || HttpProblem::new(ProblemKind::NotFound, "there is no tile; GET /api/v1/map says which there are");
    let place = || Some((zoom.parse().ok()?, column.parse().ok()?, row.parse().ok()?));
    let (zoom, column, row) = place().ok_or_else(none)?;
    let file = app.operations.server.map.load().tiles.clone().ok_or_else(none)?;
    let read = file.tile(zoom, column, row).await;
    let read = read.map_err(|why| HttpProblem::new(ProblemKind::Internal, format!("the map: {why}")))?;
    let tile = read.ok_or_else(none)?;
    let kept = kept(&query, &file.facts().version);
    Ok(([(CONTENT_TYPE, tile.media_type), (CACHE_CONTROL, kept)], tile.octets).into_response())
}

async fn outlines(State(app): State<App>, _: Caller, uri: Uri) -> HttpResult<Response> {
    let query = Query::read(&uri, &["v"])?;
    let outlines = app.operations.server.map.load().outlines.clone();
    let outlines = outlines.ok_or_else(|| {
        HttpProblem::new(
            ProblemKind::NotFound,
            "there are no outlines; outlines in the config's section [map] names them",
        )
    })?;
    let kept = kept(&query, &outlines.version);
    Ok(([(CONTENT_TYPE, "application/geo+json"), (CACHE_CONTROL, kept)], outlines.octets).into_response())
}

/// How long a browser keeps what a URL leads to.
fn kept(query: &Query, version: &str) -> &'static str {
    if query.one("v") == Some(version) { FOR_EVER } else { FOR_NOW }
}
