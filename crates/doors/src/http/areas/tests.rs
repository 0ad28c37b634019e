//! Named areas as clients see them, and the alerts that name them.

use crate::http::tests::*;

fn harbour() -> Value {
    json!({"type": "Feature", "id": "harbour", "properties": {"name": "The harbour"}, "geometry": {
    "type": "Polygon", "coordinates": [
        [[18.0, 59.3], [18.1, 59.3], [18.1, 59.4], [18.0, 59.4], [18.0, 59.3]],
        [[18.04, 59.34], [18.06, 59.34], [18.06, 59.36], [18.04, 59.36], [18.04, 59.34]],
    ]}})
}

fn island() -> Value {
    json!({"type": "Feature", "id": "island", "properties": {"radius": 1000},
        "geometry": {"type": "Point", "coordinates": [-179.999, -17.0]}})
}

async fn open() -> TestServer {
    let server = TestServer::open().await;
    let person = |id: &str, lat: f64, lon: f64, number: u32| json!({"id": id, "name": id, "lat": lat, "lon": lon, "sms": format!("+4670100000{number}")});
    let people = json!([
        person("quay", 59.31, 18.01, 1),
        person("courtyard", 59.35, 18.05, 2),
        person("inland", 59.5, 18.05, 3),
        person("west", -17.0, 179.999, 4),
    ]);
    assert_eq!(server.post("/api/v1/recipients", people).await.0, 200);
    let both = json!({"type": "FeatureCollection", "features": [harbour(), island()]});
    let (status, made) = server.post("/api/v1/areas", both).await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(made["items"], json!([{"id": "harbour", "version": "1"}, {"id": "island", "version": "1"}]));
    server
}

#[tokio::test]
async fn whoever_is_inside_is_told_and_whoever_is_in_a_hole_or_outside_is_not() {
    let server = open().await;
    for (audience, exclude, expected) in [
        (json!(["area:harbour"]), json!([]), 1),
        (json!(["area:island"]), json!([]), 1),
        (json!(["area:harbour", "area:island"]), json!([]), 2),
        (json!(["all"]), json!(["area:harbour"]), 3),
    ] {
        let body =
            json!({"text": "Stay indoors.", "audience": audience, "exclude": exclude, "channels": ["sms"]});
        let (status, forecast) = server.post("/api/v1/alerts:forecast", body.clone()).await;
        assert_eq!(status, 200, "{forecast}");
        assert_eq!(forecast["endpoints"], expected, "{audience}: {forecast}");
        let id = server.submit(body).await;
        let (_, report) = server.get(&format!("/api/v1/alerts/{id}/report")).await;
        let counts = &report["counts"];
        let told = counts["endpoints"].as_u64().unwrap() - counts["excluded"].as_u64().unwrap();
        assert_eq!(told, expected, "{audience}: {report}");
    }
    server.close().await;
}

#[tokio::test]
async fn an_area_that_is_not_there_is_named_and_a_later_change_changes_no_alert() {
    let server = open().await;
    let body = |audience: &str| json!({"text": "Stay indoors.", "audience": [audience], "channels": ["sms"]});
    for path in ["/api/v1/alerts", "/api/v1/alerts:forecast"] {
        let (status, problem) = server.post(path, body("area:nowhere")).await;
        assert_eq!(status, 422, "{path}");
        assert!(reason(&problem, "audience[0]").contains("GET /api/v1/areas"), "{problem}");
    }
    let id = server.submit(body("area:harbour")).await;
    assert_eq!(said(server.call(Method::DELETE, "/api/v1/areas/harbour")).await.0, 204);
    let (_, alert) = server.get(&format!("/api/v1/alerts/{id}")).await;
    assert_eq!(alert["request"]["audience"], json!(["area:harbour"]));
    assert!(alert["request"].get("area").is_none(), "{alert}");
    let stored = server.store.alert("default", id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(stored.request.area.unwrap().named[0].id, "harbour");
    server.close().await;
}

#[tokio::test]
async fn areas_are_read_as_geojson_and_changed_under_their_version() {
    let server = open().await;
    let as_geojson = |path: &str| server.call(Method::GET, path).header("accept", "application/geo+json");
    let (status, list) = said(as_geojson("/api/v1/areas")).await;
    assert_eq!((status.as_u16(), &list["type"]), (200, &json!("FeatureCollection")), "{list}");
    assert_eq!(list["features"][0]["geometry"], harbour()["geometry"]);
    let (_, list) = server.get("/api/v1/areas?limit=1").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert!(list["next"].is_string());
    let one = as_geojson("/api/v1/areas/island").send().await.unwrap();
    assert_eq!(one.headers()["etag"], "\"1\"");
    assert_eq!(one.headers()["content-type"], "application/geo+json");
    let put = |version: &str| {
        let request = server.call(Method::PUT, "/api/v1/areas/island").header("if-match", version);
        said(request.json(&island()))
    };
    assert_eq!(put("\"1\"").await.0, 200);
    assert_eq!(put("\"1\"").await.0, 412);
    let (status, problem) = server.post("/api/v1/areas", json!({"type": "Polygon", "geometry": null})).await;
    assert_eq!(status, 422);
    assert!(!reason(&problem, "type").is_empty());
    server.close().await;
}
