use super::{PagingShared, PagingStats};
use crate::page::{Page, PageAnswer, PageRequest, document, escaped, json};
use std::fmt::Write;
use std::sync::Arc;

/// Pages shown where no number is asked for.
const SHOWN: usize = 50;

/// `GET /` for people, `GET /stats`, `GET /messages?limit=N`, `GET /count?pager=…`, `POST /disconnect`.
pub(super) struct PagingPage(pub(super) Arc<PagingShared>);

impl Page for PagingPage {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer {
        match (request.method, request.path) {
            ("GET", "/") => PageAnswer::html(self.html()),
            ("GET", "/stats") => json(&self.0.stats()),
            ("GET", "/messages") => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
                json(&self.0.book().pages(limit))
            }
            ("GET", "/count") => {
                let pager = request.parameter("pager").unwrap_or_default();
                json(&serde_json::json!({ "accepted": self.0.book().accepted(&pager) }))
            }
            ("POST", "/disconnect") => {
                self.0.stop.send_modify(|generation| *generation += 1);
                json(&serde_json::json!({ "disconnected": true }))
            }
            _ => PageAnswer::not_found(),
        }
    }
}

impl PagingPage {
    fn html(&self) -> String {
        let mut rows = String::new();
        for page in self.0.book().pages(SHOWN).iter().rev() {
            let [pager, text, choices] =
                [&page.pager, &page.text, &page.choices.join(" / ")].map(|field| escaped(field));
            let _ = writeln!(rows, "<tr><td>{pager}<td><pre>{text}</pre><td>{choices}");
        }
        let PagingStats { accepted, refused, queries, tags, sessions, .. } = self.0.stats();
        let facts = format!(
            "{accepted} pages taken, {refused} refused; {tags} two-way records, {queries} questions for them; \
             {sessions} connections"
        );
        document("Simulated paging carrier", &facts, "<th>Pager<th>Text<th>Choices", &rows)
    }
}
