//! PeopleStates counts the people of an alert by state: each is where the furthest of their devices is. It
//! moves with each delivery and looks at the devices of the same people alone.
//!
//! Two bits for each device tell how it stands to the people behind it, since the devices of one person
//! follow each other in a roster. Only devices of several people, and those of a person that do not follow
//! each other, are named in lists beside that.

mod build;
mod shared;
#[cfg(test)]
mod tests;

use super::delivery_cell::DeliveryCell;
use super::tally::ByState;
use build::Building;
use records::{DeliveryState, EndpointNo, RosterEntry};
use shared::SharedDevices;
use std::ops::Range;

/// Of one person, who has no other; or of nobody who is known.
const ALONE: u64 = 0;
/// The first of several of one person.
const FIRST: u64 = 1;
/// Of the same person as the one before it.
const NEXT: u64 = 2;
/// Named in the lists.
const SHARED: u64 = 3;
/// Devices whose bits stand in one word.
const IN_WORD: usize = 32;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct PeopleStates {
    kinds: Vec<u64>,
    shared: SharedDevices,
    counts: ByState,
    /// Until everybody is in.
    building: Option<Box<Building>>,
}

/// Where a person stands in an alert: the first of their devices, and their place among the people behind
/// it where these are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct PersonPlace {
    /// The device.
    pub first: EndpointNo,
    /// The place.
    pub place: u32,
}

/// A person of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPerson {
    /// Where they stand.
    pub at: PersonPlace,
    /// They are named by their place; else the only one who is known.
    pub is_shared: bool,
    /// All of their devices.
    pub devices: Vec<EndpointNo>,
    /// The furthest of these.
    pub state: DeliveryState,
}

impl PeopleStates {
    /// Takes the next entry of the roster in.
    pub fn admit(&mut self, entry: &RosterEntry) {
        let building = self.building.get_or_insert_default();
        building.take(entry);
    }

    /// Counts everybody, once they are all in.
    pub fn seal(&mut self, cells: &[DeliveryCell]) {
        if let Some(building) = self.building.take() {
            (self.kinds, self.shared) = building.finish();
        }
        let mut counts = ByState::default();
        for (device, cell) in cells.iter().enumerate() {
            match self.kind(device) {
                ALONE => counts[cell.state as usize] += 1,
                FIRST => {
                    let states = self.run(device, cells.len()).map(|at| cells[at].state);
                    counts[furthest(states).unwrap_or(cell.state) as usize] += 1;
                }
                SHARED => {
                    for person in self.shared.people_of(device as u32) {
                        let devices = self.shared.devices_of(person);
                        if devices.first() == Some(&(device as u32)) {
                            let states = devices.iter().map(|at| cells[*at as usize].state);
                            counts[furthest(states).unwrap_or(cell.state) as usize] += 1;
                        }
                    }
                }
                _ => {}
            }
        }
        self.counts = counts;
    }

    /// One more device of one person who has no other.
    pub fn add_alone(&mut self, state: DeliveryState) {
        self.counts[state as usize] += 1;
    }

    /// A device moved from one state to another, which stands in its cell already.
    pub fn moved(&mut self, cells: &[DeliveryCell], device: usize, before: DeliveryState) {
        let after = cells[device].state;
        match self.kind(device) {
            ALONE => self.count(before, after),
            SHARED => {
                for person in self.shared.people_of(device as u32) {
                    let others = self.shared.devices_of(person).iter().filter(|at| **at != device as u32);
                    let others = furthest(others.map(|at| cells[*at as usize].state));
                    let (was, is) = (further(others, before), further(others, after));
                    self.counts[was as usize] -= 1;
                    self.counts[is as usize] += 1;
                }
            }
            _ => {
                let others = self.run(device, cells.len()).filter(|at| *at != device);
                let others = furthest(others.map(|at| cells[at].state));
                self.count(further(others, before), further(others, after));
            }
        }
    }

    /// People by state.
    pub fn counts(&self) -> &ByState {
        &self.counts
    }

    /// How many people there are.
    pub fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// How many people are in one of these states.
    pub fn in_states(&self, states: &[DeliveryState]) -> u32 {
        states.iter().map(|state| self.counts[*state as usize]).sum()
    }

    /// Everybody from a place on, in order of their places, until `each` is false. Gives the place behind the
    /// last; nothing: there is nobody more.
    pub fn walk(
        &self,
        from: PersonPlace,
        cells: &[DeliveryCell],
        mut each: impl FnMut(FoundPerson) -> bool,
    ) -> Option<PersonPlace> {
        for device in from.first.0 as usize..cells.len() {
            let least = if device == from.first.0 as usize { from.place } else { 0 };
            let at = |place| PersonPlace { first: EndpointNo(device as u32), place };
            match self.kind(device) {
                NEXT => {}
                SHARED => {
                    for person in self.shared.people_of(device as u32) {
                        let (devices, place) = (self.shared.devices_of(person), self.shared.place_of(person));
                        if devices.first() != Some(&(device as u32)) || place < least {
                            continue;
                        }
                        if !each(found(at(place), true, devices.iter().copied(), cells)) {
                            return Some(at(place.saturating_add(1)));
                        }
                    }
                }
                _ if least > 0 => {}
                _ => {
                    let devices = self.run(device, cells.len()).map(|at| at as u32);
                    if !each(found(at(0), false, devices, cells)) {
                        return Some(at(1));
                    }
                }
            }
        }
        None
    }

    fn count(&mut self, before: DeliveryState, after: DeliveryState) {
        self.counts[before as usize] -= 1;
        self.counts[after as usize] += 1;
    }

    fn kind(&self, device: usize) -> u64 {
        // Messages of a message stream come one by one, and are of nobody who is known.
        self.kinds.get(device / IN_WORD).map_or(ALONE, |word| word >> (device % IN_WORD * 2) & 3)
    }

    /// The devices of one person that follow each other around this one.
    fn run(&self, device: usize, len: usize) -> Range<usize> {
        let mut first = device;
        while first > 0 && self.kind(first) == NEXT {
            first -= 1;
        }
        let mut end = device + 1;
        while end < len && self.kind(end) == NEXT {
            end += 1;
        }
        first..end
    }
}

fn found(
    at: PersonPlace,
    is_shared: bool,
    devices: impl Iterator<Item = u32>,
    cells: &[DeliveryCell],
) -> FoundPerson {
    let devices: Vec<EndpointNo> = devices.map(EndpointNo).collect();
    let states = devices.iter().filter_map(|at| cells.get(at.0 as usize)).map(|cell| cell.state);
    FoundPerson { at, is_shared, state: furthest(states).unwrap_or(DeliveryState::Excluded), devices }
}

/// How far a state is, for a person with several devices. Who may still be reached by one of them is not
/// reported as missed by another.
fn rank(state: DeliveryState) -> u8 {
    match state {
        DeliveryState::Answered => 8,
        DeliveryState::Delivered => 7,
        DeliveryState::Accepted => 6,
        DeliveryState::Submitted => 5,
        DeliveryState::Planned => 4,
        DeliveryState::Held => 3,
        DeliveryState::Unknown => 2,
        DeliveryState::Failed => 1,
        DeliveryState::Excluded => 0,
    }
}

fn furthest(states: impl Iterator<Item = DeliveryState>) -> Option<DeliveryState> {
    states.max_by_key(|state| rank(*state))
}

fn further(others: Option<DeliveryState>, one: DeliveryState) -> DeliveryState {
    others.filter(|other| rank(*other) > rank(one)).unwrap_or(one)
}
