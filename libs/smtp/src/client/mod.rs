//! SMTP client machine (RFC 5321): octets and instants in, octets, verdicts and deadlines out.
//!
//! Five verbs: [`SmtpClient::handle_input`], [`SmtpClient::handle_timeout`], [`SmtpClient::poll_transmit`],
//! [`SmtpClient::poll_timeout`], [`SmtpClient::poll_event`]. After any call that takes `now`, the three polls
//! may answer differently. The caller reports the octets it wrote ([`Input::Sent`]), since only a written
//! message can be unknown.
//!
//! Invariants worth naming:
//! - Every transaction taken by [`SmtpClient::submit`] gets exactly one verdict, at the latest with
//!   [`SmtpClientEvent::Closed`].
//! - `Unknown` is the verdict only of a transaction whose end was written and that got no reply; `NotTried`
//!   only of one whose end was not, or that the server declared not carried out (421 on an earlier command).
//! - No octet of a transaction can end a command or a message early: see [`Path`](crate::path::Path) and
//!   [`content`](crate::content).

mod opening;
mod outbox;
mod pipeline;
#[cfg(test)]
mod tests;
mod transaction;

pub use outbox::OUTBOX_OCTETS_MAX;
pub use transaction::{ENVELOPE_ID_OCTETS_MAX, Transaction, Verdict};

use crate::extensions::Extensions;
use crate::reply::{Reply, ReplyError, ReplyReader, SERVICE_CLOSING, cut};
use opening::{Next, Opening};
use outbox::Outbox;
use pipeline::Pipeline;
use std::time::{Duration, Instant};

/// Settings of a session.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The client's name in EHLO: a domain, or an address in square brackets (RFC 5321 §4.1.1.1).
    pub hello: String,
    /// When the connection is secured.
    pub tls: TlsMode,
    /// Name and password for AUTH PLAIN or LOGIN (RFC 4954); without them AUTH is not used.
    pub credentials: Option<(String, String)>,
    /// Transactions in flight at most: reached with CHUNKING and PIPELINING; 2 with PIPELINING alone, else 1.
    pub window: usize,
    /// Time limits of replies.
    pub timeouts: Timeouts,
}

/// When a connection is secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    None,
    /// By STARTTLS, or the session fails (RFC 3207).
    StartTls,
    /// From the first octet on, before the machine is made (RFC 8314 §3.3).
    Implicit,
}

/// Time limits of the server's replies; the defaults are RFC 5321 §4.5.3.2's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// For the greeting; 5 minutes.
    pub greeting: Duration,
    /// For EHLO, STARTTLS, AUTH, MAIL, RCPT and RSET; 5 minutes.
    pub command: Duration,
    /// For DATA; 2 minutes.
    pub data: Duration,
    /// For the end of data; 10 minutes.
    pub content: Duration,
    /// For QUIT, on which nothing depends; 5 seconds.
    pub quit: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Timeouts {
            greeting: minutes(5),
            command: minutes(5),
            data: minutes(2),
            content: minutes(10),
            quit: Duration::from_secs(5),
        }
    }
}

/// Input of the connection.
#[derive(Debug)]
pub enum Input<'a> {
    /// Octets of the server, in the order they came, cut anywhere.
    Octets(&'a [u8]),
    /// So many octets of [`SmtpClient::poll_transmit`] were written; more than were pending is a panic.
    Sent(usize),
    /// The handshake asked for by [`SmtpClientEvent::StartTls`] is done.
    Secured,
    /// The connection is gone, with the reason.
    Lost(&'a str),
}

/// Event for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmtpClientEvent {
    /// The connection is to be secured, followed by [`Input::Secured`]. Nothing may be written before.
    StartTls,
    /// Transactions may be submitted.
    Ready(Extensions),
    /// A transaction's verdict.
    Done {
        /// The transaction's own number.
        id: u64,
        /// Its result.
        verdict: Verdict,
    },
    /// The connection is to be closed. Nothing follows.
    Closed(Result<(), Failure>),
}

/// Reason of a session's early end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable: `smtp:454 4.7.0`, `smtp:timeout`, `smtp:lost`, `smtp:protocol`.
    pub code: String,
    /// The command, and the server's words or the client's.
    pub text: String,
    /// The server replied 421: it carries out nothing more.
    closing: bool,
}

impl Failure {
    fn refused(stage: &str, reply: &Reply) -> Failure {
        let text = format!("the server refused {stage}: {}", reply.words());
        Failure { code: reply.stable_code(), text: cut(text), closing: reply.code == SERVICE_CLOSING }
    }
    fn unexpected(stage: &str, reply: &Reply) -> Failure {
        Failure::peer(stage, format!("the server's reply does not fit: {}", reply.words()))
    }
    fn peer(stage: &str, why: String) -> Failure {
        Failure { code: "smtp:protocol".to_owned(), text: cut(format!("at {stage}: {why}")), closing: false }
    }
    fn timeout(stage: &str, waited: Duration) -> Failure {
        let text = format!("the server did not answer {stage} within {} s", waited.as_secs());
        Failure { code: "smtp:timeout".to_owned(), text, closing: false }
    }
    fn lost(why: &str) -> Failure {
        Failure { code: "smtp:lost".to_owned(), text: cut(why.to_owned()), closing: false }
    }
}

/// Phase of a session.
#[derive(Debug)]
enum SessionPhase {
    Opening(Opening),
    Open(Pipeline),
    /// QUIT was written.
    Quitting,
    Closed,
}

/// Session of a client with one server.
#[derive(Debug)]
pub struct SmtpClient {
    options: ClientOptions,
    phase: SessionPhase,
    extensions: Extensions,
    encrypted: bool,
    quit_wanted: bool,
    replies: ReplyReader,
    out: Outbox,
    deadline: Option<Instant>,
    events: std::collections::VecDeque<SmtpClientEvent>,
}

impl SmtpClient {
    /// A session over a connection just made.
    pub fn new(options: ClientOptions, now: Instant) -> SmtpClient {
        let deadline = now + options.timeouts.greeting;
        SmtpClient {
            encrypted: options.tls == TlsMode::Implicit,
            options,
            phase: SessionPhase::Opening(Opening::Greeting),
            extensions: Extensions::default(),
            quit_wanted: false,
            replies: ReplyReader::default(),
            out: Outbox::default(),
            deadline: Some(deadline),
            events: std::collections::VecDeque::new(),
        }
    }

    /// Number of transactions that may be submitted now; each begins at once. May grow with any input.
    pub fn room(&self) -> usize {
        match &self.phase {
            SessionPhase::Open(pipeline) if !self.quit_wanted => pipeline.room(&self.out),
            _ => 0,
        }
    }

    /// No transaction is under way.
    pub fn is_idle(&self) -> bool {
        match &self.phase {
            SessionPhase::Open(pipeline) => pipeline.is_idle(),
            _ => true,
        }
    }

    /// Takes a transaction. One without [`SmtpClient::room`] comes back as not tried.
    pub fn submit(&mut self, now: Instant, transaction: Transaction) {
        let room = self.room();
        match &mut self.phase {
            SessionPhase::Open(pipeline) if room > 0 => {
                let silent = pipeline.awaits(&self.options.timeouts).is_none();
                pipeline.submit(transaction, &mut self.out);
                if silent {
                    self.restart_timer(now);
                }
                self.fetch_verdicts();
            }
            _ => {
                let text = "the session has no room".to_owned();
                self.events.push_back(SmtpClientEvent::Done {
                    id: transaction.id,
                    verdict: Verdict::NotTried { text, suspect: false },
                });
            }
        }
    }

    /// Ends the session once nothing is under way.
    pub fn quit(&mut self, now: Instant) {
        self.quit_wanted = true;
        match &self.phase {
            SessionPhase::Open(_) => self.quit_when_idle(now),
            SessionPhase::Opening(_) => self.close(Ok(())),
            SessionPhase::Quitting | SessionPhase::Closed => {}
        }
    }

    /// Takes an input; does nothing after [`SmtpClientEvent::Closed`].
    pub fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if matches!(self.phase, SessionPhase::Closed) {
            return;
        }
        match input {
            Input::Octets(octets) => {
                self.replies.push(octets);
                self.handle_replies(now);
            }
            Input::Sent(octets) => self.out.sent(octets),
            Input::Secured => self.handle_secured(now),
            Input::Lost(_) if matches!(self.phase, SessionPhase::Quitting) => self.close(Ok(())),
            Input::Lost(why) => self.close(Err(Failure::lost(why))),
        }
    }

    /// Ends a session whose reply is late; does nothing before [`SmtpClient::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        let timeouts = &self.options.timeouts;
        let failure = match &self.phase {
            SessionPhase::Opening(opening) => Failure::timeout(opening.stage(), opening.timeout(timeouts)),
            SessionPhase::Open(pipeline) => match pipeline.awaits(timeouts) {
                Some((stage, waited)) => Failure::timeout(stage, waited),
                None => return,
            },
            SessionPhase::Quitting => return self.close(Ok(())),
            SessionPhase::Closed => return,
        };
        self.close(Err(failure));
    }

    /// Octets to be written, all that wait; their number is to be reported by [`Input::Sent`].
    pub fn poll_transmit(&self) -> &[u8] {
        self.out.pending()
    }

    /// When to call [`SmtpClient::handle_timeout`]; may change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// The next event; poll until there is none after each call.
    pub fn poll_event(&mut self) -> Option<SmtpClientEvent> {
        self.events.pop_front()
    }

    fn handle_replies(&mut self, now: Instant) {
        let mut received = false;
        loop {
            let result = match self.replies.next_reply() {
                Ok(None) => break,
                Ok(Some(reply)) => self.handle_reply(&reply),
                Err(ReplyError(why)) => Err(Failure::peer("a reply", why)),
            };
            received = true;
            self.fetch_verdicts();
            if let Err(failure) = result {
                self.close(Err(failure));
            }
            if matches!(self.phase, SessionPhase::Closed) {
                return;
            }
        }
        if received {
            self.restart_timer(now);
            if self.quit_wanted {
                self.quit_when_idle(now);
            }
        }
    }

    fn handle_reply(&mut self, reply: &Reply) -> Result<(), Failure> {
        match &mut self.phase {
            SessionPhase::Opening(opening) => {
                let opening = *opening;
                let next = opening.handle(
                    reply,
                    &self.options,
                    self.encrypted,
                    &mut self.extensions,
                    &mut self.out,
                )?;
                self.go(next)
            }
            SessionPhase::Open(pipeline) => pipeline.handle(reply, &mut self.out),
            SessionPhase::Quitting => {
                self.close(Ok(()));
                Ok(())
            }
            SessionPhase::Closed => Ok(()),
        }
    }

    fn go(&mut self, next: Next) -> Result<(), Failure> {
        match next {
            Next::Opening(Opening::Securing) => {
                // What came in plain text after the 220 was put there by somebody in between (CVE-2011-0411).
                if !self.replies.is_empty() {
                    return Err(Failure::peer(
                        "STARTTLS",
                        "octets in plain text follow its reply".to_owned(),
                    ));
                }
                self.phase = SessionPhase::Opening(Opening::Securing);
                self.events.push_back(SmtpClientEvent::StartTls);
            }
            Next::Opening(opening) => self.phase = SessionPhase::Opening(opening),
            Next::Ready => {
                self.phase = SessionPhase::Open(Pipeline::new(self.extensions, self.options.window));
                self.events.push_back(SmtpClientEvent::Ready(self.extensions));
            }
        }
        Ok(())
    }

    /// What the server said before is forgotten: it was not protected (RFC 3207 §4.2).
    fn handle_secured(&mut self, now: Instant) {
        if !matches!(self.phase, SessionPhase::Opening(Opening::Securing)) {
            return;
        }
        self.encrypted = true;
        self.extensions = Extensions::default();
        if let Next::Opening(opening) = opening::ehlo(&self.options, &mut self.out) {
            self.phase = SessionPhase::Opening(opening);
        }
        self.restart_timer(now);
    }

    fn fetch_verdicts(&mut self) {
        if let SessionPhase::Open(pipeline) = &mut self.phase {
            self.events.extend(
                pipeline.verdicts.drain(..).map(|(id, verdict)| SmtpClientEvent::Done { id, verdict }),
            );
        }
    }

    /// Every reply gives the next one its whole time.
    fn restart_timer(&mut self, now: Instant) {
        let timeouts = &self.options.timeouts;
        let wait = match &self.phase {
            SessionPhase::Opening(opening) => Some(opening.timeout(timeouts)),
            SessionPhase::Open(pipeline) => pipeline.awaits(timeouts).map(|(_, wait)| wait),
            SessionPhase::Quitting => Some(timeouts.quit),
            SessionPhase::Closed => None,
        };
        self.deadline = wait.map(|wait| now + wait);
    }

    fn quit_when_idle(&mut self, now: Instant) {
        if matches!(&self.phase, SessionPhase::Open(pipeline) if pipeline.is_idle()) {
            self.out.push(b"QUIT\r\n");
            self.phase = SessionPhase::Quitting;
            self.restart_timer(now);
        }
    }

    /// Gives every transaction its verdict and ends.
    fn close(&mut self, end: Result<(), Failure>) {
        if let SessionPhase::Open(pipeline) = &mut self.phase {
            let (closing, why) = match &end {
                Ok(()) => (false, "the session was closed"),
                Err(failure) => (failure.closing, failure.text.as_str()),
            };
            pipeline.lost(self.out.written(), closing, why);
            self.fetch_verdicts();
        }
        self.phase = SessionPhase::Closed;
        self.deadline = None;
        self.out.abandon();
        self.events.push_back(SmtpClientEvent::Closed(end));
    }
}
