//! An SMTP server without sockets or clock (RFC 5321), for a door that takes mail for its own tagged addresses alone.
//!
//! Nothing is relayed and nothing is stored here: a whole mail is an [`Event`], and the client gets no reply to it, and
//! is not listened to, until [`Server::answer`] says what became of it.

mod command;
mod incoming;
#[cfg(test)]
mod tests;

use super::tag::{TagKind, TagReader};
use command::{Command, NotACommand};
use incoming::Incoming;
use records::{AlertNo, EndpointNo};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A mail is at most so many octets.
pub const MAIL_OCTETS_MAX: usize = 1024 * 1024;
/// A mail has at most so many recipients.
pub const RECIPIENTS_MAX: usize = 10;
/// A command line is at most so many octets with its end: RFC 5321 §4.5.3.1.4 says 512, extensions add to it.
pub const COMMAND_OCTETS_MAX: usize = 2048;
/// So many errors end a session.
pub const ERRORS_MAX: u32 = 10;
/// So many commands end a session.
pub const COMMANDS_MAX: u32 = 10_000;
/// A command must be whole within this (RFC 5321 §4.5.3.2.7).
pub const COMMAND_WITHIN: Duration = Duration::from_secs(5 * 60);
/// A mail must be whole within this.
pub const MAIL_WITHIN: Duration = Duration::from_secs(10 * 60);
/// Output that waits beyond this stops reading.
const OUTPUT_OCTETS_MAX: usize = 64 * 1024;

/// An address of ours: what it is for, and whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// A person's reply, or a mail system's report.
    pub kind: TagKind,
    /// Which delivery.
    pub alert: AlertNo,
    /// Which delivery.
    pub endpoint: EndpointNo,
    /// As the client wrote it.
    pub address: String,
}

/// A whole mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Envelope sender; empty for the null sender.
    pub from: String,
    /// At least one.
    pub recipients: Vec<Recipient>,
    /// Headers and body, dots taken off.
    pub octets: Vec<u8>,
}

/// What the machine tells its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A mail came; say what became of it by [`Server::answer`].
    Mail(Mail),
}

/// What became of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// What it says is on disk.
    Taken,
    /// It could not be written down.
    TryLater,
    /// There is no room for it now.
    Full,
}

/// What the next octets are.
#[derive(Debug)]
enum Reading {
    Commands,
    Data(Incoming),
    /// The caller has a mail.
    Waiting,
    Finished,
}

/// The machine.
pub struct Server {
    domain: String,
    tags: Arc<dyn TagReader>,
    reading: Reading,
    input: Vec<u8>,
    output: Vec<u8>,
    greeted: bool,
    sender: Option<String>,
    recipients: Vec<Recipient>,
    errors: u32,
    commands: u32,
    deadline: Instant,
    events: VecDeque<Event>,
}

impl Server {
    /// A session over a connection just accepted. `domain`: what stands behind the `@` of our addresses.
    pub fn new(domain: &str, tags: Arc<dyn TagReader>, now: Instant) -> Server {
        Server {
            domain: domain.to_owned(),
            tags,
            reading: Reading::Commands,
            input: Vec::new(),
            output: format!("220 {domain} ESMTP Campanile\r\n").into_bytes(),
            greeted: false,
            sender: None,
            recipients: Vec::new(),
            errors: 0,
            commands: 0,
            deadline: now + COMMAND_WITHIN,
            events: VecDeque::new(),
        }
    }

    /// Says what became of the mail of the last event.
    pub fn answer(&mut self, now: Instant, answer: Answer) {
        if !matches!(self.reading, Reading::Waiting) {
            return;
        }
        self.reading = Reading::Commands;
        self.deadline = now + COMMAND_WITHIN;
        self.say(match answer {
            Answer::Taken => "250 2.0.0 taken",
            Answer::TryLater => "451 4.3.0 it could not be written down, try later",
            Answer::Full => "452 4.3.1 there is no room for it now, try later",
        });
        self.read(now);
    }

    /// Ends the session: the server is stopping.
    pub fn stop(&mut self) {
        self.finish("421 4.3.2 the service is stopping");
    }

    fn read(&mut self, now: Instant) {
        let mut from = 0;
        loop {
            let rest = self.input.get(from..).unwrap_or_default();
            let taken = match &mut self.reading {
                Reading::Waiting | Reading::Finished => None,
                Reading::Commands => match rest.iter().position(|&octet| octet == b'\n') {
                    Some(at) => {
                        let line = rest[..at].to_vec();
                        self.handle_line(&line, now);
                        Some(at + 1)
                    }
                    None if rest.len() > COMMAND_OCTETS_MAX => {
                        self.finish("500 5.5.2 line too long");
                        None
                    }
                    None => None,
                },
                Reading::Data(incoming) => incoming.take(rest).map(|(taken, over)| {
                    if over {
                        self.end_of_data(now);
                    }
                    taken
                }),
            };
            match taken {
                Some(taken) => from += taken,
                None => break,
            }
        }
        self.input.drain(..from.min(self.input.len()));
    }

    fn handle_line(&mut self, line: &[u8], now: Instant) {
        self.deadline = now + COMMAND_WITHIN;
        self.commands += 1;
        if line.len() >= COMMAND_OCTETS_MAX {
            return self.refuse("500 5.5.2 line too long");
        }
        if self.commands > COMMANDS_MAX {
            return self.finish("421 4.7.0 too many commands");
        }
        match Command::parse(line.strip_suffix(b"\r").unwrap_or(line)) {
            Ok(command) => self.obey(command, now),
            Err(NotACommand(reply)) => self.refuse(reply),
        }
    }

    fn obey(&mut self, command: Command, now: Instant) {
        match command {
            Command::Ehlo => {
                self.reset();
                self.greeted = true;
                let reply = format!(
                    "250-{}\r\n250-PIPELINING\r\n250-SIZE {MAIL_OCTETS_MAX}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES",
                    self.domain
                );
                self.say(&reply);
            }
            Command::Helo => {
                self.reset();
                self.greeted = true;
                self.say(&format!("250 {}", self.domain));
            }
            Command::Mail { from, size } => self.mail(from, size),
            Command::Rcpt { to } => self.rcpt(to),
            Command::Data if self.recipients.is_empty() => self.refuse("503 5.5.1 first MAIL and RCPT"),
            Command::Data => {
                self.reading = Reading::Data(Incoming::default());
                self.deadline = now + MAIL_WITHIN;
                self.say("354 end with a dot on a line of its own");
            }
            Command::Rset => {
                self.reset();
                self.say("250 2.0.0 forgotten");
            }
            Command::Noop => self.say("250 2.0.0 nothing done"),
            Command::Verify => self.say("252 2.1.5 try and see"),
            Command::Quit => self.finish("221 2.0.0 goodbye"),
        }
    }

    fn mail(&mut self, from: String, size: u64) {
        if !self.greeted {
            return self.refuse("503 5.5.1 first EHLO");
        }
        if self.sender.is_some() {
            return self.refuse("503 5.5.1 one sender at a time");
        }
        if size > MAIL_OCTETS_MAX as u64 {
            return self.refuse("552 5.3.4 larger than this server takes");
        }
        self.sender = Some(from);
        self.say("250 2.1.0 ok");
    }

    fn rcpt(&mut self, to: String) {
        if self.sender.is_none() {
            return self.refuse("503 5.5.1 first MAIL");
        }
        if self.recipients.len() >= RECIPIENTS_MAX {
            return self.refuse("452 4.5.3 too many recipients");
        }
        match self.recipient(to) {
            Some(recipient) => {
                self.recipients.push(recipient);
                self.say("250 2.1.5 ok");
            }
            None => self.refuse("550 5.1.1 no such address here"),
        }
    }

    fn recipient(&self, address: String) -> Option<Recipient> {
        let (local, domain) = address.rsplit_once('@')?;
        if !domain.eq_ignore_ascii_case(&self.domain) {
            return None;
        }
        let (mailbox, tag) = local.split_once('+')?;
        let kind = TagKind::ALL.into_iter().find(|kind| mailbox.eq_ignore_ascii_case(kind.mailbox()))?;
        let (alert, endpoint) = self.tags.read(kind, tag)?;
        Some(Recipient { kind, alert, endpoint, address })
    }

    fn end_of_data(&mut self, now: Instant) {
        let Reading::Data(incoming) = std::mem::replace(&mut self.reading, Reading::Commands) else { return };
        self.deadline = now + COMMAND_WITHIN;
        let from = self.sender.take().unwrap_or_default();
        let recipients = std::mem::take(&mut self.recipients);
        if incoming.too_large {
            return self.refuse("552 5.3.4 larger than this server takes");
        }
        self.reading = Reading::Waiting;
        self.events.push_back(Event::Mail(Mail { from, recipients, octets: incoming.octets }));
    }

    fn reset(&mut self) {
        self.sender = None;
        self.recipients.clear();
    }

    fn say(&mut self, reply: &str) {
        self.output.extend_from_slice(reply.as_bytes());
        self.output.extend_from_slice(b"\r\n");
    }

    fn refuse(&mut self, reply: &str) {
        self.say(reply);
        self.errors += 1;
        if self.errors >= ERRORS_MAX {
            self.finish("421 4.7.0 too many errors");
        }
    }

    fn finish(&mut self, reply: &str) {
        if !matches!(self.reading, Reading::Finished) {
            self.say(reply);
            self.reading = Reading::Finished;
        }
    }
}

impl net::Machine for Server {
    type Event<'a> = Event;

    fn handle_input(&mut self, now: Instant, input: &[u8]) {
        if !matches!(self.reading, Reading::Finished) {
            self.input.extend_from_slice(input);
            self.read(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.deadline && !matches!(self.reading, Reading::Waiting) {
            self.finish("421 4.4.2 nothing came for too long");
        }
    }

    fn handle_eof(&mut self, _now: Instant) {
        self.reading = Reading::Finished;
    }

    fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.reading {
            Reading::Commands | Reading::Data(_) => Some(self.deadline),
            Reading::Waiting | Reading::Finished => None,
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn wants_input(&self) -> bool {
        matches!(self.reading, Reading::Commands | Reading::Data(_)) && self.output.len() < OUTPUT_OCTETS_MAX
    }

    fn is_finished(&self) -> bool {
        matches!(self.reading, Reading::Finished)
    }
}
