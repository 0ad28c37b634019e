use reqwest::{Client, Method};
use serde_json::Value;
use std::time::Duration;

/// An answer takes at most so long; an import of a million people is one.
const ANSWER_MAX: Duration = Duration::from_secs(600);

/// An HTTP client: without a proxy of the environment, which has no business between us and who is measured.
pub(crate) fn http_client() -> Result<Client, String> {
    // Whoever came first decided already: that is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().tcp_nodelay(true).timeout(ANSWER_MAX).build();
    client.map_err(|error| format!("no HTTP client: {error}"))
}

/// A client of the HTTP API.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
    token: String,
}

impl Api {
    /// A client of the server at `base`: `http://host:port`, or `host:port`.
    pub(crate) fn new(base: &str, token: &str) -> Result<Api, String> {
        let scheme = if base.contains("://") { "" } else { "http://" };
        Ok(Api {
            client: http_client()?,
            base: format!("{scheme}{}", base.trim_end_matches('/')),
            token: token.to_owned(),
        })
    }

    /// Its token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Whether the server takes alerts.
    pub(crate) async fn is_ready(&self) -> bool {
        let reply = self.client.get(format!("{}/readyz", self.base)).send().await;
        reply.is_ok_and(|reply| reply.status().is_success())
    }

    /// `GET path`.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, String> {
        self.ask(Method::GET, path, None, None, 200).await
    }

    /// `POST path` with a body that is JSON already, or another kind.
    pub(crate) async fn post(
        &self,
        path: &str,
        kind: &str,
        body: impl Into<reqwest::Body>,
        status: u16,
    ) -> Result<Value, String> {
        self.ask(Method::POST, path, Some((kind, body.into())), None, status).await
    }

    /// Submits an alert that is JSON already; returns its id.
    pub(crate) async fn submit(&self, alert: impl Into<reqwest::Body>) -> Result<String, String> {
        self.submit_encoded(alert, None).await
    }

    /// Submits an alert that is JSON, compressed by this content coding if one is named; returns its id.
    pub(crate) async fn submit_encoded(
        &self,
        alert: impl Into<reqwest::Body>,
        encoding: Option<&str>,
    ) -> Result<String, String> {
        let body = Some(("application/json", alert.into()));
        let answer = self.ask(Method::POST, "/api/v1/alerts", body, encoding, 202).await?;
        let id = answer["id"].as_str().ok_or_else(|| format!("an accepted alert has no id: {answer}"))?;
        Ok(id.to_owned())
    }

    /// An alert's report.
    pub(crate) async fn report(&self, id: &str) -> Result<Value, String> {
        self.get(&format!("/api/v1/alerts/{id}/report")).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, reqwest::Body)>,
        encoding: Option<&str>,
        status: u16,
    ) -> Result<Value, String> {
        let asked = format!("{method} {path}");
        let mut request =
            self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
        if let Some((kind, body)) = body {
            request = request.header("content-type", kind).body(body);
        }
        if let Some(encoding) = encoding {
            request = request.header("content-encoding", encoding);
        }
        let reply = request.send().await.map_err(|error| format!("{asked}: {error:?}"))?;
        let got = reply.status().as_u16();
        let text = reply.text().await.map_err(|error| format!("{asked}: {error:?}"))?;
        if got != status {
            return Err(format!("{asked} answered {got} instead of {status}: {text}"));
        }
        serde_json::from_str(&text).map_err(|error| format!("{asked} answered no JSON ({error}): {text}"))
    }
}
