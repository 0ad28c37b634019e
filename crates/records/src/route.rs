use crate::{ChannelNumber, Mode, Priority, Timestamp};
use serde::{Deserialize, Serialize};

/// One configured way out: a carrier account, a relay. What the engine must know of it to plan;
/// how to speak to it is its gateway's business.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The name in the config.
    pub name: String,
    /// What it carries.
    pub channel: ChannelNumber,
    /// What may use it.
    pub mode: Mode,
    /// Messages (for SMS: parts) per second over all sessions; 0 is unlimited.
    pub rate: f64,
    /// Answered by the simulator: reports say `simulated`.
    pub simulated: bool,
    /// Only addresses that begin with one of these; empty: all.
    pub prefixes: Vec<String>,
    /// Only messages shown as from one of these senders; empty: all.
    pub senders: Vec<String>,
    /// Only messages of these accounts; empty: all.
    pub accounts: Vec<String>,
    /// Share among routes of equal priority and cost; 1 by default.
    pub weight: u32,
    /// Minor units for a part; cheaper goes first at equal priority.
    pub cost: i64,
    /// Lower goes first.
    pub priority: i32,
    /// Longest a message of it is worth trying, seconds; 0: the alert's own end alone.
    pub validity_s: u32,
    /// The network tells what became of a message.
    pub receipts: bool,
    /// Messages without an answer on each of its sessions at most; 0: no such limit is known.
    pub window: u32,
    /// The route whose account it has, and whose rate: both together send no more than that.
    pub shares: Option<String>,
}

/// Which queue of a route: an emergency has its own and is read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Lane {
    /// Read first.
    Emergency = 0,
    /// Read second.
    Urgent = 1,
    /// Read last.
    Routine = 2,
}

impl Lane {
    /// First to last.
    pub const ALL: [Lane; 3] = [Lane::Emergency, Lane::Urgent, Lane::Routine];
    /// The lane's name.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Emergency => "emergency",
            Lane::Urgent => "urgent",
            Lane::Routine => "routine",
        }
    }
}

impl From<Priority> for Lane {
    fn from(priority: Priority) -> Lane {
        match priority {
            Priority::Emergency => Lane::Emergency,
            Priority::Urgent => Lane::Urgent,
            Priority::Routine => Lane::Routine,
        }
    }
}

/// What a gateway says of its route on the retained topic [`crate::ROUTES`], keyed by route name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteHealth {
    /// At least one session can send.
    pub up: bool,
    /// Since when.
    pub since: Timestamp,
    /// Sessions bound or connected now.
    pub sessions: u32,
    /// Messages a second it allows itself now (throttling learned included); 0 is unlimited.
    pub rate_now: f64,
    /// Why it is down, in words for people.
    pub note: String,
}

impl RouteHealth {
    /// As stored on the retained topic.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`RouteHealth::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, crate::DecodeError> {
        crate::from_bytes("route health", bytes)
    }
}

/// Somebody has stopped the use of a route, on the retained topic [`crate::ROUTE_HOLDS`]: nothing is given to
/// it, in whatever process, until somebody releases it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteHold {
    /// Since when.
    pub since: Timestamp,
    /// The id of the token or session it was done by.
    pub token: String,
    /// Who, in words for people.
    pub by: String,
    /// Why, in their words.
    pub reason: String,
}

impl RouteHold {
    /// As stored on the retained topic.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`RouteHold::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, crate::DecodeError> {
        crate::from_bytes("hold of a route", bytes)
    }
}

/// The health of a route at one of several processes, keyed by [`crate::health_key`]. It counts for
/// `lasts_ms` after it was heard: who hears it measures by their own clock, from when `beat` was news to
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeHealth {
    /// Another at each telling: told again, though nothing changed, at least three times in `lasts_ms`.
    pub beat: u64,
    /// For how long it counts, milliseconds.
    pub lasts_ms: u32,
    /// How the route is there.
    pub health: RouteHealth,
}

impl NodeHealth {
    /// As stored on the retained topic.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`NodeHealth::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, crate::DecodeError> {
        crate::from_bytes("health of a process's route", bytes)
    }
}
