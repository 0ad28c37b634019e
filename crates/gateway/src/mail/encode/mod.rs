//! Messages (RFC 5322) from a segment's entries: shared parts once for each body, and the lines of each recipient.

mod answering;
mod quoted;
mod template;
#[cfg(test)]
mod tests;

use super::machine::{Path, Transaction};
use super::tag::{Purpose, Tags};
use answering::Ways;
use mail_builder::headers::date::Date;
use records::{Body, Entry, Segment, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use template::{Source, Template};

/// A mail is at most so many octets: what a segment may hold, encoded in the worst way.
pub const MAIL_OCTETS_MAX: usize = 2 * 1024 * 1024;

/// What a route's mails have in common.
#[derive(Debug, Clone)]
pub struct Letterhead {
    /// Display name, where the alert names no sender.
    pub from_name: Option<String>,
    /// Author's address.
    pub from: Path,
    /// Where Message-IDs are at home.
    pub message_domain: String,
    /// Where replies and bounces come back to us, if they do.
    pub door_domain: Option<String>,
    /// Marked as an exercise.
    pub drill: bool,
    /// Makes the tags.
    pub tags: Tags,
}

/// An entry of which no mail can be made; a refusal of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotCompose {
    /// Stable: `local:address`, `local:body`, `local:too-large`.
    pub code: &'static str,
    /// In words.
    pub text: String,
}

/// Makes the mails of one segment.
#[derive(Debug)]
pub struct Composer {
    letterhead: Arc<Letterhead>,
    segment: Arc<Segment>,
    templates: FxHashMap<(u16, bool), Template>,
}

impl Composer {
    /// For one segment.
    pub fn new(letterhead: Arc<Letterhead>, segment: Arc<Segment>) -> Composer {
        Composer { letterhead, segment, templates: FxHashMap::default() }
    }

    /// The mail of an entry, as a transaction with this number.
    pub fn compose(&mut self, entry: &Entry, id: u64, now: Timestamp) -> Result<Transaction, CannotCompose> {
        let to = Path::parse(&entry.address)
            .map_err(|error| CannotCompose { code: "local:address", text: error.0.to_owned() })?;
        let link = entry.link.as_deref().filter(|_| self.segment.answer);
        let mut message = Vec::new();
        if entry.own.is_some() {
            let template = self.template(entry, link.is_some())?;
            self.push_message(&mut message, entry, &to, now, &template, link);
        } else {
            let key = (entry.body, link.is_some());
            if !self.templates.contains_key(&key) {
                let template = self.template(entry, link.is_some())?;
                self.templates.insert(key, template);
            }
            self.push_message(&mut message, entry, &to, now, &self.templates[&key], link);
        }
        if message.len() > MAIL_OCTETS_MAX {
            let text = format!("the mail has {} octets, the limit is {MAIL_OCTETS_MAX}", message.len());
            return Err(CannotCompose { code: "local:too-large", text });
        }
        Ok(Transaction {
            id,
            from: self.envelope_sender(entry),
            to,
            envelope_id: self.letterhead.tags.tag(Purpose::Bounces, self.segment.alert, entry.endpoint),
            notify_success: self.segment.receipt,
            message,
        })
    }

    fn template(&self, entry: &Entry, link: bool) -> Result<Template, CannotCompose> {
        let Some(Body::Mail { subject, text, html }) = self.segment.body(entry) else {
            let text = format!("entry {} of the segment has no mail to send", entry.endpoint.0);
            return Err(CannotCompose { code: "local:body", text });
        };
        let letterhead = &self.letterhead;
        let reply = self.segment.answer && letterhead.door_domain.is_some();
        Ok(Template::new(&Source {
            from: (
                self.segment.sender.as_deref().or(letterhead.from_name.as_deref()),
                letterhead.from.as_str(),
            ),
            subject,
            text,
            html: html.as_deref(),
            ways: Ways { link, reply },
            choices: &self.segment.choices,
            emergency: self.segment.emergency,
            drill: letterhead.drill,
        }))
    }

    fn push_message(
        &self,
        out: &mut Vec<u8>,
        entry: &Entry,
        to: &Path,
        now: Timestamp,
        template: &Template,
        link: Option<&str>,
    ) {
        out.reserve(template.octets() + 512);
        out.extend_from_slice(b"To: <");
        out.extend_from_slice(to.as_str().as_bytes());
        out.extend_from_slice(b">\r\nDate: ");
        Date::new(now.0.div_euclid(1_000_000)).write_rfc822(out);
        out.extend_from_slice(b"\r\nMessage-ID: ");
        out.extend_from_slice(self.message_id(entry).as_bytes());
        out.extend_from_slice(b"\r\n");
        if let Some(domain) = &self.letterhead.door_domain {
            out.extend_from_slice(b"Reply-To: <");
            let address =
                self.letterhead.tags.address(Purpose::Answers, self.segment.alert, entry.endpoint, domain);
            out.extend_from_slice(address.as_bytes());
            out.extend_from_slice(b">\r\n");
        }
        template.push(out, link);
    }

    /// The same for every attempt, so that a copy sent after an unknown outcome is known as one.
    fn message_id(&self, entry: &Entry) -> String {
        format!("<{}.{}@{}>", self.segment.alert_id, entry.endpoint.0, self.letterhead.message_domain)
    }

    fn envelope_sender(&self, entry: &Entry) -> Path {
        let letterhead = &self.letterhead;
        let tagged = letterhead.door_domain.as_ref().and_then(|domain| {
            let address =
                letterhead.tags.address(Purpose::Bounces, self.segment.alert, entry.endpoint, domain);
            Path::parse(&address).ok()
        });
        tagged.unwrap_or_else(|| letterhead.from.clone())
    }
}
