use super::{ImStats, NetworkState};
use crate::page::{Page, PageAnswer, PageRequest, document, escaped, json};
use std::fmt::Write;
use std::sync::Arc;

/// Messages shown where no number is asked for.
const SHOWN: usize = 50;

/// `GET /` for people, `GET /stats`, `GET /messages?limit=N`, `POST /disconnect`.
pub(super) struct ImPage(pub(super) Arc<NetworkState>);

impl Page for ImPage {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer {
        match (request.method, request.path) {
            ("GET", "/") => PageAnswer::html(self.html()),
            ("GET", "/stats") => json(&self.0.book().stats()),
            ("GET", "/messages") => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
                json(&self.0.book().messages(limit))
            }
            ("POST", "/disconnect") => {
                self.0.cut.send_modify(|generation| *generation += 1);
                json(&serde_json::json!({ "disconnected": true }))
            }
            _ => PageAnswer::not_found(),
        }
    }
}

impl ImPage {
    fn html(&self) -> String {
        let (stats, messages) = {
            let book = self.0.book();
            (book.stats(), book.messages(SHOWN))
        };
        let mut rows = String::new();
        for message in messages.iter().rev() {
            let [address, text, id] =
                [&message.address, &message.text, &message.id].map(|field| escaped(field));
            let _ = writeln!(rows, "<tr><td>{address}<td>{id}<td><pre>{text}</pre>");
        }
        let ImStats { accepted, refused, throttled, known, .. } = stats;
        let facts =
            format!("{accepted} messages, {refused} refused, {throttled} told to wait, {known} sent again");
        document("Simulated messengers", &facts, "<th>To<th>Id<th>Text", &rows)
    }
}
