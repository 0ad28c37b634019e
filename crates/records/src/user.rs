use serde::{Deserialize, Serialize};

/// What somebody who signs in may do; one may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserRole {
    /// Looks, changes nothing.
    Viewer,
    /// Writes alerts, templates and areas; sends nothing.
    Author,
    /// Sends and stops.
    Operator,
    /// Approves what another wrote.
    Approver,
    /// Changes people and groups.
    Directory,
    /// Looks after money.
    Accounts,
    /// Users, tokens, the system.
    Administrator,
}

impl UserRole {
    /// All, from the least to the most.
    pub const ALL: [UserRole; 7] = [
        UserRole::Viewer,
        UserRole::Author,
        UserRole::Operator,
        UserRole::Approver,
        UserRole::Directory,
        UserRole::Accounts,
        UserRole::Administrator,
    ];

    /// The role's name.
    pub fn name(self) -> &'static str {
        match self {
            UserRole::Viewer => "viewer",
            UserRole::Author => "author",
            UserRole::Operator => "operator",
            UserRole::Approver => "approver",
            UserRole::Directory => "directory",
            UserRole::Accounts => "accounts",
            UserRole::Administrator => "administrator",
        }
    }
}

impl std::str::FromStr for UserRole {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        UserRole::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| {
            let names = UserRole::ALL.map(UserRole::name).join(", ");
            format!("role {text:?} is unknown; roles of users are {names}")
        })
    }
}
