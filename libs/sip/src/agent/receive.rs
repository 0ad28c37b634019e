//! Messages that come: responses to their transactions, requests to their calls (RFC 3261 sections 8.2,
//! 12.2.2, 17.2.3).

use super::UserAgent;
use super::call::{CallPhase, Ringing, SipCall};
use super::calls::Calls;
use super::config::SipResponse;
use super::core::{AgentCore, ClientOwner};
use super::drafts::Echo;
use super::event::{AgentEvent, CallHandle, IncomingInvite, OptionsHandle, RefusedBy, RegistrationHandle};
use super::flow::SipFlow;
use crate::dialog::Dialog;
use crate::digest::{Authenticator, DigestAnswer};
use crate::limits::RING_MAX;
use crate::message::{Essentials, HeaderName, Method, NameAddr, PartyAddress, SipBody, SipMessage};
use crate::uri::Uri;

/// Retry-After of a 503, in seconds.
const NO_ROOM_RETRY_AFTER_SECONDS: u32 = 5;

impl UserAgent {
    pub(super) fn receive_message(&mut self, flow: SipFlow, octets: &[u8]) {
        let message = match SipMessage::parse(octets) {
            Ok(message) => message,
            Err(error) => return self.core.refuse_unreadable(flow, octets, &error),
        };
        match message.status() {
            Some(_) => self.receive_response(&message),
            None => self.receive_request(flow, octets, &message),
        }
    }

    fn receive_response(&mut self, response: &SipMessage<'_>) {
        let Some((id, owner)) = self.core.receive_response(response) else { return };
        match owner {
            ClientOwner::Invite(handle) => {
                let is_taken = self.calls.with(&mut self.core, handle, |call, core| {
                    call.receive_invite_response(core, id, response)
                });
                if is_taken != Some(true) && response.status().is_some_and(|s| (200..300).contains(&s)) {
                    self.core.end_fork(id, response);
                }
            }
            ClientOwner::InDialog(handle) => {
                let with =
                    |call: &mut SipCall, core: &mut _| call.receive_dialog_response(core, id, Some(response));
                self.calls.with(&mut self.core, handle, with);
            }
            ClientOwner::Registration(handle) => registration_answered(self, handle, id, Ok(response)),
            ClientOwner::Options(handle) => options_answered(self, handle, Ok(response)),
            ClientOwner::Nobody => {}
        }
        self.core.forget_if_terminated(id);
    }

    /// A transaction of ours had no answer.
    pub(super) fn client_failed(&mut self, id: u64, owner: ClientOwner, by: RefusedBy) {
        match owner {
            ClientOwner::Invite(handle) => {
                self.calls.with(&mut self.core, handle, |call, core| call.invite_failed(core, id, by));
            }
            ClientOwner::InDialog(handle) => {
                self.calls
                    .with(&mut self.core, handle, |call, core| call.receive_dialog_response(core, id, None));
            }
            ClientOwner::Registration(handle) => registration_answered(self, handle, id, Err(by)),
            ClientOwner::Options(handle) => options_answered(self, handle, Err(by)),
            ClientOwner::Nobody => {}
        }
    }

    fn receive_request(&mut self, flow: SipFlow, octets: &[u8], request: &SipMessage<'_>) {
        let essentials = match request.essentials() {
            Ok(essentials) => essentials,
            Err(error) => return self.core.refuse_malformed(flow, request, &error),
        };
        let Ok(echo) = Echo::of(request, flow) else { return };
        let method = essentials.cseq.method.clone();
        let key = server_key(&essentials, if method == Method::Ack { &Method::Invite } else { &method });
        if method == Method::Ack {
            return self.receive_ack(&key, &essentials, request);
        }
        if let Some(id) = self.core.server_of(&key) {
            return self.core.repeat_response(id);
        }
        if method == Method::Cancel {
            return self.receive_cancel(&essentials, &echo, request);
        }
        let is_invite = method == Method::Invite;
        let Some(id) = self.core.begin_server(key, echo.clone(), is_invite) else {
            return self.core.respond_once(&echo, 503, &[]);
        };
        if let Some((response, fields)) = self.core.objection(request, &method) {
            self.core.counters.malformed += 1;
            let tag = self.core.identifiers.tag();
            self.core.respond(id, &response, &tag, None, &fields);
            return;
        }
        match essentials.to.tag() {
            Some(tag) => self.receive_in_dialog(id, &essentials, &tag, request),
            None if is_invite => self.receive_invite(id, flow, octets, &essentials, request),
            None => self.core.receive_outside(id, flow, octets, &method),
        }
    }

    fn receive_ack(&mut self, key: &str, essentials: &Essentials<'_>, request: &SipMessage<'_>) {
        if let Some(id) = self.core.server_of(key)
            && !self.core.receive_ack(id)
        {
            return;
        }
        // ACK for a 2xx is a transaction of its own; some peers give it the branch of the INVITE.
        let tag = essentials.to.tag().unwrap_or_default();
        if let Some(handle) = self.calls.of_dialog(essentials.call_id, &tag) {
            self.calls.with(&mut self.core, handle, |call, core| call.receive_ack(core, request));
        }
    }

    fn receive_cancel(&mut self, essentials: &Essentials<'_>, echo: &Echo, request: &SipMessage<'_>) {
        let key = server_key(essentials, &Method::Cancel);
        let Some(id) = self.core.begin_server(key, echo.clone(), false) else { return };
        let invite = self.core.server_of(&server_key(essentials, &Method::Invite));
        let call = invite.and_then(|invite| self.core.server_mut(invite)).and_then(|entry| entry.call);
        let status = if invite.is_some() { 200 } else { 481 };
        let tag =
            call.and_then(|call| self.calls.local_tag(call)).unwrap_or_else(|| self.core.identifiers.tag());
        self.core.respond(id, &SipResponse::new(status), &tag, None, &[]);
        if let Some(handle) = call {
            self.calls.with(&mut self.core, handle, |call, core| match call.phase {
                CallPhase::Ringing(_) => call.cancelled_by_peer(core, request),
                _ => call.refuse_open_offer(core, 487),
            });
        }
    }

    fn receive_in_dialog(
        &mut self,
        id: u64,
        essentials: &Essentials<'_>,
        tag: &str,
        request: &SipMessage<'_>,
    ) {
        let handle = self.calls.of_dialog(essentials.call_id, tag);
        let remote_tag = essentials.from.tag().unwrap_or_default();
        let taken = handle.and_then(|handle| {
            if essentials.cseq.method == Method::Invite
                && let Some(entry) = self.core.server_mut(id)
            {
                entry.call = Some(handle);
            }
            self.calls.with(&mut self.core, handle, |call, core| {
                let is_its = call.is_dialog_of(&remote_tag);
                if is_its {
                    call.receive_request(core, id, request);
                }
                is_its
            })
        });
        if taken != Some(true) {
            self.core.respond(id, &SipResponse::new(481), "", None, &[]);
        }
    }

    /// INVITE outside of a dialog: a new call.
    fn receive_invite(
        &mut self,
        id: u64,
        flow: SipFlow,
        octets: &[u8],
        essentials: &Essentials<'_>,
        request: &SipMessage<'_>,
    ) {
        let local_tag = self.core.identifiers.tag();
        let refusal = invite_objection(&self.calls, &mut self.core, essentials, request);
        let dialog = Dialog::of_server(request, &local_tag);
        let (Ok(dialog), None) = (dialog, &refusal) else {
            let (response, fields) = refusal.unwrap_or((SipResponse::new(400), Vec::new()));
            self.core.respond(id, &response, &local_tag, None, &fields);
            return;
        };
        self.core.respond(id, &SipResponse::new(100), "", None, &[]);
        let handle = CallHandle(self.core.take_id());
        if let Some(entry) = self.core.server_mut(id) {
            entry.call = Some(handle);
        }
        let ringing = Ringing {
            transaction: id,
            request: octets.to_vec(),
            cseq: essentials.cseq.number,
            dialog,
            give_up_at: self.core.now + RING_MAX,
        };
        let invite = incoming(flow, octets, essentials, request);
        self.calls.insert(SipCall {
            handle,
            flow,
            call_id: essentials.call_id.to_owned(),
            local_tag,
            remote_tag: Some(essentials.from.tag().unwrap_or_default().into_owned()),
            authenticator: Authenticator::new(None),
            phase: CallPhase::Ringing(Box::new(ringing)),
        });
        // Its deadline begins.
        self.calls.with(&mut self.core, handle, |_, _| ());
        self.core.events.push_back(AgentEvent::IncomingCall { call: handle, invite: Box::new(invite) });
    }
}

/// The reason why a new call is refused before anybody hears of it.
fn invite_objection(
    calls: &Calls,
    core: &mut AgentCore,
    essentials: &Essentials<'_>,
    request: &SipMessage<'_>,
) -> Option<(SipResponse, Vec<(HeaderName, String)>)> {
    // Section 8.2.2.2: the same INVITE by another way.
    if calls.is_merged(essentials) {
        return Some((SipResponse::new(482), Vec::new()));
    }
    if calls.len() >= core.config.calls_max {
        core.counters.no_room += 1;
        let response =
            SipResponse { retry_after: Some(NO_ROOM_RETRY_AFTER_SECONDS), ..SipResponse::new(503) };
        return Some((response, Vec::new()));
    }
    let shortest = core.config.session_interval_min;
    if request.session_expires().is_some_and(|wanted| wanted.interval < shortest) {
        let fields = vec![(HeaderName::MinSe, shortest.as_secs().to_string())];
        return Some((SipResponse::new(422), fields));
    }
    None
}

fn incoming(
    flow: SipFlow,
    octets: &[u8],
    essentials: &Essentials<'_>,
    request: &SipMessage<'_>,
) -> IncomingInvite {
    let party = |address: &NameAddr<'_>| {
        address.to_party().unwrap_or_else(|_| PartyAddress::new(Uri::Other("unknown:unknown".to_owned())))
    };
    let identity =
        |value: &str| NameAddr::parse("P-Asserted-Identity", value).and_then(|one| one.to_party()).ok();
    let answers =
        request.values(HeaderName::Authorization).chain(request.values(HeaderName::ProxyAuthorization));
    IncomingInvite {
        flow,
        target: request.request_uri().unwrap_or_default().to_owned(),
        from: party(&essentials.from),
        to: party(&essentials.to),
        identities: request.list(HeaderName::PAssertedIdentity).filter_map(identity).collect(),
        call_id: essentials.call_id.to_owned(),
        answers: answers.filter_map(DigestAnswer::parse).collect(),
        body: SipBody::of(request),
        octets: octets.to_vec(),
    }
}

/// A server transaction's key (section 17.2.3): branch, sent-by and method; of a peer of RFC 2543, whose
/// branch is not unique, Call-ID, From tag, CSeq and the whole topmost Via.
fn server_key(essentials: &Essentials<'_>, method: &Method) -> String {
    let via = &essentials.via;
    let branch = via.branch().unwrap_or_default();
    if via.has_unique_branch() {
        return format!("{branch} {} {method}", via.sent_by.to_string().to_ascii_lowercase());
    }
    let tag = essentials.from.tag().unwrap_or_default();
    let (call_id, number) = (essentials.call_id, essentials.cseq.number);
    format!("2543 {call_id} {tag} {number} {} {branch} {method}", via.sent_by)
}

fn registration_answered(
    agent: &mut UserAgent,
    handle: RegistrationHandle,
    transaction: u64,
    response: Result<&SipMessage<'_>, RefusedBy>,
) {
    let Some(one) = agent.registrations.get_mut(&handle) else { return };
    one.receive(&mut agent.core, transaction, response);
    if one.is_over {
        agent.registrations.remove(&handle);
    }
}

fn options_answered(
    agent: &mut UserAgent,
    handle: OptionsHandle,
    response: Result<&SipMessage<'_>, RefusedBy>,
) {
    let Some(question) = agent.questions.get_mut(&handle) else { return };
    if question.receive(&mut agent.core, response) {
        agent.questions.remove(&handle);
    }
}
