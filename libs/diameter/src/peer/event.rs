//! Events of a connection for its caller.

use super::capabilities::Capabilities;
use super::window::Pending;
use crate::frame::FrameError;
use crate::message::Message;
use std::fmt;
use std::time::Instant;

/// A message of an open peer that is not the machine's own affair. It points into the input.
#[derive(Clone, Copy, Debug)]
pub enum Incoming<'m> {
    /// A request: to be answered by [`Answers::answer`], at once, or by
    /// [`Connection::answer`](super::Connection::answer), later. Its header is sound; its AVPs are not judged
    /// yet.
    Request(Message<'m>),
    /// The answer to a request of ours.
    Answer {
        /// The answer.
        message: Message<'m>,
        /// What it answers.
        pending: Pending,
    },
}

/// Where a request's answer can be written while it is in hand.
pub struct Answers<'c> {
    pub(super) out: &'c mut Vec<u8>,
    pub(super) owed: &'c mut usize,
}

impl Answers<'_> {
    /// Appends the answer to a request: `write` appends it whole.
    #[inline]
    pub fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
        *self.owed = self.owed.saturating_sub(1);
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Listening: a peer wants in, and could be let in. Answer with [`accept`](super::Connection::accept) or
    /// [`refuse`](super::Connection::refuse), within
    /// [`ConnectionConfig::capabilities`](super::ConnectionConfig::capabilities).
    Asked(Box<Capabilities>),
    /// Connecting: the peer let us in.
    Opened(Box<Capabilities>),
    /// The peer is silent: send nothing new, and what was outstanding elsewhere. One [`Event::Unanswered`]
    /// each follows.
    Suspended,
    /// The peer is alive again, or has proved itself: requests may be sent.
    Resumed,
    /// The peer restarted since the last time it said its Origin-State-Id: its sessions are gone (RFC 6733
    /// section 8.16).
    Restarted {
        /// The new one.
        origin_state_id: u32,
    },
    /// The peer disconnects: answer what is unanswered. The end follows.
    Leaving(Cause),
    /// A request of ours ended without an answer.
    Unanswered(Unanswered),
    /// The connection is over. Comes last and once: write what
    /// [`poll_transmit`](super::Connection::poll_transmit) still has, then close it.
    Ended(End),
}

/// A request of ours that ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What the caller gave with the request.
    pub token: u64,
    /// The request's command code.
    pub command: u32,
    /// To be kept when the request is sent again, elsewhere or here.
    pub end_to_end: u32,
    /// When it was sent.
    pub sent: Instant,
    /// What became of it.
    pub fate: NoAnswer,
}

/// What became of a request without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoAnswer {
    /// Unknown: no answer in time.
    TimedOut,
    /// Unknown: the peer is suspected. Sent again it bears the T bit.
    FailedOver,
    /// Unknown: the connection ended. Sent again it bears the T bit.
    Ended,
    /// It never left [`poll_transmit`](super::Connection::poll_transmit): sent again it is no duplicate.
    NotSent,
}

impl NoAnswer {
    /// Whether the request bears the T bit when it is sent again.
    #[must_use]
    pub fn is_retransmit(self) -> bool {
        self != NoAnswer::NotSent
    }
}

/// Disconnect-Cause (RFC 6733 section 5.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause(pub i32);

impl Cause {
    /// A reboot is imminent: the peer may reconnect.
    pub const REBOOTING: Cause = Cause(0);
    /// No resources: the peer should not reconnect.
    pub const BUSY: Cause = Cause(1);
    /// Nothing to say: the peer should not reconnect.
    pub const DO_NOT_WANT_TO_TALK_TO_YOU: Cause = Cause(2);

    /// Whether who hears it may connect again by itself.
    #[must_use]
    pub fn allows_reconnection(self) -> bool {
        self != Cause::BUSY && self != Cause::DO_NOT_WANT_TO_TALK_TO_YOU
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::REBOOTING => f.write_str("REBOOTING"),
            Cause::BUSY => f.write_str("BUSY"),
            Cause::DO_NOT_WANT_TO_TALK_TO_YOU => f.write_str("DO_NOT_WANT_TO_TALK_TO_YOU"),
            Cause(other) => write!(f, "cause {other}"),
        }
    }
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// We disconnected, and the peer agreed.
    Disconnected,
    /// The peer disconnected in order.
    PeerDisconnected(Cause),
    /// The peer did not answer our DPR, or did not close after our DPA, in time.
    DisconnectTimedOut,
    /// The connection went away.
    Lost,
    /// Our caller closed it.
    Aborted,
    /// Capabilities were not exchanged in time.
    NoCapabilities,
    /// The peer sent something else than a CER, or than a CEA, first.
    NotCapabilities,
    /// The peer refused our CER.
    RefusedByPeer {
        /// Its Result-Code.
        result_code: u32,
    },
    /// We refused the peer's CER.
    RefusedByUs {
        /// Our Result-Code.
        result_code: u32,
    },
    /// The peer is not whom we meant to reach: its Origin-Host is another.
    WrongPeer,
    /// The peer has no application in common with us.
    NoCommonApplication,
    /// The peer's CEA cannot be read.
    BadCapabilities,
    /// The watchdog: no answer to a DWR.
    Silent,
    /// The peer does not read what we send.
    NotReading,
    /// The framing is lost.
    Framing(FrameError),
}

impl End {
    /// Whether the disconnection was agreed upon.
    #[must_use]
    pub fn is_in_order(self) -> bool {
        matches!(self, End::Disconnected | End::PeerDisconnected(_))
    }

    /// Whether whoever keeps a connection to this peer should try again by itself.
    #[must_use]
    pub fn allows_reconnection(self) -> bool {
        match self {
            End::PeerDisconnected(cause) => cause.allows_reconnection(),
            End::Disconnected => false,
            _ => true,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Disconnected => f.write_str("we disconnected"),
            End::PeerDisconnected(cause) => write!(f, "the peer disconnected: {cause}"),
            End::DisconnectTimedOut => f.write_str("the peer did not complete the disconnection in time"),
            End::Lost => f.write_str("the connection went away"),
            End::Aborted => f.write_str("closed by us without a DPR"),
            End::NoCapabilities => f.write_str("capabilities were not exchanged in time"),
            End::NotCapabilities => {
                f.write_str("the peer sent something else before capabilities were exchanged")
            }
            End::RefusedByPeer { result_code } => write!(f, "the peer refused our CER with {result_code}"),
            End::RefusedByUs { result_code } => write!(f, "we refused the peer's CER with {result_code}"),
            End::WrongPeer => f.write_str("the peer's Origin-Host is not the one we meant to reach"),
            End::NoCommonApplication => f.write_str("the peer has no application in common with us"),
            End::BadCapabilities => f.write_str("the peer's CEA cannot be read"),
            End::Silent => f.write_str("the peer did not answer our DWR in time"),
            End::NotReading => f.write_str("the peer does not read what we send"),
            End::Framing(error) => write!(f, "framing is lost: {error}"),
        }
    }
}

/// Why a request or answer was not taken. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The connection is not open, or is closing.
    NotOpen,
    /// The watchdog suspects the peer, or has not found it well again.
    Suspended,
    /// As many requests are outstanding as the window holds.
    WindowFull,
    /// Too much output waits to be written: write it first.
    OutputFull,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::NotOpen => "the connection is not open",
            SendError::Suspended => "the peer is silent: send elsewhere",
            SendError::WindowFull => "the window is full: wait for an answer",
            SendError::OutputFull => "too much output waits to be written",
        })
    }
}

impl std::error::Error for SendError {}

/// What a connection has seen that no event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Octets of input.
    pub octets_in: u64,
    /// Octets handed out by `poll_transmit`.
    pub octets_out: u64,
    /// Requests handed out.
    pub requests_in: u64,
    /// Answers nobody waits for: dropped.
    pub unknown_answers: u64,
    /// Messages thrown away while a connection proves itself, or after it said goodbye.
    pub thrown_away: u64,
    /// Requests the machine itself answered with an error.
    pub refused_requests: u64,
}
