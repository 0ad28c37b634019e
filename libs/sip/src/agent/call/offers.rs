//! Offers inside a call: re-INVITE and UPDATE both ways, glare (491), refreshes of the session timer.

use super::incoming::dialog_fields;
use super::{CallPhase, SessionTimer, SipCall, Talking};
use crate::agent::config::{InviteRefusal, SipResponse};
use crate::agent::core::{AgentCore, ClientOwner};
use crate::agent::drafts::{ALLOW, SUPPORTED};
use crate::agent::event::{CallEvent, EndedBy};
use crate::limits::GLARE_TRIES_MAX;
use crate::message::{HeaderName, Method, Refresher, SessionExpires, SipBody, SipMessage};
use std::time::{Duration, Instant};

/// The pause before an offer of ours is tried again that another exchange was in the way of.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// An offer of ours: for the caller, or to refresh the session.
#[derive(Debug, Clone)]
pub(super) struct OurOffer {
    body: Option<SipBody>,
    method: Method,
    is_refresh: bool,
    glares: u8,
}

/// The exchange of offer and answer that is under way: one at a time.
#[derive(Debug)]
pub(super) enum Exchange {
    Idle,
    Ours {
        transaction: u64,
        offer: OurOffer,
    },
    Theirs {
        server: u64,
        number: u32,
        method: Method,
        has_offer: bool,
        timer: Option<SessionTimer>,
        fields: Vec<(HeaderName, String)>,
    },
}

/// An offer of ours that was refused by 491, and when it is sent again.
#[derive(Debug)]
pub(super) struct WaitingOffer {
    pub at: Instant,
    offer: OurOffer,
}

/// The pause before a re-INVITE is repeated after 491 (RFC 3261 section 14.1): 2.1 to 4 s if Call-ID is
/// ours, else 0 to 2 s, in steps of 10 ms.
fn glare_pause(core: &mut AgentCore, is_caller: bool) -> Duration {
    let steps = match is_caller {
        true => 210 + core.identifiers.below(191),
        false => core.identifiers.below(201),
    };
    Duration::from_millis(steps * 10)
}

impl SipCall {
    /// re-INVITE of the caller.
    pub(in crate::agent) fn offer(
        &mut self,
        core: &mut AgentCore,
        body: Option<SipBody>,
    ) -> Result<(), InviteRefusal> {
        let talking = self.talking()?;
        if talking.is_ending() || talking.invite.is_some() {
            return Err(InviteRefusal::WrongState);
        }
        if !talking.is_idle() || talking.waiting.is_some() {
            return Err(InviteRefusal::OfferPending);
        }
        let offer = OurOffer { body, method: Method::Invite, is_refresh: false, glares: 0 };
        self.authenticator.begin_request();
        self.send_offer(core, offer)
    }

    fn send_offer(&mut self, core: &mut AgentCore, offer: OurOffer) -> Result<(), InviteRefusal> {
        let cnonce = core.identifiers.nonce();
        let owner = ClientOwner::InDialog(self.handle);
        let CallPhase::Talking(talking) = &mut self.phase else { return Err(InviteRefusal::WrongState) };
        let flow = talking.next_flow(core);
        let number = talking.dialog.next_cseq();
        let mut draft = talking.draft(offer.method.clone(), number);
        draft.contact = Some(core.contact(flow, None));
        draft.fields.push((HeaderName::Allow, ALLOW.to_owned()));
        draft.fields.push((HeaderName::Supported, SUPPORTED.to_owned()));
        if let Some(timer) = talking.timer {
            let refresher = if timer.we_refresh { Refresher::Uac } else { Refresher::Uas };
            let value = SessionExpires { interval: timer.interval, refresher: Some(refresher) };
            draft.fields.push((HeaderName::SessionExpires, value.to_string()));
        }
        draft.body.clone_from(&offer.body);
        draft.authorize(&mut self.authenticator, &cnonce);
        talking.exchange = Exchange::Idle;
        let transaction = core.request(&draft, flow, owner)?;
        talking.exchange = Exchange::Ours { transaction, offer };
        Ok(())
    }

    fn send_offer_or_tell(&mut self, core: &mut AgentCore, offer: OurOffer) {
        let is_refresh = offer.is_refresh;
        if self.send_offer(core, offer).is_err() && !is_refresh {
            core.tell(self.handle, CallEvent::OfferRefused { status: 503 });
        }
    }

    pub(super) fn receive_offer_response(
        &mut self,
        core: &mut AgentCore,
        transaction: u64,
        status: u16,
        response: Option<&SipMessage<'_>>,
    ) {
        let handle = self.handle;
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        let Exchange::Ours { transaction: ours, offer } = &talking.exchange else { return };
        if *ours != transaction || status < 200 {
            return;
        }
        let offer = offer.clone();
        talking.exchange = Exchange::Idle;
        match (status, response) {
            (200..=299, Some(response)) => self.offer_accepted(core, transaction, offer, response),
            (401 | 407, Some(response)) if self.authenticator.take_challenges(response) => {
                self.send_offer_or_tell(core, offer);
            }
            (491, _) if offer.glares < GLARE_TRIES_MAX => {
                let pause = glare_pause(core, talking.is_caller);
                let offer = OurOffer { glares: offer.glares + 1, ..offer };
                talking.waiting = Some(WaitingOffer { at: core.now + pause, offer });
            }
            // The peer names UPDATE in Allow and does not know it: the refresh goes by re-INVITE.
            (405 | 501, _) if offer.method == Method::Update => {
                talking.peer_updates = false;
                let body = talking.local_body.clone();
                self.send_offer_or_tell(core, OurOffer { method: Method::Invite, body, ..offer });
            }
            // Section 12.2.1.2: the dialog is gone.
            (408 | 481, _) => {
                if !offer.is_refresh {
                    core.tell(handle, CallEvent::OfferRefused { status });
                }
                self.begin_end(core, EndedBy::Gone, Vec::new());
            }
            _ if offer.is_refresh => {
                talking.timer = talking.timer.filter(|timer| timer.is_agreed);
            }
            _ => core.tell(handle, CallEvent::OfferRefused { status }),
        }
    }

    fn offer_accepted(
        &mut self,
        core: &mut AgentCore,
        transaction: u64,
        offer: OurOffer,
        response: &SipMessage<'_>,
    ) {
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        talking.dialog.refresh_target(response);
        let asked = talking.timer.map(|timer| timer.interval);
        talking.timer = SessionTimer::of_client(response, asked, core.now);
        if offer.method == Method::Invite {
            talking.invite = Some(transaction);
        }
        let has_offer = offer.body.is_some();
        if has_offer {
            talking.local_body = offer.body;
        }
        // Without an offer of ours the peer made one: the caller answers it in ACK.
        if has_offer || offer.is_refresh {
            self.acknowledge(core, None);
        }
        if !offer.is_refresh {
            core.tell(self.handle, CallEvent::OfferAnswered { body: SipBody::of(response) });
        }
    }

    /// INVITE or UPDATE of the peer.
    pub(super) fn receive_offer(&mut self, core: &mut AgentCore, server: u64, request: &SipMessage<'_>) {
        let tag = self.local_tag.clone();
        let handle = self.handle;
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        let method = request.method().cloned().unwrap_or(Method::Invite);
        let body = SipBody::of(request);
        let shortest = core.config.session_interval_min;
        if request.session_expires().is_some_and(|wanted| wanted.interval < shortest) {
            let min = [(HeaderName::MinSe, shortest.as_secs().to_string())];
            core.respond(server, &SipResponse::new(422), &tag, None, &min);
            return;
        }
        let is_plain_refresh = method == Method::Update && body.is_none();
        if !is_plain_refresh && let Some(response) = talking.conflict(core) {
            core.respond(server, &response, &tag, None, &[]);
            return;
        }
        talking.dialog.refresh_target(request);
        let (timer, session) = SessionTimer::of_server(request, core.config.session_interval, core.now);
        let mut fields = dialog_fields();
        fields.extend(session);
        if is_plain_refresh {
            let contact = core.contact(self.flow, None);
            core.respond(server, &SipResponse::new(200), &tag, Some(&contact), &fields);
            talking.timer = timer;
            return;
        }
        if method == Method::Invite {
            core.respond(server, &SipResponse::new(100), &tag, None, &[]);
        }
        let number = request.essentials().map_or(0, |essentials| essentials.cseq.number);
        let has_offer = body.is_some();
        talking.exchange = Exchange::Theirs { server, number, method, has_offer, timer, fields };
        core.tell(handle, CallEvent::Offered { body });
    }

    /// The caller's answer to the peer's offer.
    pub(in crate::agent) fn accept_offer(
        &mut self,
        core: &mut AgentCore,
        body: Option<SipBody>,
    ) -> Result<(), InviteRefusal> {
        let tag = self.local_tag.clone();
        let contact = core.contact(self.flow, None);
        let talking = self.talking()?;
        let Exchange::Theirs { server, number, method, has_offer, timer, fields } = &talking.exchange else {
            return Err(InviteRefusal::WrongState);
        };
        let (server, number, timer) = (*server, *number, *timer);
        let wants_answer = !has_offer && body.is_some();
        let is_invite = *method == Method::Invite;
        let response = SipResponse::new(200).with_body(body.clone());
        let sent = core.respond(server, &response, &tag, Some(&contact), fields);
        talking.exchange = Exchange::Idle;
        talking.timer = timer;
        if body.is_some() {
            talking.local_body = body;
        }
        if is_invite {
            talking.await_ack(sent, number, wants_answer, core);
        }
        Ok(())
    }

    /// The caller's refusal of the peer's offer: the session stays as it was.
    pub(in crate::agent) fn reject_offer(
        &mut self,
        core: &mut AgentCore,
        status: u16,
    ) -> Result<(), InviteRefusal> {
        if !(300..700).contains(&status) || !matches!(self.talking()?.exchange, Exchange::Theirs { .. }) {
            return Err(InviteRefusal::WrongState);
        }
        self.refuse_open_offer(core, status);
        Ok(())
    }

    /// CANCEL of the peer's re-INVITE, or the end of the call.
    pub(in crate::agent) fn refuse_open_offer(&mut self, core: &mut AgentCore, status: u16) {
        let tag = self.local_tag.clone();
        let Ok(talking) = self.talking() else { return };
        if let Exchange::Theirs { server, .. } = talking.exchange {
            talking.exchange = Exchange::Idle;
            core.respond(server, &SipResponse::new(status), &tag, None, &[]);
        }
    }

    /// A re-INVITE after 491, or the refresh of the session.
    pub(super) fn retry_or_refresh(&mut self, core: &mut AgentCore) {
        let now = core.now;
        let CallPhase::Talking(talking) = &mut self.phase else { return };
        let is_idle = talking.is_idle();
        if let Some(waiting) = &mut talking.waiting {
            if waiting.at <= now && !is_idle {
                waiting.at = now + BUSY_PAUSE;
            } else if waiting.at <= now
                && let Some(WaitingOffer { offer, .. }) = talking.waiting.take()
            {
                self.authenticator.begin_request();
                self.send_offer_or_tell(core, offer);
                return;
            }
        }
        let is_idle = is_idle && talking.waiting.is_none();
        let Some(timer) = &mut talking.timer else { return };
        if timer.refresh_at.is_none_or(|at| at > now) {
            return;
        }
        if !is_idle {
            timer.refresh_at = Some(now + BUSY_PAUSE);
            return;
        }
        timer.refresh_at = None;
        let (method, body) = match talking.peer_updates {
            true => (Method::Update, None),
            false => (Method::Invite, talking.local_body.clone()),
        };
        self.authenticator.begin_request();
        self.send_offer_or_tell(core, OurOffer { body, method, is_refresh: true, glares: 0 });
    }
}

impl Talking {
    /// No offer of either side is under way, and every ACK is there.
    fn is_idle(&self) -> bool {
        matches!(self.exchange, Exchange::Idle) && self.invite.is_none() && !self.waits_for_ack()
    }

    /// The call is over: a re-INVITE of ours that has a provisional response would wait for ever.
    pub(super) fn forget_offer(&self, core: &mut AgentCore) {
        if let Exchange::Ours { transaction, .. } = self.exchange {
            core.forget_client(transaction);
        }
    }

    /// The refusal of an offer that crosses another (RFC 3261 section 14.2, RFC 3311 section 5.2).
    fn conflict(&self, core: &mut AgentCore) -> Option<SipResponse> {
        if self.waits_for_ack() || matches!(self.exchange, Exchange::Theirs { .. }) {
            let retry_after = u32::try_from(core.identifiers.below(11)).ok();
            return Some(SipResponse { retry_after, ..SipResponse::new(500) });
        }
        let is_ours = matches!(self.exchange, Exchange::Ours { .. }) || self.invite.is_some();
        (is_ours || self.is_ending()).then(|| SipResponse::new(491))
    }
}
