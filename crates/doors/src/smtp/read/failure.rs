//! Bounces without a delivery status notification: the form before RFC 3464, which some mail systems still
//! use.

use super::{DeliveryReport, header, one_line};
use mail_parser::Message;
use records::ReceiptState;

/// Only so much of a bounce is searched: the error stands before the quoted mail.
const SEARCH_OCTETS_MAX: usize = 8 * 1024;
/// Words of a bounce's subject or beginning, in lower case.
const FAILED: [&str; 34] = [
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
    "olevererbar",
    "kan ikke leveres",
    "ikke leveret",
    "kunne ikke leveres",
    "échec de la remise",
    "non remis",
    "n'a pas pu être remis",
    "no se puede entregar",
    "no se pudo entregar",
    "no entregado",
    "mancata consegna",
    "non recapitabile",
    "onbestelbaar",
    "niedostarczon",
    "não entregue",
    "não pôde ser entregue",
    "toimittaminen epäonnistui",
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
    let by_daemon = is_by_daemon(message);
    if !named && !by_daemon && (!sender.is_empty() || answers_by_itself(message)) {
        return None;
    }
    let subject = message.subject().unwrap_or_default();
    let searched = format!("{subject}\n{text}").to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| searched.contains(sign));
    let failed = says(&FAILED);
    // Anybody may write of a house with number 550: a code counts where a mail system speaks.
    let speaks = named || by_daemon || failed;
    let line = text.lines().find(|line| speaks && code_in(line).is_some());
    let code = line.and_then(code_in);
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

/// A mail system's own mailbox as author.
fn is_by_daemon(message: &Message<'_>) -> bool {
    let author =
        message.from().and_then(|from| from.first()).and_then(|from| from.address()).unwrap_or_default();
    let mailbox = author.split('@').next().unwrap_or_default().to_ascii_lowercase();
    matches!(mailbox.as_str(), "mailer-daemon" | "postmaster" | "mail-daemon")
}

/// A responder's mail, which has the null sender too and goes to the Return-Path (RFC 3834, 3.3 and 4).
fn answers_by_itself(message: &Message<'_>) -> bool {
    /// Headers that responders write, and no mail system in a bounce that has no other sign.
    const RESPONDERS: [&str; 6] = [
        "X-Autoreply",
        "X-Autorespond",
        "X-Autoreply-From",
        "X-Mail-Autoreply",
        "X-Auto-Response-Suppress",
        "X-Vacation",
    ];
    let says = |name, word: &str| {
        header(message, name).is_some_and(|value| value.to_ascii_lowercase().starts_with(word))
    };
    says("Auto-Submitted", "auto-replied")
        || says("Precedence", "auto_reply")
        || RESPONDERS.iter().any(|name| header(message, name).is_some())
        || super::automatic::is_subject_of_responder(message)
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
