//! Bounces that have to be told from other mail to the Return-Path, and from those on other recipients.

use super::*;

const ADDRESS: &str = "r0@example.org";

fn notification(groups: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.example\nTo: x\nSubject: Undelivered\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=\"b\"\n\n--b\n\nSee below.\n\n--b\n\
         Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n{groups}\n\n--b--\n"
    )
}

fn group(original: &str, last: &str, action: &str, status: &str) -> String {
    let original =
        if original.is_empty() { String::new() } else { format!("Original-Recipient: rfc822;{original}\n") };
    format!("{original}Final-Recipient: rfc822; {last}\nAction: {action}\nStatus: {status}\n\n")
}

fn state(text: &str) -> Option<ReceiptState> {
    let octets = text.replace('\n', "\r\n").into_bytes();
    let mail = InboundMail { from: String::new(), recipients: vec![recipient(TagKind::Bounces)], octets };
    let addresses = [Some(ADDRESS.to_owned())];
    let facts = MailFacts { addresses: &addresses, at: AT, ..MailFacts::default() };
    match super::super::read(&mail, facts).remove(0) {
        MailReading::Outcome(Outcome::Receipt(receipt)) => Some(receipt.state),
        _ => None,
    }
}

#[test]
fn of_several_recipients_of_a_notification_ours_counts() {
    use ReceiptState::{Buffered, Delivered, Failed};
    let (delivered, failed) = (("delivered", "2.0.0"), ("failed", "5.1.1"));
    let of = |original, last, (action, status)| group(original, last, action, status);
    for (groups, expected) in [
        (of("", "a@else.example", delivered) + &of("", ADDRESS, failed), Failed),
        (of("", "a@else.example", failed) + &of("", "R0@Example.org", delivered), Delivered),
        (of("", ADDRESS, failed) + &of("", "a@else.example", delivered), Failed),
        // An alias of ours leads to two mailboxes: one copy is enough.
        (of(ADDRESS, "a@else.example", failed) + &of(ADDRESS, "b@else.example", delivered), Delivered),
        (
            of(ADDRESS, "a@else.example", failed) + &of(ADDRESS, "b@else.example", ("relayed", "2.0.0")),
            Buffered,
        ),
        (of("r0+40example.org", "a@else.example", failed) + &of("x@y", "b@else.example", delivered), Failed),
        // Nobody knows whose is whose.
        (of("", "a@else.example", delivered) + &of("", "b@else.example", failed), Failed),
        (of("", "a@else.example", delivered), Delivered),
    ] {
        let text = notification(&groups);
        assert_eq!(state(&text), Some(expected), "{groups}");
        assert_eq!(
            needs_addresses(&InboundMail {
                from: String::new(),
                recipients: Vec::new(),
                octets: text.into_bytes(),
            }),
            groups.matches("Final-Recipient").count() > 1
        );
    }
}

#[test]
fn a_note_of_absence_to_the_return_path_is_no_bounce() {
    for (headers, subject, body) in [
        (
            "Auto-Submitted: auto-generated\nX-Auto-Response-Suppress: All\n",
            "Automatic reply: Fire",
            "I am out.\n\n500 Market Street\nSan Francisco",
        ),
        ("Auto-Submitted: auto-generated\n", "Fire", "Ich bin abwesend.\n\n555 0100 (Zentrale)"),
        ("", "Fire", "Our server room is at 550 Main Street; user 501 answers the host line."),
        ("", "Fire", "Room 5.1.1, back on Monday"),
        ("X-Autoreply: yes\n", "Away", "What you wrote was not delivered to anybody else."),
        ("Precedence: auto_reply\n", "Away", "Mail that could not be delivered goes to 550 5.1.1"),
    ] {
        let text = format!("From: Ann <ann@people.test>\nSubject: {subject}\n{headers}\n{body}\n");
        assert_eq!(
            read_one(TagKind::Bounces, "", &text),
            MailReading::Ignored("no report"),
            "{subject} {body}"
        );
    }
}

#[test]
fn a_mail_system_without_notifications_is_understood_in_several_languages() {
    for subject in [
        "Échec de la remise : Feu",
        "No se puede entregar: Fuego",
        "Mancata consegna: Fuoco",
        "Onbestelbaar: Brand",
        "Niedostarczone: Pożar",
        "Não entregue: Fogo",
        "Ikke leveret: Brand",
        "Olevererbart: Brand",
    ] {
        let text = format!("From: postmaster@mx.example\nSubject: {subject}\n\nr0@example.org\n");
        let reading = read_one(TagKind::Bounces, "", &text);
        let MailReading::Outcome(Outcome::Receipt(receipt)) = reading else {
            panic!("{subject}: {reading:?}")
        };
        assert_eq!(receipt.state, ReceiptState::Failed, "{subject}");
    }
}
