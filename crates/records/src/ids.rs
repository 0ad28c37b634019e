use serde::{Deserialize, Serialize};

/// An alert as the inside knows it: dense, given out once, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct AlertNo(pub u64);

/// An alert as the outside knows it: uuid v7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AlertId(pub uuid::Uuid);

/// An endpoint's place in its alert's roster, from 0. `(AlertNo, EndpointNo)` is a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct EndpointNo(pub u32);

impl std::fmt::Display for AlertNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl std::fmt::Display for AlertId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.as_hyphenated())
    }
}
impl std::str::FromStr for AlertId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(AlertId).map_err(|_| format!("{text:?} is not an alert id (a uuid)"))
    }
}
