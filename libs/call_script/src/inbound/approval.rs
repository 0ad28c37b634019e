//! Call to an approver: the alert of an author who called is heard in whole, and approved or rejected.

use crate::script::{CallChoice, CallPin, CallScript, MachinePolicy, ScriptReport};
use crate::{PhoneKey, Prompt};
use std::time::Duration;

/// Key that approves.
pub const APPROVE_KEY: char = '1';
/// Key that rejects.
pub const REJECT_KEY: char = '2';

const APPROVED: &str = "approved";
const REJECTED: &str = "rejected";
const BETWEEN_ROUNDS: Duration = Duration::from_secs(2);

/// Prompts of a call to an approver.
#[derive(Debug, Clone)]
pub struct ApprovalCall {
    /// "This is ORG."
    pub greeting: Prompt,
    /// "This is a drill."
    pub drill: Option<Prompt>,
    /// "NAME asks to send this to 1,240 people:", and the sentences of the text.
    pub text: Vec<Prompt>,
    /// "Press 1 to approve, 2 to reject; star to hear it again."
    pub menu: Prompt,
    /// "That key is none of the choices."
    pub wrong_key: Prompt,
    /// "You pressed 1: approved. Thank you."
    pub approved: Prompt,
    /// "You pressed 2: rejected. Thank you."
    pub rejected: Prompt,
    /// The approver's own PIN: whoever holds the telephone is not yet an approver.
    pub pin: CallPin,
    /// Bound of the call.
    pub longest: Duration,
}

/// Decision of an approver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallDecision {
    /// The alert may be sent.
    Approved,
    /// It may not.
    Rejected,
}

impl ApprovalCall {
    /// The script: a decision counts only behind the PIN and the whole text. A machine gets no message.
    pub fn script(self) -> CallScript {
        let choice = |character, label: &str, thanks| {
            PhoneKey::new(character).map(|key| CallChoice { key, label: label.to_owned(), thanks })
        };
        let choices =
            [choice(APPROVE_KEY, APPROVED, self.approved), choice(REJECT_KEY, REJECTED, self.rejected)];
        CallScript {
            greeting: self.greeting,
            drill: self.drill,
            text: self.text,
            callback_number: None,
            choices: choices.into_iter().flatten().collect(),
            answer_behind_text: true,
            menu: self.menu,
            wrong_key: self.wrong_key,
            do_not_call: None,
            pin: Some(self.pin),
            machine: MachinePolicy::Ignore,
            times: 2,
            between: BETWEEN_ROUNDS,
            longest: self.longest,
        }
    }
}

impl CallDecision {
    /// The decision of a call; `None`: there is none, and silence approves nothing.
    pub fn of_report(report: &ScriptReport) -> Option<CallDecision> {
        match report {
            ScriptReport::Answer { key, .. } if key.as_char() == APPROVE_KEY => Some(CallDecision::Approved),
            ScriptReport::Answer { key, .. } if key.as_char() == REJECT_KEY => Some(CallDecision::Rejected),
            _ => None,
        }
    }
}
