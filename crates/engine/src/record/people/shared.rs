//! SharedDevices lists the people behind each device that is of several people, or of one whose devices do
//! not follow each other. Lists stand behind each other in flat vectors.

use std::ops::Range;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct SharedDevices {
    /// In order.
    devices: Vec<u32>,
    /// Where the people of each begin in `people`, and where the last end.
    people_from: Vec<u32>,
    people: Vec<u32>,
    /// Where the devices of each person begin in `of_people`, and where the last end.
    devices_from: Vec<u32>,
    of_people: Vec<u32>,
    /// The place of each person among those behind their first device.
    places: Vec<u32>,
}

/// A person with the places they have behind their devices, in order of these.
pub struct SharingPerson {
    /// A device, and the place behind it.
    pub devices: Vec<(u32, u32)>,
}

impl SharedDevices {
    /// From the people.
    pub fn new(mut people: Vec<SharingPerson>) -> SharedDevices {
        people.sort_unstable_by_key(|person| person.devices.first().copied());
        let mut shared = SharedDevices::default();
        let mut links: Vec<(u32, u32, u32)> = Vec::new();
        for (number, person) in people.iter().enumerate() {
            shared.devices_from.push(shared.of_people.len() as u32);
            shared.of_people.extend(person.devices.iter().map(|(device, _)| *device));
            shared.places.push(person.devices.first().map_or(0, |(_, place)| *place));
            links.extend(person.devices.iter().map(|(device, place)| (*device, *place, number as u32)));
        }
        shared.devices_from.push(shared.of_people.len() as u32);
        links.sort_unstable();
        for (device, _, person) in links {
            if shared.devices.last() != Some(&device) {
                shared.devices.push(device);
                shared.people_from.push(shared.people.len() as u32);
            }
            shared.people.push(person);
        }
        shared.people_from.push(shared.people.len() as u32);
        shared
    }

    /// The numbers of the people behind a device, in order of their places behind it.
    pub fn people_of(&self, device: u32) -> impl Iterator<Item = u32> + '_ {
        let range = self.devices.binary_search(&device).map_or(0..0, |at| span(&self.people_from, at));
        self.people[range].iter().copied()
    }

    /// The devices of a person, in order.
    pub fn devices_of(&self, person: u32) -> &[u32] {
        &self.of_people[span(&self.devices_from, person as usize)]
    }

    /// The place of a person among those behind their first device.
    pub fn place_of(&self, person: u32) -> u32 {
        self.places.get(person as usize).copied().unwrap_or_default()
    }
}

fn span(from: &[u32], at: usize) -> Range<usize> {
    match (from.get(at), from.get(at + 1)) {
        (Some(begin), Some(end)) => *begin as usize..*end as usize,
        _ => 0..0,
    }
}
