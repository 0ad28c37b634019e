//! Reader decides what a mail to one of our addresses is: a person's answer, a mail system's report, or
//! nothing that counts.

mod answer;
mod automatic;
mod failure;
mod report;
#[cfg(test)]
mod tests;

use super::Mail;
use super::tag::{Recipient, TagKind};
use mail_parser::{Message, MessageParser, MimeHeaders};
use records::{Inbound, Outcome, Receipt, ReceiptState, Timestamp, mail_key};

/// Of what a mail system says so many octets are kept.
pub const REASON_OCTETS_MAX: usize = 500;
/// A mail with more parts and mails within mails than this is not looked into: reading it would cost more
/// than it says.
const NESTED_MAX: usize = 100;

/// What one recipient of a mail means for its delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// To be written down.
    Outcome(Outcome),
    /// Nothing; why, as a word for counting.
    Ignored(&'static str),
}

/// Reads a mail, once for each of its recipients.
pub fn read(mail: &Mail, at: Timestamp) -> Vec<Reading> {
    let Some(message) = parse(&mail.octets) else {
        return mail.recipients.iter().map(|_| Reading::Ignored("unreadable")).collect();
    };
    mail.recipients.iter().map(|recipient| read_for(&message, mail, recipient, at)).collect()
}

fn read_for(message: &Message<'_>, mail: &Mail, recipient: &Recipient, at: Timestamp) -> Reading {
    if let Some(report) = report::report(message) {
        return receipt(recipient, report, at);
    }
    match recipient.kind {
        TagKind::Bounces => match failure::failure(message, &mail.from) {
            Some(report) => receipt(recipient, report, at),
            None => Reading::Ignored("no report"),
        },
        TagKind::Answers => match automatic::automatic(message, &mail.from) {
            Some(why) => Reading::Ignored(why),
            None => Reading::Outcome(Outcome::Inbound(Inbound {
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

/// What a mail system says of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    state: ReceiptState,
    text: String,
}

fn receipt(recipient: &Recipient, report: Report, at: Timestamp) -> Reading {
    Reading::Outcome(Outcome::Receipt(Receipt {
        // Which relay it went by is the submission's to say: the key leads there.
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

/// How often a word stands in it, in any case.
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
