use crate::DecodeError;
use serde::{Deserialize, Serialize};

/// What one of several processes asks of the rates of its routes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateAsks {
    /// One for each of some routes.
    pub asks: Vec<RateAsk>,
}

/// What it asks of one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateAsk {
    /// The process, by a name that is another each time it opens the route.
    pub node: String,
    /// The route.
    pub route: String,
    /// Rises with each ask under this name.
    pub number: u64,
    /// The whole route's rate as it knows it, messages per second; 0 is unlimited.
    pub rate: f64,
    /// What for: 0 it could not send now, 1 it could and has nothing to send, 2 it has something to send.
    pub need: u8,
    /// The newest grant it has taken up; 0: none.
    pub holds: u64,
    /// It holds nothing any more, and wants nothing.
    pub leaves: bool,
}

/// Everything that processes may be using of shared rates, as who allots them says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateGrants {
    /// The process that allots, another name each time one begins to.
    pub allots: String,
    /// One for each process and route.
    pub grants: Vec<RateGrant>,
}

/// What one process may be using of one route's rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateGrant {
    /// Who asked.
    pub node: String,
    /// The route.
    pub route: String,
    /// The ask it answers.
    pub answers: u64,
    /// Rises with each grant of the route, whoever allots.
    pub number: u64,
    /// Messages per second.
    pub rate: f64,
    /// The most it may be using until it says that it took this one up, messages per second.
    pub most: f64,
}

impl RateAsks {
    /// As a record.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`RateAsks::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("question for rates", bytes)
    }
}

impl RateGrants {
    /// As a record.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`RateGrants::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("grant of rates", bytes)
    }
}
