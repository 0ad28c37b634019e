use crate::{AlertId, AlertRequest, EndpointNo, Mode, Timestamp};
use serde::{Deserialize, Serialize};

/// Somebody answered so that a person should look: which delivery it was. What they said stands there, so
/// that it is erased there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelpCase {
    /// The alert.
    pub alert: AlertId,
    /// The delivery.
    pub endpoint: EndpointNo,
    /// Who looks after it; the last of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<HelpNote>,
    /// What was noted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<HelpNote>,
    /// Who said that it is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<HelpNote>,
}

/// What somebody did about a help case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelpNote {
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// In their words; empty where they said nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl HelpCase {
    /// Notes of one case at most.
    pub const NOTES_MAX: usize = 100;

    /// One that nobody has looked at.
    pub fn new(alert: AlertId, endpoint: EndpointNo) -> HelpCase {
        HelpCase { alert, endpoint, taken: None, notes: Vec::new(), resolved: None }
    }

    /// They called again at `at`: what was settled before is open again, and stays among the notes. False if
    /// it is open already.
    pub fn reopen(&mut self, at: Timestamp) -> bool {
        match self.resolved.take_if(|resolved| resolved.at < at) {
            Some(resolved) => {
                self.notes.truncate(HelpCase::NOTES_MAX - 1);
                self.notes.push(resolved);
                true
            }
            None => false,
        }
    }

    /// Takes out what people wrote about somebody who is to be forgotten.
    pub fn forget_words(&mut self) {
        let notes = self.notes.iter_mut().chain(&mut self.taken).chain(&mut self.resolved);
        notes.for_each(|note| note.text.clear());
    }
}

/// Why a person should look at an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpReason {
    /// The choice calls for help.
    NeedsHelp,
    /// It is no choice, and the alert a drill: what people say in their own words may be real.
    Words,
}

impl HelpReason {
    /// Of an answer with the key of a choice, or with none; nothing: nobody need look.
    pub fn of(request: &AlertRequest, key: Option<&str>) -> Option<HelpReason> {
        match key {
            Some(key) => {
                request.answer_rules.needs_help.iter().any(|one| one == key).then_some(HelpReason::NeedsHelp)
            }
            None => (request.mode == Mode::Drill).then_some(HelpReason::Words),
        }
    }

    /// The reason's name in the API.
    pub fn name(self) -> &'static str {
        match self {
            HelpReason::NeedsHelp => "needs_help",
            HelpReason::Words => "words",
        }
    }
}
