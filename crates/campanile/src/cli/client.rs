//! The HTTP API as commands use it; what the server minds becomes sentences.

use super::args::ServerArgs;
use super::{Failure, Outcome};
use futures_util::future::LocalBoxFuture;
use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// A connection must be there within this.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// An answer that is no problem document is shown up to so many characters.
const SHOWN_CHARS: usize = 300;
/// Problems of fields that are shown.
const FIELDS_SHOWN: usize = 20;
/// A page of a list has at most so many items.
const PAGE_MAX: u64 = 1_000;

/// A command at work.
pub(super) type Work = LocalBoxFuture<'static, Outcome>;

/// Runs a command on a runtime of its own.
pub(super) fn block_on(work: Work) -> Outcome {
    // Somebody may have said before which provider is used: then it is that one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// A server and who we are to it.
pub(super) struct ApiClient {
    url: String,
    token: String,
    http: reqwest::Client,
}

impl ApiClient {
    pub fn new(server: &ServerArgs) -> Result<ApiClient, Failure> {
        let token = server.token.clone().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            Failure::Usage(
                "a token is needed: --token or CAMPANILE_TOKEN; `serve` prints the first one".to_owned(),
            )
        })?;
        let url = server.url.trim_end_matches('/').to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(Failure::Usage(format!(
                "{url:?} is not a URL: it must begin with http:// or https://"
            )));
        }
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_MAX)
            .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")));
        if let Some(file) = &server.ca_file {
            builder = builder.tls_certs_merge(authorities(file)?);
        }
        let http = builder.build().map_err(|error| Failure::Failed(chain(&error)))?;
        Ok(ApiClient { url, token, http })
    }

    /// A request that carries the token.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// Sends; what is no success is a failure in words.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.text().await.unwrap_or_default();
        Err(Failure::Failed(sentence(status, &body)))
    }

    /// Sends and reads JSON.
    pub async fn json(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let response = self.send(request).await?;
        let text = response.text().await.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::Failed(format!("{} answered with something other than JSON: {error}", self.url))
        })
    }

    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.json(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let request = self.request(Method::POST, path);
        self.json(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    /// Copies what the server sends to `out`, piece by piece.
    pub async fn copy(&self, path: &str, accept: &str, out: &mut impl std::io::Write) -> Outcome {
        let mut response = self.send(self.request(Method::GET, path).header(ACCEPT, accept)).await?;
        while let Some(piece) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            match out.write_all(&piece) {
                // Who stops reading has seen enough.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                written => written?,
            }
        }
        Ok(out.flush()?)
    }

    /// Items of a list, page by page, until there are `limit`.
    pub async fn list(&self, path: &str, filter: Option<&str>, limit: u64) -> Result<Vec<Value>, Failure> {
        let mut items: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let size = (limit - items.len() as u64).min(PAGE_MAX);
            let mut query = vec![("limit", size.to_string())];
            query.extend(filter.map(|filter| ("filter", filter.to_owned())));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let mut page = self.get(&format!("{path}?{}", encoded(&query))).await?;
            let got = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            let is_empty = got.is_empty();
            items.extend(got);
            match page["next"].as_str() {
                Some(next) if !is_empty && (items.len() as u64) < limit => cursor = Some(next.to_owned()),
                _ => return Ok(items),
            }
        }
    }

    /// Why there was no answer.
    pub fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let why = chain(error);
        let hint = hint(&self.url, &why, error.is_connect());
        Failure::Failed(format!("{}: {why}{hint}", self.url))
    }
}

/// The certificates of a file.
fn authorities(file: &Path) -> Result<Vec<reqwest::Certificate>, Failure> {
    let fails = |why: String| Failure::Usage(format!("--ca-file {}: {why}", file.display()));
    let pem = std::fs::read(file).map_err(|error| fails(error.to_string()))?;
    let found = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| fails(chain(&error)))?;
    if found.is_empty() {
        return Err(fails("has no certificate: PEM is needed, with -----BEGIN CERTIFICATE-----".to_owned()));
    }
    Ok(found)
}

/// What to do about a connection that failed in these words.
fn hint(url: &str, why: &str, is_connect: bool) -> String {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    match url.split_once("://") {
        Some(("https", rest)) if says(&["InvalidContentType", "ProtocolVersion"]) => {
            format!(
                "; this door speaks plain HTTP: use http://{rest}, or set [http] tls_cert and tls_key there"
            )
        }
        Some(("https", _))
            if says(&["UnknownIssuer", "unknown issuer", "CaUsedAsEndEntity", "self-signed"]) =>
        {
            "; no known CA signed the server's certificate: name yours by --ca-file FILE".to_owned()
        }
        Some(("https", _)) if says(&["NotValidForName", "not valid for name"]) => {
            "; use the name that the server's certificate was made for".to_owned()
        }
        _ if is_connect => "; is `campanile serve` running there?".to_owned(),
        _ => String::new(),
    }
}

/// An error with what is behind it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !words.contains(&more) {
            let _ = write!(words, ": {more}");
        }
        source = error.source();
    }
    words
}

/// What the server minds (RFC 9457), in words.
pub(super) fn sentence(status: StatusCode, body: &str) -> String {
    let Ok(Value::Object(problem)) = serde_json::from_str::<Value>(body) else {
        let shown: String = body.trim().chars().take(SHOWN_CHARS).collect();
        let colon = if shown.is_empty() { "" } else { ": " };
        return format!("the server answered {status}{colon}{shown}");
    };
    let text = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut out = match (text("title"), text("detail")) {
        ("", "") => format!("the server answered {status}"),
        (title, "") => title.to_owned(),
        ("", detail) => detail.to_owned(),
        (title, detail) => format!("{title}: {detail}"),
    };
    let fields = problem.get("problems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // One field is told by the detail.
    if fields.len() > 1 {
        for field in fields.iter().take(FIELDS_SHOWN) {
            let _ = write!(out, "\n  {}", field_line(field));
        }
        let listed = problem.get("more_problems").and_then(Value::as_u64).unwrap_or_default();
        let more = fields.len().saturating_sub(FIELDS_SHOWN) as u64 + listed;
        if more > 0 {
            let _ = write!(out, "\n  and {more} more");
        }
    }
    out
}

fn field_line(field: &Value) -> String {
    let text = |key: &str| field[key].as_str().unwrap_or_default();
    match field["row"].as_u64() {
        Some(row) => format!("row {row}, {}: {}", text("field"), text("reason")),
        None => format!("{}: {}", text("field"), text("reason")),
    }
}

/// When to come again, if the server said so.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// A query string.
pub(super) fn encoded(pairs: &[(&str, String)]) -> String {
    let pair = |(name, value): &(&str, String)| format!("{name}={}", segment(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// A word as it stands in a path or query (RFC 3986, section 2.3).
pub(super) fn segment(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for octet in word.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(octet))
            }
            _ => {
                let _ = write!(out, "%{octet:02X}");
            }
        }
    }
    out
}
