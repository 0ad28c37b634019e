//! One connection's side of the protocol, without a socket and without a clock: octets in, requests out;
//! replies in, octets out.
//!
//! The first terminator fixes the framing: NUL for programs, LF or CRLF for people. Requests come out as
//! places in the input, so that nothing is copied between the wire and the log.
//!
//! Where people may log in, a line can be theirs ([`person`]), and from a LOGIN or an option of telnet on the
//! input passes a filter ([`telnet`]). Neither touches a connection of programs.

mod person;
mod request;
mod telnet;
#[cfg(test)]
mod tests;

pub use request::{LengthLimits, TOKEN_OCTETS_MAX, TopicRequest};

use person::LoginStage;
use std::ops::Range;
use std::time::{Duration, Instant};
use telnet::TelnetFilter;

/// While so much waits to be written, no further request is looked at.
pub const OUTPUT_OCTETS_MAX: usize = 256 * 1024;
/// A buffer that grew beyond this is given back when it is empty.
const KEPT_OCTETS: usize = 16 * 1024;
/// A begun request takes so many octets more than its topic and message, before it is shortened.
const SLACK_OCTETS: usize = 4 * 1024;

/// Terminator of a request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// NUL: programs.
    Nul,
    /// LF: people.
    Lf,
    /// CRLF: people elsewhere.
    CrLf,
}

/// Limits of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationLimits {
    /// Lengths that are cut.
    pub cut: LengthLimits,
    /// Silence after which a connection ends; nothing: never.
    pub idle: Option<Duration>,
    /// From a request's first octet to its last.
    pub request: Duration,
    /// From the beginning to a good token, where one is needed.
    pub auth: Option<Duration>,
}

/// The machine.
#[derive(Debug)]
pub struct Conversation {
    limits: ConversationLimits,
    framing: Option<Framing>,
    input: Vec<u8>,
    /// Requests before are done with.
    at: usize,
    /// No terminator before.
    scanned: usize,
    output: Vec<u8>,
    /// Octets of `output` that are gone.
    sent: usize,
    last_input: Instant,
    /// When the request that is not whole began.
    begun: Option<Instant>,
    auth_by: Option<Instant>,
    ended: bool,
    /// Nothing: people cannot log in here.
    people: Option<PersonState>,
}

/// A person's side of a connection.
#[derive(Debug, Default)]
struct PersonState {
    /// What they send passes it, from a LOGIN or an option of telnet on.
    telnet: Option<TelnetFilter>,
    stage: LoginStage,
}

impl Conversation {
    /// A connection that was just made.
    pub fn new(limits: ConversationLimits, now: Instant) -> Conversation {
        Conversation {
            limits,
            framing: None,
            input: Vec::new(),
            at: 0,
            scanned: 0,
            output: Vec::new(),
            sent: 0,
            last_input: now,
            begun: None,
            auth_by: limits.auth.map(|within| now + within),
            ended: false,
            people: None,
        }
    }

    /// People can log in on this connection.
    #[must_use]
    pub fn with_logins(self) -> Conversation {
        Conversation { people: Some(PersonState::default()), ..self }
    }

    /// Octets from the peer, not more than one read brings. Places handed out before are void.
    pub fn handle_input(&mut self, now: Instant, octets: &[u8]) {
        self.last_input = now;
        if self.ended {
            return;
        }
        self.drop_past();
        match self.people.as_mut().and_then(|people| people.telnet.as_mut()) {
            Some(filter) => filter.take(octets, &mut self.input, &mut self.output),
            None => self.input.extend_from_slice(octets),
        }
        if self.framing.is_none() && telnet::begins(&self.input) {
            self.begin_telnet();
        }
    }

    /// From now on the input passes the filter, what waits of it too.
    fn begin_telnet(&mut self) {
        let Some(people) = self.people.as_mut().filter(|people| people.telnet.is_none()) else { return };
        let waiting = self.input.split_off(self.at);
        let filter = people.telnet.insert(TelnetFilter::default());
        filter.take(&waiting, &mut self.input, &mut self.output);
        self.scanned = self.at;
    }

    /// The next whole request; nothing until more input comes, or until the waiting output is written. A bare
    /// terminator is ignored.
    pub fn poll_event(&mut self) -> Option<TopicRequest> {
        while !self.ended && self.output.len() - self.sent < OUTPUT_OCTETS_MAX {
            let Some(end) = self.terminator() else {
                self.scanned = self.input.len();
                self.begun = if self.waiting() == 0 { None } else { self.begun.or(Some(self.last_input)) };
                return None;
            };
            let begin = std::mem::replace(&mut self.at, end + 1);
            self.scanned = end + 1;
            let mut text = &self.input[begin..end];
            let logs_in = |line: &[u8]| self.people.is_some() && person::is_login(line);
            let framing = *self.framing.get_or_insert(match (self.input[end], text.last()) {
                (0, Some(b'\r')) if logs_in(&text[..text.len() - 1]) => Framing::CrLf,
                (0, _) => Framing::Nul,
                (_, Some(b'\r')) => Framing::CrLf,
                _ => Framing::Lf,
            });
            if framing != Framing::Nul {
                text = text.strip_suffix(b"\r").unwrap_or(text);
            }
            let people = self.people.as_ref().filter(|_| framing != Framing::Nul);
            let theirs = people.and_then(|people| person::parse(text, begin, people.stage));
            if theirs.is_none() && !text.is_empty() {
                return Some(request::parse(text, begin, &self.limits.cut));
            }
            if let Some(theirs) = theirs {
                self.note_person();
                return Some(theirs);
            }
        }
        None
    }

    /// A person wrote: what follows may be of telnet.
    fn note_person(&mut self) {
        self.begin_telnet();
        if let Some(people) = self.people.as_mut().filter(|people| people.stage == LoginStage::Stranger) {
            people.stage = LoginStage::Known;
        }
    }

    /// The octets of a range, valid until the next input.
    pub fn text(&self, place: &Range<usize>) -> &[u8] {
        self.input.get(place.clone()).unwrap_or_default()
    }

    /// A person is logged in from now on, or no longer.
    pub fn set_logged_in(&mut self, is_logged_in: bool) {
        if let Some(people) = &mut self.people {
            people.stage = if is_logged_in { LoginStage::LoggedIn } else { LoginStage::Known };
        }
    }

    /// Shows a person lines that answer no request, behind an empty one.
    pub fn show(&mut self, lines: &[String]) {
        self.reply(b"");
        lines.iter().for_each(|line| self.reply(line.as_bytes()));
    }

    /// Answers the request that is next in turn.
    pub fn reply(&mut self, text: &[u8]) {
        self.output.extend_from_slice(text);
        self.output.extend_from_slice(match self.framing {
            None | Some(Framing::Nul) => b"\0",
            Some(Framing::Lf) => b"\n",
            Some(Framing::CrLf) => b"\r\n",
        });
    }

    /// The same with a number.
    pub fn reply_number(&mut self, number: u64) {
        let (mut digits, mut at, mut left) = ([0; 20], 20, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.reply(&digits[at..]);
    }

    /// Octets to write.
    pub fn poll_transmit(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// The system took so many octets of it. When it has all, places handed out before are void.
    pub fn handle_sent(&mut self, octets: usize) {
        self.sent += octets;
        if self.sent < self.output.len() {
            return;
        }
        self.output.clear();
        self.sent = 0;
        // Most connections are idle most of the time.
        if self.output.capacity() > KEPT_OCTETS {
            self.output.shrink_to(KEPT_OCTETS);
        }
        if self.input.capacity() > KEPT_OCTETS {
            self.drop_past();
            self.input.shrink_to(KEPT_OCTETS);
        }
    }

    /// A good token came, or a person logged in.
    pub fn authenticated(&mut self) {
        self.auth_by = None;
    }

    /// A person was sent a code: they have until then, where a token or a login is needed.
    pub fn await_code(&mut self, until: Instant) {
        self.auth_by = self.auth_by.map(|by| by.max(until));
    }

    /// Ignores further input: the waiting output is written, then the connection ends.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// When to call [`handle_timeout`](Self::handle_timeout). May change with any other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        // Who waits for alerts is silent.
        let idle = self.limits.idle.filter(|_| !self.is_logged_in()).map(|idle| self.last_input + idle);
        let request = self.begun.map(|begun| begun + self.limits.request);
        [idle, request, self.auth_by].into_iter().flatten().min()
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come: a silent or slow connection ends.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.end();
        }
    }

    /// The connection ends once the waiting output is written.
    pub fn is_finished(&self) -> bool {
        self.ended
    }

    /// Octets of a begun request that wait for the rest of it.
    pub fn waiting(&self) -> usize {
        self.input.len() - self.at
    }

    fn is_logged_in(&self) -> bool {
        self.people.as_ref().is_some_and(|people| people.stage == LoginStage::LoggedIn)
    }

    fn terminator(&self) -> Option<usize> {
        let rest = &self.input[self.scanned..];
        let found = match self.framing {
            None => memchr::memchr2(0, b'\n', rest),
            Some(Framing::Nul) => memchr::memchr(0, rest),
            Some(Framing::Lf | Framing::CrLf) => memchr::memchr(b'\n', rest),
        };
        found.map(|place| self.scanned + place)
    }

    /// Drops the requests that are done; keeps only the needed part of a begun one.
    fn drop_past(&mut self) {
        let ConversationLimits { cut, .. } = &self.limits;
        let is_begun = self.scanned == self.input.len();
        if is_begun && self.waiting() > cut.topic_octets_max + cut.message_octets_max + SLACK_OCTETS {
            let is_line = self.framing != Some(Framing::Nul);
            self.input = match self.is_logged_in() {
                true => self.input[self.at..][..person::SAID_OCTETS_MAX].to_vec(),
                false => request::shortened(&self.input[self.at..], is_line, cut),
            };
            self.scanned = self.input.len();
        } else {
            self.input.drain(..self.at);
            self.scanned -= self.at;
        }
        self.at = 0;
    }
}
