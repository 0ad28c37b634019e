//! An SMTP server without sockets or clock (RFC 5321), for whoever takes mail for addresses of its own.
//!
//! Nothing is relayed and nothing is stored here: a [`RecipientPolicy`] says which addresses are taken, a whole mail is an
//! [`Event`], and the client gets no reply to it, and is not listened to, until [`Server::answer`] says what became of it.

mod command;
mod incoming;
#[cfg(test)]
mod tests;

use command::{Command, NotACommand};
use incoming::Incoming;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A command line is at most so many octets with its end: RFC 5321 §4.5.3.1.4 says 512, extensions add to it.
pub const COMMAND_OCTETS_MAX: usize = 2048;
/// Output that waits beyond this stops reading.
const OUTPUT_OCTETS_MAX: usize = 64 * 1024;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its name in the greeting and in the reply to EHLO: a domain (RFC 5321 §4.2).
    pub hostname: String,
    /// Named after the word ESMTP of the greeting.
    pub software: &'static str,
    /// What one client may use.
    pub limits: Limits,
}

/// What one client may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Octets of a mail, dots taken off; offered as SIZE (RFC 1870).
    pub mail_octets_max: usize,
    /// Recipients of a mail. RFC 5321 §4.5.3.1.8 asks for at least 100 of a server for everybody.
    pub recipients_max: usize,
    /// So many errors end a session.
    pub errors_max: u32,
    /// So many commands end a session.
    pub commands_max: u32,
    /// A command must be whole within this (RFC 5321 §4.5.3.2.7).
    pub command_within: Duration,
    /// A mail must be whole within this.
    pub mail_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            mail_octets_max: 1024 * 1024,
            recipients_max: 100,
            errors_max: 10,
            commands_max: 10_000,
            command_within: Duration::from_secs(5 * 60),
            mail_within: Duration::from_secs(10 * 60),
        }
    }
}

/// Decides which recipients a server takes.
pub trait RecipientPolicy {
    /// A recipient as the caller knows it; handed back with the mail.
    type Recipient;

    /// The recipient behind an address of RCPT; nothing for one that is unknown here.
    fn resolve(&self, address: &str) -> Option<Self::Recipient>;
}

/// A whole mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail<R> {
    /// Envelope sender; empty for the null sender.
    pub from: String,
    /// At least one.
    pub recipients: Vec<R>,
    /// Headers and body, dots taken off.
    pub octets: Vec<u8>,
}

/// What the machine tells its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<R> {
    /// A mail came; say what became of it by [`Server::answer`].
    Mail(Mail<R>),
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
pub struct Server<P: RecipientPolicy> {
    options: Options,
    policy: P,
    reading: Reading,
    input: Vec<u8>,
    output: Vec<u8>,
    greeted: bool,
    sender: Option<String>,
    recipients: Vec<P::Recipient>,
    errors: u32,
    commands: u32,
    deadline: Instant,
    events: VecDeque<Event<P::Recipient>>,
}

impl<P: RecipientPolicy> Server<P> {
    /// A session over a connection just accepted.
    pub fn new(options: Options, policy: P, now: Instant) -> Server<P> {
        Server {
            policy,
            reading: Reading::Commands,
            input: Vec::new(),
            output: format!("220 {} ESMTP {}\r\n", options.hostname, options.software).into_bytes(),
            greeted: false,
            sender: None,
            recipients: Vec::new(),
            errors: 0,
            commands: 0,
            deadline: now + options.limits.command_within,
            events: VecDeque::new(),
            options,
        }
    }

    /// Says what became of the mail of the last event.
    pub fn answer(&mut self, now: Instant, answer: Answer) {
        if !matches!(self.reading, Reading::Waiting) {
            return;
        }
        self.reading = Reading::Commands;
        self.deadline = now + self.options.limits.command_within;
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

    /// Octets from the client, in the order they came. Half a command and half a mail are kept, within the limits.
    pub fn handle_input(&mut self, now: Instant, input: &[u8]) {
        if !matches!(self.reading, Reading::Finished) {
            self.input.extend_from_slice(input);
            self.read(now);
        }
    }

    /// Takes the time; does nothing before [`Server::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if now >= self.deadline && !matches!(self.reading, Reading::Waiting) {
            self.finish("421 4.4.2 nothing came for too long");
        }
    }

    /// Nothing more will come from the client, and nothing more reaches it.
    pub fn handle_eof(&mut self) {
        self.reading = Reading::Finished;
    }

    /// Appends all octets that wait for the client to `output`.
    pub fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    /// When [`Server::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.reading {
            Reading::Commands | Reading::Data(_) => Some(self.deadline),
            Reading::Waiting | Reading::Finished => None,
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event<P::Recipient>> {
        self.events.pop_front()
    }

    /// Whether to read from the client: not while it waits for what becomes of a mail, nor while too much output waits
    /// for it.
    pub fn wants_input(&self) -> bool {
        matches!(self.reading, Reading::Commands | Reading::Data(_)) && self.output.len() < OUTPUT_OCTETS_MAX
    }

    /// Nothing more will be said or understood: once the output is written, the connection ends.
    pub fn is_finished(&self) -> bool {
        matches!(self.reading, Reading::Finished)
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
        self.deadline = now + self.options.limits.command_within;
        self.commands += 1;
        if line.len() >= COMMAND_OCTETS_MAX {
            return self.refuse("500 5.5.2 line too long");
        }
        if self.commands > self.options.limits.commands_max {
            return self.finish("421 4.7.0 too many commands");
        }
        match Command::parse(line.strip_suffix(b"\r").unwrap_or(line)) {
            Ok(command) => self.obey(command, now),
            Err(NotACommand(reply)) => self.refuse(reply),
        }
    }

    fn obey(&mut self, command: Command<'_>, now: Instant) {
        match command {
            Command::Ehlo => {
                self.reset();
                self.greeted = true;
                let reply = format!(
                    "250-{}\r\n250-PIPELINING\r\n250-SIZE {}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES",
                    self.options.hostname, self.options.limits.mail_octets_max
                );
                self.say(&reply);
            }
            Command::Helo => {
                self.reset();
                self.greeted = true;
                self.say(&format!("250 {}", self.options.hostname));
            }
            Command::Mail { from, size } => self.mail(from, size),
            Command::Rcpt { to } => self.rcpt(to),
            Command::Data if self.recipients.is_empty() => self.refuse("503 5.5.1 first MAIL and RCPT"),
            Command::Data => {
                self.reading = Reading::Data(Incoming::new(self.options.limits.mail_octets_max));
                self.deadline = now + self.options.limits.mail_within;
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

    fn mail(&mut self, from: &str, size: u64) {
        if !self.greeted {
            return self.refuse("503 5.5.1 first EHLO");
        }
        if self.sender.is_some() {
            return self.refuse("503 5.5.1 one sender at a time");
        }
        if size > self.options.limits.mail_octets_max as u64 {
            return self.refuse("552 5.3.4 larger than this server takes");
        }
        self.sender = Some(from.to_owned());
        self.say("250 2.1.0 ok");
    }

    fn rcpt(&mut self, to: &str) {
        if self.sender.is_none() {
            return self.refuse("503 5.5.1 first MAIL");
        }
        if self.recipients.len() >= self.options.limits.recipients_max {
            return self.refuse("452 4.5.3 too many recipients");
        }
        match self.policy.resolve(to) {
            Some(recipient) => {
                self.recipients.push(recipient);
                self.say("250 2.1.5 ok");
            }
            None => self.refuse("550 5.1.1 no such address here"),
        }
    }

    fn end_of_data(&mut self, now: Instant) {
        let Reading::Data(incoming) = std::mem::replace(&mut self.reading, Reading::Commands) else { return };
        self.deadline = now + self.options.limits.command_within;
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
        if self.errors >= self.options.limits.errors_max {
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
