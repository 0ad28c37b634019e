//! A user who signed in, as a request's caller.

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use records::{Mode, UserRole};
use serde::{Deserialize, Serialize};

/// What a user's id looks like where a token's id would stand: as author of an alert, and in the audit trail.
pub(crate) const USER_PREFIX: &str = "user:";

/// A user who signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedInUser {
    /// The document's id.
    pub id: String,
    /// What they sign in with.
    pub name: String,
    /// What people call them.
    pub full_name: String,
    /// Who they are: two users of one person count as one (a recipient's id, or the user's own id).
    pub person: String,
    /// What they may do.
    pub roles: Vec<UserRole>,
    /// Where they may do it.
    pub scope: UserScope,
    /// The space of this request, which its `X-Campanile-Space` named.
    pub space: Mode,
    /// SHA-256 of the session's cookie.
    pub session: [u8; 32],
    /// They gave their password again within the last ten minutes.
    pub is_confirmed: bool,
}

/// What a user is limited to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct UserScope {
    /// Audiences within these groups alone; nothing: any.
    pub groups: Option<Vec<String>>,
    /// Audiences within these areas alone; nothing: any.
    pub areas: Option<Vec<String>>,
    /// Spaces.
    pub spaces: Vec<Mode>,
}

impl SignedInUser {
    /// Whether they have one of these roles.
    pub(crate) fn has(&self, roles: &[UserRole]) -> bool {
        self.roles.iter().any(|role| roles.contains(role))
    }

    /// Whether a request from their space may concern an alert of this mode.
    pub(crate) fn check_space(&self, mode: Mode) -> HttpResult<()> {
        if self.space == mode {
            return Ok(());
        }
        let (space, other) = (space_name(self.space), space_name(mode));
        let detail = format!(
            "the alert is of the {other} space, and this page of the {space} space; open it in the {other} space"
        );
        Err(HttpProblem::new(ProblemKind::WrongSpace, detail))
    }
}

/// A space, as `X-Campanile-Space` and a user's scope name it.
pub(crate) fn space_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "live",
        Mode::Drill => "drill",
    }
}
