use super::{ReceiverState, WebhookStats};
use crate::page::{Page, PageAnswer, PageRequest, document, escaped, json};
use std::fmt::Write;
use std::sync::Arc;

/// Messages shown where no number is asked for.
const SHOWN: usize = 50;

/// `GET /` for people, `GET /stats`, `GET /messages?limit=N`, `POST /disconnect`.
pub(super) struct WebhookPage(pub(super) Arc<ReceiverState>);

impl Page for WebhookPage {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer {
        match (request.method, request.path) {
            ("GET", "/") => PageAnswer::html(self.html()),
            ("GET", "/stats") => json(&self.0.stats()),
            ("GET", "/messages") => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
                json(&self.0.hooks(limit))
            }
            ("POST", "/disconnect") => {
                self.0.stop.send_modify(|generation| *generation += 1);
                json(&serde_json::json!({ "disconnected": true }))
            }
            _ => PageAnswer::not_found(),
        }
    }
}

impl WebhookPage {
    fn html(&self) -> String {
        let mut rows = String::new();
        for hook in self.0.hooks(SHOWN).iter().rev() {
            let [path, id, body] = [&hook.path, &hook.id, &hook.body].map(|field| escaped(field));
            let _ = writeln!(rows, "<tr><td>{path}<td>{id}<td><pre>{body}</pre>");
        }
        let WebhookStats { accepted, repeats, unsigned, sessions, .. } = self.0.stats();
        let facts = format!(
            "{accepted} messages, {repeats} of them repeats; {unsigned} not signed rightly; {sessions} connections"
        );
        document("Simulated webhook receiver", &facts, "<th>Path<th>Id<th>Body", &rows)
    }
}
