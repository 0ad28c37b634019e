//! One call: its phases, and the orders and messages that move it from one to the next.

mod incoming;
mod offers;
mod outgoing;
mod session_timer;
mod talking;

pub(super) use incoming::Ringing;
pub(super) use outgoing::Calling;
pub(super) use session_timer::SessionTimer;
pub(super) use talking::Talking;

use super::config::OutgoingCall;
use super::core::{AgentCore, Timer};
use super::event::{CallEvent, CallHandle, EndedBy, SipRefusal};
use super::flow::SipFlow;
use crate::digest::Authenticator;
use crate::message::ReasonValue;
use std::time::Instant;

/// Where a call stands.
#[derive(Debug)]
pub(super) enum CallPhase {
    /// Ours: written down by the caller perhaps, not sent.
    Prepared(Box<OutgoingCall>),
    /// Ours: INVITE is sent.
    Calling(Box<Calling>),
    /// The peer's: not answered.
    Ringing(Box<Ringing>),
    /// Answered.
    Talking(Box<Talking>),
    /// Nothing more happens.
    Over,
}

#[derive(Debug)]
pub(super) struct SipCall {
    pub handle: CallHandle,
    pub flow: SipFlow,
    pub call_id: String,
    pub local_tag: String,
    /// The peer's tag of a call that comes in.
    pub remote_tag: Option<String>,
    pub authenticator: Authenticator,
    pub phase: CallPhase,
}

impl CallPhase {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, CallPhase::Over)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            CallPhase::Calling(calling) => calling.poll_timeout(),
            CallPhase::Talking(talking) => talking.poll_timeout(),
            CallPhase::Ringing(ringing) => Some(ringing.give_up_at),
            CallPhase::Prepared(_) | CallPhase::Over => None,
        }
    }
}

impl SipCall {
    /// Whether a request with this tag in From is the peer's of this call.
    pub(super) fn is_dialog_of(&self, remote_tag: &str) -> bool {
        match &self.phase {
            CallPhase::Talking(talking) => talking.dialog.remote_tag() == remote_tag,
            _ => self.remote_tag.as_deref() == Some(remote_tag),
        }
    }

    /// The call is over without an answer.
    fn refuse(&mut self, core: &mut AgentCore, refusal: SipRefusal) {
        self.phase = CallPhase::Over;
        core.tell(self.handle, CallEvent::Refused(refusal));
    }

    /// The call is over after an answer.
    fn end(&mut self, core: &mut AgentCore, by: EndedBy, reasons: Vec<ReasonValue>) {
        self.refuse_open_offer(core, 487);
        if let CallPhase::Talking(talking) = std::mem::replace(&mut self.phase, CallPhase::Over) {
            talking.forget_offer(core);
        }
        core.tell(self.handle, CallEvent::Ended { by, reasons });
    }

    /// Sets the deadline of the phase it is in.
    pub(super) fn settle(&self, core: &mut AgentCore) {
        core.deadlines.set(Timer::Call(self.handle), self.phase.poll_timeout());
    }

    pub(super) fn handle_timeout(&mut self, core: &mut AgentCore) {
        match &self.phase {
            CallPhase::Calling(_) => self.calling_timeout(core),
            CallPhase::Talking(_) => self.talking_timeout(core),
            CallPhase::Ringing(_) => self.ringing_timeout(core),
            CallPhase::Prepared(_) | CallPhase::Over => {}
        }
    }
}
