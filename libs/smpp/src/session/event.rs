//! Events of a session for its caller.

use crate::error::{DecodeError, EncodeError};
use crate::pdu::{
    AlertNotification, Bind, BindMode, Body, Command, DataSm, DeliverSm, Outbind, Pdu, QueryBroadcastSmResp,
    QuerySmResp, SubmitMultiResp, SubmitSm, Version,
};
use crate::status::Status;
use crate::tlv::{Tag, Tlvs};
use std::fmt;
use std::time::Duration;

/// Something that happened. What is borrowed points into the session's input and lasts until the next call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'b> {
    /// SMSC: an ESME wants to bind. Answer with [`accept_bind`](super::Session::accept_bind) or
    /// [`refuse_bind`](super::Session::refuse_bind), in time for the session_init timer.
    Bind {
        /// Who, and how.
        bind: Bind<'b>,
    },
    /// ESME: the bind was accepted.
    Bound {
        /// The SMSC's name.
        system_id: &'b [u8],
        /// As which we are bound.
        mode: BindMode,
        /// What both speak.
        version: Version,
    },
    /// ESME: the bind was refused; the session is open, another bind may be tried.
    BindRefused {
        /// Why.
        status: Status,
    },
    /// A request of ours was answered, in time or late.
    Response(Response<'b>),
    /// A request of ours ended without an answer.
    Unanswered(Unanswered),
    /// SMSC: a message from the ESME. Answer with [`respond`](super::Session::respond).
    Submit {
        /// To answer with.
        sequence: u32,
        /// The message.
        pdu: SubmitSm<'b>,
    },
    /// ESME: a message or receipt from the SMSC. Answer with [`respond`](super::Session::respond).
    Deliver {
        /// To answer with.
        sequence: u32,
        /// The message.
        pdu: DeliverSm<'b>,
    },
    /// Either: a data_sm. Answer with [`respond`](super::Session::respond).
    Data {
        /// To answer with.
        sequence: u32,
        /// The message.
        pdu: DataSm<'b>,
    },
    /// SMSC: query_sm, cancel_sm, replace_sm, submit_multi and the broadcasts. Answer with
    /// [`respond`](super::Session::respond) or [`respond_with`](super::Session::respond_with).
    Request {
        /// To answer with.
        sequence: u32,
        /// The request.
        pdu: Pdu<'b>,
    },
    /// ESME: a phone is reachable again. Has no answer.
    Alert(AlertNotification<'b>),
    /// ESME: the SMSC asks us to bind as receiver. Has no answer but the bind.
    Outbind(Outbind<'b>),
    /// A generic_nack that answers nothing of ours; sequence 0 says that the peer lost our framing.
    Nack {
        /// Why.
        status: Status,
        /// Of what.
        sequence: u32,
    },
    /// A PDU of the peer was answered with an error by the machine itself. For the log: nothing is left to
    /// do.
    Refused(Refused),
    /// The peer wants to end the session: answer what is unanswered; no new requests are taken.
    Unbinding,
    /// The session is over. Comes last and once: write what [`poll_transmit`](super::Session::poll_transmit)
    /// still has, then close the connection.
    Closed(Reason),
}

/// The answer to a request of ours.
#[derive(Clone, Copy, PartialEq)]
pub struct Response<'b> {
    /// What the caller gave with the request.
    pub token: u64,
    /// The request's.
    pub sequence: u32,
    /// The request's command.
    pub command: Command,
    /// `ROK`, or why it was refused.
    pub status: Status,
    /// The peer's name for the message; empty when refused, or when the response has none.
    pub message_id: &'b [u8],
    /// Optional parameters of the response.
    pub tlvs: Tlvs<'b>,
    /// The body's octets, for responses that say more.
    pub body: &'b [u8],
    /// The body could not be read: the status holds, the fields are empty.
    pub malformed: bool,
    /// Came after its deadline: an [`Event::Unanswered`] with this token went before.
    pub late: bool,
    /// From request to response.
    pub waited: Duration,
}

impl<'b> Response<'b> {
    /// 5.0: how busy the peer says it is, 0 (idle) to 100 (congested) percent: slow down from 90 on, before
    /// it throttles.
    #[must_use]
    pub fn congestion(&self) -> Option<u8> {
        self.tlvs.find_u8(Tag::CONGESTION_STATE)
    }

    /// The answer to a query_sm.
    ///
    /// # Errors
    /// It was the answer to something else, or could not be read.
    pub fn query(&self) -> Result<QuerySmResp<'b>, DecodeError> {
        QuerySmResp::decode_body(Command::QUERY_SM_RESP, self.body)
    }

    /// The answer to a submit_multi, with who was refused.
    ///
    /// # Errors
    /// It was the answer to something else, or could not be read.
    pub fn submit_multi(&self) -> Result<SubmitMultiResp<'b>, DecodeError> {
        SubmitMultiResp::decode_body(Command::SUBMIT_MULTI_RESP, self.body)
    }

    /// The answer to a query_broadcast_sm.
    ///
    /// # Errors
    /// It was the answer to something else, or could not be read.
    pub fn query_broadcast(&self) -> Result<QueryBroadcastSmResp<'b>, DecodeError> {
        QueryBroadcastSmResp::decode_body(Command::QUERY_BROADCAST_SM_RESP, self.body)
    }
}

impl fmt::Debug for Response<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("token", &self.token)
            .field("sequence", &self.sequence)
            .field("command", &self.command)
            .field("status", &self.status)
            .field("message_id", &String::from_utf8_lossy(self.message_id))
            .field("malformed", &self.malformed)
            .field("late", &self.late)
            .field("waited", &self.waited)
            .finish_non_exhaustive()
    }
}

/// A PDU of the peer that was answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What it was.
    pub command: Command,
    /// Its sequence.
    pub sequence: u32,
    /// What it was answered with.
    pub status: Status,
    /// What is wrong with its body, if that is why; otherwise the state or the command is.
    pub error: Option<DecodeError>,
}

/// A request of ours that ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What the caller gave with the request.
    pub token: u64,
    /// The request's.
    pub sequence: u32,
    /// The request's command.
    pub command: Command,
    /// What became of it.
    pub fate: NoResponse,
}

/// What became of a request without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoResponse {
    /// Unknown: no response in time. A late one is still reported for a while.
    TimedOut,
    /// Unknown: the session ended after the request was handed out for writing.
    SessionEnded,
    /// It never left [`poll_transmit`](super::Session::poll_transmit): it may be tried elsewhere without fear
    /// of a second copy.
    NotSent,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// We unbound and the peer agreed.
    Unbound,
    /// The peer unbound.
    PeerUnbound,
    /// The peer did not answer our unbind in time.
    UnbindTimedOut,
    /// The connection went away.
    ConnectionLost,
    /// Our caller closed it.
    Aborted,
    /// Not bound within the session_init timer.
    SessionInit,
    /// No answer to our bind in time.
    BindTimedOut,
    /// Too many refused binds on one connection.
    TooManyBinds,
    /// No answer to our enquire_link.
    LinkDead,
    /// The peer does not read what we send.
    NotReading,
    /// `command_length` out of limits: framing is lost.
    BadLength,
    /// The caller hands in input without taking the events out.
    Overrun,
}

impl Reason {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Reason::Unbound => "we unbound",
            Reason::PeerUnbound => "the peer unbound",
            Reason::UnbindTimedOut => "the peer did not answer our unbind in time",
            Reason::ConnectionLost => "the connection went away",
            Reason::Aborted => "closed by us without unbind",
            Reason::SessionInit => "no bind within the session_init timer",
            Reason::BindTimedOut => "the peer did not answer our bind in time",
            Reason::TooManyBinds => "too many refused binds on one connection",
            Reason::LinkDead => "the peer did not answer our enquire_link in time",
            Reason::NotReading => "the peer does not read what we send",
            Reason::BadLength => "the peer sent a command_length outside the limits",
            Reason::Overrun => "input was handed in faster than its events were taken",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a request or response was not taken. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Not allowed for this role in this state.
    WrongState,
    /// As many requests are in flight as the window holds: wait for a response or a time-out.
    WindowFull,
    /// Too much output waits to be written: write it first.
    OutputFull,
    /// No request with this sequence waits for an answer.
    UnknownSequence,
    /// The PDU cannot be written.
    Encode(EncodeError),
}

impl From<EncodeError> for SendError {
    fn from(error: EncodeError) -> Self {
        SendError::Encode(error)
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::WrongState => f.write_str("not allowed in this state of the session"),
            SendError::WindowFull => f.write_str("the window is full"),
            SendError::OutputFull => f.write_str("too much output waits to be written"),
            SendError::UnknownSequence => f.write_str("no request with this sequence waits for an answer"),
            SendError::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SendError {}

/// What a session has seen that no event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PDUs read.
    pub pdus_in: u64,
    /// Octets of input.
    pub octets_in: u64,
    /// Octets handed out by `poll_transmit`.
    pub octets_out: u64,
    /// Responses that answer nothing we know: dropped.
    pub unknown_responses: u64,
    /// Responses after their deadline.
    pub late_responses: u64,
    /// Responses whose body could not be read.
    pub malformed_responses: u64,
    /// Requests answered with an error by the machine itself: malformed, unknown, wrong state, repeated.
    pub refused_requests: u64,
    /// Requests over the peer's window, answered with `flood_status`.
    pub flooded_requests: u64,
}
