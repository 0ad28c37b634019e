use crate::eventually;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::time::Duration;

/// An answer takes at most so long.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// A page of a list, as asked for.
const PAGE: usize = 1_000;

/// A client of the HTTP API.
#[derive(Debug, Clone)]
pub struct Api {
    client: Client,
    base: String,
    token: String,
}

/// What the server answered.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub text: String,
    /// What was asked, for messages.
    asked: String,
}

impl Reply {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{}: {error}: {:?}", self.asked, self.text))
    }

    /// The body as JSON of an answer with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.asked, self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The problem document (RFC 9457) of an answer with this status, which names this field.
    #[track_caller]
    pub fn expect_problem(&self, status: u16, field: &str) -> Value {
        let problem = self.expect(status);
        let kind = self.headers.get("content-type").and_then(|kind| kind.to_str().ok());
        assert_eq!(kind, Some("application/problem+json"), "{}", self.asked);
        let problems = problem["problems"].as_array().cloned().unwrap_or_default();
        let is_named = |problem: &Value| problem["field"].as_str().is_some_and(|name| name.contains(field));
        assert!(problems.iter().any(is_named), "{}: no problem names {field:?}: {problem}", self.asked);
        problem
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Sends a request; no answer at all is an error in words.
pub(crate) async fn answered(client: &Client, request: RequestBuilder) -> Result<Reply, String> {
    let request = request.build().map_err(|error| error.to_string())?;
    let asked = format!("{} {}", request.method(), request.url());
    let response = client.execute(request).await.map_err(|error| format!("{asked}: {error:?}"))?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.map_err(|error| format!("{asked}: {error:?}"))?;
    Ok(Reply { status, headers, text, asked })
}

/// An HTTP client that does not wait for ever.
pub(crate) fn patient_client(builder: reqwest::ClientBuilder) -> Client {
    // Whoever was first has chosen for the process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    builder.timeout(ANSWER_MAX).build().unwrap()
}

impl Api {
    /// A client of the server at `base` (`http://host:port`) with a bearer token.
    pub fn new(base: &str, token: &str) -> Api {
        let client = patient_client(Client::builder());
        Api { client, base: base.to_owned(), token: token.to_owned() }
    }

    /// The same client with another token.
    pub fn with_token(&self, token: &str) -> Api {
        Api { token: token.to_owned(), ..self.clone() }
    }

    /// Its token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A request with the token, to be finished and handed to [`Api::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        self.client.request(method, url).bearer_auth(&self.token)
    }

    /// Where the server is: `http://host:port`.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Sends a request; no answer at all is an error in words.
    pub async fn try_send(&self, request: RequestBuilder) -> Result<Reply, String> {
        answered(&self.client, request).await
    }

    /// Sends a request.
    pub async fn send(&self, request: RequestBuilder) -> Reply {
        self.try_send(request).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path)).await
    }

    /// `DELETE path`.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// `POST path` with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// `PATCH path` with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::PATCH, path).json(body)).await
    }

    /// `PUT path` with a JSON body.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::PUT, path).json(body)).await
    }

    /// `POST path` with any body.
    pub async fn post_as(&self, path: &str, kind: &str, body: impl Into<reqwest::Body>) -> Reply {
        self.send(self.request(Method::POST, path).header("content-type", kind).body(body)).await
    }

    /// Adds recipients, given as the API takes them.
    pub async fn add_recipients(&self, recipients: &Value) {
        let reply = self.post("/api/v1/recipients", recipients).await;
        assert!(matches!(reply.status, 200 | 201), "recipients: {} {}", reply.status, reply.text);
    }

    /// Adds a group.
    pub async fn add_group(&self, group: &Value) {
        let reply = self.post("/api/v1/groups", group).await;
        assert!(matches!(reply.status, 200 | 201), "group: {} {}", reply.status, reply.text);
    }

    /// Imports recipients as CSV; returns the answer's body.
    pub async fn import_csv(&self, csv: impl Into<reqwest::Body>) -> Value {
        self.post_as("/api/v1/recipients:import", "text/csv", csv).await.expect(200)
    }

    /// Submits an alert that is taken; returns its id.
    pub async fn submit(&self, alert: &Value) -> String {
        let reply = self.post("/api/v1/alerts", alert).await.expect(202);
        reply["id"].as_str().unwrap().to_owned()
    }

    /// Submits an alert that is taken, and waits until it is solved; returns its id.
    pub async fn submit_and_solve(&self, alert: &Value) -> String {
        let reply = self.post("/api/v1/alerts?mode=sync", alert).await.expect(201);
        reply["id"].as_str().unwrap().to_owned()
    }

    /// `pause`, `resume`, `cancel`, `retry-failed`.
    pub async fn steer(&self, id: &str, verb: &str) -> Value {
        self.post(&format!("/api/v1/alerts/{id}:{verb}"), &json!({})).await.expect(200)
    }

    /// An alert's report.
    pub async fn report(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/alerts/{id}/report")).await.expect(200)
    }

    /// All deliveries of an alert, in their order.
    pub async fn deliveries(&self, id: &str) -> Vec<Value> {
        self.pages(&format!("/api/v1/alerts/{id}/deliveries?limit={PAGE}")).await
    }

    /// All items of a list; `path` has a query already.
    pub async fn pages(&self, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{path}{cursor}")).await.expect(200);
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    /// Waits until an alert's report is as it should be.
    #[track_caller]
    pub fn until(
        &self,
        id: &str,
        what: &str,
        limit: Duration,
        is_so: impl Fn(&Value) -> bool,
    ) -> impl Future<Output = Value> {
        let (api, id) = (self.clone(), id.to_owned());
        eventually(what, limit, async move || {
            let report = api.report(&id).await;
            if is_so(&report) { Ok(report) } else { Err(report) }
        })
    }

    /// Waits until nothing more will be sent of an alert.
    #[track_caller]
    pub fn done(&self, id: &str, limit: Duration) -> impl Future<Output = Value> {
        self.until(id, "the alert is done", limit, |report| report["state"] == "done")
    }
}
