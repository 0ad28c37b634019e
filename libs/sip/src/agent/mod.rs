//! The user agent: calls both ways, registrations and OPTIONS over any number of flows.
//!
//! One [`UserAgent`] serves thousands of calls: a message finds its transaction by branch and its call by
//! Call-ID and tag, a deadline is one of an ordered set, so that the cost of a message does not grow with
//! the calls. It owns no socket and reads no clock:
//!
//! - [`UserAgent::receive`] takes octets in, of a datagram or a connection.
//! - [`UserAgent::poll_transmit`] gives octets out, each with its flow.
//! - [`UserAgent::poll_event`] says what happened.
//! - [`UserAgent::poll_timeout`] and [`UserAgent::handle_timeout`] move time.
//!
//! A call is two steps where its intent must be on disk before the INVITE is on the wire:
//! [`UserAgent::prepare`] gives handle and Call-ID and sends nothing, [`UserAgent::release`] lets it go.

mod call;
mod calls;
mod config;
mod core;
mod deadlines;
mod drafts;
mod event;
mod flow;
mod malformed;
mod objections;
mod receive;
mod registration;
mod streams;
#[cfg(test)]
mod tests;

pub use config::{
    InviteRefusal, NextHopRule, OptionsOrder, OutgoingCall, RedirectRule, RegistrationOrder, SipResponse,
    UserAgentConfig,
};
pub use event::{
    AgentCounters, AgentEvent, CallEvent, CallHandle, EndedBy, IncomingInvite, OptionsAnswer, OptionsHandle,
    RefusedBy, RegistrationHandle, RequestHandle, SipRefusal,
};
pub use flow::{SipAddresses, SipFlow, SipTransmit, SipTransport};

use self::call::{CallPhase, SipCall};
use self::calls::Calls;
use self::core::{AgentCore, Timer};
use self::registration::{OptionsQuestion, Registration};
use self::streams::Streams;
use crate::digest::Authenticator;
use crate::message::{ReasonValue, SipBody};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The machine.
#[derive(Debug)]
pub struct UserAgent {
    core: AgentCore,
    calls: Calls,
    registrations: HashMap<RegistrationHandle, Registration>,
    questions: HashMap<OptionsHandle, OptionsQuestion>,
    streams: Streams,
}

impl UserAgent {
    /// A user agent without calls.
    #[must_use]
    pub fn new(config: UserAgentConfig, now: Instant) -> UserAgent {
        UserAgent {
            core: AgentCore::new(config, now),
            calls: Calls::default(),
            registrations: HashMap::new(),
            questions: HashMap::new(),
            streams: Streams::default(),
        }
    }

    /// Time never runs backwards here, whatever the caller's clock does.
    fn set_now(&mut self, now: Instant) {
        self.core.now = self.core.now.max(now);
    }

    /// Takes octets in: a datagram, or a piece of a connection's stream. Lone line ends of datagrams are
    /// keep-alives.
    pub fn receive(&mut self, flow: SipFlow, octets: &[u8], now: Instant) {
        self.set_now(now);
        if !flow.transport.is_reliable() {
            if octets.iter().any(|octet| !b"\r\n\0 ".contains(octet)) {
                self.receive_message(flow, octets);
            }
            return;
        }
        for message in self.streams.receive(&mut self.core, flow, octets) {
            self.receive_message(flow, &message);
        }
    }

    /// The connection of a flow has ended, or cannot be made, or a datagram could not be sent: requests on
    /// it that wait for their response fail (RFC 3261 section 17.1.4). Answered calls go on, over a new
    /// connection.
    pub fn handle_flow_failed(&mut self, flow: SipFlow, now: Instant) {
        self.set_now(now);
        self.streams.forget(&mut self.core, flow);
        for id in self.core.clients_on(flow) {
            let Some(owner) = self.core.client(id).map(|entry| entry.owner) else { continue };
            self.core.forget_client(id);
            self.client_failed(id, owner, RefusedBy::Transport);
        }
    }

    /// The next octets to be sent.
    pub fn poll_transmit(&mut self) -> Option<SipTransmit> {
        self.core.output.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.core.events.pop_front()
    }

    /// When [`UserAgent::handle_timeout`] is to be called. Every other call may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.core.deadlines.next()
    }

    /// Acts on all that is due. Early and needless calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.set_now(now);
        while let Some(timer) = self.core.deadlines.take_due(self.core.now) {
            match timer {
                Timer::Client(id) => {
                    if let Some(owner) = self.core.client_timeout(id) {
                        self.client_failed(id, owner, RefusedBy::Silence);
                    }
                }
                Timer::Server(id) => self.core.server_timeout(id),
                Timer::Call(handle) => {
                    self.calls.with(&mut self.core, handle, |call, core| call.handle_timeout(core));
                }
                Timer::Registration(handle) => self.refresh_registration(handle),
                Timer::Request(request) => {
                    // The caller forgot it.
                    let _ = self.respond(request, &SipResponse::new(500), self.core.now);
                }
                Timer::KeepAlive(flow) => self.streams.handle_timeout(&mut self.core, flow),
            }
        }
    }

    /// Prepares a call: its Call-ID is known, nothing is sent. It counts as a call until it is released or
    /// cancelled.
    ///
    /// # Errors
    /// [`InviteRefusal::NoRoom`], [`InviteRefusal::NoAddress`], [`InviteRefusal::TooMany`].
    pub fn prepare(&mut self, order: OutgoingCall) -> Result<CallHandle, InviteRefusal> {
        if !order.is_within_limits() {
            return Err(InviteRefusal::TooMany);
        }
        self.core.check_room(order.flow)?;
        if self.calls.len() >= self.core.config.calls_max {
            return Err(InviteRefusal::NoRoom);
        }
        let handle = CallHandle(self.core.take_id());
        self.calls.insert(SipCall {
            handle,
            flow: order.flow,
            call_id: self.core.identifiers.call_id(),
            local_tag: self.core.identifiers.tag(),
            remote_tag: None,
            authenticator: Authenticator::new(order.credentials.clone()),
            phase: CallPhase::Prepared(Box::new(order)),
        });
        Ok(handle)
    }

    /// Lets the INVITE of a prepared call go: its timers begin now.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`], or [`InviteRefusal::NoRoom`]: the call stays prepared.
    pub fn release(&mut self, call: CallHandle, now: Instant) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.release(core))
    }

    /// Calls at once: [`UserAgent::prepare`] and [`UserAgent::release`].
    ///
    /// # Errors
    /// As these.
    pub fn invite(&mut self, order: OutgoingCall, now: Instant) -> Result<CallHandle, InviteRefusal> {
        let call = self.prepare(order)?;
        self.release(call, now)?;
        Ok(call)
    }

    /// Call-ID of a call.
    #[must_use]
    pub fn call_id(&self, call: CallHandle) -> Option<&str> {
        self.calls.call_id(call)
    }

    /// Cancels a call of ours that nobody has answered: CANCEL goes out at once if the INVITE has a
    /// provisional response, else once it has (RFC 3261 section 9.1). The end is [`CallEvent::Refused`], or
    /// [`CallEvent::Ended`] by [`EndedBy::CancelledLate`] if somebody answered meanwhile.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`].
    pub fn cancel(&mut self, call: CallHandle, now: Instant) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.cancel(core))
    }

    /// Answers an offer that the peer made in a 2xx, by ACK.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: no 2xx waits for its ACK.
    pub fn acknowledge(
        &mut self,
        call: CallHandle,
        body: Option<SipBody>,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.answer_in_ack(core, body))
    }

    /// Ends an answered call by BYE, with values of Reason. [`CallEvent::Ended`] follows the response.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`].
    pub fn bye(
        &mut self,
        call: CallHandle,
        reasons: Vec<ReasonValue>,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.hang_up(core, reasons))
    }

    /// Sends a provisional response, 101 to 199, to a call that comes in.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: also of another status.
    pub fn ring(
        &mut self,
        call: CallHandle,
        response: &SipResponse,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.ring(core, response))
    }

    /// Answers a call that comes in by 2xx: with the answer to its offer, or an offer where it made none.
    /// It is repeated until ACK comes; without one the call ends after 64*T1.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: also of another status.
    pub fn answer(
        &mut self,
        call: CallHandle,
        response: SipResponse,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.answer(core, response))
    }

    /// Refuses, redirects or challenges a call that comes in: 300 to 699. [`CallEvent::Refused`] follows at
    /// once.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: also of another status.
    pub fn reject(
        &mut self,
        call: CallHandle,
        response: &SipResponse,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.reject(core, response))
    }

    /// Offers anew by re-INVITE; without a body the peer is asked for an offer, which
    /// [`UserAgent::acknowledge`] answers.
    ///
    /// # Errors
    /// [`InviteRefusal::OfferPending`], [`InviteRefusal::WrongState`], [`InviteRefusal::NoRoom`].
    pub fn reinvite(
        &mut self,
        call: CallHandle,
        body: Option<SipBody>,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.offer(core, body))
    }

    /// Answers the peer's [`CallEvent::Offered`], or makes the offer that it asks for.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`].
    pub fn accept_offer(
        &mut self,
        call: CallHandle,
        body: Option<SipBody>,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.accept_offer(core, body))
    }

    /// Refuses the peer's [`CallEvent::Offered`] with a status from 300 to 699, 488 mostly.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: also of another status.
    pub fn reject_offer(&mut self, call: CallHandle, status: u16, now: Instant) -> Result<(), InviteRefusal> {
        self.order(call, now, |call, core| call.reject_offer(core, status))
    }

    fn order(
        &mut self,
        call: CallHandle,
        now: Instant,
        carry_out: impl FnOnce(&mut SipCall, &mut AgentCore) -> Result<(), InviteRefusal>,
    ) -> Result<(), InviteRefusal> {
        self.set_now(now);
        self.calls.with(&mut self.core, call, carry_out).unwrap_or(Err(InviteRefusal::WrongState))
    }

    /// Registers, and refreshes the registration until [`UserAgent::unregister`] or a refusal.
    ///
    /// # Errors
    /// [`InviteRefusal::NoRoom`], [`InviteRefusal::NoAddress`].
    pub fn register(
        &mut self,
        order: RegistrationOrder,
        now: Instant,
    ) -> Result<RegistrationHandle, InviteRefusal> {
        self.set_now(now);
        let handle = RegistrationHandle(self.core.take_id());
        let mut registration = Registration::new(handle, order, &mut self.core);
        registration.begin(&mut self.core, false)?;
        self.registrations.insert(handle, registration);
        Ok(handle)
    }

    /// Ends a registration by REGISTER with Expires 0; [`AgentEvent::Unregistered`] follows.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: there is none. [`InviteRefusal::NoRoom`].
    pub fn unregister(
        &mut self,
        registration: RegistrationHandle,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.set_now(now);
        let one = self.registrations.get_mut(&registration).ok_or(InviteRefusal::WrongState)?;
        one.begin(&mut self.core, true)
    }

    fn refresh_registration(&mut self, handle: RegistrationHandle) {
        let Some(one) = self.registrations.get_mut(&handle) else { return };
        if one.begin(&mut self.core, false).is_err() {
            one.end(&mut self.core, Some(SipRefusal::local(RefusedBy::Ourselves, 503)));
            self.registrations.remove(&handle);
        }
    }

    /// Asks by OPTIONS whether a peer is there; [`AgentEvent::OptionsAnswered`] follows.
    ///
    /// # Errors
    /// [`InviteRefusal::NoRoom`], [`InviteRefusal::NoAddress`].
    pub fn options(&mut self, order: OptionsOrder, now: Instant) -> Result<OptionsHandle, InviteRefusal> {
        self.set_now(now);
        let handle = OptionsHandle(self.core.take_id());
        let mut question = OptionsQuestion::new(handle, order, &mut self.core);
        question.send(&mut self.core)?;
        self.questions.insert(handle, question);
        Ok(handle)
    }

    /// Responds to an [`AgentEvent::Request`]: finally, 200 to 699.
    ///
    /// # Errors
    /// [`InviteRefusal::WrongState`]: it is answered, or of another status.
    pub fn respond(
        &mut self,
        request: RequestHandle,
        response: &SipResponse,
        now: Instant,
    ) -> Result<(), InviteRefusal> {
        self.set_now(now);
        self.core.deadlines.set(Timer::Request(request), None);
        let tag = self.core.identifiers.tag();
        let is_final = (200..700).contains(&response.status);
        let sent = is_final.then(|| self.core.respond(request.0, response, &tag, None, &[])).flatten();
        sent.map(drop).ok_or(InviteRefusal::WrongState)
    }

    /// Keeps a flow alive (RFC 5626 section 4.4.1): of a connection by pings that want a pong, of UDP by a
    /// line end every `interval`; nothing ends it. Without a pong comes [`AgentEvent::FlowFailed`].
    pub fn keep_alive(&mut self, flow: SipFlow, interval: Option<Duration>, now: Instant) {
        self.set_now(now);
        self.streams.keep_alive(&mut self.core, flow, interval);
    }

    /// Calls that are not over, prepared ones among them.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Transactions that are not over, of both sides: they outlive their calls by up to 32 s.
    #[must_use]
    pub fn transactions(&self) -> usize {
        self.core.transactions()
    }

    /// What happened that no event tells.
    #[must_use]
    pub fn counters(&self) -> AgentCounters {
        self.core.counters
    }
}
