//! The feed of CAP messages that hold: received ones, public and actual, newest first, as Atom (RFC 4287).
//! What a later message has ended has left it; a Cancel that was told stands there itself.

use super::ending::is_ended;
use super::{CAP_XML, is_released, outgoing};
use crate::http::alerts;
use crate::http::app::App;
use crate::http::problem::HttpResult;
use crate::http::request::body;
use crate::http::request::time_text::rfc3339;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use records::{Account, Alert, AlertState};
use std::collections::{HashMap, HashSet};
use store::CapEnd;

/// Alerts looked through for the feed.
const FEED_SCAN: usize = 300;
/// Entries of the feed.
const FEED_MAX: usize = 50;

/// `GET /cap/feed.atom`.
pub(super) async fn feed(State(app): State<App>) -> HttpResult<Response> {
    let alerts = app.store.alerts_before(Account::DEFAULT, None, FEED_SCAN).await?;
    let ends = EndedMessages::of(app.store.cap_ends(Account::DEFAULT, None).await?);
    let base = app.cap.public_url.clone().unwrap_or_default();
    let (now, policy) = (app.now(), app.engine.approval_policy());
    let feed = body::off_thread(usize::MAX, move || {
        let mut entries = String::new();
        let mut updated = None;
        let mut shown = HashSet::new();
        let holds = |alert: &&Alert| {
            let is_over = alert.request.expires <= now || alert.state == AlertState::Cancelled;
            !is_over && is_released(&policy, alert)
        };
        for alert in alerts.iter().filter(holds) {
            let Some(said) = outgoing::public(alert) else { continue };
            let identity = (said.sender.clone(), said.identifier.clone(), said.sent);
            // Parts of one message, and the same one to several audiences, are one entry.
            if ends.have(alert, &said) || !shown.insert(identity) {
                continue;
            }
            updated.get_or_insert(alert.created);
            entries.push_str(&entry(&base, alert, &said));
            if entries.matches("<entry>").count() == FEED_MAX {
                break;
            }
        }
        let updated = rfc3339(updated.unwrap_or(now));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <id>{base}/cap/feed.atom</id>\n<title>Alerts</title>\n<updated>{updated}</updated>\n\
             <author><name>Campanile</name></author>\n<link rel=\"self\" href=\"{base}/cap/feed.atom\"/>\n{entries}</feed>\n",
            base = escaped(&base),
        )
    });
    Ok(([(CONTENT_TYPE, "application/atom+xml"), (CACHE_CONTROL, "max-age=30")], feed.await?).into_response())
}

/// EndedMessages of messages, by their sender and identifier.
struct EndedMessages(HashMap<(String, String), Vec<CapEnd>>);

impl EndedMessages {
    fn of(all: Vec<CapEnd>) -> EndedMessages {
        let mut ends: HashMap<(String, String), Vec<CapEnd>> = HashMap::new();
        for end in all {
            ends.entry((end.sender.clone(), end.identifier.clone())).or_default().push(end);
        }
        EndedMessages(ends)
    }

    fn have(&self, alert: &Alert, said: &cap::Alert) -> bool {
        let ends = self.0.get(&(said.sender.clone(), said.identifier.clone()));
        ends.is_some_and(|ends| is_ended(ends, said.sent, &alert.token))
    }
}

fn entry(base: &str, alert: &Alert, said: &cap::Alert) -> String {
    let time = rfc3339(alert.created);
    format!(
        "<entry>\n<id>urn:uuid:{id}</id>\n<title>{title}</title>\n<updated>{time}</updated>\n<author><name>{sender}</name></author>\n\
         <link rel=\"alternate\" type=\"{CAP_XML}\" href=\"{base}/cap/{id}\"/>\n</entry>\n",
        id = alert.id,
        title = escaped(&alerts::view::headline(&alert.request)),
        sender = escaped(&said.sender),
        base = escaped(base),
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
}
