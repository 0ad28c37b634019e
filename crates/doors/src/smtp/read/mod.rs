//! Reader of mails to our addresses: finds a person's answer, a mail system's report, or nothing.

mod answer;
mod authentication;
mod automatic;
mod failure;
mod phrases;
mod report;
mod responders;
#[cfg(test)]
mod tests;

use super::InboundMail;
use super::tag::{InboundRecipient, TagKind, TaggedRecipient};
use mail_parser::{Message, MessageParser, MimeHeaders};
use records::{Inbound, Outcome, Receipt, ReceiptState, Timestamp, mail_key};

/// Octets of a mail system's text that are kept.
pub const REASON_OCTETS_MAX: usize = 500;
/// Octets of a subject in the log.
const SUBJECT_OCTETS_MAX: usize = 200;
/// A mail with more parts and mails within mails than this is not looked into: reading it would cost too
/// much.
const NESTED_MAX: usize = 100;

/// The result of a mail for one of its recipients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailReading {
    /// An outcome to append.
    Outcome(Outcome),
    /// No outcome; the cause, as a label of the counter.
    Ignored(&'static str),
    /// A mail to whoever runs this server; its subject.
    ToPostmaster(String),
}

/// What is known of a mail beside its octets.
#[derive(Debug, Clone, Copy, Default)]
pub struct MailFacts<'a> {
    /// The addresses that the mails of its recipients' deliveries went to, as far as they are known, in the
    /// same order.
    pub addresses: &'a [Option<String>],
    /// The authserv-id of the relay that handed it over, where that is one of ours.
    pub authserv_id: Option<&'a str>,
    /// When it came.
    pub at: Timestamp,
}

/// Whether the addresses of the deliveries are needed to read a mail.
pub fn needs_addresses(mail: &InboundMail) -> bool {
    let is_reply = |recipient: &InboundRecipient| match recipient {
        InboundRecipient::Tagged(tagged) => tagged.kind == TagKind::Answers,
        InboundRecipient::Untagged(_) | InboundRecipient::Postmaster => false,
    };
    mail.recipients.iter().any(is_reply) || report::names_several(&mail.octets)
}

/// Reads a mail, once for each of its recipients.
pub fn read(mail: &InboundMail, facts: MailFacts<'_>) -> Vec<MailReading> {
    let Some(message) = parse(&mail.octets) else {
        return mail.recipients.iter().map(|_| MailReading::Ignored("unreadable")).collect();
    };
    let read = |(place, recipient): (usize, &InboundRecipient)| match recipient {
        InboundRecipient::Tagged(recipient) => {
            let address = facts.addresses.get(place).and_then(Option::as_deref);
            read_for(&message, mail, recipient, address, facts)
        }
        InboundRecipient::Untagged(to) => read_untagged(&message, mail, to, facts),
        InboundRecipient::Postmaster => {
            let subject = one_line(message.subject().unwrap_or_default());
            MailReading::ToPostmaster(cut(subject, SUBJECT_OCTETS_MAX))
        }
    };
    mail.recipients.iter().enumerate().map(read).collect()
}

fn read_for(
    message: &Message<'_>,
    mail: &InboundMail,
    recipient: &TaggedRecipient,
    address: Option<&str>,
    facts: MailFacts<'_>,
) -> MailReading {
    let at = facts.at;
    if let Some(report) = report::report(message, address) {
        return receipt(recipient, report, at);
    }
    match recipient.kind {
        TagKind::Bounces => match failure::failure(message, &mail.from) {
            Some(report) => receipt(recipient, report, at),
            None => MailReading::Ignored("no report"),
        },
        TagKind::Answers => match automatic::automatic(message, &mail.from) {
            Some(why) => MailReading::Ignored(why),
            None => {
                let of = Some((recipient.alert, recipient.endpoint));
                let inbound = Inbound { of, ..words(message, mail, &recipient.address, at) };
                // Who has the tag is believed to be whom the mail went to, and nobody else.
                let key = |address: &str| channels::key(channels::MAIL, address).into_owned();
                let is_theirs = address.is_some_and(|address| key(address) == key(&inbound.from));
                said(inbound, is_theirs || is_author_proven(message, facts))
            }
        },
    }
}

/// Reads a mail to the address without a tag, which answers no delivery.
fn read_untagged(message: &Message<'_>, mail: &InboundMail, to: &str, facts: MailFacts<'_>) -> MailReading {
    if report::report(message, None).is_some() {
        return MailReading::Ignored("no tag");
    }
    match automatic::automatic(message, &mail.from) {
        Some(why) => MailReading::Ignored(why),
        None => said(words(message, mail, to, facts.at), is_author_proven(message, facts)),
    }
}

fn is_author_proven(message: &Message<'_>, facts: MailFacts<'_>) -> bool {
    facts.authserv_id.is_some_and(|id| authentication::is_author_proven(message, id))
}

fn said(inbound: Inbound, is_proven: bool) -> MailReading {
    MailReading::Outcome(match is_proven {
        true => Outcome::Inbound(inbound),
        false => Outcome::Unproven(Box::new(inbound)),
    })
}

/// What the author wrote, which answers no delivery.
fn words(message: &Message<'_>, mail: &InboundMail, to: &str, at: Timestamp) -> Inbound {
    Inbound {
        octets: None,
        channel: channels::MAIL,
        route: String::new(),
        from: author(message, &mail.from),
        to: to.to_owned(),
        text: answer::answer(message),
        of: None,
        at,
    }
}

/// A mail system's report on a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryReport {
    state: ReceiptState,
    text: String,
}

fn receipt(recipient: &TaggedRecipient, report: DeliveryReport, at: Timestamp) -> MailReading {
    MailReading::Outcome(Outcome::Receipt(Receipt {
        // The submission has the relay: the key leads there.
        route: String::new(),
        keys: vec![mail_key(recipient.alert, recipient.endpoint)],
        id: String::new(),
        state: report.state,
        text: cut(report.text, REASON_OCTETS_MAX),
        at,
    }))
}

/// The address the author gives, else the envelope's.
fn author(message: &Message<'_>, envelope: &str) -> String {
    let header = message.from().and_then(|from| from.first()).and_then(|from| from.address());
    cut(header.unwrap_or(envelope).to_owned(), 320)
}

fn parse(octets: &[u8]) -> Option<Message<'_>> {
    // Mails within mails are released one within the other: thousands of levels would use up the stack.
    let nested = count(octets, b"message/") + count(octets, b"multipart/") + count(octets, b"digest");
    if nested > NESTED_MAX {
        return None;
    }
    MessageParser::default().parse(octets)
}

/// Occurrences of a word, in any case.
fn count(octets: &[u8], word: &[u8]) -> usize {
    octets.windows(word.len()).filter(|window| window.eq_ignore_ascii_case(word)).count()
}

/// A header's text, unfolded; nothing if it is absent.
fn header<'m>(message: &'m Message<'_>, name: &'static str) -> Option<std::borrow::Cow<'m, str>> {
    let raw = message.header_raw(name)?.trim();
    Some(match raw.contains(['\r', '\n']) {
        true => raw.split_whitespace().collect::<Vec<_>>().join(" ").into(),
        false => raw.into(),
    })
}

/// Whether the root's content is of this type and subtype.
fn is_type(message: &Message<'_>, kind: &str, subtype: &str) -> bool {
    message.content_type().is_some_and(|content| {
        content.ctype().eq_ignore_ascii_case(kind)
            && content.subtype().is_some_and(|found| found.eq_ignore_ascii_case(subtype))
    })
}

/// At most `max` octets, cut at a character's boundary.
fn cut(mut text: String, max: usize) -> String {
    if text.len() > max {
        let at = (0..=max).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(at);
    }
    text
}

/// Words on one line, without controls.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
