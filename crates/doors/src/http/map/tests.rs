//! The map as pages ask for it.

use super::*;
use crate::http::tests::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1A\nred";
const COAST: &str = r#"{"type": "FeatureCollection", "features": []}"#;

/// A server with a map of one tile, and outlines.
async fn with_map() -> TestServer {
    let server = TestServer::open().await;
    let (tiles, outlines) = (server.dir.path().join("town.mbtiles"), server.dir.path().join("town.geojson"));
    std::fs::write(&outlines, COAST).unwrap();
    let file = rusqlite::Connection::open(&tiles).unwrap();
    file.execute_batch(
        "CREATE TABLE metadata (name TEXT, value TEXT);
         CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
         INSERT INTO metadata VALUES ('format', 'png'), ('attribution', 'Town of Almvik');",
    )
    .unwrap();
    file.execute("INSERT INTO tiles VALUES (1, 0, 0, ?1)", [PNG]).unwrap();
    let (map, problems) = MapFiles::open(&MapPaths { tiles: Some(tiles), outlines: Some(outlines) });
    assert_eq!(problems, []);
    server.policies.server.map.store(Arc::new(map));
    server
}

#[tokio::test]
async fn a_page_draws_the_operators_tiles_and_outlines() {
    let server = with_map().await;
    let (status, map) = server.get("/api/v1/map").await;
    assert_eq!((status.as_u16(), &map["tiles"]["format"]), (200, &json!("png")), "{map}");
    assert_eq!((&map["tiles"]["max_zoom"], &map["tiles"]["bounds"]), (&json!(1), &json!(null)), "{map}");
    assert_eq!(map["tiles"]["attribution"], "Town of Almvik");
    let url = map["tiles"]["url"].as_str().unwrap();
    // The file counts rows from the south.
    let url = url.replace("{z}", "1").replace("{x}", "0").replace("{y}", "1");
    let answer = server.call(Method::GET, &url).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"image/png".parse().unwrap())
    );
    assert_eq!(answer.headers()["cache-control"], "private, max-age=31536000, immutable");
    assert_eq!(answer.bytes().await.unwrap(), PNG);
    let answer = server.call(Method::GET, map["outlines"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"application/geo+json".parse().unwrap())
    );
    assert_eq!(answer.text().await.unwrap(), COAST);
    let unversioned = server.call(Method::GET, "/api/v1/map/tiles/1/0/1?v=old").send().await.unwrap();
    assert_eq!(unversioned.headers()["cache-control"], "private, max-age=60");
    server.close().await;
}

#[tokio::test]
async fn where_there_is_no_tile_there_is_nothing() {
    let server = with_map().await;
    for place in
        ["1/0/0", "1/1/1", "0/0/0", "1/2/0", "30/0/0", "-1/0/0", "1/0/1.png", "1/0/99999999999", "300/0/0"]
    {
        let (status, problem) = server.get(&format!("/api/v1/map/tiles/{place}")).await;
        assert_eq!(status, 404, "{place}: {problem}");
    }
    assert_eq!(server.get("/api/v1/map/tiles/1/0/1?style=x").await.0, 400);
    assert_eq!(said(server.anon(Method::GET, "/api/v1/map/tiles/1/0/1")).await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn a_server_without_a_map_says_so() {
    let server = TestServer::open().await;
    assert_eq!(server.get("/api/v1/map").await.1, json!({"tiles": null, "outlines": null}));
    for path in ["/api/v1/map/tiles/0/0/0", "/api/v1/map/outlines"] {
        assert_eq!(server.get(path).await.0, 404, "{path}");
    }
    server.close().await;
}

#[test]
fn files_that_are_no_map_are_named_with_their_keys_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let long = format!("{}{COAST}", " ".repeat(OUTLINES_OCTETS_MAX as usize));
    for (text, word) in
        [("{", "no GeoJSON"), ("[]", "no GeoJSON"), (r#"{"type": "Topology"}"#, "Topology"), (&long, "limit")]
    {
        let paths = MapPaths { tiles: Some(at("tiles", "x")), outlines: Some(at("outlines", text)) };
        let (map, problems) = MapFiles::open(&paths);
        assert!(map.tiles.is_none() && map.outlines.is_none());
        let keys: Vec<&str> = problems.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["map.file", "map.outlines"]);
        assert!(problems[1].1.contains(word), "{problems:?}");
    }
    let paths = MapPaths { tiles: Some(at("tiles", "x")), outlines: Some(at("outlines", COAST)) };
    assert!(MapFiles::open(&paths).0.outlines.is_some());
}
