use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// Who pays and whose data it is. Every row has its account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The account's name; the one of a fresh installation is [`Account::DEFAULT`].
    pub id: String,
    /// When it was opened.
    pub created: Timestamp,
}

impl Account {
    /// The account of the first admin token.
    pub const DEFAULT: &'static str = "default";
}

/// What a token may do. Each role may what the ones after it may, except `Submit`, which may only
/// submit alerts and see its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything, tokens and accounts included.
    Admin,
    /// Recipients, groups, alerts.
    Operator,
    /// Looks, changes nothing.
    Viewer,
    /// Submits alerts and reads the reports of what it submitted.
    Submit,
}

impl Role {
    /// The role's name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Operator => "operator",
            Role::Viewer => "viewer",
            Role::Submit => "submit",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "admin" => Role::Admin,
            "operator" => Role::Operator,
            "viewer" => Role::Viewer,
            "submit" => Role::Submit,
            other => {
                return Err(format!("role {other:?} is unknown; roles are admin, operator, viewer, submit"));
            }
        })
    }
}

/// A bearer token, as stored: only its SHA-256 is kept (the token has 256 random bits, so a slow hash buys
/// nothing).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// A short public id, to name it in lists and in the audit trail.
    pub id: String,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// What it may do.
    pub role: Role,
    /// Whose it is.
    pub account: String,
    /// What its owner calls it.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it was withdrawn.
    pub revoked: Option<Timestamp>,
}
