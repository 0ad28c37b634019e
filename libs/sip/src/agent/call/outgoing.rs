//! A call of ours until it is answered or refused: INVITE, its challenges, redirects, CANCEL.

use super::{CallPhase, SessionTimer, SipCall, Talking};
use crate::agent::config::{InviteRefusal, OutgoingCall, RedirectRule};
use crate::agent::core::{AgentCore, ClientOwner};
use crate::agent::drafts::{ALLOW, RequestDraft, SUPPORTED};
use crate::agent::event::{CallEvent, EndedBy, RefusedBy, SipRefusal};
use crate::agent::flow::SipFlow;
use crate::dialog::Dialog;
use crate::message::{HeaderName, Method, NameAddr, ReasonValue, SipBody, SipMessage};
use crate::uri::Uri;
use std::time::{Duration, Instant};

/// A CANCEL that is wanted or sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cancelling {
    No,
    /// It waits for a provisional response (RFC 3261 section 9.1).
    Wanted,
    /// It is sent; the INVITE counts as ended at this moment, 64*T1 later.
    Sent(Instant),
}

/// INVITE is sent.
#[derive(Debug)]
pub(in crate::agent) struct Calling {
    order: OutgoingCall,
    target: Uri,
    flow: SipFlow,
    transaction: u64,
    cseq: u32,
    is_proceeding: bool,
    cancelling: Cancelling,
    is_redirected: bool,
    /// After 422: the peer's shortest interval.
    interval: Option<Duration>,
    is_interval_raised: bool,
    /// CANCEL goes out.
    answer_by: Option<Instant>,
}

impl Calling {
    /// 422 (RFC 4028 section 7.3): once, with the peer's shortest interval.
    fn raise_interval(&mut self, response: &SipMessage<'_>) -> bool {
        let shortest = response.seconds(HeaderName::MinSe).map(|seconds| Duration::from_secs(seconds.into()));
        let Some(shortest) = shortest.filter(|_| self.cancelling == Cancelling::No) else { return false };
        if self.is_interval_raised {
            return false;
        }
        self.is_interval_raised = true;
        self.interval = Some(self.interval.unwrap_or_default().max(shortest));
        true
    }

    fn send_cancel_if_possible(&mut self, core: &mut AgentCore) {
        if self.cancelling == Cancelling::Wanted && self.is_proceeding {
            self.cancelling = Cancelling::Sent(core.now + core.config.timers.give_up());
            core.cancel(self.transaction, &[]);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self.cancelling {
            Cancelling::Sent(until) => Some(until),
            Cancelling::Wanted => None,
            Cancelling::No => self.answer_by,
        }
    }
}

impl SipCall {
    /// Lets the INVITE of a prepared call go.
    pub(in crate::agent) fn release(&mut self, core: &mut AgentCore) -> Result<(), InviteRefusal> {
        let CallPhase::Prepared(order) = &self.phase else { return Err(InviteRefusal::WrongState) };
        core.check_room(order.flow)?;
        let order = (**order).clone();
        let calling = Calling {
            target: order.target.clone(),
            flow: order.flow,
            transaction: 0,
            cseq: 0,
            is_proceeding: false,
            cancelling: Cancelling::No,
            is_redirected: false,
            interval: core.config.session_interval,
            is_interval_raised: false,
            answer_by: order.answer_within.map(|within| core.now + within),
            order,
        };
        self.phase = CallPhase::Calling(Box::new(calling));
        self.send_invite(core)
    }

    /// Sends INVITE: the first, or the next after a challenge, a redirect or 422.
    fn send_invite(&mut self, core: &mut AgentCore) -> Result<(), InviteRefusal> {
        let CallPhase::Calling(calling) = &mut self.phase else { return Err(InviteRefusal::WrongState) };
        calling.cseq += 1;
        calling.is_proceeding = false;
        let order = &calling.order;
        let uri = match &calling.target {
            Uri::Sip(uri) => uri.for_request().to_string(),
            other => other.to_string(),
        };
        let mut draft = RequestDraft::new(Method::Invite, uri);
        draft.routes = order.routes.iter().map(|route| format!("<{route}>")).collect();
        draft.from = format!("{};tag={}", order.from, self.local_tag);
        draft.to = order.to.to_string();
        draft.call_id.clone_from(&self.call_id);
        draft.cseq = calling.cseq;
        draft.contact = Some(core.contact(calling.flow, None));
        draft.headers.clone_from(&order.headers);
        draft.body.clone_from(&order.body);
        let fields = &mut draft.fields;
        fields.push((HeaderName::Allow, ALLOW.to_owned()));
        fields.push((HeaderName::Supported, SUPPORTED.to_owned()));
        if let Some(interval) = calling.interval {
            fields.push((HeaderName::SessionExpires, interval.as_secs().to_string()));
            let shortest = core.config.session_interval_min.min(interval);
            let shortest = if calling.is_interval_raised { interval } else { shortest };
            fields.push((HeaderName::MinSe, shortest.as_secs().to_string()));
        }
        if let Some(identity) = &order.identity {
            fields.push((HeaderName::PAssertedIdentity, identity.to_string()));
        }
        let cnonce = core.identifiers.nonce();
        draft.authorize(&mut self.authenticator, &cnonce);
        calling.transaction = core.request(&draft, calling.flow, ClientOwner::Invite(self.handle))?;
        self.flow = calling.flow;
        Ok(())
    }

    fn send_invite_or_refuse(&mut self, core: &mut AgentCore) {
        if self.send_invite(core).is_err() {
            self.refuse(core, SipRefusal::local(RefusedBy::Ourselves, 503));
        }
    }

    /// CANCEL: at once after a provisional response, else once one comes (section 9.1).
    pub(in crate::agent) fn cancel(&mut self, core: &mut AgentCore) -> Result<(), InviteRefusal> {
        match &mut self.phase {
            CallPhase::Prepared(_) => self.refuse(core, SipRefusal::local(RefusedBy::Cancelled, 487)),
            CallPhase::Calling(calling) => {
                if calling.cancelling == Cancelling::No {
                    calling.cancelling = Cancelling::Wanted;
                }
                calling.send_cancel_if_possible(core);
            }
            _ => return Err(InviteRefusal::WrongState),
        }
        Ok(())
    }

    pub(super) fn calling_timeout(&mut self, core: &mut AgentCore) {
        let CallPhase::Calling(calling) = &mut self.phase else { return };
        match calling.cancelling {
            Cancelling::Sent(until) if until <= core.now => {
                // RFC 3261 section 9.1: no answer to INVITE in 64*T1 after CANCEL: its transaction is
                // destroyed.
                core.forget_client(calling.transaction);
                self.refuse(core, SipRefusal::local(RefusedBy::Cancelled, 487));
            }
            Cancelling::No if calling.answer_by.is_some_and(|by| by <= core.now) => {
                calling.answer_by = None;
                calling.cancelling = Cancelling::Wanted;
                calling.send_cancel_if_possible(core);
            }
            _ => {}
        }
    }

    /// Nobody answered INVITE (timer B), or the transport failed.
    pub(in crate::agent) fn invite_failed(&mut self, core: &mut AgentCore, transaction: u64, by: RefusedBy) {
        let CallPhase::Calling(calling) = &self.phase else { return };
        if calling.transaction != transaction {
            return;
        }
        let by = if calling.cancelling == Cancelling::No { by } else { RefusedBy::Cancelled };
        let status = match by {
            RefusedBy::Transport => 503,
            RefusedBy::Cancelled => 487,
            _ => 408,
        };
        self.refuse(core, SipRefusal::local(by, status));
    }

    /// A response to INVITE. Whether it is the call's; else a 2xx is a fork's.
    pub(in crate::agent) fn receive_invite_response(
        &mut self,
        core: &mut AgentCore,
        transaction: u64,
        response: &SipMessage<'_>,
    ) -> bool {
        let calling = match &self.phase {
            CallPhase::Calling(calling) if calling.transaction == transaction => calling,
            // The 2xx that was taken came again before the caller acknowledged it.
            CallPhase::Talking(talking) => return talking.awaits_ack_of(transaction, response),
            _ => return false,
        };
        match response.status().unwrap_or_default() {
            100..=199 => self.proceed(core, response),
            200..=299 => return self.answered(core, response),
            401 | 407
                if calling.cancelling == Cancelling::No && self.authenticator.take_challenges(response) =>
            {
                self.send_invite_or_refuse(core);
            }
            422 if raises_interval(&mut self.phase, response) => self.send_invite_or_refuse(core),
            300..=399 if self.redirect(core, response) => self.send_invite_or_refuse(core),
            _ => {
                let CallPhase::Calling(calling) = &self.phase else { return true };
                let is_cancelled = calling.cancelling != Cancelling::No;
                let by = if is_cancelled { RefusedBy::Cancelled } else { RefusedBy::Peer };
                self.refuse(core, SipRefusal::of(by, response));
            }
        }
        true
    }

    fn proceed(&mut self, core: &mut AgentCore, response: &SipMessage<'_>) {
        let CallPhase::Calling(calling) = &mut self.phase else { return };
        calling.is_proceeding = true;
        let status = response.status().unwrap_or_default();
        let event = match status {
            100 => CallEvent::Trying,
            _ => CallEvent::Progress {
                status,
                phrase: response.phrase().unwrap_or_default().to_owned(),
                body: SipBody::of(response),
            },
        };
        core.tell(self.handle, event);
        calling.send_cancel_if_possible(core);
    }

    /// 3xx: followed once, to the first SIP URI of Contact.
    fn redirect(&mut self, core: &mut AgentCore, response: &SipMessage<'_>) -> bool {
        let CallPhase::Calling(calling) = &mut self.phase else { return false };
        let may = !calling.is_redirected && calling.cancelling == Cancelling::No;
        if !may || calling.order.redirects == RedirectRule::Final {
            return false;
        }
        let sip_uri = |value: &str| {
            let contact = NameAddr::parse("Contact", value).ok()?;
            Uri::parse(contact.uri).ok().filter(|uri| uri.as_sip().is_some())
        };
        let Some(target) = response.list(HeaderName::Contact).find_map(sip_uri) else { return false };
        calling.is_redirected = true;
        if calling.order.redirects == RedirectRule::ContactAddress {
            let flow = calling.flow.towards(&target);
            calling.flow = flow.filter(|flow| core.check_room(*flow).is_ok()).unwrap_or(calling.flow);
        }
        core.tell(self.handle, CallEvent::Redirected { target: target.to_string() });
        calling.target = target;
        self.authenticator.begin_request();
        true
    }

    /// 2xx: the dialog is there. Whether this call takes it.
    fn answered(&mut self, core: &mut AgentCore, response: &SipMessage<'_>) -> bool {
        let CallPhase::Calling(calling) = &self.phase else { return false };
        let Some(entry) = core.client(calling.transaction) else { return false };
        let request = entry.request.clone();
        let Ok(dialog) = SipMessage::parse(&request).and_then(|invite| Dialog::of_client(&invite, response))
        else {
            self.refuse(core, SipRefusal::local(RefusedBy::Peer, 502));
            return true;
        };
        let is_late = calling.cancelling != Cancelling::No;
        let wants_answer = calling.order.body.is_none() && !is_late;
        let timer = SessionTimer::of_client(response, calling.interval, core.now);
        let mut talking = Talking::new(dialog, calling.flow, true, calling.order.body.clone(), timer);
        talking.note_allow(response);
        talking.invite = Some(calling.transaction);
        self.authenticator.begin_request();
        self.phase = CallPhase::Talking(Box::new(talking));
        if is_late {
            self.acknowledge(core, None);
            self.begin_end(core, EndedBy::CancelledLate, vec![cancelled_reason()]);
            return true;
        }
        let body = SipBody::of(response);
        if !wants_answer {
            self.acknowledge(core, None);
        }
        core.tell(self.handle, CallEvent::Answered { body, wants_answer });
        true
    }
}

/// Reason of a BYE that ends what a CANCEL was too late for.
fn cancelled_reason() -> ReasonValue {
    ReasonValue::sip(487, "Request Terminated")
}

fn raises_interval(phase: &mut CallPhase, response: &SipMessage<'_>) -> bool {
    let CallPhase::Calling(calling) = phase else { return false };
    calling.raise_interval(response)
}
