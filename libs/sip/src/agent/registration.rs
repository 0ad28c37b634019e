//! Registrations (RFC 3261 section 10) and OPTIONS (section 11) of ours.

use super::config::{InviteRefusal, OptionsOrder, RegistrationOrder};
use super::core::{AgentCore, ClientOwner, Timer};
use super::drafts::{ALLOW, RequestDraft, SUPPORTED};
use super::event::{AgentEvent, OptionsAnswer, OptionsHandle, RefusedBy, RegistrationHandle, SipRefusal};
use crate::digest::Authenticator;
use crate::message::{HeaderName, Method, NameAddr, SipMessage};
use std::time::{Duration, Instant};

/// A registration is refreshed this long before it expires, or at half of its time.
const REFRESH_BEFORE: Duration = Duration::from_secs(60);
/// The shortest time to the next refresh.
const REFRESH_MIN: Duration = Duration::from_secs(1);

/// One registration.
#[derive(Debug)]
pub(super) struct Registration {
    pub handle: RegistrationHandle,
    order: RegistrationOrder,
    authenticator: Authenticator,
    call_id: String,
    local_tag: String,
    cseq: u32,
    transaction: Option<u64>,
    expires: Duration,
    is_expires_raised: bool,
    is_leaving: bool,
    pub is_over: bool,
}

impl Registration {
    pub(super) fn new(
        handle: RegistrationHandle,
        order: RegistrationOrder,
        core: &mut AgentCore,
    ) -> Registration {
        Registration {
            handle,
            authenticator: Authenticator::new(order.credentials.clone()),
            call_id: core.identifiers.call_id(),
            local_tag: core.identifiers.tag(),
            cseq: 0,
            transaction: None,
            expires: order.expires,
            is_expires_raised: false,
            is_leaving: false,
            is_over: false,
            order,
        }
    }

    /// REGISTER for a new round: the first, a refresh, or the end.
    pub(super) fn begin(&mut self, core: &mut AgentCore, is_leaving: bool) -> Result<(), InviteRefusal> {
        self.authenticator.begin_request();
        self.is_expires_raised = false;
        self.is_leaving |= is_leaving;
        core.deadlines.set(Timer::Registration(self.handle), None);
        self.send(core)
    }

    fn send(&mut self, core: &mut AgentCore) -> Result<(), InviteRefusal> {
        self.cseq += 1;
        let mut draft = RequestDraft::new(Method::Register, self.order.registrar.to_string());
        draft.from = format!("{};tag={}", self.order.address, self.local_tag);
        draft.to = self.order.address.to_string();
        draft.call_id.clone_from(&self.call_id);
        draft.cseq = self.cseq;
        draft.contact = Some(core.contact(self.order.flow, Some(&self.order.contact_user)));
        let expires = if self.is_leaving { 0 } else { self.expires.as_secs() };
        draft.fields.push((HeaderName::Expires, expires.to_string()));
        draft.fields.push((HeaderName::Allow, ALLOW.to_owned()));
        let cnonce = core.identifiers.nonce();
        draft.authorize(&mut self.authenticator, &cnonce);
        self.transaction = None;
        self.transaction =
            Some(core.request(&draft, self.order.flow, ClientOwner::Registration(self.handle))?);
        Ok(())
    }

    /// A response, or silence (no message).
    pub(super) fn receive(
        &mut self,
        core: &mut AgentCore,
        transaction: u64,
        response: Result<&SipMessage<'_>, RefusedBy>,
    ) {
        if self.transaction != Some(transaction) {
            return;
        }
        let refusal = match response {
            Err(by) => SipRefusal::local(by, if by == RefusedBy::Transport { 503 } else { 408 }),
            Ok(response) => match response.status().unwrap_or_default() {
                100..=199 => return,
                200..=299 => return self.registered(core, response),
                401 | 407 if self.authenticator.take_challenges(response) && self.send(core).is_ok() => {
                    return;
                }
                423 if self.raise_expires(response) && self.send(core).is_ok() => return,
                _ => SipRefusal::of(RefusedBy::Peer, response),
            },
        };
        self.end(core, Some(refusal));
    }

    pub(super) fn end(&mut self, core: &mut AgentCore, refusal: Option<SipRefusal>) {
        self.is_over = true;
        core.deadlines.set(Timer::Registration(self.handle), None);
        core.events.push_back(AgentEvent::Unregistered { registration: self.handle, refusal });
    }

    /// 423 (section 10.2.8): once a round, with the registrar's shortest time.
    fn raise_expires(&mut self, response: &SipMessage<'_>) -> bool {
        let shortest =
            response.seconds(HeaderName::MinExpires).map(|seconds| Duration::from_secs(seconds.into()));
        let Some(shortest) = shortest.filter(|shortest| *shortest > self.expires) else { return false };
        self.expires = shortest;
        !std::mem::replace(&mut self.is_expires_raised, true)
    }

    fn registered(&mut self, core: &mut AgentCore, response: &SipMessage<'_>) {
        self.transaction = None;
        if self.is_leaving {
            return self.end(core, None);
        }
        let contact = core.contact(self.order.flow, Some(&self.order.contact_user));
        let expires = granted(response, &contact).unwrap_or(self.expires);
        let refresh = expires.saturating_sub(REFRESH_BEFORE).max(expires / 2).max(REFRESH_MIN);
        core.deadlines.set(Timer::Registration(self.handle), Some(core.now + refresh));
        let service_routes = response.list(HeaderName::ServiceRoute).map(str::to_owned).collect();
        core.events.push_back(AgentEvent::Registered { registration: self.handle, expires, service_routes });
    }
}

/// The time that the registrar gave: that of our Contact, or Expires.
fn granted(response: &SipMessage<'_>, ours: &str) -> Option<Duration> {
    let ours = NameAddr::parse("Contact", ours).ok()?.uri;
    let contacts: Vec<NameAddr<'_>> = response
        .list(HeaderName::Contact)
        .filter_map(|value| NameAddr::parse("Contact", value).ok())
        .collect();
    let own = contacts.iter().find(|contact| contact.uri == ours).or(contacts.first());
    let own = own.and_then(|contact| contact.parameters.value("expires")).and_then(|text| text.parse().ok());
    let seconds = own.or_else(|| response.seconds(HeaderName::Expires))?;
    Some(Duration::from_secs(seconds.into()))
}

/// One OPTIONS.
#[derive(Debug)]
pub(super) struct OptionsQuestion {
    handle: OptionsHandle,
    order: OptionsOrder,
    authenticator: Authenticator,
    call_id: String,
    local_tag: String,
    cseq: u32,
    asked_at: Instant,
}

impl OptionsQuestion {
    pub(super) fn new(handle: OptionsHandle, order: OptionsOrder, core: &mut AgentCore) -> OptionsQuestion {
        OptionsQuestion {
            handle,
            authenticator: Authenticator::new(order.credentials.clone()),
            call_id: core.identifiers.call_id(),
            local_tag: core.identifiers.tag(),
            cseq: 0,
            asked_at: core.now,
            order,
        }
    }

    pub(super) fn send(&mut self, core: &mut AgentCore) -> Result<(), InviteRefusal> {
        self.cseq += 1;
        let target = &self.order.target;
        let mut draft = RequestDraft::new(Method::Options, target.to_string());
        draft.from = format!("{};tag={}", self.order.from, self.local_tag);
        draft.to = format!("<{target}>");
        draft.call_id.clone_from(&self.call_id);
        draft.cseq = self.cseq;
        draft.contact = Some(core.contact(self.order.flow, None));
        draft.fields.push((HeaderName::Accept, "application/sdp".to_owned()));
        draft.fields.push((HeaderName::Supported, SUPPORTED.to_owned()));
        let cnonce = core.identifiers.nonce();
        draft.authorize(&mut self.authenticator, &cnonce);
        self.asked_at = core.now;
        core.request(&draft, self.order.flow, ClientOwner::Options(self.handle)).map(drop)
    }

    /// Whether the question is over.
    pub(super) fn receive(
        &mut self,
        core: &mut AgentCore,
        response: Result<&SipMessage<'_>, RefusedBy>,
    ) -> bool {
        let outcome = match response {
            Err(by) => Err(by),
            Ok(response) => match response.status().unwrap_or_default() {
                100..=199 => return false,
                401 | 407 if self.authenticator.take_challenges(response) && self.send(core).is_ok() => {
                    return false;
                }
                status => Ok(OptionsAnswer {
                    status,
                    allow: response.list(HeaderName::Allow).map(str::to_owned).collect(),
                    round_trip: core.now.saturating_duration_since(self.asked_at),
                }),
            },
        };
        core.events.push_back(AgentEvent::OptionsAnswered { options: self.handle, outcome });
        true
    }
}
