//! The console over a fake table, in the whole door.

use super::{StaticFile, StaticFiles};
use crate::http::HttpConfig;
use crate::http::tests::{Method, TestServer, Value, json, slug};
use reqwest::RequestBuilder;
use std::sync::Arc;

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const INDEX: &str = "<!doctype html><script>let a = 1;</script>";
const SCRIPT: &str = "/_app/immutable/entry/start.Bx1.js";

/// A page, a script and a text; each has a form by Brotli.
struct FakeFiles;

impl StaticFiles for FakeFiles {
    fn file(&self, path: &str, accept_encoding: &str) -> Option<StaticFile> {
        let (content_type, octets) = match path {
            "/index.html" => ("text/html; charset=utf-8", INDEX),
            SCRIPT => ("text/javascript; charset=utf-8", "let b = 2;"),
            "/licenses.txt" => ("text/plain; charset=utf-8", "OFL"),
            _ => return None,
        };
        let is_brotli = accept_encoding.split(", ").any(|coding| coding == "br");
        let form = if is_brotli { ("short", "\"1-br\"", Some("br")) } else { (octets, "\"1\"", None) };
        let (octets, etag, encoding) = (form.0.as_bytes(), form.1.to_owned(), form.2);
        Some(StaticFile { content_type, encoding, etag, octets })
    }

    fn script_hashes(&self) -> Vec<String> {
        vec!["sha256-AAAA".to_owned()]
    }
}

async fn with_console() -> TestServer {
    let plain = HttpConfig::plain(([127, 0, 0, 1], 0).into(), None);
    TestServer::at(HttpConfig { console: Some(Arc::new(FakeFiles)), ..plain }, None, None).await
}

/// As a browser opens a page.
fn opened(server: &TestServer, path: &str) -> RequestBuilder {
    server.anon(Method::GET, path).header("accept", BROWSER)
}

fn header<'r>(response: &'r reqwest::Response, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_path_of_the_console_is_its_page_and_says_what_a_browser_may_do_with_it() {
    let server = with_console().await;
    let id = "01a20042-9068-713c-b2f0-108260fbd2b8";
    for path in
        ["/", "/alerts", &format!("/alerts/{id}"), "/drill/alerts/new", "/people/ann.lind?q=1", "/wall"]
    {
        let page = opened(&server, path).send().await.unwrap();
        assert_eq!(page.status(), 200, "{path}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("etag", "\"1\""),
            ("vary", "Accept, Accept-Encoding"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("referrer-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self' 'sha256-AAAA'; style-src 'self'; font-src 'self'; \
                 img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'self'; \
                 base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                 trusted-types svelte-trusted-html sveltekit-trusted-url campanile-worker",
            ),
        ] {
            assert_eq!(header(&page, name), value, "{path} {name}");
        }
        assert_eq!(page.text().await.unwrap(), INDEX, "{path}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_file_is_given_in_the_form_that_is_accepted_and_one_with_its_content_in_its_name_for_a_year() {
    let server = with_console().await;
    for (path, accept_encoding, encoding, cached, length) in [
        (SCRIPT, "gzip, br", "br", "public, max-age=31536000, immutable", 5),
        (SCRIPT, "identity", "", "public, max-age=31536000, immutable", 10),
        ("/licenses.txt", "br", "br", "no-cache", 5),
        ("/index.html", "gzip", "", "no-cache", INDEX.len()),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let asked = server.anon(method.clone(), path).header("accept-encoding", accept_encoding);
            let given = asked.send().await.unwrap();
            let case = format!("{method} {path} {accept_encoding}");
            assert_eq!(
                (given.status().as_u16(), header(&given, "content-encoding")),
                (200, encoding),
                "{case}"
            );
            assert_eq!(
                (header(&given, "cache-control"), header(&given, "vary")),
                (cached, "Accept-Encoding"),
                "{case}"
            );
            assert_eq!(header(&given, "content-length"), length.to_string(), "{case}");
            let octets = if method == Method::GET { length } else { 0 };
            assert_eq!(given.bytes().await.unwrap().len(), octets, "{case}");
        }
    }
    server.close().await;
}

#[tokio::test]
async fn a_browser_that_has_this_form_of_a_file_is_told_so_and_gets_no_body() {
    let server = with_console().await;
    for (accept_encoding, known, status) in [
        ("br", "\"1-br\"", 304),
        ("br", "\"0\", W/\"1-br\"", 304),
        ("br", "*", 304),
        ("br", "\"1\"", 200),
        ("", "\"1\"", 304),
        ("", "\"1-br\"", 200),
        ("br", "1-br", 200),
    ] {
        let asked = opened(&server, "/people").header("accept-encoding", accept_encoding);
        let given = asked.header("if-none-match", known).send().await.unwrap();
        let case = format!("{accept_encoding:?} {known}");
        assert_eq!(given.status(), status, "{case}");
        assert_eq!((header(&given, "cache-control"), header(&given, "etag").is_empty()), ("no-cache", false));
        assert_eq!(header(&given, "content-type").is_empty(), status == 304, "{case}");
        assert_eq!(given.bytes().await.unwrap().is_empty(), status == 304, "{case}");
    }
    server.close().await;
}

#[tokio::test]
async fn what_is_no_page_of_the_console_is_answered_as_without_one() {
    let server = with_console().await;
    for path in [
        "/_app/immutable/gone.js",
        "/api/v1/alert",
        "/api",
        "/a/x/y",
        "/push/x",
        "/plain/alerts",
        "/scim/x",
        "/cap/x/y",
    ] {
        let response = opened(&server, path).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!((status.as_u16(), slug(&problem)), (404, "unknown-path"), "{path} {text}");
    }
    for (method, path, accept, status) in [
        (Method::GET, "/people", "application/json", 404),
        (Method::GET, "/favicon.ico", "image/avif,*/*;q=0.8", 404),
        (Method::GET, "/people", "*/*", 200),
        (Method::POST, "/people", BROWSER, 404),
        (Method::GET, "/login", BROWSER, 405),
        (Method::GET, "/healthz", BROWSER, 200),
        (Method::GET, "/plain", BROWSER, 200),
    ] {
        let response = server.anon(method.clone(), path).header("accept", accept).send().await.unwrap();
        assert_eq!(response.status(), status, "{method} {path} {accept}");
        let is_page = response.text().await.unwrap() == INDEX;
        assert_eq!(is_page, path == "/people" && status == 200, "{method} {path} {accept}");
    }
    server.close().await;
}

#[tokio::test]
async fn without_a_console_links_to_it_lead_to_the_plain_pages() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(json!({"text": "x", "audience": ["all"], "channels": ["sms"]})).await;
    for (path, to) in [
        ("/".to_owned(), "/plain".to_owned()),
        (format!("/alerts/{id}?state=failed"), format!("/plain/alerts/{id}?state=failed")),
        (format!("/drill/alerts/{id}"), format!("/plain/alerts/{id}")),
    ] {
        let away = opened(&server, &path).send().await.unwrap();
        assert_eq!((away.status().as_u16(), header(&away, "location")), (307, to.as_str()), "{path}");
        assert!([200, 401].contains(&opened(&server, &to).send().await.unwrap().status().as_u16()), "{to}");
    }
    assert_eq!(opened(&server, "/people").send().await.unwrap().status(), 404);
    server.close().await;
}
