use crate::{Channel, DecodeError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A person, with the devices they carry, in the order they want them tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Recipient {
    /// The id their organisation knows them by, unique in the account.
    pub id: String,
    /// As they are addressed.
    #[serde(default)]
    pub name: String,
    /// BCP 47, such as `sv` or `zh-Hant`.
    #[serde(default)]
    pub language: Option<String>,
    /// IANA name, such as `Europe/Stockholm`.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// Groups they were put in by name.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Devices, in order.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// Where they are.
    #[serde(default)]
    pub position: Option<Position>,
    /// When they do not want to be disturbed, in their own time zone.
    #[serde(default)]
    pub quiet_hours: Option<QuietHours>,
    /// Takes part in drills: may be reached by one over a route of mode drill, marked as an exercise.
    #[serde(default)]
    pub participant: bool,
    /// Everything else that is known of them; rules and templates read it.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

impl Recipient {
    /// As stored.
    pub fn encode(&self) -> Vec<u8> {
        crate::to_bytes(self)
    }
    /// Reads what [`Recipient::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        crate::from_bytes("recipient", bytes)
    }
}

/// One device of a recipient. Its order is its place in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// How it is reached.
    pub channel: Channel,
    /// Where: E.164 with `+` for a phone, an addr-spec for mail.
    pub address: String,
    /// Switched off by the operator.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The address was proved to be theirs.
    #[serde(default)]
    pub verified: bool,
    /// Its owner said stop.
    #[serde(default)]
    pub opted_out: bool,
}

fn yes() -> bool {
    true
}

/// WGS 84, degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// -90 to 90.
    pub lat: f64,
    /// -180 to 180.
    pub lon: f64,
}

/// A daily span in minutes after local midnight; `from > to` passes midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietHours {
    /// 0 to 1439, first quiet minute.
    pub from: u16,
    /// 0 to 1439, first minute that is not quiet.
    pub to: u16,
}
