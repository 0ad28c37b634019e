//! Finds the devices of each person while a roster is taken in, and lets go of their ids then.

use super::shared::{SharedDevices, SharingPerson};
use super::{ALONE, FIRST, IN_WORD, NEXT, SHARED};
use records::RosterEntry;
use std::hash::{DefaultHasher, Hasher};

/// Devices by person, as far as they are in.
#[derive(Debug, Clone, Default)]
pub struct Building {
    kinds: Vec<u64>,
    len: u32,
    credits: Vec<AnswerCredit>,
    /// The only person behind the last device.
    last: Option<u64>,
}

/// A person behind a device, and behind those that follow it and are theirs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AnswerCredit {
    /// A hash of their id.
    person: u64,
    device: u32,
    place: u32,
}

impl Building {
    /// Takes the next entry in.
    pub fn take(&mut self, entry: &RosterEntry) {
        let device = self.len;
        self.len += 1;
        let mut named = entry.persons.iter().enumerate().filter(|(_, person)| !person.recipient.is_empty());
        let first = named.next();
        let is_one =
            first.is_none_or(|(_, first)| named.all(|(_, other)| other.recipient == first.recipient));
        let person = first.filter(|_| is_one).map(|(_, first)| hash(&first.recipient));
        let is_next = person.is_some() && person == self.last;
        self.push(match (is_one, is_next) {
            (false, _) => SHARED,
            (true, true) => NEXT,
            (true, false) => ALONE,
        });
        self.last = person;
        match (first, person) {
            (Some(_), Some(_)) if is_next => {
                if self.kind(device - 1) == ALONE {
                    self.set(device - 1, FIRST);
                }
            }
            (Some((place, _)), Some(person)) => {
                self.credits.push(AnswerCredit { person, device, place: place as u32 });
            }
            (Some(_), None) => {
                let people = entry.persons.iter().enumerate();
                let people = people.filter(|(_, person)| !person.recipient.is_empty());
                self.credits.extend(people.map(|(place, person)| AnswerCredit {
                    person: hash(&person.recipient),
                    device,
                    place: place as u32,
                }));
            }
            (None, _) => {}
        }
    }

    /// How each device stands to its people, and the lists of those that are shared.
    pub fn finish(mut self) -> (Vec<u64>, SharedDevices) {
        let mut credits = std::mem::take(&mut self.credits);
        credits.sort_unstable();
        credits.dedup_by_key(|credit| (credit.person, credit.device));
        let mut people = Vec::new();
        for of_one in credits.chunk_by(|one, other| one.person == other.person) {
            let is_shared = of_one.len() > 1 || self.kind(of_one[0].device) == SHARED;
            if is_shared {
                let devices = of_one.iter().flat_map(|credit| self.run(credit)).collect();
                people.push(SharingPerson { devices });
            }
        }
        for person in &people {
            person.devices.iter().for_each(|(device, _)| self.set(*device, SHARED));
        }
        (self.kinds, SharedDevices::new(people))
    }

    /// The device of a credit and those that follow it.
    fn run(&self, credit: &AnswerCredit) -> Vec<(u32, u32)> {
        let mut devices = vec![(credit.device, credit.place)];
        if self.kind(credit.device) == FIRST {
            let next = credit.device + 1..self.len;
            devices.extend(next.take_while(|at| self.kind(*at) == NEXT).map(|at| (at, 0)));
        }
        devices
    }

    fn push(&mut self, kind: u64) {
        let at = self.len as usize - 1;
        if at.is_multiple_of(IN_WORD) {
            self.kinds.push(0);
        }
        self.set(at as u32, kind);
    }

    fn kind(&self, device: u32) -> u64 {
        let at = device as usize;
        self.kinds.get(at / IN_WORD).map_or(ALONE, |word| word >> (at % IN_WORD * 2) & 3)
    }

    fn set(&mut self, device: u32, kind: u64) {
        let at = device as usize;
        if let Some(word) = self.kinds.get_mut(at / IN_WORD) {
            let shift = at % IN_WORD * 2;
            *word = *word & !(3 << shift) | kind << shift;
        }
    }
}

/// Ids are not kept: of 64 bits no two people of an alert have the same.
fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}
