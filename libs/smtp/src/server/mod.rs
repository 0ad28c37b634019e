//! SMTP server machine (RFC 5321): octets and instants in, octets, whole mails and deadlines out.
//!
//! Nothing is relayed and nothing is stored: a [`RecipientPolicy`] decides which addresses are taken, and a
//! whole mail is an [`SmtpServerEvent`]. Its reply waits for [`SmtpServer::finish_mail`], and no octet behind
//! it is read before.
//!
//! Offered are PIPELINING (RFC 2920), SIZE (RFC 1870), 8BITMIME (RFC 6152), SMTPUTF8 (RFC 6531),
//! ENHANCEDSTATUSCODES (RFC 2034) and, where the caller can, STARTTLS (RFC 3207); not AUTH.
//!
//! CRLF alone ends a line: a CR or LF that stands alone ends the session, so that no other server can see
//! commands in what is a message here, or the other way round.

mod command;
mod replies;
#[cfg(test)]
mod tests;

pub use command::{CommandError, SmtpCommand};

use crate::content::DataReader;
use crate::extensions::Extensions;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Octets of a command line at most, its end included: RFC 5321 §4.5.3.1.4 says 512, extensions add to it.
pub const COMMAND_OCTETS_MAX: usize = 2048;
/// Output that waits beyond this stops reading.
const OUTPUT_OCTETS_MAX: usize = 64 * 1024;
const CRLF: &[u8] = b"\r\n";

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// Its name in the greeting and in the reply to EHLO: a domain (RFC 5321 §4.2).
    pub hostname: String,
    /// Product name behind the word ESMTP of the greeting.
    pub software: &'static str,
    /// STARTTLS is offered: the caller shakes hands when it comes.
    pub start_tls: bool,
    /// Limits of one session.
    pub limits: SessionLimits,
}

/// Limits of one session; what is over one gets its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// Octets of a mail at most, without stuffed dots; offered as SIZE (RFC 1870). 1 MiB by default.
    pub mail_octets_max: usize,
    /// Octets that are kept of a mail; the rest is read and left out, files in base64 before the texts behind
    /// them (see [`DataReader::keeping`]). 1 MiB by default.
    pub kept_octets_max: usize,
    /// Recipients of a mail at most: 100 by default, as RFC 5321 §4.5.3.1.8 asks of a server for everybody.
    pub recipients_max: usize,
    /// A session ends with so many errors; 10 by default.
    pub errors_max: u32,
    /// A session ends behind so many commands; 10,000 by default.
    pub commands_max: u32,
    /// Time until a command is whole (RFC 5321 §4.5.3.2.7); 5 minutes by default.
    pub command_within: Duration,
    /// Time until a mail is whole, from DATA on; 10 minutes by default.
    pub mail_within: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        SessionLimits {
            mail_octets_max: 1024 * 1024,
            kept_octets_max: 1024 * 1024,
            recipients_max: 100,
            errors_max: 10,
            commands_max: 10_000,
            command_within: Duration::from_secs(5 * 60),
            mail_within: Duration::from_secs(10 * 60),
        }
    }
}

impl SessionLimits {
    fn reader(&self) -> DataReader {
        DataReader::keeping(self.mail_octets_max, self.kept_octets_max)
    }
}

/// Decides which recipients a server takes.
pub trait RecipientPolicy {
    /// A recipient as the caller knows it; handed back with the mail.
    type Recipient;

    /// The recipient behind an address of RCPT, which has neither controls nor angle brackets; `None` for an
    /// address that is unknown here.
    fn resolve(&self, address: &str) -> Option<Self::Recipient>;
}

/// A whole mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail<R> {
    /// Envelope sender; empty for the null sender.
    pub from: String,
    /// At least one.
    pub recipients: Vec<R>,
    /// Headers and body, without stuffed dots, at most [`SessionLimits::kept_octets_max`] of them.
    pub octets: Vec<u8>,
}

/// Event for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmtpServerEvent<R> {
    /// A whole mail came; its reply waits for [`SmtpServer::finish_mail`].
    Mail(Mail<R>),
    /// STARTTLS came: once the output is written, the caller begins TLS as its server, and calls
    /// [`SmtpServer::start_tls`]. No octet is read before.
    StartTls,
}

/// Result of a mail, for the reply to its end of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// 250: the server is responsible for it now.
    Accepted,
    /// 451: an error of the server; the client may try again later.
    LocalError,
    /// 452: no storage; the client may try again later.
    NoStorage,
}

/// Meaning of the next octets.
#[derive(Debug)]
enum InputState {
    Commands,
    Data(DataReader),
    /// None are read: the caller has a mail.
    Waiting,
    /// None are read: the caller shakes hands.
    StartingTls,
    Finished,
}

/// Session of a server with one client.
pub struct SmtpServer<P: RecipientPolicy> {
    options: ServerOptions,
    policy: P,
    state: InputState,
    input: Vec<u8>,
    output: Vec<u8>,
    greeted: bool,
    is_secured: bool,
    sender: Option<String>,
    recipients: Vec<P::Recipient>,
    errors: u32,
    commands: u32,
    deadline: Instant,
    events: VecDeque<SmtpServerEvent<P::Recipient>>,
}

impl<P: RecipientPolicy> SmtpServer<P> {
    /// A session over a connection just accepted.
    pub fn new(options: ServerOptions, policy: P, now: Instant) -> SmtpServer<P> {
        SmtpServer {
            policy,
            state: InputState::Commands,
            input: Vec::new(),
            output: format!("220 {} ESMTP {}\r\n", options.hostname, options.software).into_bytes(),
            greeted: false,
            is_secured: false,
            sender: None,
            recipients: Vec::new(),
            errors: 0,
            commands: 0,
            deadline: now + options.limits.command_within,
            events: VecDeque::new(),
            options,
        }
    }

    /// Replies to the mail of the last event, and reads on. Without such a mail it does nothing.
    pub fn finish_mail(&mut self, now: Instant, disposition: Disposition) {
        if !matches!(self.state, InputState::Waiting) {
            return;
        }
        self.state = InputState::Commands;
        self.deadline = now + self.options.limits.command_within;
        self.reply(match disposition {
            Disposition::Accepted => replies::ACCEPTED,
            Disposition::LocalError => replies::LOCAL_ERROR,
            Disposition::NoStorage => replies::NO_STORAGE,
        });
        self.read(now);
    }

    /// The handshake after [`SmtpServerEvent::StartTls`] succeeded: the client begins anew, and nothing that
    /// it said before counts (RFC 3207 §4.2). Without that event it does nothing.
    pub fn start_tls(&mut self, now: Instant) {
        if !matches!(self.state, InputState::StartingTls) {
            return;
        }
        self.state = InputState::Commands;
        self.deadline = now + self.options.limits.command_within;
        self.input.clear();
        self.is_secured = true;
        self.greeted = false;
        self.reset();
    }

    /// Ends the session with 421: the server is stopping.
    pub fn stop(&mut self) {
        self.end(replies::STOPPING);
    }

    /// Octets of the client, in the order they came, cut anywhere.
    pub fn handle_input(&mut self, now: Instant, input: &[u8]) {
        if !matches!(self.state, InputState::Finished) {
            self.input.extend_from_slice(input);
            self.read(now);
        }
    }

    /// Ends a session that is silent for too long; does nothing before [`SmtpServer::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if now >= self.deadline && self.poll_timeout().is_some() {
            self.end(replies::TIMED_OUT);
        }
    }

    /// Nothing more will come from the client, and nothing more reaches it.
    pub fn handle_eof(&mut self) {
        self.state = InputState::Finished;
    }

    /// Appends all octets that wait for the client to `output`.
    pub fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    /// When to call [`SmtpServer::handle_timeout`]; may change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            InputState::Commands | InputState::Data(_) => Some(self.deadline),
            InputState::Waiting | InputState::StartingTls | InputState::Finished => None,
        }
    }

    /// The next event; poll until there is none after each input.
    pub fn poll_event(&mut self) -> Option<SmtpServerEvent<P::Recipient>> {
        self.events.pop_front()
    }

    /// Whether to read from the client: not while it waits for what becomes of a mail or for TLS, nor while
    /// too much output waits for it.
    pub fn wants_input(&self) -> bool {
        matches!(self.state, InputState::Commands | InputState::Data(_))
            && self.output.len() < OUTPUT_OCTETS_MAX
    }

    /// The session is over: once the output is written, the connection is to be closed.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, InputState::Finished)
    }

    fn read(&mut self, now: Instant) {
        let mut input = std::mem::take(&mut self.input);
        let mut from = 0;
        while let Some(taken) = self.read_next(&input[from..], now) {
            from += taken;
        }
        input.drain(..from);
        self.input = input;
    }

    /// Handles the next command or piece of a message: its octets; `None` if more must come first, or none
    /// are read now.
    fn read_next(&mut self, rest: &[u8], now: Instant) -> Option<usize> {
        match &mut self.state {
            InputState::Waiting | InputState::StartingTls | InputState::Finished => None,
            InputState::Commands => match line_end(rest) {
                LineEnd::At(at) => {
                    let is_last = rest.len() == at + CRLF.len();
                    self.handle_line(&rest[..at], is_last, now);
                    Some(at + CRLF.len())
                }
                LineEnd::Bare => {
                    self.end(replies::BARE_LINE_END);
                    None
                }
                LineEnd::Missing if rest.len() > COMMAND_OCTETS_MAX => {
                    self.end(replies::LINE_TOO_LONG);
                    None
                }
                LineEnd::Missing => None,
            },
            InputState::Data(reader) => {
                let (taken, is_over) = reader.take(rest)?;
                if reader.has_bare_line_end {
                    self.end(replies::BARE_LINE_END);
                } else if is_over {
                    self.end_of_data(now);
                }
                Some(taken)
            }
        }
    }

    /// `is_last`: nothing stands behind the line yet.
    fn handle_line(&mut self, line: &[u8], is_last: bool, now: Instant) {
        self.deadline = now + self.options.limits.command_within;
        self.commands += 1;
        if line.len() >= COMMAND_OCTETS_MAX {
            return self.reject(replies::LINE_TOO_LONG);
        }
        if self.commands > self.options.limits.commands_max {
            return self.end(replies::TOO_MANY_COMMANDS);
        }
        match SmtpCommand::parse(line) {
            Ok(SmtpCommand::StartTls) => self.begin_tls(is_last),
            Ok(command) => self.handle_command(command, now),
            Err(CommandError(reply)) => self.reject(reply),
        }
    }

    fn handle_command(&mut self, command: SmtpCommand<'_>, now: Instant) {
        match command {
            SmtpCommand::Ehlo => {
                self.reset();
                self.greeted = true;
                let extensions = Extensions {
                    pipelining: true,
                    size: true,
                    size_max: self.options.limits.mail_octets_max as u64,
                    eight_bit: true,
                    utf8: true,
                    enhanced_codes: true,
                    start_tls: self.options.start_tls && !self.is_secured,
                    ..Extensions::default()
                };
                extensions.push_reply(&mut self.output, &self.options.hostname);
            }
            SmtpCommand::Helo => {
                self.reset();
                self.greeted = true;
                self.reply(&format!("250 {}", self.options.hostname));
            }
            SmtpCommand::Mail { from, size } => self.mail(from, size),
            SmtpCommand::Rcpt { to } => self.rcpt(to),
            SmtpCommand::Data if self.recipients.is_empty() => self.reject(replies::RECIPIENT_FIRST),
            SmtpCommand::Data => {
                self.state = InputState::Data(self.options.limits.reader());
                self.deadline = now + self.options.limits.mail_within;
                self.reply(replies::START_INPUT);
            }
            SmtpCommand::Rset => {
                self.reset();
                self.reply(replies::RESET);
            }
            SmtpCommand::Noop => self.reply(replies::NOOP),
            // Handled with its line.
            SmtpCommand::StartTls => {}
            SmtpCommand::Verify => self.reply(replies::CANNOT_VERIFY),
            SmtpCommand::Quit => self.end(replies::CLOSING),
        }
    }

    /// Octets behind the command would be read as if they had come by TLS: the session ends for them.
    fn begin_tls(&mut self, is_last: bool) {
        if self.is_secured {
            return self.reject(replies::TLS_ALREADY);
        }
        if !self.options.start_tls {
            return self.reject(replies::NO_TLS);
        }
        if !is_last {
            return self.end(replies::BEHIND_START_TLS);
        }
        self.reply(replies::START_TLS);
        self.state = InputState::StartingTls;
        self.events.push_back(SmtpServerEvent::StartTls);
    }

    fn mail(&mut self, from: &str, size: u64) {
        if !self.greeted {
            return self.reject(replies::HELLO_FIRST);
        }
        if self.sender.is_some() {
            return self.reject(replies::NESTED_MAIL);
        }
        if size > self.options.limits.mail_octets_max as u64 {
            return self.reject(replies::TOO_LARGE);
        }
        self.sender = Some(from.to_owned());
        self.reply(replies::SENDER_OK);
    }

    fn rcpt(&mut self, to: &str) {
        if self.sender.is_none() {
            return self.reject(replies::MAIL_FIRST);
        }
        if self.recipients.len() >= self.options.limits.recipients_max {
            return self.reject(replies::TOO_MANY_RECIPIENTS);
        }
        match self.policy.resolve(to) {
            Some(recipient) => {
                self.recipients.push(recipient);
                self.reply(replies::RECIPIENT_OK);
            }
            None => self.reject(replies::NO_SUCH_ADDRESS),
        }
    }

    fn end_of_data(&mut self, now: Instant) {
        let InputState::Data(reader) = std::mem::replace(&mut self.state, InputState::Commands) else {
            return;
        };
        self.deadline = now + self.options.limits.command_within;
        let from = self.sender.take().unwrap_or_default();
        let recipients = std::mem::take(&mut self.recipients);
        if reader.too_large {
            return self.reject(replies::TOO_LARGE);
        }
        self.state = InputState::Waiting;
        self.events.push_back(SmtpServerEvent::Mail(Mail { from, recipients, octets: reader.octets }));
    }

    fn reset(&mut self) {
        self.sender = None;
        self.recipients.clear();
    }

    fn reply(&mut self, reply: &str) {
        self.output.extend_from_slice(reply.as_bytes());
        self.output.extend_from_slice(b"\r\n");
    }

    fn reject(&mut self, reply: &str) {
        self.reply(reply);
        self.errors += 1;
        if self.errors >= self.options.limits.errors_max {
            self.end(replies::TOO_MANY_ERRORS);
        }
    }

    fn end(&mut self, reply: &str) {
        if !matches!(self.state, InputState::Finished) {
            self.reply(reply);
            self.state = InputState::Finished;
        }
    }
}

/// Where the first line of some octets ends.
enum LineEnd {
    /// With a CRLF here.
    At(usize),
    /// With a CR or LF that stands alone.
    Bare,
    /// Not yet.
    Missing,
}

fn line_end(octets: &[u8]) -> LineEnd {
    let Some(at) = octets.iter().position(|octet| matches!(octet, b'\r' | b'\n')) else {
        return LineEnd::Missing;
    };
    match &octets[at..] {
        [b'\r', b'\n', ..] => LineEnd::At(at),
        [b'\r'] => LineEnd::Missing,
        _ => LineEnd::Bare,
    }
}
