//! Events of a user agent.

use super::flow::SipFlow;
use crate::digest::DigestAnswer;
use crate::message::{HeaderName, Method, PartyAddress, ReasonValue, SipBody, SipMessage};
use std::time::Duration;

/// A call of a user agent. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallHandle(pub(super) u64);

/// A registration of a user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegistrationHandle(pub(super) u64);

/// An OPTIONS of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OptionsHandle(pub(super) u64);

/// A peer's request that waits for a response of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestHandle(pub(super) u64);

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// A peer calls. Answer by `ring`, `answer` or `reject`.
    IncomingCall {
        /// The new call.
        call: CallHandle,
        /// The call's particulars.
        invite: Box<IncomingInvite>,
    },
    /// Something happened to a call. [`CallEvent::Refused`] and [`CallEvent::Ended`] are the last of it.
    Call {
        /// The call.
        call: CallHandle,
        /// The event.
        event: CallEvent,
    },
    /// A registration stands, or is refreshed.
    Registered {
        /// The registration.
        registration: RegistrationHandle,
        /// The time that the registrar gave; it is refreshed before.
        expires: Duration,
        /// Service-Route (RFC 3608), for the routes of calls.
        service_routes: Vec<String>,
    },
    /// A registration is over: refused, without an answer, or given up by `unregister`.
    Unregistered {
        /// The registration, which is no more.
        registration: RegistrationHandle,
        /// The reason; nothing: `unregister`.
        refusal: Option<SipRefusal>,
    },
    /// OPTIONS was answered. Any status shows that the peer is there.
    OptionsAnswered {
        /// The question.
        options: OptionsHandle,
        /// The answer, or the reason why there is none.
        outcome: Result<OptionsAnswer, RefusedBy>,
    },
    /// A peer's request of a method that `hands_over` names. Respond within
    /// [`crate::limits::REQUEST_ANSWER_WITHIN`].
    Request {
        /// The request.
        request: RequestHandle,
        /// The method.
        method: Method,
        /// Where it came from.
        flow: SipFlow,
        /// The whole message, for [`SipMessage::parse`].
        octets: Vec<u8>,
    },
    /// Nothing was heard on a flow that is kept alive, or its octets cannot be read: close its connection.
    FlowFailed {
        /// The flow.
        flow: SipFlow,
        /// The reason in words.
        problem: String,
    },
}

/// The answer to OPTIONS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionsAnswer {
    /// The status: 200, or a refusal, which shows that the peer is there too.
    pub status: u16,
    /// Allow.
    pub allow: Vec<String>,
    /// Time from the question to the answer.
    pub round_trip: Duration,
}

/// A call that comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingInvite {
    /// Where it came from.
    pub flow: SipFlow,
    /// The Request-URI.
    pub target: String,
    /// From.
    pub from: PartyAddress,
    /// To.
    pub to: PartyAddress,
    /// P-Asserted-Identity, whose values only a trusted trunk may give.
    pub identities: Vec<PartyAddress>,
    /// Call-ID.
    pub call_id: String,
    /// Answers to challenges: Authorization and Proxy-Authorization.
    pub answers: Vec<DigestAnswer>,
    /// The offer; without one ours goes into the 200.
    pub body: Option<SipBody>,
    /// The whole message, for header fields that are not here.
    pub octets: Vec<u8>,
}

/// Something that happened to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEvent {
    /// 100: the next hop has the INVITE. From now on CANCEL has something to cancel.
    Trying,
    /// 101 to 199: 180 rings; a body is early sound, which need not be played.
    Progress {
        /// The status.
        status: u16,
        /// The phrase.
        phrase: String,
        /// A description of early sound.
        body: Option<SipBody>,
    },
    /// A 3xx was followed.
    Redirected {
        /// The new Request-URI.
        target: String,
    },
    /// 2xx: somebody answered. ACK is on its way, unless the offer is the peer's: then `acknowledge` sends
    /// it.
    Answered {
        /// The answer, or the peer's offer.
        body: Option<SipBody>,
        /// The offer was ours to make and is not: call `acknowledge` with an answer.
        wants_answer: bool,
    },
    /// ACK for our 200 came.
    Acknowledged {
        /// The answer to an offer in our 200.
        body: Option<SipBody>,
    },
    /// The peer offers anew by re-INVITE or UPDATE: `accept_offer` or `reject_offer`. Without a body the
    /// peer wants an offer of ours.
    Offered {
        /// The offer.
        body: Option<SipBody>,
    },
    /// The peer answered our re-INVITE.
    OfferAnswered {
        /// The answer.
        body: Option<SipBody>,
    },
    /// The peer refused our re-INVITE: the session stays as it was.
    OfferRefused {
        /// The status; 408: no answer.
        status: u16,
    },
    /// INFO came and was answered: some trunks send key presses so.
    Info {
        /// The body.
        body: Option<SipBody>,
    },
    /// Nobody answered the call: the last event.
    Refused(SipRefusal),
    /// The call was answered and is over: the last event.
    Ended {
        /// The side or cause that ended it.
        by: EndedBy,
        /// Reason of the peer's BYE.
        reasons: Vec<ReasonValue>,
    },
}

/// The origin of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBy {
    /// A response of the peer, or of a proxy.
    Peer,
    /// Our CANCEL.
    Cancelled,
    /// Nobody answered in time: timers B or F (RFC 3261 section 17.1.1.2).
    Silence,
    /// The transport failed.
    Transport,
    /// We did not carry it out: the caller rejected it, or there was no room.
    Ourselves,
}

/// A call or registration that did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SipRefusal {
    /// The origin.
    pub by: RefusedBy,
    /// The status; 408 of silence, 503 of the transport, 487 of a CANCEL that nothing answered.
    pub status: u16,
    /// The phrase: "Network Blocked" of a 603+ among them.
    pub phrase: String,
    /// Reason: causes of Q.850, the words of a 603+.
    pub reasons: Vec<ReasonValue>,
    /// Retry-After in seconds.
    pub retry_after: Option<u32>,
    /// Contact of a 3xx.
    pub contacts: Vec<String>,
    /// Realms whose challenge was not or not rightly answered.
    pub is_challenged: bool,
}

impl SipRefusal {
    pub(super) fn local(by: RefusedBy, status: u16) -> SipRefusal {
        SipRefusal {
            by,
            status,
            phrase: crate::message::status_phrase(status).to_owned(),
            reasons: Vec::new(),
            retry_after: None,
            contacts: Vec::new(),
            is_challenged: false,
        }
    }

    pub(super) fn of(by: RefusedBy, response: &SipMessage<'_>) -> SipRefusal {
        let status = response.status().unwrap_or_default();
        SipRefusal {
            by,
            status,
            phrase: response.phrase().unwrap_or_default().to_owned(),
            reasons: response.reasons().collect(),
            retry_after: response.seconds(HeaderName::RetryAfter),
            contacts: response.list(HeaderName::Contact).map(str::to_owned).collect(),
            is_challenged: matches!(status, 401 | 407),
        }
    }
}

/// The side or cause that ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// Our BYE.
    Us,
    /// The peer's BYE.
    Peer,
    /// Somebody answered while our CANCEL was under way: BYE followed at once.
    CancelledLate,
    /// Nobody refreshed the session (RFC 4028).
    SessionExpired,
    /// No ACK came for our 200 in 64*T1.
    NoAck,
    /// The peer knows the call no more: 481, or silence to a request inside of it.
    Gone,
}

/// Counts since the beginning, for what no event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentCounters {
    /// Messages that could not be read and were not answered.
    pub unreadable: u64,
    /// Requests refused for their form (400, 420, 505 and alike).
    pub malformed: u64,
    /// Responses that belong to no transaction.
    pub stray_responses: u64,
    /// Requests and responses sent again.
    pub repetitions: u64,
    /// Requests refused or dropped because there was no room.
    pub no_room: u64,
    /// Answers of forks that were acknowledged and ended.
    pub forks_ended: u64,
}
