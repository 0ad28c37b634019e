//! A call of a peer until it is answered or refused.

use super::{CallPhase, SessionTimer, SipCall, Talking};
use crate::agent::config::{InviteRefusal, SipResponse};
use crate::agent::core::AgentCore;
use crate::agent::drafts::{ALLOW, SUPPORTED};
use crate::agent::event::{RefusedBy, SipRefusal};
use crate::dialog::Dialog;
use crate::message::{HeaderName, SipMessage};
use std::time::Instant;

/// INVITE came and is not answered.
#[derive(Debug)]
pub(in crate::agent) struct Ringing {
    /// Its server transaction.
    pub transaction: u64,
    /// The INVITE.
    pub request: Vec<u8>,
    /// CSeq number, and the peer's tag: another INVITE with them came another way (482).
    pub cseq: u32,
    /// The dialog that a 2xx makes.
    pub dialog: Dialog,
    /// Nobody answered it.
    pub give_up_at: Instant,
}

impl SipCall {
    /// 101 to 199.
    pub(in crate::agent) fn ring(
        &mut self,
        core: &mut AgentCore,
        response: &SipResponse,
    ) -> Result<(), InviteRefusal> {
        let CallPhase::Ringing(ringing) = &self.phase else { return Err(InviteRefusal::WrongState) };
        if !(101..200).contains(&response.status) {
            return Err(InviteRefusal::WrongState);
        }
        let contact = core.contact(self.flow, None);
        core.respond(ringing.transaction, response, &self.local_tag, Some(&contact), &[]);
        Ok(())
    }

    /// 2xx: the call is answered.
    pub(in crate::agent) fn answer(
        &mut self,
        core: &mut AgentCore,
        response: SipResponse,
    ) -> Result<(), InviteRefusal> {
        let CallPhase::Ringing(ringing) = &self.phase else { return Err(InviteRefusal::WrongState) };
        if !(200..300).contains(&response.status) {
            return Err(InviteRefusal::WrongState);
        }
        let Ok(request) = SipMessage::parse(&ringing.request) else { return Err(InviteRefusal::WrongState) };
        let (timer, session) = SessionTimer::of_server(&request, core.config.session_interval, core.now);
        let mut fields = dialog_fields();
        fields.extend(session);
        let contact = core.contact(self.flow, None);
        let sent = core.respond(ringing.transaction, &response, &self.local_tag, Some(&contact), &fields);
        let mut talking =
            Talking::new(ringing.dialog.clone(), self.flow, false, response.body.clone(), timer);
        talking.note_allow(&request);
        let wants_answer = request.body().is_empty() && response.body.is_some();
        talking.await_ack(sent, ringing.cseq, wants_answer, core);
        self.phase = CallPhase::Talking(Box::new(talking));
        Ok(())
    }

    /// 300 to 699: the call is over.
    pub(in crate::agent) fn reject(
        &mut self,
        core: &mut AgentCore,
        response: &SipResponse,
    ) -> Result<(), InviteRefusal> {
        let CallPhase::Ringing(ringing) = &self.phase else { return Err(InviteRefusal::WrongState) };
        if !(300..700).contains(&response.status) {
            return Err(InviteRefusal::WrongState);
        }
        core.respond(ringing.transaction, response, &self.local_tag, None, &[]);
        self.refuse(core, SipRefusal::local(RefusedBy::Ourselves, response.status));
        Ok(())
    }

    /// Nobody answered for as long as any call may ring.
    pub(super) fn ringing_timeout(&mut self, core: &mut AgentCore) {
        let CallPhase::Ringing(ringing) = &self.phase else { return };
        if ringing.give_up_at <= core.now {
            core.respond(ringing.transaction, &SipResponse::new(480), &self.local_tag, None, &[]);
            self.refuse(core, SipRefusal::local(RefusedBy::Silence, 480));
        }
    }

    /// The peer's CANCEL: INVITE gets 487.
    pub(in crate::agent) fn cancelled_by_peer(&mut self, core: &mut AgentCore, cancel: &SipMessage<'_>) {
        let CallPhase::Ringing(ringing) = &self.phase else { return };
        core.respond(ringing.transaction, &SipResponse::new(487), &self.local_tag, None, &[]);
        let mut refusal = SipRefusal::local(RefusedBy::Peer, 487);
        refusal.reasons = cancel.reasons().collect();
        self.refuse(core, refusal);
    }
}

/// Header fields of a 2xx that makes a dialog.
pub(super) fn dialog_fields() -> Vec<(HeaderName, String)> {
    vec![(HeaderName::Allow, ALLOW.to_owned()), (HeaderName::Supported, SUPPORTED.to_owned())]
}
