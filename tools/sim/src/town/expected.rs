//! Expected counts of an alert to the town, from the town alone.

use super::{Conduct, Form, OFFICE, Town};
use records::{ChannelNumber, Recipient};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// Counts by outcome of an alert with strategy `all`, once nothing will change any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Expected {
    /// People in the audience.
    pub recipients: u64,
    /// Rows an import refuses for their address; such people are in no other count.
    pub problems: u64,
    /// Left out, by reason.
    pub excluded: Excluded,
    /// Addresses a message is tried at, each once however many share it.
    #[serde(serialize_with = "by_name")]
    pub channels: BTreeMap<ChannelNumber, Fates>,
}

fn by_name<S: Serializer>(channels: &BTreeMap<ChannelNumber, Fates>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(channels.iter().map(|(channel, fates)| (channels::name(*channel), fates)))
}

/// Left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// People without a device on the alert's channels.
    pub no_device: u64,
    /// Addresses switched off.
    pub disabled: u64,
    /// Addresses whose owner said stop.
    pub opted_out: u64,
}

/// What becomes of the addresses of a channel; each is in exactly one count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    /// Refused at submission, for good or every time.
    pub refused: u64,
    /// Taken and then lost: a receipt or a bounce says so.
    pub lost: u64,
    /// Taken; nothing more is heard.
    pub unheard: u64,
    /// Arrives, and is not answered.
    pub silent: u64,
    /// Arrives and is answered.
    pub answering: u64,
    /// Arrives and is answered with STOP.
    pub stopping: u64,
}

impl Fates {
    /// All of them.
    pub fn endpoints(&self) -> u64 {
        self.refused + self.accepted()
    }

    /// Those the carrier takes.
    pub fn accepted(&self) -> u64 {
        self.lost + self.unheard + self.silent + self.answering + self.stopping
    }
}

impl Expected {
    /// Addresses a message is tried at.
    pub fn tried(&self) -> u64 {
        self.channels.values().map(Fates::endpoints).sum()
    }

    /// Entries of the report that are left out.
    pub fn left_out(&self) -> u64 {
        self.excluded.no_device + self.excluded.disabled + self.excluded.opted_out
    }

    /// All entries of the report: the sum of the others.
    pub fn endpoints(&self) -> u64 {
        self.tried() + self.left_out()
    }
}

impl Town {
    /// What an alert to everyone over all channels must come to, when the town was imported in this form.
    pub fn expected(&self, form: Form) -> Expected {
        let all: Vec<ChannelNumber> = channels::numbers().collect();
        self.expected_of(form, &all, |_| true)
    }

    /// The same for a part of the people and of the channels.
    pub fn expected_of(
        &self,
        form: Form,
        channels: &[ChannelNumber],
        is_meant: impl Fn(&Recipient) -> bool,
    ) -> Expected {
        let habits = self.habits();
        let mut expected = Expected::default();
        for channel in channels {
            expected.channels.insert(*channel, Fates::default());
        }
        let mut seen = BTreeSet::new();
        for (index, person) in (0..).zip(self.people()) {
            // What is shared is shared within an office.
            if index % OFFICE == 0 {
                seen.clear();
            }
            if !is_meant(&person) {
                continue;
            }
            if person.devices.iter().any(|device| !is_valid(&device.address)) {
                expected.problems += 1;
                continue;
            }
            expected.recipients += 1;
            let usable =
                |device: &&records::Device| device.enabled && !device.opted_out || form == Form::Ndjson;
            let mut devices = person
                .devices
                .iter()
                .filter(usable)
                .filter(|device| channels.contains(&device.channel))
                .peekable();
            if devices.peek().is_none() {
                expected.excluded.no_device += 1;
            }
            for device in devices {
                if !seen.insert(device.address.clone()) {
                    continue;
                }
                if device.opted_out {
                    expected.excluded.opted_out += 1;
                } else if !device.enabled {
                    expected.excluded.disabled += 1;
                } else {
                    let fates = expected.channels.entry(device.channel).or_default();
                    *count(fates, &conduct(&habits, device)) += 1;
                }
            }
        }
        expected
    }
}

/// The town's own bad addresses, and nothing more.
fn is_valid(address: &str) -> bool {
    address != "+46-12" && address != "nobody@"
}

fn conduct(habits: &super::Habits, device: &records::Device) -> Conduct {
    match device.channel {
        channels::SMS => habits.phone(&device.address),
        channels::IM => habits.messenger(&device.address),
        channels::PAGER => habits.pager(&device.address),
        // A siren confirms, and says nothing.
        channels::MQTT => Conduct::Silent,
        // The town's people have nothing else.
        _ => habits.mailbox(&device.address),
    }
}

fn count<'a>(fates: &'a mut Fates, conduct: &Conduct) -> &'a mut u64 {
    match conduct {
        // A second try passes a grey list.
        Conduct::Refuses(super::CarrierRefusal::Greylisted) => &mut fates.silent,
        Conduct::Refuses(_) => &mut fates.refused,
        Conduct::Lost => &mut fates.lost,
        Conduct::Unheard => &mut fates.unheard,
        Conduct::Silent | Conduct::Away => &mut fates.silent,
        Conduct::Answers { .. } => &mut fates.answering,
        Conduct::Stops { .. } => &mut fates.stopping,
    }
}
