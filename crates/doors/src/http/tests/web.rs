use super::*;
use std::collections::BTreeSet;

#[tokio::test]
async fn the_table_the_router_and_the_description_list_the_same() {
    let server = TestServer::open().await;
    let document: Value =
        server.anon(Method::GET, "/openapi.json").send().await.unwrap().json().await.unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        described.extend(
            operations.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())),
        );
    }
    let table: BTreeSet<_> =
        routes::ROWS.iter().map(|row| (row.method.to_owned(), row.path.to_owned())).collect();
    assert_eq!(described, table);
    // A reload has its own tests, and the stream of all alerts has no end.
    let is_tried = |row: &&routes::Operation| !row.path.ends_with("/reload") && row.path != "/api/v1/events";
    for row in routes::ROWS.iter().filter(is_tried) {
        let path = row.path.replace("{id}", "x").replace("{token}", "x").replace("{observer}", "x");
        let method = Method::from_bytes(row.method.as_bytes()).unwrap();
        let (status, said) = said(server.call(method, &path)).await;
        assert_ne!(status, 405, "{} {}", row.method, row.path);
        assert_ne!(slug(&said), "unknown-path", "{} {}", row.method, row.path);
    }
    server.close().await;
}

#[tokio::test]
async fn health_needs_no_token_and_metrics_say_when_they_are_off() {
    let server = TestServer::open().await;
    assert_eq!(said(server.anon(Method::GET, "/healthz")).await, (StatusCode::OK, json!({"status": "ok"})));
    let (status, ready) = said(server.anon(Method::GET, "/readyz")).await;
    assert_eq!(
        (status.as_u16(), &ready["ready"], &ready["routes"]["down"]),
        (200, &json!(true), &json!(2)),
        "{ready}"
    );
    assert_eq!(said(server.anon(Method::GET, "/metrics")).await.0, 404);
    let response = server.anon(Method::GET, "/healthz").send().await.unwrap();
    assert_eq!(
        (&response.headers()["x-content-type-options"], &response.headers()["cache-control"]),
        (&"nosniff".parse().unwrap(), &"no-store".parse().unwrap())
    );
    server.close().await;
}

#[tokio::test]
async fn every_answer_says_what_a_browser_may_do_with_it() {
    let server = TestServer::open().await;
    for path in [
        "/",
        "/plain",
        "/healthz",
        "/openapi.json",
        "/nothing",
        "/api/v1/session",
        "/api/v1/me",
        "/auth/oidc/start",
        "/a/x",
    ] {
        let response = server.anon(Method::GET, path).send().await.unwrap();
        let header = |name: &str| {
            let value = response.headers().get(name).unwrap_or_else(|| panic!("{path} has no {name}"));
            value.to_str().unwrap().to_owned()
        };
        assert!(header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"), "{path}");
        assert!(["same-origin", "no-referrer"].contains(&header("referrer-policy").as_str()), "{path}");
        for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
            assert_eq!(header(name), "same-origin", "{path}");
        }
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    }
    server.close().await;
}

fn cookie_of(response: &reqwest::Response, name: &str) -> String {
    let all = response.headers().get_all("set-cookie");
    let found =
        all.iter().map(|value| value.to_str().unwrap()).find(|value| value.starts_with(&format!("{name}=")));
    let found = found.unwrap_or_else(|| panic!("no cookie {name}"));
    assert!(found.contains("HttpOnly") && found.contains("SameSite=Strict"), "{found}");
    found.split(';').next().unwrap().to_owned()
}

fn hidden(text: &str) -> String {
    text.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

async fn log_in(server: &TestServer, secret: &str) -> reqwest::Response {
    let front = server.anon(Method::GET, "/plain").send().await.unwrap();
    let cookie = cookie_of(&front, "campanile_form");
    let form = hidden(&front.text().await.unwrap());
    let request = server.anon(Method::POST, "/login").header("cookie", cookie);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    request.body(format!("form={form}&token={secret}")).send().await.unwrap()
}

#[tokio::test]
async fn people_log_in_look_and_log_out() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server
        .submit(json!({"headline": "Fire <1>", "text": "x", "audience": ["all"], "channels": ["sms"]}))
        .await;
    assert_eq!(log_in(&server, "cmp_wrong").await.status(), 401);
    let entered = log_in(&server, &server.admin).await;
    assert_eq!((entered.status().as_u16(), entered.headers()["location"].to_str().unwrap()), (303, "/plain"));
    let session = cookie_of(&entered, "campanile_session");
    let look = |path: String| {
        let request = server.anon(Method::GET, &path).header("cookie", session.clone());
        async move {
            let response = request.send().await.unwrap();
            let policy =
                response.headers().get("content-security-policy").map(|p| p.to_str().unwrap().to_owned());
            (response.status(), policy.unwrap_or_default(), response.text().await.unwrap())
        }
    };
    let (status, policy, text) = look("/plain".to_owned()).await;
    assert!(
        status == 200 && text.contains("Fire &#60;1&#62;") && text.contains(&format!("/plain/alerts/{id}")),
        "{text}"
    );
    let nonce = policy.split("script-src 'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
    assert!(text.contains(&format!("<style nonce=\"{nonce}\"")), "{policy}");
    let (status, _, text) = look(format!("/plain/alerts/{id}")).await;
    assert!(
        status == 200
            && text.contains("<rect class=")
            && text.contains("+46701000002")
            && text.contains("EventSource"),
        "{text}"
    );
    assert_eq!(look(format!("/api/v1/alerts/{id}")).await.0, 200, "a session may look by API");
    let post =
        server.anon(Method::POST, &format!("/api/v1/alerts/{id}:cancel")).header("cookie", session.clone());
    assert_eq!(said(post).await.0, 401, "a session changes nothing by API");
    let leave = |form: String| {
        let request = server.anon(Method::POST, "/logout").header("cookie", session.clone());
        request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(format!("form={form}"))
            .send()
    };
    assert_eq!(leave("guessed".to_owned()).await.unwrap().status(), 403);
    assert_eq!(leave(hidden(&text)).await.unwrap().status(), 303);
    assert_eq!(look(format!("/plain/alerts/{id}")).await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn a_login_from_another_site_fails() {
    let server = TestServer::open().await;
    let request =
        server.anon(Method::POST, "/login").header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(format!("form=&token={}", server.admin)).send().await.unwrap();
    assert_eq!(response.status(), 403);
    server.close().await;
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let server = TestServer::open().await;
    let secret = server.token(records::Role::Viewer).await;
    let session = cookie_of(&log_in(&server, &secret).await, "campanile_session");
    let (_, list) = server.get("/api/v1/tokens").await;
    let viewer = list["items"].as_array().unwrap().iter().find(|item| item["role"] == "viewer").unwrap();
    assert_eq!(
        said(server.call(Method::DELETE, &format!("/api/v1/tokens/{}", viewer["id"].as_str().unwrap())))
            .await
            .0,
        204
    );
    assert_eq!(said(server.anon(Method::GET, "/api/v1/alerts").header("cookie", session)).await.0, 401);
    server.close().await;
}

#[tokio::test]
async fn a_log_in_is_noted_and_one_that_cannot_be_noted_begins_no_session() {
    let server = TestServer::open().await;
    assert_eq!(log_in(&server, &server.admin).await.status(), 303);
    let (_, trail) = server.get("/api/v1/audit?verb=session.begin").await;
    assert_eq!(trail["items"][0]["from"], "127.0.0.1", "{trail}");
    assert_eq!(log_in(&server, "cmp_wrong").await.status(), 401);
    assert_eq!(server.guessing.failures().take().acts(NOW)[0].count, Some(1));
    let file = rusqlite::Connection::open(server.dir.path().join("campanile.db")).unwrap();
    let refuse =
        "CREATE TRIGGER refused BEFORE INSERT ON audit_links BEGIN SELECT RAISE(ABORT, 'no more'); END";
    file.execute_batch(refuse).unwrap();
    let refused = log_in(&server, &server.admin).await;
    assert_eq!(refused.status(), 503);
    assert!(!refused.headers().contains_key("set-cookie"));
    server.close().await;
}
