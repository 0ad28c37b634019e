//! Reader of mails to our addresses: finds a person's answer, a mail system's report, or nothing.

mod answer;
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

/// Whether the addresses of the deliveries are needed to read a mail.
pub fn needs_addresses(mail: &InboundMail) -> bool {
    report::names_several(&mail.octets)
}

/// Reads a mail, once for each of its recipients. `addresses`: those that the mails of their deliveries went
/// to, as far as they are known, in the same order.
pub fn read(mail: &InboundMail, addresses: &[Option<String>], at: Timestamp) -> Vec<MailReading> {
    let Some(message) = parse(&mail.octets) else {
        return mail.recipients.iter().map(|_| MailReading::Ignored("unreadable")).collect();
    };
    let read = |(place, recipient): (usize, &InboundRecipient)| match recipient {
        InboundRecipient::Tagged(recipient) => {
            let address = addresses.get(place).and_then(Option::as_deref);
            read_for(&message, mail, recipient, address, at)
        }
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
    at: Timestamp,
) -> MailReading {
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
            None => MailReading::Outcome(Outcome::Inbound(Inbound {
                octets: None,
                channel: channels::MAIL,
                route: String::new(),
                from: author(message, &mail.from),
                to: recipient.address.clone(),
                text: answer::answer(message),
                of: Some((recipient.alert, recipient.endpoint)),
                at,
            })),
        },
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
