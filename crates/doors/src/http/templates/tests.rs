//! Templates as clients see them.

use crate::http::tests::*;

fn template() -> Value {
    json!({
        "id": "fire", "name": "Fire in a building", "categories": ["fire", "building"],
        "request": {"text": "Fire. Leave {{building}} at once.", "audience": ["group:staff"]},
        "all_clear": {"text": "The fire in {{building}} is out."},
    })
}

#[tokio::test]
async fn a_template_keeps_placeholders_and_says_what_its_alerts_lack() {
    let server = TestServer::open().await;
    let (status, made) = server.post("/api/v1/templates", template()).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["request"]["text"], "Fire. Leave {{building}} at once.");
    let fields: Vec<&str> =
        made["problems"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["all_clear.audience"], "{made}");
    let codes: Vec<(&str, &str)> = made["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["field"].as_str().unwrap(), one["code"].as_str().unwrap()))
        .collect();
    assert_eq!(codes, [("all_clear.text", "no_instruction")], "{made}");
    for (body, field, says) in [
        (json!({"request": {}}), "name", "is needed"),
        (json!({"name": "x", "request": {"txt": "y"}}), "request.txt", "did you mean"),
        (json!({"name": "x", "request": {"mode": "live"}}), "request.mode", "of no template"),
        (json!({"name": "x", "id": "a b"}), "id", "letters, digits"),
    ] {
        let (status, problem) = server.post("/api/v1/templates", body).await;
        assert_eq!(status, 422);
        assert!(reason(&problem, field).contains(says), "{problem}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_draft_is_made_of_its_alert_or_of_its_all_clear_in_either_space() {
    let server = TestServer::open().await;
    assert_eq!(server.post("/api/v1/templates", template()).await.0, 201);
    for (query, text, space) in [
        ("", "Fire. Leave {{building}} at once.", "live"),
        ("?part=all_clear&space=drill", "The fire in {{building}} is out.", "drill"),
    ] {
        let (status, draft) =
            said(server.call(Method::POST, &format!("/api/v1/templates/fire:draft{query}"))).await;
        assert_eq!(status, 201, "{draft}");
        assert_eq!((&draft["request"]["text"], &draft["space"]), (&json!(text), &json!(space)));
    }
    let bare = json!({"name": "Bare", "request": {"text": "x"}});
    let put = server.call(Method::PUT, "/api/v1/templates/bare").json(&bare);
    assert_eq!(said(put).await.0, 201);
    let (status, problem) =
        said(server.call(Method::POST, "/api/v1/templates/bare:draft?part=all_clear")).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"));
    server.close().await;
}

#[tokio::test]
async fn templates_are_listed_by_category_and_changed_under_their_version() {
    let server = TestServer::open().await;
    assert_eq!(server.post("/api/v1/templates", template()).await.0, 201);
    assert_eq!(server.post("/api/v1/templates", json!({"id": "flood", "name": "Flood"})).await.0, 201);
    for (query, expected) in [("", 2), ("?category=fire", 1), ("?category=snow", 0), ("?limit=1", 1)] {
        let (_, list) = server.get(&format!("/api/v1/templates{query}")).await;
        assert_eq!(list["items"].as_array().unwrap().len(), expected, "{query}");
    }
    let put = |version: &str| {
        let request = server.call(Method::PUT, "/api/v1/templates/flood").header("if-match", version);
        said(request.json(&json!({"name": "High water"})))
    };
    assert_eq!(put("\"1\"").await.0, 200);
    assert_eq!(put("\"1\"").await.0, 412);
    let stale = server.call(Method::DELETE, "/api/v1/templates/flood").header("if-match", "\"1\"");
    assert_eq!(said(stale).await.0, 412);
    assert_eq!(said(server.call(Method::DELETE, "/api/v1/templates/flood")).await.0, 204);
    assert_eq!(server.get("/api/v1/templates/flood").await.0, 404);
    server.close().await;
}
