//! SNPP server machine (RFC 1861): octets and instants in, octets, whole pages and deadlines out.
//!
//! Nothing is stored and nothing is delivered: a [`PagingTerminal`] decides which pagers there are and how
//! tags stand, and a page whose SEND came is an [`SnppServerEvent`]. Its reply waits for
//! [`SnppServer::finish_send`], and no octet behind it is read before.
//!
//! A level of 1 or 2 leaves out the commands of the levels above it: they get 500, as §4.5 asks.

mod page;
mod replies;
#[cfg(test)]
mod tests;

pub use page::{PagerOptions, ReceivedPage, ReceivedPager, ReceivedTwoWay};

use crate::command::{COMMAND_OCTETS_MAX, ReplyType, SnppCommand};
use crate::message::MessageReader;
use crate::reply::{REPLY_LINE_OCTETS_MAX, SERVICE_CLOSING};
use crate::tag::{MessageTag, TagState, TagStatus};
use page::DraftPage;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Output that waits beyond this stops reading.
const OUTPUT_OCTETS_MAX: usize = 64 * 1024;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnppServerOptions {
    /// Words of the greeting, without controls.
    pub greeting: String,
    /// 1 to 3 (RFC 1861 §4.3 to §4.6).
    pub level: u8,
    /// Nothing but HELP and QUIT before LOGIn.
    pub needs_login: bool,
    /// Pagers of a one-way page at most; 10 by default. A two-way page has one (§4.1.3).
    pub pagers_max: usize,
    /// Choices of a page at most; 16 by default.
    pub choices_max: usize,
    /// A session ends with so many refused commands; 20 by default.
    pub errors_max: u32,
    /// A session ends behind so many commands; 100,000 by default.
    pub commands_max: u32,
    /// Time until a line is whole (§4.8); 5 minutes by default.
    pub line_within: Duration,
}

impl Default for SnppServerOptions {
    fn default() -> SnppServerOptions {
        SnppServerOptions {
            greeting: "SNPP (V3) Gateway Ready".to_owned(),
            level: 3,
            needs_login: false,
            pagers_max: 10,
            choices_max: 16,
            errors_max: 20,
            commands_max: 100_000,
            line_within: Duration::from_secs(5 * 60),
        }
    }
}

/// Answer of the terminal to a pager's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagerAnswer {
    /// 250; in a two-way transaction 850: it is online.
    Accepted,
    /// 950: it is not online, and the page will be queued; 750 where the client forbids that. 250 in a
    /// one-way transaction.
    Offline,
    /// 550: there is none, or the password is wrong.
    Unknown,
    /// 550 in a two-way transaction; 250 in another.
    OneWayOnly,
    /// 554: not now.
    Failed,
}

/// What is behind a server: pagers, logins, and the records of two-way pages.
pub trait PagingTerminal {
    /// Whether this login is known.
    fn login(&mut self, id: &str, password: Option<&str>) -> bool;

    /// Whether a pager can be paged.
    fn pager(&mut self, pager: &str, pin: Option<&str>, two_way: bool) -> PagerAnswer;

    /// How a two-way page stands; `None`: no such tag, or another pass code.
    fn status(&mut self, tag: &MessageTag) -> Option<TagStatus>;

    /// Forgets a tag; false if there is none.
    fn kill(&mut self, tag: &MessageTag) -> bool;
}

/// Event for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnppServerEvent {
    /// SEND came for a whole page; its reply waits for [`SnppServer::finish_send`].
    Send(ReceivedPage),
}

/// Result of a page, for the reply to SEND.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendAnswer {
    /// 250.
    Sent,
    /// 860, 861, 880 or 960: a two-way page under this tag. 250 for a page of one way.
    TwoWay(MessageTag, TagState),
    /// 550: it was refused for an administrative reason, with words without controls.
    Refused(String),
    /// 554: it failed for a technical reason.
    Failed,
    /// 421: the gateway is not available; the session ends.
    Unavailable,
}

/// Meaning of the next octets.
#[derive(Debug)]
enum ServerInput {
    Commands,
    Lines(MessageReader),
    /// None are read: the caller has a page.
    Waiting,
    Finished,
}

/// Session of a server with one client.
pub struct SnppServer<T: PagingTerminal> {
    options: SnppServerOptions,
    terminal: T,
    state: ServerInput,
    input: Vec<u8>,
    output: Vec<u8>,
    draft: DraftPage,
    is_logged_in: bool,
    errors: u32,
    commands: u32,
    deadline: Instant,
    events: VecDeque<SnppServerEvent>,
}

impl<T: PagingTerminal> SnppServer<T> {
    /// A session over a connection just accepted.
    pub fn new(options: SnppServerOptions, terminal: T, now: Instant) -> SnppServer<T> {
        let mut greeting = format!("220 {}", options.greeting);
        greeting.truncate(greeting.floor_char_boundary(REPLY_LINE_OCTETS_MAX - 2));
        SnppServer {
            terminal,
            state: ServerInput::Commands,
            input: Vec::new(),
            output: format!("{greeting}\r\n").into_bytes(),
            draft: DraftPage::default(),
            is_logged_in: !options.needs_login,
            errors: 0,
            commands: 0,
            deadline: now + options.line_within,
            events: VecDeque::new(),
            options,
        }
    }

    /// What is behind it.
    pub fn terminal(&mut self) -> &mut T {
        &mut self.terminal
    }

    /// Replies to SEND of the last event, and reads on. Without such a page it does nothing.
    pub fn finish_send(&mut self, now: Instant, answer: SendAnswer) {
        if !matches!(self.state, ServerInput::Waiting) {
            return;
        }
        self.state = ServerInput::Commands;
        self.deadline = now + self.options.line_within;
        let is_two_way = self.draft.is_two_way();
        self.draft = DraftPage::default();
        match answer {
            SendAnswer::TwoWay(tag, state) if is_two_way => self.reply(&replies::sent_two_way(&tag, &state)),
            SendAnswer::Sent | SendAnswer::TwoWay(..) => self.reply(replies::SENT),
            SendAnswer::Refused(words) => self.reject(&format!("550 {words}")),
            SendAnswer::Failed => self.reject(replies::FAILED),
            SendAnswer::Unavailable => self.end(replies::UNAVAILABLE),
        }
        self.read(now);
    }

    /// Ends the session with 421: the server is stopping.
    pub fn stop(&mut self) {
        self.end(replies::DOWN);
    }

    /// Octets of the client, in the order they came, cut anywhere.
    pub fn handle_input(&mut self, now: Instant, input: &[u8]) {
        if !matches!(self.state, ServerInput::Finished) {
            self.input.extend_from_slice(input);
            self.read(now);
        }
    }

    /// Ends a session that is silent for too long; does nothing before [`SnppServer::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        if now >= self.deadline && self.poll_timeout().is_some() {
            self.end(replies::TIMED_OUT);
        }
    }

    /// Nothing more will come from the client, and nothing more reaches it.
    pub fn handle_eof(&mut self) {
        self.state = ServerInput::Finished;
    }

    /// Appends all octets that wait for the client to `output`.
    pub fn poll_transmit(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    /// When to call [`SnppServer::handle_timeout`]; may change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            ServerInput::Commands | ServerInput::Lines(_) => Some(self.deadline),
            ServerInput::Waiting | ServerInput::Finished => None,
        }
    }

    /// The next event; poll until there is none after each input.
    pub fn poll_event(&mut self) -> Option<SnppServerEvent> {
        self.events.pop_front()
    }

    /// Whether to read from the client: not while a page waits for its answer, nor while too much output
    /// waits.
    pub fn wants_input(&self) -> bool {
        matches!(self.state, ServerInput::Commands | ServerInput::Lines(_))
            && self.output.len() < OUTPUT_OCTETS_MAX
    }

    /// The session is over: once the output is written, the connection is to be closed.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, ServerInput::Finished)
    }

    fn read(&mut self, now: Instant) {
        let input = std::mem::take(&mut self.input);
        let mut rest = &input[..];
        while matches!(self.state, ServerInput::Commands | ServerInput::Lines(_)) {
            let Some(at) = rest.iter().position(|octet| *octet == b'\n') else {
                if rest.len() > COMMAND_OCTETS_MAX {
                    self.end(replies::LINE_TOO_LONG);
                }
                break;
            };
            let line = rest[..at].strip_suffix(b"\r").unwrap_or(&rest[..at]);
            rest = &rest[at + 1..];
            self.deadline = now + self.options.line_within;
            self.handle_line(line);
        }
        self.input = rest.to_vec();
    }

    fn handle_line(&mut self, line: &[u8]) {
        self.commands += 1;
        if self.commands > self.options.commands_max {
            return self.end(replies::TOO_MANY_ERRORS);
        }
        if let ServerInput::Lines(reader) = &mut self.state {
            if reader.take_line(line) {
                self.end_of_lines();
            }
            return;
        }
        if line.len() >= COMMAND_OCTETS_MAX {
            return self.reject(replies::NO_MESSAGE);
        }
        match SnppCommand::parse(line) {
            Ok(command) if level_of(&command) > self.options.level => self.reject(replies::NOT_IMPLEMENTED),
            Ok(SnppCommand::Quit) => self.end(replies::GOODBYE),
            Ok(SnppCommand::Help) => self.help(),
            Ok(SnppCommand::Login { id, password }) => self.login(&id, password.as_deref()),
            Ok(_) if !self.is_logged_in => self.reject(replies::LOGIN_FIRST),
            Ok(command) => self.handle_command(command),
            Err(refused) => self.reject(refused.0),
        }
    }

    fn end_of_lines(&mut self) {
        let ServerInput::Lines(reader) = std::mem::replace(&mut self.state, ServerInput::Commands) else {
            return;
        };
        let (is_too_large, text) = (reader.is_too_large, reader.into_text());
        if is_too_large || text.trim_ascii().is_empty() {
            return self.reject(replies::NO_MESSAGE);
        }
        self.draft.text = Some(text);
        self.reply(replies::MESSAGE_OK);
    }

    fn handle_command(&mut self, command: SnppCommand) {
        match command {
            SnppCommand::Page { pager, pin } => self.pager(pager, pin),
            SnppCommand::Message(_) | SnppCommand::Data if self.draft.text.is_some() => {
                self.reject(replies::MESSAGE_TWICE);
            }
            SnppCommand::Message(text) => {
                self.draft.text = Some(text);
                self.reply(replies::MESSAGE_OK);
            }
            SnppCommand::Data => {
                self.state = ServerInput::Lines(MessageReader::default());
                self.reply(replies::BEGIN_INPUT);
            }
            SnppCommand::Send => self.send(),
            SnppCommand::Reset => {
                self.draft = DraftPage::default();
                self.reply(replies::RESET_OK);
            }
            SnppCommand::Status(tag) => match self.terminal.status(&tag) {
                Some(status) => self.reply(&replies::status(&status)),
                None => self.reject(replies::NO_TAG),
            },
            SnppCommand::Kill(tag) => match self.terminal.kill(&tag) {
                true => self.reply(replies::TAG_KILLED),
                false => self.reject(replies::NO_TAG),
            },
            SnppCommand::Ping(pager) => self.ping(&pager),
            SnppCommand::TwoWay if self.draft.is_begun() => self.reject(replies::UNDERWAY),
            SnppCommand::TwoWay => {
                self.draft.two_way = Some(ReceivedTwoWay::default());
                self.reply(replies::TWO_WAY);
            }
            option => self.take_option(option),
        }
    }

    fn take_option(&mut self, option: SnppCommand) {
        match self.draft.take_option(option, self.options.choices_max) {
            Ok(words) => self.reply(words),
            Err(words) => self.reject(words),
        }
    }

    /// PAGEr: the options before it are those of this pager (§4.5.2).
    fn pager(&mut self, pager: String, pin: Option<String>) {
        let two_way = self.draft.is_two_way();
        let most = if two_way { 1 } else { self.options.pagers_max };
        let options = std::mem::take(&mut self.draft.options);
        if self.draft.pagers.len() >= most {
            return self.reject(if two_way { replies::PAGER_TWICE } else { replies::TOO_MANY_PAGERS });
        }
        let answer = self.terminal.pager(&pager, pin.as_deref(), two_way);
        let may_queue = self.draft.two_way.as_ref().is_none_or(|two_way| !two_way.no_queue);
        let words = match answer {
            PagerAnswer::Unknown => return self.reject(replies::NO_PAGER),
            PagerAnswer::Failed => return self.reject(replies::FAILED),
            PagerAnswer::OneWayOnly if two_way => return self.reject(replies::NOT_TWO_WAY),
            PagerAnswer::Offline if two_way && !may_queue => return self.reject(replies::NOT_ONLINE),
            PagerAnswer::Offline if two_way => replies::WILL_QUEUE,
            PagerAnswer::Accepted if two_way => replies::ONLINE,
            _ => replies::PAGER_OK,
        };
        self.draft.pagers.push(ReceivedPager { pager, pin, options });
        self.reply(words);
    }

    fn ping(&mut self, pager: &str) {
        match self.terminal.pager(pager, None, true) {
            PagerAnswer::Accepted => self.reply(replies::PING_ONLINE),
            PagerAnswer::Offline => self.reply(replies::PING_OFFLINE),
            PagerAnswer::OneWayOnly => self.reject(replies::PING_ONE_WAY),
            PagerAnswer::Unknown => self.reject(replies::NO_PAGER),
            PagerAnswer::Failed => self.reject(replies::FAILED),
        }
    }

    fn send(&mut self) {
        if self.draft.pagers.is_empty() || self.draft.text.is_none() {
            return self.reject(replies::INCOMPLETE);
        }
        self.state = ServerInput::Waiting;
        self.events.push_back(SnppServerEvent::Send(self.draft.page()));
    }

    fn login(&mut self, id: &str, password: Option<&str>) {
        if self.terminal.login(id, password) {
            self.is_logged_in = true;
            self.reply(replies::LOGIN_OK);
        } else {
            self.reject(replies::LOGIN_WRONG);
        }
    }

    fn help(&mut self) {
        let lines = &replies::HELP[..usize::from(self.options.level.clamp(1, 3))];
        lines.iter().copied().for_each(|line| self.reply(line));
        self.reply(replies::HELP_END);
    }

    fn reply(&mut self, words: &str) {
        self.output.extend_from_slice(words.as_bytes());
        self.output.extend_from_slice(b"\r\n");
    }

    fn reject(&mut self, words: &str) {
        self.errors += 1;
        if self.errors > self.options.errors_max {
            return self.end(replies::TOO_MANY_ERRORS);
        }
        self.reply(words);
    }

    fn end(&mut self, words: &str) {
        if !self.is_finished() {
            debug_assert!(words.starts_with("221") || words.starts_with(&SERVICE_CLOSING.to_string()));
            self.reply(words);
            self.state = ServerInput::Finished;
        }
    }
}

/// The level that a command belongs to.
fn level_of(command: &SnppCommand) -> u8 {
    match command {
        SnppCommand::Page { .. }
        | SnppCommand::Message(_)
        | SnppCommand::Reset
        | SnppCommand::Send
        | SnppCommand::Quit
        | SnppCommand::Help => 1,
        SnppCommand::TwoWay
        | SnppCommand::Ping(_)
        | SnppCommand::ExpireTag(_)
        | SnppCommand::NoQueue
        | SnppCommand::AckRead(_)
        | SnppCommand::ReplyType(_)
        | SnppCommand::Choice { .. }
        | SnppCommand::Status(_)
        | SnppCommand::Kill(_) => 3,
        _ => 2,
    }
}

impl Default for ReceivedTwoWay {
    fn default() -> ReceivedTwoWay {
        ReceivedTwoWay {
            expires_h: None,
            no_queue: false,
            ack_read: false,
            reply: ReplyType::None,
            choices: Vec::new(),
        }
    }
}
