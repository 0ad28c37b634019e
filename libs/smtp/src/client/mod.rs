//! An SMTP client without sockets or clock (RFC 5321): octets and instants in, octets and deadlines out.
//!
//! Five verbs: [`Client::handle_input`], [`Client::handle_timeout`], [`Client::poll_transmit`],
//! [`Client::poll_timeout`], [`Client::poll_event`]. After any call that takes `now`, the three polls may answer
//! differently. The caller reports what it wrote ([`Input::Sent`]), since only what was written can be unknown.
//!
//! Invariants worth naming:
//! - Every transaction taken by [`Client::submit`] gets exactly one verdict, at the latest with [`Event::Closed`].
//! - `Unknown` is said only of a transaction whose end was written and that got no reply; `NotTried` only of one whose
//!   end was not, or that the server declared not carried out (421 on an earlier command).
//! - No octet of a transaction can end a command or a message early: see [`Path`] and `content`.

mod content;
mod extensions;
mod opening;
mod outbox;
mod pipeline;
mod reply;
#[cfg(test)]
mod tests;
mod transaction;

pub use extensions::Extensions;
pub use reply::{REPLY_LINE_OCTETS_MAX, REPLY_LINES_MAX, Reply};
pub use transaction::{NotAPath, Path, Transaction, Verdict};

use opening::{Next, Opening};
use outbox::Outbox;
use pipeline::Pipeline;
use reply::{NotAReply, ReplyReader, cut};
use std::time::{Duration, Instant};

/// RFC 5321 §4.2.3: the service closes the transmission channel.
const NOT_AVAILABLE: u16 = 421;

/// How a session is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// Our name in EHLO: a domain, or an address in brackets.
    pub hello: String,
    /// Plain, or plain until STARTTLS. A connection that is TLS from its first octet is `Implicit`.
    pub tls: Tls,
    /// Name and password, if the server wants them.
    pub credentials: Option<(String, String)>,
    /// At most so many transactions under way; see `pipeline` for what the server's extensions make of it.
    pub window: usize,
    /// How long replies may take.
    pub timeouts: Timeouts,
}

/// When a connection becomes secure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Never.
    None,
    /// By STARTTLS, or the session fails (RFC 3207).
    StartTls,
    /// It is from the first octet (RFC 8314 §3.3).
    Implicit,
}

/// How long the server may take (RFC 5321 §4.5.3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// For the greeting.
    pub greeting: Duration,
    /// For EHLO, STARTTLS, AUTH, MAIL, RCPT and RSET.
    pub command: Duration,
    /// For the reply to DATA.
    pub data: Duration,
    /// For the reply to the end of data.
    pub content: Duration,
    /// For the reply to QUIT; nothing depends on it.
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

/// What the caller tells of the connection.
#[derive(Debug)]
pub enum Input<'a> {
    /// The peer sent these octets.
    Octets(&'a [u8]),
    /// So many octets of [`Client::poll_transmit`] were written.
    Sent(usize),
    /// The handshake asked for by [`Event::StartTls`] is done.
    Secured,
    /// The connection is gone; why, in words.
    Lost(&'a str),
}

/// What the machine tells its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Make the connection secure, then say [`Input::Secured`]. Nothing is to be written before.
    StartTls,
    /// Transactions may be submitted.
    Ready(Extensions),
    /// A transaction's verdict.
    Done {
        /// The transaction's own number.
        id: u64,
        /// What became of it.
        verdict: Verdict,
    },
    /// Close the connection. Nothing follows.
    Closed(Result<(), Failure>),
}

/// Why a session ended before it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable: `smtp:454 4.7.0`, `smtp:timeout`, `smtp:lost`, `smtp:protocol`.
    pub code: String,
    /// At which command, and the server's words or ours.
    pub text: String,
    /// The server said 421: it carries nothing more out.
    closing: bool,
}

impl Failure {
    fn refused(stage: &str, reply: &Reply) -> Failure {
        let text = format!("the server refused {stage}: {}", reply.words());
        Failure { code: reply.stable_code(), text: cut(text), closing: reply.code == NOT_AVAILABLE }
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

/// Where a session is.
#[derive(Debug)]
enum Phase {
    Opening(Opening),
    Open(Pipeline),
    /// QUIT was written.
    Quitting,
    Closed,
}

/// The machine.
#[derive(Debug)]
pub struct Client {
    options: Options,
    phase: Phase,
    extensions: Extensions,
    encrypted: bool,
    quit_wanted: bool,
    replies: ReplyReader,
    out: Outbox,
    deadline: Option<Instant>,
    events: std::collections::VecDeque<Event>,
}

impl Client {
    /// A session over a connection just made.
    pub fn new(options: Options, now: Instant) -> Client {
        let deadline = now + options.timeouts.greeting;
        Client {
            encrypted: options.tls == Tls::Implicit,
            options,
            phase: Phase::Opening(Opening::Greeting),
            extensions: Extensions::default(),
            quit_wanted: false,
            replies: ReplyReader::default(),
            out: Outbox::default(),
            deadline: Some(deadline),
            events: std::collections::VecDeque::new(),
        }
    }

    /// How many transactions may be submitted now; each is begun at once. More after any reply, or when what waits was
    /// written.
    pub fn room(&self) -> usize {
        match &self.phase {
            Phase::Open(pipeline) if !self.quit_wanted => pipeline.room(&self.out),
            _ => 0,
        }
    }

    /// No transaction is under way.
    pub fn is_idle(&self) -> bool {
        match &self.phase {
            Phase::Open(pipeline) => pipeline.is_idle(),
            _ => true,
        }
    }

    /// Takes a transaction. One without [`Client::room`] comes back as not tried.
    pub fn submit(&mut self, now: Instant, transaction: Transaction) {
        let room = self.room();
        match &mut self.phase {
            Phase::Open(pipeline) if room > 0 => {
                let silent = pipeline.awaits(&self.options.timeouts).is_none();
                pipeline.submit(transaction, &mut self.out);
                if silent {
                    self.restart_timer(now);
                }
                self.fetch_verdicts();
            }
            _ => {
                let text = "the session has no room".to_owned();
                self.events.push_back(Event::Done {
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
            Phase::Open(_) => self.quit_when_idle(now),
            Phase::Opening(_) => self.close(Ok(())),
            Phase::Quitting | Phase::Closed => {}
        }
    }

    /// Takes what happened on the connection.
    pub fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        match input {
            Input::Octets(octets) => {
                self.replies.push(octets);
                self.handle_replies(now);
            }
            Input::Sent(octets) => self.out.sent(octets),
            Input::Secured => self.handle_secured(now),
            Input::Lost(_) if matches!(self.phase, Phase::Quitting) => self.close(Ok(())),
            Input::Lost(why) => self.close(Err(Failure::lost(why))),
        }
    }

    /// Takes the time; does nothing before [`Client::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        let timeouts = &self.options.timeouts;
        let failure = match &self.phase {
            Phase::Opening(opening) => Failure::timeout(opening.stage(), opening.timeout(timeouts)),
            Phase::Open(pipeline) => match pipeline.awaits(timeouts) {
                Some((stage, waited)) => Failure::timeout(stage, waited),
                None => return,
            },
            Phase::Quitting => return self.close(Ok(())),
            Phase::Closed => return,
        };
        self.close(Err(failure));
    }

    /// What is to be written; report what was by [`Input::Sent`].
    pub fn poll_transmit(&self) -> &[u8] {
        self.out.pending()
    }

    /// When [`Client::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn handle_replies(&mut self, now: Instant) {
        let mut heard = false;
        loop {
            let result = match self.replies.next() {
                Ok(None) => break,
                Ok(Some(reply)) => self.handle_reply(&reply),
                Err(NotAReply(why)) => Err(Failure::peer("a reply", why)),
            };
            heard = true;
            self.fetch_verdicts();
            if let Err(failure) = result {
                self.close(Err(failure));
            }
            if matches!(self.phase, Phase::Closed) {
                return;
            }
        }
        if heard {
            self.restart_timer(now);
            if self.quit_wanted {
                self.quit_when_idle(now);
            }
        }
    }

    fn handle_reply(&mut self, reply: &Reply) -> Result<(), Failure> {
        match &mut self.phase {
            Phase::Opening(opening) => {
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
            Phase::Open(pipeline) => pipeline.handle(reply, &mut self.out),
            Phase::Quitting => {
                self.close(Ok(()));
                Ok(())
            }
            Phase::Closed => Ok(()),
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
                self.phase = Phase::Opening(Opening::Securing);
                self.events.push_back(Event::StartTls);
            }
            Next::Opening(opening) => self.phase = Phase::Opening(opening),
            Next::Ready => {
                self.phase = Phase::Open(Pipeline::new(self.extensions, self.options.window));
                self.events.push_back(Event::Ready(self.extensions));
            }
        }
        Ok(())
    }

    /// What the server said before is forgotten: it was not protected (RFC 3207 §4.2).
    fn handle_secured(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Opening(Opening::Securing)) {
            return;
        }
        self.encrypted = true;
        self.extensions = Extensions::default();
        if let Next::Opening(opening) = opening::ehlo(&self.options, &mut self.out) {
            self.phase = Phase::Opening(opening);
        }
        self.restart_timer(now);
    }

    fn fetch_verdicts(&mut self) {
        if let Phase::Open(pipeline) = &mut self.phase {
            self.events.extend(pipeline.verdicts.drain(..).map(|(id, verdict)| Event::Done { id, verdict }));
        }
    }

    /// Every reply gives the next one its whole time.
    fn restart_timer(&mut self, now: Instant) {
        let timeouts = &self.options.timeouts;
        let wait = match &self.phase {
            Phase::Opening(opening) => Some(opening.timeout(timeouts)),
            Phase::Open(pipeline) => pipeline.awaits(timeouts).map(|(_, wait)| wait),
            Phase::Quitting => Some(timeouts.quit),
            Phase::Closed => None,
        };
        self.deadline = wait.map(|wait| now + wait);
    }

    fn quit_when_idle(&mut self, now: Instant) {
        if matches!(&self.phase, Phase::Open(pipeline) if pipeline.is_idle()) {
            self.out.push(b"QUIT\r\n");
            self.phase = Phase::Quitting;
            self.restart_timer(now);
        }
    }

    /// Gives every transaction its verdict and ends.
    fn close(&mut self, end: Result<(), Failure>) {
        if let Phase::Open(pipeline) = &mut self.phase {
            let (closing, why) = match &end {
                Ok(()) => (false, "the session was closed"),
                Err(failure) => (failure.closing, failure.text.as_str()),
            };
            pipeline.lost(self.out.written(), closing, why);
            self.fetch_verdicts();
        }
        self.phase = Phase::Closed;
        self.deadline = None;
        self.out.abandon();
        self.events.push_back(Event::Closed(end));
    }
}
