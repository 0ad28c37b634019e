//! Calls by handle, by dialog, and by the INVITE that began them.

use super::call::{CallPhase, SipCall};
use super::core::{AgentCore, Timer};
use super::event::CallHandle;
use crate::message::Essentials;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: HashMap<CallHandle, SipCall>,
    /// Call-ID and our tag.
    by_dialog: HashMap<(String, String), CallHandle>,
    /// Call-ID and the peer's tag of calls that come in.
    by_remote: HashMap<(String, String), CallHandle>,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn insert(&mut self, call: SipCall) {
        self.by_dialog.insert((call.call_id.clone(), call.local_tag.clone()), call.handle);
        if let Some(tag) = &call.remote_tag {
            self.by_remote.insert((call.call_id.clone(), tag.clone()), call.handle);
        }
        self.calls.insert(call.handle, call);
    }

    /// Whether the INVITE is one that a call began with, and came another way.
    pub(super) fn is_merged(&self, essentials: &Essentials<'_>) -> bool {
        let call = self.by_remote.get(&remote_key(essentials)).and_then(|handle| self.calls.get(handle));
        call.is_some_and(|call| match &call.phase {
            CallPhase::Ringing(ringing) => ringing.cseq == essentials.cseq.number,
            CallPhase::Talking(_) => true,
            _ => false,
        })
    }

    pub(super) fn of_dialog(&self, call_id: &str, local_tag: &str) -> Option<CallHandle> {
        self.by_dialog.get(&(call_id.to_owned(), local_tag.to_owned())).copied()
    }

    pub(super) fn call_id(&self, handle: CallHandle) -> Option<&str> {
        self.calls.get(&handle).map(|call| call.call_id.as_str())
    }

    pub(super) fn local_tag(&self, handle: CallHandle) -> Option<String> {
        self.calls.get(&handle).map(|call| call.local_tag.clone())
    }

    /// Lets something happen to a call, sets its deadline, and forgets it when it is over.
    pub(super) fn with<T>(
        &mut self,
        core: &mut AgentCore,
        handle: CallHandle,
        happens: impl FnOnce(&mut SipCall, &mut AgentCore) -> T,
    ) -> Option<T> {
        let call = self.calls.get_mut(&handle)?;
        let outcome = happens(call, core);
        call.settle(core);
        if call.phase.is_over() {
            core.deadlines.set(Timer::Call(handle), None);
            self.forget(handle);
        }
        Some(outcome)
    }

    fn forget(&mut self, handle: CallHandle) {
        let Some(call) = self.calls.remove(&handle) else { return };
        self.by_dialog.remove(&(call.call_id.clone(), call.local_tag));
        if let Some(tag) = call.remote_tag {
            let key = (call.call_id, tag);
            // A later call of the same peer may have taken the place.
            if self.by_remote.get(&key) == Some(&handle) {
                self.by_remote.remove(&key);
            }
        }
    }
}

fn remote_key(essentials: &Essentials<'_>) -> (String, String) {
    let tag = essentials.from.tag().unwrap_or_default();
    (essentials.call_id.to_owned(), tag.into_owned())
}
