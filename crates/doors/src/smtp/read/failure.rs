//! Bounces without a delivery status notification: the form before RFC 3464, which some mail systems still
//! use.

use super::{DeliveryReport, header, one_line};
use mail_parser::Message;
use records::ReceiptState;

/// Only so much of a bounce is searched: the error stands before the quoted mail.
const SEARCH_OCTETS_MAX: usize = 8 * 1024;
/// Words of a bounce's subject or beginning, in lower case.
const FAILED: [&str; 17] = [
    "undeliver",
    "delivery status notification (failure)",
    "delivery failure",
    "delivery has failed",
    "failure notice",
    "returned mail",
    "returned to sender",
    "mail delivery failed",
    "mail system error",
    "could not be delivered",
    "couldn't be delivered",
    "wasn't able to deliver",
    "was not delivered",
    "unzustellbar",
    "nicht zugestellt werden",
    "kunde inte levereras",
    "gick inte att leverera",
];
/// Words of a warning: delivery is still tried.
const DELAYED: [&str; 7] = [
    "delivery status notification (delay)",
    "delayed",
    "warning: could not send",
    "will be retried",
    "still being retried",
    "verzögert",
    "fördröjd",
];

/// The report of a bounce; nothing if the mail does not look like one. `sender`: the envelope's.
pub fn failure(message: &Message<'_>, sender: &str) -> Option<DeliveryReport> {
    let text = message.body_text(0).unwrap_or_default();
    let end =
        (0..=text.len().min(SEARCH_OCTETS_MAX)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let text = before_copy(&text[..end]);
    // Exim names the failed recipients; no other system writes this header.
    let named = header(message, "X-Failed-Recipients").is_some();
    if !named && !is_from_mail_system(message, sender) {
        return None;
    }
    let subject = message.subject().unwrap_or_default();
    let searched = format!("{subject}\n{text}").to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| searched.contains(sign));
    let line = text.lines().find(|line| code_in(line).is_some());
    let code = line.and_then(code_in);
    let failed = says(&FAILED);
    if !(named || failed || code.is_some() || says(&DELAYED)) {
        return None;
    }
    let delayed =
        says(&DELAYED) && !failed || !named && !failed && code.is_some_and(|code| code.starts_with('4'));
    let state = if delayed { ReceiptState::Buffered } else { ReceiptState::Failed };
    Some(DeliveryReport { state, text: one_line(line.unwrap_or(subject)) })
}

/// The text before the copy of our own mail, which is not the mail system's.
fn before_copy(text: &str) -> &str {
    let lower = text.to_ascii_lowercase();
    let marks = ["copy of the message", "original message", "copy of your message", "message headers"];
    let end = marks.iter().filter_map(|mark| lower.find(mark)).min();
    &text[..end.unwrap_or(text.len())]
}

/// The null sender, or a mail system's own mailbox as author.
fn is_from_mail_system(message: &Message<'_>, sender: &str) -> bool {
    let author =
        message.from().and_then(|from| from.first()).and_then(|from| from.address()).unwrap_or_default();
    let mailbox = author.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let daemon = matches!(mailbox.as_str(), "mailer-daemon" | "postmaster" | "mail-daemon");
    // A responder's mail has the null sender too, with `Auto-Submitted: auto-replied`; of bounces only Exim's
    // have that, and they are found by their own header.
    let replied = header(message, "Auto-Submitted")
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("auto-replied"));
    daemon || sender.is_empty() && !replied
}

/// An enhanced status code (`5.1.1`), or a reply code (`550`) where a line begins, or ends a host's reply.
fn code_in(line: &str) -> Option<&str> {
    let words = line.split([' ', '\t', ':', ',', ';', '(', ')', '<', '>', '[', ']', '#', '-']);
    words.map(|word| word.trim_matches('.')).find(|word| is_enhanced(word) || is_reply(word, line))
}

fn is_enhanced(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let digits =
        |part: &&str| (1..=3).contains(&part.len()) && part.bytes().all(|octet| octet.is_ascii_digit());
    parts.len() == 3 && matches!(parts[0], "4" | "5") && parts.iter().all(digits)
}

/// Three digits alone may be anything: only where they begin the line, or it names a host, a server or SMTP.
fn is_reply(word: &str, line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    let speaks = lower.starts_with(word)
        || ["smtp", "said", "host", "server", "remote", "error", "user", "mailbox"]
            .iter()
            .any(|sign| lower.contains(sign));
    word.len() == 3
        && word.starts_with(['4', '5'])
        && word.bytes().all(|octet| octet.is_ascii_digit())
        && speaks
}
