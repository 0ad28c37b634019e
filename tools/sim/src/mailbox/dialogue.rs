//! The server's side of SMTP (RFC 5321, 1870, 2034, 2920, 3207, 4954, 6152): octets in, octets out, no
//! socket.

use super::ledger::{MailBatch, ReceivedMail, key};
use super::reply_mail;
use super::{Scene, Shared, Stage, reply_mail::Parcel};
use crate::chance::{Chance, hash};
use crate::town::{CarrierRefusal, Conduct};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Longest command line (RFC 5321 §4.5.3.1.4 asks for 512; extensions add to it).
const LINE_OCTETS_MAX: usize = 2_048;

/// What a session does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DialogueStep {
    /// Read on.
    Read,
    /// Write what there is, wait, then call [`Dialogue::resume`].
    Wait(Duration),
    /// Write what there is, then turn to TLS.
    StartTls,
    /// Write what there is, then close.
    Close,
    /// Close without another word.
    Cut,
}

pub(super) struct Dialogue {
    shared: Arc<Shared>,
    scene: Arc<Scene>,
    chance: Chance,
    is_tls: bool,
    is_logged_in: bool,
    has_greeted: bool,
    /// MAIL FROM.
    sender: Option<String>,
    recipients: Vec<(String, Conduct)>,
    is_data: bool,
    /// So much of the mail that is coming was looked through.
    searched: usize,
    /// A reply that waits for its latency.
    held: Option<String>,
    batch: MailBatch,
    parcels: Vec<(u64, Parcel)>,
}

impl Dialogue {
    pub(super) fn new(shared: Arc<Shared>, number: u64) -> Self {
        let scene = shared.scene();
        let chance = Chance::new(scene.options.seed, number);
        Dialogue {
            shared,
            scene,
            chance,
            is_tls: false,
            is_logged_in: false,
            has_greeted: false,
            sender: None,
            recipients: Vec::new(),
            is_data: false,
            searched: 0,
            held: None,
            batch: MailBatch::default(),
            parcels: Vec::new(),
        }
    }

    /// The first words.
    pub(super) fn greet(&mut self, is_too_many: bool, out: &mut Vec<u8>) -> DialogueStep {
        let refusal = match is_too_many {
            true => Some("421 4.7.0 too many connections".to_owned()),
            false => self.chance_error(Stage::Connect),
        };
        let step = if refusal.is_some() { DialogueStep::Close } else { DialogueStep::Read };
        match refusal {
            Some(reply) => self.refuse(&reply, out),
            None => say(&format!("220 {} ESMTP", self.scene.options.hostname), out),
        }
        self.close_batch();
        step
    }

    /// TLS is on: everything said before is forgotten (RFC 3207 §4.2).
    pub(super) fn turned_to_tls(&mut self) {
        self.is_tls = true;
        self.has_greeted = false;
        self.reset();
    }

    /// Handles all whole commands and mails at the front of `input`; returns how many octets they took.
    pub(super) fn handle(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, DialogueStep) {
        self.batch.now_us = self.shared.clock.now_us();
        self.scene = self.shared.scene();
        let mut at = 0;
        let step = loop {
            let rest = &input[at..];
            let (taken, step) = if self.is_data { self.data(rest, out) } else { self.line(rest, out) };
            at += taken;
            match step {
                Some(step) => break step,
                None if taken == 0 => break DialogueStep::Read,
                None => {}
            }
        };
        self.close_batch();
        (at, step)
    }

    /// The latency is over.
    pub(super) fn resume(&mut self, out: &mut Vec<u8>) {
        if let Some(reply) = self.held.take() {
            say(&reply, out);
        }
    }

    /// Counted and kept before any answer can leave.
    fn close_batch(&mut self) {
        self.shared.ledger.enter(&mut self.batch, self.scene.options.keep);
        self.shared.door.mail(&mut self.parcels);
    }

    fn line(&mut self, rest: &[u8], out: &mut Vec<u8>) -> (usize, Option<DialogueStep>) {
        let window = &rest[..rest.len().min(LINE_OCTETS_MAX)];
        let Some(end) = window.iter().position(|&octet| octet == b'\n') else {
            if window.len() < LINE_OCTETS_MAX {
                return (0, None);
            }
            self.refuse("500 5.5.2 the line is too long", out);
            return (rest.len(), Some(DialogueStep::Close));
        };
        let line = String::from_utf8_lossy(&rest[..end]);
        (end + 1, self.command(line.trim_end(), out))
    }

    fn command(&mut self, line: &str, out: &mut Vec<u8>) -> Option<DialogueStep> {
        let (verb, argument) = line.split_once(' ').unwrap_or((line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" => self.hello(out),
            "HELO" => {
                self.has_greeted = true;
                self.reset();
                say(&format!("250 {}", self.scene.options.hostname), out);
            }
            "MAIL" => self.mail(argument, out),
            "RCPT" => self.rcpt(argument, out),
            "DATA" if self.recipients.is_empty() => self.refuse("503 5.5.1 RCPT first", out),
            "DATA" => {
                self.is_data = true;
                self.searched = 0;
                say("354 go on", out);
            }
            "RSET" => {
                self.reset();
                say("250 2.0.0 ok", out);
            }
            "NOOP" => say("250 2.0.0 ok", out),
            "VRFY" => say("252 2.1.5 try it", out),
            "AUTH" => self.auth(argument, out),
            "STARTTLS" if self.scene.options.starttls && !self.is_tls => {
                say("220 2.0.0 go on", out);
                return Some(DialogueStep::StartTls);
            }
            "QUIT" => {
                say("221 2.0.0 bye", out);
                return Some(DialogueStep::Close);
            }
            _ => self.refuse("500 5.5.1 unknown command", out),
        }
        None
    }

    fn hello(&mut self, out: &mut Vec<u8>) {
        self.has_greeted = true;
        self.reset();
        let options = &self.scene.options;
        say(&format!("250-{}", options.hostname), out);
        say("250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES", out);
        if options.pipelining {
            say("250-PIPELINING", out);
        }
        if options.starttls && !self.is_tls {
            say("250-STARTTLS", out);
        }
        if options.login.is_some() {
            say("250-AUTH PLAIN", out);
        }
        say(&format!("250 SIZE {}", options.octets_max), out);
    }

    /// AUTH PLAIN with its initial response (RFC 4616): authorisation, name and password, parted by NUL.
    fn auth(&mut self, argument: &str, out: &mut Vec<u8>) {
        let Some(login) = &self.scene.options.login else {
            return self.refuse("502 5.5.1 nobody has to log in", out);
        };
        let (mechanism, response) = argument.split_once(' ').unwrap_or((argument, ""));
        let expected = format!("\0{}\0{}", login.username, login.password);
        if !mechanism.eq_ignore_ascii_case("PLAIN") || response.is_empty() {
            return self.refuse("504 5.5.4 AUTH PLAIN with its response, please", out);
        }
        self.is_logged_in = reply_mail::base64(expected.as_bytes()) == response;
        if self.is_logged_in {
            say("235 2.7.0 welcome", out);
        } else {
            self.refuse("535 5.7.8 wrong name or password", out);
        }
    }

    fn mail(&mut self, argument: &str, out: &mut Vec<u8>) {
        let options = &self.scene.options;
        let Some((address, parameters)) = path(argument, "FROM:") else {
            return self.refuse("501 5.5.4 MAIL FROM:<address>", out);
        };
        let size =
            parameters.split(' ').find_map(|p| p.to_ascii_uppercase().strip_prefix("SIZE=")?.parse().ok());
        let problem = if !self.has_greeted {
            Some("503 5.5.1 EHLO first".to_owned())
        } else if options.login.is_some() && !self.is_logged_in {
            Some("530 5.7.0 log in first".to_owned())
        } else if self.sender.is_some() {
            Some("503 5.5.1 one at a time".to_owned())
        } else if size.is_some_and(|size: usize| size > options.octets_max) {
            Some("552 5.3.4 the mail is too big".to_owned())
        } else {
            self.chance_error(Stage::Mail)
        };
        if let Some(reply) = problem {
            return self.refuse(&reply, out);
        }
        self.sender = Some(address.to_owned());
        say("250 2.1.0 ok", out);
    }

    fn rcpt(&mut self, argument: &str, out: &mut Vec<u8>) {
        if self.sender.is_none() {
            return self.refuse("503 5.5.1 MAIL first", out);
        }
        let Some((address, _)) = path(argument, "TO:").filter(|(address, _)| address.contains('@')) else {
            return self.refuse("501 5.1.3 RCPT TO:<address>", out);
        };
        if self.recipients.len() >= self.scene.options.recipients_max {
            return self.refuse("452 4.5.3 too many recipients", out);
        }
        let conduct =
            self.scene.options.people.as_ref().map_or(Conduct::Silent, |people| people.mailbox(address));
        let refusal = match conduct {
            Conduct::Refuses(CarrierRefusal::UnknownUser) => Some("550 5.1.1 nobody of that name".to_owned()),
            Conduct::Refuses(CarrierRefusal::MailboxFull) => Some("452 4.2.2 the mailbox is full".to_owned()),
            Conduct::Refuses(CarrierRefusal::Greylisted)
                if self.shared.is_new(hash(0, address.as_bytes())) =>
            {
                Some("451 4.7.1 come again later".to_owned())
            }
            _ => self.chance_error(Stage::Rcpt),
        };
        if let Some(reply) = refusal {
            return self.refuse(&reply, out);
        }
        self.recipients.push((address.to_owned(), conduct));
        say("250 2.1.5 ok", out);
    }

    /// The mail itself, up to the lone dot.
    fn data(&mut self, rest: &[u8], out: &mut Vec<u8>) -> (usize, Option<DialogueStep>) {
        let Some(end) = end_of_data(rest, self.searched) else {
            // The end may lie across the border of two reads.
            self.searched = rest.len().saturating_sub(4);
            if rest.len() > self.scene.options.octets_max + LINE_OCTETS_MAX {
                self.refuse("552 5.3.4 the mail is too big", out);
                return (rest.len(), Some(DialogueStep::Close));
            }
            return (0, None);
        };
        self.is_data = false;
        let (content, taken) = (&rest[..end], end + 3);
        let is_cut = self.scene.options.disconnect > 0.0 && self.chance.hits(self.scene.options.disconnect);
        if is_cut {
            self.batch.cut += 1;
            if self.chance.hits(self.scene.options.disconnect_accepts) {
                self.accept(content);
            }
            return (taken, Some(DialogueStep::Cut));
        }
        let refusal = match content.len() > self.scene.options.octets_max {
            true => Some("552 5.3.4 the mail is too big".to_owned()),
            false => self.chance_error(Stage::Data),
        };
        let reply = match refusal {
            Some(reply) => {
                self.batch.refused.push(reply.clone());
                self.reset();
                Cow::Owned(reply)
            }
            None => {
                self.accept(content);
                Cow::Borrowed("250 2.0.0 taken")
            }
        };
        let latency = self.scene.options.latency;
        if latency.is_none() {
            say(&reply, out);
            return (taken, None);
        }
        self.held = Some(reply.into_owned());
        (taken, Some(DialogueStep::Wait(latency.at(self.chance.unit()))))
    }

    /// Counts it, keeps it, plans what comes back.
    fn accept(&mut self, content: &[u8]) {
        let recipients = std::mem::take(&mut self.recipients);
        let sender = self.sender.take().unwrap_or_default();
        let options = &self.scene.options;
        self.batch.mails += 1;
        self.batch.accepted += recipients.len() as u64;
        self.batch.octets += content.len() as u64;
        if options.count != super::Counting::Off {
            let message_id = reply_mail::message_id(content);
            self.batch
                .keys
                .extend(recipients.iter().filter_map(|(to, _)| key(options.count, to, message_id)));
        }
        let is_answered = options.door.is_some() && recipients.iter().any(|(_, c)| *c != Conduct::Silent);
        if options.keep == 0 && options.folder.is_none() && !is_answered {
            return;
        }
        let to = recipients.iter().map(|(to, _)| to.clone()).collect();
        let mail =
            ReceivedMail { at_us: self.batch.now_us, from: sender, to, raw: unstuffed(content).into() };
        if is_answered {
            let words = mail.words();
            for (recipient, conduct) in &recipients {
                let bounce_us = options.bounce_after.at(self.chance.unit()).as_micros() as u64;
                let answer =
                    reply_mail::answer(&mail, &words, recipient, conduct, bounce_us, &options.hostname);
                self.parcels.extend(answer);
            }
        }
        self.batch.kept.push(mail);
    }

    /// A refusal of the error mix, if it hits.
    fn chance_error(&mut self, stage: Stage) -> Option<String> {
        let errors = &self.scene.options.errors;
        if errors.is_empty() {
            return None;
        }
        let chance = &mut self.chance;
        errors
            .iter()
            .find(|error| error.at == stage && chance.hits(error.share))
            .map(|error| error.reply.clone())
    }

    fn refuse(&mut self, reply: &str, out: &mut Vec<u8>) {
        self.batch.refused.push(reply.to_owned());
        say(reply, out);
    }

    fn reset(&mut self) {
        self.sender = None;
        self.recipients.clear();
    }
}

fn say(reply: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(reply.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The address between the brackets of MAIL or RCPT, and the parameters behind it.
fn path<'a>(argument: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let (head, rest) = argument.split_at_checked(word.len())?;
    if !head.eq_ignore_ascii_case(word) {
        return None;
    }
    let (address, parameters) = rest.trim_start().strip_prefix('<')?.split_once('>')?;
    Some((address, parameters.trim()))
}

/// Where the lone dot's line begins, searching from `from`.
fn end_of_data(rest: &[u8], from: usize) -> Option<usize> {
    if rest.starts_with(b".\r\n") {
        return Some(0);
    }
    let mut at = from;
    while let Some(found) = rest.get(at..)?.iter().position(|&octet| octet == b'\n') {
        let next = at + found + 1;
        if rest[next..].starts_with(b".\r\n") {
            return Some(next);
        }
        at = next;
    }
    None
}

/// Without the dots that RFC 5321 §4.5.2 puts before dots at the beginning of a line.
fn unstuffed(content: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(content.len());
    for line in content.split_inclusive(|&octet| octet == b'\n') {
        plain.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_mail_is_found_wherever_it_was_cut() {
        let whole = b"one\r\n..two\r\n.\r\nQUIT\r\n";
        assert_eq!(end_of_data(whole, 0), Some(12));
        for cut in 0..=whole.len() {
            let searched = match end_of_data(&whole[..cut], 0) {
                Some(end) => {
                    assert_eq!(end, 12);
                    continue;
                }
                None => cut.saturating_sub(4),
            };
            assert_eq!(end_of_data(whole, searched), Some(12), "cut at {cut}");
        }
        assert_eq!(end_of_data(b".\r\n", 0), Some(0));
        assert_eq!(end_of_data(b"one\r\n.x\r\n", 0), None);
        assert_eq!(unstuffed(b"one\r\n..two\r\n"), b"one\r\n.two\r\n");
    }

    #[test]
    fn paths_are_read_with_their_parameters() {
        assert_eq!(
            path("FROM:<a@b.test> SIZE=7 BODY=8BITMIME", "FROM:"),
            Some(("a@b.test", "SIZE=7 BODY=8BITMIME"))
        );
        assert_eq!(path("from: <>", "FROM:"), Some(("", "")));
        assert_eq!(path("TO:a@b.test", "TO:"), None);
        assert_eq!(path("FROM:<a", "FROM:"), None);
        assert_eq!(path("é", "FROM:"), None);
    }
}
