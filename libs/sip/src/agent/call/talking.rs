//! An answered call: its dialog, ACK both ways, BYE both ways, requests inside of it.

use super::offers::{Exchange, WaitingOffer};
use super::{CallPhase, SessionTimer, SipCall};
use crate::agent::config::{InviteRefusal, NextHopRule, SipResponse};
use crate::agent::core::{AgentCore, ClientOwner};
use crate::agent::drafts::{ALLOW, RequestDraft};
use crate::agent::event::{CallEvent, EndedBy};
use crate::agent::flow::SipFlow;
use crate::dialog::Dialog;
use crate::message::{HeaderName, Method, NameAddr, ReasonValue, SipBody, SipMessage};
use crate::uri::Uri;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Our 2xx is repeated until ACK comes (RFC 3261 section 13.3.1.4).
#[derive(Debug)]
struct AckWait {
    /// The number of the INVITE.
    number: u32,
    flow: SipFlow,
    octets: Arc<[u8]>,
    at: Instant,
    pause: Duration,
    give_up_at: Instant,
    wants_answer: bool,
}

/// How far the end is.
#[derive(Debug)]
enum CallEnding {
    No,
    /// BYE waits for the ACK of our 2xx (section 15).
    AfterAck(EndedBy, Vec<ReasonValue>),
    /// BYE is sent.
    Sent {
        transaction: u64,
        by: EndedBy,
        reasons: Vec<ReasonValue>,
    },
}

/// An answered call.
#[derive(Debug)]
pub(in crate::agent) struct Talking {
    pub dialog: Dialog,
    pub(super) flow: SipFlow,
    /// Call-ID is ours: it decides who waits longer after 491.
    pub(super) is_caller: bool,
    /// Our last description, for refreshes.
    pub(super) local_body: Option<SipBody>,
    pub(super) timer: Option<SessionTimer>,
    /// The INVITE of ours whose 2xx has no ACK yet.
    pub(super) invite: Option<u64>,
    pub(super) exchange: Exchange,
    pub(super) waiting: Option<WaitingOffer>,
    pub(super) peer_updates: bool,
    ack_wait: Option<AckWait>,
    ending: CallEnding,
}

impl Talking {
    pub(super) fn new(
        dialog: Dialog,
        flow: SipFlow,
        is_caller: bool,
        local_body: Option<SipBody>,
        timer: Option<SessionTimer>,
    ) -> Talking {
        Talking {
            dialog,
            flow,
            is_caller,
            local_body,
            timer,
            invite: None,
            exchange: Exchange::Idle,
            waiting: None,
            peer_updates: false,
            ack_wait: None,
            ending: CallEnding::No,
        }
    }

    /// Notes whether the peer understands UPDATE.
    pub(super) fn note_allow(&mut self, message: &SipMessage<'_>) {
        self.peer_updates |= message.lists(HeaderName::Allow, "UPDATE");
    }

    /// Awaits the ACK of a 2xx to INVITE with this number.
    pub(super) fn await_ack(
        &mut self,
        sent: Option<(SipFlow, Arc<[u8]>)>,
        number: u32,
        wants_answer: bool,
        core: &AgentCore,
    ) {
        let (now, timers) = (core.now, core.config.timers);
        self.ack_wait = sent.map(|(flow, octets)| AckWait {
            number,
            flow,
            octets,
            at: now + timers.t1,
            pause: timers.t1,
            give_up_at: now + timers.give_up(),
            wants_answer,
        });
    }

    pub(super) fn waits_for_ack(&self) -> bool {
        self.ack_wait.is_some()
    }

    /// Whether a 2xx is the one that our caller has not acknowledged yet.
    pub(super) fn awaits_ack_of(&self, transaction: u64, response: &SipMessage<'_>) -> bool {
        let is_same = |to: &str| {
            NameAddr::parse("To", to).is_ok_and(|to| to.tag().unwrap_or_default() == self.dialog.remote_tag())
        };
        self.invite == Some(transaction) && response.value(HeaderName::To).is_some_and(is_same)
    }

    pub(super) fn is_ending(&self) -> bool {
        !matches!(self.ending, CallEnding::No)
    }

    /// The flow of the next request.
    pub(super) fn next_flow(&self, core: &AgentCore) -> SipFlow {
        let by_route = || {
            let uri = Uri::parse(&self.dialog.route().first_hop).ok()?;
            self.flow.towards(&uri).filter(|flow| core.config.addresses.of(flow.transport).is_some())
        };
        match core.config.next_hop {
            NextHopRule::SameFlow => self.flow,
            NextHopRule::ByRoute => by_route().unwrap_or(self.flow),
        }
    }

    pub(super) fn draft(&self, method: Method, cseq: u32) -> RequestDraft {
        let route = self.dialog.route();
        let mut draft = RequestDraft::new(method, route.uri);
        draft.routes = route.routes;
        self.dialog.local().clone_into(&mut draft.from);
        self.dialog.remote().clone_into(&mut draft.to);
        self.dialog.call_id().clone_into(&mut draft.call_id);
        draft.cseq = cseq;
        draft
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let ack = self.ack_wait.as_ref().map(|wait| wait.at.min(wait.give_up_at));
        if self.is_ending() {
            return ack;
        }
        let timer = self.timer.map(|timer| timer.poll_timeout());
        let waiting = self.waiting.as_ref().map(|waiting| waiting.at);
        [ack, timer, waiting].into_iter().flatten().min()
    }
}

impl SipCall {
    pub(super) fn talking(&mut self) -> Result<&mut Talking, InviteRefusal> {
        match &mut self.phase {
            CallPhase::Talking(talking) => Ok(talking),
            _ => Err(InviteRefusal::WrongState),
        }
    }

    /// Sends ACK for the 2xx of our last INVITE, with the answer to the peer's offer if it made one there.
    /// ACK has the INVITE's number and credentials (RFC 3261 section 13.2.2.4).
    pub(super) fn acknowledge(&mut self, core: &mut AgentCore, body: Option<SipBody>) {
        let Ok(talking) = self.talking() else { return };
        let Some(transaction) = talking.invite.take() else { return };
        let Some(entry) = core.client(transaction) else { return };
        let request = entry.request.clone();
        let Ok(invite) = SipMessage::parse(&request) else { return };
        let number = invite.essentials().map_or(0, |essentials| essentials.cseq.number);
        let mut draft = talking.draft(Method::Ack, number);
        for name in [HeaderName::Authorization, HeaderName::ProxyAuthorization] {
            draft.fields.extend(invite.values(name).map(|value| (name, value.to_owned())));
        }
        if body.is_some() {
            talking.local_body.clone_from(&body);
        }
        draft.body = body;
        let (tag, flow) = (talking.dialog.remote_tag().to_owned(), talking.next_flow(core));
        core.acknowledge(transaction, tag, &draft, flow);
    }

    /// The caller's answer to an offer in a 2xx.
    pub(in crate::agent) fn answer_in_ack(
        &mut self,
        core: &mut AgentCore,
        body: Option<SipBody>,
    ) -> Result<(), InviteRefusal> {
        if self.talking()?.invite.is_none() {
            return Err(InviteRefusal::WrongState);
        }
        self.acknowledge(core, body);
        Ok(())
    }

    /// BYE; after our 2xx once its ACK is there.
    pub(in crate::agent) fn hang_up(
        &mut self,
        core: &mut AgentCore,
        reasons: Vec<ReasonValue>,
    ) -> Result<(), InviteRefusal> {
        if self.talking()?.is_ending() {
            return Err(InviteRefusal::WrongState);
        }
        self.begin_end(core, EndedBy::Us, reasons);
        Ok(())
    }

    pub(super) fn begin_end(&mut self, core: &mut AgentCore, by: EndedBy, reasons: Vec<ReasonValue>) {
        // A 2xx without ACK would be repeated to us for nothing.
        self.acknowledge(core, None);
        let Ok(talking) = self.talking() else { return };
        if talking.is_ending() {
            return;
        }
        if talking.waits_for_ack() && by == EndedBy::Us {
            talking.ending = CallEnding::AfterAck(by, reasons);
            return;
        }
        talking.ack_wait = None;
        self.send_bye(core, by, reasons);
    }

    fn send_bye(&mut self, core: &mut AgentCore, by: EndedBy, reasons: Vec<ReasonValue>) {
        let cnonce = core.identifiers.nonce();
        let owner = ClientOwner::InDialog(self.handle);
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        let number = talking.dialog.next_cseq();
        let mut draft = talking.draft(Method::Bye, number);
        draft.fields.extend(reasons.iter().map(|reason| (HeaderName::Reason, reason.to_string())));
        draft.authorize(&mut self.authenticator, &cnonce);
        let flow = talking.next_flow(core);
        match core.request(&draft, flow, owner) {
            Ok(transaction) => talking.ending = CallEnding::Sent { transaction, by, reasons },
            Err(_) => self.end(core, by, Vec::new()),
        }
    }

    /// A response to a request inside the call, or silence (no message).
    pub(in crate::agent) fn receive_dialog_response(
        &mut self,
        core: &mut AgentCore,
        transaction: u64,
        response: Option<&SipMessage<'_>>,
    ) {
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        let status = response.and_then(SipMessage::status).unwrap_or(408);
        match &talking.ending {
            CallEnding::Sent { transaction: bye, by, reasons } if *bye == transaction => {
                let (by, reasons) = (*by, reasons.clone());
                match response {
                    _ if status < 200 => {}
                    Some(response)
                        if matches!(status, 401 | 407) && self.authenticator.take_challenges(response) =>
                    {
                        self.send_bye(core, by, reasons);
                    }
                    _ => self.end(core, by, Vec::new()),
                }
            }
            _ => self.receive_offer_response(core, transaction, status, response),
        }
    }

    /// ACK for a 2xx of ours.
    pub(in crate::agent) fn receive_ack(&mut self, core: &mut AgentCore, ack: &SipMessage<'_>) {
        let Ok(talking) = self.talking() else { return };
        // The ACK of an earlier INVITE may come late.
        let number = ack.essentials().map(|essentials| essentials.cseq.number).ok();
        let Some(wait) = talking.ack_wait.take_if(|wait| Some(wait.number) == number) else { return };
        let ending = std::mem::replace(&mut talking.ending, CallEnding::No);
        if let CallEnding::AfterAck(by, reasons) = ending {
            self.send_bye(core, by, reasons);
            return;
        }
        talking.ending = ending;
        let body = SipBody::of(ack).filter(|_| wait.wants_answer);
        core.tell(self.handle, CallEvent::Acknowledged { body });
    }

    /// A request of the peer inside the call, in its server transaction.
    pub(in crate::agent) fn receive_request(
        &mut self,
        core: &mut AgentCore,
        server: u64,
        request: &SipMessage<'_>,
    ) {
        let tag = self.local_tag.clone();
        let handle = self.handle;
        let CallPhase::Talking(talking) = &mut self.phase else {
            // Section 15: a caller may end an early dialog by BYE.
            let is_bye =
                request.method() == Some(&Method::Bye) && matches!(self.phase, CallPhase::Ringing(_));
            core.respond(server, &SipResponse::new(if is_bye { 200 } else { 481 }), &tag, None, &[]);
            if is_bye {
                self.cancelled_by_peer(core, request);
            }
            return;
        };
        let number = request.essentials().map_or(0, |essentials| essentials.cseq.number);
        if !talking.dialog.take_remote_cseq(number) {
            core.respond(server, &SipResponse::new(500), &tag, None, &[]);
            return;
        }
        talking.note_allow(request);
        match request.method() {
            Some(Method::Bye) => {
                core.respond(server, &SipResponse::new(200), &tag, None, &[]);
                self.end(core, EndedBy::Peer, request.reasons().collect());
            }
            Some(Method::Invite | Method::Update) => self.receive_offer(core, server, request),
            Some(Method::Info) => {
                core.respond(server, &SipResponse::new(200), &tag, None, &[]);
                core.tell(handle, CallEvent::Info { body: SipBody::of(request) });
            }
            Some(Method::Options) => {
                let allow = [(HeaderName::Allow, ALLOW.to_owned())];
                core.respond(server, &SipResponse::new(200), &tag, None, &allow);
            }
            _ => {
                let allow = [(HeaderName::Allow, ALLOW.to_owned())];
                core.respond(server, &SipResponse::new(405), &tag, None, &allow);
            }
        }
    }

    pub(super) fn talking_timeout(&mut self, core: &mut AgentCore) {
        let t2 = core.config.timers.t2;
        let now = core.now;
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        if let Some(wait) = &mut talking.ack_wait {
            if wait.give_up_at <= now {
                talking.ack_wait = None;
                talking.ending = CallEnding::No;
                // Section 13.3.1.4: the session is ended by BYE.
                self.begin_end(core, EndedBy::NoAck, Vec::new());
                return;
            }
            if wait.at <= now {
                wait.pause = (wait.pause * 2).min(t2);
                wait.at = now + wait.pause;
                core.counters.repetitions += 1;
                core.transmit(wait.flow, wait.octets.clone());
            }
        }
        if talking.is_ending() {
            return;
        }
        if talking.timer.is_some_and(|timer| timer.expires_at <= now) {
            if talking.timer.is_some_and(|timer| !timer.is_agreed) {
                talking.timer = None;
                return;
            }
            let reason = ReasonValue::sip(408, "Session Timer Expired");
            self.begin_end(core, EndedBy::SessionExpired, vec![reason]);
            return;
        }
        self.retry_or_refresh(core);
    }
}
