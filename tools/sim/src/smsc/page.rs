use super::{Message, Shared, Stats, ledger};
use crate::page::{Answer, Page, Request, escaped, json};
use std::fmt::Write;
use std::sync::Arc;

/// Messages shown where no number is asked for.
const SHOWN: usize = 100;

/// `GET /` for people, `GET /stats`, `GET /messages?limit=N`, `GET /count?to=…&text=…`, `POST /disconnect`.
pub(super) struct SmscPage(pub(super) Arc<Shared>);

impl Page for SmscPage {
    fn answer(&self, request: &Request<'_>) -> Answer {
        let ledger = &self.0.ledger;
        match (request.method, request.path) {
            ("GET", "/") => Answer::html(html(&self.0.stats(), &ledger.messages(SHOWN))),
            ("GET", "/stats") => json(&self.0.stats()),
            ("GET", "/messages") => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
                json(&ledger.messages(limit))
            }
            ("GET", "/count") => {
                let [to, text] = ["to", "text"].map(|name| request.parameter(name).unwrap_or_default());
                let key = ledger::key(self.0.scene().options.count, &to, &text);
                json(&serde_json::json!({ "accepted": key.map_or(0, |key| ledger.count_of(key)) }))
            }
            ("POST", "/disconnect") => {
                self.0.stop.send_modify(|generation| *generation += 1);
                json(&serde_json::json!({ "disconnected": true }))
            }
            _ => Answer::not_found(),
        }
    }
}

fn html(stats: &Stats, messages: &[Message]) -> String {
    let mut rows = String::new();
    for message in messages.iter().rev() {
        let [from, to, text] = [&message.from, &message.to, &message.text].map(|field| escaped(field));
        let _ = writeln!(rows, "<tr><td>{from}<td>{to}<td>{text}<td>{}", message.parts);
    }
    let Stats { submits, accepted, messages, sessions, letters, .. } = stats;
    let facts = format!(
        "{submits} submissions, {accepted} accepted, {messages} messages; {} receipts and {} replies, {} waiting; \
         {sessions} sessions",
        letters.receipts, letters.replies, letters.waiting
    );
    crate::page::document("Simulated SMSC", &facts, "<th>From<th>To<th>Text<th>Parts", &rows)
}
