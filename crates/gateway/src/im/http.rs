//! HTTP client of a route: JSON calls whose answers are bounded, and errors without the secrets of URLs.

use super::config::{ImRoute, base_url};
use net::{TlsClient, TlsClientSettings};
use reqwest::{Method, Url};
use serde_json::Value;
use settings::Secret;
use std::error::Error;
use std::time::Duration;

/// Connecting may take so long.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Servers close idle connections after a minute or more. One that is closed as a message is written leaves
/// that unknown.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// Octets of an answer at most, where the call names no other bound.
const ANSWER_OCTETS_MAX: usize = 4 << 20;
/// Characters of a server's words that are kept.
const WORDS_MAX: usize = 300;

/// Why there is no answer. The words hold no URL and no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// Nothing of the request was written.
    NotWritten(String),
    /// It was perhaps written, and no whole answer came.
    Lost(String),
}

impl CallError {
    /// What happened.
    pub(super) fn words(&self) -> &str {
        match self {
            CallError::NotWritten(words) | CallError::Lost(words) => words,
        }
    }
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiAnswer {
    /// The HTTP status.
    pub(super) status: u16,
    /// Seconds of `Retry-After`.
    pub(super) retry_after: Option<Duration>,
    /// Null where it is no JSON.
    pub(super) body: Value,
}

impl ApiAnswer {
    /// The status is 2xx.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// One call.
pub(super) struct ApiCall<'a> {
    method: Method,
    path: &'a [&'a str],
    query: &'a [(&'a str, &'a str)],
    body: Option<&'a Value>,
    octets_max: usize,
    /// The server may hold the answer back for so long.
    held: Duration,
}

impl<'a> ApiCall<'a> {
    /// A GET of a path; its segments are escaped.
    pub(super) fn get(path: &'a [&'a str]) -> ApiCall<'a> {
        let held = Duration::ZERO;
        ApiCall { method: Method::GET, path, query: &[], body: None, octets_max: ANSWER_OCTETS_MAX, held }
    }

    /// A POST of JSON.
    pub(super) fn post(path: &'a [&'a str], body: &'a Value) -> ApiCall<'a> {
        ApiCall { method: Method::POST, body: Some(body), ..ApiCall::get(path) }
    }

    /// A PUT of JSON.
    pub(super) fn put(path: &'a [&'a str], body: &'a Value) -> ApiCall<'a> {
        ApiCall { method: Method::PUT, body: Some(body), ..ApiCall::get(path) }
    }

    /// The same with a query.
    pub(super) fn with_query(self, query: &'a [(&'a str, &'a str)]) -> ApiCall<'a> {
        ApiCall { query, ..self }
    }

    /// The same, whose answer comes late and may be large.
    pub(super) fn held(self, held: Duration, octets_max: usize) -> ApiCall<'a> {
        ApiCall { held, octets_max, ..self }
    }
}

/// The place of the account's secret in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenPlace {
    /// `Authorization: Bearer …`.
    Header,
    /// The first segment of the path, behind `bot`.
    Path,
}

/// The client of one account.
pub(super) struct ApiClient {
    http: reqwest::Client,
    base: Url,
    token: Secret,
    place: TokenPlace,
    timeout: Duration,
}

impl ApiClient {
    /// For a route's server and account.
    ///
    /// # Errors
    /// Its address is no URL.
    pub(super) fn new(
        http: &reqwest::Client,
        route: &ImRoute,
        place: TokenPlace,
    ) -> Result<ApiClient, String> {
        Ok(ApiClient {
            http: http.clone(),
            base: base_url(&route.base)?,
            token: route.token.clone().unwrap_or_else(|| Secret::from("")),
            place,
            timeout: route.timeout,
        })
    }

    /// Makes a call.
    ///
    /// # Errors
    /// There is no whole answer.
    pub(super) async fn call(&self, call: ApiCall<'_>) -> Result<ApiAnswer, CallError> {
        let url = self.url(&call).ok_or_else(|| CallError::NotWritten("the address is no URL".to_owned()))?;
        let mut request = self.http.request(call.method, url).timeout(self.timeout + call.held);
        if self.place == TokenPlace::Header {
            request = request.bearer_auth(self.token.reveal());
        }
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(|error| self.failed(error))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(reqwest::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let mut octets = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            if octets.len() + chunk.len() > call.octets_max {
                return Err(CallError::Lost(format!("the answer is over {} octets", call.octets_max)));
            }
            octets.extend_from_slice(&chunk);
        }
        let body = serde_json::from_slice(&octets).unwrap_or_default();
        Ok(ApiAnswer { status, retry_after: retry_after.map(Duration::from_secs), body })
    }

    /// Words of the server's, as they may be shown: bounded, and without the account's secret.
    pub(super) fn shown(&self, words: &str) -> String {
        let token = self.token.reveal();
        let words = if token.is_empty() { words.to_owned() } else { words.replace(token, "…") };
        words.chars().filter(|c| !c.is_control()).take(WORDS_MAX).collect()
    }

    fn url(&self, call: &ApiCall<'_>) -> Option<Url> {
        let mut url = self.base.clone();
        {
            let mut path = url.path_segments_mut().ok()?;
            path.pop_if_empty();
            if self.place == TokenPlace::Path {
                path.push(&format!("bot{}", self.token.reveal()));
            }
            path.extend(call.path);
        }
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(call.query);
        }
        Some(url)
    }

    fn failed(&self, error: reqwest::Error) -> CallError {
        match error.is_connect() || error.is_builder() {
            true => CallError::NotWritten(self.words_of(error)),
            false => self.lost(error),
        }
    }

    fn lost(&self, error: reqwest::Error) -> CallError {
        CallError::Lost(self.words_of(error))
    }

    /// An error with its causes, without the URL.
    fn words_of(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            words += &format!(": {inner}");
            cause = inner.source();
        }
        self.shown(&words)
    }
}

/// Trust of a route's client.
///
/// # Errors
/// Its file cannot be used, in words.
pub(super) fn trust(route: &ImRoute) -> Result<TlsClient, String> {
    let settings = TlsClientSettings { ca_file: route.ca_file.clone(), server_name: None };
    TlsClient::new(&settings).map_err(|error| error.why)
}

/// The HTTP client of a route.
///
/// # Errors
/// As [`trust`], or the client's.
pub(super) fn client(route: &ImRoute) -> Result<reqwest::Client, String> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(trust(route)?.config())
        // A token goes to the server that was named, and to no other.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_MAX)
        .pool_idle_timeout(IDLE_MAX)
        .tcp_nodelay(true)
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| error.without_url().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::im::config::ImProtocol;

    fn client_of(base: &str, place: TokenPlace) -> ApiClient {
        let route = ImRoute {
            protocol: Some(ImProtocol::Telegram),
            base: base.to_owned(),
            token: Some(Secret::from("1:s3cret")),
            timeout: Duration::from_secs(5),
            ..ImRoute::default()
        };
        ApiClient::new(&client(&route).unwrap(), &route, place).unwrap()
    }

    #[test]
    fn segments_of_a_path_are_escaped_and_the_base_keeps_its_own() {
        let call = ApiCall::get(&["rooms", "!a/b:c", "x y"]).with_query(&[("since", "s1&2")]);
        let api = client_of("http://h/base/", TokenPlace::Header);
        assert_eq!(api.url(&call).unwrap().as_str(), "http://h/base/rooms/!a%2Fb:c/x%20y?since=s1%262");
        let api = client_of("http://h", TokenPlace::Path);
        assert_eq!(api.url(&ApiCall::get(&["getMe"])).unwrap().as_str(), "http://h/bot1:s3cret/getMe");
    }

    #[tokio::test]
    async fn a_connection_that_is_refused_shows_neither_url_nor_secret() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let api = client_of(&format!("http://{closed}"), TokenPlace::Path);
        let error = api.call(ApiCall::get(&["getMe"])).await.unwrap_err();
        assert!(matches!(error, CallError::NotWritten(_)), "{error:?}");
        assert!(!error.words().contains("s3cret") && !error.words().contains("http:"), "{error:?}");
        assert_eq!(api.shown("token 1:s3cret\n is wrong"), "token … is wrong");
    }
}
