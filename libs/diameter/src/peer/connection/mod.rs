//! One transport connection to a peer: bytes and a moment in, bytes, messages, events and a deadline out.

mod receive;
mod send;
mod timers;

use super::capabilities::{Capabilities, CerRefusal};
use super::config::ConnectionConfig;
use super::event::{Answers, Cause, Counters, End, Event, Incoming, NoAnswer, Unanswered};
use super::random::Random;
use super::watchdog::{Action, Watchdog};
use super::window::{Pending, Window};
use crate::frame::next_frame;
use crate::header::Header;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

pub use send::Outgoing;

/// Most octets that one [`Connection::poll_transmit`] moves, except where a single message is longer: what is
/// urgent waits behind no more than that.
pub const TRANSMIT_OCTETS_MAX: usize = 256 << 10;
/// A buffer over this is given back once it is empty, so that an idle connection costs nothing.
const KEPT_OCTETS: usize = 16 << 10;

/// One connection, from its establishment to its end.
///
/// # The contract with the caller
/// 1. Hand what was read to [`Connection::handle_input`]: requests and answers of an open peer come to the
///    closure, in place.
/// 2. Then take every event with [`Connection::poll_event`] until it gives `None`, write what
///    [`Connection::poll_transmit`] appends, and arm a timer for [`Connection::poll_timeout`]. All three
///    answers may change after any call with `&mut self`. Ask `poll_transmit` only when what it gave before
///    is written: else what is urgent waits in the caller's buffer.
/// 3. While [`Connection::wants_input`] is false, do not read from the connection.
pub struct Connection {
    /// The beginning of a message whose rest has not come.
    partial: Vec<u8>,
    core: Core,
}

/// All of the connection but its input, so that messages may point into that while this changes.
struct Core {
    config: Arc<ConnectionConfig>,
    local: IpAddr,
    is_secured: bool,
    stage: ConnectionStage,
    now: Instant,
    /// CER, CEA, DWR and DWA: they go out in front of all else.
    urgent: Vec<u8>,
    out: Vec<u8>,
    /// Which filling of `out` this is: a request of the current one has not left yet.
    batch: u32,
    window: Window,
    /// Requests of the peer without our caller's answer.
    owed: usize,
    watchdog: Watchdog,
    /// The watchdog has heard of this input already.
    is_heard: bool,
    /// The Hop-by-Hop Identifier of a DWR of ours that waits for its answer.
    dwr: Option<u32>,
    origin_state_id: Option<u32>,
    random: Random,
    events: VecDeque<Event>,
    /// All that is outstanding is handed back, with this fate.
    handing_back: Option<NoAnswer>,
    ended: Option<End>,
    told_ended: bool,
    /// When output that waits is taken for output that nobody reads.
    write_stall: Option<Instant>,
    counters: Counters,
}

/// How far the connection is. Deadlines are in it: none can be forgotten, none be left over.
enum ConnectionStage {
    /// Listening (RFC 6733 section 5.6.1): the CER has not come.
    AwaitCer { deadline: Instant },
    /// Listening: our caller, or an election, decides.
    Asked { cer: Header, capabilities: Box<Capabilities>, deadline: Instant },
    /// Connecting: Wait-I-CEA.
    AwaitCea { hop_by_hop: u32, expected_host: Option<String>, deadline: Instant },
    /// I-Open or R-Open.
    Open,
    /// Open for what is outstanding only; then our DPR, or our DPA.
    Draining { leaving: Leaving, deadline: Instant },
    /// Closing: our DPR is sent.
    AwaitDpa { hop_by_hop: u32, deadline: Instant },
    /// Closing: our DPA is sent, and who receives it closes the connection.
    AwaitClose { cause: Cause, deadline: Instant },
    /// Closed.
    Ended,
}

/// Who disconnects.
#[derive(Clone, Copy)]
enum Leaving {
    Us { cause: Cause },
    Peer { dpr: Header, cause: Cause },
}

/// Where a connection begins, besides its [`ConnectionConfig`].
#[derive(Clone, Debug)]
pub struct Start {
    /// The connection's own address.
    pub local: IpAddr,
    /// It is TLS or DTLS.
    pub is_secured: bool,
    /// The watchdog that the peer's last connection left, where its failures count
    /// ([`Connection::watchdog`]); `None` for a peer of whom nothing is known.
    pub watchdog: Option<Watchdog>,
    /// For jitter and identifiers: different for each connection.
    pub seed: u64,
}

impl Connection {
    /// A connection that the peer began: it awaits the CER.
    #[must_use]
    pub fn listening(config: Arc<ConnectionConfig>, start: Start, now: Instant) -> Self {
        let stage = ConnectionStage::AwaitCer { deadline: now + config.capabilities };
        Connection { partial: Vec::new(), core: Core::new(config, start, stage, now) }
    }

    /// A connection that we began and that is established: the CER is in its output. `expected_host` is the
    /// Origin-Host of whom we mean to reach, if that matters.
    #[must_use]
    pub fn connecting(
        config: Arc<ConnectionConfig>,
        start: Start,
        expected_host: Option<&str>,
        now: Instant,
    ) -> Self {
        let deadline = now + config.capabilities;
        let expected_host = expected_host.map(String::from);
        let stage = ConnectionStage::AwaitCea { hop_by_hop: 0, expected_host, deadline };
        let mut core = Core::new(config, start, stage, now);
        core.send_cer();
        Connection { partial: Vec::new(), core }
    }

    /// Takes in octets from the connection, in pieces of any size. Every request and answer that is not the
    /// machine's own affair goes to `take`, in place: nothing of a message that came whole is copied.
    pub fn handle_input(
        &mut self,
        input: &[u8],
        now: Instant,
        take: &mut impl FnMut(Incoming<'_>, &mut Answers<'_>),
    ) {
        let Connection { partial, core } = self;
        core.set_now(now);
        core.is_heard = false;
        core.counters.octets_in += input.len() as u64;
        let mut rest = input;
        if !partial.is_empty() && core.complete(partial, &mut rest) {
            core.receive(partial, take);
            partial.clear();
        }
        while !rest.is_empty() && partial.is_empty() && !core.is_over() {
            match next_frame(rest, core.config.message_octets_max) {
                Ok(Some(frame)) => {
                    core.receive(frame, take);
                    rest = &rest[frame.len()..];
                }
                Ok(None) => {
                    partial.extend_from_slice(rest);
                    break;
                }
                Err(error) => core.lose_framing(error, rest),
            }
        }
        if partial.is_empty() && partial.capacity() > KEPT_OCTETS || core.is_over() {
            *partial = Vec::new();
        }
        core.settle();
    }

    /// Acts on what is due at `now`. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.core.set_now(now);
        self.core.run_timers();
        self.core.settle();
    }

    /// The connection has ended, in order or not.
    pub fn handle_eof(&mut self, now: Instant) {
        self.core.set_now(now);
        let end = match self.core.stage {
            // Closing | I-Peer-Disc | I-Disc | Closed, and R-Peer-Disc
            ConnectionStage::AwaitClose { cause, .. } => End::PeerDisconnected(cause),
            ConnectionStage::AwaitDpa { .. } => End::Disconnected,
            // I-Open | I-Peer-Disc | I-Disc | Closed, R-Open | R-Peer-Disc | R-Disc | Closed
            _ => End::Lost,
        };
        self.core.end(end);
        self.core.urgent = Vec::new();
        self.core.out = Vec::new();
    }

    /// Moves waiting output, whole messages, to the end of `out` and says how many octets that was: what is
    /// urgent first, then up to [`TRANSMIT_OCTETS_MAX`] of the rest. Requests in it can no longer be taken
    /// back: unanswered they are unknown.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> usize {
        self.core.transmit(out)
    }

    /// When [`Connection::handle_timeout`] wants to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.core.next_deadline()
    }

    /// The next thing that happened, or `None` until more input or time comes.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.core.next_event()
    }

    /// Whether the caller should read from the connection. False while the peer lets our output pile up.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        let core = &self.core;
        core.output_octets() < core.config.output_octets_max && !core.is_over()
    }

    /// Octets that wait for [`Connection::poll_transmit`].
    #[must_use]
    pub fn output_octets(&self) -> usize {
        self.core.output_octets()
    }

    /// Whether requests may be sent: capabilities are exchanged, nobody disconnects, and the watchdog is
    /// content.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self.core.stage, ConnectionStage::Open) && self.core.watchdog.is_usable()
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.core.is_over()
    }

    /// Octets kept for the beginning of a message whose rest has not come.
    #[cfg(test)]
    pub(super) fn partial_capacity(&self) -> usize {
        self.partial.capacity()
    }

    /// Our requests without an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.core.window.used()
    }

    /// How many more requests the window takes.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.core.window.free()
    }

    /// The peer's requests without our caller's answer.
    #[must_use]
    pub fn owed(&self) -> usize {
        self.core.owed
    }

    /// The watchdog: after the end, for the next connection to the same peer.
    #[must_use]
    pub fn watchdog(&self) -> &Watchdog {
        &self.core.watchdog
    }

    /// What happened that no event tells.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.core.counters
    }
}

impl Core {
    fn new(config: Arc<ConnectionConfig>, start: Start, stage: ConnectionStage, now: Instant) -> Self {
        let mut random = Random::new(start.seed);
        let fresh = Watchdog::new(config.tw, config.tc, Random::new(random.next_u64()));
        Core {
            local: start.local,
            is_secured: start.is_secured,
            stage,
            now,
            urgent: Vec::new(),
            out: Vec::new(),
            batch: 0,
            window: Window::new(config.window, random.next_u64() as u16),
            owed: 0,
            watchdog: start.watchdog.unwrap_or(fresh),
            is_heard: false,
            dwr: None,
            origin_state_id: None,
            random,
            events: VecDeque::new(),
            handing_back: None,
            ended: None,
            told_ended: false,
            write_stall: None,
            counters: Counters::default(),
            config,
        }
    }

    /// Time never runs backwards here, whatever the caller's clock does.
    fn set_now(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn is_over(&self) -> bool {
        matches!(self.stage, ConnectionStage::Ended)
    }

    fn output_octets(&self) -> usize {
        self.urgent.len() + self.out.len()
    }

    /// At the end of each call that may have written, or answered the last that was owed.
    fn settle(&mut self) {
        self.finish_draining();
        if self.output_octets() > 0 && !self.is_over() {
            self.write_stall.get_or_insert(self.now + self.config.write_stall);
        }
    }

    fn transmit(&mut self, out: &mut Vec<u8>) -> usize {
        let before = out.len();
        if !self.urgent.is_empty() {
            out.append(&mut self.urgent);
        }
        if self.out.len() <= TRANSMIT_OCTETS_MAX {
            if out.is_empty() {
                std::mem::swap(out, &mut self.out);
            } else {
                out.append(&mut self.out);
            }
        } else {
            let octets = whole_messages(&self.out, TRANSMIT_OCTETS_MAX);
            out.extend(self.out.drain(..octets));
        }
        if self.out.is_empty() && self.out.capacity() > KEPT_OCTETS && out.capacity() > KEPT_OCTETS {
            self.out = Vec::new();
        }
        self.batch = self.batch.wrapping_add(1);
        let octets = out.len() - before;
        if octets > 0 {
            self.counters.octets_out += octets as u64;
            let deadline = self.now + self.config.write_stall;
            self.write_stall = (!self.out.is_empty()).then_some(deadline);
        }
        octets
    }

    /// The connection is over: nothing is taken any more, what is outstanding is handed back. `urgent` output
    /// still goes out.
    fn end(&mut self, end: End) {
        if self.is_over() {
            return;
        }
        // A DPA is the last thing we say; all else that waits is of no use to a peer that is gone.
        let keeps_output = end.is_in_order() || matches!(end, End::RefusedByUs { .. } | End::Framing(_));
        self.stage = ConnectionStage::Ended;
        self.ended = Some(end);
        self.handing_back.get_or_insert(NoAnswer::Ended);
        self.owed = 0;
        self.write_stall = None;
        self.dwr = None;
        if end.is_in_order() {
            self.watchdog.disconnected_in_order();
        } else {
            self.watchdog.connection_down(self.now);
        }
        if keeps_output {
            // Requests in it leave after all: they are no longer such that were not sent.
            self.batch = self.batch.wrapping_add(1);
        } else {
            self.out = Vec::new();
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if let Some(fate) = self.handing_back {
            if let Some(pending) = self.window.take_first() {
                return Some(self.unanswered(pending, fate));
            }
            self.handing_back = None;
        }
        if let Some(pending) = self.window.take_expired(self.now) {
            return Some(self.unanswered(pending, NoAnswer::TimedOut));
        }
        // The last that was outstanding may have been among those.
        self.settle();
        if self.told_ended {
            return None;
        }
        let end = self.ended?;
        self.told_ended = true;
        Some(Event::Ended(end))
    }

    fn unanswered(&self, pending: Pending, fate: NoAnswer) -> Event {
        let was_handed_out = pending.batch != self.batch;
        // Only an end takes back what has not left: a suspended peer's output may still go out.
        let fate = if fate == NoAnswer::Ended && !was_handed_out { NoAnswer::NotSent } else { fate };
        let Pending { token, command, end_to_end, sent, .. } = pending;
        Event::Unanswered(Unanswered { token, command, end_to_end, sent, fate })
    }

    fn watch(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::SendWatchdog => self.send_dwr(),
                Action::Failover => {
                    self.handing_back = Some(NoAnswer::FailedOver);
                    self.events.push_back(Event::Suspended);
                }
                Action::Failback => self.events.push_back(Event::Resumed),
                Action::CloseConnection => self.end(End::Silent),
                // No connection is open in DOWN and INITIAL: `Peer` has those rows. What is thrown away is
                // counted by `receive`.
                Action::AttemptOpen | Action::ThrowAway => {}
            }
        }
    }
}

/// How many octets of whole messages stand at the front of our own output, up to `octets_max` but at least
/// one message.
fn whole_messages(out: &[u8], octets_max: usize) -> usize {
    let mut octets = 0;
    while let Ok(Some(frame)) = next_frame(&out[octets..], u32::MAX) {
        if octets > 0 && octets + frame.len() > octets_max {
            break;
        }
        octets += frame.len();
    }
    // Output that is no message is our caller's fault: it goes as it is.
    if octets == 0 { out.len() } else { octets }
}

impl From<&CerRefusal> for End {
    fn from(refusal: &CerRefusal) -> End {
        End::RefusedByUs { result_code: refusal.result_code }
    }
}
