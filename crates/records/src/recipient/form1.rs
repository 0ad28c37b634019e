//! People as 0.2.0 wrote them: form 1, before preferences and profiles of devices.

use crate::{ChannelNumber, Position, QuietHours};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(super) struct Recipient {
    id: String,
    name: String,
    language: Option<String>,
    time_zone: Option<String>,
    groups: Vec<String>,
    devices: Vec<Device>,
    position: Option<Position>,
    quiet_hours: Option<QuietHours>,
    participant: bool,
    attributes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
struct Device {
    channel: ChannelNumber,
    address: String,
    enabled: bool,
    verified: bool,
    opted_out: bool,
}

impl From<Recipient> for super::Recipient {
    fn from(was: Recipient) -> super::Recipient {
        super::Recipient {
            id: was.id,
            name: was.name,
            language: was.language,
            time_zone: was.time_zone,
            groups: was.groups,
            devices: was.devices.into_iter().map(super::Device::from).collect(),
            position: was.position,
            quiet_hours: was.quiet_hours,
            participant: was.participant,
            attributes: was.attributes,
            prefers: None,
        }
    }
}

impl From<Device> for super::Device {
    fn from(was: Device) -> super::Device {
        super::Device {
            channel: was.channel,
            address: was.address,
            enabled: was.enabled,
            verified: was.verified,
            opted_out: was.opted_out,
            profile: None,
        }
    }
}

/// A person as 0.2.0 stored them.
#[cfg(test)]
pub(super) fn record(person: &super::Recipient) -> Vec<u8> {
    let device = |device: &super::Device| Device {
        channel: device.channel,
        address: device.address.clone(),
        enabled: device.enabled,
        verified: device.verified,
        opted_out: device.opted_out,
    };
    crate::to_bytes(&Recipient {
        id: person.id.clone(),
        name: person.name.clone(),
        language: person.language.clone(),
        time_zone: person.time_zone.clone(),
        groups: person.groups.clone(),
        devices: person.devices.iter().map(device).collect(),
        position: person.position,
        quiet_hours: person.quiet_hours,
        participant: person.participant,
        attributes: person.attributes.clone(),
    })
}
