use super::{MailText, Shared, Stats, ledger};
use crate::page::{Page, PageAnswer, PageRequest, document, escaped, json};
use std::fmt::Write;
use std::sync::Arc;

/// Mails shown where no number is asked for.
const SHOWN: usize = 50;

/// `GET /` for people, `GET /stats`, `GET /messages?limit=N`, `GET /count?to=…&message_id=…`,
/// `POST /disconnect`.
pub(super) struct MailboxPage(pub(super) Arc<Shared>);

impl MailboxPage {
    fn words(&self, limit: usize) -> Vec<MailText> {
        self.0.ledger.mails(limit).iter().map(super::ReceivedMail::words).collect()
    }
}

impl Page for MailboxPage {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer {
        match (request.method, request.path) {
            ("GET", "/") => PageAnswer::html(html(&self.0.stats(), &self.words(SHOWN))),
            ("GET", "/stats") => json(&self.0.stats()),
            ("GET", "/messages") => {
                let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
                json(&self.words(limit))
            }
            ("GET", "/count") => {
                let [to, id] = ["to", "message_id"].map(|name| request.parameter(name).unwrap_or_default());
                let key = ledger::key(self.0.scene().options.count, &to, &id);
                json(&serde_json::json!({ "accepted": key.map_or(0, |key| self.0.ledger.count_of(key)) }))
            }
            ("POST", "/disconnect") => {
                self.0.stop.send_modify(|generation| *generation += 1);
                json(&serde_json::json!({ "disconnected": true }))
            }
            _ => PageAnswer::not_found(),
        }
    }
}

fn html(stats: &Stats, mails: &[MailText]) -> String {
    let mut rows = String::new();
    for mail in mails.iter().rev() {
        let to = mail.to.join(", ");
        let [from, to, subject, text] =
            [&mail.from, &to, &mail.subject, &mail.text].map(|field| escaped(field));
        let _ = writeln!(rows, "<tr><td>{from}<td>{to}<td>{subject}<td><pre>{text}</pre>");
    }
    let Stats { mails, accepted, sessions, letters, .. } = stats;
    let facts = format!(
        "{mails} mails to {accepted} recipients; {} bounces and {} answers, {} waiting; {sessions} connections",
        letters.bounces, letters.answers, letters.waiting
    );
    document("Simulated mailbox", &facts, "<th>From<th>To<th>Subject<th>Text", &rows)
}
