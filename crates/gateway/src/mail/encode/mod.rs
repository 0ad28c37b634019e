//! Messages (RFC 5322) from a segment's entries: shared parts once for each body, and the lines of each
//! recipient.

mod answer_words;
mod answering;
mod quoted;
mod template;
#[cfg(test)]
mod tests;

use super::tag::{Purpose, Tags};
use answer_words::AnswerWords;
use answering::AnswerWays;
use mail_builder::headers::date::Date;
use records::{Body, Content, Entry, MessagePreview, PreviewSource, Segment, Timestamp};
use rustc_hash::FxHashMap;
use smtp::client::Transaction;
use smtp::path::Path;
use template::{Template, TemplateSource};

/// A mail is at most so many octets: what a segment may hold, encoded in the worst way.
pub const MAIL_OCTETS_MAX: usize = 2 * 1024 * 1024;
/// Room for a recipient's own lines.
const LINES_OCTETS_ABOUT: usize = 512;

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

/// What the entries of a segment share, made once.
#[derive(Debug)]
pub struct Prepared {
    /// By body, and whether there is a link of one's own in it.
    templates: FxHashMap<(u16, bool), Template>,
}

impl Letterhead {
    /// Makes what the segment's entries share: a template for each body that one of them refers to.
    pub fn prepare(&self, segment: &Segment) -> Prepared {
        let mut templates = FxHashMap::default();
        for entry in segment.entries.iter().filter(|entry| entry.own.is_none()) {
            let link = link_of(segment, entry).is_some();
            if !templates.contains_key(&(entry.body, link))
                && let Ok(template) = self.template(segment, entry, link)
            {
                templates.insert((entry.body, link), template);
            }
        }
        Prepared { templates }
    }

    /// The mail of an entry, as a transaction with this number.
    pub fn compose(
        &self,
        segment: &Segment,
        prepared: &Prepared,
        entry: &Entry,
        id: u64,
        now: Timestamp,
    ) -> Result<Transaction, CannotCompose> {
        let to = Path::parse(&entry.address)
            .map_err(|error| CannotCompose { code: "local:address", text: error.0.to_owned() })?;
        let link = link_of(segment, entry);
        let shared = prepared.templates.get(&(entry.body, link.is_some())).filter(|_| entry.own.is_none());
        let message = match shared {
            Some(template) => self.message(segment, entry, &to, now, template, link),
            None => {
                self.message(segment, entry, &to, now, &self.template(segment, entry, link.is_some())?, link)
            }
        };
        if message.len() > MAIL_OCTETS_MAX {
            let text = format!("the mail has {} octets, the limit is {MAIL_OCTETS_MAX}", message.len());
            return Err(CannotCompose { code: "local:too-large", text });
        }
        Ok(Transaction {
            id,
            from: self.envelope_sender(segment, entry),
            to,
            envelope_id: self.tags.tag(Purpose::Bounces, segment.alert, entry.endpoint),
            notify_success: segment.receipt,
            message,
        })
    }

    fn template(&self, segment: &Segment, entry: &Entry, link: bool) -> Result<Template, CannotCompose> {
        let body = segment.body(entry);
        let Some(Content { subject, text, html, .. }) = body.and_then(Body::content) else {
            let text = format!("entry {} of the segment has no mail to send", entry.endpoint.0);
            return Err(CannotCompose { code: "local:body", text });
        };
        let reply = segment.answer && self.door_domain.is_some();
        Ok(Template::new(&TemplateSource {
            from: (segment.sender.as_deref().or(self.from_name.as_deref()), self.from.as_str()),
            subject: subject.as_deref().unwrap_or_default(),
            text,
            html: html.as_deref(),
            words: AnswerWords::of(body.and_then(Body::language)),
            ways: AnswerWays { link, reply },
            choices: &segment.choices,
            emergency: segment.emergency,
            drill: self.drill,
        }))
    }

    fn message(
        &self,
        segment: &Segment,
        entry: &Entry,
        to: &Path,
        now: Timestamp,
        template: &Template,
        link: Option<&str>,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(template.octets() + LINES_OCTETS_ABOUT);
        out.extend_from_slice(b"To: <");
        out.extend_from_slice(to.as_str().as_bytes());
        out.extend_from_slice(b">\r\nDate: ");
        Date::new(now.0.div_euclid(1_000_000)).write_rfc822(&mut out);
        // The same for every attempt, so that a copy sent after an unknown outcome is known as one.
        let (id, domain) = (segment.alert_id, &self.message_domain);
        out.extend_from_slice(format!("\r\nMessage-ID: <{id}.{}@{domain}>\r\n", entry.endpoint.0).as_bytes());
        if let Some(domain) = &self.door_domain {
            let address = self.tags.address(Purpose::Answers, segment.alert, entry.endpoint, domain);
            out.extend_from_slice(format!("Reply-To: <{address}>\r\n").as_bytes());
        }
        template.push(&mut out, link);
        out
    }

    fn envelope_sender(&self, segment: &Segment, entry: &Entry) -> Path {
        let tagged = self.door_domain.as_ref().and_then(|domain| {
            let address = self.tags.address(Purpose::Bounces, segment.alert, entry.endpoint, domain);
            Path::parse(&address).ok()
        });
        tagged.unwrap_or_else(|| self.from.clone())
    }
}

/// A mail as its reader sees it, without headers. `takes_replies`: they come back to us.
pub fn preview(takes_replies: bool, source: &PreviewSource<'_>) -> MessagePreview {
    let Some(content) = source.body.content() else { return MessagePreview::default() };
    let link = source.link.filter(|_| source.answer);
    let source = TemplateSource {
        from: (None, ""),
        subject: content.subject.as_deref().unwrap_or_default(),
        text: &content.text,
        html: content.html.as_deref(),
        words: AnswerWords::of(source.body.language()),
        ways: AnswerWays { link: link.is_some(), reply: source.answer && takes_replies },
        choices: source.choices,
        emergency: false,
        drill: false,
    };
    let (text, html) = template::shown(&source, link);
    MessagePreview { text, html, encoding: None }
}

/// The link to put in, where an answer is asked for.
fn link_of<'a>(segment: &Segment, entry: &'a Entry) -> Option<&'a str> {
    entry.link.as_deref().filter(|_| segment.answer)
}
