use super::BrokerState;
use crate::page::{Page, PageAnswer, PageRequest, document, escaped, json};
use std::fmt::Write;
use std::sync::Arc;

/// Messages shown where no number is asked for.
const SHOWN: usize = 50;

/// `GET /` for people, `GET /stats`, `GET /messages?limit=N`, `GET /retained?topic=…`, `POST /disconnect`.
pub(super) struct BrokerPage(pub(super) Arc<BrokerState>);

impl BrokerPage {
    fn words(&self, limit: usize) -> Vec<super::MessageText> {
        self.0.ledger.messages(limit).iter().map(super::TakenMessage::words).collect()
    }
}

impl Page for BrokerPage {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer {
        match (request.method, request.path) {
            ("GET", "/") => PageAnswer::html(html(&self.0.stats(), &self.words(SHOWN))),
            ("GET", "/stats") => json(&self.0.stats()),
            ("GET", "/messages") => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
                json(&self.words(limit))
            }
            ("GET", "/retained") => {
                let topic = request.parameter("topic").unwrap_or_default();
                let kept = self.0.router().retained(&topic, self.0.clock.now_us());
                let payload = kept.map(|packet| String::from_utf8_lossy(&packet.payload).into_owned());
                json(&serde_json::json!({ "payload": payload }))
            }
            ("POST", "/disconnect") => {
                self.0.stop.send_modify(|generation| *generation += 1);
                json(&serde_json::json!({ "disconnected": true }))
            }
            _ => PageAnswer::not_found(),
        }
    }
}

fn html(stats: &super::BrokerStats, messages: &[super::MessageText]) -> String {
    let mut rows = String::new();
    for message in messages.iter().rev() {
        let [topic, payload] = [&message.topic, &message.payload].map(|field| escaped(field));
        let retain = if message.retain { "yes" } else { "" };
        let _ = writeln!(rows, "<tr><td>{topic}<td>{retain}<td><pre>{payload}</pre>");
    }
    let super::BrokerStats { accepted, unheard, retained, answers, sessions, .. } = stats;
    let facts = format!(
        "{accepted} messages, {unheard} to nobody; {answers} answers of devices; {retained} topics retained; \
         {sessions} connections"
    );
    document("Simulated MQTT broker", &facts, "<th>Topic<th>Retained<th>Message", &rows)
}
