//! The words of bounces (RFC 3464), answers, and machines that answer for people (RFC 3834).

use super::ledger::{MailText, ReceivedMail};
use crate::chance::hash;
use crate::clock::mail_date;
use crate::town::Conduct;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// A mail on its way to the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parcel {
    pub(super) kind: ReplyKind,
    /// MAIL FROM; empty for what no one may answer.
    pub(super) from: String,
    pub(super) to: String,
    /// Headers and body, lines ended by CRLF.
    pub(super) content: String,
    /// So often it was tried.
    pub(super) tries: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyKind {
    Bounce,
    Answer,
    Automatic,
}

/// What comes back from one recipient, and when.
pub(super) fn answer(
    mail: &ReceivedMail,
    words: &MailText,
    recipient: &str,
    conduct: &Conduct,
    bounce_us: u64,
    hostname: &str,
) -> Option<(u64, Parcel)> {
    let (after_us, kind, text) = match conduct {
        Conduct::Lost => (bounce_us, ReplyKind::Bounce, ""),
        Conduct::Away => (bounce_us, ReplyKind::Automatic, "I am out of office until Monday."),
        Conduct::Answers { text, after } => (after.as_micros() as u64, ReplyKind::Answer, text.as_str()),
        Conduct::Stops { after } => (after.as_micros() as u64, ReplyKind::Answer, "STOP"),
        _ => return None,
    };
    let at_us = mail.at_us + after_us;
    // A bounce and a machine's answer go to the envelope's sender, a person's answer to who asked for it.
    let to = if kind == ReplyKind::Answer { &words.reply_to } else { &mail.from };
    if to.is_empty() {
        return None;
    }
    let content = match kind {
        ReplyKind::Bounce => bounce(mail, words, recipient, at_us, hostname),
        _ => reply(words, recipient, to, text, kind, at_us),
    };
    let from = if kind == ReplyKind::Answer { recipient.to_owned() } else { String::new() };
    Some((at_us, Parcel { kind, from, to: to.clone(), content, tries: 0 }))
}

/// A person's answer as their program writes it: their words above, ours quoted below.
fn reply(words: &MailText, recipient: &str, to: &str, text: &str, kind: ReplyKind, at_us: u64) -> String {
    let is_automatic = kind == ReplyKind::Automatic;
    let mut out = head(recipient, to, recipient, at_us);
    let subject = &words.subject;
    let subject = if is_automatic { format!("Automatic reply: {subject}") } else { format!("Re: {subject}") };
    let _ = write!(out, "Subject: {}\r\n", encoded_word(&subject));
    if !words.message_id.is_empty() {
        let id = &words.message_id;
        let _ = write!(out, "In-Reply-To: <{id}>\r\nReferences: <{id}>\r\n");
    }
    if is_automatic {
        out.push_str("Auto-Submitted: auto-replied\r\n");
    }
    out.push_str("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n");
    let mut body = format!("{text}\r\n");
    if !is_automatic {
        let _ = write!(body, "\r\nOn {}, {} wrote:\r\n", mail_date(words.at_us), words.reply_to);
        for line in words.text.lines() {
            let _ = write!(body, "> {line}\r\n");
        }
    }
    push_base64(body.as_bytes(), &mut out);
    out
}

/// A delivery status notification: a text, the status for machines, the headers of what was returned.
fn bounce(mail: &ReceivedMail, words: &MailText, recipient: &str, at_us: u64, hostname: &str) -> String {
    let boundary = format!("{:016x}", hash(mail.at_us, recipient.as_bytes()));
    let mut out = head(&format!("mailer-daemon@{hostname}"), &mail.from, recipient, at_us);
    let headers = headers(&mail.raw);
    let _ = write!(
        out,
        "Subject: Undelivered mail returned to sender\r\n\
         Auto-Submitted: auto-replied\r\n\
         Content-Type: multipart/report; report-type=delivery-status;\r\n boundary=\"{boundary}\"\r\n\r\n\
         --{boundary}\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n\
         Your mail to <{recipient}> could not be delivered: the mailbox is disabled.\r\n\
         \r\n--{boundary}\r\nContent-Type: message/delivery-status\r\n\r\n\
         Reporting-MTA: dns; {hostname}\r\nArrival-Date: {}\r\n\r\n\
         Final-Recipient: rfc822; {recipient}\r\nAction: failed\r\nStatus: 5.2.1\r\n\
         Diagnostic-Code: smtp; 550 5.2.1 the mailbox is disabled\r\n\
         \r\n--{boundary}\r\nContent-Type: text/rfc822-headers\r\n\r\n{headers}\r\n--{boundary}--\r\n",
        mail_date(words.at_us),
    );
    out
}

/// The headers every mail has.
fn head(from: &str, to: &str, recipient: &str, at_us: u64) -> String {
    let domain = recipient.rsplit('@').next().unwrap_or("town.example");
    format!(
        "From: <{from}>\r\nTo: <{to}>\r\nDate: {}\r\nMessage-ID: <{at_us:x}.{:016x}@{domain}>\r\nMIME-Version: 1.0\r\n",
        mail_date(at_us),
        hash(at_us, recipient.as_bytes()),
    )
}

/// RFC 2047, in words short enough for it; ASCII stays as it is.
fn encoded_word(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut words: Vec<String> = vec![String::new()];
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if word.len() + c.len_utf8() <= 42 => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let words: Vec<String> =
        words.iter().map(|word| format!("=?utf-8?B?{}?=", base64(word.as_bytes()))).collect();
    words.join("\r\n ")
}

/// The octets in base64, without line ends.
pub(super) fn base64(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

fn push_base64(octets: &[u8], out: &mut String) {
    for line in octets.chunks(57) {
        out.push_str(&base64(line));
        out.push_str("\r\n");
    }
}

/// The header block, its last line ended.
fn headers(raw: &[u8]) -> String {
    let end = raw.windows(4).position(|end| end == b"\r\n\r\n").map_or(raw.len(), |at| at + 2);
    String::from_utf8_lossy(&raw[..end]).into_owned()
}

/// The Message-ID of a mail, brackets included; empty if it has none.
pub(super) fn message_id(content: &[u8]) -> &str {
    const NAME: &[u8] = b"message-id:";
    for line in content.split(|&octet| octet == b'\n') {
        if line.is_empty() || line == b"\r" {
            return "";
        }
        if let Some((name, value)) = line.split_at_checked(NAME.len())
            && name.eq_ignore_ascii_case(NAME)
        {
            return std::str::from_utf8(value).unwrap_or_default().trim();
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail_parser::{MessageParser, MimeHeaders};
    use std::time::Duration;

    fn mail() -> ReceivedMail {
        let raw = "From: Town <alerts@campanile.test>\r\nReply-To: answers@campanile.test\r\n\
                   Subject: =?utf-8?B?w4Vza2E=?=\r\nMessage-ID: <7.1@campanile.test>\r\n\r\nFire at the harbour.\r\n";
        ReceivedMail {
            at_us: 1_795_000_000_000_000,
            from: "bounces@campanile.test".to_owned(),
            to: vec!["a@b.test".to_owned()],
            raw: raw.as_bytes().into(),
        }
    }

    fn answer_of(conduct: &Conduct) -> Option<(u64, Parcel)> {
        let mail = mail();
        answer(&mail, &mail.words(), "a@b.test", conduct, 200_000, "mx.town.example")
    }

    #[test]
    fn a_person_answers_whom_the_mail_says_with_our_words_quoted() {
        let text = "Я в порядке — allt väl".to_owned();
        let (at_us, parcel) = answer_of(&Conduct::Answers { text, after: Duration::from_secs(2) }).unwrap();
        assert_eq!(at_us, 1_795_000_002_000_000);
        assert_eq!((parcel.from.as_str(), parcel.to.as_str()), ("a@b.test", "answers@campanile.test"));
        let message = MessageParser::default().parse(&parcel.content).unwrap();
        assert_eq!(message.subject(), Some("Re: Åska"));
        assert_eq!(message.in_reply_to().as_text(), Some("7.1@campanile.test"));
        let text = message.body_text(0).unwrap();
        assert!(text.starts_with("Я в порядке — allt väl\r\n"), "{text}");
        assert!(text.contains("> Fire at the harbour."), "{text}");
        assert!(message.header("Auto-Submitted").is_none());
    }

    #[test]
    fn a_bounce_goes_to_the_envelope_with_the_status_for_machines() {
        let (_, parcel) = answer_of(&Conduct::Lost).unwrap();
        assert_eq!((parcel.from.as_str(), parcel.to.as_str()), ("", "bounces@campanile.test"));
        let message = MessageParser::default().parse(&parcel.content).unwrap();
        let kind = message.content_type().unwrap();
        assert_eq!((kind.ctype(), kind.attribute("report-type")), ("multipart", Some("delivery-status")));
        for line in [
            "Final-Recipient: rfc822; a@b.test",
            "Action: failed",
            "Status: 5.2.1",
            "Message-ID: <7.1@campanile.test>",
        ] {
            assert!(parcel.content.contains(&format!("\r\n{line}\r\n")), "{line}");
        }
        assert_eq!(message.parts.len(), 4);
    }

    #[test]
    fn a_machine_says_that_it_is_one_and_a_bounce_is_never_answered() {
        let (_, parcel) = answer_of(&Conduct::Away).unwrap();
        assert_eq!((parcel.kind, parcel.from.as_str()), (ReplyKind::Automatic, ""));
        assert!(parcel.content.contains("\r\nAuto-Submitted: auto-replied\r\n"));
        let bounce = ReceivedMail { from: String::new(), ..mail() };
        assert_eq!(answer(&bounce, &bounce.words(), "a@b.test", &Conduct::Lost, 0, "x"), None);
        assert_eq!(answer_of(&Conduct::Silent), None);
    }

    #[test]
    fn the_message_id_is_found_in_the_headers_alone() {
        assert_eq!(message_id(&mail().raw), "<7.1@campanile.test>");
        assert_eq!(message_id(b"MESSAGE-ID:<x>\r\n\r\n"), "<x>");
        assert_eq!(message_id(b"Subject: x\r\n\r\nMessage-ID: <no>\r\n"), "");
        assert_eq!(message_id(b""), "");
    }

    #[test]
    fn long_subjects_are_cut_between_characters() {
        let subject = "Åäö ".repeat(30);
        let raw = format!("Subject: {}\r\n\r\n", encoded_word(&subject));
        let message = MessageParser::default().parse(&raw).unwrap();
        assert_eq!(message.subject().unwrap().trim(), subject.trim());
        assert!(raw.lines().all(|line| line.len() <= 78));
    }
}
