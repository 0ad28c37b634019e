//! SNPP client machine (RFC 1861): octets and instants in, octets, verdicts and deadlines out.
//!
//! Five verbs: [`SnppClient::handle_input`], [`SnppClient::handle_timeout`], [`SnppClient::poll_transmit`],
//! [`SnppClient::poll_timeout`], [`SnppClient::poll_event`]. After any call that takes `now`, the three polls
//! may answer differently. The caller reports the octets it wrote ([`SnppInput::Sent`]), since only a page
//! whose SEND was written can be unknown.
//!
//! One job at a time, one after another: a page ([`SnppClient::submit`]), or a question for a tag
//! ([`SnppClient::query`], [`SnppClient::kill`]). SNPP has no pipelining: each command waits for its reply.
//!
//! Invariants worth naming:
//! - Every page gets one verdict and every question one answer, at the latest before
//!   [`SnppClientEvent::Closed`].
//! - `Unknown` is the verdict only of a page of whose SEND an octet was written and that got no reply.
//! - A reply that comes before its command was written ends the session: it belongs to something else.

mod page;
#[cfg(test)]
mod tests;

pub use page::{CHOICES_MAX, OutgoingPage, PageVerdict, TwoWay};

use crate::command::SnppCommand;
use crate::message::push_stuffed;
use crate::reply::{
    ADMINISTRATIVE_FAILURE, MalformedReply, NOT_IMPLEMENTED, OUT_OF_ORDER, ReplyCategory, SERVICE_CLOSING,
    SnppReply, SnppReplyReader, TECHNICAL_FAILURE, cut,
};
use crate::tag::{MessageTag, SendReceipt, StatusReply};
use page::PageStep;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Settings of a session.
#[derive(Clone, Default)]
pub struct SnppClientOptions {
    /// Login and its password (RFC 1861 §4.5.1); `None`: anonymous.
    pub login: Option<(String, Option<String>)>,
    /// Time limits of replies.
    pub timeouts: SnppTimeouts,
}

/// Without the password.
impl std::fmt::Debug for SnppClientOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let login = self.login.as_ref().map(|(id, _)| id);
        f.debug_struct("SnppClientOptions").field("login", &login).field("timeouts", &self.timeouts).finish()
    }
}

/// Time limits of the server's replies. The standard names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnppTimeouts {
    /// For the greeting; 1 minute.
    pub greeting: Duration,
    /// For a command; 1 minute.
    pub command: Duration,
    /// For SEND, at which a server may wait for its paging terminal; 3 minutes.
    pub send: Duration,
    /// For QUIT, on which nothing depends; 5 seconds.
    pub quit: Duration,
}

impl Default for SnppTimeouts {
    fn default() -> SnppTimeouts {
        let seconds = Duration::from_secs;
        SnppTimeouts { greeting: seconds(60), command: seconds(60), send: seconds(180), quit: seconds(5) }
    }
}

/// Input of the connection.
#[derive(Debug)]
pub enum SnppInput<'a> {
    /// Octets of the server, in the order they came, cut anywhere.
    Octets(&'a [u8]),
    /// So many octets of [`SnppClient::poll_transmit`] were written; more than were pending is a panic.
    Sent(usize),
    /// The connection is gone, with the reason.
    Lost(&'a str),
}

/// Event for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnppClientEvent {
    /// The session is open.
    Ready,
    /// The first octets of a page's SEND were written: from now on the server may have it.
    SendWritten {
        /// The page's own number.
        id: u64,
    },
    /// A page's verdict.
    Done {
        /// The page's own number.
        id: u64,
        /// Its result.
        verdict: PageVerdict,
    },
    /// Answer to [`SnppClient::query`]; `None` where the session ended before.
    Status {
        /// The question's number.
        id: u64,
        /// The answer.
        reply: Option<StatusReply>,
    },
    /// The connection is to be closed. Nothing follows.
    Closed(Result<(), SnppFailure>),
}

/// Reason of a session's early end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnppFailure {
    /// Stable: `snpp:421`, `snpp:timeout`, `snpp:lost`, `snpp:protocol`.
    pub code: String,
    /// The command, and the server's words or the client's.
    pub text: String,
}

impl SnppFailure {
    fn new(code: &str, text: String) -> SnppFailure {
        SnppFailure { code: code.to_owned(), text: cut(text) }
    }

    fn protocol(text: String) -> SnppFailure {
        SnppFailure::new("snpp:protocol", text)
    }

    fn refused(word: &str, reply: &SnppReply) -> SnppFailure {
        let text = format!("the server refused {word}: {}", reply.words());
        SnppFailure::new(&reply.stable_code(), text)
    }
}

/// A page under way.
#[derive(Debug)]
struct PageRun {
    page: OutgoingPage,
    is_two_way: bool,
    step: PageStep,
    rest: VecDeque<PageStep>,
    without: Vec<&'static str>,
    /// An octet of SEND was written.
    send_begun: bool,
}

/// Reason of a LOGIn.
#[derive(Debug)]
enum LoginFor {
    /// The session is new.
    Opening,
    /// RESEt took the session back to its beginning (RFC 1861 §4.3.3), as HylaFAX does: the page that waits
    /// for it, if one does.
    Reset(Option<Box<PageRun>>),
}

/// Phase of a session.
#[derive(Debug)]
enum ClientPhase {
    Greeting,
    /// LOGIn was written; a page is tried again behind it, where one waits.
    LoggingIn(LoginFor),
    Idle,
    Paging(Box<PageRun>),
    /// RESEt was written: after a refusal, or before the page is tried by level 2.
    Resetting(Option<Box<PageRun>>),
    Querying(u64),
    Killing,
    Quitting,
    Closed,
}

/// Session of a client with one server.
#[derive(Debug)]
pub struct SnppClient {
    options: SnppClientOptions,
    phase: ClientPhase,
    replies: SnppReplyReader,
    out: Vec<u8>,
    quit_wanted: bool,
    deadline: Option<Instant>,
    events: VecDeque<SnppClientEvent>,
}

impl SnppClient {
    /// A session over a connection just made.
    pub fn new(options: SnppClientOptions, now: Instant) -> SnppClient {
        SnppClient {
            deadline: Some(now + options.timeouts.greeting),
            options,
            phase: ClientPhase::Greeting,
            replies: SnppReplyReader::default(),
            out: Vec::new(),
            quit_wanted: false,
            events: VecDeque::new(),
        }
    }

    /// The session is open, and nothing is under way: a page or a question may be given.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, ClientPhase::Idle) && !self.quit_wanted
    }

    /// Takes a page. One that comes while the session is not [idle](SnppClient::is_idle) is not tried; one
    /// that no server could take is refused.
    pub fn submit(&mut self, now: Instant, page: OutgoingPage) {
        let id = page.id;
        if !self.is_idle() {
            let text = "the session is not idle".to_owned();
            return self.done(id, PageVerdict::NotTried { text });
        }
        if let Some(why) = page.problem() {
            let (code, text) = ("local:page".to_owned(), why.to_owned());
            return self.done(id, PageVerdict::Refused { permanent: true, code, text });
        }
        let is_two_way = page.two_way.is_some();
        let mut rest = page.steps(is_two_way);
        let Some(step) = rest.pop_front() else { return };
        self.begin(PageRun { page, is_two_way, step, rest, without: Vec::new(), send_begun: false }, now);
    }

    /// Asks how a two-way page stands. While the session is not [idle](SnppClient::is_idle) the answer is
    /// `None` at once.
    pub fn query(&mut self, now: Instant, id: u64, tag: &MessageTag) {
        if self.is_idle() && SnppCommand::Status(tag.clone()).write(&mut self.out).is_ok() {
            self.phase = ClientPhase::Querying(id);
            self.restart_timer(now);
        } else {
            self.events.push_back(SnppClientEvent::Status { id, reply: None });
        }
    }

    /// Says that a tag is no longer needed: a courtesy, whose reply does not matter. Does nothing while the
    /// session is not [idle](SnppClient::is_idle).
    pub fn kill(&mut self, now: Instant, tag: &MessageTag) {
        if self.is_idle() && SnppCommand::Kill(tag.clone()).write(&mut self.out).is_ok() {
            self.phase = ClientPhase::Killing;
            self.restart_timer(now);
        }
    }

    /// Ends the session once nothing is under way.
    pub fn quit(&mut self, now: Instant) {
        self.quit_wanted = true;
        match self.phase {
            ClientPhase::Idle => self.begin_quit(now),
            ClientPhase::Greeting | ClientPhase::LoggingIn(LoginFor::Opening) => self.close(Ok(())),
            _ => {}
        }
    }

    /// Takes an input; does nothing after [`SnppClientEvent::Closed`].
    pub fn handle_input(&mut self, now: Instant, input: SnppInput<'_>) {
        if matches!(self.phase, ClientPhase::Closed) {
            return;
        }
        match input {
            SnppInput::Octets(octets) => {
                self.replies.push(octets);
                self.handle_replies(now);
            }
            SnppInput::Sent(octets) => {
                self.out.drain(..octets);
                self.note_send(octets);
            }
            SnppInput::Lost(_) if matches!(self.phase, ClientPhase::Quitting) => self.close(Ok(())),
            SnppInput::Lost(why) => self.close(Err(SnppFailure::new("snpp:lost", why.to_owned()))),
        }
    }

    fn note_send(&mut self, octets: usize) {
        if let ClientPhase::Paging(run) = &mut self.phase
            && octets > 0
            && is_send(&run.step)
            && !run.send_begun
        {
            run.send_begun = true;
            self.events.push_back(SnppClientEvent::SendWritten { id: run.page.id });
        }
    }

    /// Ends a session whose reply is late; does nothing before [`SnppClient::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        if matches!(self.phase, ClientPhase::Quitting) {
            return self.close(Ok(()));
        }
        let waited = self.wait().map_or(0, |wait| wait.as_secs());
        let text = format!("the server did not reply to {} within {waited} s", self.word());
        self.close(Err(SnppFailure::new("snpp:timeout", text)));
    }

    /// Octets to be written, all that wait; their number is to be reported by [`SnppInput::Sent`].
    pub fn poll_transmit(&self) -> &[u8] {
        &self.out
    }

    /// When to call [`SnppClient::handle_timeout`]; may change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// The next event; poll until there is none after each call.
    pub fn poll_event(&mut self) -> Option<SnppClientEvent> {
        self.events.pop_front()
    }

    fn handle_replies(&mut self, now: Instant) {
        while !matches!(self.phase, ClientPhase::Closed) {
            let result = match self.replies.next_reply() {
                Ok(None) => return,
                Ok(Some(reply)) => self.handle_reply(&reply, now),
                Err(MalformedReply(why)) => Err(SnppFailure::protocol(why)),
            };
            if let Err(failure) = result {
                self.close(Err(failure));
            }
        }
    }

    fn handle_reply(&mut self, reply: &SnppReply, now: Instant) -> Result<(), SnppFailure> {
        if !self.out.is_empty() {
            let text = format!("the server replied before {} was written: {}", self.word(), reply.words());
            return Err(SnppFailure::protocol(text));
        }
        if reply.category() == ReplyCategory::Terminated {
            return self.handle_closing(reply);
        }
        let is_successful = reply.category() == ReplyCategory::Successful;
        match std::mem::replace(&mut self.phase, ClientPhase::Idle) {
            // A greeting of 250 behind help lines is known of a server for radio amateurs.
            ClientPhase::Greeting if is_successful => self.log_in(LoginFor::Opening, now),
            ClientPhase::LoggingIn(reason) if is_successful => self.logged_in(reason, now),
            ClientPhase::Greeting => Err(SnppFailure::refused("the connection", reply)),
            ClientPhase::LoggingIn(reason) => {
                self.phase = ClientPhase::LoggingIn(reason);
                Err(SnppFailure::refused("LOGI", reply))
            }
            ClientPhase::Paging(run) => self.handle_page_reply(*run, reply, now),
            ClientPhase::Resetting(next) => self.log_in(LoginFor::Reset(next), now),
            ClientPhase::Killing => self.become_idle(now),
            ClientPhase::Querying(id) => {
                let reply = Some(StatusReply::read(reply));
                self.events.push_back(SnppClientEvent::Status { id, reply });
                self.become_idle(now)
            }
            ClientPhase::Idle => {
                Err(SnppFailure::protocol(format!("the server said unasked: {}", reply.words())))
            }
            ClientPhase::Quitting => {
                self.close(Ok(()));
                Ok(())
            }
            ClientPhase::Closed => Ok(()),
        }
    }

    /// The server ends the connection; it took nothing that it has not confirmed (§4.2.4).
    fn handle_closing(&mut self, reply: &SnppReply) -> Result<(), SnppFailure> {
        let failure = SnppFailure::refused(self.word(), reply);
        match std::mem::replace(&mut self.phase, ClientPhase::Idle) {
            ClientPhase::Quitting => {
                self.close(Ok(()));
                return Ok(());
            }
            ClientPhase::Paging(run) => {
                let (code, text) = (reply.stable_code(), failure.text.clone());
                self.done(run.page.id, PageVerdict::Refused { permanent: false, code, text });
            }
            other => self.phase = other,
        }
        Err(failure)
    }

    fn log_in(&mut self, reason: LoginFor, now: Instant) -> Result<(), SnppFailure> {
        let Some((id, password)) = self.options.login.clone() else { return self.logged_in(reason, now) };
        self.phase = ClientPhase::LoggingIn(reason);
        SnppCommand::Login { id, password }.write(&mut self.out).map_err(|_| {
            SnppFailure::new("local:login", "the login or its password cannot be carried by SNPP".to_owned())
        })?;
        self.restart_timer(now);
        Ok(())
    }

    fn logged_in(&mut self, reason: LoginFor, now: Instant) -> Result<(), SnppFailure> {
        match reason {
            LoginFor::Reset(Some(run)) => {
                self.begin(*run, now);
                return Ok(());
            }
            LoginFor::Reset(None) => {}
            LoginFor::Opening => self.events.push_back(SnppClientEvent::Ready),
        }
        self.become_idle(now)
    }

    fn become_idle(&mut self, now: Instant) -> Result<(), SnppFailure> {
        self.phase = ClientPhase::Idle;
        self.deadline = None;
        if self.quit_wanted {
            self.begin_quit(now);
        }
        Ok(())
    }

    /// Writes the step at hand.
    fn begin(&mut self, run: PageRun, now: Instant) {
        match &run.step {
            PageStep::Lines => push_stuffed(&mut self.out, &run.page.text),
            PageStep::Required(command) | PageStep::Optional(command) => {
                // It was checked when the page was taken.
                let written = command.write(&mut self.out);
                debug_assert!(written.is_ok(), "{command:?}");
            }
        }
        self.phase = ClientPhase::Paging(Box::new(run));
        self.restart_timer(now);
    }

    fn handle_page_reply(
        &mut self,
        mut run: PageRun,
        reply: &SnppReply,
        now: Instant,
    ) -> Result<(), SnppFailure> {
        if is_send(&run.step) {
            return self.finish(run, reply, now);
        }
        let awaits_input = run.step == PageStep::Required(SnppCommand::Data);
        let refused = match reply.category() {
            ReplyCategory::Input => !awaits_input,
            ReplyCategory::Failed | ReplyCategory::TwoWayFailed => true,
            _ => awaits_input,
        };
        if refused && matches!(run.step, PageStep::Optional(_)) {
            run.without.push(run.step.word());
        } else if refused && awaits_input && reply.code == NOT_IMPLEMENTED {
            // A server of level 1 has no DATA: the text goes on one line.
            run.rest.pop_front();
            let step = run.page.on_one_line();
            run.rest.push_front(step);
        } else if refused && self.may_go_one_way(&run, reply) {
            return self.go_one_way(run, now);
        } else if refused {
            return self.refuse(run, reply, now);
        }
        if let Some(step) = run.rest.pop_front() {
            run.step = step;
            self.begin(run, now);
        }
        Ok(())
    }

    /// The server or the pager knows no two-way pages; or the pager is unknown, which the same page by level
    /// 2 will tell.
    fn may_go_one_way(&self, run: &PageRun, reply: &SnppReply) -> bool {
        let is_two_way_step =
            matches!(run.step, PageStep::Required(SnppCommand::TwoWay | SnppCommand::Page { .. }));
        run.is_two_way && is_two_way_step && matches!(reply.code, ADMINISTRATIVE_FAILURE | NOT_IMPLEMENTED)
    }

    fn go_one_way(&mut self, mut run: PageRun, now: Instant) -> Result<(), SnppFailure> {
        run.is_two_way = false;
        run.without = vec!["2WAY"];
        run.rest = run.page.steps(false);
        if let Some(step) = run.rest.pop_front() {
            run.step = step;
            self.reset(Some(Box::new(run)), now);
        }
        Ok(())
    }

    fn reset(&mut self, next: Option<Box<PageRun>>, now: Instant) {
        let written = SnppCommand::Reset.write(&mut self.out);
        debug_assert!(written.is_ok(), "RESEt has no argument");
        self.phase = ClientPhase::Resetting(next);
        self.restart_timer(now);
    }

    fn refuse(&mut self, run: PageRun, reply: &SnppReply, now: Instant) -> Result<(), SnppFailure> {
        let text = SnppFailure::refused(run.step.word(), reply).text;
        let (permanent, code) = (is_permanent(reply), reply.stable_code());
        self.done(run.page.id, PageVerdict::Refused { permanent, code, text });
        self.reset(None, now);
        Ok(())
    }

    /// The reply to SEND.
    fn finish(&mut self, run: PageRun, reply: &SnppReply, now: Instant) -> Result<(), SnppFailure> {
        match SendReceipt::read(reply) {
            Some(receipt) => {
                self.done(run.page.id, PageVerdict::Accepted { receipt, without: run.without });
                self.become_idle(now)
            }
            None if reply.category() == ReplyCategory::Input => {
                let text = format!("the server's reply to SEND does not fit: {}", reply.words());
                self.phase = ClientPhase::Paging(Box::new(run));
                Err(SnppFailure::protocol(text))
            }
            None => self.refuse(run, reply, now),
        }
    }

    fn done(&mut self, id: u64, verdict: PageVerdict) {
        self.events.push_back(SnppClientEvent::Done { id, verdict });
    }

    fn begin_quit(&mut self, now: Instant) {
        let written = SnppCommand::Quit.write(&mut self.out);
        debug_assert!(written.is_ok(), "QUIT has no argument");
        self.phase = ClientPhase::Quitting;
        self.restart_timer(now);
    }

    /// What is waited for, in a word.
    fn word(&self) -> &'static str {
        match &self.phase {
            ClientPhase::Greeting => "the connection",
            ClientPhase::LoggingIn(_) => "LOGI",
            ClientPhase::Paging(run) => run.step.word(),
            ClientPhase::Resetting(_) => "RESE",
            ClientPhase::Querying(_) => "MSTA",
            ClientPhase::Killing => "KTAG",
            ClientPhase::Quitting => "QUIT",
            ClientPhase::Idle | ClientPhase::Closed => "the session",
        }
    }

    fn wait(&self) -> Option<Duration> {
        let timeouts = &self.options.timeouts;
        match &self.phase {
            ClientPhase::Greeting => Some(timeouts.greeting),
            ClientPhase::Paging(run) if is_send(&run.step) => Some(timeouts.send),
            ClientPhase::Quitting => Some(timeouts.quit),
            ClientPhase::Idle | ClientPhase::Closed => None,
            _ => Some(timeouts.command),
        }
    }

    fn restart_timer(&mut self, now: Instant) {
        self.deadline = self.wait().map(|wait| now + wait);
    }

    /// Gives what is under way its verdict, and ends.
    fn close(&mut self, end: Result<(), SnppFailure>) {
        let text = end.as_ref().err().map_or("the session was closed", |failure| &failure.text).to_owned();
        match std::mem::replace(&mut self.phase, ClientPhase::Closed) {
            ClientPhase::Paging(run) if run.send_begun => {
                self.done(run.page.id, PageVerdict::Unknown { text });
            }
            ClientPhase::Paging(run)
            | ClientPhase::Resetting(Some(run))
            | ClientPhase::LoggingIn(LoginFor::Reset(Some(run))) => {
                self.done(run.page.id, PageVerdict::NotTried { text });
            }
            ClientPhase::Querying(id) => {
                self.events.push_back(SnppClientEvent::Status { id, reply: None });
            }
            ClientPhase::Closed => return,
            _ => {}
        }
        self.deadline = None;
        self.out.clear();
        self.events.push_back(SnppClientEvent::Closed(end));
    }
}

fn is_send(step: &PageStep) -> bool {
    *step == PageStep::Required(SnppCommand::Send)
}

/// Whether the same again would be refused again: administrative failures are; technical ones, a session out
/// of step and a pager that is not there are not (RFC 1861 §4.2.7, §4.6.8).
fn is_permanent(reply: &SnppReply) -> bool {
    reply.category() == ReplyCategory::Failed && !matches!(reply.code, TECHNICAL_FAILURE | OUT_OF_ORDER)
}

/// A reply of 421 ended the session.
pub fn is_closing(failure: &SnppFailure) -> bool {
    failure.code == format!("snpp:{SERVICE_CLOSING}")
}
