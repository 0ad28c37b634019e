use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ALERTS: &str = "/api/v1/alerts";

#[tokio::test]
async fn a_wrong_body_is_told_clearly_and_the_server_goes_on() {
    let server = TestServer::open().await;
    let deep = "[".repeat(100_000);
    let many = format!("[{}1]", "1,".repeat(1_000_001));
    for (body, status, slug_expected, says) in [
        ("{\n \"text\": \"x\",\n}", 400, "malformed-body", "line 3 column 1"),
        ("", 400, "malformed-body", "empty"),
        ("{\"text\": \"x\"", 400, "malformed-body", "EOF"),
        (deep.as_str(), 400, "malformed-body", "recursion limit"),
        (many.as_str(), 400, "malformed-body", "more than 1000000 values"),
        ("{\"text\":\"a\",\"text\":\"b\"}", 400, "malformed-body", "twice"),
        ("[]", 422, "invalid-fields", "an object is needed"),
        ("{\"text\":\"x\",\"audiance\":[\"all\"]}", 422, "invalid-fields", "did you mean \"audience\"?"),
        ("{\"text\":7,\"audience\":[\"all\"]}", 422, "invalid-fields", "a string is needed"),
        ("{\"text\":\"x\",\"audience\":[]}", 422, "invalid-fields", "names nobody"),
        ("{\"text\":\"x\",\"audience\":[\"group:nobody\"]}", 422, "invalid-fields", "nobody"),
        ("{\"text\":\"x\",\"audience\":[\"sms:12\"]}", 422, "invalid-fields", "audience[0]"),
        (
            "{\"text\":\"x\",\"audience\":[\"all\"],\"expires\":\"2020-01-01T00:00:00Z\"}",
            422,
            "invalid-fields",
            "in the past",
        ),
        (
            "{\"text\":\"x\",\"audience\":[\"all\"],\"expires\":\"soon\"}",
            422,
            "invalid-fields",
            "is not a time",
        ),
    ] {
        let request = server
            .call(Method::POST, ALERTS)
            .header("content-type", "application/json")
            .body(body.to_owned());
        let (found, problem) = said(request).await;
        assert_eq!((found.as_u16(), slug(&problem)), (status, slug_expected), "{problem}");
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem} does not say {says}");
    }
    assert_eq!(server.get(ALERTS).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn wrong_queries_headers_types_paths_and_methods_are_told() {
    let server = TestServer::open().await;
    let id = uuid::Uuid::nil();
    let by_type =
        |kind: &str| server.call(Method::POST, ALERTS).header("content-type", kind.to_owned()).body("{}");
    for (request, status, slug_expected, says) in [
        (server.call(Method::GET, "/api/v1/alerts?limt=3"), 400, "bad-query", "did you mean \"limit\"?"),
        (server.call(Method::GET, "/api/v1/alerts?limit=0"), 400, "bad-query", "from 1 to 1000"),
        (server.call(Method::GET, "/api/v1/alerts?cursor=!"), 400, "bad-query", "is not the next value"),
        (
            server.call(Method::POST, "/api/v1/alerts?mode=fast").json(&json!({})),
            400,
            "bad-query",
            "must be one of async, sync",
        ),
        (
            server.call(Method::GET, &format!("/api/v1/alerts/{id}/deliveries?state=lost")),
            400,
            "bad-query",
            "states are planned",
        ),
        (by_type("text/plain"), 415, "wrong-media-type", "application/json"),
        (by_type("application/json; charset=latin1"), 415, "wrong-media-type", "application/json"),
        (by_type("application/json").header("content-encoding", "br"), 415, "wrong-encoding", "gzip, zstd"),
        (server.call(Method::GET, "/api/v1/alert"), 404, "unknown-path", "did you mean /api/v1/alerts?"),
        (server.anon(Method::GET, "/wp-login.php"), 404, "unknown-path", "/openapi.json"),
        (server.call(Method::GET, &format!("/api/v1/alerts/{id}")), 404, "not-found", "no such alert"),
        (server.call(Method::GET, "/api/v1/recipients/%FF"), 404, "unknown-path", "UTF-8"),
        (server.call(Method::GET, "/api/v1/alerts/7"), 404, "not-found", "is not an alert id"),
        (
            server.call(Method::POST, &format!("/api/v1/alerts/{id}:cancle")),
            404,
            "unknown-path",
            "did you mean cancel?",
        ),
        (
            server.call(Method::POST, &format!("/api/v1/alerts/{id}%3Acancel")),
            404,
            "unknown-path",
            "must not be encoded",
        ),
        (server.call(Method::POST, &format!("/api/v1/alerts/{id}")), 405, "wrong-method", ":cancel"),
        (server.call(Method::PUT, ALERTS), 405, "wrong-method", "PUT is not allowed"),
        (
            server.call(Method::GET, &format!("/api/v1/alerts/{id}/report")).header("accept", "image/png"),
            406,
            "not-acceptable",
            "text/csv",
        ),
        (server.call(Method::POST, "/api/v1/accounts"), 404, "not-found", "there is no ledger"),
    ] {
        let (found, problem) = said(request).await;
        assert_eq!((found.as_u16(), slug(&problem)), (status, slug_expected), "{problem}");
        assert!(problem.to_string().replace("\\\"", "\"").contains(says), "{problem} does not say {says}");
    }
    let response = server.call(Method::PUT, ALERTS).send().await.unwrap();
    let mut allowed: Vec<&str> =
        response.headers()["allow"].to_str().unwrap().split(',').map(str::trim).collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
    server.close().await;
}

async fn gzip_of(body: &[u8]) -> Vec<u8> {
    let mut encoder = async_compression::tokio::write::GzipEncoder::new(Vec::new());
    encoder.write_all(body).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

#[tokio::test]
async fn a_body_of_100_mb_and_a_bomb_are_refused_naming_the_limit() {
    let server = TestServer::open().await;
    let plain = vec![b' '; 100 << 20];
    let bomb = gzip_of(&plain).await;
    assert!(bomb.len() < 200_000);
    for (body, encoding) in [(plain, None), (bomb, Some("gzip"))] {
        let mut request =
            server.call(Method::POST, ALERTS).header("content-type", "application/json").body(body);
        if let Some(encoding) = encoding {
            request = request.header("content-encoding", encoding);
        }
        let (status, problem) = said(request).await;
        assert_eq!((status.as_u16(), slug(&problem)), (413, "too-large"), "{problem}");
        assert!(reason(&problem, "body").contains("64 MiB"), "{problem}");
    }
    assert_eq!(server.get(ALERTS).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_large_body_announced_with_expect_is_refused_before_it_is_sent() {
    let server = TestServer::open().await;
    let mut stream = tokio::net::TcpStream::connect(server.door.address()).await.unwrap();
    let head = format!(
        "POST {ALERTS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: 104857600\r\nexpect: 100-continue\r\n\r\n",
        server.admin
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 64];
    let length = stream.read(&mut answer).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&answer[..length]));
    server.close().await;
}

#[tokio::test]
async fn compressed_bodies_are_read_and_broken_ones_told() {
    let server = TestServer::open().await;
    server.people().await;
    let body = br#"{"text": "x", "audience": ["all"]}"#;
    let gzip = gzip_of(body).await;
    let zstd = zstd_of(body).await;
    let send = |encoding: &str, body: &[u8]| {
        let request = server.call(Method::POST, ALERTS).header("content-type", "application/json");
        said(request.header("content-encoding", encoding).body(body.to_vec()))
    };
    assert_eq!(send("gzip", &gzip).await.0, 202);
    assert_eq!(send("zstd", &zstd).await.0, 202);
    for (encoding, broken) in
        [("gzip", &gzip[..gzip.len() / 2]), ("zstd", &zstd[..zstd.len() / 2]), ("gzip", body), ("zstd", body)]
    {
        let (status, problem) = send(encoding, broken).await;
        assert_eq!((status.as_u16(), slug(&problem)), (400, "malformed-body"), "{problem}");
    }
    server.close().await;
}

async fn zstd_of(body: &[u8]) -> Vec<u8> {
    let mut encoder = async_compression::tokio::write::ZstdEncoder::new(Vec::new());
    encoder.write_all(body).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

#[tokio::test]
async fn what_is_no_http_at_all_hurts_nobody() {
    let server = TestServer::open().await;
    for garbage in
        [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"GET\r\n\r\n", b"\0\0\0\x10\0\0\0\x09", &[b'A'; 200_000]]
    {
        let mut stream = tokio::net::TcpStream::connect(server.door.address()).await.unwrap();
        let _ = stream.write_all(garbage).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4") || answer.starts_with(&[21, 3, 1]),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(server.get(ALERTS).await.0, 200);
    server.close().await;
}

#[tokio::test]
async fn a_full_disk_refuses_what_is_new_and_keeps_what_is_old() {
    let server = TestServer::on_a_disk_of(150).await;
    server.people().await;
    let id = server.submit(json!({"text": "x", "audience": ["all"], "channels": ["sms"]})).await;
    let big = "x".repeat(2_000);
    let mut refused = None;
    for n in 0..1_000 {
        let person = json!({"id": format!("p{n:04}"), "attributes": {"note": big}});
        let (status, problem) = server.post("/api/v1/recipients", person).await;
        if status != 201 {
            refused = Some((n, status, problem));
            break;
        }
    }
    let (count, status, problem) = refused.expect("150 pages are 600 kB: they fill up");
    assert_eq!((status.as_u16(), slug(&problem)), (507, "disk-full"), "{problem}");
    let (status, problem) = server.post(ALERTS, json!({"text": big.repeat(40), "audience": ["all"]})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (507, "disk-full"), "{problem}");
    assert_eq!(server.get(&format!("{ALERTS}/{id}")).await.0, 200);
    assert_eq!(
        server.get(&format!("/api/v1/recipients/p{:04}", count - 1)).await.0,
        200,
        "what was taken is there"
    );
    assert_eq!(
        server.get(&format!("/api/v1/recipients/p{count:04}")).await.0,
        404,
        "what was refused is not"
    );
    server.close().await;
}
