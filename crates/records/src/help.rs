use crate::{AlertId, AlertRequest, EndpointNo, Mode};
use serde::{Deserialize, Serialize};

/// Somebody answered so that a person should look: which delivery it was. What they said stands there, so
/// that it is erased there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelpCase {
    /// The alert.
    pub alert: AlertId,
    /// The delivery.
    pub endpoint: EndpointNo,
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
            Some(key) => request.needs_help.iter().any(|one| one == key).then_some(HelpReason::NeedsHelp),
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
