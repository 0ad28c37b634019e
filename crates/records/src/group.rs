use serde::{Deserialize, Serialize};

/// A named audience: people named one by one, other groups, and everyone a rule fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Group {
    /// As in `group:staff`.
    pub id: String,
    /// For people.
    #[serde(default)]
    pub name: String,
    /// Recipient ids.
    #[serde(default)]
    pub members: Vec<String>,
    /// Group ids, nested at most 16 deep.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Everyone this fits belongs to it.
    #[serde(default)]
    pub rule: Option<Rule>,
    /// Whether people may join it by themselves.
    #[serde(default)]
    pub join: JoinRule,
}

/// Whether people may join a group from their devices or their own page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum JoinRule {
    /// They may.
    Open,
    /// They may ask to; an operator decides.
    Approval,
    /// They may not.
    #[default]
    Closed,
}

impl JoinRule {
    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            JoinRule::Open => "open",
            JoinRule::Approval => "approval",
            JoinRule::Closed => "closed",
        }
    }
}

/// A condition on a recipient's attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Every one of these fits.
    All(Vec<Rule>),
    /// At least one of these fits.
    Any(Vec<Rule>),
    /// This does not fit.
    Not(Box<Rule>),
    /// A test of one attribute. `language`, `time_zone`, `id` and `name` can be tested like attributes.
    #[serde(untagged)]
    Test {
        /// The attribute's name.
        attribute: String,
        /// What must hold of it.
        #[serde(flatten)]
        test: Test,
    },
}

/// What must hold of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Is exactly this.
    Is(String),
    /// Is one of these.
    In(Vec<String>),
    /// Begins with this.
    StartsWith(String),
    /// Is there at all (or, if false, is not).
    Exists(bool),
    /// As a number, is at least this.
    AtLeast(i64),
    /// As a number, is at most this.
    AtMost(i64),
}
