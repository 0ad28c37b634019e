//! Paths of the console: those that get its page, and where they lead without one.

use crate::http::request::negotiation::{Liking, liking};
use axum::http::{HeaderMap, HeaderValue, Uri};

/// Paths, with all below them, that are never the console's, whatever a browser accepts.
const ELSEWHERE: [&str; 16] = [
    "/api",
    "/a",
    "/p",
    "/w",
    "/push",
    "/login",
    "/logout",
    "/cap",
    "/cgi-bin",
    "/plain",
    "/auth",
    "/scim",
    "/metrics",
    "/healthz",
    "/readyz",
    "/openapi.json",
];
/// The console's files.
const FILES: &str = "/_app";
/// The first part of all paths of the drill space.
const DRILL: &str = "/drill";
const HTML: &str = "text/html";

/// Whether a path belongs to something else.
pub(crate) fn is_elsewhere(path: &str) -> bool {
    ELSEWHERE.iter().any(|root| is_below(path, root))
}

fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a client that asks for a path without a file gets the page: a browser that names HTML. One that
/// takes anything (a script's `*/*`, an image's) does if the path looks like no file.
pub(crate) fn wants_page(path: &str, headers: &HeaderMap) -> bool {
    if is_below(path, FILES) {
        return false;
    }
    match liking(headers, HTML) {
        Liking::Named => true,
        Liking::Anything => !path.rsplit('/').next().unwrap_or_default().contains('.'),
        Liking::Refused => false,
    }
}

/// The page without scripts that stands for a page of the console, with its query.
pub(crate) fn without_console(uri: &Uri) -> Option<HeaderValue> {
    let path = uri.path();
    let of_space = path.strip_prefix(DRILL).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let plain = match of_space.unwrap_or(path) {
        "" | "/" => "/plain".to_owned(),
        path => {
            let id = path.strip_prefix("/alerts/").filter(|id| !id.is_empty() && !id.contains('/'))?;
            format!("/plain/alerts/{id}")
        }
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    HeaderValue::from_str(&format!("{plain}{query}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::ACCEPT;

    /// What Chromium sends when somebody opens a page.
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

    #[test]
    fn paths_of_the_api_of_links_and_of_operation_are_never_the_consoles() {
        for path in [
            "/api",
            "/api/v1/alert",
            "/a/x",
            "/p/x",
            "/w/x",
            "/push/x",
            "/login",
            "/logout",
            "/cap",
            "/cap/x",
            "/cgi-bin/x",
            "/plain",
            "/plain/alerts",
            "/auth/oidc",
            "/scim/v2/x",
            "/metrics",
            "/healthz",
            "/readyz",
            "/openapi.json",
        ] {
            assert!(is_elsewhere(path), "{path}");
        }
        for path in [
            "/",
            "/alerts",
            "/alerts/new",
            "/people",
            "/areas",
            "/accounts",
            "/audit",
            "/wall",
            "/me",
            "/drill/alerts/x",
            "/drill/plain",
            "/capital",
            "/apis",
            "/loginx",
            "/_app/version.json",
        ] {
            assert!(!is_elsewhere(path), "{path}");
        }
    }

    #[test]
    fn the_page_is_for_who_accepts_html_and_not_for_a_file_that_is_missing() {
        for (path, accept, wants) in [
            ("/", BROWSER, true),
            ("/people/ann.lind", BROWSER, true),
            ("/people", "*/*", true),
            ("/people", "", true),
            ("/people", "text/*", true),
            ("/favicon.ico", "image/avif,image/webp,*/*;q=0.8", false),
            ("/.env", "*/*", false),
            ("/wp-login.php", "", false),
            ("/people", "application/json", false),
            ("/people", "text/html;q=0, */*", false),
            ("/people", "*/*;q=0", false),
            ("/_app/immutable/gone.js", BROWSER, false),
            ("/_app/", BROWSER, false),
            ("/_apple", BROWSER, true),
        ] {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(wants_page(path, &headers), wants, "{path} {accept}");
        }
    }

    #[test]
    fn without_a_console_the_front_page_and_alerts_lead_to_the_plain_ones() {
        for (path, to) in [
            ("/", Some("/plain")),
            ("/?cursor=abc", Some("/plain?cursor=abc")),
            ("/alerts/01a2?state=failed&from=7", Some("/plain/alerts/01a2?state=failed&from=7")),
            ("/drill", Some("/plain")),
            ("/drill/alerts/01a2", Some("/plain/alerts/01a2")),
            ("/alerts", None),
            ("/alerts/", None),
            ("/alerts/01a2/people", None),
            ("/drills", None),
            ("/people", None),
            ("//evil.example", None),
        ] {
            let at = without_console(&path.parse().unwrap());
            assert_eq!(at.as_ref().map(|at| at.to_str().unwrap()), to, "{path}");
        }
    }
}
