use crate::{ChannelNumber, DecodeError};
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
    pub channel: ChannelNumber,
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

/// A daily span in minutes after local midnight; `from > to` passes midnight. In JSON it is a text:
/// `22:00-07:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// 0 to 1439, first quiet minute.
    pub from: u16,
    /// 0 to 1439, first minute that is not quiet.
    pub to: u16,
}

impl std::fmt::Display for QuietHours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}-{:02}:{:02}", self.from / 60, self.from % 60, self.to / 60, self.to % 60)
    }
}

impl std::str::FromStr for QuietHours {
    type Err = String;
    fn from_str(text: &str) -> Result<QuietHours, String> {
        let minute = |text: &str| {
            let (hour, minute) = text.trim().split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let span = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
        match span {
            Some((from, to)) if from != to => Ok(QuietHours { from, to }),
            _ => Err(format!("{text:?} is not a span of the day such as 22:00-07:00")),
        }
    }
}

impl Serialize for QuietHours {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            (self.from, self.to).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for QuietHours {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<QuietHours, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            return text.parse().map_err(serde::de::Error::custom);
        }
        let (from, to) = <(u16, u16)>::deserialize(deserializer)?;
        Ok(QuietHours { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_are_a_text_for_people_and_two_numbers_in_the_store() {
        let quiet = QuietHours { from: 22 * 60, to: 7 * 60 + 30 };
        assert_eq!(serde_json::to_string(&quiet).unwrap(), "\"22:00-07:30\"");
        assert_eq!(serde_json::from_str::<QuietHours>("\"22:00-7:30\"").unwrap(), quiet);
        for wrong in ["\"22-07\"", "\"07:00-07:00\"", "\"24:00-07:00\"", "7"] {
            assert!(serde_json::from_str::<QuietHours>(wrong).is_err(), "{wrong}");
        }
        let person = Recipient { quiet_hours: Some(quiet), ..Recipient::default() };
        assert_eq!(Recipient::decode(&person.encode()).unwrap(), person);
    }
}
