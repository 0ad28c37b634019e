//! The session machine of either role: bytes and a moment in, bytes, events and a deadline out.
//!
//! # The contract with the caller
//! 1. After [`Session::handle_input`], [`Session::handle_timeout`] or [`Session::handle_eof`] take every
//!    event with [`Session::poll_event`] until it gives `None`: the input is read there, in place.
//! 2. Then write what [`Session::poll_transmit`] appends, and arm a timer for [`Session::poll_timeout`]. Both
//!    answers may change after any call with `&mut self`.
//! 3. While [`Session::wants_input`] is false, do not read from the connection: the peer does not read
//!    either.
//!
//! # A server
//! With [`Role::Smsc`], in the order of a session's life:
//!
//! | event | what it wants |
//! |---|---|
//! | [`Event::Bind`], all fields as they came | [`Session::accept_bind`] or [`Session::refuse_bind`], at once or later, within `session_init` |
//! | [`Event::Submit`], [`Event::Data`], [`Event::Request`] of submit_multi and broadcast_sm | [`Session::respond`] with the id or a refusal; [`Session::respond_with`] for whom a submit_multi refuses, or TLVs |
//! | [`Event::Request`] of query_sm, query_broadcast_sm | [`Session::respond_with`] the state, or [`Session::respond`] with a refusal |
//! | [`Event::Request`] of cancel_sm, replace_sm, cancel_broadcast_sm | [`Session::respond`] |
//! | [`Event::Response`], [`Event::Unanswered`] | of what [`Session::deliver`] and [`Session::data`] sent, in a window of their own |
//! | [`Event::Unbinding`] | the answers that are owed; none is asked for |
//! | [`Event::Closed`] | nothing: what was not answered cannot be any more |
//!
//! Answers may be given in any order and at any time, as when they are on disk; a request keeps its place in
//! [`Config::peer_window`] until then, and what comes over it is throttled by the machine. Bodies have been
//! judged: sizes, times, type of number, TLVs, the user data header. What only the caller knows, such as
//! rates ([`Status::RTHROTTLED`], [`Status::RMSGQFUL`]), senders allowed, default messages and list names, it
//! refuses by `respond`; [`Session::set_congestion`] tells peers of 5.0 before it comes to that.
//!
//! No event and no response is ever held back by a limit, so there is nothing to wake the machine up for but
//! input and time.

mod config;
mod event;
mod peers;
mod receive;
mod send;
mod state;
mod timers;
mod window;

#[cfg(test)]
mod tests;

pub use config::{Config, OUTPUT_OCTETS_MAX, PEER_WINDOW_DEFAULT, Role, WINDOW_DEFAULT, WINDOW_MAX};
pub use event::{Counters, Event, NoResponse, Reason, Refused, Response, SendError, Unanswered};
pub use state::{SessionState, may_send};

use crate::frame::{self, Split};
use crate::pdu::{BindMode, Command, Header, Version, encode_header};
use crate::status::Status;
use peers::PeerRequests;
use std::time::{Duration, Instant};
use timers::{SessionTimer, Timers};
use window::{Nanos, Window, WindowEntry, after};

/// Undrained input at which the caller is taken to have forgotten [`Session::poll_event`].
const INPUT_BACKLOG_OCTETS_MAX: usize = 8 << 20;
/// An input buffer over this is given back when it was not needed for a while, so that an idle session costs
/// nothing.
const INPUT_KEPT_OCTETS: usize = 16 << 10;
/// So many inputs in a row that would have fitted into the above are a while.
const SMALL_INPUTS_MAX: u32 = 32;
/// Greatest `congestion_state`: congested.
const CONGESTION_MAX: u8 = 100;
/// Refused binds on one connection before it is closed.
const REFUSED_BINDS_MAX: u32 = 3;

/// One SMPP session over one connection.
pub struct Session {
    input: Vec<u8>,
    /// Where in `input` the next PDU begins.
    head: usize,
    /// Inputs in a row that were small.
    small_inputs: u32,
    core: Core,
}

/// All of the session but its input, so that events may point into that while this changes.
struct Core {
    role: Role,
    config: Config,
    state: SessionState,
    version: Version,
    born: Instant,
    now: Instant,
    /// `now` as the window counts it.
    nanos: Nanos,
    out: Vec<u8>,
    /// Which filling of `out` this is: a request of the current one has not left yet.
    batch: u32,
    next_sequence: u32,
    window: Window,
    peers: PeerRequests,
    timers: Timers,
    /// A bind without its answer: ours as ESME, the peer's as SMSC.
    bind: Option<PendingBind>,
    refused_binds: u32,
    /// As what the session was last bound; means something in BOUND and UNBOUND.
    mode: BindMode,
    unbind: Unbinding,
    /// Of our last enquire_link.
    enquired: Option<u32>,
    closed: Option<Reason>,
    told_closed: bool,
    /// 5.0: what our responses say about how busy we are.
    congestion: Option<u8>,
    counters: Counters,
}

#[derive(Clone, Copy)]
struct PendingBind {
    mode: BindMode,
    sequence: u32,
    peer_version: Version,
}

/// How far an unbind is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unbinding {
    No,
    /// We want to; our outstanding requests drain first.
    Draining,
    /// We asked.
    Asked {
        sequence: u32,
    },
    /// The peer asked; its outstanding requests drain before our answer.
    PeerAsked {
        sequence: u32,
    },
}

impl Session {
    /// A session over a fresh connection, in state OPEN.
    #[must_use]
    pub fn new(role: Role, config: Config, now: Instant) -> Self {
        let core = Core {
            role,
            state: SessionState::Open,
            version: config.version,
            born: now,
            now,
            nanos: 0,
            out: Vec::new(),
            batch: 0,
            next_sequence: 1,
            window: Window::new(config.window, config.late_keep),
            peers: PeerRequests::new(config.peer_window),
            timers: Timers::new(&config, now),
            bind: None,
            refused_binds: 0,
            mode: BindMode::Transceiver,
            unbind: Unbinding::No,
            enquired: None,
            closed: None,
            told_closed: false,
            congestion: None,
            counters: Counters::default(),
            config,
        };
        Session { input: Vec::new(), head: 0, small_inputs: 0, core }
    }

    /// Takes in octets from the connection, in pieces of any size. They are read by [`Session::poll_event`].
    pub fn handle_input(&mut self, bytes: &[u8], now: Instant) {
        self.core.set_now(now);
        if self.core.state == SessionState::Closed {
            return;
        }
        let waiting = self.input.len() - self.head;
        if waiting > self.core.config.pdu_octets_max + INPUT_BACKLOG_OCTETS_MAX {
            self.core.close(Reason::Overrun);
            return;
        }
        self.forget_what_was_read();
        self.core.counters.octets_in += bytes.len() as u64;
        self.input.extend_from_slice(bytes);
    }

    /// Acts on what is due at `now`. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.core.set_now(now);
        self.core.run_timers();
        self.forget_what_was_read();
        let is_silent = self.core.enquired.is_some() || self.core.state == SessionState::Closed;
        if self.input.is_empty() && is_silent {
            self.input = Vec::new();
        }
    }

    fn forget_what_was_read(&mut self) {
        if self.head == 0 {
            return;
        }
        if self.input.capacity() > INPUT_KEPT_OCTETS {
            let is_small = self.input.len() <= INPUT_KEPT_OCTETS;
            self.small_inputs = if is_small { self.small_inputs + 1 } else { 0 };
            if self.small_inputs >= SMALL_INPUTS_MAX && self.head == self.input.len() {
                (self.input, self.head) = (Vec::new(), 0);
            }
        }
        // Mostly all of it; else the beginning of a PDU is left.
        self.input.drain(..self.head);
        self.head = 0;
    }

    /// The connection has ended, in order or not: what is unanswered is unknown.
    pub fn handle_eof(&mut self, now: Instant) {
        self.core.set_now(now);
        let reason = match self.core.unbind {
            Unbinding::Asked { .. } => Reason::Unbound,
            Unbinding::PeerAsked { .. } => Reason::PeerUnbound,
            Unbinding::No | Unbinding::Draining => Reason::ConnectionLost,
        };
        // Whole PDUs that came before the end still count: the session ends behind them.
        self.core.closed.get_or_insert(reason);
        self.core.out.clear();
    }

    /// Moves all waiting output to the end of `out` and says how many octets that was. Requests in it can no
    /// longer be taken back: unanswered they are unknown.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> usize {
        self.core.transmit(out)
    }

    /// When [`Session::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let expiry = self.core.next_expiry();
        let timer = self.core.timers.next().map(|(at, _)| at);
        match (expiry, timer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next thing that happened, or `None` until more input or time comes.
    pub fn poll_event(&mut self) -> Option<Event<'_>> {
        let Session { input, head, core, .. } = self;
        let bytes: &[u8] = input;
        while core.state != SessionState::Closed {
            match frame::split(&bytes[*head..], core.config.pdu_octets_max) {
                Ok(Split::Pdu(pdu)) => {
                    *head += pdu.len();
                    if let Some(event) = core.receive(pdu) {
                        return Some(event);
                    }
                }
                Ok(Split::Need(_)) => break,
                Err(error) => {
                    encode_header(Command::GENERIC_NACK, error.status, 0, &mut core.out);
                    core.counters.refused_requests += 1;
                    core.close(Reason::BadLength);
                }
            }
        }
        core.end_if_closed();
        core.next_unanswered().or_else(|| core.tell_closed())
    }

    /// Whether the caller should read from the connection. False while the peer lets our output pile up.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        self.core.out.len() < self.core.config.output_octets_max && self.core.state != SessionState::Closed
    }

    /// Whether output waits for [`Session::poll_transmit`].
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.core.out.is_empty()
    }

    /// Octets that wait for [`Session::poll_transmit`].
    #[must_use]
    pub fn output_octets(&self) -> usize {
        self.core.out.len()
    }

    /// Where the session stands.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.core.state
    }

    /// The version both speak; ours until the session is bound.
    #[must_use]
    pub fn version(&self) -> Version {
        self.core.version
    }

    /// Which end we are.
    #[must_use]
    pub fn role(&self) -> Role {
        self.core.role
    }

    /// How many more requests the window takes now.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.core.window.free()
    }

    /// Our requests without an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.core.window.used()
    }

    /// The peer's requests without our caller's answer.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.core.peers.len()
    }

    /// The window as it is now.
    #[must_use]
    pub fn window(&self) -> usize {
        self.core.window.limit()
    }

    /// Sets the window, 1 to [`WINDOW_MAX`]. What is in flight stays; a window wider than it was made for
    /// takes effect in full once nothing is.
    pub fn set_window(&mut self, window: usize) {
        self.core.window.set_limit(window);
    }

    /// How busy we are, 0 (idle) to 100 (congested; more counts as that) percent, or `None` to say nothing:
    /// every response to a message request of a 5.0 peer says so from now on in `congestion_state` (5.0
    /// §4.8.4.18), those of refusals too. Peers of other versions are not told.
    pub fn set_congestion(&mut self, percent: Option<u8>) {
        self.core.congestion = percent.map(|percent| percent.min(CONGESTION_MAX));
    }

    /// What happened that no event tells.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.core.counters
    }
}

impl Core {
    /// Time never runs backwards here, whatever the caller's clock does.
    fn set_now(&mut self, now: Instant) {
        if now > self.now {
            let since = now.saturating_duration_since(self.born);
            self.nanos = since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos());
            self.now = now;
        }
    }

    fn next_expiry(&self) -> Option<Instant> {
        let sent = self.window.oldest_sent()?;
        Some(self.born + Duration::from_nanos(sent) + self.config.response)
    }

    fn transmit(&mut self, out: &mut Vec<u8>) -> usize {
        let octets = self.out.len();
        if octets == 0 {
            return 0;
        }
        if out.is_empty() {
            std::mem::swap(out, &mut self.out);
        } else {
            out.append(&mut self.out);
        }
        self.batch = self.batch.wrapping_add(1);
        self.timers.output_taken();
        self.counters.octets_out += octets as u64;
        octets
    }

    /// Output was written: from now on the peer must read.
    fn wrote(&mut self) {
        self.timers.output_waits(self.now, self.config.write_stall);
    }

    fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence = after(sequence);
        sequence
    }

    fn run_timers(&mut self) {
        // Each round removes or moves the timer it acts on, so this ends; the bound is for the reader.
        for _ in 0..8 {
            let Some((at, due)) = self.timers.next() else {
                return;
            };
            if at > self.now {
                return;
            }
            match due {
                SessionTimer::SessionInit => self.close(Reason::SessionInit),
                SessionTimer::Bind => self.close(Reason::BindTimedOut),
                SessionTimer::LinkDead => self.close(Reason::LinkDead),
                SessionTimer::Unbind => self.close(Reason::UnbindTimedOut),
                SessionTimer::WriteStall => self.close(Reason::NotReading),
                SessionTimer::Enquire => self.enquire(),
                SessionTimer::Inactive => self.begin_unbind(),
                SessionTimer::Drain => self.drained(),
            }
        }
    }

    fn enquire(&mut self) {
        let sequence = self.take_sequence();
        encode_header(Command::ENQUIRE_LINK, Status::ROK, sequence, &mut self.out);
        self.enquired = Some(sequence);
        self.timers.enquire_sent(self.now);
        self.wrote();
    }

    /// We want to end the session: no new requests, what is in flight drains, then unbind.
    fn begin_unbind(&mut self) {
        self.state = SessionState::Unbound;
        self.unbind = Unbinding::Draining;
        self.timers.drain_from(self.now, self.config.drain);
        self.drain_further();
    }

    /// Nothing is in flight any more, or it took too long.
    fn drained(&mut self) {
        match self.unbind {
            Unbinding::Draining => {
                let sequence = self.take_sequence();
                encode_header(Command::UNBIND, Status::ROK, sequence, &mut self.out);
                self.unbind = Unbinding::Asked { sequence };
                self.timers.unbind_sent(self.now);
                self.wrote();
            }
            Unbinding::PeerAsked { sequence } => {
                encode_header(Command::UNBIND_RESP, Status::ROK, sequence, &mut self.out);
                self.close(Reason::PeerUnbound);
            }
            Unbinding::No | Unbinding::Asked { .. } => {}
        }
    }

    /// Goes on with an unbind when the last answer of either side has come.
    fn drain_further(&mut self) {
        let done = match self.unbind {
            Unbinding::Draining | Unbinding::PeerAsked { .. } => {
                self.peers.len() == 0 && self.window.used() == 0
            }
            Unbinding::No | Unbinding::Asked { .. } => false,
        };
        if done {
            self.drained();
        }
    }

    fn close(&mut self, reason: Reason) {
        self.closed.get_or_insert(reason);
        self.end_if_closed();
    }

    /// Enters CLOSED once there is a reason and nothing more to read. Requests that have not left are taken
    /// back out of the output, which keeps only answers: they end as *not sent*.
    fn end_if_closed(&mut self) {
        if self.closed.is_none() || self.state == SessionState::Closed {
            return;
        }
        self.state = SessionState::Closed;
        self.timers.stop();
        self.peers.clear();
        self.bind = None;
        if !self.out.is_empty() {
            self.out = only_responses(&self.out);
        }
    }

    /// The next request that ended without an answer: expired, or the session is over.
    fn next_unanswered<'b>(&mut self) -> Option<Event<'b>> {
        let over = self.state == SessionState::Closed;
        if !over && self.next_expiry().is_none_or(|at| at > self.now) {
            return None;
        }
        let entry = self.window.take_oldest()?;
        let fate = match (over, entry.batch == self.batch) {
            (true, true) => NoResponse::NotSent,
            (true, false) => NoResponse::SessionEnded,
            (false, _) => NoResponse::TimedOut,
        };
        if !over {
            self.window.expire(entry, self.nanos);
            self.drain_further();
        }
        let WindowEntry { token, sequence, command, .. } = entry;
        Some(Event::Unanswered(Unanswered { token, sequence, command, fate }))
    }

    fn tell_closed<'b>(&mut self) -> Option<Event<'b>> {
        let reason = self.closed.filter(|_| self.state == SessionState::Closed && !self.told_closed)?;
        self.told_closed = true;
        Some(Event::Closed(reason))
    }
}

/// The responses among the whole PDUs of `out`.
fn only_responses(out: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut rest = out;
    while let Some(header) = Header::parse(rest) {
        let (pdu, after) = rest.split_at((header.length as usize).min(rest.len()));
        if header.command.is_response() {
            kept.extend_from_slice(pdu);
        }
        rest = after;
        if pdu.is_empty() {
            break;
        }
    }
    kept
}
