//! The web console: its page for every path that is nothing else's, and its files, from the program itself.
//! Where the program has no console, links to it lead to the pages without scripts ([`pages`](super::pages)).
//!
//! What a request gets does not depend on who sends it: the page has nothing of anybody, and asks the API.

mod paths;
#[cfg(test)]
mod tests;

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION,
    VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// The page of all paths.
const PAGE: &str = "/index.html";
/// Files below it have their content in their names.
const IMMUTABLE: &str = "/_app/immutable/";
const FOR_A_YEAR: &str = "public, max-age=31536000, immutable";
/// Kept, and asked for again each time.
const REVALIDATED: &str = "no-cache";

/// The console's files, wherever they are.
pub trait StaticFiles: Send + Sync {
    /// The file at this path of a URL, in the form for a client with this Accept-Encoding.
    fn file(&self, path: &str, accept_encoding: &str) -> Option<StaticFile>;
    /// Inline scripts of the page, as `script-src` of Content-Security-Policy names them: `sha256-…`.
    fn script_hashes(&self) -> Vec<String>;
}

/// A file in one form.
#[derive(Debug, Clone)]
pub struct StaticFile {
    /// Content-Type.
    pub content_type: &'static str,
    /// Content-Encoding, if it has one.
    pub encoding: Option<&'static str>,
    /// With its quotes; each form has its own.
    pub etag: String,
    /// The body.
    pub octets: &'static [u8],
}

/// What the door gives of the console.
#[derive(Clone)]
pub(crate) struct Console {
    files: Option<Arc<dyn StaticFiles>>,
    policy: HeaderValue,
}

impl Console {
    pub(crate) fn new(files: Option<Arc<dyn StaticFiles>>) -> Console {
        let hashes = files.as_ref().map(|files| files.script_hashes()).unwrap_or_default();
        let policy = HeaderValue::from_str(&policy(&hashes));
        // Hashes are base64; anything else would let no script run at all.
        Console { files, policy: policy.unwrap_or(HeaderValue::from_static("default-src 'none'")) }
    }

    /// The answer to a request for what no route has; nothing: there is nothing at this path.
    pub(crate) fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        if !matches!(*method, Method::GET | Method::HEAD) || paths::is_elsewhere(uri.path()) {
            return None;
        }
        let Some(files) = &self.files else {
            let at = paths::without_console(uri)?;
            return Some((StatusCode::TEMPORARY_REDIRECT, [(LOCATION, at)]).into_response());
        };
        let encodings = joined(headers);
        if let Some(file) = files.file(uri.path(), &encodings) {
            let cached = if uri.path().starts_with(IMMUTABLE) { FOR_A_YEAR } else { REVALIDATED };
            return Some(self.given(file, headers, (cached, "Accept-Encoding")));
        }
        let page = files.file(PAGE, &encodings).filter(|_| paths::wants_page(uri.path(), headers))?;
        Some(self.given(page, headers, (REVALIDATED, "Accept, Accept-Encoding")))
    }

    fn given(
        &self,
        file: StaticFile,
        asked: &HeaderMap,
        (cached, varies): (&'static str, &'static str),
    ) -> Response {
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        let mut set = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        set(CACHE_CONTROL, cached);
        set(VARY, varies);
        let is_known = is_known(asked, &file.etag);
        if !is_known {
            set(CONTENT_TYPE, file.content_type);
            if let Some(encoding) = file.encoding {
                set(CONTENT_ENCODING, encoding);
            }
        }
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        if let Ok(etag) = HeaderValue::from_str(&file.etag) {
            headers.insert(ETAG, etag);
        }
        match is_known {
            true => *response.status_mut() = StatusCode::NOT_MODIFIED,
            false => *response.body_mut() = Body::from(Bytes::from_static(file.octets)),
        }
        response
    }
}

/// What the page may do. Its scripts make no HTML of texts, and its worker has a URL of its own.
fn policy(script_hashes: &[String]) -> String {
    let hashes: String = script_hashes.iter().map(|hash| format!(" '{hash}'")).collect();
    format!(
        "default-src 'none'; script-src 'self'{hashes}; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types svelte-trusted-html sveltekit-trusted-url campanile-worker"
    )
}

/// Accept-Encoding in one line.
fn joined(headers: &HeaderMap) -> String {
    let lines = headers.get_all(axum::http::header::ACCEPT_ENCODING).iter();
    lines.filter_map(|line| line.to_str().ok()).collect::<Vec<_>>().join(",")
}

/// Whether the client has this form already, by If-None-Match (RFC 9110, section 13.1.2): a weak comparison.
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
