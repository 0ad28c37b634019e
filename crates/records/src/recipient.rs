mod form1;
mod view;

pub use view::{PersonFacts, RecipientView};

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
    /// What they would rather have first, whatever the order of their devices.
    #[serde(default)]
    pub prefers: Option<Preference>,
}

/// Form of a recipient that is written: 2 since people have a preference and devices a profile.
const RECIPIENT_FORM: u8 = 2;

impl Recipient {
    /// As stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut record = vec![RECIPIENT_FORM];
        crate::write_behind(&mut record, self);
        record
    }
    /// Whether a record is as [`Recipient::encode`] of this version writes it, and not of an earlier form.
    pub fn is_of_own_form(record: &[u8]) -> bool {
        record.first() == Some(&RECIPIENT_FORM)
    }
    /// Reads what [`Recipient::encode`] wrote, of this version or an earlier one.
    ///
    /// # Errors
    /// Damage, or a form that only a newer version can read.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match bytes.split_first() {
            Some((&RECIPIENT_FORM, rest)) => crate::read_one("recipient", rest).map(|(person, _)| person),
            _ => crate::from_bytes("recipient", bytes).map(form1::Recipient::into),
        }
    }
}

/// Which kind of device a person would rather be reached by first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preference {
    /// Devices that show a text.
    Text,
    /// Devices that speak.
    Voice,
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
    /// What it can show, where that is less than its channel can carry.
    #[serde(default)]
    pub profile: Option<DeviceProfile>,
}

impl Device {
    /// A device as it is when nothing else is known of it: switched on, not verified.
    pub fn new(channel: ChannelNumber, address: String) -> Device {
        Device { channel, address, enabled: true, verified: false, opted_out: false, profile: None }
    }
}

/// What one device can show, where that differs from what its channel can carry. A member that is not given
/// is as the channel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct DeviceProfile {
    /// Letters that it shows of one message, 1 or more: 20 of an old pager.
    #[serde(default)]
    pub length: Option<u16>,
    /// The letters it has.
    #[serde(default)]
    pub letters: Option<Letters>,
    /// Whether its owner can follow a link on it.
    #[serde(default)]
    pub links: Option<bool>,
    /// Whether it shows HTML.
    #[serde(default)]
    pub html: Option<bool>,
}

impl DeviceProfile {
    /// It takes nothing away from what the channel carries.
    pub fn is_empty(&self) -> bool {
        self.length.is_none()
            && self.letters.is_none_or(|letters| letters == Letters::All)
            && self.links != Some(false)
            && self.html != Some(false)
    }

    /// What both can show: one device may stand at several people.
    #[must_use]
    pub fn within(self, other: DeviceProfile) -> DeviceProfile {
        let less = |a: Option<bool>, b: Option<bool>| a.into_iter().chain(b).min();
        DeviceProfile {
            length: self.length.into_iter().chain(other.length).min(),
            letters: self.letters.into_iter().chain(other.letters).min(),
            links: less(self.links, other.links),
            html: less(self.html, other.html),
        }
    }
}

/// The letters of a device, from the fewest to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Letters {
    /// Digits alone: the oldest pagers.
    Digits,
    /// ASCII: others are written without their accents.
    Ascii,
    /// The default alphabet of GSM (3GPP TS 23.038, 6.2.1).
    Gsm,
    /// Every letter.
    All,
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

    #[test]
    fn a_device_of_several_people_shows_what_all_of_them_say_it_can() {
        let one = DeviceProfile { length: Some(80), letters: Some(Letters::Gsm), ..DeviceProfile::default() };
        let other = DeviceProfile { length: Some(20), links: Some(false), ..DeviceProfile::default() };
        let both = DeviceProfile { length: Some(20), links: Some(false), ..one };
        assert_eq!((one.within(other), other.within(one)), (both, both));
        let all =
            DeviceProfile { letters: Some(Letters::All), links: Some(true), ..DeviceProfile::default() };
        assert!(all.is_empty() && DeviceProfile::default().is_empty() && !both.is_empty());
    }

    #[test]
    fn a_preference_and_a_profile_are_kept_and_people_of_form_1_have_none() {
        let profile = DeviceProfile { length: Some(20), letters: Some(Letters::Ascii), ..Default::default() };
        let device = Device::new(ChannelNumber(5), "1234".to_owned());
        let person = Recipient {
            id: "1".to_owned(),
            devices: vec![Device { profile: Some(profile), ..device.clone() }],
            prefers: Some(Preference::Voice),
            ..Recipient::default()
        };
        assert_eq!(Recipient::decode(&person.encode()).unwrap(), person);
        let json = serde_json::to_value(&person).unwrap();
        assert_eq!(json["prefers"], "voice");
        assert_eq!(json["devices"][0]["profile"]["letters"], "ascii");

        let before = Recipient { devices: vec![device], prefers: None, ..person };
        assert_eq!(Recipient::decode(&form1::record(&before)).unwrap(), before);
        let newer = [&[RECIPIENT_FORM + 1][..], b"rest"].concat();
        assert!(Recipient::decode(&newer).unwrap_err().to_string().contains("newer version"));
    }
}
