//! AlertPlan holds what an alert is going to send: its devices with the routes that may take them, the people
//! behind each, and the orders of a person's devices. A course is played of it.

use super::classify::Tiers;
use records::{ChannelNumber, Reason, RosterEntry};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Nobody is before it.
pub const FIRST: u32 = u32::MAX;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct AlertPlan {
    /// Devices of one text and class.
    pub groups: Vec<PlanGroup>,
    /// In the order of their numbers.
    pub devices: Vec<PlanDevice>,
    /// People of devices: places in `people`.
    pub behind: Vec<u32>,
    pub people: Vec<PlanPerson>,
    /// Devices that were left out when the audience was resolved, by reason.
    pub excluded: BTreeMap<&'static str, (Reason, u64)>,
    /// Devices by channel.
    pub channels: BTreeMap<ChannelNumber, u64>,
}

/// Devices that get one text by the same routes.
#[derive(Debug, Clone)]
pub struct PlanGroup {
    pub tiers: Arc<Tiers>,
    /// Units of the rate of each route of its tiers; nothing: these devices cannot show the text.
    pub units: Option<Vec<(usize, u64)>>,
}

/// One device.
#[derive(Debug, Clone, Copy)]
pub struct PlanDevice {
    /// Its group.
    pub group: u32,
    /// Where its people begin in `behind`, and how many they are.
    pub people: (u32, u32),
    /// Not before so many milliseconds after the start.
    pub release_ms: u64,
    /// The device before it in its people's order, or [`FIRST`].
    pub after: u32,
    /// It follows the one before after so many seconds without an answer; nothing: when that one fails.
    pub wait_s: Option<u32>,
    /// Nobody has checked that its owner has it.
    pub is_unverified: bool,
}

/// One person of the audience.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanPerson {
    /// A device of theirs is in the plan.
    pub is_planned: bool,
    /// Why a device of theirs is not.
    pub reason: Option<Reason>,
}

impl PlanGroup {
    /// Units of a route's rate.
    pub fn units_on(&self, place: usize) -> u64 {
        let units = self.units.iter().flatten().find(|(of, _)| *of == place);
        units.map_or(1, |(_, units)| *units)
    }

    /// Why none of its devices is sent to; nothing: they are.
    pub fn why_not(&self) -> Option<Reason> {
        match (self.tiers.is_empty(), &self.units) {
            (true, _) => Some(Reason::NoRoute),
            (false, None) => Some(Reason::NotRendered),
            (false, Some(_)) => None,
        }
    }

    /// The routes that take its devices: those of the first tier in which one is up. Where none is, those of
    /// the first tier, as if they were; nothing: `without` has them all.
    pub fn takers(&self, is_up: impl Fn(usize) -> bool, without: &[usize]) -> Vec<usize> {
        let left = |tier: &Vec<usize>| -> Vec<usize> {
            tier.iter().copied().filter(|place| !without.contains(place)).collect()
        };
        let tiers: Vec<Vec<usize>> = self.tiers.iter().map(left).filter(|tier| !tier.is_empty()).collect();
        let up = tiers.iter().find_map(|tier| {
            let up: Vec<usize> = tier.iter().copied().filter(|place| is_up(*place)).collect();
            (!up.is_empty()).then_some(up)
        });
        up.or_else(|| tiers.into_iter().next()).unwrap_or_default()
    }
}

impl AlertPlan {
    /// The people behind a device.
    pub fn people_of(&self, device: &PlanDevice) -> &[u32] {
        let (from, len) = (device.people.0 as usize, device.people.1 as usize);
        self.behind.get(from..from + len).unwrap_or_default()
    }

    /// People with a device in the plan.
    pub fn planned_people(&self) -> u64 {
        self.people.iter().filter(|person| person.is_planned).count() as u64
    }

    /// The group of a device.
    pub fn group(&self, device: &PlanDevice) -> &PlanGroup {
        &self.groups[device.group as usize]
    }

    /// One of `every` people with their devices, each of which costs as much as those of `every`: it takes as
    /// long as the whole, and is played in a part of the time.
    pub fn thinned(&self, devices_max: usize) -> AlertPlan {
        let every = self.devices.len().div_ceil(devices_max.max(1)).max(1);
        if every == 1 {
            return self.clone();
        }
        let is_kept = |person: u32| (person as usize).is_multiple_of(every);
        let mut thin = AlertPlan { groups: self.groups.clone(), ..AlertPlan::default() };
        for (_, units) in thin.groups.iter_mut().flat_map(|group| group.units.iter_mut().flatten()) {
            *units *= every as u64;
        }
        thin.people = self.people.iter().copied().step_by(every).collect();
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        for (number, device) in (0..).zip(&self.devices) {
            let people = self.people_of(device).iter().filter(|person| is_kept(**person));
            let from = thin.behind.len() as u32;
            thin.behind.extend(people.map(|person| person / every as u32));
            let len = thin.behind.len() as u32 - from;
            if len > 0 {
                numbers.insert(number, thin.devices.len() as u32);
                let after = numbers.get(&device.after).copied().unwrap_or(FIRST);
                thin.devices.push(PlanDevice { people: (from, len), after, ..*device });
            }
        }
        thin
    }
}

/// The people of an entry, each by a hash; a bare address is a person of its own.
pub fn person_keys(entry: &RosterEntry) -> impl Iterator<Item = u64> + '_ {
    entry.persons.iter().map(|person| person_key(&person.recipient, entry.channel, &entry.address))
}

/// The hash of a person by their id, or of the address that is a person of its own.
pub fn person_key(recipient: &str, channel: Option<ChannelNumber>, address: &str) -> u64 {
    let mut hasher = FxHasher::default();
    match recipient {
        "" => (channel.map(|channel| channel.0), address).hash(&mut hasher),
        recipient => recipient.hash(&mut hasher),
    }
    hasher.finish()
}
