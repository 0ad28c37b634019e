//! Configuration of a user agent, and the orders that a caller gives it.

use super::flow::{SipAddresses, SipFlow};
use crate::digest::DigestCredentials;
use crate::limits::{
    ANSWER_WITHIN_DEFAULT, CALLS_MAX, EXTRA_HEADERS_MAX, ROUTES_MAX, SESSION_INTERVAL_MIN, TRANSACTIONS_MAX,
};
use crate::message::{ExtraHeader, Method, PartyAddress, ReasonValue, SipBody};
use crate::transaction::TransactionTimers;
use crate::uri::Uri;
use std::fmt;
use std::time::Duration;

/// The next hop of a request inside a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHopRule {
    /// The first route or the remote target, where it is an IP address (RFC 3261 section 12.2.1.1); for a
    /// name the flow of the first request, as this machine resolves nothing.
    ByRoute,
    /// The flow of the first request always: for trunks behind address translation.
    SameFlow,
}

/// What a user agent is told at its beginning.
#[derive(Debug, Clone)]
pub struct UserAgentConfig {
    /// 32 random octets, of this process alone: branches, tags and nonces are made of them.
    pub seed: [u8; 32],
    /// The addresses of Via and Contact.
    pub addresses: SipAddresses,
    /// User part of Contact.
    pub contact_user: String,
    /// User-Agent and Server.
    pub product: String,
    /// The times of transactions.
    pub timers: TransactionTimers,
    /// Calls at once, both ways; more are refused: ours by [`InviteRefusal::NoRoom`], the peer's by 503.
    pub calls_max: usize,
    /// Transactions at once of each side.
    pub transactions_max: usize,
    /// The session interval that we ask for (RFC 4028); nothing: none is asked for, a peer's is kept.
    pub session_interval: Option<Duration>,
    /// The shortest session interval that we accept, at least [`SESSION_INTERVAL_MIN`]; a shorter one gets
    /// 422.
    pub session_interval_min: Duration,
    /// The next hop inside a dialog.
    pub next_hop: NextHopRule,
    /// Methods outside of dialogs that are handed over by [`super::AgentEvent::Request`]: REGISTER, MESSAGE
    /// and others. OPTIONS is answered with 200 if it is not among them; others get 405.
    pub hands_over: Vec<Method>,
}

impl UserAgentConfig {
    /// A configuration with the times and limits of the RFCs and of [`crate::limits`].
    #[must_use]
    pub fn new(seed: [u8; 32], addresses: SipAddresses) -> UserAgentConfig {
        UserAgentConfig {
            seed,
            addresses,
            contact_user: String::new(),
            product: "campanile".to_owned(),
            timers: TransactionTimers::default(),
            calls_max: CALLS_MAX,
            transactions_max: TRANSACTIONS_MAX,
            session_interval: Some(Duration::from_secs(1_800)),
            session_interval_min: SESSION_INTERVAL_MIN,
            next_hop: NextHopRule::ByRoute,
            hands_over: Vec::new(),
        }
    }
}

/// What becomes of a 3xx. Whatever the rule, a second one is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectRule {
    /// It ends the call: the caller has the contacts.
    Final,
    /// The first SIP URI of Contact is called through the same flow: the trunk finds it.
    SameFlow,
    /// The first SIP URI of Contact is called at its address, if it is one, and else through the same flow.
    ContactAddress,
}

/// A call that goes out.
#[derive(Debug, Clone)]
pub struct OutgoingCall {
    /// The first hop.
    pub flow: SipFlow,
    /// The Request-URI.
    pub target: Uri,
    /// From.
    pub from: PartyAddress,
    /// To.
    pub to: PartyAddress,
    /// Route: proxies to pass, topmost first; at most [`ROUTES_MAX`].
    pub routes: Vec<Uri>,
    /// P-Asserted-Identity (RFC 3325).
    pub identity: Option<PartyAddress>,
    /// Answers to challenges.
    pub credentials: Option<DigestCredentials>,
    /// Further header fields; at most [`EXTRA_HEADERS_MAX`].
    pub headers: Vec<ExtraHeader>,
    /// The offer. Without one the peer offers in its 200, and [`super::UserAgent::acknowledge`] answers it.
    pub body: Option<SipBody>,
    /// CANCEL goes out when nobody answered in this time after the INVITE left: [`ANSWER_WITHIN_DEFAULT`]
    /// in a new order. Without a time a peer that rings and vanishes is waited for for ever.
    pub answer_within: Option<Duration>,
    /// What becomes of a 3xx.
    pub redirects: RedirectRule,
}

impl OutgoingCall {
    /// A call to a target, which To names too.
    #[must_use]
    pub fn new(flow: SipFlow, target: Uri, from: PartyAddress) -> OutgoingCall {
        OutgoingCall {
            flow,
            to: PartyAddress::new(target.clone()),
            target,
            from,
            routes: Vec::new(),
            identity: None,
            credentials: None,
            headers: Vec::new(),
            body: None,
            answer_within: Some(ANSWER_WITHIN_DEFAULT),
            redirects: RedirectRule::SameFlow,
        }
    }

    pub(super) fn is_within_limits(&self) -> bool {
        self.headers.len() <= EXTRA_HEADERS_MAX && self.routes.len() <= ROUTES_MAX
    }
}

/// The reason why an order is not carried out. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InviteRefusal {
    /// As many calls or transactions as the configuration allows are there.
    NoRoom,
    /// There is no address of ours for the transport.
    NoAddress,
    /// More header fields or routes than [`crate::limits`] allows.
    TooMany,
    /// There is no such call, or not in the state that the order needs.
    WrongState,
    /// An offer is not answered: one at a time (RFC 3264).
    OfferPending,
}

impl fmt::Display for InviteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InviteRefusal::NoRoom => "as many calls or transactions as allowed are there: try again later",
            InviteRefusal::NoAddress => "no address of ours is configured for this transport",
            InviteRefusal::TooMany => "too many header fields or routes",
            InviteRefusal::WrongState => "there is no such call, or not in the state for this",
            InviteRefusal::OfferPending => "an offer is not answered yet: wait for its answer",
        })
    }
}

impl std::error::Error for InviteRefusal {}

/// A response of a caller: to a call, a re-INVITE or another request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SipResponse {
    /// 101 to 699.
    pub status: u16,
    /// The phrase; nothing: that of the RFC.
    pub phrase: Option<String>,
    /// Reason (RFC 3326).
    pub reasons: Vec<ReasonValue>,
    /// Retry-After in seconds.
    pub retry_after: Option<u32>,
    /// Contact of a 3xx or of a registrar, as values.
    pub contacts: Vec<String>,
    /// Challenges: WWW-Authenticate of a 401, Proxy-Authenticate of a 407.
    pub challenges: Vec<crate::digest::DigestChallenge>,
    /// Further header fields.
    pub headers: Vec<ExtraHeader>,
    /// The body.
    pub body: Option<SipBody>,
}

impl SipResponse {
    /// A response of a status alone.
    #[must_use]
    pub fn new(status: u16) -> SipResponse {
        SipResponse {
            status,
            phrase: None,
            reasons: Vec::new(),
            retry_after: None,
            contacts: Vec::new(),
            challenges: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// The same with a body.
    #[must_use]
    pub fn with_body(self, body: Option<SipBody>) -> SipResponse {
        SipResponse { body, ..self }
    }
}

/// A registration at a trunk.
#[derive(Debug, Clone)]
pub struct RegistrationOrder {
    /// The registrar's end.
    pub flow: SipFlow,
    /// The Request-URI: the domain, as `sip:example.com`.
    pub registrar: Uri,
    /// The address that is registered: To and From.
    pub address: PartyAddress,
    /// User part of the Contact.
    pub contact_user: String,
    /// The time that is asked for; the registrar may give another.
    pub expires: Duration,
    /// Answers to challenges.
    pub credentials: Option<DigestCredentials>,
}

/// A question whether a peer is there, by OPTIONS.
#[derive(Debug, Clone)]
pub struct OptionsOrder {
    /// The peer's end.
    pub flow: SipFlow,
    /// The Request-URI.
    pub target: Uri,
    /// From.
    pub from: PartyAddress,
    /// Answers to challenges.
    pub credentials: Option<DigestCredentials>,
}
